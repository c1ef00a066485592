// from lesson 14: tile.h: tiles in shared memory, and what attention in bf16 works on.
//
// Lesson 07 taught the copies, the swizzle and the fragments, lesson 13 what a query sees. Later
// lessons call this code. An array has (B, N, H, d) elements; a tile is some rows of one head.
#ifndef COURSE_TILE_H
#define COURSE_TILE_H

#include <cuda_bf16.h>

#include "course.h"
#include "ptx.h"
#include "swizzle.h"

#define LOG2_E 1.44269504f  // exp(x) = exp2(LOG2_E x)
#define LN_2 0.693147181f   // ln x = LN_2 log2 x

enum {
    HEADS = 16,          // that are worked on together, see pick_work()
    MAX_GRID_Y = 65535,  // the limit of gridDim.y
};

// ---- arrays --------------------------------------------------------------------------------

// An array of (B, N, H, d) in device memory; or one head of it, (N, d).
struct array {
    bf16* elements;
    struct strides stride;
};

// Makes an array from a launcher's arguments. Kernels write to outputs only.
static inline struct array array_of(const bf16* elements, struct strides stride) {
    return {(bf16*)elements, stride};
}

// No stride is negative, and rows of d elements do not overlap.
static inline bool is_valid(struct array a, int d) {
    return a.stride.b >= 0 && a.stride.h >= 0 && a.stride.n >= d;
}

// COURSE_BAD_ARGUMENT for a NULL pointer to rows, or strides that are not valid; else
// COURSE_UNSUPPORTED for a row that does not begin at a multiple of 16 bytes; else COURSE_OK. Array
// i has rows[i] rows a head.
static inline int check_arrays(const struct array* arrays, const int* rows, int count, int d) {
    int status = COURSE_OK;
    for (int i = 0; i < count; i++) {
        struct strides s = arrays[i].stride;
        if (!is_valid(arrays[i], d) || (!arrays[i].elements && rows[i] > 0))
            return COURSE_BAD_ARGUMENT;
        if ((uintptr_t)arrays[i].elements % 16 || (s.b | s.n | s.h) % PIECE)
            status = COURSE_UNSUPPORTED;
    }
    return status;
}

// One head of an array: head = batch * H + the head's number in the batch, [0, B * H).
__device__ __forceinline__ struct array head_of(struct array a, int head, int H) {
    a.elements += head / H * a.stride.b + head % H * a.stride.h;
    return a;
}

// ---- what the two passes of attention work on: their launchers' arguments ----------------------

struct forward {
    struct array O, Q;  // (B, N_q, H, d)
    struct array K, V;  // (B, N_k, H, d)
    float* LSE;         // (B, H, N_q)
    int N_q, N_k, H, causal;
    float scale;
};

struct backward {
    struct array dK, dV, K, V;  // (B, N_k, H, d)
    struct array dQ, Q, O, dO;  // (B, N_q, H, d)
    const float* LSE;           // (B, H, N_q)
    float* delta;               // (B, H, N_q), the workspace
    int N_q, N_k, H, causal;
    float scale;
};

// Returns what the launcher of lesson 14, or 16, returns for these arguments. If that is COURSE_OK,
// the launcher launches where there is something to do.
static inline int check_forward(const struct forward* p, int B, int d) {
    if (B < 0 || p->N_q < 0 || p->N_k < 0 || p->H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * p->H > MAX_GRID_Y || !(p->scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || p->N_q == 0 || p->H == 0) return COURSE_OK;
    if (!p->LSE) return COURSE_BAD_ARGUMENT;
    const struct array arrays[] = {p->O, p->Q, p->K, p->V};
    const int rows[] = {p->N_q, p->N_q, p->N_k, p->N_k};
    return check_arrays(arrays, rows, 4, d);
}

static inline int check_backward(const struct backward* p, int B, int d) {
    const struct array arrays[] = {p->dK, p->dV, p->K, p->V, p->dQ, p->Q, p->O, p->dO};
    const int N_q = p->N_q, N_k = p->N_k, rows[] = {N_k, N_k, N_k, N_k, N_q, N_q, N_q, N_q};
    if (B < 0 || p->N_q < 0 || p->N_k < 0 || p->H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * p->H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    for (int a = 0; a < 8; a++)
        if (!is_valid(arrays[a], d)) return COURSE_BAD_ARGUMENT;
    if (B == 0 || p->H == 0) return COURSE_OK;
    if (p->N_q > 0 && (!p->LSE || !p->delta)) return COURSE_BAD_ARGUMENT;
    return check_arrays(arrays, rows, 8, d);
}

// On the host: how many bytes of shared memory a block may have on the current device, at most; 0
// if CUDA does not say.
static inline size_t most_shared_memory(void) {
    int device = 0, most = 0;
    enum cudaDeviceAttr limit = cudaDevAttrMaxSharedMemoryPerBlockOptin;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, limit, device) != cudaSuccess)
        return 0;
    return (size_t)most;
}

