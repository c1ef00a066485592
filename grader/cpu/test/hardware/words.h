// words.h: cases whose words come out on two machines, and their comparison. A program includes this
// header, defines `tests` and calls run_tests().
//
//   PROGRAM write FILE     runs every case, writes every word that came out
//   PROGRAM compare FILE   runs every case, compares with what the other machine wrote
//
// Prints a line for each case: its name, how it is compared, words, how many of them differ, how far
// the others are apart at most (in 2^-23), and a hash of all words. The exit status is 1 if any differ.
#ifndef WORDS_H
#define WORDS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, MAX_WORDS = 1 << 16, ROUNDS = 16 };

// ---- inputs: the same on both machines ---------------------------------------------------------

static uint64_t state;

static uint32_t random_bits() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float random_number(float from, float to) {
    return from + (to - from) * ((float)(random_bits() >> 8) / 16777216.0f);
}

static float random_whole(int size) {
    return (float)((int)(random_bits() % (2 * size + 1)) - size);
}

// A float as 16 bits, by its definition rather than by the functions under test; no subnormals.
static uint16_t to_bits(float x, int half) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (!half) return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if ((bits & 0x7fffffff) < 0x38800000) return (uint16_t)(bits >> 16 & 0x8000);
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 13) - (112 << 10)) & 0x7fff));
}

// ---- cases -------------------------------------------------------------------------------------

static uint32_t in[MAX_WORDS], out[MAX_WORDS];

static inline void fill_bits(int words) {
    for (int i = 0; i < words; i++) in[i] = random_bits();
}

enum rule {
    EXACT,
    SUM,  // of 17 terms below 1, partial sums below 4: a GPU cuts each off at 24 bits of the largest
    POWER,  // 2^-22 of the result, and the rounding of the other
};
static const char* const rule_name[] = {"exact", "sum", "power"};
static const double allowed[] = {0, 17 * 2, 2.5};  // x 2^-23

struct test {
    const char* name;
    void (*kernel)(unsigned* out, const unsigned* in);
    int threads, words_in, words_out;  // words per round
    void (*fill)(int words);
    enum rule rule;
};

static void try_cuda(cudaError_t error, const char* name) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(error));
    exit(2);
}

// The program's: starts the case's kernel, ROUNDS blocks as a rule.
static void launch(const struct test* t, unsigned* out, const unsigned* in);

static int run(const struct test* t, int number) {
    unsigned *in_gpu, *out_gpu;
    int words = ROUNDS * t->words_out;
    state = 12345 + number;
    t->fill(ROUNDS * t->words_in);
    try_cuda(cudaMalloc(&in_gpu, ROUNDS * t->words_in * 4), t->name);
    try_cuda(cudaMalloc(&out_gpu, words * 4), t->name);
    try_cuda(cudaMemcpy(in_gpu, in, ROUNDS * t->words_in * 4, cudaMemcpyHostToDevice), t->name);
    try_cuda(cudaMemset(out_gpu, 0xee, words * 4), t->name);
    launch(t, out_gpu, in_gpu);
    try_cuda(cudaGetLastError(), t->name);
    try_cuda(cudaMemcpy(out, out_gpu, words * 4, cudaMemcpyDeviceToHost), t->name);
    try_cuda(cudaFree(in_gpu), t->name);
    try_cuda(cudaFree(out_gpu), t->name);
    return words;
}

// Is `here` as good as `there`? Adds to *worst how far they are apart.
static int agree(enum rule rule, uint32_t here, uint32_t there, double* worst) {
    float x, y;
    memcpy(&x, &here, 4);
    memcpy(&y, &there, 4);
    if (here == there || rule == EXACT) return here == there;
    if (isnan(x) && isnan(y)) return 1;
    double apart = fabs((double)x - y) * 8388608.0 / (rule == POWER ? fabs((double)y) : 1.0);
    if (apart <= allowed[rule] && apart > *worst) *worst = apart;
    return apart <= allowed[rule];
}

static uint64_t hash(const uint32_t* words, int count) {
    uint64_t h = 14695981039346656037u;  // FNV-1a
    for (int i = 0; i < 4 * count; i++)
        h = (h ^ (words[i / 4] >> i % 4 * 8 & 0xff)) * 1099511628211u;
    return h;
}

// there: what the other machine wrote; NULL: nothing to compare with. Returns whether they agree.
static int say(const struct test* t, const uint32_t* there, int words) {
    int wrong = 0, first = 0;
    double worst = 0;
    for (int i = 0; there && i < words; i++)
        if (!agree(t->rule, out[i], there[i], &worst) && !wrong++) first = i;
    printf("%s,%s,%d,%d,%.2f,%016llx\n", t->name, rule_name[t->rule], words, wrong, worst,
           (unsigned long long)hash(out, words));
    if (wrong)
        fprintf(stderr, "%s: word %d is %08x here, %08x there\n", t->name, first, out[first],
                there[first]);
    return !wrong;
}

// also: NULL, or whether what came out is right on this machine.
static int run_tests(const struct test* tests, int count, int (*also)(const struct test* t),
                     int argc, char** argv) {
    static uint32_t there[MAX_WORDS];
    int failures = 0, write = argc == 3 && !strcmp(argv[1], "write");
    if (!write && !(argc == 3 && !strcmp(argv[1], "compare"))) {
        fprintf(stderr, "usage: %s write|compare FILE\n", argv[0]);
        return 2;
    }
    FILE* file = fopen(argv[2], write ? "wb" : "rb");
    if (!file) {
        perror(argv[2]);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        int words = run(&tests[i], i);
        if (also && !also(&tests[i])) {
            fprintf(stderr, "%s: not what the definition says\n", tests[i].name);
            failures++;
        }
        if (write) {
            failures += fwrite(out, 4, words, file) != (size_t)words;
        } else if (fread(there, 4, words, file) != (size_t)words) {
            fprintf(stderr, "%s: %s ends before it\n", tests[i].name, argv[2]);
            failures++;
        }
        failures += !say(&tests[i], write ? NULL : there, words);
    }
    if (fclose(file) != 0) failures++;
    return failures != 0;
}

#endif
