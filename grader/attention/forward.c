// forward.c: data, budgets and cases of O and LSE.
#include "attention/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cards/cards.h"
#include "wall/arena.h"

// ---- data ----------------------------------------------------------------------------------

void forward_fill(struct problem* p) {
    for (enum which a = ARRAY_Q; a <= ARRAY_V; a++) {
        if (!p->array[a].tensor) continue;
        fill_normal(p->check, p->array[a].tensor, 0, 1);
        if (p->nan_gaps) fill_gaps(p, a, NAN);
    }
}

void set_column(struct problem* p, enum which a, int64_t x, double value) {
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h += sharing(p, a))
            for (int64_t n = 0; n < rows_of(p, a); n++) row_of(p, a, b, h, n)[x] = value;
}

void set_level(struct problem* p, int64_t j, double level) {
    row_of(p, ARRAY_K, 0, 0, j)[0] = level / p->scale;
}

void forward_integers(struct problem* p, double q, double k) {
    fill_integers(p->check, p->array[ARRAY_Q].tensor, -2, 2);
    fill_integers(p->check, p->array[ARRAY_K].tensor, -2, 2);
    set_column(p, ARRAY_Q, 0, q);
    set_column(p, ARRAY_K, 0, k);
}

// ---- cases ---------------------------------------------------------------------------------

void forward_begin(struct problem* p, enum layout layout, const char* what) {
    problem_begin(p, layout, what);
    forward_fill(p);
}

struct forward_budgets forward_want(struct problem* p) {
    struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    double* standard_O = check_allocate(p->check, O->count, sizeof *standard_O);
    double* standard_LSE = check_allocate(p->check, LSE->count, sizeof *standard_LSE);
    guard_gaps(p, ARRAY_O);
    guard_gaps(p, ARRAY_LSE);
    forward_reference(p, false, O->want, LSE->want);
    forward_reference(p, true, standard_O, standard_LSE);
    struct forward_budgets budgets = {budget_from(O, standard_O), budget_from(LSE, standard_LSE)};
    free(standard_O);
    free(standard_LSE);
    return budgets;
}

void forward_judge(struct problem* p, int what) {
    struct forward_budgets budgets = forward_want(p);
    if (what & JUDGE_O) check_compare(p->check, p->array[ARRAY_O].tensor, budgets.O);
    if (what & JUDGE_LSE) check_compare(p->check, p->array[ARRAY_LSE].tensor, budgets.LSE);
    if (p->contract->judge_more) p->contract->judge_more(p);
}

void forward_run(struct problem* p, int what) {
    check_run(p->check);
    forward_judge(p, what);
}

void forward_case(struct problem p, enum layout layout, const char* what, int judged) {
    forward_begin(&p, layout, what);
    forward_run(&p, judged);
}

void forward_case_far(struct problem p) {
    if (check_can_be_far(p.check)) forward_case(p, FAR, "", JUDGE_O);
}

static void multiply(const struct problem* p, enum which a, double factor) {
    struct tensor* t = p->array[a].tensor;
    for (int64_t e = 0; e < t->count; e++) t->value[e] *= factor;
}

void forward_case_large(struct problem p, const char* what) {
    p = with_scale(p, NOT_OF_16_BITS);
    forward_begin(&p, PACKED, what);
    multiply(&p, ARRAY_Q, 30);
    forward_run(&p, JUDGE_O);
}

void forward_case_growing(struct problem p, enum layout layout, const char* what, int64_t keys,
                          double step) {
    if (layout == FAR && !check_can_be_far(p.check)) return;
    forward_begin(&p, layout, what);
    set_column(&p, ARRAY_Q, 0, 1);
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++)
                row_of(&p, ARRAY_K, b, h, j)[0] = (double)(j / keys) * step / p.scale;
    forward_run(&p, JUDGE_O);
}

void forward_case_integers(struct problem p, const char* what, double q, double k) {
    forward_begin(&p, PACKED, what);
    forward_integers(&p, q, k);
    forward_run(&p, JUDGE_O);
}

static void case_below(struct problem p, double level, double factor, const char* what) {
    p.scale = -level / (factor * factor);
    forward_begin(&p, PACKED, what);
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    set_column(&p, ARRAY_K, 0, factor);
    FOR_EACH_QUERY(&p, b, h, i) row_of(&p, ARRAY_Q, b, h, i)[0] = i % 2 ? -factor : 0;
    forward_run(&p, JUDGE_O);
}

void forward_case_below(struct problem p, double level) {
    char what[80];
    snprintf(what, sizeof what, ", all scores %g in every other row, and 0 in the others", level);
    case_below(p, level, 0x1p15, what);  // in all types of 16 bits
}

