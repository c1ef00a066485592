// ceiling.c: copy and matrix product, as fast as this GPU does them now.
#include "bench/ceiling.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/arrays.h"

enum { RUNS = 15 };
static const size_t FLUSH = (size_t)256 << 20;

static double copy_gbytes, bf16_tflops, fp32_tflops;

void ceiling_flush(void) {
    static float *junk_gpu, *found_gpu;
    if (!junk_gpu) {
        bench_must(cudaMalloc((void**)&junk_gpu, FLUSH), "256 MiB to flush the cache with");
        bench_must(cudaMalloc((void**)&found_gpu, sizeof *found_gpu), "flushing the cache");
        bench_must(cudaMemset(junk_gpu, 0, FLUSH), "flushing the cache");
    }
    bench_must(device_largest(found_gpu, junk_gpu, DEVICE_F32, FLUSH / sizeof *junk_gpu),
               "flushing the cache");
}

static int ascending(const void* a, const void* b) {
    float x = *(const float*)a, y = *(const float*)b;
    return (x > y) - (x < y);
}

// Median milliseconds of what `work` puts into the stream.
static double median_ms(void (*work)(void*), void* data) {
    cudaEvent_t begin, end;
    float ms[RUNS];
    bench_must(cudaEventCreate(&begin), "event");
    bench_must(cudaEventCreate(&end), "event");
    for (int i = -2; i < RUNS; i++) {  // two to warm up
        ceiling_flush();
        bench_must(cudaEventRecord(begin, NULL), "event");
        work(data);
        bench_must(cudaEventRecord(end, NULL), "event");
        bench_must(cudaEventSynchronize(end), "event");
        if (i >= 0) bench_must(cudaEventElapsedTime(&ms[i], begin, end), "event");
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    qsort(ms, RUNS, sizeof ms[0], ascending);
    return ms[RUNS / 2];
}

struct operands {
    void* gpu[3];
    size_t bytes;
    int n;
    cudaDataType_t type;
    cublasHandle_t cublas;
};

static void copy(void* data) {
    struct operands* o = data;
    bench_must(cudaMemcpyAsync(o->gpu[0], o->gpu[1], o->bytes, cudaMemcpyDeviceToDevice, NULL),
               "copy");
}

static void matmul(void* data) {
    struct operands* o = data;
    const float one = 1, zero = 0;
    cublasStatus_t status =
        cublasGemmEx(o->cublas, CUBLAS_OP_N, CUBLAS_OP_N, o->n, o->n, o->n, &one, o->gpu[1],
                     o->type, o->n, o->gpu[2], o->type, o->n, &zero, o->gpu[0], o->type, o->n,
                     o->type == CUDA_R_32F ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "bench: cuBLAS: %s\n", cublasGetStatusString(status));
        exit(2);
    }
}

static double measure(void (*work)(void*), struct operands* o) {
    for (int i = 0; i < 3; i++) {
        bench_must(cudaMalloc(&o->gpu[i], o->bytes), "memory for the ceilings");
        bool half = o->type == CUDA_R_16BF;  // random: zeros run 10 to 15 % faster
        bench_must(device_fill(o->gpu[i], half ? DEVICE_BF16 : DEVICE_F32,
                               (int64_t)(o->bytes / (half ? 2 : 4)), (uint64_t)i),
                   "filling");
    }
    double ms = median_ms(work, o);
    for (int i = 0; i < 3; i++) cudaFree(o->gpu[i]);
    return ms;
}

void ceiling_measure(void) {
    struct operands o = {.bytes = (size_t)1 << 30, .type = CUDA_R_32F};
    copy_gbytes = 2.0 * (double)o.bytes / measure(copy, &o) * 1e-6;
    if (cublasCreate(&o.cublas) != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "bench: cuBLAS does not start\n");
        exit(2);
    }
    o.n = 8192, o.type = CUDA_R_16BF, o.bytes = (size_t)o.n * (size_t)o.n * 2;
    bf16_tflops = 2.0 * o.n * o.n * o.n / measure(matmul, &o) * 1e-9;
    o.n = 4096, o.type = CUDA_R_32F, o.bytes = (size_t)o.n * (size_t)o.n * 4;
    fp32_tflops = 2.0 * o.n * o.n * o.n / measure(matmul, &o) * 1e-9;
    cublasDestroy(o.cublas);
}

double ceiling_copy(void) {
    return copy_gbytes;
}

double ceiling_matmul(enum dtype precision) {
    return precision == F32 ? fp32_tflops : bf16_tflops;
}
