// check.c: what lesson 11, cross_entropy, is graded on.
//
// Each item sets one trap. Except for an item's trap, cases have 128 or 1024 logits a row, rows in
// multiples of 8 that begin at multiples of 128 bytes, tokens for labels, ignore_index -100, no
// smoothing, a positive logit in every row, and no gaps.
#include "check/check.h"
#include "judged.h"
#include "reach_cases.h"
#include "wall/arena.h"

enum { ROWS = 8, FEW = 128, COLS = 1024, VOCABULARY = 50257 };

// The most logits of a row of which 48 KB are left, beside 8 pieces of 8 in each of so many
// threads; up to 7 pieces' places are lost where the row's first line begins.
#define BESIDE_PIECES(threads) (8 * (8 * (threads) + 48 * 64 - 7))

static void run_random(struct check* c, int64_t rows, int64_t V) {
    struct head h = head_of(c, rows, V);
    head_begin(&h, "random");
    head_fill(&h, -9.0, 1.0);
    run(c, &h);
}

// ---- items

// No whole piece of 16 bytes, or one or two, with logits before and behind. With one logit softmax
// is 1 and so is the target: gradient and loss are 0, exactly.
static void narrow(struct check* c) {
    int64_t V[] = {31, check_pick(c, 16, 30), check_pick(c, 9, 15), check_pick(c, 2, 8), 1, 33};
    for (int i = 0; i < 6; i++) {
        struct head h = head_of(c, ROWS, V[i]);
        head_begin(&h, "narrow");
        head_fill(&h, 0.5, 5.5);
        set_label(&h, 0, 0);
        set_label(&h, 1, V[i] - 1);
        run(c, &h);
    }
    struct head h = head_of(c, ROWS, 1);
    head_begin(&h, "one logit near 0");
    head_fill(&h, -0.01, 0.01);
    run(c, &h);
}

// 50257 is the vocabulary of GPT-2: a row may begin at any even address. The label is the first or
// the last logit of some rows.
static void any_width(struct check* c) {
    int64_t V[] = {2 * check_pick(c, 130, 500) + 1,
                   check_pick(c, 1041, 1055),
                   2 * check_pick(c, 2100, 7000) + 1,
                   2 * check_pick(c, 8200, 15000) + 1,
                   VOCABULARY,
                   1002,
                   1004};
    for (int i = 0; i < 7; i++) {
        struct head h = head_of(c, V[i] > 5000 ? 3 : ROWS, V[i]);
        head_begin(&h, "wide");
        head_fill_rising(&h);
        set_label(&h, 0, V[i] - 1);
        set_label(&h, 1, 0);
        run(c, &h);
    }
    // Logits that just fit into 48 KB; then beside 8 pieces in each of 256 and 512 threads 48 KB,
    // not a byte more: with anything static it has to be asked for.
    const int64_t limits[] = {48 * 512, 48 * 512 - 8, BESIDE_PIECES(256), BESIDE_PIECES(512)};
    for (int i = 0; i < 4; i++) {
        struct head h = head_of(c, 1, limits[i]);
        head_begin(&h, "at a limit");
        head_fill_rising(&h);
        run(c, &h);
    }
    // As many pieces as threads hold, of rows that begin in the last piece of a line: what is lost
    // of the first threads' is left over at the end.
    for (int64_t V = 4 * COLS; V <= 32 * COLS; V *= 2) {
        struct head h = head_of(c, 1, V);
        h.first = 48 + check_pick(c, 1, 8);
        head_begin(&h, "whole blocks of pieces, inside of a line");
        head_fill_rising(&h);
        run(c, &h);
    }
    struct head h = head_of(c, ROWS, 1040);  // does a GPU take each of the launches?
    h.narrower = 32;
    head_begin(&h, "every V from 1008 on");
    head_fill(&h, -9.0, 1.0);
    check_run_few_blocks(c);
    check_run(c);
}

