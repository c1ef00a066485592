// Fewer threads with 20 pieces each, and the losses added up by atomics in a cleared cell, in
// the order of chance.

#include "cross_entropy.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 256                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block
#define PIECE 8                      // logits in 16 bytes
#define LINE 8                       // pieces in a cache line of 128 bytes
#define LOG2_E 1.44269504f

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the states of all warps");

// Where the pieces are that registers have no room for.
enum rest {
    NONE,  // there are none
    KEPT,  // in shared memory
    LEFT,  // where they were: they are read again
};

// What is known of some of a row's logits. Of none of them: (-INFINITY, 0, 0).
struct state {
    float m;    // their maximum
    float l;    // sum exp(x - m)
    float sum;  // sum x, for the smoothing
};

// The part of a row that a thread has.
struct share {
    uint4* pieces;  // the row's whole pieces
    int count;      // how many there are
    int begin;      // this thread has pieces begin, begin + THREADS, ...; begin may be below 0
    int column;     // of the first logit of piece 0
    uint4* rest;    // where the pieces are that are not in registers: piece k at rest[k + at]
    int at, after;  // after: the first piece of this thread that is not in registers
    int edge;       // column of the one logit outside of whole pieces that this thread has, or -1
};

// What the gradient of a row is made of, all of it divided by N already.
struct target {
    float m;        // the row's maximum
    float factor;   // 1 / (l N); NaN if the label is none
    float uniform;  // eps / (V N)
    float hit;      // (1 - eps) / N
    int label;      // its column, or -1
};

// ---- device helpers ----------------------------------------------------------------------------

// exp(x - m). The difference first: of x log2(e) and m log2(e), both rounded, it would be inexact.
inline __device__ float exp_difference(float x, float m) {
    return exp2_approx((x - m) * LOG2_E);
}

// A bf16 is the upper half of a float.
inline __device__ void unpack(float x[PIECE], uint4 piece) {
    const unsigned word[] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = __uint_as_float(word[i] << 16);
        x[2 * i + 1] = __uint_as_float(word[i] & 0xffff0000u);
    }
}

inline __device__ uint4 pack(const float x[PIECE]) {
    return make_uint4(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]),
                      pack_bf16(x[6], x[7]));
}

// The state s after the logits of one more piece.
inline __device__ struct state fold(struct state s, uint4 piece) {
    float x[PIECE];
    unpack(x, piece);
    float m_new = s.m;
    for (int e = 0; e < PIECE; e++) {
        m_new = fmaxf(m_new, x[e]);
        s.sum += x[e];
    }
    if (m_new == -INFINITY) return s;  // (-inf) - (-inf) is NaN
    s.l *= exp_difference(s.m, m_new);
    for (int e = 0; e < PIECE; e++) s.l += exp_difference(x[e], m_new);
    s.m = m_new;
    return s;
}

// The state of the logits of a and those of b together. Either may be empty, or both.
inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {-INFINITY, 0.0f, a.sum + b.sum};
    both.m = fmaxf(a.m, b.m);
    if (both.m == -INFINITY) return both;
    both.l = a.l * exp_difference(a.m, both.m) + b.l * exp_difference(b.m, both.m);
    return both;
}

// The merged state of the lanes of a warp, in every lane. All lanes must call it.
inline __device__ struct state merge_lanes(struct state s) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct state other;
        other.m = __shfl_xor_sync(ALL_LANES, s.m, distance);
        other.l = __shfl_xor_sync(ALL_LANES, s.l, distance);
        other.sum = __shfl_xor_sync(ALL_LANES, s.sum, distance);
        s = merge(s, other);
    }
    return s;
}

// The merged state of all threads of the block, in every thread. All threads must call it.
inline __device__ struct state merge_block(struct state s,
                                           struct state* s_warp) {  // shared, (WARPS)
    int warp = threadIdx.x / WARP_SIZE;                             // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;                             // [0, WARP_SIZE)
    const struct state empty = {-INFINITY, 0.0f, 0.0f};
    s = merge_lanes(s);
    if (lane == 0) s_warp[warp] = s;
    __syncthreads();  // every warp has written s_warp, and read the row, before anyone goes on
    return merge_lanes(lane < WARPS ? s_warp[lane] : empty);
}

// The sum of v over the threads of the block, in thread 0. All threads must call it.
inline __device__ double sum_of_block(double v, double* v_warp) {  // shared, (WARPS)
    int warp = threadIdx.x / WARP_SIZE;                            // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;                            // [0, WARP_SIZE)
    for (int twice = 0; twice < 2; twice++) {
        for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
            v += __shfl_xor_sync(ALL_LANES, v, distance);
        if (twice == 1) break;
        if (lane == 0) v_warp[warp] = v;
        __syncthreads();  // every warp has written v_warp before any warp reads it
        v = lane < WARPS ? v_warp[lane] : 0.0;
    }
    return v;
}

