// reference.h: the block of lesson 29 in double: forward, and backward from what was kept; and
// AdamW. Also with a mistake in it, and rounded to bf16 where the layers round. For check.c and
// grader/test/unit/train_gpt.c, which checks the gradients by differences.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

enum {
    W_QKV,
    W_PROJ,
    W_FC,
    W_OUT,
    B_QKV,
    B_PROJ,
    B_FC,
    B_OUT,
    NORM1,
    NORM1_BIAS,
    NORM2,
    NORM2_BIAS
};
enum { PARAMETERS = 12 };

// What is done otherwise than the contract says.
enum slip {
    RIGHT,
    AROUND_MLP_LOST,        // dX' lacks dY
    AROUND_ATTENTION_LOST,  // dX lacks dX'
    AROUND_MLP_TWICE,
    AROUND_ATTENTION_TWICE,
    AROUND_ROUNDED,        // both paths around pass through bf16
    ATTENTION_TAKES_DY,    // what goes into W_proj's gradients is dY
    ATTENTION_TAKES_NORM,  // ... is what came out of W_fc: dX' was not rounded
    OUT_OVERWRITTEN,       // dW_out is made of the gradient by the layer's input, in its place
    FC_OVERWRITTEN,
    QKV_OVERWRITTEN,
    OUT_TAKES_Z,          // dW_out is made of Z, not of GELU(Z)
    SLOPE_LOST,           // dZ is dH
    BIAS_BEFORE_SLOPE,    // db_fc is the sum of dH
    WEIGHT_BEFORE_SLOPE,  // dW_fc is made of dH
    FC_TAKES_X,           // dW_fc is made of X', not of its norm
    QKV_TAKES_X,
    FC_TAKES_NORM1,  // the first norm's X and statistics for the second
    QKV_TAKES_NORM2,
    FC_TAKES_X_BY_2,  // X in the place of X', with the statistics and weights of the second norm
    QKV_TAKES_MID_BY_1,
    FC_BY_STATS_1,  // X' with the statistics of the first norm alone
    QKV_BY_STATS_2,
    FC_TAKES_X_BY_1,  // X and its statistics, with the weights of the second norm
    QKV_TAKES_MID_BY_2,
    FC_BY_WEIGHT_1,  // X' and its statistics, with the weights of the first norm
    QKV_BY_WEIGHT_2,
    FC_BY_SCALE_1,  // ... with the weights or the bias alone
    QKV_BY_SCALE_2,
    FC_BY_BIAS_1,
    QKV_BY_BIAS_2,
    NORM2_BY_WEIGHT_1,  // the norm's gradient with the weights of the other norm
    NORM1_BY_WEIGHT_2,
    NORM2_BACK_OF_X,  // the norm's gradient with X and its statistics
    NORM1_BACK_OF_MID,
    PROJ_TAKES_DO,    // dO and O exchanged in dW_proj
    PROJ_BIAS_OF_DY,  // db_proj is the sum of dY
    ONE_HEAD,         // attention's gradients as if all channels were one head's
};

struct block_size {
    int B, N, C, H;
};

// All arrays are the caller's. X and what follows: what is kept; dX: in dL/dY, out dL/dX.
struct block_arrays {
    double *W[PARAMETERS], *dW[PARAMETERS];
    double *X, *stats1, *QKV, *O, *LSE, *X_mid, *stats2, *Z, *dX;
};

static int64_t parameter_count(int i, int64_t C) {
    const int64_t count[PARAMETERS] = {3 * C * C, C * C, 4 * C * C, 4 * C * C, 3 * C, C,
                                       4 * C,     C,     C,         C,         C,     C};
    return count[i];
}

static inline double* numbers(int64_t n) {
    double* made = calloc((size_t)n + 1, sizeof *made);
    if (!made) abort();
    return made;
}

static inline void round_all(double* x, int64_t n, bool rounded) {
    for (int64_t i = 0; i < n && rounded; i++) x[i] = dtype_round(BF16, x[i]);
}

// ---- forward

static inline void linear(double* Y, const double* X, const double* W, const double* bias,
                          int64_t rows, int64_t outputs, int64_t inputs) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < outputs; o++) {
            double sum = bias[o];
            for (int64_t i = 0; i < inputs; i++) sum += X[r * inputs + i] * W[o * inputs + i];
            Y[r * outputs + o] = sum;
        }
}

static inline void norm_statistics(double* stats, const double* X, int64_t rows, int64_t C) {
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, square = 0;
        for (int64_t j = 0; j < C; j++) mean += X[r * C + j] / (double)C;
        for (int64_t j = 0; j < C; j++) square += pow(X[r * C + j] - mean, 2) / (double)C;
        stats[2 * r] = mean, stats[2 * r + 1] = 1 / sqrt(square + 1e-5);
    }
}