void forward_case_apart(struct problem p) {
    enum { FACTOR = 16, LEVEL = 300 };
    p.scale = LEVEL / (double)(FACTOR * FACTOR);
    forward_begin(&p, PACKED, ", all scores 300 in every other row, and 0 in the others");
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    set_column(&p, ARRAY_K, 0, FACTOR);
    FOR_EACH_QUERY(&p, b, h, i) row_of(&p, ARRAY_Q, b, h, i)[0] = i % 2 ? FACTOR : 0;
    forward_run(&p, JUDGE_O);
}

void forward_case_sinking(struct problem p) {
    enum { LEVEL = 100 };
    const int64_t rows = p.B * p.H * p.N_q;
    int64_t row = 0;
    forward_begin(&p, PACKED, ", scores of 100 in the middle half of all rows, -100 in the others");
    set_column(&p, ARRAY_K, 0, 1 / p.scale);
    FOR_EACH_QUERY(&p, b, h, i) {
        const bool middle = row >= rows / 4 && row < rows - rows / 4;
        row_of(&p, ARRAY_Q, b, h, i)[0] = middle ? LEVEL : -LEVEL;
        row++;
    }
    forward_run(&p, JUDGE_O);
}

void forward_case_products_below(struct problem p) {
    case_below(p, -0x1p127, 0x1p63,
               ", all products of rows -2^126 in every other row, and 0 in the others; scale 2");
}

void forward_case_long(struct problem p) {
    forward_begin(&p, PACKED, "");
    set_column(&p, ARRAY_Q, 0, 8);
    row_of(&p, ARRAY_K, 0, 0, p.N_k - 1)[0] = 4;
    forward_run(&p, JUDGE_O);
}

// Q K^T is the level of the key: column 0 of Q is 1, all else of both is 0.
static void fill_with_levels(struct problem* p,
                             double (*level_of)(const struct problem*, int64_t)) {
    fill_integers(p->check, p->array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p->check, p->array[ARRAY_K].tensor, 0, 0);
    set_column(p, ARRAY_Q, 0, 1);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h += p->group)
            for (int64_t j = 0; j < p->N_k; j++)
                row_of(p, ARRAY_K, b, h, j)[0] = level_of(p, j) / p->scale;
}

static double three_of_four(const struct problem* p, int64_t j) {
    (void)p;
    return j % 4 == 2 ? -1000 : 0;
}

void forward_case_divided(struct problem p) {
    forward_begin(&p, PACKED, ", scores 0 or -1000, and whole numbers");
    fill_with_levels(&p, three_of_four);
    fill_integers(p.check, p.array[ARRAY_V].tensor, 33, 63);
    check_run(p.check);
    forward_want(&p);
    // O is from 33 to 63. A sixteenth of half a unit is for the rounding of 1 / l in fp32.
    struct tensor* O = p.array[ARRAY_O].tensor;
    double half = dtype_ulp(O->dtype, 32) / 2;
    check_compare(p.check, O, (struct budget){.max = half * 17 / 16, .mean = INFINITY});
}

void forward_case_small(struct problem p) {
    p.scale *= 0x1p4;
    forward_begin(&p, PACKED, ", keys and values around 2^-14");
    multiply(&p, ARRAY_Q, 0x1p10);
    multiply(&p, ARRAY_K, 0x1p-14);
    multiply(&p, ARRAY_V, 0x1p-14);
    forward_run(&p, JUDGE_O);
}

// Whole tiles come before it, but none of the numbers of keys that a loop which ends too early, or
// begins too late, leaves out: who loses what was summed before it is told from who drops a tile.
enum { KEY_ABOVE = 150 };

static double one_above(const struct problem* p, int64_t j) {
    (void)p;
    return j == KEY_ABOVE ? 20 : 0;
}

void forward_case_faint(struct problem p) {
    forward_begin(&p, PACKED, ", one score 20 above all others");
    fill_with_levels(&p, one_above);
    fill_integers(p.check, p.array[ARRAY_V].tensor, 16384, 57344);
    // Of the second half a quarter: the mean of less than all keys is another.
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t x = 0; x < p.d; x++) {
                for (int64_t j = p.N_k / 2; j < p.N_k; j++) row_of(&p, ARRAY_V, b, h, j)[x] *= 0.25;
                row_of(&p, ARRAY_V, b, h, KEY_ABOVE)[x] = 0;
            }
    forward_run(&p, JUDGE_O);
}

