// reach_cases.h: lesson 29's arrays of more elements than 32 bits can count. check.c alone includes
// it.
#ifndef TRAIN_GPT_REACH_CASES_H
#define TRAIN_GPT_REACH_CASES_H

#include "check/reach.h"
#include "mistakes.h"

// ---- a block

// An array of `count` elements, shown by its last ones.
static struct tensor* ends(struct check* c, struct tensor* t, int64_t count) {
    if (t->count < count) check_ends(c, t, 1, count);
    return t;
}

// So many rows that (rows, 4 C) has more than 2^32 elements. To run the layers would take hours.
static bool rows_reached(struct check* c, const void* unused, int64_t rows) {
    enum { C = 96, D = 8 };
    (void)unused;
    check_case(c, "B = 1, N = %lld, C = %d, H = %d: where the parts of the workspace begin",
               (long long)rows, C, C / D);
    check_int(c, "adamw", 0), check_int(c, "B", 1), check_int(c, "N", rows);
    check_int(c, "C", C), check_int(c, "H", C / D);
    const int64_t bytes = (int64_t)train_gpt_block_workspace_bytes(1, (int)rows, C, C / D);
    check_workspace(c, "workspace", 1 << 14);
    ends(c, check_tensor(c, "workspace"), CEIL_DIV(bytes, (int64_t)sizeof(float)));
    for (int i = 0; i < PARAMETERS; i++) {
        const int64_t count = parameter_count(i, C), shown = check_shown(count);
        ends(c, check_input(c, names_W[i], BF16, SHAPE(shown)), count);
        ends(c, check_output(c, names_dW[i], BF16, SHAPE(shown)), count);
    }
    static const struct {
        const char* name;
        enum dtype dtype;
        int64_t count;  // of a row
    } kept[] = {{"X", F32, C},       {"stats1", F32, 2}, {"QKV", BF16, 3 * C}, {"O", BF16, C},
                {"LSE", F32, C / D}, {"X_mid", F32, C},  {"stats2", F32, 2},   {"Z", BF16, 4 * C}};
    for (int i = 0; i < 8; i++) {
        const int64_t count = rows * kept[i].count;
        ends(c, check_input(c, kept[i].name, kept[i].dtype, SHAPE(check_shown(count))), count);
    }
    ends(c, check_in_place(c, "dX", F32, SHAPE(check_shown(rows * C))), rows * C);
    check_run_last_block(c);
    check_run(c);
    return true;
}

static void block_reaches(struct check* c) {
    enum { FEWER = 1 << 12 };
    check_begins(c, TRAIN_GPT_MAX_ROWS, FEWER, rows_reached, NULL);
}

// ---- AdamW

// g is m and v is its square: m and v stay, and so does w, but for the decay.
static bool parameters_reached(struct check* c, const void* unused, int64_t n) {
    // The last parameters do not decay: fewer than are looked at.
    const int64_t shown = check_shown(n), exempt = shown < 8 ? shown / 2 : 4;
    struct tensor* in_place[3];
    (void)unused;
    check_case(c, "the last of n = %lld parameters", (long long)n);
    check_int(c, "adamw", 1), check_int(c, "n", n), check_int(c, "n_decayed", n - exempt);
    check_int(c, "step", 2000), check_int(c, "steps", 1);
    check_real(c, "lr", 0.25), check_real(c, "decay", 1);
    check_real(c, "beta1", 0.5), check_real(c, "beta2", 0.5), check_real(c, "eps", 0x1p-20);
    for (int i = 0; i < 3; i++)
        in_place[i] =
            ends(c, check_in_place(c, (const char*[]){"w", "m", "v"}[i], F32, SHAPE(shown)), n);
    struct tensor* rounded = ends(c, check_output(c, "w_bf16", BF16, SHAPE(shown)), n);
    struct tensor* g = ends(c, check_input(c, "g", BF16, SHAPE(1, shown)), n);
    for (int64_t i = 0; i < shown; i++) {
        const double w = 1 + (double)(i % 61), decay = i < shown - exempt ? 1 : 0;
        in_place[0]->value[i] = w;
        g->value[i] = in_place[1]->value[i] = in_place[2]->value[i] = in_place[2]->want[i] = 1;
        in_place[1]->want[i] = 1;
        in_place[0]->want[i] = w - 0.25 * (1 + decay * w);
        rounded->want[i] = dtype_round(BF16, in_place[0]->want[i]);
    }
    check_run_few_blocks(c);
    check_run(c);
    return check_end_is_right(in_place[0]) && check_end_is_right(in_place[1]) &&
           check_end_is_right(in_place[2]);
}

static void adamw_reaches(struct check* c) {
    check_reaches(c, ((int64_t)1 << 32) + 4096 + check_pick(c, 8, 40), parameters_reached, NULL);
}

#endif
