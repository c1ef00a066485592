// problem.c: the arguments of an attention problem.
#include "attention/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cards/cards.h"
#include "wall/arena.h"

static const char* const layout_names[FAR_LSE + 1] = {
    [PACKED] = "",
    [GAPS] = ", gaps between heads, rows and batches, arrays begin 16 bytes later",
    [HEADS_OUTSIDE] = ", arrays of (B, H, N, d)",
    [MIXED] = ", batches, rows and heads in another order in each array",
    [ONE_BATCH] = ", all batches share their inputs: batch stride 0",
    [ROWS_APART] = ", gaps between rows, none between heads",
    [FAR] = ", more than 2^32 elements from row to row, on the CPU device",
    [FAR_LSE] = ", more than 2^32 numbers of LSE from batch to batch, on the CPU device",
};

// The names that call.c asks for.
static const struct {
    const char *name, *stride;
} known_as[ARRAYS] = {
    [ARRAY_Q] = {"Q", "q"},    [ARRAY_K] = {"K", "k"},    [ARRAY_V] = {"V", "v"},
    [ARRAY_O] = {"O", "o"},    [ARRAY_dO] = {"dO", "do"}, [ARRAY_dQ] = {"dQ", "dq"},
    [ARRAY_dK] = {"dK", "dk"}, [ARRAY_dV] = {"dV", "dv"}, [ARRAY_LSE] = {"LSE", "l"},
};

static double usual_scale(int64_t d) {
    return (double)(float)(1.0 / sqrt((double)d));
}

void problem_set_d(struct problem* p, int64_t d) {
    p->d = d;
    p->scale = usual_scale(d);
}

struct problem with_d(struct problem p, int64_t d) {
    problem_set_d(&p, d);
    return p;
}

struct problem with_heads(struct problem p, int64_t B, int64_t H) {
    p.B = B;
    p.H = H;
    return p;
}

struct problem with_scale(struct problem p, double factor) {
    p.scale = (double)(float)(p.scale * factor);
    return p;
}

struct problem on_card(struct problem p, const char* card) {
    p.card = card;
    return p;
}

struct problem with_flag(struct problem p, int64_t flag) {
    p.flag = flag;
    return p;
}

struct problem with_unused_strides(struct problem p) {
    p.unused = true;
    return p;
}

struct problem with_nan_gaps(struct problem p) {
    p.nan_gaps = true;
    return p;
}

struct problem with_late_rows(struct problem p) {
    p.later = (1u << ARRAY_LSE) - 1;
    return p;
}

struct problem problem_of(struct check* c, const struct contract* contract, int64_t N_q,
                          int64_t N_k, bool causal) {
    struct problem p = {.check = c,
                        .contract = contract,
                        .B = 1,
                        .N_q = N_q,
                        .N_k = N_k,
                        .H = 1,
                        .group = 1,
                        .causal = causal,
                        .flag = 1};
    problem_set_d(&p, contract->d);
    return p;
}

struct problem* problem_of_case(const struct check* c) {
    return check_description(c);
}

// ---- places --------------------------------------------------------------------------------

void fill_gaps(const struct problem* p, enum which a, double value) {
    struct tensor* t = p->array[a].tensor;
    size_t width = (size_t)width_of(p, a) * sizeof(double);
    double* rows = check_allocate(p->check, t->count, sizeof *rows);
    memcpy(rows, t->value, (size_t)t->count * sizeof *rows);
    for (int64_t e = 0; e < t->count; e++) t->value[e] = value;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h += sharing(p, a))
            for (int64_t n = 0; n < rows_of(p, a); n++)
                memcpy(row_of(p, a, b, h, n), rows + place_in(p, a, b, h, n), width);
    free(rows);
}

void guard_gaps(const struct problem* p, enum which a) {
    struct tensor* t = p->array[a].tensor;
    for (int64_t e = 0; e < t->count; e++) t->untouched[e] = true;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h += sharing(p, a))
            for (int64_t n = 0; n < rows_of(p, a); n++)
                memset(t->untouched + place_in(p, a, b, h, n), false, (size_t)width_of(p, a));
}

static struct shape lay_out_LSE(struct problem* p, enum layout layout) {
    struct strides* s = &p->array[ARRAY_LSE].stride;
    int64_t gap = layout == PACKED || layout >= FAR ? 0 : p->contract->LSE_gap;
    *s = (struct strides){.b = p->H * p->N_q + gap, .n = 1, .h = p->N_q};
    return p->contract->no_heads ? SHAPE(p->B, s->b) : SHAPE(p->B, p->H, p->N_q);
}

