// arguments.h: the item of lesson 28 about what the launcher refuses, and about what it must not.
#ifndef FLASH_DECODE_ARGUMENTS_H
#define FLASH_DECODE_ARGUMENTS_H

#include "28_flash_decode/cache.h"

static void declare(struct check* c, void* problem) {
    (void)c;
    decode_declare(problem);
}

static void misaligned_refused(struct decode p) {
    static const char* const names[] = {"O", "LSE", "Q", "K_pages", "V_pages"};
    for (int n = 0; n < 5; n++) {
        check_case(p.check, "%s begins at no multiple of 16 bytes", names[n]);
        decode_declare(&p);
        check_begin_later(check_tensor(p.check, names[n]), 1);
        check_expect(p.check, COURSE_UNSUPPORTED, CAUSE_argument_check);
        check_run(p.check);
    }
}

// All arrays begin at no multiple of 16 bytes.
static void declare_later(struct check* c, void* problem) {
    const struct decode* p = problem;
    decode_declare(problem);
    struct tensor* const all[] = {p->O, p->LSE, p->Q, p->K, p->V};
    for (int n = 0; n < 5; n++)
        if (all[n]) check_begin_later(all[n], 1);
    (void)c;
}

// Inputs may lie in the same place: who refuses it refuses too much.
static void one_array(struct decode p) {
    decode_name(&p, ", K_pages and V_pages are the same array");
    decode_declare(&p);
    decode_fill(&p);
    check_same(p.check, p.V, p.K);
    check_run(p.check);
}

static void must_return(struct decode p, double scale, int status, const char* what) {
    p.scale = scale;
    decode_name(&p, what);
    decode_declare(&p);
    decode_fill(&p);
    const bool is_right = status == COURSE_OK;
    check_expect(p.check, status, is_right ? CAUSE_wrong_status : CAUSE_argument_check);
    check_run(p.check);
}

static void most_slots(struct decode p) {
    p.N_q = 0;
    check_case(p.check, "2^30 slots of a sequence, which are allowed, and no query");
    check_null_if_empty(p.check);
    decode_declare(&p);
    check_vary(p.check, "page_size", 0, 1 << 20);
    check_vary(p.check, "max_pages", 0, 1 << 10);
    check_expect(p.check, COURSE_OK, CAUSE_wrong_status);
    decode_fill(&p);
    check_run(p.check);
}

// Two calls, the first on another GPU: nothing that was asked of it, or set for it, may be kept.
static void on_two_devices(struct decode p) {
    enum { CALLS = 2 };
    deal_pages(&p);
    decode_name(&p, ", twice, the first call on another GPU, as h100");
    check_begin_on(p.check, "h100");
    check_rounds(p.check, CALLS);
    decode_declare(&p);
    for (int r = 0; r < CALLS; r++) {
        check_round(p.check, r);
        decode_fill(&p);
    }
    check_run(p.check);
    for (int r = 0; r < CALLS; r++) {
        check_round(p.check, r);
        decode_judge(&p, JUDGE_O);
    }
}

static void arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_BAD_ARGUMENT, {{"B", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N_q", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"d", 0}}},
        {COURSE_BAD_ARGUMENT, {{"page_size", 0}}},
        {COURSE_BAD_ARGUMENT, {{"max_pages", -1}}},
        {COURSE_BAD_ARGUMENT, {{"O", 0}}},
        {COURSE_BAD_ARGUMENT, {{"LSE", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Q", 0}}},
        {COURSE_BAD_ARGUMENT, {{"K_pages", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V_pages", 0}}},
        {COURSE_BAD_ARGUMENT, {{"page_table", 0}}},
        {COURSE_BAD_ARGUMENT, {{"lengths", 0}}},
        {COURSE_BAD_ARGUMENT, {{"tickets", 0}}},
        {COURSE_BAD_ARGUMENT, {{"workspace", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"page_size", 24}}},
        {COURSE_UNSUPPORTED, {{"N_q", 9}}},
        {COURSE_UNSUPPORTED, {{"B", 16384}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}, {"H", 65536}, {"H_k", 65536}}},  // 2^32
        {COURSE_BAD_ARGUMENT, {{"B", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}, {"d", 80}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"page_size", 1 << 20}, {"max_pages", 1025}}},
        {COURSE_UNSUPPORTED, {{"page_size", 1 << 20}, {"max_pages", 4096}}},
        {COURSE_OK, {{"B", 0}, {"Q", 0}, {"O", 0}, {"lengths", 0}}},
        {COURSE_UNSUPPORTED, {{"scale", 0}}},
        {COURSE_UNSUPPORTED, {{"scale", -1}}},
        {COURSE_OK, {{"N_q", 0}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}}},
        {0},
    };
    // What comes before alignment in the contract's list counts.
    static const struct idle_call before_alignment[] = {
        {COURSE_BAD_ARGUMENT, {{"max_pages", -1}}},
        {COURSE_BAD_ARGUMENT, {{"lengths", 0}}},
        {COURSE_OK, {{"B", 0}}},
        {0},
    };
    struct decode p = decode_of(c, 4, 320);
    check_ordinary(c);
    decode_case(p, "", JUDGE_O);
    deal_pages(&p);
    check_idle_calls(c, calls, declare, &p);
    misaligned_refused(p);
    check_idle_calls(c, before_alignment, declare_later, &p);
    must_return(p, NAN, COURSE_UNSUPPORTED, ", scale is NaN, which is not above 0");
    must_return(p, 0x1p-126, COURSE_OK, ", scale = 2^-126, which is above 0");
    one_array(p);
    most_slots(p);
    struct decode one_head = decode_of(c, 1, 320);
    deal_pages(&one_head);
    check_launches_fail(c, declare, &one_head);
    on_two_devices(decode_of(c, 4, 160));
}

#endif
