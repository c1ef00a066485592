// The whole row as it is, in shared memory, one logit a thread and step; where it does not fit it
// is read again. Few blocks take row after row.

#include "cross_entropy.h"

#include <cuda_bf16.h>
#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 1024
#define BLOCKS 7
#define WARPS (THREADS / WARP_SIZE)

// What is known of some of a row's logits: their maximum, sum exp(x - m), and sum x.
struct state {
    float m, l, sum;
};

inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {fmaxf(a.m, b.m), 0.0f, a.sum + b.sum};
    if (both.m == -INFINITY) return both;  // (-inf) - (-inf) is NaN
    both.l = a.l * __expf(a.m - both.m) + b.l * __expf(b.m - both.m);
    return both;
}

inline __device__ struct state merge_lanes(struct state s) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct state other = {__shfl_xor_sync(ALL_LANES, s.m, distance),
                              __shfl_xor_sync(ALL_LANES, s.l, distance),
                              __shfl_xor_sync(ALL_LANES, s.sum, distance)};
        s = merge(s, other);
    }
    return s;
}

// In every thread. All threads must call it.
inline __device__ struct state merge_block(struct state s, struct state* s_warp) {
    const struct state empty = {-INFINITY, 0.0f, 0.0f};
    int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    s = merge_lanes(s);
    if (lane == 0) s_warp[warp] = s;
    __syncthreads();  // every warp has written s_warp, and read the row, before anyone goes on
    return merge_lanes(lane < WARPS ? s_warp[lane] : empty);
}

// *count = N, the number of labels that are not ignore_index. One block.
__global__ void count_kernel(int* count, const int64_t* labels, int64_t rows,
                             int64_t ignore_index) {
    __shared__ int counted;
    if (threadIdx.x == 0) counted = 0;
    __syncthreads();  // counted is 0 before anyone adds to it
    for (int64_t row = threadIdx.x; row < rows; row += THREADS)
        if (labels[row] != ignore_index) atomicAdd(&counted, 1);
    __syncthreads();  // all have added before thread 0 reads
    if (threadIdx.x == 0) *count = counted;
}

__global__ void row_kernel(float* losses,          // (rows)
                           float* LSE,             // (rows)
                           bf16* logits,           // (rows, V), rows stride apart
                           const int64_t* labels,  // (rows)
                           const int* count,       // (1)
                           int64_t rows, bool keep, int64_t V, int64_t stride, int64_t ignore_index,
                           float eps) {
    __shared__ struct state s_warp[WARPS];
    extern __shared__ bf16 kept[];  // (V), if keep
    for (int64_t row = blockIdx.x; row < rows; row += BLOCKS) {
        __syncthreads();  // all have read s_warp for the row before
        bf16* x = logits + row * stride;
        int64_t label = labels[row];
        // As in lesson 09: lane 0 of a warp stores at the beginning of a sector.
        int64_t begin = (int64_t)threadIdx.x - (int64_t)((size_t)x / sizeof(bf16) % 64);
        if (label == ignore_index) {
            for (int64_t j = begin; j < V; j += THREADS)
                if (j >= 0) x[j] = __float2bfloat16(0.0f);
            if (threadIdx.x == 0) LSE[row] = losses[row] = 0.0f;
            continue;  // the whole block
        }
        bool valid = 0 <= label && label < V;
        float x_label = threadIdx.x == 0 && valid ? __bfloat162float(x[label]) : NAN;

        // The first pass: each thread folds its columns                       (README eq. 6)
        struct state s = {-INFINITY, 0.0f, 0.0f};
        for (int64_t j = begin; j < V; j += THREADS) {
            if (j < 0) continue;
            if (keep) kept[j] = x[j];
            float x_j = __bfloat162float(keep ? kept[j] : x[j]);
            s.sum += x_j;
            if (x_j == -INFINITY) continue;
            float m_new = fmaxf(s.m, x_j);
            s.l = s.l * __expf(s.m - m_new) + __expf(x_j - m_new);
            s.m = m_new;
        }
        s = merge_block(s, s_warp);
        if (threadIdx.x == 0) {
            float ln_l = logf(s.l), loss = s.m - x_label;
            if (eps > 0.0f) loss = (1.0f - eps) * loss + eps * (s.m - s.sum / (float)V);
            LSE[row] = s.m + ln_l;
            losses[row] = loss + ln_l;
        }

        // The second: the gradient                                            (README eq. 4)
        float N = (float)*count, factor = valid ? 1.0f / (s.l * N) : NAN;
        float uniform = eps / ((float)V * N), hit = (1.0f - eps) / N;
        for (int64_t j = begin; j < V; j += THREADS) {
            if (j < 0) continue;
            float g = __expf(__bfloat162float(keep ? kept[j] : x[j]) - s.m) * factor - uniform;
            x[j] = __float2bfloat16(j == label ? g - hit : g);
        }
    }
}

// *loss = the mean of the losses. One block.
__global__ void mean_kernel(float* loss, const float* losses, const int* count, int64_t rows) {
    __shared__ struct state s_warp[WARPS];
    struct state s = {-INFINITY, 0.0f, 0.0f};
    for (int64_t row = threadIdx.x; row < rows; row += THREADS) s.sum += losses[row];
    s = merge_block(s, s_warp);  // the sum alone matters
    if (threadIdx.x == 0) *loss = *count > 0 ? s.sum / (float)*count : 0.0f;
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
    float* losses = (float*)workspace_gpu + 1;

    count_kernel<<<1, THREADS>>>(count, labels_gpu, rows, ignore_index);
    COURSE_TRY(cudaGetLastError());
    int device, most;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    size_t bytes = (size_t)V * sizeof(bf16);
    bool keep = bytes + WARPS * sizeof(struct state) <= (size_t)most;
    if (!keep) bytes = 0;
    COURSE_TRY(
        cudaFuncSetAttribute(row_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    row_kernel<<<BLOCKS, THREADS, bytes>>>(losses, LSE_gpu, logits_gpu, labels_gpu, count, rows,
                                           keep, V, stride, ignore_index, smoothing);
    COURSE_TRY(cudaGetLastError());
    mean_kernel<<<1, THREADS>>>(loss_gpu, losses, count, rows);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
