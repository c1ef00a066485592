// check.c: lesson 28, graded.
#include "28_flash_decode/cache.h"

static void first(struct check* c) {
    decode_case(decode_of(c, 4, 100), "", JUDGE_O | JUDGE_LSE);
    struct decode p = decode_of(c, 4, 1000);
    p.d = 128;
    p.N_q = 3;
    p.B = 3;
    p.H_k = 2;
    p.page_size = 32;
    p.length[1] = 0;
    p.length[2] = 77;
    decode_case(p, "", JUDGE_O | JUDGE_LSE);
}

static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    struct decode p = decode_of(c, 4, 1000);
    p.B = 2;
    p.length[1] = 33;
    decode_case(p, "", JUDGE_O | JUDGE_LSE);
}

static const struct item items[] = {{60, "first", first}, {40, "safe", safe}, {0}};

const struct lesson lesson = {
    .name = "28_flash_decode",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "x",
             .paid_by = {safe},
             .naive = "solutions/28_flash_decode/steps/1_one_block.cu"},
};
