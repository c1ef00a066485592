// kernels.c: the kernels of `make train` that are no lesson's, beside the same in double: the split
// weight gradient, the sum and norm, the embedding and its gradients. Sizes of MODEL=124m, and some
// that no model has.
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "train/forward.h"
#include "train/model.h"
#include "train/split.h"

static uint64_t drawn;

// Between -1 and 1, a bf16.
static double draw(void) {
    return dtype_round(BF16, (double)(draw_bits(7, drawn++) >> 11) * 0x1p-52 - 1);
}

// What a kernel works on: `count` elements on the device and in double.
struct array {
    enum dtype dtype;
    int64_t count;
    double* value;
    void* gpu;
};

static struct array array_of(enum dtype dtype, int64_t count, int is_drawn) {
    struct array a = {dtype, count, calloc((size_t)count, sizeof(double)), NULL};
    const size_t size = (size_t)dtype_size(dtype), bytes = (size_t)count * size;
    char* host = malloc(bytes);
    if (!a.value || !host || cudaMalloc(&a.gpu, bytes) != cudaSuccess) exit(2);
    for (int64_t i = 0; i < count; i++) {
        a.value[i] = is_drawn ? draw() : NAN;
        dtype_store(dtype, host + (size_t)i * size, a.value[i]);
    }
    if (cudaMemcpy(a.gpu, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess) exit(2);
    free(host);
    return a;
}

static void* on_device(const void* from, size_t bytes) {
    void* gpu;
    if (cudaMalloc(&gpu, bytes) != cudaSuccess) exit(2);
    cudaMemcpy(gpu, from, bytes, cudaMemcpyHostToDevice);
    return gpu;
}

static int failed;

// terms: the sum of the absolute values of what an element is the sum of, at most. A float sum of n
// terms is off by at most n 2^-24 of it, and a bf16 by 2^-8 of itself, whichever way it is rounded.
static void compare(const char* what, const struct array* a, const double* want, double terms,
                    int n) {
    const size_t size = (size_t)dtype_size(a->dtype), bytes = (size_t)a->count * size;
    char* host = malloc(bytes);
    if (!host || cudaMemcpy(host, a->gpu, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) exit(2);
    for (int64_t i = 0; i < a->count; i++) {
        const double got = dtype_load(a->dtype, host + (size_t)i * size);
        const double round = a->dtype == BF16 ? 0x1p-8 * fabs(want[i]) : 0;
        if (fabs(got - want[i]) <= round + n * 0x1p-24 * terms) continue;
        printf("%s: element %lld is %.9g, expected %.9g\n", what, (long long)i, got, want[i]);
        failed = 1;
        break;
    }
    free(host);
}

static void split(int rows, int outputs, int inputs) {
    const int slices = split_slices(rows, outputs, inputs);
    struct array dY = array_of(BF16, (int64_t)rows * outputs, 1);
    struct array X = array_of(BF16, (int64_t)rows * inputs, 1);
    struct array dW = array_of(BF16, (int64_t)outputs * inputs, 0);
    struct array sums = array_of(F32, (int64_t)rows * outputs / 2, 0);
    double* want = calloc((size_t)dW.count, sizeof *want);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++)
            for (int i = 0; i < inputs; i++)
                want[o * inputs + i] += dY.value[r * outputs + o] * X.value[r * inputs + i];
    if (slices < 2 || (int64_t)slices * inputs * 2 > rows) {
        printf("split: %d slices of %d rows\n", slices, rows);
        failed = 1;
    }
    if (split_product(dW.gpu, dY.gpu, X.gpu, sums.gpu, rows, outputs, inputs, slices)) failed = 1;
    compare("split", &dW, want, rows, rows);
    free(want);
}

static void add_norm(int rows, int C) {
    struct array X = array_of(F32, (int64_t)rows * C, 1), Y = array_of(BF16, (int64_t)rows * C, 1);
    struct array bias = array_of(BF16, C, 1), weight = array_of(BF16, C, 1);
    struct array shift = array_of(BF16, C, 1), out = array_of(F32, (int64_t)rows * C, 0);
    struct array stats = array_of(F32, 2 * (int64_t)rows, 0);
    struct array norm = array_of(BF16, (int64_t)rows * C, 0);
    double* sum = calloc((size_t)X.count, sizeof *sum);
    double* normed = calloc((size_t)X.count, sizeof *normed);
    for (int r = 0; r < rows; r++) {
        double mean = 0, square = 0;
        for (int64_t j = 0, e = (int64_t)r * C; j < C; j++, e++)
            mean += (sum[e] = X.value[e] + Y.value[e] + bias.value[j]) / C;
        for (int j = 0; j < C; j++) square += pow(sum[(int64_t)r * C + j] - mean, 2) / C;
        for (int64_t j = 0, e = (int64_t)r * C; j < C; j++, e++)
            normed[e] = (sum[e] - mean) / sqrt(square + 1e-5) * weight.value[j] + shift.value[j];
    }
    if (train_add_norm(out.gpu, stats.gpu, norm.gpu, X.gpu, Y.gpu, bias.gpu, weight.gpu, shift.gpu,
                       rows, C))
        failed = 1;
    compare("sum", &out, sum, 3, 2);
    compare("norm", &norm, normed, 8, C + 8);
    free(sum), free(normed);
}

// Token 1 has most of the rows, some have none.
static void embedding(int B, int N, int C, int V) {
    const int rows = B * N;
    int64_t* tokens = calloc((size_t)rows, sizeof *tokens);
    int* order = calloc((size_t)rows, sizeof *order);
    int* first = calloc((size_t)V + 1, sizeof *first);
    int used = 0, at = 0;
    for (int r = 0; r < rows; r++) tokens[r] = r % 3 ? 1 : draw_below(9, (uint64_t)r, V / 2) * 2;
    for (int t = 0; t < V; t++) {
        const int begin = at;
        for (int r = 0; r < rows; r++)
            if (tokens[r] == t) order[at++] = r;
        if (at > begin) first[used++] = begin;
    }
    first[used] = at;
    struct array E = array_of(BF16, (int64_t)V * C, 1), P = array_of(BF16, (int64_t)N * C, 1);
    struct array X = array_of(F32, (int64_t)rows * C, 0), dX = array_of(F32, (int64_t)rows * C, 1);
    struct array dE = array_of(BF16, (int64_t)V * C, 1), dP = array_of(BF16, (int64_t)N * C, 0);
    double* want = calloc((size_t)X.count, sizeof *want);
    double* want_P = calloc((size_t)dP.count, sizeof *want_P);
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < C; j++) {
            want[(int64_t)r * C + j] = E.value[tokens[r] * C + j] + P.value[r % N * C + j];
            dE.value[tokens[r] * C + j] += dX.value[(int64_t)r * C + j];
            want_P[r % N * C + j] += dX.value[(int64_t)r * C + j];
        }
    const size_t bytes = (size_t)rows * sizeof *tokens;
    int64_t* tokens_gpu = on_device(tokens, bytes);
    int* order_gpu = on_device(order, (size_t)rows * sizeof *order);
    int* first_gpu = on_device(first, ((size_t)used + 1) * sizeof *first);
    if (train_embed(X.gpu, tokens_gpu, E.gpu, P.gpu, rows, N, C)) failed = 1;
    compare("embedding", &X, want, 2, 1);
    if (train_embed_backward(dE.gpu, dP.gpu, dX.gpu, tokens_gpu, order_gpu, first_gpu, used, rows,
                             N, C))
        failed = 1;
    compare("gradient by E", &dE, dE.value, rows, rows);
    compare("gradient by P", &dP, want_P, B, B);
    free(tokens), free(order), free(first), free(want), free(want_P);
}

int main(void) {
    split(1100, 136, 264);
    split(2100, 768, 64);
    add_norm(5, 768);
    add_norm(3, 1024);
    add_norm(9, 40);
    embedding(3, 50, 72, 20);
    embedding(1, 7, 1024, 300);
    if (train_add_norm(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1032) !=
        COURSE_UNSUPPORTED)
        failed = 1;
    return failed;
}
