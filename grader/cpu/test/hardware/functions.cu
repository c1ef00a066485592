// CUDA's mathematics, every function of functions.inc with hard inputs: zeros of both signs,
// subnormal numbers, halves of last places, the edges of overflow, infinities, NaN, sums that
// cancel, random bits. For comparing the CPU device with a GPU, as instructions.cu does; see
// instructions.sh.
//
//   functions write FILE     runs all, writes every word that came out
//   functions compare FILE   runs all, compares with what the other machine wrote
//
// Prints a line for each function as instructions.cu does. `apart` counts numbers of the type
// between two results, or for NEAR is their difference in parts of what is allowed. All NaN are the
// same.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "functions.inc"

typedef unsigned long long word;  // every argument and result, in its lowest bits
typedef long long long64;
typedef unsigned long long ulong64;

enum { THREADS = 128, MANY = 1 << 16, SOME = 4096 };
enum kind { FLOAT, DOUBLE, HALF, BFLOAT, HALVES, BFLOATS, WHOLE };
struct rule {
    double apart;  // numbers; 0: exact
    double error;
};
#define EXACT \
    { 0, 0 }
#define ULP(n) \
    { n, 0 }
#define NEAR(e) \
    { 0, e }
#define TINY_OR_ULP(n) \
    { n, 0x1p-1021 }  // what is subnormal may be 0

template <class T> __host__ __device__ T from_word(word w) {
    T value;
    memcpy(&value, &w, sizeof value);
    return value;
}
template <class T> __host__ __device__ word to_word(T value) {
    word w = 0;
    memcpy(&w, &value, sizeof value);
    return w;
}
template <class T> struct of { static const kind is = WHOLE; };
template <> struct of<float> { static const kind is = FLOAT; };
template <> struct of<double> { static const kind is = DOUBLE; };
template <> struct of<half> { static const kind is = HALF; };
template <> struct of<half2> { static const kind is = HALVES; };
template <> struct of<nv_bfloat16> { static const kind is = BFLOAT; };
template <> struct of<nv_bfloat162> { static const kind is = BFLOATS; };

// ---- kernels: thread i applies function number `op` of its group to arguments i

// Some number from low to high made of a's bits, or a itself if it is one.
__device__ float between(float a, double first, double last) {
    float low = (float)first, high = (float)last;
    if (a >= low && a <= high) return a;
    return low + (high - low) * ((__float_as_uint(a) >> 3 & 0xfffff) / 1048576.0f);
}
__device__ double between(double a, double low, double high) {
    if (a >= low && a <= high) return a;
    return low + (high - low) * ((__double_as_longlong(a) >> 20 & 0xfffffff) / 268435456.0);
}
// A number that a long long can hold.
template <class T> __device__ T scaled(T a) {
    return fabs(a) < (T)1e9 ? a : (T)0.5;
}
__device__ word with_bits(unsigned value, bool p, bool q) {
    return value | (word)p << 32 | (word)q << 33;
}

// run_0 to run_4: a list each, with `second` for the type of further results.
#define KERNEL(k, second)                                                   \
    __global__ void run_##k(word* out, const word* in, int op, int count) { \
        enum { FIRST = __COUNTER__ + 1 };                                   \
        int i = blockIdx.x * THREADS + threadIdx.x, n = 0;                  \
        second t = 0, s = 0, v[3] = {0, 0, 0};                              \
        unsigned m = 0;                                                     \
        bool p = false, q = false;                                          \
        if (i >= count) return;                                             \
        in += 3 * i;                                                        \
        switch (op) { FUNCTIONS_##k }                                       \
        (void)n, (void)t, (void)s, (void)v;                                 \
        (void)m, (void)p, (void)q;                                          \
    }
#define X1(label, R, A, value, ...) \
    case __COUNTER__ - FIRST: {     \
        A a = from_word<A>(in[0]);  \
        out[i] = to_word<R>(value); \
        break;                      \
    }
#define X2(label, R, A, B, value, ...) \
    case __COUNTER__ - FIRST: {        \
        A a = from_word<A>(in[0]);     \
        B b = from_word<B>(in[1]);     \
        out[i] = to_word<R>(value);    \
        break;                         \
    }
#define X3(label, R, A, B, C, value, ...) \
    case __COUNTER__ - FIRST: {           \
        A a = from_word<A>(in[0]);        \
        B b = from_word<B>(in[1]);        \
        C c = from_word<C>(in[2]);        \
        out[i] = to_word<R>(value);       \
        break;                            \
    }