// Rows of a head in layout FAR: whole tiles of 16, so that a tile which is loaded beyond the last
// row finds memory. That mistake is no matter of this layout.
static int64_t rows_far(const struct problem* p, enum which a) {
    return (rows_of(p, a) + 15) / 16 * 16;
}

static struct shape lay_out_mixed(struct problem* p, enum which a) {
    // From the outermost axis to the innermost: 0 is B, 1 is N, 2 is H.
    static const int orders[6][3] = {{1, 0, 2}, {2, 0, 1}, {0, 2, 1},
                                     {2, 1, 0}, {0, 1, 2}, {1, 2, 0}};
    const int* axis = orders[a % 6];
    const int64_t count[] = {p->B, rows_of(p, a), p->H / sharing(p, a)};
    int64_t step[3];
    step[axis[2]] = p->d;
    step[axis[1]] = count[axis[2]] * p->d;
    step[axis[0]] = count[axis[1]] * step[axis[1]];
    p->array[a].stride = (struct strides){.b = step[0], .n = step[1], .h = step[2]};
    return SHAPE(count[axis[0]], count[axis[1]], count[axis[2]], p->d);
}

// Multiples of 8 elements, and what comes on top.
enum { UNEVEN_MOST = 4 };
static struct strides uneven_strides(const struct problem* p, enum which a, int64_t b, int64_t n,
                                     int64_t h) {
    int64_t step_h = (p->d + 7) / 8 * 8 + h;
    int64_t step_n = (p->H / sharing(p, a) * step_h + 7) / 8 * 8 + n;
    int64_t step_b = (rows_of(p, a) * step_n + 7) / 8 * 8 + b;
    return (struct strides){.b = step_b, .n = step_n, .h = step_h};
}

// Sets the strides of an array with rows of d elements; its shape.
static struct shape lay_out(struct problem* p, enum which a, enum layout layout) {
    const struct contract* contract = p->contract;
    int64_t N = rows_of(p, a), H = p->H / sharing(p, a);
    int64_t gap = layout == GAPS ? contract->gap[a] : 0;
    struct strides* s = &p->array[a].stride;
    bool is_input = contract->backward ? a < ARRAY_dQ : a <= ARRAY_V;
    if (layout == HEADS_OUTSIDE) {
        *s = (struct strides){.b = H * N * p->d, .n = p->d, .h = N * p->d};
        return SHAPE(p->B, H, N, p->d);
    }
    if (layout == MIXED) return lay_out_mixed(p, a);
    if (layout == BATCHES_INSIDE) {
        *s = (struct strides){.b = p->d, .n = p->B * p->d};
        return SHAPE(N, p->B, p->d);
    }
    if (layout == SHARED && is_input) {
        *s = (struct strides){.b = N * p->d, .n = p->d};
        return SHAPE(p->B, N, p->d);
    }
    if (layout == ONE_BATCH && is_input) {
        *s = (struct strides){.n = H * p->d, .h = p->d};
        return SHAPE(N, H, p->d);
    }
    if (p->uneven) {
        *s = uneven_strides(p, a, UNEVEN_MOST, UNEVEN_MOST, UNEVEN_MOST);
        return SHAPE(p->B, s->b);
    }
    if (layout == ROWS_APART) {
        *s = (struct strides){.n = H * p->d + contract->gap[a], .h = p->d};
        s->b = N * s->n;
        return SHAPE(p->B, N, s->n);
    }
    s->h = p->d + gap;
    s->n = H * s->h + contract->row_gaps * gap;
    if (layout == FAR) N = rows_far(p, a);
    s->b = (N + gap) * s->n;
    if (contract->no_heads || (gap && contract->row_gaps)) return SHAPE(p->B, N + gap, s->n);
    return SHAPE(p->B, N + gap, H, s->h);
}

// ---- arguments -----------------------------------------------------------------------------

// Moves the rows of an array apart. LSE has rows of all queries of a batch.
static struct strides move_apart(const struct problem* p, enum which a) {
    const bool is_LSE = a == ARRAY_LSE;
    const int64_t heads = is_LSE ? 1 : p->H / sharing(p, a);
    const int64_t count[] = {p->B, is_LSE ? 1 : rows_far(p, a), heads};
    int64_t step[3];
    check_far(p->check, p->array[a].tensor, count, step);
    return (struct strides){.b = step[0], .n = step[1], .h = step[2]};
}

