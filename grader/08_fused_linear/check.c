// check.c: what lesson 08, fused_linear, is graded on.
//
// Each item sets one trap. Except for an item's trap, cases have whole tiles of any usual size, no
// f, no dropout, no Z, and a seed and an offset of 31 bits.
#include "block.h"
#include "check/check.h"
#include "check/reach.h"
#include "layer.h"
#include "mistakes.h"
#include "refused.h"
#include "wall/arena.h"
#include "words.h"

// Elements: whole tiles for blocks of up to 128 x 256, and 64 along K.
enum { WHOLE_M = 128, WHOLE_N = 256, WHOLE_K = 64, HALF_M = WHOLE_M / 2 };

// A card whose blocks have more shared memory than those of the strictest: a launcher may choose
// more stages.
#define MORE_MEMORY "h200"

// ---- judging

// Allowed is, element by element, less than for the whole of the output.
static void compare(struct check* c, const struct layer* l, struct tensor* t,
                    const double* allowed) {
    double most = 0, sum = 0;
    const int64_t count = l->M * l->N;
    for (int64_t e = 0; e < count; e++) {
        most = fmax(most, allowed[e]);
        sum += allowed[e];
    }
    check_compare(c, t, (struct budget){.max = most, .mean = sum / (double)count});
    for (int64_t e = 0; e < count && t != l->Z; e++)
        if (!is_kept(l, e) && signbit(t->got[e]))
            check_fail(c, CAUSE_drop_chosen, "%s[%lld, %lld] is -0, expected 0", t->name,
                       (long long)(e / l->N), (long long)(e % l->N));
    for (int64_t e = 0; e < count; e++) {
        if (!isfinite(t->want[e]) || fabs(t->got[e] - t->want[e]) <= allowed[e]) continue;
        enum cause cause = explain_layer(l, t);
        check_fail(c, cause ? cause : CAUSE_low_precision, "%s[%lld, %lld] is %.9g, expected %.9g",
                   t->name, (long long)(e / l->N), (long long)(e % l->N), t->got[e], t->want[e]);
    }
}

static void judge(struct layer* l) {
    double* allowed = check_allocate(l->check, l->M * l->N, sizeof *allowed);
    if (l->backward) {
        want_dZ(l, allowed);
        compare(l->check, l, l->dZ, allowed);
    } else {
        want_Y(l, allowed);
        compare(l->check, l, l->Y, allowed);
        if (l->with_Z) check_compare(l->check, l->Z, budget_exact());
    }
    free(allowed);
}

static void run(struct layer l, const char* what) {
    layer_begin(&l, what);
    if (l.card) check_pose_as(l.check, l.card);
    layer_fill(&l);
    check_run(l.check);
    judge(&l);
}

// ---- items, forward

static void linear(struct check* c) {
    // Of columns more than a group of tiles has; with few rows, since each tile takes its time.
    run(layer_of(c, WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5)), "one tile of Y");
    run(layer_of(c, 2 * WHOLE_M, WHOLE_N, WHOLE_K), "tiles of rows");
    run(layer_of(c, 8, 9 * WHOLE_N, WHOLE_K), "tiles of columns");
    struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5));
    l.card = MORE_MEMORY;
    run(l, "as " MORE_MEMORY);
}

static void pre_activation(struct check* c) {
    for (int f = FUSED_LINEAR_NONE; f <= FUSED_LINEAR_GELU_TANH; f += FUSED_LINEAR_GELU_TANH) {
        struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
        l.with_Z = true;
        l.f = f;
        if (f == FUSED_LINEAR_NONE) l.p = check_uniform(c, 0.2, 0.4);
        run(l, "with Z");
    }
}