KERNEL(0, float)
KERNEL(1, float)
KERNEL(2, double)
KERNEL(3, double)
KERNEL(4, double)
#undef X1
#undef X2
#undef X3

// ---- the same list as a table

struct function {
    const char* label;
    int arguments;
    kind result, type[3];
    int size[3];  // bytes of the arguments
    rule allowed;
};
#define X1(label, R, A, value, ...) {label, 1, of<R>::is, {of<A>::is}, {sizeof(A)}, __VA_ARGS__},
#define X2(label, R, A, B, value, ...) \
    {label, 2, of<R>::is, {of<A>::is, of<B>::is}, {sizeof(A), sizeof(B)}, __VA_ARGS__},
#define X3(label, R, A, B, C, value, ...)  \
    {                                      \
        label,                             \
        3,                                 \
        of<R>::is,                         \
        {of<A>::is, of<B>::is, of<C>::is}, \
        {sizeof(A), sizeof(B), sizeof(C)}, \
        __VA_ARGS__},
static const function group_0[] = {FUNCTIONS_0};
static const function group_1[] = {FUNCTIONS_1};
static const function group_2[] = {FUNCTIONS_2};
static const function group_3[] = {FUNCTIONS_3};
static const function group_4[] = {FUNCTIONS_4};
#define ROWS(group) sizeof group / sizeof group[0]
static const struct {
    void (*kernel)(word* out, const word* in, int op, int count);
    const function* functions;
    int count;
} groups[] = {
    {run_0, group_0, ROWS(group_0)}, {run_1, group_1, ROWS(group_1)},
    {run_2, group_2, ROWS(group_2)}, {run_3, group_3, ROWS(group_3)},
    {run_4, group_4, ROWS(group_4)},
};

// ---- inputs: the same on both machines ---------------------------------------------------------

static word state;

static word random_bits() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    word high = state >> 32;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return high << 32 | state >> 32;
}

static const double hard[] = {
    0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    INFINITY,
    -INFINITY,
    __builtin_nan(""),  // not NAN, which is a GPU's on the CPU device
    0x1p-149,
    -0x1p-149,
    0x1.fffffep127,
    -0x1.fffffep127,
    0x1p-126,
    2.5,
    -2.5,
    0x1.fffffcp-127,
    0x1.000002p0,
    0x1.fffffep-1,
    0x1p31,
    -0x1p31,
    0x1p32,
    0x1p63,
    -0x1p63,
    0x1p64,
    0x1.fffffep30,
    0x1.fffffep31,
    16777217,
    65504,
    65520,
    65519.99,
    -65520,
    0x1p-24,
    0x1p-25,
    0x1.000002p-25,
    0x1.ffp127,
    0x1.fep127,
    0x1p127,
    -0x1p-126,
    3.0,
    1e10,
    0x1p-1074,
    0x1.fffffffffffffp1023,
    0x1p-1022,
    0x1.ffffffp127,
    0x1.8p-149,
    0x1p-150,
};
enum { HARD = sizeof hard / sizeof hard[0], HARDEST = 12 };

// The bits of a float or double: argument k, maybe made of the ones before it. Never by way of
// another type: a signaling NaN would become a quiet one.
static word random_number(int k, const double* before, int is_double) {
    word bits = random_bits(), how = random_bits() % 8;
    int exponent = (int)(random_bits() % 40) - 20;
    double sign = bits >> 63 ? -1 : 1, fraction = (double)(bits >> 11 & 0xfffffffffffff) / 0x1p52;
    double x = 0;
    if (how < 2 || (how == 7 && k == 0)) return is_double ? bits : bits & 0xffffffff;
    if (how == 2) x = ldexp(1 + fraction, exponent);
    if (how == 3) x = ldexp(1 + (double)(bits & 0xff) / 256, exponent);
    if (how == 4)
        x = ldexp(1 + ((bits & 0x7fffff) + 0.5) / 8388608, 7 * exponent);  // a tie of float
    if (how == 5) x = ldexp(1 + ((bits & 0x7ff) + 0.5) / 2048, exponent);  // a tie of 16 bits
    if (how == 6) x = (double)(bits >> (bits >> 56 & 63)) + 0.5;
    x *= sign;
    if (how == 7) {  // a sum that cancels, or nearly
        x = k == 2 ? -before[0] * before[1] : -before[0];
        x = is_double ? nextafter(x, bits & 1 ? 0 : 1) : nextafterf((float)x, bits & 1 ? 0 : 1);
        if (isnan(x)) x = 1;
    }
    return is_double ? to_word(x) : to_word((float)x);
}