// More than the registers and the shared memory of any multiprocessor hold, 483 KB on an H200.
static void too_wide(struct check* c) {
    struct head h = head_of(c, 2, 2 * check_pick(c, 131000, 135000) + 1);
    head_begin(&h, "too wide to be kept, with an outlier near the end");
    check_mix_blocks(c);
    head_fill_rising(&h);
    set_label(&h, 0, 0);  // whose gradient the first thread stores
    logits_of(&h, 1)[h.V - check_pick(c, 1, 9999)] = check_uniform(c, 120.0, 200.0);
    run(c, &h);
    // Logits that fit only with many threads' registers, or with the 227 KB of shared memory that a
    // block may have on some cards. The first leave 48 KB and not a byte more beside 1024 threads.
    const int64_t limits[] = {BESIDE_PIECES(1024), 227 * 512, 227 * 512 - 8,
                              227 * 512 + 8 * 8 * 512 - 8};
    for (int i = 0; i < 4; i++) {
        h = head_of(c, 1, limits[i]);
        head_begin(&h, "at a limit");
        head_fill_rising(&h);
        if (i % 2 == 0) set_label(&h, 0, 0);
        run(c, &h);
    }
}

static void any_rows(struct check* c) {
    run_random(c, 8 * check_pick(c, 4, 5) + check_pick(c, 1, 7), COLS);
    run_random(c, 1, COLS);
    run_random(c, 1024 + check_pick(c, 1, 40), 64);
    rows_reach(c);
}

// The numbers between the rows are large, then NaN; then large between rows of as many logits as a
// warp has lanes, for which a launcher may have another kernel.
static void strided(struct check* c) {
    for (int i = 0; i < 3; i++) {
        struct head h = head_of(c, ROWS, i < 2 ? COLS : 32);
        h.stride += check_pick(c, 1, 40);
        h.first = check_pick(c, 1, 31);
        head_begin(&h, "gaps");
        check_begin_later(check_tensor(c, i ? "LSE" : "workspace"), 1);
        for (int64_t k = 0; k < h.logits->count; k++)
            h.logits->value[k] = i == 1 ? NAN : check_uniform(c, 10.0, 20.0);
        head_fill(&h, -9.0, 1.0);
        if (i == 2) set_label(&h, 1, h.ignore_index);  // nor is its gap cleared
        run(c, &h);
    }
    struct head h = head_of(c, ROWS, COLS);
    if (!head_begin_far(&h)) return;
    head_fill(&h, -9.0, 1.0);
    run(c, &h);
    for (int far = 0; far < 2; far++) {  // rows whose kernel may be another
        h = head_of(c, 2, 33 * COLS);
        if (!far) h.stride += check_pick(c, 1, 40), head_begin(&h, "wide, gaps");
        if (far && !head_begin_far(&h)) return;
        head_fill(&h, -9.0, 1.0);
        run(c, &h);
    }
}

// Of each three rows at least one counts, and one does not.
static void ignore_some(struct head* h) {
    for (int64_t row = 0; row < h->rows; row++)
        if (row % 3 == 1 || (row % 3 == 2 && check_pick(h->check, 0, 1)))
            set_label(h, row, h->ignore_index);
}

// Rows that do not count begin and end anywhere, too; and the kernels of wide rows may be others.
// Some hold NaN at both ends.
static void ignored_anywhere(struct check* c) {
    const int64_t V[] = {check_pick(c, 2, 7), check_pick(c, 9, 40), COLS + check_pick(c, 1, 7),
                         VOCABULARY, 113 * COLS + 1};
    for (int i = 0; i < 5; i++) {
        struct head h = head_of(c, V[i] > COLS + 7 ? 2 : 3 * ROWS, V[i]);
        head_begin(&h, "rows that do not count");
        head_fill(&h, -9.0, 1.0);
        ignore_some(&h);
        for (int64_t row = 0; row < h.rows && i == 2; row++)
            if (!counts(&h, row)) logits_of(&h, row)[0] = logits_of(&h, row)[h.V - 1] = NAN;
        run(c, &h);
    }
}

