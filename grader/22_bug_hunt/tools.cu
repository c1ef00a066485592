// tools.cu: runs one kernel of lesson 22 on a GPU, for compute-sanitizer and ncu, and says whether
// it was right. usage: tools KERNEL easy|hard    (tools.sh)
//
// easy: a first test. hard: the sizes, strides or rows that show the bug.
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bug_hunt.h"

enum { SIDE = 96, N = 1000, GAP = 8 };

static bool hard;

static void must(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}

static void* device(size_t bytes) {
    void* p;
    must(cudaMalloc(&p, bytes), "cudaMalloc");
    return p;
}

// n small whole numbers, on the device and in *here.
static float* numbers(float** here, size_t n) {
    *here = (float*)malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) (*here)[i] = (float)(int)(i * 7919 % 19) - 9;
    float* there = (float*)device(n * sizeof(float));
    must(cudaMemcpy(there, *here, n * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return there;
}

static int* indices(int** here, size_t n, int least, int count) {
    *here = (int*)malloc(n * sizeof(int));
    for (size_t i = 0; i < n; i++) (*here)[i] = least + (int)(i * 31 % count);
    int* there = (int*)device(n * sizeof(int));
    must(cudaMemcpy(there, *here, n * sizeof(int), cudaMemcpyHostToDevice), "cudaMemcpy");
    return there;
}

// Says whether the output is what is wanted: as a first test would, within a hundredth.
static int judge(int status, const float* out_gpu, const float* want, size_t n) {
    float* got = (float*)malloc(n * sizeof(float));
    size_t wrong = 0, first = 0;
    if (status != COURSE_OK) return printf("status %d\n", status);
    must(cudaMemcpy(got, out_gpu, n * sizeof(float), cudaMemcpyDeviceToHost), "the kernel");
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 0.01f * fabsf(want[i]) + 1e-6f) && wrong++ == 0) first = i;
    if (wrong == 0) return printf("right\n");
    return printf("wrong: %zu of %zu, [%zu] is %g, not %g\n", wrong, n, first, got[first],
                  want[first]);
}

static float* zeros(size_t n) {
    return (float*)calloc(n, sizeof(float));
}

static int warp_sums(void) {
    float *x, *x_gpu = numbers(&x, SIDE * N), *y_gpu = (float*)device(SIDE * 4), *y = zeros(SIDE);
    for (int k = 0; k < SIDE * N; k++) y[k / N] += x[k];
    return judge(bug_hunt_warp_sums(y_gpu, x_gpu, SIDE, N), y_gpu, y, SIDE);
}

static int transpose(void) {
    const int rows = hard ? 4096 : SIDE, cols = hard ? 4096 : 2 * SIDE;
    const size_t n = (size_t)rows * cols;
    float *x, *x_gpu = numbers(&x, n), *y_gpu = (float*)device(n * 4), *y = zeros(n);
    for (size_t k = 0; k < n; k++) y[k % cols * rows + k / cols] = x[k];
    return judge(bug_hunt_transpose(y_gpu, x_gpu, rows, cols), y_gpu, y, n);
}

// hard: 80 rows, 2^25 elements apart, of two arrays of 10 GB.
static int scale_rows(void) {
    const int rows = 80, cols = 100;
    const int64_t stride = hard ? (int64_t)1 << 25 : cols + GAP;
    const size_t n = (size_t)(rows - 1) * stride + cols;
    float *x_gpu = (float*)device(n * 4), *y_gpu = (float*)device(n * 4);
    float *x, *row_gpu = numbers(&x, cols), *got = zeros(rows * cols), *y = zeros(rows * cols);
    for (int k = 0; k < rows * cols; k++) y[k] = 2 * x[k % cols];
    for (int i = 0; i < rows; i++)
        cudaMemcpy(x_gpu + i * stride, row_gpu, cols * 4, cudaMemcpyDeviceToDevice);
    int status = bug_hunt_scale_rows(y_gpu, x_gpu, 2, rows, cols, stride, stride);
    must(cudaDeviceSynchronize(), "the kernel");
    for (int i = 0; i < rows; i++)
        cudaMemcpy(got + i * cols, y_gpu + i * stride, cols * 4, cudaMemcpyDeviceToHost);
    float* packed_gpu = (float*)device(rows * cols * 4);
    cudaMemcpy(packed_gpu, got, rows * cols * 4, cudaMemcpyHostToDevice);
    return judge(status, packed_gpu, y, rows * cols);
}

// hard: the second call.
static int divide_by_count(void) {
    int *label, *label_gpu = indices(&label, N, -3, 10), *count_gpu = (int*)device(4), count = 0;
    float *x, *x_gpu = numbers(&x, N), *y_gpu = (float*)device(N * 4), *y = zeros(N);
    for (int i = 0; i < N; i++) count += label[i] >= 0;
    for (int i = 0; i < N; i++) y[i] = x[i] / count;
    int status = COURSE_OK;
    for (int call = 0; call <= hard && status == COURSE_OK; call++)
        status = bug_hunt_divide_by_count(y_gpu, x_gpu, label_gpu, N, count_gpu);
    return judge(status, y_gpu, y, N);
}

