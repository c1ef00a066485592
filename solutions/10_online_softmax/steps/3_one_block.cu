// Step 3: online softmax, one block per row, one element at a time.
//
// What was wrong with step 2: a warp's 32 loads hit 32 rows, and one thread did the work of a row
// alone. Here 128 threads share a row, a warp's load is 128 bytes in one piece, and the states of
// the threads are merged at the end. What is still wrong: every element pays two exps, and the next
// load is asked for one fold at a time.

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 128                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the states of all warps");

// What is known of a row after some of its elements: m, their maximum, and l = sum exp(x - m).
// The state of no elements is (-INFINITY, 0).
struct state {
    float m;
    float l;
};

// ---- device helpers ----------------------------------------------------------------------------

// The state s after one more element x_j. An element of -INFINITY adds nothing.
inline __device__ struct state fold(struct state s, float x_j) {
    // m_new = max(m, x_j)                                                 (README eq. 3)
    float m_new = fmaxf(s.m, x_j);
    if (m_new == -INFINITY) return s;  // (-inf) - (-inf) is NaN
    // l_new = l * exp(m - m_new) + exp(x_j - m_new)                       (README eq. 4)
    s.l = s.l * expf(s.m - m_new) + expf(x_j - m_new);
    s.m = m_new;
    return s;
}

// The state of the elements of a and the elements of b together. Either may be empty, or both.
inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {-INFINITY, 0.0f};
    both.m = fmaxf(a.m, b.m);
    if (both.m == -INFINITY) return both;  // (-inf) - (-inf) is NaN
    // l = l_a * exp(m_a - m) + l_b * exp(m_b - m)                         (README eq. 6)
    both.l = a.l * expf(a.m - both.m) + b.l * expf(b.m - both.m);
    return both;
}

// The merged state of the 32 lanes of a warp, in every lane. All lanes must call it.
inline __device__ struct state merge_lanes(struct state s) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct state other;
        other.m = __shfl_xor_sync(ALL_LANES, s.m, distance);
        other.l = __shfl_xor_sync(ALL_LANES, s.l, distance);
        s = merge(s, other);
    }
    return s;
}

// The merged state of all threads of the block, in thread 0. All threads must call it.
inline __device__ struct state merge_block(struct state s,
                                           struct state* s_warp) {  // shared, (WARPS)
    s = merge_lanes(s);
    int warp = threadIdx.x / WARP_SIZE;  // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    if (lane == 0) s_warp[warp] = s;
    __syncthreads();  // every warp has written s_warp before warp 0 reads it
    if (warp == 0) {
        struct state empty = {-INFINITY, 0.0f};
        s = merge_lanes(lane < WARPS ? s_warp[lane] : empty);
    }
    return s;
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void one_block_kernel(float* m,        // (rows)
                                 float* l,        // (rows)
                                 const float* x,  // (rows, cols), rows stride_row apart
                                 int64_t cols, int64_t stride_row) {
    __shared__ struct state s_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_row;

    struct state s = {-INFINITY, 0.0f};
    // neighbouring threads read neighbouring elements
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) s = fold(s, x_row[j]);

    s = merge_block(s, s_warp);
    if (threadIdx.x == 0) {
        m[row] = s.m;
        l[row] = s.l;
    }
}

// ---- launcher ----------------------------------------------------------------------------------

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    one_block_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