// In the second case Z is below 0, most of it far, where f is small.
static void gelu(struct check* c) {
    for (int f = FUSED_LINEAR_GELU; f <= FUSED_LINEAR_GELU_TANH; f++) {
        struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
        l.f = f;
        run(l, "f");
        layer_begin(&l, "far below 0");
        layer_fill(&l);
        for (int64_t e = 0; e < l.X->count; e++) l.X->value[e] *= 0.25;
        for (int64_t j = 0; j < l.N; j++)
            l.bias->value[j] = -(double)check_pick(c, 32, j % 8 ? 255 : 2047) / 64;
        check_run(c);
        judge(&l);
    }
}

static void dropout(struct check* c) {
    for (int i = 0; i < 3; i++) {
        struct layer l = layer_of(c, i == 1 ? 3 * WHOLE_M : HALF_M, WHOLE_N, WHOLE_K);
        l.p = i == 0 ? 0.5 : check_uniform(c, 0.05, 0.9);
        run(l, "dropout");
    }
}

static void keys(struct check* c) {
    const uint64_t upper = (uint64_t)check_pick(c, 1, INT32_MAX) << 32;
    const uint64_t keys[][2] = {{0, 0}, {upper, 0}, {0, upper}, {~upper, ~(upper >> 7)}};
    for (int i = 0; i < 4; i++) {
        struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
        l.p = 0.5;
        if (i != 1) l.seed = keys[i][0];
        if (i != 2) l.offset = keys[i][1];
        if (i == 1) l.seed += keys[i][0];
        if (i == 2) l.offset += keys[i][1];
        run(l, "seed and offset");
    }
}

static void limits(struct check* c) {
    struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.p = p_beside(c, &l);
    run(l, "a word just below p 2^32");
    l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.p = p_below(c, &l);
    run(l, "a word just above p 2^32");
    for (uint32_t more = 0; more < 2; more++) {
        l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
        l.p = p_at(c, &l, more);
        run(l, more ? "a word 1 below p 2^32" : "a word that is p 2^32");
    }
    l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.p = p_above(c, &l);
    run(l, "a word 1/2 below p 2^32");
    l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.p = 1;
    l.with_Z = true;  // which nothing drops
    run(l, "p = 1");
    l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    struct layer two_kept = l;
    two_kept.p = 1 - 0x1p-20;
    two_kept.seed = WORD_0_SEED;
    two_kept.offset = kept_offsets[check_pick(c, 0, KEPT_OFFSETS - 1)];
    run(two_kept, "p near 1, and two elements that are kept");
    l.p = 0x1p-12 + 0x1p-30;
    run(l, "p near 0");
    l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.seed = WORD_0_SEED;
    l.offset = word_0_offsets[check_pick(c, 0, WORD_0_OFFSETS - 1)];
    run(l, "p = 0, and a word that is 0");
    l.p = 0x1p-33;
    run(l, "p 2^32 = 1/2, and a word that is 0");
}

static void all_together(struct check* c) {
    struct layer l = layer_of(c, WHOLE_M, WHOLE_N, WHOLE_K);
    l.f = FUSED_LINEAR_GELU_TANH;
    l.p = check_uniform(c, 0.1, 0.6);
    run(l, "GELU and dropout");
}

static bool last_row_reached(struct check* c, const void* unused, int64_t M) {
    struct layer l = layer_of(c, M, 8, 8);
    (void)unused;
    layer_begin(&l, "the last of many rows");
    layer_fill(&l);
    check_run_few_blocks(c);
    check_run(c);
    for (int64_t e = 0; e < M * l.N; e++)
        l.Y->want[e] = dtype_round(BF16, z_of(&l, e / l.N, e % l.N));
    return check_end_is_right(l.Y);
}

// ---- elements beyond 2^34: not even their calls of Philox are counted by 32 bits. In the backward
// pass beyond 2^38: no grid has as many blocks of 32 threads with a call each

enum { FAR_N = 140000, FAR_M = FAR_N, MOST_M = FUSED_LINEAR_MAX_SIZE, MOST_N = MOST_M / 2 };