// Neighbours differ, and two rows of a lane, 8 apart.
static bool is_half(int64_t i) {
    return (i + i / 8) % 2;
}

static bool is_second(int64_t i) {
    return i % 16 == 12;
}

static void jump(struct problem p, double level, double value, const char* rows,
                 bool (*has_key)(int64_t i)) {
    char what[128];
    snprintf(what, sizeof what, ", in %s one key has 2^%g times the weight of another, values %g",
             rows, level, value);
    forward_begin(&p, PACKED, what);
    fill_with_levels(&p, one_above);
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            row_of(&p, ARRAY_K, b, h, KEY_ABOVE)[0] = level * log(2) / p.scale;
    FOR_EACH_QUERY(&p, b, h, i) row_of(&p, ARRAY_Q, b, h, i)[0] = has_key(i);
    multiply(&p, ARRAY_V, value);
    forward_run(&p, JUDGE_O);
}

void forward_case_jump(struct problem p, double level, double value) {
    jump(p, level, value, "half of the rows", is_half);
}

void forward_case_jump_of_second(struct problem p, double level) {
    jump(p, level, 1, "one row of 16, a lane's second,", is_second);
}

void forward_case_two_levels(struct problem p) {
    forward_begin(&p, PACKED,
                  ", all scores near 150 in half of the rows, and near 50 in the others");
    set_column(&p, ARRAY_K, 0, 50 / p.scale);
    FOR_EACH_QUERY(&p, b, h, i) row_of(&p, ARRAY_Q, b, h, i)[0] = is_half(i) ? 3 : 1;
    forward_run(&p, JUDGE_O);
}

void forward_case_rising(struct problem p) {
    enum { KEYS_ABOVE = 16, LOWEST = 112 };
    forward_begin(&p, PACKED, ", 16 keys far above the others, other rows by other levels");
    fill_with_levels(&p, one_above);
    fill_integers(p.check, p.array[ARRAY_V].tensor, 16384, 57344);
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++)
                row_of(&p, ARRAY_K, b, h, j)[0] = j / KEYS_ABOVE == KEY_ABOVE / KEYS_ABOVE;
    FOR_EACH_QUERY(&p, b, h, i)
    row_of(&p, ARRAY_Q, b, h, i)[0] = (LOWEST + (double)(i % 16)) * log(2) / p.scale;
    forward_run(&p, JUDGE_O);
}

void forward_case_many_above(struct problem p, double level, double value) {
    enum { LAST = 128 };  // keys, that a walk from behind begins with
    char what[128];
    snprintf(what, sizeof what,
             ", keys before the last %d have 2^%g times the weight of these, values %g", LAST,
             level, value);
    forward_begin(&p, PACKED, what);
    for (int64_t e = 0; e < p.array[ARRAY_Q].tensor->count; e++)
        p.array[ARRAY_Q].tensor->value[e] = e % p.d == 0;
    for (int64_t j = 0; j < p.N_k; j++) {
        double* k = row_of(&p, ARRAY_K, 0, 0, j);
        k[0] = j < p.N_k - LAST ? level * log(2) / p.scale : 0;
        for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_V, 0, 0, j)[x] = value;
    }
    forward_run(&p, JUDGE_O);
}

void forward_case_late_maximum(struct problem p) {
    forward_begin(&p, PACKED, ", the last score 300 in every other row, and 0 in the others");
    set_column(&p, ARRAY_K, 0, 0);
    set_level(&p, p.N_k - 1, 300);
    for (int64_t i = 0; i < p.N_q; i++) {
        for (int64_t x = 1; x < p.d && i % 2 == 0; x++) row_of(&p, ARRAY_Q, 0, 0, i)[x] = 0;
        row_of(&p, ARRAY_Q, 0, 0, i)[0] = (double)(i % 2);
    }
    forward_run(&p, JUDGE_O);
}

void forward_case_falling(struct problem p) {
    forward_begin(&p, PACKED,
                  ", scores of 0, in every other row -300 but for the first and the last one");
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    for (int64_t i = 0; i < p.N_q; i++) row_of(&p, ARRAY_Q, 0, 0, i)[0] = (double)(i % 2);
    for (int64_t j = 1; j < p.N_k - 1; j++) row_of(&p, ARRAY_K, 0, 0, j)[0] = -300 / p.scale;
    forward_run(&p, JUDGE_O);
}

static double only_the_last(const struct problem* p, int64_t j) {
    return j == p->N_k - 1 ? 0 : -1000;
}

static double only_the_first(const struct problem* p, int64_t j) {
    (void)p;
    return j == 0 ? 0 : -1000;
}