static int reverse_rows(void) {
    float *x, *x_gpu = numbers(&x, SIDE * N), *y = zeros(SIDE * N);
    for (int k = 0; k < SIDE * N; k++) y[k] = x[k / N * N + N - 1 - k % N];
    return judge(bug_hunt_reverse_rows(x_gpu, SIDE, N), x_gpu, y, SIDE * N);
}

// hard: rows of V are further apart than those of K.
static int attend(void) {
    enum { D = BUG_HUNT_D, N_Q = 40, N_K = 200 };
    const int stride_k = D, stride_v = hard ? D + GAP : D;
    float *Q, *Q_gpu = numbers(&Q, N_Q * D), *K, *K_gpu = numbers(&K, N_K * stride_k), *V;
    float *V_gpu = numbers(&V, N_K * stride_v), *O_gpu = (float*)device(N_Q * D * 4);
    float *O = zeros(N_Q * D), scale = 1.0f / 64;
    for (int i = 0; i < N_Q; i++) {
        double l = 0, o[D] = {0};
        for (int j = 0; j < N_K; j++) {
            double s = 0;
            for (int x = 0; x < D; x++) s += scale * Q[i * D + x] * K[j * stride_k + x];
            l += exp(s);
            for (int x = 0; x < D; x++) o[x] += exp(s) * V[j * stride_v + x];
        }
        for (int x = 0; x < D; x++) O[i * D + x] = (float)(o[x] / l);
    }
    return judge(bug_hunt_attend(O_gpu, Q_gpu, K_gpu, V_gpu, scale, N_Q, N_K, stride_k, stride_v),
                 O_gpu, O, N_Q * D);
}

// hard: enough rows to be timed.
static int group_sums(void) {
    enum { G = BUG_HUNT_GROUPS };
    const int rows = hard ? 100 * SIDE : SIDE;
    int *group, *group_gpu = indices(&group, N, 0, G);
    float *x, *x_gpu = numbers(&x, (size_t)rows * N), *y_gpu = (float*)device(rows * G * 4);
    float* y = zeros(rows * G);
    for (int k = 0; k < rows * N; k++) y[k / N * G + group[k % N]] += x[k];
    return judge(bug_hunt_group_sums(y_gpu, x_gpu, group_gpu, rows, N), y_gpu, y, rows * G);
}

// hard: the last warp is not whole.
static int chunk_sums(void) {
    const int n = hard ? N : N / 32 * 32, sums = (n + 31) / 32;
    float *x, *x_gpu = numbers(&x, n), *y_gpu = (float*)device(sums * 4), *y = zeros(sums);
    for (int i = 0; i < n; i++) y[i / 32] += x[i];
    return judge(bug_hunt_chunk_sums(y_gpu, x_gpu, n), y_gpu, y, sums);
}

// hard: some rows see nothing.
static int masked_softmax(void) {
    int *seen, *seen_gpu = indices(&seen, SIDE, hard ? 0 : 1, N);
    float *x, *x_gpu = numbers(&x, SIDE * N), *y_gpu = (float*)device(SIDE * N * 4);
    float* y = zeros(SIDE * N);
    for (int i = 0; i < SIDE; i++) {
        double l = 0;
        for (int j = 0; j < seen[i]; j++) l += exp((double)x[i * N + j]);
        for (int j = 0; j < seen[i]; j++) y[i * N + j] = (float)(exp((double)x[i * N + j]) / l);
    }
    return judge(bug_hunt_masked_softmax(y_gpu, x_gpu, seen_gpu, SIDE, N), y_gpu, y, SIDE * N);
}

// hard: rows of one number.
static int logsumexp(void) {
    const int cols = hard ? 1 : 50257;
    float *x, *x_gpu = numbers(&x, (size_t)SIDE * cols), *y_gpu = (float*)device(SIDE * 4);
    float* y = zeros(SIDE);
    for (int i = 0; i < SIDE; i++) {
        double l = 0;
        for (int j = 0; j < cols; j++) l += exp((double)x[i * cols + j]);
        y[i] = (float)log(l);
    }
    return judge(bug_hunt_logsumexp(y_gpu, x_gpu, SIDE, cols), y_gpu, y, SIDE);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*run)(void);
    } kernels[] = {{"warp_sums", warp_sums},           {"transpose", transpose},
                   {"scale_rows", scale_rows},         {"divide_by_count", divide_by_count},
                   {"reverse_rows", reverse_rows},     {"attend", attend},
                   {"group_sums", group_sums},         {"chunk_sums", chunk_sums},
                   {"masked_softmax", masked_softmax}, {"logsumexp", logsumexp}};
    hard = argc > 2 && strcmp(argv[2], "hard") == 0;
    for (size_t k = 0; argc > 2 && k < sizeof kernels / sizeof kernels[0]; k++)
        if (strcmp(argv[1], kernels[k].name) == 0) return kernels[k].run() < 0;
    fprintf(stderr, "usage: tools KERNEL easy|hard\n");
    return 2;
}