// Would a kernel drop other ones of the last elements, whose index, or that of their call, is kept
// in 32 bits?
static bool tells_bits_apart(const struct layer* l) {
    enum { LAST = 8 };  // those that check_end_is_right() looks at
    bool of_element = false, of_call = false;
    for (int64_t e = l->M * l->N - LAST; e < l->M * l->N; e++) {
        const bool kept = is_kept(l, e);
        of_element |= kept != is_kept(l, (int64_t)(uint32_t)e);
        of_call |= kept != is_kept(l, (int64_t)(uint32_t)(e / 4) * 4 + e % 4);
    }
    return of_element && of_call;
}

// `like`: a layer; M rows.
static bool last_elements_reached(struct check* c, const void* like, int64_t M) {
    struct layer l = *(const struct layer*)like;
    l.M = M;
    l.shown = check_shown(M * l.N);
    while (M * l.N > 1LL << 34 && !tells_bits_apart(&l)) l.seed++;
    layer_begin(&l, "the last of many elements");
    layer_fill(&l);
    if (!l.backward)  // no output is 0 but those that are dropped
        for (int64_t j = 0; j < l.N; j++) l.bias->value[j] = j % 2 ? 64 : -64;
    check_run_few_blocks(c);
    check_run(c);
    struct tensor* out = l.backward ? l.dZ : l.Y;
    for (int64_t k = 0; k < l.shown; k++) {
        const int64_t e = M * l.N - l.shown + k;
        double y = l.backward ? l.dY->value[k] : z_of(&l, e / l.N, e % l.N);
        out->want[k] = is_kept(&l, e) ? dtype_round(BF16, y * scale_of(&l)) : 0;
    }
    return check_end_is_right(out);
}

// Does a grid that does not grow any more go on? A block of up to 1024 calls has whole rows here,
// and 65535 of them have less than half of all.
static void reaches_backward(struct check* c) {
    enum { COLS = 1024 };
    struct layer l = backward_of(c, MOST_M, COLS, FUSED_LINEAR_NONE);
    l.p = 0.5;
    check_reaches(c, MOST_M - check_pick(c, 1, 31), last_elements_reached, &l);
}

static void far_elements(struct check* c, bool backward) {
    enum { BELOW = 1024 };  // of as many rows an index has less than 31 bits
    struct layer l =
        backward ? backward_of(c, MOST_M, MOST_N, FUSED_LINEAR_NONE) : layer_of(c, FAR_M, FAR_N, 8);
    l.p = 0.5;
    check_indexes(c, l.M, BELOW, last_elements_reached, &l);
    l.N = 1 << 16;  // so that M N is 2^32, and 2^31: in 32 bits 0, and below
    check_is_launched(c, 1 << 16, BELOW, last_elements_reached, &l);
    check_is_launched(c, 1 << 15, BELOW, last_elements_reached, &l);
}

static void ragged(struct check* c) {
    const int64_t sizes[][3] = {
        {1, 4, 8},
        {check_pick(c, 5, 15), 4 * check_pick(c, 5, 15), 8 * check_pick(c, 2, 7)},
        {129, 252, 72},
        {check_pick(c, 65, 127), 8 * check_pick(c, 9, 31) + 4, 64 + 8},
        {130, 8, 136}};
    for (int i = 0; i < 5; i++) {
        struct layer l = layer_of(c, sizes[i][0], sizes[i][1], sizes[i][2]);
        if (i > 0) l.p = check_uniform(c, 0.2, 0.6);
        l.with_Z = i > 2;
        run(l, "any sizes");
    }
    check_reaches(c, (1 << 16) + check_pick(c, 8, 40), last_row_reached, NULL);
    far_elements(c, false);
}

static const double special[] = {NAN, INFINITY, 30, -30};

// One of each special number, somewhere in a column of its own.
static void make_special(const struct layer* l) {
    for (int i = 0; i < 4; i++) l->bias->value[8 * check_pick(l->check, 0, 31) + i] = special[i];
}