// The n-th stride of an array, by its name: declared, or in round 0 and later another number.
static void pass_strides(const struct problem* p, enum which a, struct strides s, int round) {
    const int64_t steps[] = {s.b, s.n, s.h};
    for (int axis = 0; axis < (p->contract->no_heads ? 2 : 3); axis++) {
        char name[24];
        snprintf(name, sizeof name, "stride_%s%s%c", known_as[a].stride,
                 p->contract->no_heads ? "" : ".", "bnh"[axis]);
        if (round < 0)
            check_int(p->check, name, steps[axis]);
        else
            check_vary(p->check, name, round, steps[axis]);
    }
}

static void declare_strides(const struct problem* p, enum which a, struct strides s) {
    pass_strides(p, a, s, -1);
}

void problem_vary_strides(const struct problem* p, enum which a, int round, struct strides s) {
    pass_strides(p, a, s, round);
}

static void declare_array(struct problem* p, enum which a, enum layout layout) {
    const char* name = known_as[a].name;
    bool is_LSE = a == ARRAY_LSE, is_of_forward = a == ARRAY_O || is_LSE;
    struct shape shape = is_LSE ? lay_out_LSE(p, layout) : lay_out(p, a, layout);
    enum dtype dtype = is_LSE ? F32 : p->contract->dtype;
    if (p->unused && p->B == 1) p->array[a].stride.b = 0;
    if (p->unused && p->H / sharing(p, a) == 1) p->array[a].stride.h = 0;
    struct tensor** tensor = &p->array[a].tensor;
    *tensor = NULL;
    if (!p->contract->backward && is_of_keys(a) && p->N_k == 0)
        check_null(p->check, name);
    else if (p->contract->backward ? a >= ARRAY_dQ && !is_LSE : is_of_forward)
        *tensor = check_output(p->check, name, dtype, shape);
    else
        *tensor = check_input(p->check, name, dtype, shape);
    if (is_LSE && *tensor && !p->contract->backward && !p->contract->LSE_alone)
        check_ends_no_part(*tensor);
    // No contract asks for more than 16 bytes.
    const int64_t aligned = layout == GAPS && !is_LSE ? 16 / dtype_size(dtype) : 0;
    if (*tensor) check_begin_later(*tensor, aligned + (p->later >> a & 1));
    if (is_LSE && !p->contract->no_heads) return;
    bool far = layout == (is_LSE ? FAR_LSE : FAR) && *tensor;
    declare_strides(p, a, far ? move_apart(p, a) : p->array[a].stride);
}

void problem_declare(struct problem* p, enum layout layout) {
    static const enum which of_forward[] = {ARRAY_O, ARRAY_LSE, ARRAY_Q, ARRAY_K, ARRAY_V};
    struct check* c = p->check;
    const struct contract* contract = p->contract;
    check_describe(c, p);
    for (int n = 0; !contract->backward && n < 5; n++) declare_array(p, of_forward[n], layout);
    for (int a = 0; contract->backward && a < ARRAYS; a++) declare_array(p, (enum which)a, layout);
    if (contract->workspace_bytes) {
        check_workspace(c, "workspace", contract->workspace_bytes(p));
        struct tensor* workspace = check_tensor(c, "workspace");
        if (layout == GAPS) check_begin_later(workspace, 16 / dtype_size(workspace->dtype));
    }
    check_int(c, "B", p->B);
    check_int(c, "N_q", p->N_q);
    check_int(c, "N_k", p->N_k);
    check_int(c, "H", p->H);
    check_int(c, "H_k", p->H / p->group);
    check_int(c, "d", p->d);
    check_int(c, "causal", p->causal ? p->flag : 0);
    check_int(c, "backward", contract->backward);
    check_real(c, "scale", p->scale);
    if (contract->declare_more) contract->declare_more(p);
}

// ---- cases ---------------------------------------------------------------------------------

static void name_later(const struct problem* p, char text[64]) {
    size_t used = 0;
    text[0] = '\0';
    for (int a = 0; a < ARRAYS; a++)
        if (p->later >> a & 1)
            used += (size_t)snprintf(text + used, 64 - used, ", %s", known_as[a].name);
    if (used) snprintf(text + used, 64 - used, " an element later");
}

