// device/numbers.c and device/words.c compute for kernels: arithmetic in double that rounds up,
// down or towards zero, functions that C's mathematics does not have, and words of two or four
// small numbers. Only values go in and come out. Plain C.
#ifndef CUDEV_NUMBERS_H
#define CUDEV_NUMBERS_H

#ifdef __cplusplus
extern "C" {
#endif

// Whole names, not pasted ones: the grader reads here what a .cu may call.
typedef double cudev_double_1(double a);
typedef double cudev_double_2(double a, double b);
typedef double cudev_double_3(double a, double b, double c);
typedef float cudev_float_2(float a, float b);
typedef unsigned cudev_unsigned_1(unsigned a);
typedef unsigned cudev_unsigned_2(unsigned a, unsigned b);
typedef unsigned cudev_unsigned_3(unsigned a, unsigned b, unsigned c);
typedef int cudev_int_2(int a, int b);
typedef int cudev_int_3(int a, int b, int c);

// ---- double, rounded towards zero, up and down: exact for every input

cudev_double_2 __dadd_rz, __dadd_ru, __dadd_rd;
cudev_double_2 __dsub_rz, __dsub_ru, __dsub_rd;
cudev_double_2 __dmul_rz, __dmul_ru, __dmul_rd;
cudev_double_2 __ddiv_rz, __ddiv_ru, __ddiv_rd;
cudev_double_1 __drcp_rz, __drcp_ru, __drcp_rd;
cudev_double_1 __dsqrt_rz, __dsqrt_ru, __dsqrt_rd;
cudev_double_3 __fma_rz, __fma_ru, __fma_rd;

// ---- functions of one number: a few units in the last place of a double

cudev_double_1 cudev_sinpi, cudev_cospi;          // of pi x, exact where they are 0, 1 or -1
cudev_double_1 cudev_erfinv;                      // y with erf(y) = x
cudev_double_1 cudev_erfcinv;                     // y with 1 - erf(y) = x
cudev_double_1 cudev_erfcx;                       // exp(x^2) (1 - erf(x))
cudev_double_1 cudev_normcdf;                     // the share of a normal distribution below x
cudev_double_1 cudev_normcdfinv;                  // below which x is this share?
cudev_double_1 cudev_bessel_i0, cudev_bessel_i1;  // modified Bessel functions of the first kind

// Of a vector; infinite if one number is, even beside NaN. And 1 divided by that.
double cudev_length(double x, double y, double z, double w);
double cudev_inverse_length(double x, double y, double z, double w);

// C's functions of these names, but 0 is larger than -0, as on a GPU.
cudev_float_2 cudev_fminf, cudev_fmaxf;
cudev_double_2 cudev_fmin, cudev_fmax;

// ---- two 16-bit (name2) or four 8-bit numbers (name4) in a word, with a sign (s) or without (u):
// ---- device/words.c

// wrap around, or stop at the largest and smallest number (ss, us)
cudev_unsigned_2 __vadd2, __vadd4, __vaddss2, __vaddss4, __vaddus2, __vaddus4;
cudev_unsigned_2 __vsub2, __vsub4, __vsubss2, __vsubss4, __vsubus2, __vsubus4;
cudev_unsigned_1 __vabs2, __vabs4, __vabsss2, __vabsss4, __vneg2, __vneg4, __vnegss2, __vnegss4;
// the mean, halves up (avgs: away from zero) or down (hadd)
cudev_unsigned_2 __vavgs2, __vavgs4, __vavgu2, __vavgu4, __vhaddu2, __vhaddu4;
cudev_unsigned_2 __vmaxs2, __vmaxs4, __vmaxu2, __vmaxu4, __vmins2, __vmins4, __vminu2, __vminu4;
// the size of the difference, and the sum of these
cudev_unsigned_2 __vabsdiffs2, __vabsdiffs4, __vabsdiffu2, __vabsdiffu4;
cudev_unsigned_2 __vsads2, __vsads4, __vsadu2, __vsadu4;
// cmp: all bits of the number where it is true; set: 1
cudev_unsigned_2 __vcmpeq2, __vcmpeq4, __vcmpne2, __vcmpne4;
cudev_unsigned_2 __vcmpges2, __vcmpges4, __vcmpgeu2, __vcmpgeu4;
cudev_unsigned_2 __vcmpgts2, __vcmpgts4, __vcmpgtu2, __vcmpgtu4;
cudev_unsigned_2 __vcmples2, __vcmples4, __vcmpleu2, __vcmpleu4;
cudev_unsigned_2 __vcmplts2, __vcmplts4, __vcmpltu2, __vcmpltu4;
cudev_unsigned_2 __vseteq2, __vseteq4, __vsetne2, __vsetne4;
cudev_unsigned_2 __vsetges2, __vsetges4, __vsetgeu2, __vsetgeu4;
cudev_unsigned_2 __vsetgts2, __vsetgts4, __vsetgtu2, __vsetgtu4;
cudev_unsigned_2 __vsetles2, __vsetles4, __vsetleu2, __vsetleu4;
cudev_unsigned_2 __vsetlts2, __vsetlts4, __vsetltu2, __vsetltu4;

// ---- minima and maxima of 3, of a sum and one, and with zero (relu): 32 bits or 2 x 16

cudev_int_3 __vimax3_s32, __vimax3_s32_relu, __viaddmax_s32, __viaddmax_s32_relu;
cudev_int_3 __vimin3_s32, __vimin3_s32_relu, __viaddmin_s32, __viaddmin_s32_relu;
cudev_int_2 __vimax_s32_relu, __vimin_s32_relu;
cudev_unsigned_3 __vimax3_u32, __viaddmax_u32, __vimax3_u16x2, __viaddmax_u16x2;
cudev_unsigned_3 __vimin3_u32, __viaddmin_u32, __vimin3_u16x2, __viaddmin_u16x2;
cudev_unsigned_3 __vimax3_s16x2, __vimax3_s16x2_relu, __viaddmax_s16x2, __viaddmax_s16x2_relu;
cudev_unsigned_3 __vimin3_s16x2, __vimin3_s16x2_relu, __viaddmin_s16x2, __viaddmin_s16x2_relu;
cudev_unsigned_2 __vimax_s16x2_relu, __vimin_s16x2_relu;

#ifdef __cplusplus
}
#endif
#endif