// Some rows do not count, and hold NaN then; ignore_index is any number, also a token.
static void ignored(struct check* c) {
    const int64_t index[] = {-100, check_pick(c, 0, COLS - 1), -1, (int64_t)5 << 32};
    for (int i = 0; i < 4; i++) {
        struct head h = head_of(c, 3 * ROWS, COLS);
        h.ignore_index = index[i];
        char what[60];
        snprintf(what, sizeof what, "ignore_index %lld", (long long)h.ignore_index);
        head_begin(&h, what);
        head_fill(&h, -9.0, 1.0);
        for (int64_t row = 0; row < h.rows; row++) {
            if (i == 3 && row == 4) set_label(&h, row, 0);  // the lower half of ignore_index
            if (check_pick(c, 0, 2) > 0 ? row != 5 : row == 4) continue;
            set_label(&h, row, h.ignore_index);
            for (int64_t j = 0; j < h.V && i > 0; j++) logits_of(&h, row)[j] = NAN;
        }
        run(c, &h);
    }
    ignored_anywhere(c);
}

static void none(struct check* c) {
    run_random(c, ROWS, FEW);
    struct head h = head_of(c, ROWS, FEW);
    head_begin(&h, "no row counts");
    head_fill(&h, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++) set_label(&h, row, h.ignore_index);
    run(c, &h);
}

// Few tokens, so that the share of each shows; then rows whose kernels may be others. In case 0
// there are gaps, in case 1 some rows do not count.
static void smoothed(struct check* c) {
    const int64_t V[] = {check_pick(c, 3, 9), check_pick(c, 10, 40), COLS, VOCABULARY,
                         113 * COLS + 1};
    for (int i = 0; i < 5; i++) {
        struct head h = head_of(c, V[i] > COLS ? 1 : ROWS, V[i]);
        h.smoothing = check_uniform(c, 0.1, 0.4);
        if (i == 0) h.stride += 8;
        head_begin(&h, "smoothed");
        head_fill(&h, -3.0, 1.0);
        if (i == 1) ignore_some(&h);
        run(c, &h);
    }
    shares_reach(c);
}

// A label that is no token, each in a case of its own: the numbers beside 0 and V; far ones; and
// those whose lower 32 bits are a token. Two of them in wide rows, whose kernels may be others. V
// lies in the gap behind a row, too. The usual ignore_index is a label like others where another
// one is given.
static void bad_labels(struct check* c) {
    const int64_t token = check_pick(c, 0, COLS - 1);
    const int64_t bad[] = {
        COLS, -1, ((int64_t)1 << 32) + token, -((int64_t)1 << 40), -101, (int64_t)1 << 62, -100};
    for (int i = 0; i < 7; i++) {
        const int64_t V = i == 3 ? 49 * COLS : i == 4 ? 113 * COLS : COLS;
        struct head h = head_of(c, V > COLS ? 2 : ROWS, V);
        if (i == 0) h.stride += 8;
        if (bad[i] == h.ignore_index) h.ignore_index = -1;
        h.first = 8 * COLS;  // nothing that a wrong index finds there is outside of the array
        char what[60];
        snprintf(what, sizeof what, "label %lld", (long long)bad[i]);
        head_begin(&h, what);
        head_fill(&h, -9.0, 1.0);
        set_label(&h, check_pick(c, 0, h.rows - 2), bad[i]);
        run(c, &h);
    }
}

// Rows around 145, -65 and -20005. exp of these is infinite, small, and 0. A row of equal logits of
// any size; one logit far above the others, or a little above very many.
static void far_from_zero(struct check* c) {
    int64_t V[] = {COLS, 4 * COLS, check_pick(c, 17, 31)};
    for (int i = 0; i < 3; i++) {
        struct head h = head_of(c, ROWS, V[i]);
        head_begin(&h, "around 145, -65 and -20005");
        head_fill(&h, -9.0, 1.0);
        for (int64_t row = 0; row < ROWS; row++) {
            double high = row % 3 == 0 ? 150.0 : row % 3 == 1 ? -60.0 : -20000.0;
            fill_row(&h, row, high - 10.0, high);
        }
        run(c, &h);
    }
    struct head h = head_of(c, ROWS, COLS);
    head_begin(&h, "all equal, near 1, 1e25, -1e25");
    head_fill(&h, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++) {
        static const double sizes[] = {1.0, 1e25, -1e25};
        double x = check_uniform(c, 1.0, 9.0) * sizes[row % 3];
        fill_row(&h, row, x, x);
    }
    run(c, &h);

    h = head_of(c, ROWS, COLS);
    head_begin(&h, "normal, times 30");
    head_fill(&h, -9.0, 1.0);
    fill_normal(c, h.logits, 0.0, 30.0);
    run(c, &h);

    h = head_of(c, ROWS, 4 * COLS);
    head_begin(&h, "one outlier");
    head_fill(&h, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++)
        logits_of(&h, row)[row % 2 ? check_pick(c, 1, h.V - 1) : label_of(&h, row)] =
            check_uniform(c, 120.0, 200.0);
    run(c, &h);

    // The others weigh a millionth each and a hundredth together. Added up one by one each may be
    // rounded by half an ulp of l: V 2^-24 at worst, 0.05 %.
    h = head_of(c, 4, 8 * COLS);
    h.more = ldexp((double)h.V, -24);
    head_begin(&h, "one logit 14 above all others");
    head_fill(&h, -9.0, -9.0);
    for (int64_t row = 0; row < h.rows; row++)
        logits_of(&h, row)[row * (h.V - 1) / (h.rows - 1)] = 5.0;
    run(c, &h);
}

