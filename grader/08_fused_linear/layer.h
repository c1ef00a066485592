// layer.h: a case of lesson 08: its arguments and data, what is wanted, and how exact it must be.
// For check.c.
//
//     struct layer l = layer_of(c, 128, 256, 64);
//     l.p = 0.25;
//     layer_begin(&l, "dropout");
//     layer_fill(&l);
//     layer_run(&l);
//
// Z is exact: X holds whole numbers, W and bias multiples of 2^-7 and 2^-8, so that a sum of
// products is exact in fp32 in any order. It has more bits than bf16, which sees who rounds it
// before f.
#ifndef LAYER_H
#define LAYER_H

#include "base/dtype.h"
#include "check/arguments.h"
#include "check/check.h"
#include "check/hypothesis.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>

// A running case. Set what differs from layer_of() before layer_begin().
struct layer {
    struct check* check;
    int64_t M, N, K;
    int f;  // enum fused_linear_f
    double p;
    uint64_t seed, offset;
    uint64_t first_offset;                // of the first call
    bool with_Z;                          // Z is asked for; of the backward pass: is given
    bool backward;                        // fused_linear_backward()
    int64_t shown;                        // of the last elements of the outputs; 0: all are
    int calls;                            // in the same arrays: rounds of the case
    const char* card;                     // to pose as; NULL: none
    struct tensor *Y, *Z, *X, *W, *bias;  // NULL if the case passes NULL
    struct tensor *dZ, *dY;
};

// Without f, dropout and Z. Seed and offset are numbers of 31 bits.
static struct layer layer_of(struct check* c, int64_t M, int64_t N, int64_t K) {
    struct layer l = {.check = c, .M = M, .N = N, .K = K, .calls = 1};
    l.seed = (uint64_t)check_pick(c, 1, INT32_MAX);
    l.offset = l.first_offset = (uint64_t)check_pick(c, 1, INT32_MAX);
    return l;
}

// The same for the backward pass, with a GELU.
static struct layer backward_of(struct check* c, int64_t M, int64_t N, int f) {
    struct layer l = layer_of(c, M, N, 0);
    l.backward = true;
    l.f = f;
    l.with_Z = f != FUSED_LINEAR_NONE;
    return l;
}

static void declare(struct check* c, void* layer) {
    static const char* const firsts[] = {"first_Y",  "first_Z",    "first_X", "first_W",
                                         "first_dZ", "first_bias", "first_dY"};
    struct layer* l = layer;
    check_describe(c, l);
    check_int(c, "backward", l->backward);
    check_int(c, "M", l->M);
    check_int(c, "N", l->N);
    check_int(c, "K", l->K);
    check_int(c, "f", l->f);
    check_real(c, "p", l->p);
    check_int(c, "seed", (int64_t)l->seed);
    check_int(c, "offset", (int64_t)l->offset);
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) check_int(c, firsts[i], 0);
    const struct shape outputs = l->shown ? SHAPE(l->shown) : SHAPE(l->M, l->N);
    if (l->backward) {
        l->dZ = check_output(c, "dZ", BF16, outputs);
        l->dY = check_input(c, "dY", BF16, outputs);
        if (l->shown) check_ends(c, l->dZ, 1, l->M * l->N), check_ends(c, l->dY, 1, l->M * l->N);
        if (l->with_Z)
            l->Z = check_input(c, "Z", BF16, outputs);
        else
            check_null(c, "Z");
        return;
    }
    l->Y = check_output(c, "Y", BF16, outputs);
    if (l->shown) check_ends(c, l->Y, 1, l->M * l->N);
    if (l->with_Z)
        l->Z = check_output(c, "Z", BF16, outputs);
    else
        check_null(c, "Z");
    l->X = check_input(c, "X", BF16, SHAPE(l->M, l->K));
    l->W = check_input(c, "W", BF16, SHAPE(l->N, l->K));
    l->bias = check_input(c, "bias", BF16, SHAPE(l->N));
}

