// batch.c: see batch.h.
#include "rows/batch.h"

#include <math.h>
#include <stdio.h>

#include "check/reach.h"

struct batch batch_of(struct check* c, const struct rows* of, int64_t rows, int64_t cols) {
    return (struct batch){.check = c,
                          .of = of,
                          .rows = rows,
                          .cols = cols,
                          .stride = cols,
                          .stride_out = cols,
                          .step = 1,
                          .calls = 1};
}

// What lies between the rows of an output must not be written.
static void guard_gaps(const struct batch* b) {
    for (int call = 0; call < b->calls; call++) {
        check_round(b->check, call);
        for (int64_t e = 0; e < b->out[0]->count; e++)
            b->out[0]->untouched[e] =
                e < b->first_out || (e - b->first_out) % b->stride_out >= b->cols;
    }
    check_round(b->check, 0);
}

// What the launcher gets as the stride of these rows.
static int64_t stride_of(const struct batch* b, struct tensor* t, int64_t stride) {
    const int64_t count[] = {b->rows, 1, 1};
    int64_t step[3];
    if (!b->far || !t) return stride;
    check_far(b->check, t, count, step);
    return step[0];
}

static void declare(struct check* c, void* batch) {
    struct batch* b = batch;
    check_describe(c, b);
    check_int(c, "rows", b->before + b->rows);
    check_int(c, "cols", b->cols);
    check_int(c, "narrower", b->narrower);
    check_int(c, "step", b->step);
    check_int(c, "first_x", b->first);
    if (b->of->writes_rows) check_int(c, "first_y", b->first_out);
    struct shape rows = SHAPE(b->rows, b->stride_out);
    if (b->first_out > 0) rows = SHAPE(b->first_out + b->rows * b->stride_out);
    for (int i = 0; i < 2 && b->of->out[i]; i++)
        b->out[i] = check_output(c, b->of->out[i], F32, b->of->writes_rows ? rows : SHAPE(b->rows));
    b->x = check_input(c, "x", F32, SHAPE(b->first + (b->rows - 1) * b->stride + b->cols));
    if (b->of->writes_rows) check_int(c, "stride_y", stride_of(b, b->out[0], b->stride_out));
    check_int(c, b->of->writes_rows ? "stride_x" : "stride_row", stride_of(b, b->x, b->stride));
    if (b->of->writes_rows && b->out[0]) guard_gaps(b);
    const int64_t rows_all = b->before + b->rows;
    if (b->before == 0) return;
    check_ends(c, b->x, 1, rows_all * b->cols);
    for (int i = 0; i < 2 && b->out[i]; i++)
        check_ends(c, b->out[i], 1, rows_all * (b->of->writes_rows ? b->cols : 1));
}

void batch_begin(struct batch* b, const char* what) {
    char out[40] = "", first[80] = "";
    if (b->first || b->first_out)
        snprintf(first, sizeof first, ", x begins %lld floats later, y %lld", (long long)b->first,
                 (long long)b->first_out);
    if (b->of->writes_rows)
        snprintf(out, sizeof out, "stride_y = %lld, ", (long long)b->stride_out);
    check_case(b->check, "%s: rows = %lld, cols = %lld, %s%s = %lld%s", what,
               (long long)(b->before + b->rows), (long long)b->cols, out,
               b->of->writes_rows ? "stride_x" : "stride_row", (long long)b->stride, first);
    check_rounds(b->check, b->calls);
    declare(b->check, b);
}

bool batch_begin_far(struct batch* b) {
    if (!check_can_be_far(b->check)) return false;
    check_case(b->check,
               "rows = %lld, cols = %lld, more than 2^32 floats from row to row, on the CPU device",
               (long long)b->rows, (long long)b->cols);
    b->far = true;
    declare(b->check, b);
    return true;
}

// ---- data

void batch_fill_row(const struct batch* b, int64_t row, double low, double high) {
    for (int64_t j = 0; j < b->cols; j++) batch_row(b, row)[j] = check_uniform(b->check, low, high);
}

void batch_fill(const struct batch* b, double low, double high) {
    for (int64_t row = 0; row < b->rows; row++) batch_fill_row(b, row, low, high);
}

void batch_fill_rising(const struct batch* b) {
    batch_fill(b, -9, -8);
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            batch_row(b, row)[j] += 10.0 * (double)(j + 1) / (double)b->cols;
}

