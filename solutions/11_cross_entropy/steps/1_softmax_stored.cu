// Step 1: as libraries compose it. Softmax is a kernel, its result an array; the loss is another
// kernel, the gradient a third. The row of logits is read three times and P written, then P is read
// and the gradient written: 4 bytes of a P in fp32 beside 2 of a logit, 16 bytes a logit in all,
// and 4 V rows bytes of memory that nobody needs afterwards.

#include "cross_entropy.h"

#include <cuda_bf16.h>
#include <math.h>

#define THREADS 256

// The sum of v over the block, or the largest v, in every thread. All threads must call it.
inline __device__ float over_block(float v, bool largest, float* v_thread) {  // shared, (THREADS)
    __syncthreads();  // who called this before has read v_thread[0] before it is written again
    v_thread[threadIdx.x] = v;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // both halves are written before they are added
        float other = threadIdx.x < half ? v_thread[threadIdx.x + half] : 0.0f;
        if (threadIdx.x < half) v = largest ? fmaxf(v, other) : v + other;
        if (threadIdx.x < half) v_thread[threadIdx.x] = v;
    }
    __syncthreads();  // thread 0 has written the whole before all read it
    return v_thread[0];
}

// *count = N, the number of labels that are not ignore_index. One block.
__global__ void count_kernel(int* count,             // (1)
                             const int64_t* labels,  // (rows)
                             int64_t rows, int64_t ignore_index) {
    __shared__ int counted;
    if (threadIdx.x == 0) counted = 0;
    __syncthreads();  // counted is 0 before anyone adds to it
    for (int64_t row = threadIdx.x; row < rows; row += THREADS)
        if (labels[row] != ignore_index) atomicAdd(&counted, 1);
    __syncthreads();  // all have added before thread 0 reads
    if (threadIdx.x == 0) *count = counted;
}

// P = softmax of each row, and LSE                                        (README eq. 1)
__global__ void softmax_kernel(float* P,            // (rows, V)
                               float* LSE,          // (rows)
                               const bf16* logits,  // (rows, V), rows stride apart
                               int64_t V, int64_t stride) {
    __shared__ float v_thread[THREADS];
    int64_t row = blockIdx.x;  // [0, rows)
    const bf16* x = logits + row * stride;
    float m = -INFINITY, l = 0.0f;
    for (int64_t j = threadIdx.x; j < V; j += THREADS) m = fmaxf(m, __bfloat162float(x[j]));
    m = over_block(m, true, v_thread);
    for (int64_t j = threadIdx.x; j < V; j += THREADS) l += expf(__bfloat162float(x[j]) - m);
    l = over_block(l, false, v_thread);
    for (int64_t j = threadIdx.x; j < V; j += THREADS)
        P[row * V + j] = expf(__bfloat162float(x[j]) - m) / l;
    if (threadIdx.x == 0) LSE[row] = m + logf(l);
}

// Each row's loss, 0 where it does not count                              (README eq. 3)
__global__ void loss_kernel(float* losses,          // (rows)
                            float* LSE,             // (rows)
                            const bf16* logits,     // (rows, V), rows stride apart
                            const int64_t* labels,  // (rows)
                            int64_t V, int64_t stride, int64_t ignore_index, float eps) {
    __shared__ float v_thread[THREADS];
    int64_t row = blockIdx.x;  // [0, rows)
    const bf16* x = logits + row * stride;
    int64_t label = labels[row];
    if (label == ignore_index) {
        if (threadIdx.x == 0) losses[row] = LSE[row] = 0.0f;
        return;  // the whole block
    }
    float sum = 0.0f;
    if (eps > 0.0f) {
        for (int64_t j = threadIdx.x; j < V; j += THREADS) sum += __bfloat162float(x[j]);
        sum = over_block(sum, false, v_thread);
    }
    if (threadIdx.x == 0) {
        bool valid = 0 <= label && label < V;
        float loss = LSE[row] - (valid ? __bfloat162float(x[label]) : NAN);
        if (eps > 0.0f) loss = (1.0f - eps) * loss + eps * (LSE[row] - sum / (float)V);
        losses[row] = loss;
    }
}

// The gradient, in place of the logits                                    (README eq. 4)
__global__ void gradient_kernel(bf16* logits,           // (rows, V), rows stride apart
                                const float* P,         // (rows, V)
                                const int64_t* labels,  // (rows)
                                const int* count,       // (1)
                                int64_t V, int64_t stride, int64_t ignore_index, float eps) {
    int64_t row = blockIdx.x;  // [0, rows)
    int64_t label = labels[row];
    float N = (float)*count;
    for (int64_t j = threadIdx.x; j < V; j += THREADS) {
        float target = eps / (float)V + (j == label ? 1.0f - eps : 0.0f);
        float g = 0 <= label && label < V ? (P[row * V + j] - target) / N : NAN;
        logits[row * stride + j] = __float2bfloat16(label == ignore_index ? 0.0f : g);
    }
}

// *loss = the mean of the losses. One block.
__global__ void mean_kernel(float* loss,          // (1)
                            const float* losses,  // (rows)
                            const int* count,     // (1)
                            int64_t rows) {
    __shared__ float v_thread[THREADS];
    float sum = 0.0f;
    for (int64_t row = threadIdx.x; row < rows; row += THREADS) sum += losses[row];
    sum = over_block(sum, false, v_thread);
    if (threadIdx.x == 0) *loss = *count > 0 ? sum / (float)*count : 0.0f;
}

int cross_entropy(float* loss_gpu, float* LSE_gpu, bf16* logits_gpu, const int64_t* labels_gpu,
                  int64_t rows, int64_t V, int64_t stride, int64_t ignore_index, float smoothing,
                  void* workspace_gpu) {
    if (rows < 0 || V < 1 || stride < V || !(smoothing >= 0.0f && smoothing < 1.0f))
        return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!loss_gpu || !LSE_gpu || !logits_gpu || !labels_gpu || !workspace_gpu)
        return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || V > CROSS_ENTROPY_MAX_V) return COURSE_UNSUPPORTED;
    int* count = (int*)workspace_gpu;
    float *losses = (float*)workspace_gpu + 1, *P;
    COURSE_TRY(cudaMalloc((void**)&P, (size_t)rows * (size_t)V * sizeof(float)));

    unsigned blocks = (unsigned)rows;
    count_kernel<<<1, THREADS>>>(count, labels_gpu, rows, ignore_index);
    softmax_kernel<<<blocks, THREADS>>>(P, LSE_gpu, logits_gpu, V, stride);
    loss_kernel<<<blocks, THREADS>>>(losses, LSE_gpu, logits_gpu, labels_gpu, V, stride,
                                     ignore_index, smoothing);
    gradient_kernel<<<blocks, THREADS>>>(logits_gpu, P, labels_gpu, count, V, stride, ignore_index,
                                         smoothing);
    mean_kernel<<<1, THREADS>>>(loss_gpu, losses, count, rows);
    cudaError_t launched = cudaGetLastError();
    COURSE_TRY(cudaFree(P));  // waits for the kernels
    COURSE_TRY(launched);
    return COURSE_OK;
}