void problem_name(const struct problem* p, enum layout layout, const char* what) {
    char heads[64] = "", scale[32] = "", causal[32] = ", causal", later[64];
    name_later(p, later);
    if (p->group > 1)
        snprintf(heads, sizeof heads, "B = %d, H_q = %d, H_k = %d, ", (int)p->B, (int)p->H,
                 (int)(p->H / p->group));
    else if (p->contract->no_heads && p->B != 1)
        snprintf(heads, sizeof heads, "B = %d, ", (int)p->B);
    else if (p->B != 1 || p->H != 1)
        snprintf(heads, sizeof heads, "B = %d, H = %d, ", (int)p->B, (int)p->H);
    if (p->scale != usual_scale(p->d)) snprintf(scale, sizeof scale, ", scale = %.4g", p->scale);
    if (p->flag != 1) snprintf(causal, sizeof causal, ", causal = %d", (int)p->flag);
    const char* all_keys = p->contract->backward ? "" : ", not causal";
    char index[INDEX_TEXT];
    index_name(&p->index, index);
    const char* gaps = p->nan_gaps ? ", and NaN in them" : "";
    const char* unused = p->unused ? ", strides of 0 where there is one batch or head" : "";
    const char* shared = ", all heads share their inputs: head stride 0";
    const bool is_flagged = p->index.used && p->index.causal && p->flag != 1;
    check_case(p->check, "%sN_q = %d, N_k = %d, d = %d%s%s%s%s%s%s%s%s", heads, (int)p->N_q,
               (int)p->N_k, (int)p->d,
               p->index.used ? index
               : p->causal   ? causal
                             : all_keys,
               is_flagged ? causal : "", scale, layout == SHARED ? shared : layout_names[layout],
               gaps, unused, later, what);
    if (p->card) check_pose_as(p->check, p->card);
    if (p->first_card) check_begin_on(p->check, p->first_card);
}

void problem_begin(struct problem* p, enum layout layout, const char* what) {
    problem_name(p, layout, what);
    problem_declare(p, layout);
}

void problem_call_first(struct problem* first, const struct problem* p, int round) {
    const struct {
        const char* name;
        int64_t value;
    } sizes[] = {
        {"B", first->B},
        {"N_q", first->N_q},
        {"N_k", first->N_k},
        {"H", first->H},
        {"d", first->d},
        {"H_k", first->H / first->group},
        {"causal", first->causal ? first->flag : 0},
    };
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
        check_vary(p->check, sizes[n].name, round, sizes[n].value);
    memcpy(first->array, p->array, sizeof first->array);
    first->mask = p->mask;
    first->scale = (double)(float)(0.5 * p->scale);
    check_vary_real(p->check, "scale", round, first->scale);
    for (enum which a = 0; a < ARRAYS; a++) {
        bool is_LSE = a == ARRAY_LSE;
        if (!first->array[a].tensor) continue;
        (void)(is_LSE ? lay_out_LSE(first, PACKED) : lay_out(first, a, PACKED));
        if (!is_LSE || p->contract->no_heads) pass_strides(first, a, first->array[a].stride, round);
    }
}

// All strides of this round are multiples of 8 elements except for one axis of one array, or with
// `odd` = ARRAYS of all, which is `more` beyond one.
static void pass_uneven(struct problem* p, int round, enum which odd, int axis, int64_t more) {
    for (enum which a = 0; a < ARRAY_LSE; a++) {
        if (!p->array[a].tensor) continue;
        int64_t here = a == odd || odd == ARRAYS ? more : 0;
        p->array[a].stride =
            uneven_strides(p, a, axis == 0 ? here : 0, axis == 1 ? here : 0, axis == 2 ? here : 0);
        pass_strides(p, a, p->array[a].stride, round);
    }
}

enum { UNEVEN_CALLS = 4 };

// Calls of one case, of which call r has an axis of one array, or of all, `more` beyond a multiple.
struct uneven {
    enum which a;  // ARRAYS: all
    int axis;
    int64_t more;
};

static void run_uneven(struct problem* p, const char* what, const struct uneven calls[UNEVEN_CALLS],
                       void (*fill)(struct problem* p)) {
    p->uneven = true;
    problem_name(p, PACKED, what);
    check_rounds(p->check, UNEVEN_CALLS);
    problem_declare(p, PACKED);
    for (int r = 0; r < UNEVEN_CALLS; r++) {
        check_round(p->check, r);
        pass_uneven(p, r, calls[r].a, calls[r].axis, calls[r].more);
        fill(p);
    }
    check_run(p->check);
}