static inline void norm_of(double* Y, const double* X, const double* stats, const double* weight,
                           const double* bias, int64_t rows, int64_t C) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < C; j++)
            Y[r * C + j] = (X[r * C + j] - stats[2 * r]) * stats[2 * r + 1] * weight[j] + bias[j];
}

static inline double gelu_of(double z) {
    return z / 2 * (1 + erf(z / sqrt(2)));
}

static inline double gelu_slope_of(double z) {
    return (1 + erf(z / sqrt(2))) / 2 + z * exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846);
}

// The element of QKV: part 0 is Q.
static inline int64_t qkv_at(struct block_size s, int part, int64_t b, int64_t i, int64_t h) {
    return (b * s.N + i) * 3 * s.C + part * s.C + h * (s.C / s.H);
}

static inline double dot(const double* a, const double* b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline void attention_of(const struct block_arrays* a, struct block_size s) {
    const int d = s.C / s.H;
    double* P = numbers(s.N);
    for (int64_t b = 0; b < s.B; b++)
        for (int64_t h = 0; h < s.H; h++)
            for (int64_t i = 0; i < s.N; i++) {
                double l = 0, *O = a->O + (b * s.N + i) * s.C + h * d;
                for (int64_t j = 0; j <= i; j++) {
                    P[j] =
                        exp(dot(a->QKV + qkv_at(s, 0, b, i, h), a->QKV + qkv_at(s, 1, b, j, h), d) /
                            sqrt(d));
                    l += P[j];
                }
                memset(O, 0, (size_t)d * sizeof *O);
                for (int64_t j = 0; j <= i; j++)
                    for (int x = 0; x < d; x++)
                        O[x] += P[j] / l * a->QKV[qkv_at(s, 2, b, j, h) + x];
                a->LSE[(b * s.H + h) * s.N + i] = log(l);
            }
    free(P);
}

// Y: (rows, C), or NULL. What is kept is filled in, rounded to what the arrays are, if `rounded`.
static inline void block_forward(const struct block_arrays* a, struct block_size s, double* Y,
                                 bool rounded) {
    const int64_t rows = (int64_t)s.B * s.N, C = s.C;
    double *norm = numbers(rows * C), *hidden = numbers(rows * 4 * C), *out = numbers(rows * C);
    norm_statistics(a->stats1, a->X, rows, C);
    norm_of(norm, a->X, a->stats1, a->W[NORM1], a->W[NORM1_BIAS], rows, C);
    round_all(norm, rows * C, rounded);
    linear(a->QKV, norm, a->W[W_QKV], a->W[B_QKV], rows, 3 * C, C);
    round_all(a->QKV, rows * 3 * C, rounded);
    attention_of(a, s);
    round_all(a->O, rows * C, rounded);
    linear(out, a->O, a->W[W_PROJ], a->W[B_PROJ], rows, C, C);
    for (int64_t e = 0; e < rows * C; e++) a->X_mid[e] = a->X[e] + out[e];
    norm_statistics(a->stats2, a->X_mid, rows, C);
    norm_of(norm, a->X_mid, a->stats2, a->W[NORM2], a->W[NORM2_BIAS], rows, C);
    round_all(norm, rows * C, rounded);
    linear(a->Z, norm, a->W[W_FC], a->W[B_FC], rows, 4 * C, C);
    round_all(a->Z, rows * 4 * C, rounded);
    for (int64_t e = 0; e < rows * 4 * C; e++) hidden[e] = gelu_of(a->Z[e]);
    linear(out, hidden, a->W[W_OUT], a->W[B_OUT], rows, C, 4 * C);
    for (int64_t e = 0; e < rows * C && Y; e++) Y[e] = a->X_mid[e] + out[e];
    free(norm), free(hidden), free(out);
}

// ---- backward

static inline void input_gradient(double* dX, const double* dY, const double* W, int64_t rows,
                                  int64_t outputs, int64_t inputs, bool rounded) {
    memset(dX, 0, (size_t)(rows * inputs) * sizeof *dX);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t i = 0; i < inputs; i++)
                dX[r * inputs + i] += dY[r * outputs + o] * W[o * inputs + i];
    round_all(dX, rows * inputs, rounded);
}

static inline void weight_gradient(double* dW, const double* dY, const double* X, int64_t rows,
                                   int64_t outputs, int64_t inputs, bool rounded) {
    memset(dW, 0, (size_t)(outputs * inputs) * sizeof *dW);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t i = 0; i < inputs; i++)
                dW[o * inputs + i] += dY[r * outputs + o] * X[r * inputs + i];
    round_all(dW, outputs * inputs, rounded);
}