void batch_fill_long_tail(const struct batch* b) {
    batch_fill(b, -9.0, -9.0);
    for (int64_t row = 0; row < b->rows; row++)
        batch_row(b, row)[row * (b->cols - 1) / (b->rows - 1)] = 5.0;
}

static bool is_hidden(const struct batch* b, int64_t row, int64_t j) {
    int64_t percent = check_pick(b->check, 1, 100);
    const bool hide[8] = {true,          j != 700, j < b->cols - 124, j >= 124,
                          percent <= 95, true,     percent <= 50,     false};
    return hide[row];
}

void batch_hide(const struct batch* b) {
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            if (is_hidden(b, row, j)) batch_row(b, row)[j] = -INFINITY;
}

void batch_hide_narrow(struct check* c, const struct rows* of,
                       void (*judge)(struct check* c, struct batch* b)) {
    // The widest first: in one column a tail that is left out is all there is.
    static const int64_t cols[] = {33, 2, 1};
    for (int i = 0; i < 3; i++) {
        struct batch b = batch_of(c, of, 4, cols[i]);
        batch_begin(&b, "rows of -inf");
        batch_fill(&b, 3.5, 5.5);  // a budget in which 10^-6, added to l, does not show
        for (int64_t row = 0; row < b.rows; row += 2)
            for (int64_t j = 0; j < b.cols; j++) batch_row(&b, row)[j] = -INFINITY;
        check_run(c);
        judge(c, &b);
    }
}

// ---- arrays that begin anywhere

void batch_misaligned(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                      struct batch_call call) {
    for (int i = 0; i < 3 && (i == 0 || of->out[i - 1]); i++) {
        const int64_t later = 2 * check_pick(c, 0, 1) + 1;
        const char* array = i ? of->out[i - 1] : "x";
        struct batch b = batch_of(c, of, rows, cols);
        char what[80];
        snprintf(what, sizeof what, "%s begins %lld floats later", array, (long long)later);
        batch_begin(&b, what);
        check_begin_later(i ? b.out[i - 1] : b.x, later);
        call.fill(c, &b);
        check_run(c);
        call.judge(c, &b);
    }
    batch_rows_anywhere(c, of, call);
}

void batch_rows_anywhere(struct check* c, const struct rows* of, struct batch_call call) {
    for (int i = 0; i < 1 + of->writes_rows; i++) {
        struct batch b = batch_of(c, of, 3, 8192);
        *(i ? &b.stride_out : &b.stride) += 2 * check_pick(c, 0, 15) + 1;
        batch_begin(&b, "8192 columns, rows that begin anywhere");
        call.fill(c, &b);
        check_run(c);
        if (call.judge) call.judge(c, &b);
    }
}

// ---- rows apart

static void run_apart(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                      int64_t least, bool with_nan, struct batch_call call) {
    struct batch b = batch_of(c, of, rows, cols);
    b.stride += check_pick(c, 1, 40);
    b.first = check_pick(c, 1, 31);
    if (of->writes_rows) {
        b.stride_out += check_pick(c, 41, 80);
        b.first_out = check_pick(c, 1, 31);
    }
    batch_begin(&b, with_nan ? "NaN between the rows" : "numbers between the rows");
    for (int64_t e = 0; e < b.x->count; e++)
        b.x->value[e] = with_nan ? (double)NAN : (double)check_pick(c, least, 2 * least);
    call.fill(c, &b);
    check_run(c);
    call.judge(c, &b);
}

void batch_apart(struct check* c, const struct rows* of, int64_t rows, int64_t cols, int64_t least,
                 struct batch_call call) {
    enum { LANES = 32, WIDE = 24 * 1024 };  // of a warp; whole sweeps of any block
    run_apart(c, of, rows, cols, least, false, call);
    run_apart(c, of, rows, cols, least, true, call);
    run_apart(c, of, rows, LANES, least, false, call);
    run_apart(c, of, 2, WIDE, least, false, call);
    // Whoever fills up the last sector, or the last four of a row, writes between rows.
    run_apart(c, of, rows, LANES + 8 * check_pick(c, 0, 3) + check_pick(c, 1, 7), least, false,
              call);
}

// ---- calls of different sizes

static void leave_rest(struct tensor* t, int64_t used) {
    for (int64_t e = 0; e < t->count; e++) t->untouched[e] = e >= used;
}

