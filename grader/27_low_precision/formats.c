// formats.c: what numbers of few bits lose, as the table in lesson 27's text: no GPU takes part. Q,
// K and V in a format, then attention in double. formats.sh builds and runs it.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "27_low_precision/eight.h"

enum { QUERIES = 128, KEYS = 512, D = 128, BLOCK = 128, OUTLIER = 11 };

// How an array becomes numbers of few bits: so many neighbours of a row share a scale; 0: BLOCK
// rows do; -1: all do. The scale is a float, a power of 2 (e8m0), or e4m3 beside one float for all.
struct format {
    const char* name;
    const struct few_bits* numbers;
    int share;
    enum { FLOAT, POWER, E4M3_SCALE } scale;
    bool rotated;
    double bits;  // of a number, with its part of the scale
};

static const struct format formats[] = {
    {"e4m3, one scale", &E4M3, -1, FLOAT, false, 8},
    {"e4m3, a scale for 128 rows", &E4M3, 0, FLOAT, false, 8},
    {"the same, Q and K rotated", &E4M3, 0, FLOAT, true, 8},
    {"e5m2, one scale", &E5M2, -1, FLOAT, false, 8},
    {"MXFP8: e4m3, e8m0 for 32", &E4M3, 32, POWER, false, 8.25},
    {"MXFP4: e2m1, e8m0 for 32", &E2M1, 32, POWER, false, 4.25},
    {"NVFP4: e2m1, e4m3 for 16", &E2M1, 16, E4M3_SCALE, false, 4.5},
    {"the same, Q and K rotated", &E2M1, 16, E4M3_SCALE, true, 4.5},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

// ---- data: the same in each run

static uint64_t state = 2026;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}
static double normal(void) {
    const double r = sqrt(-2 * log(uniform()));
    return r * cos(6.2831853071795865 * uniform());
}

struct data {
    double Q[QUERIES * D], K[KEYS * D], V[KEYS * D];
};

// Normal numbers; or one column of Q and of K is 8 times as large; or one of K alone is large, and
// about the same in all rows, as it is in trained models.
enum { NORMAL, IN_BOTH, IN_K, KINDS };

static void fill(struct data* x, int kind) {
    for (int i = 0; i < QUERIES * D; i++) x->Q[i] = normal();
    for (int i = 0; i < KEYS * D; i++) x->K[i] = normal(), x->V[i] = normal();
    for (int i = 0; i < QUERIES && kind == IN_BOTH; i++) x->Q[i * D + OUTLIER] *= 8;
    for (int j = 0; j < KEYS && kind == IN_BOTH; j++) x->K[j * D + OUTLIER] *= 8;
    for (int j = 0; j < KEYS && kind == IN_K; j++) x->K[j * D + OUTLIER] = 32 + 4 * normal();
}

// ---- to few bits and back

static double scale_of(const struct format* f, double amax, double of_all) {
    const double scale = amax / few_bits_value(f->numbers, f->numbers->largest);
    if (amax == 0) return 1;
    // e8m0 as the MX formats have it: the largest number's exponent, less that of the format.
    if (f->scale == POWER) return exp2(floor(log2(amax)) - floor(log2(amax / scale)));
    if (f->scale == FLOAT) return scale;
    const struct numbers numbers = numbers_of(&E4M3);
    return of_all * few_bits_round(&E4M3, &numbers, scale / of_all);
}

// x, an array of rows, so that neighbours in a row are those that a product sums over.
static void lose(const struct format* f, double* x, int rows, int columns) {
    const struct numbers numbers = numbers_of(f->numbers);
    const int share = f->share > 0 ? f->share : f->share == 0 ? BLOCK * columns : rows * columns;
    double most = 0;
    for (int i = 0; i < rows * columns; i++) most = fmax(most, fabs(x[i]));
    const double of_all = most / few_bits_value(f->numbers, f->numbers->largest) / 448;
    for (int from = 0; from < rows * columns; from += share) {
        double amax = 0;
        for (int i = from; i < from + share; i++) amax = fmax(amax, fabs(x[i]));
        const double scale = scale_of(f, amax, of_all);
        for (int i = from; i < from + share; i++)
            x[i] = scale > 0 ? scale * few_bits_round(f->numbers, &numbers, x[i] / scale) : 0;
    }
}

static void rotate(double* x, int rows) {
    float row[D];
    for (int n = 0; n < rows; n++) {
        for (int i = 0; i < D; i++) row[i] = (float)x[n * D + i];
        hadamard(row, D, 8, false, 0.0883883461f);
        for (int i = 0; i < D; i++) x[n * D + i] = row[i];
    }
}

static void transpose(double* to, const double* from, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}

static void to_format(const struct format* f, struct data* x) {
    static double Vt[KEYS * D];
    if (f->rotated) rotate(x->Q, QUERIES), rotate(x->K, KEYS);
    lose(f, x->Q, QUERIES, D);
    lose(f, x->K, KEYS, D);
    // P V sums over keys. Blocks of rows are the same both ways but for the order.
    if (f->share > 0)
        transpose(Vt, x->V, KEYS, D), lose(f, Vt, D, KEYS), transpose(x->V, Vt, D, KEYS);
    if (f->share <= 0) lose(f, x->V, KEYS, D);
}

// ---- attention

static void attention(const struct data* x, double* S, double* O) {
    for (int i = 0; i < QUERIES; i++) {
        double m = -INFINITY, l = 0, mean = 0;
        for (int j = 0; j < KEYS; j++) {
            double sum = 0;
            for (int k = 0; k < D; k++) sum += x->Q[i * D + k] * x->K[j * D + k];
            S[i * KEYS + j] = sum / sqrt(D);
            m = fmax(m, S[i * KEYS + j]), mean += S[i * KEYS + j] / KEYS;
        }
        memset(O + i * D, 0, D * sizeof *O);
        for (int j = 0; j < KEYS; j++) l += exp(S[i * KEYS + j] - m);
        for (int j = 0; j < KEYS; j++)
            for (int k = 0; k < D; k++)
                O[i * D + k] += exp(S[i * KEYS + j] - m) / l * x->V[j * D + k];
        // What all scores of a row have in common changes nothing.
        for (int j = 0; j < KEYS; j++) S[i * KEYS + j] -= mean;
    }
}

static double rms(const double* a, const double* b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sqrt(sum / n);
}

int main(void) {
    static struct data data[KINDS], few;
    static double S[KINDS][QUERIES * KEYS], O[KINDS][QUERIES * D];
    static double S_few[QUERIES * KEYS], O_few[QUERIES * D];
    for (int kind = 0; kind < KINDS; kind++) {
        fill(&data[kind], kind);
        attention(&data[kind], S[kind], O[kind]);
    }
    puts("| | bits | normal: S | O | a column of Q and K 8-fold: S | O | a column of K near 32: S "
         "| O |");
    puts("|---|---|---|---|---|---|---|---|");
    for (int n = 0; n < FORMATS; n++) {
        printf("| %s | %g", formats[n].name, formats[n].bits);
        for (int kind = 0; kind < KINDS; kind++) {
            few = data[kind];
            to_format(&formats[n], &few);
            attention(&few, S_few, O_few);
            printf(" | %.3f | %.1f %%", rms(S_few, S[kind], QUERIES * KEYS),
                   100 * rms(O_few, O[kind], QUERIES * D) / rms(O[kind], NULL, QUERIES * D));
        }
        puts(" |");
    }
    return 0;
}