// Numbers of which the square is infinite in fp32.
static void very_large(struct check* c, int f) {
    struct layer l = layer_of(c, WHOLE_M / 8, WHOLE_N, WHOLE_K);
    l.f = f;
    layer_begin(&l, "very large numbers");
    layer_fill(&l);
    for (int64_t j = 0; j < l.N; j++) l.bias->value[j] = j % 2 ? 0x1p120 : -0x1p120;
    check_run(c);
    judge(&l);
}

// A NaN in bias is one in its column, where it is kept. Large numbers stay what they are. With
// p = 1 all of them are dropped.
static void not_finite(struct check* c) {
    static const double p[] = {0.25, 1, 0, 0};
    static const int f[] = {FUSED_LINEAR_NONE, FUSED_LINEAR_NONE, FUSED_LINEAR_GELU,
                            FUSED_LINEAR_GELU_TANH};
    for (int i = 0; i < 4; i++) {
        struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
        l.f = f[i];
        l.p = p[i];
        layer_begin(&l, "NaN, infinity and large numbers");
        layer_fill(&l);
        make_special(&l);
        check_run(c);
        judge(&l);
    }
    very_large(c, FUSED_LINEAR_GELU);
    very_large(c, FUSED_LINEAR_GELU_TANH);
}

// ---- backward

static void slopes(struct check* c) {
    // 1027 groups of four: of a grid that is rounded down to whole blocks the last three are lost,
    // however many groups a thread has, and a block threads.
    run(backward_of(c, 13, 316, FUSED_LINEAR_GELU), "backward, a few elements more than blocks");
    for (int f = FUSED_LINEAR_GELU; f <= FUSED_LINEAR_GELU_TANH; f++) {
        run(backward_of(c, HALF_M, WHOLE_N, f), "backward");
        struct layer l = backward_of(c, check_pick(c, 3, 33), 4 * check_pick(c, 1, 33), f);
        layer_begin(&l, "backward, large Z");
        layer_fill(&l);
        for (int64_t e = 0; e < l.Z->count; e++)
            l.Z->value[e] = ldexp(l.Z->value[e], (int)check_pick(c, -20, 120));
        check_run(c);
        judge(&l);
    }
}

// NaN and infinity in dY, NaN in Z, beside 0 in dY as well: some of them are kept, some dropped.
// Else Z is 0, where f's slope is 1/2 in any form.
static void backward_not_finite(struct check* c) {
    for (int f = FUSED_LINEAR_NONE; f <= FUSED_LINEAR_GELU; f++) {
        struct layer l = backward_of(c, HALF_M, WHOLE_N, f);
        l.p = check_uniform(c, 0.3, 0.7);
        layer_begin(&l, "backward, dropout, with NaN");
        layer_fill(&l);
        for (int64_t e = 0; l.Z && e < l.Z->count; e++) l.Z->value[e] = 0;
        for (int64_t e = check_pick(c, 0, 8); e < l.dY->count; e += check_pick(c, 1, 60)) {
            l.dY->value[e] = f || e % 2 ? NAN : -INFINITY;
            if (l.Z && e % 2) l.Z->value[e] = NAN, l.dY->value[e] = e % 4 == 1 ? -1 : 0;
        }
        check_run(c);
        judge(&l);
    }
}

static void backward_mask(struct check* c) {
    for (int i = 0; i < 3; i++) {
        struct layer l =
            backward_of(c, i == 1 ? check_pick(c, 65, 199) : HALF_M,
                        i == 1 ? 4 * check_pick(c, 33, 65) : WHOLE_N, FUSED_LINEAR_NONE);
        l.p = i == 2 ? 1 : check_uniform(c, 0.1, 0.9);
        l.seed += (uint64_t)check_pick(c, 1, 1000) << 32;
        l.offset += (uint64_t)check_pick(c, 1, 1000) << 32;
        run(l, "backward, dropout");
    }
    backward_not_finite(c);
    far_elements(c, true);
    reaches_backward(c);
}

// ---- calls