static inline void bias_gradient(double* db, const double* dY, int64_t rows, int64_t outputs,
                                 bool rounded) {
    for (int64_t o = 0; o < outputs; o++) {
        db[o] = 0;
        for (int64_t r = 0; r < rows; r++) db[o] += dY[r * outputs + o];
    }
    round_all(db, outputs, rounded);
}

// dX = times * dX + what comes through the norm.
static inline void norm_gradient(double* dX, double times, double* dweight, double* dbias,
                                 const double* dY, const double* X, const double* stats,
                                 const double* weight, int64_t rows, int64_t C, bool rounded) {
    memset(dweight, 0, (size_t)C * sizeof *dweight);
    memset(dbias, 0, (size_t)C * sizeof *dbias);
    for (int64_t r = 0; r < rows; r++) {
        const double mean = stats[2 * r], rstd = stats[2 * r + 1];
        double sum = 0, with_x = 0;
        for (int64_t j = 0; j < C; j++) {
            const double x = (X[r * C + j] - mean) * rstd, g = weight[j] * dY[r * C + j];
            sum += g / (double)C, with_x += g * x / (double)C;
            dweight[j] += dY[r * C + j] * x, dbias[j] += dY[r * C + j];
        }
        for (int64_t j = 0; j < C; j++) {
            const double x = (X[r * C + j] - mean) * rstd, g = weight[j] * dY[r * C + j];
            dX[r * C + j] = times * dX[r * C + j] + rstd * (g - sum - x * with_x);
        }
    }
    round_all(dweight, C, rounded), round_all(dbias, C, rounded);
}

static inline void attention_gradient(double* dQKV, const double* dO, const struct block_arrays* a,
                                      struct block_size s, bool rounded) {
    const int d = s.C / s.H;
    const double scale = 1 / sqrt(d);
    memset(dQKV, 0, (size_t)((int64_t)s.B * s.N * 3 * s.C) * sizeof *dQKV);
    for (int64_t b = 0; b < s.B; b++)
        for (int64_t h = 0; h < s.H; h++)
            for (int64_t i = 0; i < s.N; i++) {
                const int64_t q = qkv_at(s, 0, b, i, h), o = (b * s.N + i) * s.C + h * d;
                const double delta = dot(dO + o, a->O + o, d);
                for (int64_t j = 0; j <= i; j++) {
                    const int64_t k = qkv_at(s, 1, b, j, h), v = qkv_at(s, 2, b, j, h);
                    double P = exp(scale * dot(a->QKV + q, a->QKV + k, d) -
                                   a->LSE[(b * s.H + h) * s.N + i]);
                    double dS = P * (dot(dO + o, a->QKV + v, d) - delta);
                    round_all(&P, 1, rounded), round_all(&dS, 1, rounded);
                    for (int x = 0; x < d; x++) {
                        dQKV[v + x] += P * dO[o + x];
                        dQKV[q + x] += scale * dS * a->QKV[k + x];
                        dQKV[k + x] += scale * dS * a->QKV[q + x];
                    }
                }
            }
    round_all(dQKV, (int64_t)s.B * s.N * 3 * s.C, rounded);
}

static inline double times_around(enum slip slip, enum slip lost, enum slip twice) {
    return slip == lost ? 0 : slip == twice ? 2 : 1;
}