static void one_weighs(struct problem p, double (*level_of)(const struct problem*, int64_t)) {
    forward_begin(&p, PACKED, ", one score 0, all others -1000");
    fill_with_levels(&p, level_of);
    forward_run(&p, JUDGE_LSE);
}

void forward_case_one_weighs(struct problem p) {
    one_weighs(p, only_the_last);
}

void forward_case_first_weighs(struct problem p) {
    one_weighs(p, only_the_first);
}

void forward_case_far_levels(struct problem p) {
    static const double levels[] = {300, -300, 0};
    forward_begin(&p, PACKED, ", rows of scores around 300, -300 and 0");
    set_column(&p, ARRAY_K, 0, 4);
    FOR_EACH_QUERY(&p, b, h, i) row_of(&p, ARRAY_Q, b, h, i)[0] = levels[i % 3] / p.scale / 4;
    forward_run(&p, JUDGE_LSE);
}

void spread_keys(struct problem* p, double common, double apart) {
    for (int64_t j = 0; j < p->N_k / 2; j++)
        for (int64_t x = 0; x < p->d; x++) {
            int64_t other = j + p->N_k / 2;
            row_of(p, ARRAY_K, 0, 0, other)[x] =
                row_of(p, ARRAY_K, 0, 0, j)[x] + apart * check_normal(p->check);
            row_of(p, ARRAY_V, 0, 0, j)[x] += common;
            row_of(p, ARRAY_V, 0, 0, other)[x] -= common;
        }
}

void forward_case_cancel(struct problem p) {
    forward_begin(&p, PACKED, ", large values that cancel");
    spread_keys(&p, 256, 1.0 / 16);
    forward_run(&p, JUDGE_O);
}

void forward_case_tail(struct problem p) {
    forward_begin(&p, PACKED, ", two scores far above thousands of equal ones");
    if (!p.contract->by_wgmma) check_mix_blocks(p.check);  // blocks that share a row's keys
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    set_column(&p, ARRAY_Q, 0, 8);
    // The first keys: l is above 1 from the start, and so the standard rounds what is added to it,
    // as all may do.
    for (int64_t h = 0; h < p.H; h += p.group) {
        for (int64_t key = 0; key < 2; key++)
            row_of(&p, ARRAY_K, 0, h, key)[0] = (14.2 - (double)key) / (8 * p.scale);
        for (int64_t key = 2; key < p.N_k; key++)
            for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_V, 0, h, key)[x] *= 8192;
    }
    forward_run(&p, JUDGE_O);
}

// ---- items that several lessons have -------------------------------------------------------

static void fill_call(struct problem* p, int round) {
    (void)round;
    forward_fill(p);
}

static void judge_O(struct problem* p) {
    forward_judge(p, JUDGE_O);
}

void forward_again(struct problem p, const char* name, void (*fill)(struct problem* p, int round)) {
    enum { CALLS = 3 };
    struct problem* const calls[CALLS] = {&p, &p, &p};
    check_case(p.check, "%s, new data in the same arrays", name);
    check_rounds(p.check, CALLS);
    problem_declare(&p, PACKED);
    problem_run_calls(calls, CALLS, fill ? fill : fill_call, judge_O);
}

void forward_on_two_devices(struct problem p, const char* first, int status) {
    problem_on_two_devices(p, first, status, forward_fill, judge_O);
}

static void alone(struct problem p, void (*fill)(struct problem* p, int round)) {
    problem_begin(&p, PACKED, "");
    fill(&p, 0);
    forward_run(&p, JUDGE_O);
}

void forward_case_after(struct problem p, struct problem first,
                        void (*fill)(struct problem* p, int round)) {
    enum { CALLS = 4 };
    struct problem as_wide = first, alike = first;
    struct problem* const calls[CALLS] = {&first, &as_wide, &alike, &p};
    as_wide.d = alike.d = p.d;
    as_wide.scale = (double)(float)(0.5 * p.scale);  // as in the calls
    alike.causal = p.causal;
    if (!fill) fill = fill_call;
    // What is wrong in a first call, too, is not left of another.
    alone(as_wide, fill);
    alone(p, fill);
    problem_name(&p, PACKED, ", after calls of other sizes");
    check_rounds(p.check, CALLS);
    problem_declare(&p, PACKED);
    for (int r = 0; r < CALLS - 1; r++) problem_call_first(calls[r], &p, r);
    problem_run_calls(calls, CALLS, fill, judge_O);
}