static void layer_begin(struct layer* l, const char* what) {
    static const char* const names[] = {"no f", "GELU", "GELU by tanh"};
    char inputs[32] = "";
    if (!l->backward) snprintf(inputs, sizeof inputs, ", K = %lld", (long long)l->K);
    check_case(l->check, "%s: M = %lld, N = %lld%s, %s, p = %.9g, seed %llu, offset %llu%s", what,
               (long long)l->M, (long long)l->N, inputs, names[l->f], l->p,
               (unsigned long long)l->seed, (unsigned long long)l->offset,
               l->with_Z && !l->backward ? ", with Z" : "");
    if (l->calls > 1) check_rounds(l->check, l->calls);
    declare(l->check, l);
}

// ---- data

static void fill_multiples(struct check* c, struct tensor* t, int64_t most, double of) {
    fill_integers(c, t, -most, most);
    for (int64_t e = 0; e < t->count; e++) t->value[e] *= of;
}

// Numbers of which Z is about 1.7 on average, with K = 64.
static void layer_fill(const struct layer* l) {
    if (l->backward) {
        fill_uniform(l->check, l->dY, -4.0, 4.0);
        if (l->Z) fill_uniform(l->check, l->Z, -5.0, 5.0);
        return;
    }
    fill_integers(l->check, l->X, -2, 2);
    fill_multiples(l->check, l->W, 31, 0x1p-7);
    fill_multiples(l->check, l->bias, 255, 0x1p-8);
}

// ---- the right numbers

// The word of element e in this case.
static uint32_t word_of(const struct layer* l, int64_t e) {
    return philox_of((uint64_t)e / 4, l->offset, l->seed, 10, 1).word[e % 4];
}

// What the launcher gets.
static double p_of(const struct layer* l) {
    return (double)(float)l->p;
}

static bool is_kept(const struct layer* l, int64_t e) {
    return (double)word_of(l, e) >= ldexp(p_of(l), 32);
}

static double scale_of(const struct layer* l) {
    return p_of(l) < 1 ? 1 / (1 - p_of(l)) : 0;
}

// sum_k X[i][k] * W[j][k]
static double sum_of(const struct layer* l, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < l->K; k++) sum += l->X->value[i * l->K + k] * l->W->value[j * l->K + k];
    return sum;
}

static double z_of(const struct layer* l, int64_t i, int64_t j) {
    return sum_of(l, i, j) + l->bias->value[j];
}

// ---- how exact

// Half an ulp of bf16 for the one rounding of y, after an error `before`: of the next larger
// numbers if that moves y there.
static double rounded_from(double y, double before) {
    return before + 0.5 * dtype_ulp(BF16, fabs(y) + before) * (1 + 0x1p-10) + 0x1p-132;
}

// f may be off by |z| 2^-22; fp32's few roundings, of f, of the scale and of their product, are at
// most 2^-21 of the result.
static double allowed_of_Y(double z, double y, double scale) {
    return rounded_from(y, scale * fabs(z) * 0x1p-22 + fabs(y) * 0x1p-21);
}

static double allowed_of_dZ(double g, double z, double y, double scale) {
    return rounded_from(y, scale * fabs(g) * (1 + fabs(z)) * 0x1p-21 + fabs(y) * 0x1p-21);
}

// Sets what is wanted in the selected call, and how exact: allowed has room for M x N numbers.
static void want_Y(const struct layer* l, double* allowed) {
    const double scale = scale_of(l);
    for (int64_t i = 0; i < l->M; i++)
        for (int64_t j = 0; j < l->N; j++) {
            const int64_t e = i * l->N + j;
            double z = z_of(l, i, j), y = is_kept(l, e) ? f_of(l->f, z) * scale : 0;
            l->Y->want[e] = y;
            allowed[e] = y == 0 || !isfinite(y) ? 0x1p-132 : allowed_of_Y(z, y, scale);
            if (l->with_Z) l->Z->want[e] = dtype_round(BF16, z);
        }
}

static void want_dZ(const struct layer* l, double* allowed) {
    const double scale = scale_of(l);
    for (int64_t e = 0; e < l->M * l->N; e++) {
        double g = l->dY->value[e], z = l->f ? l->Z->value[e] : 0;
        double y = is_kept(l, e) ? g * slope_of(l->f, z) * scale : 0;
        l->dZ->want[e] = y;
        allowed[e] = y == 0 || !isfinite(y) ? 0x1p-132 : allowed_of_dZ(g, z, y, scale);
    }
}

#endif
