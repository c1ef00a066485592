// problem.c: the arguments of an attention problem.
#include "attention/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wall/arena.h"

static const char* const layout_names[FAR_LSE + 1] = {
    [PACKED] = "",
    [GAPS] = ", gaps between heads, rows and batches",
    [HEADS_OUTSIDE] = ", arrays of (B, H, N, d)",
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

struct problem with_flag(struct problem p, int64_t flag) {
    p.flag = flag;
    return p;
}

struct problem with_nan_gaps(struct problem p) {
    p.nan_gaps = true;
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
    if (layout == BATCHES_INSIDE) {
        *s = (struct strides){.b = p->d, .n = p->B * p->d};
        return SHAPE(N, p->B, p->d);
    }
    if (layout == SHARED && is_input) {
        *s = (struct strides){.b = N * p->d, .n = p->d};
        return SHAPE(p->B, N, p->d);
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

static void declare_strides(struct problem* p, enum which a, struct strides s) {
    const int64_t steps[] = {s.b, s.n, s.h};
    for (int axis = 0; axis < (p->contract->no_heads ? 2 : 3); axis++) {
        char name[24];
        snprintf(name, sizeof name, "stride_%s%s%c", known_as[a].stride,
                 p->contract->no_heads ? "" : ".", "bnh"[axis]);
        check_int(p->check, name, steps[axis]);
    }
}

static void declare_array(struct problem* p, enum which a, enum layout layout) {
    const char* name = known_as[a].name;
    bool is_LSE = a == ARRAY_LSE, is_of_forward = a == ARRAY_O || is_LSE;
    struct shape shape = is_LSE ? lay_out_LSE(p, layout) : lay_out(p, a, layout);
    enum dtype dtype = is_LSE ? F32 : p->contract->dtype;
    struct tensor** tensor = &p->array[a].tensor;
    *tensor = NULL;
    if (!p->contract->backward && is_of_keys(a) && p->N_k == 0)
        check_null(p->check, name);
    else if (p->contract->backward ? a >= ARRAY_dQ && !is_LSE : is_of_forward)
        *tensor = check_output(p->check, name, dtype, shape);
    else
        *tensor = check_input(p->check, name, dtype, shape);
    if (*tensor) check_begin_later(*tensor, p->later >> a & 1);
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
    if (contract->workspace_bytes) check_workspace(c, "workspace", contract->workspace_bytes(p));
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
    else if (p->B != 1 || p->H != 1)
        snprintf(heads, sizeof heads, "B = %d, H = %d, ", (int)p->B, (int)p->H);
    if (p->scale != usual_scale(p->d)) snprintf(scale, sizeof scale, ", scale = %.4g", p->scale);
    if (p->flag != 1) snprintf(causal, sizeof causal, ", causal = %d", (int)p->flag);
    const char* all_keys = p->contract->backward ? "" : ", not causal";
    char index[INDEX_TEXT];
    index_name(&p->index, index);
    const char* gaps = p->nan_gaps ? ", and NaN in them" : "";
    const char* shared = ", all heads share their inputs: head stride 0";
    check_case(p->check, "%sN_q = %d, N_k = %d, d = %d%s%s%s%s%s%s", heads, (int)p->N_q,
               (int)p->N_k, (int)p->d,
               p->index.used ? index
               : p->causal   ? causal
                             : all_keys,
               scale, layout == SHARED ? shared : layout_names[layout], gaps, later, what);
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
    first->scale = p->scale;
    (void)lay_out_LSE(first, PACKED);
}

static void declare_packed(struct check* c, void* problem) {
    (void)c;
    problem_declare(problem, PACKED);
}

void problem_refused(struct problem p, const struct idle_call* bad) {
    check_idle_calls(p.check, bad, declare_packed, &p);
}

void problem_misaligned_refused(struct problem p) {
    for (int a = 0; a < ARRAYS; a++) {
        bool taken = p.contract->backward ? a != ARRAY_LSE : a <= ARRAY_O;
        if (!taken) continue;
        p.later = 1u << a;
        problem_begin(&p, PACKED, "");
        check_expect(p.check, COURSE_UNSUPPORTED, CAUSE_argument_check);
        check_run(p.check);
    }
}

void problem_too_many_heads(struct problem p) {
    static const struct idle_call bad[] = {
        {COURSE_UNSUPPORTED, {{"H", 65536}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}, {"H", 65536}}},
        {0},
    };
    problem_refused(p, bad);
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
}

// ---- costs ---------------------------------------------------------------------------------

const struct arena_traffic* problem_traffic(const struct problem* p) {
    const struct arena_traffic* t = check_traffic(p->check);
    const double queries = (double)(p->B * p->H * p->N_q);
    const double outputs = queries * (double)(p->d * dtype_size(p->contract->dtype) + 4);
    // Local arrays for all of a query's scores: 4096 numbers of 2 bytes are more.
    check_kept(p->check, CAUSE_quadratic_memory, "query", queries, 4.0 * (double)p->d, 7000);
    if (!p->contract->backward && !p->contract->workspace_bytes)
        check_at_most(p->check, CAUSE_too_much_written, "times that O and LSE are stored",
                      (double)(t->global_store_bytes - t->allocated_bytes) / outputs, 1);
    return t;
}

void judge_conflicts(struct check* c, double most) {
    const struct arena_traffic* t = check_traffic(c);
    double lost = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to bank conflicts for each useful one",
                  all > lost ? lost / fmin(all - lost, most) : 0, 0.1);
}

void judge_masked_reads(struct check* c, int64_t N, double masked, double more, double limit) {
    double of_a_key = (more - masked) / MORE_KEYS;
    check_at_most(c, CAUSE_masked_read,
                  "bytes read for each key with a mask, of those for a key that all queries see",
                  of_a_key > 0 ? masked / (double)N / of_a_key : INFINITY, limit);
}