static void called_again(struct check* c) {
    struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    const uint64_t seeds[] = {l.seed, l.seed, l.seed + 1};
    const uint64_t offsets[] = {l.offset, l.offset + 1, l.offset + 1};
    l.p = 0.5;
    l.calls = 3;
    layer_begin(&l, "three calls, the first on another GPU");
    check_begin_on(c, MORE_MEMORY);  // what is set for the first GPU is not set for this one
    for (int call = 0; call < l.calls; call++) {
        check_round(c, call);
        check_vary(c, "offset", call, (int64_t)offsets[call]);
        check_vary(c, "seed", call, (int64_t)seeds[call]);
        if (call == 2) check_vary(c, "M", call, l.M / 2);
        layer_fill(&l);
    }
    check_run(c);
    for (int call = 0; call < l.calls; call++) {
        check_round(c, call);
        l.offset = offsets[call];
        l.seed = seeds[call];
        if (call == 2) l.M /= 2;
        for (int64_t e = l.M * l.N; e < l.Y->count; e++) l.Y->untouched[e] = true;
        judge(&l);
    }
}

// What follows the product follows bias alone, too. Where f is asked for, bias is so large that f
// of it is itself: without a sum no other number could tell f forgotten from bias added behind it.
static void without_inputs(struct check* c, int f, double p, bool with_Z) {
    struct layer l = layer_of(c, HALF_M / 4, WHOLE_N, 0);  // whole groups of rows
    l.f = f;
    l.p = p;
    l.with_Z = with_Z;
    check_case(c, "M = %d, N = %d, K = 0, X and W are NULL%s%s%s", (int)l.M, WHOLE_N,
               f ? ", GELU" : "", p > 0 ? ", p = 0.5" : "", with_Z ? ", with Z" : "");
    check_null_if_empty(c);
    declare(c, &l);
    layer_fill(&l);
    for (int64_t j = 0; j < l.N && f; j++) l.bias->value[j] = 30.0 + j % 32;
    check_run(c);
    judge(&l);
}

static void sizes_of_0(struct check* c) {
    static const struct idle_call forward[] = {
        {COURSE_OK, {{"M", 0}}},
        {COURSE_OK, {{"N", 0}}},
        {COURSE_OK, {{"M", 0}, {"Y", 0}, {"bias", 0}}},
        {COURSE_OK, {{"M", 0}, {"first_Y", 4}, {"first_bias", 4}}},
        {0},
    };
    static const struct idle_call backward[] = {
        {COURSE_OK, {{"M", 0}}},
        {COURSE_OK, {{"N", 0}, {"dZ", 0}, {"dY", 0}}},
        {COURSE_OK, {{"M", 0}, {"first_dZ", 4}, {"first_Z", 4}}},
        {0},
    };
    without_inputs(c, FUSED_LINEAR_NONE, -0.0, false);  // which is 0
    without_inputs(c, FUSED_LINEAR_GELU, 0, false);
    without_inputs(c, FUSED_LINEAR_NONE, 0.5, true);
    struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    check_idle_calls(c, forward, declare, &l);
    l = backward_of(c, HALF_M, WHOLE_N, FUSED_LINEAR_GELU);
    check_idle_calls(c, backward, declare, &l);
}

static void bad_arguments(struct check* c) {
    check_ordinary(c);
    run(layer_of(c, HALF_M, WHOLE_N, WHOLE_K), "good arguments");
    struct layer l = layer_of(c, HALF_M, WHOLE_N, WHOLE_K);
    l.with_Z = true;
    check_idle_calls(c, refused_forward, declare, &l);
    check_large_calls(c, most_forward, "launch", declare, &l);
    check_launches_fail(c, declare, &l);
    l = backward_of(c, HALF_M, WHOLE_N, FUSED_LINEAR_GELU);
    check_idle_calls(c, refused_backward, declare, &l);
    check_large_calls(c, most_backward, "launch", declare, &l);
    check_launches_fail(c, declare, &l);
}

// ---- looking inside

