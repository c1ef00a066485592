// Arrays for the small programs of this folder. They are never freed: the program ends soon.
#ifndef CUDEV_SMALL_H
#define CUDEV_SMALL_H

#include <stdlib.h>

#ifndef __CUDEV__
// A GPU: the same programs, for the tools that look at it. They return without waiting.
static void wait_for_gpu(void) {
    cudaDeviceSynchronize();
}
template <typename T>
static inline cudaError_t cudaMalloc(T** p_gpu, size_t bytes, const char* file, int line) {
    static bool first = true;
    cudaError_t error = cudaMalloc(p_gpu, bytes);
    // After CUDA's own: what is registered last runs first, and must run while there is a GPU to
    // wait for.
    if (first) atexit(wait_for_gpu);
    first = false;
    (void)file, (void)line;
    return error;
}
#endif

// n floats of device memory that nobody has written.
static inline float* empty(int n, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    float* p_gpu = NULL;
    cudaMalloc(&p_gpu, n * sizeof *p_gpu, file, line);
    return p_gpu;
}

// n floats of device memory: 0, 1, 2, ... 9, 0, 1, ...
static inline float* filled(int n, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
    float *p_gpu = empty(n, file, line), *host = (float*)malloc(n * sizeof *host);
    for (int i = 0; i < n; i++) host[i] = (float)(i % 10);
    cudaMemcpy(p_gpu, host, n * sizeof *host, cudaMemcpyHostToDevice);
    free(host);
    return p_gpu;
}

#endif