// From a->dX and what is kept: a->dW and a->dX.
static inline void block_backward(const struct block_arrays* a, struct block_size s, enum slip slip,
                                  bool rounded) {
    const int64_t rows = (int64_t)s.B * s.N, C = s.C, n = rows * C;
    double *const *W = a->W, *const *dW = a->dW;
    double *g = numbers(n), *norm = numbers(n), *H = numbers(4 * n), *dH = numbers(4 * n),
           *dZ = numbers(4 * n), *dn = numbers(n), *dY = numbers(n);
    memcpy(g, a->dX, (size_t)n * sizeof *g);
    round_all(g, n, rounded);
    memcpy(dY, g, (size_t)n * sizeof *g);
    for (int64_t e = 0; e < 4 * n; e++) H[e] = slip == OUT_TAKES_Z ? a->Z[e] : gelu_of(a->Z[e]);
    round_all(H, 4 * n, rounded);
    input_gradient(dH, g, W[W_OUT], rows, C, 4 * C, rounded);
    weight_gradient(dW[W_OUT], g, slip == OUT_OVERWRITTEN ? dH : H, rows, C, 4 * C, rounded);
    bias_gradient(dW[B_OUT], g, rows, C, rounded);
    for (int64_t e = 0; e < 4 * n; e++)
        dZ[e] = slip == SLOPE_LOST ? dH[e] : dH[e] * gelu_slope_of(a->Z[e]);
    round_all(dZ, 4 * n, rounded);
    const bool of_first = slip == FC_TAKES_NORM1 || slip == FC_TAKES_X_BY_1;  // X and statistics
    const bool by_first = slip == FC_TAKES_NORM1 || slip == FC_BY_WEIGHT_1;
    norm_of(norm, of_first || slip == FC_TAKES_X_BY_2 ? a->X : a->X_mid,
            of_first || slip == FC_BY_STATS_1 ? a->stats1 : a->stats2,
            W[by_first || slip == FC_BY_SCALE_1 ? NORM1 : NORM2],
            W[by_first || slip == FC_BY_BIAS_1 ? NORM1_BIAS : NORM2_BIAS], rows, C);
    if (slip == FC_TAKES_X) memcpy(norm, a->X_mid, (size_t)n * sizeof *norm);
    round_all(norm, n, rounded);
    input_gradient(dn, dZ, W[W_FC], rows, 4 * C, C, rounded);
    weight_gradient(dW[W_FC], slip == WEIGHT_BEFORE_SLOPE ? dH : dZ,
                    slip == FC_OVERWRITTEN ? dn : norm, rows, 4 * C, C, rounded);
    bias_gradient(dW[B_FC], slip == BIAS_BEFORE_SLOPE ? dH : dZ, rows, 4 * C, rounded);
    round_all(a->dX, n, slip == AROUND_ROUNDED);
    const bool of_X = slip == NORM2_BACK_OF_X, of_mid = slip == NORM1_BACK_OF_MID;
    norm_gradient(a->dX, times_around(slip, AROUND_MLP_LOST, AROUND_MLP_TWICE), dW[NORM2],
                  dW[NORM2_BIAS], dn, of_X ? a->X : a->X_mid, of_X ? a->stats1 : a->stats2,
                  W[slip == NORM2_BY_WEIGHT_1 ? NORM1 : NORM2], rows, C, rounded);

    round_all(a->dX, n, slip == AROUND_ROUNDED);
    memcpy(g,
           slip == ATTENTION_TAKES_DY     ? dY
           : slip == ATTENTION_TAKES_NORM ? dn
                                          : a->dX,
           (size_t)n * sizeof *g);
    round_all(g, n, rounded);
    input_gradient(dH, g, W[W_PROJ], rows, C, C, rounded);
    weight_gradient(dW[W_PROJ], g, slip == PROJ_TAKES_DO ? dH : a->O, rows, C, C, rounded);
    bias_gradient(dW[B_PROJ], slip == PROJ_BIAS_OF_DY ? dY : g, rows, C, rounded);
    const struct block_size one = {s.B, s.N, s.C, 1};
    attention_gradient(dZ, dH, a, slip == ONE_HEAD ? one : s, rounded);
    const bool of_second = slip == QKV_TAKES_NORM2 || slip == QKV_TAKES_MID_BY_2;
    const bool by_second = slip == QKV_TAKES_NORM2 || slip == QKV_BY_WEIGHT_2;
    norm_of(norm, of_second || slip == QKV_TAKES_MID_BY_1 ? a->X_mid : a->X,
            of_second || slip == QKV_BY_STATS_2 ? a->stats2 : a->stats1,
            W[by_second || slip == QKV_BY_SCALE_2 ? NORM2 : NORM1],
            W[by_second || slip == QKV_BY_BIAS_2 ? NORM2_BIAS : NORM1_BIAS], rows, C);
    if (slip == QKV_TAKES_X) memcpy(norm, a->X, (size_t)n * sizeof *norm);
    round_all(norm, n, rounded);
    input_gradient(dn, dZ, W[W_QKV], rows, 3 * C, C, rounded);
    weight_gradient(dW[W_QKV], dZ, slip == QKV_OVERWRITTEN ? dn : norm, rows, 3 * C, C, rounded);
    bias_gradient(dW[B_QKV], dZ, rows, 3 * C, rounded);
    norm_gradient(a->dX, times_around(slip, AROUND_ATTENTION_LOST, AROUND_ATTENTION_TWICE),
                  dW[NORM1], dW[NORM1_BIAS], dn, of_mid ? a->X_mid : a->X,
                  of_mid ? a->stats2 : a->stats1, W[slip == NORM1_BY_WEIGHT_2 ? NORM2 : NORM1],
                  rows, C, rounded);
    free(g), free(norm), free(H), free(dH), free(dZ), free(dn), free(dY);
}

#endif