// Of the cases with f, dropout and Z only the accesses count.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    struct layer more = layer_of(c, check_pick(c, 18, 63), 4 * check_pick(c, 5, 15), 2 * WHOLE_K);
    more.card = MORE_MEMORY;
    run(more, "accesses, as " MORE_MEMORY);
    for (int i = 0; i < 3; i++) {
        struct layer l = layer_of(c, check_pick(c, 18, 140), 4 * check_pick(c, 5, 33), 72);
        if (i == 2) l = backward_of(c, check_pick(c, 3, 33), 4 * check_pick(c, 1, 33), 1);
        l.f = i;
        l.p = 0.5;
        l.with_Z = i != 0;
        layer_begin(&l, "accesses");
        layer_fill(&l);
        check_run(c);
    }
}

// A forward call whose products are all made by mma.sync, 16 * 8 * 16 multiplications each, or by
// wgmma, as in solutions/24_hopper_matmul/layer, and which keeps nothing. Rows of X from `large` on
// hold numbers of 2^20 times the size, and W of 2^-20 times.
static const struct arena_traffic* multiplied(struct layer* l, int64_t large, const char* what) {
    struct check* c = l->check;
    const double M = (double)l->M, N = (double)l->N, K = (double)l->K;
    layer_begin(l, what);
    layer_fill(l);
    for (int64_t e = 0; e < l->X->count; e++) l->X->value[e] *= e < large * l->K ? 0x1p8 : 0x1p20;
    for (int64_t e = 0; e < l->W->count; e++) l->W->value[e] *= 0x1p-20;
    check_run(c);
    judge(l);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync or wgmma",
                  1 - ((double)t->mma * 2048 + (double)t->wgmma_multiplications) / (M * N * K), 0);
    check_kept(c, CAUSE_intermediate, "element of Y", M * N, 0.5, 3000);
    return t;
}

// The same, and it reads X and W once a tile, and writes its outputs once. What is made of large
// rows has to change if the tensor cores make other products of large numbers.
static void moved(struct layer l, const char* what) {
    enum { TILE = 64 };
    struct check* c = l.check;
    const double M = (double)l.M, N = (double)l.N, K = (double)l.K;
    const int64_t large = check_pick(c, l.M / 4, 3 * l.M / 4);
    const struct arena_traffic* t = multiplied(&l, large, what);
    check_pairs(c);
    for (int64_t m = 0; m < l.M; m++)
        for (int64_t n = 0; n < l.N; n++)
            for (int64_t k = 0; k < l.K; k++)
                check_multiplied(c, l.X->value[m * l.K + k], l.W->value[n * l.K + k]);
    check_changes(c, l.Y, large * l.N, (l.M - large) * l.N, "X W^T");
    check_given(c, "X W^T");
    // Tiles of TILE x TILE read every element of X N / TILE times and every element of W M / TILE
    // times. Beside them, each element of Y may load its bias. Where tiles are not full, a quarter
    // more may be loaded than there is.
    const double of_X = (double)CEIL_DIV(l.N, TILE), of_W = (double)CEIL_DIV(l.M, TILE);
    const bool whole = l.M % WHOLE_M == 0 && l.N % WHOLE_N == 0;
    check_at_most(c, CAUSE_too_much_read, "times that an element of X or W is loaded, on average",
                  (double)t->global_load_bytes / (2 * (M * K + K * N)),
                  (whole ? 1 : 1.25) * (M * K * of_X + K * N * of_W + M * N) / (M * K + K * N));
    check_loaded_once(c, "X");
    check_loaded_once(c, "W");
    const double outputs = l.with_Z ? 2 : 1;
    check_at_most(c, CAUSE_too_much_written, "times that each element of the outputs is stored",
                  (double)(t->global_store_bytes + t->filled_bytes) / (2 * M * N * outputs), 1.01);
    // Rows of an N that is no multiple of 16 begin inside of a sector: twice as many are met.
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  32 * (double)t->global_store_sectors / (double)t->global_store_bytes,
                  whole ? 2.1 : 4.2);
}