// This thread's share of a row. Lane 0 of a warp stores at a multiple of 128 bytes, wherever the
// row begins (lesson 09).
inline __device__ struct share share_of(bf16* x, int V) {
    struct share s;
    int later = (int)((size_t)x / sizeof(bf16) % PIECE);  // logits behind a multiple of 16 bytes
    int head = min((PIECE - later) % PIECE, V);
    int t = threadIdx.x;
    s.pieces = (uint4*)(x + head);
    s.count = (V - head) / PIECE;
    s.begin = t - (int)((size_t)s.pieces / sizeof(uint4) % LINE);
    s.column = head;
    s.edge = t < head ? t : t + s.count * PIECE;
    if (s.edge >= V) s.edge = -1;
    return s;
}

// The gradient in place of the logits of a piece, of which the first is of this column.
inline __device__ uint4 gradient_of(uint4 piece, int column, struct target t) {
    float x[PIECE];
    unpack(x, piece);
    int at = t.label - column;  // where the label is in this piece, if it is
    for (int e = 0; e < PIECE; e++) x[e] = exp_difference(x[e], t.m) * t.factor - t.uniform;
    if (0 <= at && at < PIECE)
        for (int e = 0; e < PIECE; e++) x[e] -= e == at ? t.hit : 0.0f;
    return pack(x);
}

// Stores LSE and the loss of a row.
inline __device__ void store_loss(float* LSE, float* loss, struct state r,
                                  float x_label,  // the label's logit; NaN if there is none
                                  int V, float eps) {
    float ln_l = logf(r.l);
    float off = r.m - x_label;  // by which the label is below the maximum
    if (eps > 0.0f) off = (1.0f - eps) * off + eps * (r.m - r.sum / (float)V);
    *LSE = r.m + ln_l;   // README eq. 1
    *loss = off + ln_l;  // README eq. 5
}

// ---- GPU kernels -------------------------------------------------------------------------------

// *count = N, how many labels are not ignore_index. One block.
__global__ void count_kernel(int* count,             // (1)
                             const int64_t* labels,  // (rows)
                             int64_t rows, int64_t ignore_index) {
    __shared__ double v_warp[WARPS];
    double counted = 0.0;
    for (int64_t row = threadIdx.x; row < rows; row += THREADS)
        if (labels[row] != ignore_index) counted += 1.0;
    counted = sum_of_block(counted, v_warp);
    if (threadIdx.x == 0) *count = (int)counted;
}

// A row for each block. A multiprocessor has 65536 registers: two blocks leave a thread 64.
template <int PIECES, enum rest REST>
__global__ void __launch_bounds__(THREADS, 1)
    row_kernel(float* losses,          // (rows)
               float* LSE,             // (rows)
               bf16* logits,           // (rows, V), rows stride apart
               const int64_t* labels,  // (rows)
               const int* count,       // (1)
               int V, int64_t stride, int64_t ignore_index, float eps) {
    extern __shared__ uint4 kept[];  // the rest, if KEPT
    __shared__ struct state s_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    bf16* x = logits + row * stride;
    int64_t label = labels[row];
    struct share s = share_of(x, V);
    s.rest = REST == KEPT ? kept : s.pieces;
    s.at = REST == KEPT ? (int)threadIdx.x - s.begin - PIECES * THREADS : 0;

    if (label == ignore_index) {
        for (int k = s.begin; k < s.count; k += THREADS)
            if (k >= 0) s.pieces[k] = make_uint4(0, 0, 0, 0);
        if (s.edge >= 0) x[s.edge] = __float2bfloat16(0.0f);
        if (threadIdx.x == 0) {
            LSE[row] = 0.0f;
            losses[row] = 0.0f;
        }
        return;  // the whole block
    }

    // The row comes onto the chip. A thread later uses what it has sent for itself: no barrier.
    uint4 piece[PIECES];
    s.after = s.begin + PIECES * THREADS;
    float x_edge = s.edge >= 0 ? __bfloat162float(x[s.edge]) : 0.0f;
    float x_label = NAN;  // of a label that is none
    for (int k = s.after; REST == KEPT && k < s.count; k += THREADS)
        cp_async16(&s.rest[k + s.at], &s.pieces[k]);
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        int k = s.begin + i * THREADS;
        if (0 <= k && k < s.count) piece[i] = s.pieces[k];
    }
    // Now: the gradient takes its place. Only thread 0 needs it.
    if (threadIdx.x == 0 && 0 <= label && label < V) x_label = __bfloat162float(x[label]);

    // m, l and sum of the share, then of the row                          (README eq. 6, 7)
    struct state r = {-INFINITY, 0.0f, 0.0f};
    if (s.edge >= 0 && x_edge > -INFINITY) r = {x_edge, 1.0f, x_edge};
    if (s.edge >= 0 && x_edge == -INFINITY) r.sum = x_edge;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        int k = s.begin + i * THREADS;
        if (0 <= k && k < s.count) r = fold(r, piece[i]);
    }
    if (REST == KEPT) cp_async_wait_all();
    for (int k = s.after; REST != NONE && k < s.count; k += THREADS) r = fold(r, s.rest[k + s.at]);
    r = merge_block(r, s_warp);
    if (threadIdx.x == 0) store_loss(&LSE[row], &losses[row], r, x_label, V, eps);

    // The gradient                                                        (README eq. 4)
    bool valid = 0 <= label && label < V;
    float N = (float)*count;
    struct target t;
    t.m = r.m;
    t.factor = valid ? 1.0f / (r.l * N) : NAN;
    t.uniform = eps / ((float)V * N);
    t.hit = (1.0f - eps) / N;
    t.label = valid ? (int)label : -1;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        int k = s.begin + i * THREADS;
        if (0 <= k && k < s.count) s.pieces[k] = gradient_of(piece[i], s.column + k * PIECE, t);
    }
    for (int k = s.after; REST != NONE && k < s.count; k += THREADS)
        s.pieces[k] = gradient_of(s.rest[k + s.at], s.column + k * PIECE, t);
    if (s.edge >= 0) {
        float p = exp_difference(x_edge, t.m) * t.factor - t.uniform;
        x[s.edge] = __float2bfloat16(s.edge == t.label ? p - t.hit : p);
    }
}