// Argument k of input i. In `before`, the values of floating-point arguments.
static word argument(const function* f, int i, int k, double* before) {
    // every hard number with every other; with three arguments the hardest
    int many = f->arguments == 3 ? HARDEST : HARD;
    int special = k == 0 ? i % many : k == 1 ? i / many % many : i / many / many;
    int hard_one = (f->arguments == 1   ? i < many
                    : f->arguments == 2 ? i < many * many
                                        : i < many * many * many);
    if (!hard_one) special = HARD;
    kind type = f->type[k];
    if (type == FLOAT || type == DOUBLE) {
        word w = hard_one ? type == DOUBLE ? to_word(hard[special]) : to_word((float)hard[special])
                          : random_number(k, before, type == DOUBLE);
        before[k] = type == DOUBLE ? from_word<double>(w) : from_word<float>(w);
        return w;
    }
    if (f->arguments == 1 && f->size[k] == 2) return (word)i;  // all there are
    word bits = random_bits();
    if (type != WHOLE) {
        static const unsigned short half_hard[] = {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00,
                                                   1, 0x8001, 0x7bff, 0xfbff, 0x0400, 0x3555};
        static const unsigned short bfloat_hard[] = {0, 0x8000, 0x3f80, 0x7f80, 0xff80, 0x7fc0,
                                                     1, 0x8001, 0x7f7f, 0xff7f, 0x0080, 0x3eab};
        const unsigned short* list = type == HALF || type == HALVES ? half_hard : bfloat_hard;
        if (special < HARDEST) return list[special] | (word)list[bits % HARDEST] << 16;
        // near each other, so that sums are inexact and cancel
        if (bits >> 62 == 1)
            bits &= 0x8fff8fff, bits |= type == HALF || type == HALVES ? 0x30003000 : 0x3f003f00;
        return bits & 0xffffffff;
    }
    static const word whole[] = {0,
                                 1,
                                 ~(word)0,
                                 0x7fffffff,
                                 0x80000000,
                                 0x7fffffffffffffff,
                                 (word)1 << 63,
                                 0x80008000,
                                 0x7fff7fff,
                                 0x80808080,
                                 0x7f7f7f7f,
                                 0xffff};
    if (special < HARDEST) return whole[special];
    int shift = (int)(random_bits() % (8 * f->size[k]));
    if (bits & 1) return bits >> shift;
    return (word)((long64)bits >> shift);
}

// ---- comparing ---------------------------------------------------------------------------------

static word in[3 * MANY], out[MANY], there[MANY];

static double value(kind type, word w) {
    switch (type) {
    case FLOAT:
        return from_word<float>(w);
    case DOUBLE:
        return from_word<double>(w);
    case HALF:
        return __half2float(from_word<half>(w));
    case BFLOAT:
        return __bfloat162float(from_word<nv_bfloat16>(w));
    default:
        return 0;
    }
}

// All NaN as one.
static word plain(kind type, word w) {
    if (type == HALVES || type == BFLOATS) {
        kind one = type == HALVES ? HALF : BFLOAT;
        return plain(one, w >> 16 & 0xffff) << 16 | plain(one, w & 0xffff);
    }
    return type != WHOLE && isnan(value(type, w)) ? 0x7fff : w;
}

// How many numbers lie from x to y, by their bits.
static double steps(kind type, word x, word y) {
    int top = type == DOUBLE ? 63 : type == FLOAT ? 31 : 15;
    word sign = (word)1 << top;
    double a = (double)(x & (sign - 1)), b = (double)(y & (sign - 1));
    if (type == DOUBLE) {  // their difference would be rounded
        word p = x & (sign - 1), q = y & (sign - 1);
        if ((x ^ y) & sign) return (double)p + (double)q;
        return p > q ? (double)(p - q) : (double)(q - p);
    }
    return (x ^ y) & sign ? a + b : fabs(a - b);
}

static double apart(const function* f, word x, word y) {
    kind type = f->result;
    if (type == HALVES || type == BFLOATS) {
        function one = *f;
        one.result = type == HALVES ? HALF : BFLOAT;
        double low = apart(&one, x & 0xffff, y & 0xffff), high = apart(&one, x >> 16, y >> 16);
        return low > high ? low : high;
    }
    if (x == y) return 0;
    double p = value(type, x), q = value(type, y), d = fabs(p - q) / f->allowed.error;
    if (f->allowed.error > 0 && d <= 1) return f->allowed.apart > 0 ? 0 : d;
    if (f->allowed.apart > 0 && !isnan(p) && !isnan(q)) return steps(type, x, y);
    return 1e9;
}