// The first or the last logit of a row, in no whole piece of it, is the one that is ruled out; or a
// whole piece is, which has no maximum then. They have a share of the target.
static void ruled_out_alone(struct check* c) {
    for (int i = 0; i < 3; i++) {
        const int64_t V = COLS + 8 * check_pick(c, 0, 9) + check_pick(c, 1, 3);
        struct head h = head_of(c, 1, V);
        h.first = 4;
        h.smoothing = ldexp((double)V, -30);  // eps / V is a bf16; eps / (V - 1) rounds to it
        head_begin(&h, i < 2 ? i ? "-inf last" : "-inf first" : "-inf in eight places");
        head_fill(&h, 0.5, 10.5);
        set_label(&h, 0, check_pick(c, 8, 24));
        double* x = logits_of(&h, 0) + (i == 0 ? 0 : i == 1 ? V - 1 : 4 + 8 * check_pick(c, 4, 99));
        for (int j = 0; j < (i < 2 ? 1 : 8); j++) x[j] = -INFINITY;
        run(c, &h);
    }
}

// Whole stretches of a row are -inf, but not the label; then a label as well. Last, with smoothing,
// each of these tokens has a share of the target, so small that nothing of it shows beside the
// label's: how it is divided is another item's.
static void ruled_out(struct check* c) {
    static const char* const what[] = {"with -inf", "with -inf, one as a label", "with -inf"};
    for (int i = 0; i < 3; i++) {
        struct head h = head_of(c, ROWS, COLS);
        if (i == 2) h.smoothing = check_uniform(c, 1e-6, 2e-6);
        head_begin(&h, what[i]);
        head_fill(&h, 0.5, 10.5);
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t j = 0; j < COLS; j++) {
                const int64_t percent = check_pick(c, 1, 100);
                const bool out[ROWS] = {j != 700,      j < COLS - 24, j >= 24,    percent <= 95,
                                        j % 512 >= 16, percent <= 50, j % 2 == 0, false};
                bool label = j == label_of(&h, row);
                if (label ? i == 1 && row == 3 : out[row]) logits_of(&h, row)[j] = -INFINITY;
            }
        run(c, &h);
    }
    ruled_out_alone(c);
}

// The first calls' rows count, so that a count or a sum that is kept shows.
static void three_calls(struct check* c) {
    struct head h = head_of(c, ROWS, COLS);
    h.calls = 3;
    head_begin(&h, "three calls");
    for (int call = 0; call < h.calls; call++) {
        check_round(c, call);
        head_fill(&h, -1.0, 9.0 - 3.0 * call);
        for (int row = 0; row < 1 + 2 * call; row++) set_label(&h, row, h.ignore_index);
    }
    check_run(c);
    for (int call = 0; call < h.calls; call++) {
        check_round(c, call);
        compare(c, &h);
    }
}