// Whole tiles; and sizes that seem to be not worth a tile: a launcher may have other kernels.
static void forward_moves(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct layer l = layer_of(c, WHOLE_M, WHOLE_N, 2 * WHOLE_K);
    l.f = FUSED_LINEAR_GELU;
    l.p = 0.25;
    moved(l, "what is moved");
    l = layer_of(c, check_pick(c, 5, 15), HALF_M, 8 * check_pick(c, 1, 2));
    (void)multiplied(&l, 0, "few rows and a short K");
    l = layer_of(c, 0, 0, WHOLE_K);
    l.f = FUSED_LINEAR_GELU;
    l.p = 0.25;
    forward_of_block(l, judge);
}

// Tiles that are not full.
static void forward_moves_Z(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct layer l = layer_of(c, WHOLE_M - 1, WHOLE_N - 4, WHOLE_K - 8);
    l.f = FUSED_LINEAR_GELU_TANH;
    l.p = 0.25;
    l.with_Z = true;
    moved(l, "what is moved");
    forward_of_block(l, judge);
}

// With GELU, without any, and by tanh where rows are no whole eights and nothing is dropped.
static void backward_moves(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    for (int f = FUSED_LINEAR_NONE; f <= FUSED_LINEAR_GELU_TANH; f++) {
        const bool odd = f == FUSED_LINEAR_GELU_TANH;
        struct layer l =
            backward_of(c, odd ? HALF_M / 2 - 1 : WHOLE_M, odd ? HALF_M - 4 : WHOLE_N, f);
        l.p = odd ? 0 : 0.25;
        l.with_Z = true;
        layer_begin(&l, "what the backward pass moves");
        layer_fill(&l);
        for (int64_t e = 0; e < l.Z->count && f == FUSED_LINEAR_NONE; e++)
            l.Z->value[e] = NAN, l.Z->untouched[e] = true;  // nobody reads it
        check_run(c);
        judge(&l);
        const struct arena_traffic* t = check_traffic(c);
        const double elements = (double)(l.M * l.N), bytes = 2 * elements;
        check_kept(c, CAUSE_intermediate, "element of dZ", elements, 0.5, 3000);
        check_at_most(c, CAUSE_too_much_read, "times that each element of dY and Z is loaded",
                      (double)t->global_load_bytes / (f ? 2 * bytes : bytes), 1.01);
        check_stored_once(c, "dZ");
        check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                      32 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.1);
    }
    struct layer l = backward_of(c, 0, 0, (int)check_pick(c, FUSED_LINEAR_NONE, FUSED_LINEAR_GELU));
    l.p = 0.25;
    backward_of_block(l, judge);
}

static const struct item items[] = {
    {6, "X W^T + bias: tiles in both directions", linear},
    {4, "Z, what the backward pass needs", pre_activation},
    {6, "GELU in both forms", gelu},
    {7, "dropout: the mask to the bit", dropout},
    {4, "seed and offset: 64 bits each", keys},
    {4, "p = 1, p near 0, and words beside the limit", limits},
    {3, "GELU, then dropout", all_together},
    {5, "any M, N and K: tiles reach past the edge", ragged},
    {2, "NaN, infinity and large numbers", not_finite},
    {6, "backward: the slope of GELU in both forms", slopes},
    {4, "backward: the same mask", backward_mask},
    {2, "three calls, other offsets", called_again},
    {1, "sizes of 0", sizes_of_0},
    {1, "bad arguments are refused", bad_arguments},
    {5, "no races, no stray accesses", safe},
    {12, "forward: tensor cores, one read, one write", forward_moves},
    {12, "forward with Z: nothing else is moved", forward_moves_Z},
    {16, "backward: one read, one write", backward_moves},
    {0},
};

const struct lesson lesson = {
    .name = "08_fused_linear",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "what follows the product is done to the sums: one read, one write, no mask",
             .paid_by = {forward_moves, forward_moves_Z, backward_moves},
             .naive = "solutions/08_fused_linear/steps/1_three_kernels.cu"},
    .explain = explain};