// *loss = the mean of the losses. One block, always in the same order.
__global__ void mean_kernel(float* loss,          // (1), cleared
                            const float* losses,  // (rows)
                            const int* count,     // (1)
                            int64_t rows) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row<rows&& * count> 0) atomicAdd(loss, losses[row] / (float)*count);
}

// ---- launcher ----------------------------------------------------------------------------------

typedef void (*kernel_of_rows)(float*, float*, bf16*, const int64_t*, const int*, int, int64_t,
                               int64_t, float);

int cross_entropy(float* loss_gpu, float* LSE_gpu, bf16* logits_gpu, const int64_t* labels_gpu,
                  int64_t rows, int64_t V, int64_t stride, int64_t ignore_index, float smoothing,
                  void* workspace_gpu) {
    if (rows < 0 || V < 1 || stride < V || !(smoothing >= 0.0f && smoothing < 1.0f))
        return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (!loss_gpu || !LSE_gpu || !logits_gpu || !labels_gpu || !workspace_gpu)
        return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || V > CROSS_ENTROPY_MAX_V) return COURSE_UNSUPPORTED;
    int* count = (int*)workspace_gpu;
    float* losses = (float*)workspace_gpu + 1;

    const int IN_REGISTERS = 20 * THREADS;
    int64_t places = CEIL_DIV(V, PIECE) + LINE - 1;  // that pieces take, wherever the row begins
    kernel_of_rows kernel = places <= 2 * THREADS    ? row_kernel<2, NONE>
                            : places <= IN_REGISTERS ? row_kernel<20, NONE>
                                                     : row_kernel<20, LEFT>;

    // How much shared memory does a wider row take, and may a block have it beside s_warp?
    size_t rest_bytes = 0;
    if (places > IN_REGISTERS) {
        int device, most;
        COURSE_TRY(cudaGetDevice(&device));
        COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        rest_bytes = (size_t)CEIL_DIV(places - IN_REGISTERS, THREADS) * THREADS * sizeof(uint4);
        if (rest_bytes + WARPS * sizeof(struct state) <= (size_t)most) {
            kernel = row_kernel<20, KEPT>;
            COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)rest_bytes));
        } else {
            rest_bytes = 0;
        }
    }

    count_kernel<<<1, THREADS>>>(count, labels_gpu, rows, ignore_index);
    COURSE_TRY(cudaGetLastError());
    kernel<<<(unsigned)rows, THREADS, rest_bytes>>>(losses, LSE_gpu, logits_gpu, labels_gpu, count,
                                                    (int)V, stride, ignore_index, smoothing);
    COURSE_TRY(cudaGetLastError());
    COURSE_TRY(cudaMemsetAsync(loss_gpu, 0, sizeof(float)));
    mean_kernel<<<(unsigned)CEIL_DIV(rows, THREADS), THREADS>>>(loss_gpu, losses, count, rows);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