// A call with a part of the rows and logits before it, and one behind it: V[1] is the largest. The
// first may be on another GPU.
enum { CALLS = 3 };
static void other_sizes(struct check* c, int64_t rows, const int64_t V[CALLS], const char* first) {
    struct head h = head_of(c, rows, V[1]);
    h.calls = CALLS;
    head_begin(&h, first ? "calls on two GPUs" : "calls of other sizes");
    if (first) check_begin_on(c, first);
    struct head size[CALLS] = {h, h, h};
    for (int i = 0; i < CALLS; i++) {
        struct head* part = &size[i];
        if (i == 0) part->rows = CEIL_DIV(rows, 2);
        if (i == 2) part->rows = CEIL_DIV(rows, 4);
        part->V = part->stride = V[i];
        check_vary(c, "rows", i, part->rows);
        check_vary(c, "V", i, part->V);
        check_vary(c, "stride", i, part->stride);
        check_round(c, i);
        for (int64_t e = 0; e < h.logits->count; e++)
            h.logits->untouched[e] = e >= part->rows * part->V;
        for (int64_t e = 0; e < h.LSE->count; e++) h.LSE->untouched[e] = e >= part->rows;
        head_fill(part, -9.0, 1.0);
    }
    check_run(c);
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        check_describe(c, &size[i]);
        compare(c, &size[i]);
    }
}

// Then rows so wide that each call may ask for more than 48 KB, the second for more than 99.
static void calls(struct check* c) {
    three_calls(c);
    other_sizes(c, ROWS, (int64_t[]){FEW, 16 * COLS, COLS}, NULL);
    other_sizes(c, 1, (int64_t[]){61 * COLS, 110 * COLS, 78 * COLS}, "h200");
}

static void arguments(struct check* c) {
    enum { BEYOND = CROSS_ENTROPY_MAX_V + 1 };
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"rows", 0}}},
        {COURSE_OK, {{"rows", 0}, {"logits", 0}}},
        {COURSE_OK, {{"rows", 0}, {"loss", 0}, {"labels", 0}, {"workspace", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", -1}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"V", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"stride", FEW - 1}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"smoothing", 1}}},
        {COURSE_BAD_ARGUMENT, {{"stride", FEW - 1}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 1}, {"stride", FEW - 1}}},
        {COURSE_BAD_ARGUMENT, {{"smoothing", -0.5}}},
        {COURSE_BAD_ARGUMENT, {{"smoothing", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"smoothing", 1}}},
        {COURSE_BAD_ARGUMENT, {{"loss", 0}}},
        {COURSE_BAD_ARGUMENT, {{"LSE", 0}}},
        {COURSE_BAD_ARGUMENT, {{"logits", 0}}},
        {COURSE_BAD_ARGUMENT, {{"labels", 0}}},
        {COURSE_BAD_ARGUMENT, {{"workspace", 0}}},
        {COURSE_UNSUPPORTED, {{"rows", (int64_t)1 << 31}}},
        {COURSE_UNSUPPORTED, {{"rows", ((int64_t)1 << 32) + 4}}},
        {COURSE_UNSUPPORTED, {{"V", BEYOND}, {"stride", BEYOND}}},
        {COURSE_UNSUPPORTED, {{"V", UINT32_MAX + 1LL + FEW}, {"stride", UINT32_MAX + 1LL + FEW}}},
        {COURSE_BAD_ARGUMENT, {{"rows", (int64_t)1 << 31}, {"loss", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", BEYOND}, {"stride", BEYOND}, {"labels", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", BEYOND}}},
        {0},
    };
    static const struct idle_call most[] = {
        {COURSE_CUDA_ERROR, {{"V", CROSS_ENTROPY_MAX_V}, {"stride", CROSS_ENTROPY_MAX_V}}},
        {0},
    };
    check_ordinary(c);
    run_random(c, ROWS, COLS);
    struct head h = head_of(c, 4, FEW);
    check_idle_calls(c, calls, declare, &h);
    check_launches_fail(c, declare, &h);
    check_large_calls(c, most, "launch", declare, &h);
    h = head_of(c, 1, 33 * COLS);  // for which a launcher asks
    check_queries_fail(c, declare, &h);
}

// Blocks that take one row after another, of a grid that does not grow: is there a barrier between
// two rows? Each has two or three.
static void row_after_row(struct check* c) {
    enum { MANY = 1 << 14, MOST = 300 };  // blocks; more of them, all watched, take too long
    const int64_t blocks = check_blocks_at(c, reached, NULL, MANY);
    if (blocks > MOST || blocks > check_blocks_at(c, reached, NULL, MANY / 2)) return;
    struct head h = head_of(c, blocks + check_pick(c, 8, 16), FEW);
    head_begin(&h, "row after row");
    head_fill(&h, -9.0, 1.0);
    check_run(c);
}

