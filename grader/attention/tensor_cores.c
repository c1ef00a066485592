// tensor_cores.c: cases whose products must come from mma.sync. Each product is asked for by itself:
// operands that only this product has are large (MARK), the outputs behind it must change when
// mma.sync takes large operands for something else (check_changes()), and others must not.
#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "wall/arena.h"

#define MARK 0x1p20  // a power of two changes no digit; SMALL makes the product ordinary again
#define SMALL 0x1p-20

// A row of an input times a factor, from column `from` on.
static void times(struct problem* p, enum which a, int64_t n, int64_t from, double factor) {
    double* row = row_of(p, a, 0, 0, n);
    for (int64_t x = from; x < p->d; x++) row[x] *= factor;
}

// The part of a backward or forward pass's products that mma.sync has not made. An mma makes 16 * 8
// * 16 multiplications.
static void judge_count(const struct problem* p, const struct arena_traffic* t, int products) {
    double seen = 0;
    for (int64_t i = 0; i < p->N_q; i++) seen += (double)keys_seen(p, i);
    check_at_most(p->check, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - (double)t->mma * 2048 / (products * seen * (double)p->d), 0);
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
    for (int64_t i = 0; i < half; i++) times(&p, ARRAY_Q, i, 1, MARK);
    for (int64_t j = 0; j < p.N_k; j++) {
        times(&p, ARRAY_K, j, 1, SMALL);
        row_of(&p, ARRAY_K, 0, 0, j)[0] = j % 2 ? level / (p.scale * q) : 0;
        if (j % 2) times(&p, ARRAY_V, j, 0, MARK);
    }
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = check_traffic(p.check);
    const struct tensor *O = p.array[ARRAY_O].tensor, *LSE = p.array[ARRAY_LSE].tensor;
    judge_count(&p, t, 2);
    check_changes(p.check, LSE, 0, half, "Q K^T");
    check_changes(p.check, O, half * d, (p.N_q - half) * d, "P V");
    check_stays(p.check, LSE, half, p.N_q - half);
    return t;
}