void problem_uneven(struct problem p, void (*fill)(struct problem* p)) {
    // Without heads the third axis is never a step.
    const struct uneven all[] = {{ARRAYS, 0, 1}, {ARRAYS, 1, 1}, {ARRAYS, 2, 1}, {ARRAYS, 1, 2}};
    run_uneven(&p, ", odd strides of batches, of rows, of heads; and 2 more than multiples of 8",
               all, fill);
}

void problem_uneven_each(struct problem p, void (*fill)(struct problem* p)) {
    static const char* const axes[] = {"batch", "row", "head"};
    for (int axis = 0; axis < (p.contract->no_heads ? 2 : 3); axis++) {
        struct uneven each[UNEVEN_CALLS];
        char name[64];
        snprintf(name, sizeof name, ", an odd %s stride of Q, K, V and O in turn", axes[axis]);
        for (int a = ARRAY_Q; a <= ARRAY_O; a++) each[a] = (struct uneven){(enum which)a, axis, 1};
        run_uneven(&p, name, each, fill);
    }
    // Pieces of 8 and of 16 bytes.
    const int h = p.contract->no_heads ? 0 : 2;
    const struct uneven pieces[] = {{ARRAYS, 1, 2}, {ARRAYS, h, 2}, {ARRAYS, 1, 4}, {ARRAYS, h, 4}};
    run_uneven(&p, ", strides that are no multiples of 4 or 8", pieces, fill);
}

static void declare_packed(struct check* c, void* problem) {
    (void)c;
    problem_declare(problem, PACKED);
}

void problem_refused(struct problem p, const struct idle_call* bad) {
    check_idle_calls(p.check, bad, declare_packed, &p);
}

// Does the launcher take the array? All of a backward pass, four and LSE of a forward pass.
static bool takes(const struct problem* p, int a) {
    return p->contract->backward || a <= ARRAY_O || a == ARRAY_LSE;
}

// Calls that are refused, as one list for as few cases as possible.
struct refusals {
    struct idle_call call[8 + 5 * ARRAYS];
    char name[3 * ARRAYS][24];  // of strides
    int n, names;
};

static void refuse(struct refusals* list, int status, const char* name, double value) {
    list->call[list->n++] = (struct idle_call){status, {{name, value}}};
}

static void refuse_strides(struct refusals* list, const struct problem* p, int status,
                           struct strides bad) {
    const int64_t values[] = {bad.n, bad.h, bad.b};
    for (int axis = 0; axis < 3; axis++)
        for (int a = 0; a < ARRAY_LSE; a++) {
            if (!takes(p, a)) continue;
            char* name = list->name[list->names++];
            snprintf(name, sizeof list->name[0], "stride_%s.%c", known_as[a].stride, "nhb"[axis]);
            refuse(list, status, name, (double)values[axis]);
        }
}

static void refuse_nulls(struct refusals* list, const struct problem* p) {
    for (int a = 0; a < ARRAYS; a++)
        if (takes(p, a)) refuse(list, COURSE_BAD_ARGUMENT, known_as[a].name, 0);
    if (p->contract->workspace_bytes) refuse(list, COURSE_BAD_ARGUMENT, "workspace", 0);
}

void problem_strides_refused(struct problem p, int status, struct strides bad) {
    struct refusals list = {.n = 0};
    refuse_strides(&list, &p, status, bad);
    problem_refused(p, list.call);
}

void problem_one_array(struct problem p) {
    const bool alike = p.group == 1;
    if (alike) p.N_q = p.N_k;
    problem_begin(&p, PACKED, alike ? ", all inputs are one array" : ", K and V are one array");
    for (enum which a = ARRAY_K; a < (p.contract->backward ? ARRAY_dQ : ARRAY_O); a++) {
        const enum which first = alike || !is_of_keys(a) ? ARRAY_Q : ARRAY_K;
        if (a != first) check_same(p.check, p.array[a].tensor, p.array[first].tensor);
    }
    check_run(p.check);
}