// Tokens for labels, but for one label that is none: of each item above only the accesses count.
static void safe(struct check* c) {
    const int64_t odd_rows = 8 * check_pick(c, 1, 2) + 2 * check_pick(c, 0, 3) + 1;
    const int64_t odd = 2 * check_pick(c, 600, 1500) + 1,
                  wide = 2 * check_pick(c, 17000, 19000) + 1;
    const int64_t fours = 4 * check_pick(c, 100, 200), gap = check_pick(c, 1, 40);
    const int64_t shapes[][4] = {{odd_rows, 1, 1, 0},
                                 {odd_rows, fours - check_pick(c, 1, 3), fours, 0},
                                 {check_pick(c, 9, 40), 4 * check_pick(c, 1, 7), 30, 1},
                                 {odd_rows, odd, odd + gap, 2 * gap + 1},
                                 {2, wide, wide, 0}};
    check_watch(c, WATCH_CHECK);
    run_random(c, ROWS, COLS);
    for (int i = 0; i < 5; i++) {
        struct head h = head_of(c, shapes[i][0], shapes[i][1]);
        h.stride = shapes[i][2];
        h.first = shapes[i][3];
        head_begin(&h, "accesses");
        head_fill(&h, -9.0, 1.0);
        if (i == 3) set_label(&h, 0, h.ignore_index), set_label(&h, 2, odd);
        check_run(c);
    }
    static const char* const later[] = {"workspace", "LSE"};
    for (int i = 0; i < 2; i++) {
        struct head h = head_of(c, ROWS, FEW);
        head_begin(&h, "accesses, one float later");
        check_begin_later(check_tensor(c, later[i]), 1);
        head_fill(&h, -9.0, 1.0);
        check_run(c);
    }
    row_after_row(c);
}

// ---- what is moved

// How often each logit is loaded. Beside the logits each of up to 1024 threads of a block may load
// its row's label, how many rows count, and a logit: 16 bytes. What the lanes of a warp load
// together from one place is one sector: where that makes less than their bytes, it is what counts.
static double times_loaded(const struct arena_traffic* t, double bytes) {
    return fmin((double)t->global_load_bytes, 32.0 * (double)t->global_load_sectors) / bytes;
}

static const struct arena_traffic* moved(struct head h, const char* what, double times) {
    enum { BESIDE = 16 * 1024 };
    struct check* c = h.check;
    const double bytes = 2.0 * (double)(h.rows * h.V);
    check_watch(c, WATCH_PROFILE);
    head_begin(&h, what);
    head_fill(&h, -9.0, 1.0);
    run(c, &h);
    const struct arena_traffic* t = check_traffic(c);
    check_stored_once(c, "logits");
    check_at_most(c, CAUSE_too_much_read, "times that each logit is loaded", times_loaded(t, bytes),
                  times + fmin(0.4, 0.02 + BESIDE / (2.0 * (double)h.V)));
    check_kept(c, CAUSE_row_kept, "logit", (double)(h.rows * h.V), 0.5, 3000);
    return t;
}

// By lanes side by side, too. A sector is 32 bytes: they move what they load, and where a row
// begins anywhere and a warp takes 64 bytes, half as much again.
static void moves(struct head h, const char* what, double times) {
    const struct arena_traffic* t = moved(h, what, times);
    check_at_most(h.check, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.8);
    check_at_most(h.check, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  32.0 * (double)t->global_store_sectors / (double)t->global_store_bytes, 1.6);
}

static void moves_random(struct check* c, int64_t rows, int64_t V, double times) {
    moves(head_of(c, rows, V), "random", times);
}

// Rows for which a launcher may have other kernels: with smoothing, with gaps, of an odd V. It is a
// little below 8192, so that a second read of what is behind 4096 shows.
static void cheap_anywhere(struct check* c) {
    struct head h = head_of(c, 2, 2 * check_pick(c, 3600, 4050) + 1);
    h.stride += check_pick(c, 1, 9);
    h.first = check_pick(c, 1, 7), h.smoothing = check_uniform(c, 0.1, 0.4);
    moves(h, "anywhere", 1);
}