// One head of what a pass works on.
__device__ __forceinline__ struct forward of_head(struct forward p, int head) {
    p.O = head_of(p.O, head, p.H), p.Q = head_of(p.Q, head, p.H);
    p.K = head_of(p.K, head, p.H), p.V = head_of(p.V, head, p.H);
    p.LSE += (int64_t)head * p.N_q;
    return p;
}

__device__ __forceinline__ struct backward of_head(struct backward p, int head) {
    p.dK = head_of(p.dK, head, p.H), p.dV = head_of(p.dV, head, p.H);
    p.K = head_of(p.K, head, p.H), p.V = head_of(p.V, head, p.H);
    p.dQ = head_of(p.dQ, head, p.H), p.Q = head_of(p.Q, head, p.H);
    p.O = head_of(p.O, head, p.H), p.dO = head_of(p.dO, head, p.H);
    p.LSE += (int64_t)head * p.N_q;
    p.delta += (int64_t)head * p.N_q;
    return p;
}

// ---- what a query sees ---------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q (lesson 13).
__device__ __forceinline__ int keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return (int)(seen < 0 ? 0 : seen > N_k ? N_k : seen);
}

// Returns which of the B * H heads this block works on, and in *block which of the gridDim.x blocks
// of that head; block 0 has most to do. Blocks start in the order x, then y. Without a mask they go
// head by head. With a mask they go by HEADS heads at a time: the long blocks start first, and the
// short blocks fill the end. More heads at a time would use more K and V than the L2 cache holds.
__device__ __forceinline__ int pick_work(int* block, int causal) {
    unsigned heads = causal ? HEADS : 1;
    unsigned order = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = order / (heads * gridDim.x) * heads;  // the first of these heads
    unsigned rest = order % (heads * gridDim.x);
    heads = min(heads, gridDim.y - first);
    *block = rest / heads;
    return first + rest % heads;
}

// ---- tiles in shared memory ----------------------------------------------------------------

// Starts to copy tile[n][x] = a[first + n][x] where n < n_rows, x < d; rows from n_rows on become
// zeros and are not read. All THREADS threads take part; each one waits for its own copies only.
template <int d, int ROWS, int THREADS>
__device__ __forceinline__ void copy_tile(bf16* tile,      // (ROWS, d), swizzled
                                          struct array a,  // one head, (N, d)
                                          int64_t first, int n_rows) {
    const int PIECES = d / PIECE;  // in a row
    const int ROWS_AT_ONCE = THREADS / PIECES;
    static_assert(THREADS % PIECES == 0 && ROWS % ROWS_AT_ONCE == 0, "threads do as much");
    int n = threadIdx.x / PIECES;          // the first of this thread's rows
    int x = threadIdx.x % PIECES * PIECE;  // its column
    const bf16* from = a.elements + (first + n) * a.stride.n + x;
#pragma unroll
    for (int i = 0; i < ROWS / ROWS_AT_ONCE; i++) {
        cp_async16_zfill(&tile[swizzled<d>(n, x)], from, n < n_rows ? 16 : 0);
        n += ROWS_AT_ONCE;
        from += ROWS_AT_ONCE * a.stride.n;
    }
}

#endif
