// calls.c: several calls in the same arrays, or on two devices: what a launcher may keep of the
// first. See cases.h.
#include "matmul/cases.h"

#include <stdlib.h>

#include "check/reach.h"

// Two calls of a case that has begun, in the arrays of `all`.
static void run_both(const struct product* all, struct product* first, struct product* second) {
    struct product* const calls[] = {first, second};
    struct check* c = all->check;
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        product_fill(all, -all->of->largest, all->of->largest);
    }
    check_run(c);
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        check_describe(c, calls[call]);
        product_compare(calls[call]);
    }
}

// A product that begins at no multiple of 16 bytes, alone; what is right here and wrong below comes
// from the call before. Then it is the second of two calls in the same arrays, with matrices that
// are larger than those of the first.
static void multiply_larger(struct check* c, const struct matmul* of) {
    struct product p = product_of(c, of, of->whole_M, of->whole_N, 2 * of->whole_K);
    int64_t first = 2 * check_pick(c, 0, 1) + 1;
    p.C_part.first = p.A_part.first = p.B_part.first = first;
    check_case(c, "M = %lld, N = %lld, K = %lld, all begin %lld elements later", (long long)p.M,
               (long long)p.N, (long long)p.K, (long long)first);
    multiply_integers(&p);
    check_case(c, "M = %lld, N = %lld, K = %lld, after a call with half of each", (long long)p.M,
               (long long)p.N, (long long)p.K);
    check_rounds(c, 2);
    product_declare(&p);
    struct product small = product_smaller(&p, 0, p.M / 2, p.N / 2, p.K / 2);
    run_both(&p, &small, &p);
}

// A launcher may have a kernel for sizes that are multiples of 4, or 8, and one for others: each is
// the first of its process, then the second.
static void multiply_other_kind(struct check* c, const struct matmul* of) {
    for (int odd_first = 0; odd_first < 2; odd_first++) {
        struct product p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K);
        check_case(c, "M = %lld, N = %lld, K = %lld, %s a call with one less of each",
                   (long long)p.M, (long long)p.N, (long long)p.K, odd_first ? "after" : "before");
        check_rounds(c, 2);
        product_declare(&p);
        struct product odd = product_smaller(&p, !odd_first, p.M - 1, p.N - 1, p.K - 1);
        run_both(&p, odd_first ? &odd : &p, odd_first ? &p : &odd);
    }
}

// Two calls whose C has as many elements, M and N exchanged: what a launcher keeps of the first may
// not be found again by that number.
static void multiply_exchanged(struct check* c, const struct matmul* of) {
    const int64_t long_side = 2 * (of->whole_M > of->whole_N ? of->whole_M : of->whole_N);
    struct product p = product_of(c, of, long_side, long_side, of->whole_K);
    check_case(c, "M = %lld, N = %lld, K = %lld, after a call with M and N exchanged",
               (long long)p.M / 2, (long long)p.N, (long long)p.K);
    check_rounds(c, 2);
    product_declare(&p);
    struct product high = product_smaller(&p, 0, p.M, p.N / 2, p.K);
    struct product wide = product_smaller(&p, 1, p.M / 2, p.N, p.K);
    run_both(&p, &high, &wide);
}

void multiply_again(struct check* c, const struct matmul* of, int calls) {
    struct product p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K);
    check_case(c, "M = %lld, N = %lld, K = %lld", (long long)p.M, (long long)p.N, (long long)p.K);
    check_rounds(c, calls);
    product_declare(&p);
    for (int call = 0; call < calls; call++) {
        check_round(c, call);
        product_fill(&p, -of->largest, of->largest);
    }
    check_run(c);
    for (int call = 0; call < calls; call++) {
        check_round(c, call);
        product_compare(&p);
    }
    multiply_larger(c, of);
    multiply_other_kind(c, of);
    multiply_exchanged(c, of);
}

static void on_two_devices(struct product p, const char* first, int status) {
    enum { CALLS = 2 };
    struct check* c = p.check;
    check_case(c, "M = %lld, N = %lld, K = %lld, twice, the first call on another GPU%s%s",
               (long long)p.M, (long long)p.N, (long long)p.K, first ? ", as " : "",
               first ? first : "");
    check_begin_on(c, first);
    check_rounds(c, CALLS);
    product_declare(&p);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        product_fill(&p, -p.of->largest, p.of->largest);
    }
    if (status != COURSE_OK) check_expect(c, status, CAUSE_argument_check);
    check_run(c);
    for (int call = status == COURSE_OK ? 0 : 1; call < CALLS; call++) {
        check_round(c, call);
        product_compare(&p);
    }
}

void multiply_on_two_devices(struct check* c, const struct matmul* of, const char* first,
                             int status) {
    on_two_devices(product_of(c, of, of->whole_M, of->whole_N, of->whole_K), first, status);
}

void multiply_little_on_two_devices(struct check* c, const struct matmul* of) {
    enum { SIZE = 16 };
    on_two_devices(product_of(c, of, SIZE, SIZE, SIZE), NULL, COURSE_OK);
}