void forward_case_moved(struct problem p) {
    enum { CALLS = 2 };
    struct problem packed = p;
    struct problem* const calls[CALLS] = {&packed, &p};
    problem_name(&p, GAPS, ", after a call with packed arrays");
    check_rounds(p.check, CALLS);
    problem_declare(&p, GAPS);
    problem_call_first(&packed, &p, 0);
    problem_run_calls(calls, CALLS, fill_call, judge_O);
}

void forward_case_one_key(struct problem p) {
    p.N_k = 1;
    p.scale = 0;
    forward_case(p, PACKED, "", JUDGE_O | JUDGE_LSE);
}

void forward_misaligned(struct problem p) {
    static const enum which each[] = {ARRAY_K, ARRAY_Q, ARRAY_V, ARRAY_O, ARRAY_LSE};
    for (size_t n = 0; n < sizeof each / sizeof each[0]; n++) {
        p.later = 1u << each[n];
        forward_case(p, PACKED, "", JUDGE_O);
    }
}

void forward_no_keys(struct problem p) {
    p.N_k = 0;
    problem_name(&p, GAPS, "; K and V are NULL");
    check_null_if_empty(p.check);
    problem_declare(&p, GAPS);
    forward_fill(&p);
    check_expect(p.check, COURSE_OK, CAUSE_empty_input);
    forward_run(&p, JUDGE_O | JUDGE_LSE);
}

void forward_idle(struct problem p, const char* name) {
    check_case(p.check, "%s, arrays without elements are NULL", name);
    check_null_if_empty(p.check);
    problem_declare(&p, PACKED);
    check_expect(p.check, COURSE_OK, CAUSE_empty_input);
    check_run(p.check);
}

void forward_arguments(struct problem p, const struct idle_call* bad) {
    struct problem no_queries = p, no_heads = p, no_batches = p;
    no_queries.N_q = no_heads.H = no_batches.B = 0;
    check_ordinary(p.check);
    forward_case(p, PACKED, "", JUDGE_O);
    struct problem free = with_unused_strides(p);
    free.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone
    forward_case(free, PACKED, "", JUDGE_O);
    // In bf16 kernels of d = 128 need more shared memory than others may have unasked.
    const struct problem wide = p.contract->dtype == BF16 ? with_d(p, 128) : p;
    forward_on_two_devices(wide, p.contract->by_wgmma ? "h100" : CARD_NEWER, COURSE_OK);
    // A card that is newer than Hopper is none, either.
    if (p.contract->by_wgmma) forward_on_two_devices(p, CARD_NEWER, COURSE_UNSUPPORTED);
    forward_idle(no_queries, "N_q = 0");
    forward_idle(no_heads, "H = 0");
    forward_idle(no_batches, "B = 0");
    problem_refused(p, bad);
    problem_too_many_heads(p);
    if (!p.contract->by_wgmma) problem_many_keys(p);
    problem_most_heads(p);
    problem_launches_fail(p);
    // However small, a scale is above 0.
    p.scale = 0x1p-126;
    problem_must_return(p, COURSE_OK, ": above 0");
}

void forward_kept(struct problem p) {
    p.N_k = 4096;
    check_watch(p.check, WATCH_PROFILE);
    forward_case(p, PACKED, "", JUDGE_O);
    problem_traffic(&p);
}

const struct arena_traffic* forward_long_rows(struct problem p, int64_t N_k) {
    // What a block keeps may not grow with the keys. A multiprocessor has 256 KB of registers and
    // less than that of shared memory: 8 rows of 2^14 scores in fp32 are more than both.
    enum { SMALLEST_TILE = 8, OF_A_BLOCK = 480 << 10 };
    p.N_k = N_k;
    double read = forward_loads(p);  // of Q a kernel may read a tile for each tile of keys
    read -= (double)check_loaded_again(p.check, "Q");
    check_at_most(p.check, CAUSE_too_much_read, "times that many keys and values are read",
                  read / (4.0 * (double)(p.B * p.H * N_k * p.d)),
                  (double)CEIL_DIV(p.N_q, SMALLEST_TILE));
    check_loaded_once(p.check, "K");
    check_loaded_once(p.check, "V");
    const struct arena_traffic* t = check_traffic(p.check);
    check_at_most(p.check, CAUSE_quadratic_memory,
                  "bytes of shared memory and of all threads' local arrays that a block has",
                  (double)(t->shared_bytes_per_block + t->local_bytes_per_block), OF_A_BLOCK);
    return t;
}

double forward_loads(struct problem p) {
    check_watch(p.check, WATCH_PROFILE);
    forward_case(p, PACKED, "", JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(&p);
    return (double)t->global_load_bytes - 2.0 * (double)(p.B * p.H * p.N_q * p.d);
}