// What is wrong without calls before it is no matter of what they leave.
static void call_alone(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                       struct batch_call call) {
    struct batch b = batch_of(c, of, rows, cols);
    batch_begin(&b, "a call by itself");
    call.fill(c, &b);
    check_run(c);
    call.judge(c, &b);
}

void batch_widens(struct check* c, const struct rows* of, int64_t narrow, int64_t wide,
                  struct batch_call call) {
    enum { CALLS = 2, ROWS = 2 };
    struct batch b = batch_of(c, of, ROWS, wide);
    struct batch first = b;
    b.calls = CALLS;
    batch_begin(&b, "a narrower call on another GPU before it");
    check_begin_on(c, NULL);
    first.x = b.x, first.out[0] = b.out[0], first.out[1] = b.out[1];
    first.cols = first.stride = first.stride_out = narrow;
    check_vary(c, "cols", 0, narrow);
    check_vary(c, of->writes_rows ? "stride_x" : "stride_row", 0, narrow);
    if (of->writes_rows) check_vary(c, "stride_y", 0, narrow);
    for (int k = 0; k < 2 && b.out[k] && of->writes_rows; k++) leave_rest(b.out[k], ROWS * narrow);
    struct batch* const size[CALLS] = {&first, &b};
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        call.fill(c, size[i]);
    }
    check_run(c);
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        check_describe(c, size[i]);
        call.judge(c, size[i]);
    }
}

void batch_moves(struct check* c, const struct rows* of, const int64_t cols[3],
                 struct batch_call call) {
    enum { CALLS = 3 };
    struct batch b = batch_of(c, of, 1, cols[1]);
    b.calls = CALLS;
    batch_begin(&b, "calls on a GPU with more memory, then on another, as rtx3090");
    check_begin_on(c, "h200");
    check_pose_as(c, "rtx3090");
    struct batch size[CALLS] = {b, b, b};
    for (int i = 0; i < CALLS; i++) {
        size[i].cols = size[i].stride = size[i].stride_out = cols[i];
        check_vary(c, "cols", i, cols[i]);
        check_vary(c, of->writes_rows ? "stride_x" : "stride_row", i, cols[i]);
        if (of->writes_rows) check_vary(c, "stride_y", i, cols[i]);
        check_round(c, i);
        for (int k = 0; k < 2 && b.out[k] && of->writes_rows; k++) leave_rest(b.out[k], cols[i]);
        call.fill(c, &size[i]);
    }
    check_run(c);
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        check_describe(c, &size[i]);
        call.judge(c, &size[i]);
    }
}

void batch_shared_again(struct check* c, const struct rows* of, int64_t cols,
                        struct batch_call call) {
    enum { ROWS = 2, CALLS = 2 };
    struct batch b = batch_of(c, of, ROWS, cols);
    b.calls = CALLS;
    batch_begin(&b, "two calls of rows that blocks may share");
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        call.fill(c, &b);
    }
    check_run(c);
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        call.judge(c, &b);
    }
}

void batch_grows(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                 struct batch_call call) {
    enum { CALLS = 3, PART = 16 };
    call_alone(c, of, rows, cols, call);
    call_alone(c, of, rows / 4, cols / (PART / 2), call);
    struct batch b = batch_of(c, of, rows, cols);
    b.calls = CALLS;
    batch_begin(&b, "a call with a part of the rows and columns before it, and one behind it");
    struct batch size[CALLS] = {b, b, b};
    for (int i = 0; i < CALLS; i += 2) {
        struct batch* part = &size[i];
        part->rows = rows / (i ? 4 : 2);
        part->cols = part->stride = part->stride_out = cols / (i ? PART / 2 : PART);
        check_vary(c, "rows", i, part->rows);
        check_vary(c, "cols", i, part->cols);
        check_vary(c, of->writes_rows ? "stride_x" : "stride_row", i, part->cols);
        if (of->writes_rows) check_vary(c, "stride_y", i, part->cols);
        check_round(c, i);
        for (int k = 0; k < 2 && b.out[k]; k++)
            leave_rest(b.out[k], of->writes_rows ? part->rows * part->cols : part->rows);
    }
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        call.fill(c, &size[i]);
    }
    check_run(c);
    for (int i = 0; i < CALLS; i++) {
        check_round(c, i);
        check_describe(c, &size[i]);
        call.judge(c, &size[i]);
    }
}