static void try_cuda(cudaError_t error, const char* name) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(error));
    exit(2);
}

// Runs function `op` of a group; returns how many inputs it got.
static int run(int group, int op, word* in_gpu, word* out_gpu) {
    const function* f = &groups[group].functions[op];
    int count = f->arguments == 1 && f->size[0] == 2 ? MANY : SOME;
    state = 12345 + 1000 * group + op;
    for (int i = 0; i < count; i++) {
        double before[3] = {0, 0, 0};
        for (int k = 0; k < f->arguments; k++) in[3 * i + k] = argument(f, i, k, before);
    }
    try_cuda(cudaMemcpy(in_gpu, in, 3 * count * sizeof in[0], cudaMemcpyHostToDevice), f->label);
    void (*kernel)(word * out, const word* in, int op, int count) = groups[group].kernel;
    kernel<<<(count + THREADS - 1) / THREADS, THREADS>>>(out_gpu, in_gpu, op, count);
    try_cuda(cudaGetLastError(), f->label);
    try_cuda(cudaMemcpy(out, out_gpu, count * sizeof out[0], cudaMemcpyDeviceToHost), f->label);
    for (int i = 0; i < count; i++) out[i] = plain(f->result, out[i]);
    return count;
}

static word hash(int count) {
    word h = 14695981039346656037u;  // FNV-1a
    for (int i = 0; i < 8 * count; i++) h = (h ^ (out[i / 8] >> i % 8 * 8 & 0xff)) * 1099511628211u;
    return h;
}

// compared: `there` holds what the other machine wrote. Returns whether they agree.
static int say(const function* f, int count, int compared) {
    int wrong = 0, first = 0;
    double worst = 0, limit = f->allowed.apart > 0 ? f->allowed.apart : f->allowed.error > 0;
    for (int i = 0; compared && i < count; i++) {
        double d = apart(f, out[i], there[i]);
        if (d > limit && !wrong++) first = i;
        if (d > worst && d < 1e9) worst = d;
    }
    const char* rule = f->allowed.apart > 0 ? "ulp" : limit > 0 ? "near" : "exact";
    printf("%s,%s,%d,%d,%.3g,%016llx\n", f->label, rule, count, wrong, worst, hash(count));
    if (wrong) {
        fprintf(stderr, "%s of", f->label);
        for (int k = 0; k < f->arguments; k++) {
            word w = in[3 * first + k];
            if (f->size[k] < 8) w &= ((word)1 << 8 * f->size[k]) - 1;
            fprintf(stderr, " %llx", w);
            if (f->type[k] != WHOLE && f->type[k] != HALVES && f->type[k] != BFLOATS)
                fprintf(stderr, " (%a)", value(f->type[k], w));
        }
        fprintf(stderr, ": %llx here, %llx there; %d of %d\n", out[first], there[first], wrong,
                count);
    }
    return !wrong;
}

int main(int argc, char** argv) {
    int failures = 0, write = argc == 3 && !strcmp(argv[1], "write");
    if (!write && !(argc == 3 && !strcmp(argv[1], "compare"))) {
        fprintf(stderr, "usage: functions write|compare FILE\n");
        return 2;
    }
    FILE* file = fopen(argv[2], write ? "wb" : "rb");
    if (!file) {
        perror(argv[2]);
        return 2;
    }
    word *in_gpu, *out_gpu;
    try_cuda(cudaMalloc(&in_gpu, sizeof in), "cudaMalloc");
    try_cuda(cudaMalloc(&out_gpu, sizeof out), "cudaMalloc");
    for (int group = 0; group < (int)(sizeof groups / sizeof groups[0]); group++)
        for (int op = 0; op < groups[group].count; op++) {
            size_t count = (size_t)run(group, op, in_gpu, out_gpu);
            if (write) failures += fwrite(out, sizeof out[0], count, file) != count;
            if (!write && fread(there, sizeof there[0], count, file) != count) {
                fprintf(stderr, "%s ends too early\n", argv[2]);
                return 2;
            }
            failures += !say(&groups[group].functions[op], (int)count, !write);
        }
    if (fclose(file) != 0) failures++;
    try_cuda(cudaFree(in_gpu), "cudaFree");
    try_cuda(cudaFree(out_gpu), "cudaFree");
    return failures != 0;
}
