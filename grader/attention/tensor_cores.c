// tensor_cores.c: cases whose products must come from mma.sync, each of them. Operands that only
// one product has are large (MARK): the outputs behind it must change when mma.sync takes large
// operands for something else (check_changes()), and others must not.
#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "wall/arena.h"

#define MARK 0x1p20  // a power of two changes no digit; SMALL makes the product ordinary again
#define SMALL 0x1p-20

// A row of an input of batch b times a factor, from column `from` on.
static void times(struct problem* p, enum which a, int64_t b, int64_t n, int64_t from,
                  double factor) {
    double* row = row_of(p, a, b, 0, n);
    for (int64_t x = from; x < p->d; x++) row[x] *= factor;
}

// Numbers of about 512 in a row of batch b.
static void to_512(struct problem* p, enum which a, int64_t b, int64_t n) {
    double* row = row_of(p, a, b, 0, n);
    for (int64_t x = 0; x < p->d; x++) row[x] = copysign(512, row[x]) + 64 * row[x];
}

void judge_mma_count(const struct problem* p, const struct arena_traffic* t) {
    const double products = p->contract->backward ? 5 : 2, of_an_mma = 16 * 8 * 16;
    double seen = 0;
    for (int64_t i = 0; i < p->N_q; i++) seen += (double)keys_seen(p, i);
    seen *= (double)(p->B * p->H);
    check_at_most(p->check, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - (double)t->mma * of_an_mma / (products * seen * (double)p->d), 0);
}

// Q of the first half of the queries is large: their LSE shows S = Q K^T. V of every second key is
// large, and such a key has e^-14 of the weight of the others, so that O is of the usual size: O of
// the other queries shows P V. The weights come from columns 0 alone.
const struct arena_traffic* forward_by_mma(struct problem p) {
    const int64_t half = p.N_q / 2, d = p.d;
    const double q = 512, level = -14;  // q: less than what mma.sync takes for large
    check_watch(p.check, WATCH_PROFILE);
    forward_begin(&p, PACKED, "");
    set_column(&p, ARRAY_Q, 0, q);
    for (int64_t i = 0; i < half; i++) times(&p, ARRAY_Q, 0, i, 1, MARK);
    for (int64_t j = 0; j < p.N_k; j++) {
        times(&p, ARRAY_K, 0, j, 1, SMALL);
        row_of(&p, ARRAY_K, 0, 0, j)[0] = j % 2 ? level / (p.scale * q) : 0;
        if (j % 2) times(&p, ARRAY_V, 0, j, 0, MARK);
    }
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(&p);
    const struct tensor *O = p.array[ARRAY_O].tensor, *LSE = p.array[ARRAY_LSE].tensor;
    judge_mma_count(&p, t);
    check_changes(p.check, LSE, 0, half, "Q K^T");
    check_changes(p.check, O, half * d, (p.N_q - half) * d, "P V");
    check_stays(p.check, LSE, half, p.N_q - half);
    return t;
}

// A gradient of batch b.
static void changes(const struct problem* p, enum which a, int64_t b, const char* what) {
    const int64_t count = rows_of(p, a) * p->d;
    check_changes(p->check, p->array[a].tensor, b * count, count, what);
}

// Batch 0: dO and V have about 512 in every place, which is not large, but makes dS large, and its
// products show in dK and in dQ; dV stays. Batch 1: Q is large, and its products S = Q K^T show in
// dV and in dQ. Batch 2: dO is large; its products show in dV, and dP = dO V^T in dK and in dQ.
const struct arena_traffic* backward_by_mma(struct problem p, int batches) {
    enum { dS, SCORES, dP };
    check_watch(p.check, WATCH_PROFILE);
    p.B = batches;
    problem_begin(&p, PACKED, "");
    backward_fill(&p);
    for (int64_t i = 0; i < p.N_q; i++) {
        to_512(&p, ARRAY_dO, dS, i);
        if (batches > SCORES) times(&p, ARRAY_Q, SCORES, i, 0, MARK);
        if (batches > dP) times(&p, ARRAY_dO, dP, i, 0, MARK);
    }
    for (int64_t j = 0; j < p.N_k; j++) {
        to_512(&p, ARRAY_V, dS, j);
        if (batches > SCORES) times(&p, ARRAY_K, SCORES, j, 0, SMALL);
        if (batches > dP) times(&p, ARRAY_V, dP, j, 0, SMALL);
    }
    backward_run(&p);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    changes(&p, ARRAY_dK, dS, "dS^T Q");
    changes(&p, ARRAY_dQ, dS, "dS K");
    check_stays(p.check, p.array[ARRAY_dV].tensor, 0, p.N_k * p.d);
    if (batches > SCORES) {
        changes(&p, ARRAY_dV, SCORES, "Q K^T");
        changes(&p, ARRAY_dQ, SCORES, "Q K^T");
    }
    if (batches > dP) {
        changes(&p, ARRAY_dV, dP, "P^T dO");
        changes(&p, ARRAY_dK, dP, "dO V^T");
        changes(&p, ARRAY_dQ, dP, "dO V^T");
    }
    return t;
}