// ---- rows that are not computed

// The end of an output for rows of equal numbers.
static bool end_reached(struct check* c, const void* of, int64_t rows, int64_t shown, int64_t cols,
                        void (*run_some)(struct check* c)) {
    struct batch b = batch_of(c, of, shown, cols);
    bool right = true;
    b.before = rows - shown;
    batch_begin(&b, "the last of many rows");
    for (int64_t row = 0; row < shown; row++) {
        double x = (double)(1 + (b.before + row) % 251);
        batch_fill_row(&b, row, x, x);
        const double equal[] = {1.0 / (double)cols, x, (double)cols, (double)cols * x};
        for (int i = 0; i < 2 && b.out[i]; i++) {
            int64_t each = b.of->writes_rows ? cols : 1;
            for (int64_t j = 0; j < each; j++)
                b.out[i]->want[row * each + j] = equal[b.of->of_equal[i]];
        }
    }
    run_some(c);
    check_run(c);
    for (int i = 0; i < 2 && b.out[i]; i++) right &= check_end_is_right(b.out[i]);
    return right;
}

static bool reached(struct check* c, const void* of, int64_t rows) {
    enum { COLS = 5 };  // so that the numbers are more than 2^32
    return end_reached(c, of, rows, check_shown(rows), COLS, check_run_few_blocks);
}

static bool wide_reached(struct check* c, const void* of, int64_t rows) {
    enum { COLS = 65 * 1024 };
    return end_reached(c, of, rows, 1, COLS, check_run_last_block);
}

// How many blocks a grid has that does not grow with the rows; 0 if it grows.
static int64_t blocks_of_fixed_grid(struct check* c, const struct rows* of) {
    enum { MANY = 1 << 17 };
    const int64_t blocks = check_blocks_at(c, reached, of, MANY);
    return blocks > check_blocks_at(c, reached, of, MANY / 2) ? 0 : blocks;
}

// Of a fixed grid with more blocks than that, each takes a row and then another one.
void batch_many_rows(struct check* c, const struct rows* of, int64_t cols, struct batch_call call) {
    enum { MOST = 8192, COLS = 64, OF_A_BLOCK = 260 };  // rows, more than 8 bits count
    const int64_t fixed = blocks_of_fixed_grid(c, of), few = fixed * OF_A_BLOCK;
    const int64_t least = few > 0 && few < REACH_WHOLE ? few : REACH_WHOLE;
    for (int again = 0; again <= (fixed > REACH_WHOLE && fixed <= MOST); again++) {
        const int64_t rows = again ? 2 * fixed : least;
        struct batch b = batch_of(c, of, rows + check_pick(c, 1, 40), again ? COLS : cols);
        batch_begin(&b, "more rows than a fixed grid has blocks");
        check_long_launch(c);  // a block may have 1024 threads that wait twice in each row
        check_mix_blocks(c);   // several blocks of a row may come in any order
        call.fill(c, &b);
        check_run(c);
        call.judge(c, &b);
    }
}

void batch_reaches(struct check* c, const struct rows* of) {
    check_reaches(c, ((int64_t)1 << 30) + 4096 + check_pick(c, 8, 40), reached, of);
    check_reaches_limit(c, INT32_MAX - check_pick(c, 0, 3), reached, of);
}

// Rows of a width, of which the last one is there.
struct width {
    const struct rows* of;
    int64_t cols;
};

static bool width_reached(struct check* c, const void* width, int64_t rows) {
    const struct width* w = width;
    return end_reached(c, w->of, rows, 1, w->cols, check_run_last_block);
}

void batch_many_rows_of(struct check* c, const struct rows* of, const int64_t cols[], int count) {
    enum { ROWS = 70000 };
    for (int i = 0; i < count; i++) {
        const struct width width = {of, cols[i]};
        check_takes(c, ROWS, width_reached, &width);
    }
}

void batch_many_wide_rows(struct check* c, const struct rows* of) {
    enum { ROWS = 70000 };
    if (check_blocks_at(c, wide_reached, of, ROWS) >= ROWS)
        check_reaches(c, ROWS, wide_reached, of);
}

