// forward_exact.c: cases of which O is known without any rounding but its own.
#include <math.h>

#include "attention/forward.h"

static void clear(const struct problem* p, enum which a) {
    fill_integers(p->check, p->array[a].tensor, 0, 0);
}

// The largest power of two that is not above n.
static int64_t power_of_two(int64_t n) {
    int64_t power = 1;
    while (2 * power <= n) power *= 2;
    return power;
}

// Column x of V in a case of which `weighing` of the first `seen` keys have a weight: see
// forward_case_exact(). The sum is as many times the number of keys as a mean is, of which the last
// bit of bf16 is 1/128.
static void fill_column(const struct problem* p, int64_t h, int64_t x, int64_t seen,
                        const bool* weighs, int64_t weighing) {
    const double sign = check_pick(p->check, 0, 1) ? 1 : -1;
    const double mean = sign * (double)check_pick(p->check, 128, 255) / 128;
    double missing = mean * (double)weighing;
    int64_t left = weighing;
    for (int64_t j = 0; j < p->N_k; j++) {
        double* v = &row_of(p, ARRAY_V, 0, h, j)[x];
        *v = (double)(check_pick(p->check, 65, 127) * (j < seen / 2 ? 1 : -1));
        if (weighs[j]) missing -= *v;
    }
    // What is missing is spread evenly.
    for (int64_t j = 0; j < p->N_k; j++) {
        if (!weighs[j]) continue;
        const double share = rint(missing / (double)left--);
        row_of(p, ARRAY_V, 0, h, j)[x] += share;
        missing -= share;
    }
}

void forward_case_exact(struct problem p) {
    const int64_t seen = keys_seen(&p, 0), weighing = power_of_two(seen), none = seen - weighing;
    bool weighs[MAX_N] = {false};
    forward_begin(&p, PACKED, ", scores 0 or -1000, and whole numbers that cancel");
    clear(&p, ARRAY_Q);
    clear(&p, ARRAY_K);
    set_column(&p, ARRAY_Q, 0, 1);
    for (int64_t j = 0; j < seen; j++) weighs[j] = (j + 1) * none / seen == j * none / seen;
    for (int64_t h = 0; h < p.H; h += p.group) {
        for (int64_t j = 0; j < p.N_k; j++)
            row_of(&p, ARRAY_K, 0, h, j)[0] = weighs[j] ? 0 : -1000 / p.scale;
        for (int64_t x = 0; x < p.d; x++) fill_column(&p, h, x, seen, weighs, weighing);
    }
    check_run(p.check);
    forward_want(&p);
    struct tensor* O = p.array[ARRAY_O].tensor;
    for (int64_t e = 0; e < O->count; e++) O->want[e] = dtype_round(O->dtype, O->want[e]);
    check_compare(p.check, O, budget_exact());
}

void forward_case_ones(struct problem p) {
    forward_begin(&p, PACKED, ", all values 1");
    fill_integers(p.check, p.array[ARRAY_V].tensor, 1, 1);
    forward_run(&p, JUDGE_O);
}

void forward_case_ones_grown(struct problem p) {
    enum { NEAR = 128, ABOVE = 150, PARTS = 3 };  // keys; columns that a score is made of
    const double alpha = 0.5 + 0.95 / 512;        // between two numbers of bf16, 1/256 apart
    const enum dtype dtype = p.contract->dtype;
    forward_begin(&p, PACKED, ", all values 1, and maxima that grow by what bf16 does not hold");
    clear(&p, ARRAY_Q);
    clear(&p, ARRAY_K);
    fill_integers(p.check, p.array[ARRAY_V].tensor, 1, 1);
    FOR_EACH_QUERY(&p, b, h, i) {
        double* q = row_of(&p, ARRAY_Q, b, h, i);
        q[i % 2] = 1;
        for (int part = 0; part < PARTS; part++) q[2 + part] = 1;
    }
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++) {
                double* k = row_of(&p, ARRAY_K, b, h, j);
                const double score = fmin(check_normal(p.check) / 2 - 2, -1);
                k[0] = (j == 0 ? 0 : j < NEAR ? score : -1000) / p.scale;
                k[1] = (j == p.N_k - 1 ? 0 : j >= p.N_k - NEAR ? score : -1000) / p.scale;
                if (j != ABOVE) continue;
                double left = -log(alpha) / p.scale;
                k[0] = k[1] = 0;
                for (int part = 0; part < PARTS; part++)
                    k[2 + part] = dtype_round(dtype, left), left -= k[2 + part];
            }
    forward_run(&p, JUDGE_O | JUDGE_LSE);
}

void forward_case_slow(struct problem p) {
    enum { KEYS = 16, PARTS = 2 };  // keys of a step; columns that a score is made of
    const double step = check_uniform(p.check, 0.0006, 0.0009);
    forward_begin(&p, PACKED, ", scores grow by less than 0.001 from 16 keys to the next");
    clear(&p, ARRAY_Q);
    clear(&p, ARRAY_K);
    for (int part = 0; part < PARTS; part++) set_column(&p, ARRAY_Q, part, 1);
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++) {
                double left = (double)(j / KEYS) * step / p.scale;
                for (int part = 0; part < PARTS; part++) {
                    double* k = row_of(&p, ARRAY_K, b, h, j);
                    k[part] = dtype_round(p.contract->dtype, left), left -= k[part];
                }
                double* v = row_of(&p, ARRAY_V, b, h, j);
                for (int64_t x = 0; x < p.d; x++) v[x] = j < p.N_k / 2 ? 1 + (double)(x % 2) : 0;
            }
    check_run(p.check);
    forward_want(&p);
    // Left out, the rescales are a tenth of O together; no exponential is as far off.
    struct tensor* O = p.array[ARRAY_O].tensor;
    const double most = 0x1p-10 + 2 * dtype_ulp(p.contract->dtype, 2);
    check_compare(p.check, O, (struct budget){.max = most, .mean = INFINITY});
}