void problem_bad_arguments(struct problem p, struct strides bad) {
    static const char* const sizes[] = {"B", "N_q", "N_k", "H"};
    struct refusals list = {.n = 0};
    for (int i = 0; i < 4; i++) refuse(&list, COURSE_BAD_ARGUMENT, sizes[i], -1);
    refuse(&list, COURSE_BAD_ARGUMENT, "d", 0);
    refuse_strides(&list, &p, COURSE_BAD_ARGUMENT, bad);
    refuse_nulls(&list, &p);
    const struct idle_call without_keys[] = {
        {COURSE_BAD_ARGUMENT, {{"N_k", 0}, {"stride_k.n", (double)bad.n}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", 0}, {"stride_v.h", (double)bad.h}}},
    };
    for (int i = 0; i < 2; i++) list.call[list.n++] = without_keys[i];
    problem_refused(p, list.call);
    problem_one_array(p);
}

void problem_must_return(struct problem p, int status, const char* what) {
    problem_begin(&p, PACKED, what);
    const bool is_right = status == COURSE_OK;
    check_expect(p.check, status, is_right ? CAUSE_wrong_status : CAUSE_argument_check);
    check_run(p.check);
}

void problem_misaligned_refused(struct problem p) {
    struct refusals list = {.n = 0};
    for (int a = 0; a < ARRAY_LSE; a++)
        if (takes(&p, a)) refuse(&list, COURSE_UNSUPPORTED, known_as[a].name, IDLE_LATER);
    problem_refused(p, list.call);
    static const struct idle_call first[] = {
        {COURSE_UNSUPPORTED, {{"d", 1}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"O", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_v.n", 8}}},
        {COURSE_OK, {{"B", 0}}},
        {0},
    };
    p.later = (1u << ARRAY_LSE) - 1;
    problem_refused(p, first);
}

void problem_too_many_heads(struct problem p) {
    static const struct idle_call bad[] = {
        {COURSE_UNSUPPORTED, {{"H", 65536}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}, {"H", 65536}}},
        {COURSE_OK, {{"B", 0}, {"H", 65536}}},
        {0},
    };
    problem_refused(p, p.contract->any_heads ? bad + 1 : bad);
}

void problem_large(struct problem p, const struct idle_call* good) {
    check_large_calls(p.check, good, "launch", declare_packed, &p);
}

void problem_many_keys(struct problem p) {
    static const struct idle_call many[] = {{COURSE_OK, {{"N_k", INT32_MAX}}}, {0}};
    problem_large(p, many);
}

void problem_most_heads(struct problem p) {
    p.N_q = p.N_k = 0;
    p.H = 65535;
    if (p.group > 1) p.group = p.H;
    problem_begin(&p, PACKED, ", which is allowed");
    check_null_if_empty(p.check);
    check_expect(p.check, COURSE_OK, CAUSE_wrong_status);
    check_run(p.check);
}

void problem_launches_fail(struct problem p) {
    check_launches_fail(p.check, declare_packed, &p);
    if (p.contract->no_heads) return;  // it takes whole tiles of keys
    p.N_k = 0;
    check_launches_fail_where(p.check, declare_packed, &p, "N_k = 0: ");
}

// ---- several calls -------------------------------------------------------------------------

void problem_run_calls(struct problem* const calls[], int n,
                       void (*fill)(struct problem* p, int round),
                       void (*judge)(struct problem* p)) {
    struct check* c = calls[0]->check;
    for (int r = 0; r < n; r++) {
        check_round(c, r);
        fill(calls[r], r);
    }
    check_run(c);
    for (int r = 0; r < n; r++) {
        check_round(c, r);
        check_describe(c, calls[r]);
        judge(calls[r]);
    }
}

void problem_on_two_devices(struct problem p, const char* first, int status,
                            void (*fill)(struct problem* p), void (*judge)(struct problem* p)) {
    // Whole tiles where the first GPU's blocks may have more shared memory than usual; some rows.
    enum { CALLS = 2, ROWS = 64, FEW = 16 };
    char what[80];
    snprintf(what, sizeof what, ", twice, the first call on another GPU, as %s", first);
    p.first_card = first;
    const size_t usual = card_named(CARD_STRICTEST)->shared_block;
    p.N_q = p.N_k = card_named(first)->shared_block > usual ? ROWS : FEW;
    problem_name(&p, PACKED, what);
    check_rounds(p.check, CALLS);
    problem_declare(&p, PACKED);
    for (int r = 0; r < CALLS; r++) {
        check_round(p.check, r);
        fill(&p);
    }
    if (status != COURSE_OK) check_expect(p.check, status, CAUSE_argument_check);
    check_run(p.check);
    for (int r = status == COURSE_OK ? 0 : 1; r < CALLS; r++) {
        check_round(p.check, r);
        judge(&p);
    }
}