// A row whose last number is the largest.
static bool walked(struct check* c, const void* of, int64_t cols) {
    const int64_t shown = cols <= 1 << 20 ? cols : check_shown(cols);
    struct batch b = batch_of(c, of, 1, shown);
    const int maximum = b.of->of_equal[0] == ITSELF ? 0 : 1;
    char what[64];
    snprintf(what, sizeof what, "the last of a row of %lld", (long long)cols);
    batch_begin(&b, what);
    if (shown < cols) {
        check_vary(c, "cols", 0, cols);
        check_vary(c, "stride_row", 0, cols);
        check_ends(c, b.x, 1, cols);
    }
    batch_fill_row(&b, 0, 1, 1);
    b.x->value[shown - 1] = b.out[maximum]->want[0] = 9;
    check_run_few_blocks(c);
    check_run(c);
    return check_end_is_right(b.out[maximum]);
}

void batch_wide(struct check* c, const struct rows* of) {
    check_walks(c, ((int64_t)1 << 32) + check_pick(c, 1, 999), walked, of);
}

// Blocks that take one row after another: twice as many rows as there are blocks, if the grid is
// one that does not grow. Of many blocks few run.
void batch_row_after_row(struct check* c, const struct rows* of, int64_t cols) {
    enum { MOST = 8192, NUMBERS = 1 << 21 };
    int64_t rows = REACH_WHOLE;
    const int64_t fixed = blocks_of_fixed_grid(c, of);
    if (rows < 2 * fixed && (fixed <= MOST || 2 * fixed * cols <= NUMBERS)) rows = 2 * fixed;
    struct batch b = batch_of(c, of, rows + check_pick(c, 24, 40), cols);
    batch_begin(&b, "row after row");
    check_run_few_blocks(c);
    check_run(c);
}

// The launcher is called for each width from narrowest to widest.
static void begin_widths(struct batch* b, int64_t narrowest, int64_t step) {
    char what[80];
    b->narrower = b->cols - narrowest;
    b->step = step;
    snprintf(what, sizeof what, "every width from %lld on in steps of %lld", (long long)narrowest,
             (long long)step);
    batch_begin(b, what);
}

void batch_launches(struct check* c, const struct rows* of, int64_t narrowest, int64_t widest) {
    enum { ROWS = 8 };  // for kernels that take several at once
    struct batch b = batch_of(c, of, ROWS, widest);
    begin_widths(&b, narrowest, 1);
    check_run_few_blocks(c);
    check_run(c);
}

void batch_fits(struct check* c, const struct rows* of, int64_t widest) {
    enum { BESIDE = 30, FOUR = 4 };  // 120 floats: the sums of 32 warps, a line, and some more
    struct batch b = batch_of(c, of, 1, widest);
    begin_widths(&b, widest - BESIDE * FOUR, FOUR);
    check_expect(c, COURSE_OK, CAUSE_bad_launch);
    check_run(c);
}

// ---- cost

void batch_at_most_once(struct check* c, const struct batch* b, const struct arena_traffic* t) {
    enum { LANES = 32, MOST_WARPS = 32, WORDS = 8 };  // of a warp, of a block, of a sector
    const int64_t cols = b->cols, numbers = b->rows * cols;
    const int64_t warps = cols < MOST_WARPS * LANES ? (cols + LANES - 1) / LANES : MOST_WARPS;
    // All lanes of a warp may look at the same number: that moves one sector.
    const double moved = WORDS * (double)t->global_load_sectors;
    const bool once = moved <= 1.25 * (double)numbers + (double)(WORDS * warps * b->rows);
    check_at_most(c, CAUSE_too_much_read, "times that each score is loaded",
                  (double)t->global_load_bytes / (4.0 * (double)numbers),
                  1.0 + (double)(once ? LANES * warps : MOST_WARPS) / (double)cols);
}

// ---- no kernel runs

void batch_idle_calls(struct check* c, const struct rows* of, const struct idle_call* calls,
                      const struct idle_call* large) {
    static const struct idle_call most_rows[] = {{COURSE_CUDA_ERROR, {{"rows", INT32_MAX}}}, {0}};
    struct batch b = batch_of(c, of, 4, 128);
    check_idle_calls(c, calls, declare, &b);
    check_launches_fail(c, declare, &b);
    check_large_calls(c, most_rows, "launch", declare, &b);
    if (large) check_large_calls(c, large, "launch", declare, &b);
}

void batch_queries_fail(struct check* c, const struct rows* of, int64_t cols) {
    struct batch b = batch_of(c, of, 1, cols);
    check_queries_fail(c, declare, &b);
}