// Narrow rows. What is loaded beside the logits is as much as these: so only what blocks read, and
// what warps load again, tells who reads them twice. Of each row a block may read the sectors of
// the label and of the count, and those at both ends, which are its neighbours', too. A quarter of
// the logits may be loaded again: the label's, and those at the ends.
static void cheap_narrow(struct check* c) {
    enum { BESIDE = 6 * 32 };
    struct head h = head_of(c, check_pick(c, 9, 40), check_pick(c, 400, 1000));
    const double of_a_row = 2.0 * (double)h.V;  // bytes
    check_watch(c, WATCH_PROFILE);
    head_begin(&h, "narrow");
    head_fill(&h, -9.0, 1.0);
    run(c, &h);
    const struct arena_traffic* t = check_traffic(c);
    const double rows = (double)h.rows;
    check_at_most(c, CAUSE_too_much_written, "times that each logit is stored",
                  (double)(t->global_store_bytes + t->filled_bytes) / rows / of_a_row,
                  1.01 + BESIDE / of_a_row);
    check_at_most(c, CAUSE_too_much_read, "times that blocks read each logit",
                  (double)t->block_read_bytes / rows / of_a_row, 1.1 + BESIDE / of_a_row);
    check_at_most(c, CAUSE_too_much_read, "part of the logits that warps load again",
                  (double)check_loaded_again(c, "logits") / rows / of_a_row, 0.25);
}

static void cheap(struct check* c) {
    moves_random(c, 2, 4 * COLS, 1);
    moves_random(c, check_pick(c, 9, 10), 64 * check_pick(c, 65, 80), 1);
    moves_random(c, 1, check_pick(c, 18000, 30000), 1);
    cheap_anywhere(c);
    cheap_narrow(c);
}

static void cheap_wide(struct check* c) {
    moves_random(c, 2, VOCABULARY, 1);
    moves_random(c, 1, check_pick(c, 33000, 48000), 1);
}

static void cheap_wider(struct check* c) {
    moves_random(c, 1, 128256, 2);
    moves_random(c, 1, 2 * check_pick(c, 131000, 133000) + 1, 2);
}

// Of four rows of an odd V three begin inside of a sector. Stores that follow the row from there
// move 1.05 times their bytes if a warp stores 512 of them, and more if less. The logits in front
// of a row's whole pieces and behind them, stored one by one, make it 1.02.
static void whole_sectors(struct check* c) {
    const int64_t V = 16 * check_pick(c, 380, 620) + 1;
    const struct arena_traffic* t = moved(head_of(c, 4, V), "random", 3);
    check_at_most(c, CAUSE_partial_sectors, "bytes moved in 32-byte sectors for each logit stored",
                  32.0 * (double)t->global_store_sectors / (4.0 * 2 * (double)V), 1.03);
}

static const struct item items[] = {
    {5, "narrow rows: 1 to 33 logits", narrow},
    {6, "any V up to 50257, rows that begin anywhere", any_width},
    {3, "rows wider than a multiprocessor can keep", too_wide},
    {4, "any number of rows", any_rows},
    {4, "rows apart: stride > V", strided},
    {6, "rows that do not count", ignored},
    {3, "no row counts", none},
    {6, "label smoothing", smoothed},
    {4, "labels that are no tokens", bad_labels},
    {6, "logits far from 0, equal ones, outliers", far_from_zero},
    {4, "-inf: tokens that are ruled out", ruled_out},
    {2, "three calls, new data each time", calls},
    {2, "empty and bad arguments", arguments},
    {5, "no races, no stray accesses", safe},
    {12, "4096 logits: read once, written once", cheap},
    {18, "50257 logits: read once, written once", cheap_wide},
    {4, "128256 logits and more: read twice at most", cheap_wider},
    {6, "an odd V: sectors are stored whole", whole_sectors},
    {0},
};

const struct lesson lesson = {
    .name = "11_cross_entropy",
    .items = items,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .idea = {.what = "each logit is read once, and its gradient written in its place",
             .paid_by = {cheap, cheap_wide, cheap_wider, whole_sectors},
             .naive = "solutions/11_cross_entropy/steps/1_softmax_stored.cu"},
    .explain = explain};
