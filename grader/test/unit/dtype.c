// dtype.c: rounding to fp16 and bf16, against every value the formats have.
#include <check.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "test/unit/run.h"

// Every finite 16-bit value is itself, and comes back as the same bits.
START_TEST(test_every_value) {
    const enum dtype dtype = _i ? BF16 : F16;
    for (unsigned bits = 0; bits < 65536; bits++) {
        uint16_t in = (uint16_t)bits, out;
        double x = dtype_load(dtype, &in);
        if (isnan(x)) continue;
        dtype_store(dtype, &out, x);
        ck_assert_uint_eq(in, out);
        if (isfinite(x)) ck_assert(dtype_round(dtype, x) == x);
    }
}
END_TEST

// Between two neighbours: to the nearer, a tie to the even one.
START_TEST(test_nearest_even) {
    const enum dtype dtype = _i ? BF16 : F16;
    const unsigned infinity = _i ? 0x7f80 : 0x7c00;
    for (unsigned bits = 0; bits + 1 < infinity; bits++) {
        uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1);
        double a = dtype_load(dtype, &low), b = dtype_load(dtype, &high), middle = (a + b) / 2;
        double even = bits % 2 ? b : a;
        ck_assert(dtype_round(dtype, middle) == even);
        ck_assert(dtype_round(dtype, nextafter(middle, a)) == a);
        ck_assert(dtype_round(dtype, nextafter(middle, b)) == b);
        ck_assert(dtype_round(dtype, -middle) == -even);
    }
}
END_TEST

START_TEST(test_ends) {
    ck_assert(dtype_round(F16, 65504) == 65504);
    ck_assert(dtype_round(F16, 65519.99) == 65504);
    ck_assert(isinf(dtype_round(F16, 65520)));
    ck_assert(dtype_round(F16, -1e300) == -INFINITY);
    ck_assert(isnan(dtype_round(F16, NAN)));
    ck_assert(dtype_round(F16, 0x1p-25) == 0);  // a tie with 0, which is even
    ck_assert(dtype_round(F16, 0x1.8p-25) == 0x1p-24);
    ck_assert(isinf(dtype_round(BF16, 0x1.ffp127)));
    ck_assert(isfinite(dtype_round(BF16, 0x1.fep127)));
    ck_assert(dtype_round(F32, 1.0 + 0x1p-25) == 1.0);
    ck_assert(dtype_round(I32, 2.5) == 2);
    ck_assert(dtype_round(U8, 254.6) == 255);
}
END_TEST

// A NaN of 32 bits comes back as it was, a signalling one, too.
START_TEST(test_nan_bits) {
    static const uint32_t nans[] = {0x7fc00000, 0x7f800001, 0xff812345, 0xffffffff};
    for (int i = 0; i < 4; i++) {
        uint32_t back;
        dtype_store(F32, &back, dtype_load(F32, &nans[i]));
        ck_assert_uint_eq(back, nans[i]);
    }
    uint16_t bits;
    dtype_store(F16, &bits, NAN);
    ck_assert((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
    dtype_store(BF16, &bits, NAN);
    ck_assert((bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0);
}
END_TEST

// Whole numbers are rounded to the nearest, and come back.
START_TEST(test_whole_numbers) {
    int32_t whole;
    uint8_t byte;
    dtype_store(I32, &whole, -7.4);
    ck_assert(whole == -7 && dtype_load(I32, &whole) == -7 && dtype_round(I32, 2.5) == 2);
    dtype_store(U8, &byte, 254.6);
    ck_assert(byte == 255 && dtype_load(U8, &byte) == 255);
    int64_t wide;
    dtype_store(I64, &wide, -0x1p40 - 1);
    ck_assert(wide == -(INT64_C(1) << 40) - 1 && dtype_load(I64, &wide) == -0x1p40 - 1);
    dtype_store(I64, &wide, 0x1p63);
    ck_assert(wide == INT64_MAX);
    dtype_store(I64, &wide, -0x1p70);
    ck_assert(wide == INT64_MIN && dtype_size(I64) == 8 && dtype_ulp(I64, 5) == 1);
    ck_assert(dtype_size(I32) == 4 && dtype_size(U8) == 1 && dtype_ulp(U8, 3) == 1);
}
END_TEST

int main(void) {
    Suite* suite = suite_create("dtype");
    TCase* t = tcase_create("dtype");
    tcase_add_loop_test(t, test_every_value, 0, 2);
    tcase_add_loop_test(t, test_nearest_even, 0, 2);
    tcase_add_test(t, test_ends);
    tcase_add_test(t, test_whole_numbers);
    tcase_add_test(t, test_nan_bits);
    suite_add_tcase(suite, t);
    return run_suite(suite, 7);
}
