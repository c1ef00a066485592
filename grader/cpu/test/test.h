// Shared by the self-checking programs of this folder.
#ifndef CUDEV_TEST_H
#define CUDEV_TEST_H

#include <stdio.h>
#include <stdlib.h>

static int failures;

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                    \
        }                                                                  \
    } while (0)
#define CHECK_CUDA(call) CHECK((call) == cudaSuccess)

static inline int* new_ints(int n, int value) {
    int* p_gpu = NULL;
    int* host = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = value;
    CHECK_CUDA(cudaMalloc(&p_gpu, n * sizeof(int)));
    CHECK_CUDA(cudaMemcpy(p_gpu, host, n * sizeof(int), cudaMemcpyHostToDevice));
    free(host);
    return p_gpu;
}

static inline int int_at(const int* p_gpu, int i) {
    int value = -12345;
    CHECK_CUDA(cudaMemcpy(&value, p_gpu + i, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

#endif
