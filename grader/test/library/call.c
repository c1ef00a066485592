// call.c: loads a kernel of lesson 12 as a library and calls it by names, as pytorch/ does from
// Python. usage: call LIBRARY.so right|bad|missing|wrong|ends|misses
// What the answer has to be is plain: with Q = 0 every key has the same weight, so O is the mean of
// V, and LSE the logarithm of how many keys there are.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "course.h"
#include "library/library.h"

enum { N_Q = 16, N_K = 32, D = 16 };

static float O_of(const uint16_t* O, int e) {
    return (float)dtype_load(F16, &O[e]);
}

static int failures;

static void expect(int is, const char* what, const char* said) {
    if (is) return;
    failures++;
    printf("%s\n%s\n", what, said);
}

static struct library_argument number(const char* name, int64_t value) {
    return (struct library_argument){.name = name, .kind = LIBRARY_INT, .number = {value}};
}

static struct library_argument array(const char* name, int kind, void* first, size_t bytes) {
    return (struct library_argument){
        .name = name, .kind = kind, .pointer = first, .bytes = (int64_t)bytes};
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*call)(const struct library_argument*, int, void*, char*, size_t) = NULL;
    if (library) *(void**)&call = dlsym(library, "library_call");
    if (!call) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    uint16_t Q[N_Q * D] = {0}, K[N_K * D], V[N_K * D], O[N_Q * D];
    float LSE[N_Q];
    for (int e = 0; e < N_K * D; e++) {
        dtype_store(F16, &K[e], e % 7 - 3);
        dtype_store(F16, &V[e], e / D);  // row j of V is j: their mean is (N_K - 1) / 2
    }
    memset(O, 0x3c, sizeof O);  // about 1, and so is LSE: wrong, and not NaN
    for (int i = 0; i < N_Q; i++) LSE[i] = 1.0f;
    const int bad = strcmp(argv[2], "bad") == 0, missing = strcmp(argv[2], "missing") == 0;
    struct library_argument arguments[] = {
        array("O", LIBRARY_OUTPUT, O, sizeof O),
        array("LSE", LIBRARY_OUTPUT, LSE, sizeof LSE),
        array("Q", LIBRARY_INPUT, Q, sizeof Q),
        array("K", LIBRARY_INPUT, K, sizeof K),
        array("V", LIBRARY_INPUT, V, sizeof V),
        number("B", 1),
        number("N_q", N_Q),
        number("N_k", bad ? -1 : N_K),
        number("d", D),
        number("stride_ob", N_Q * D),
        number("stride_on", D),
        number("stride_lb", N_Q),
        number("stride_qb", N_Q * D),
        number("stride_qn", D),
        number("stride_kb", N_K * D),
        number("stride_kn", D),
        number("stride_vb", N_K * D),
        number(missing ? "stride_v" : "stride_vn", D),
        {.name = "scale", .kind = LIBRARY_REAL, .real = 0.25},
    };
    char said[4096];
    int status = call(arguments, sizeof arguments / sizeof *arguments, NULL, said, sizeof said);
    int right = 1, untouched = 1;
    for (int e = 0; e < N_Q * D; e++) {
        right &= fabsf(O_of(O, e) - (N_K - 1) / 2.0f) <= ldexpf(1, -7);  // fp16 at 15.5: 1 ulp
        untouched &= O[e] == 0x3c3c;
    }
    for (int i = 0; i < N_Q; i++) {
        right &= fabsf(LSE[i] - logf(N_K)) <= ldexpf(1, -20);  // 8 ulp at 3.5 are 2^-19
        untouched &= LSE[i] == 1.0f;
    }
    if (strcmp(argv[2], "right") == 0) {
        expect(status == COURSE_OK && right, "O and LSE are not right", said);
    } else if (bad) {
        expect(status == COURSE_BAD_ARGUMENT && untouched, "N_k = -1 was not refused", said);
    } else if (missing) {
        expect(status == LIBRARY_MISSING && strstr(said, "stride_vn") && untouched,
               "a missing argument was not told", said);
    } else if (strcmp(argv[2], "wrong") == 0) {
        expect(status == COURSE_OK && !right, "a wrong kernel's answer is right", said);
    } else if (strcmp(argv[2], "ends") == 0) {
        expect(status == LIBRARY_ENDED && strstr(said, "barrier divergence") && untouched,
               "a kernel that ends its program was not told", said);
    } else {  // an output that nobody writes is NaN, not what was there
        expect(status == COURSE_OK && isnan(O_of(O, 0)), "an output that is not written is no NaN",
               said);
    }
    dlclose(library);
    return failures ? 1 : 0;
}
