// after.cu: the three kernels that are only read, after their cure.
//
// Beside grader/23_profiling/record/before.cu each is another in a few lines.
#include "read.h"

#include <math.h>

#define THREADS 256       // of a block of gaps and norm
#define GAPS_BLOCKS 528   // 4 for each of 132 multiprocessors
#define NORM_BLOCKS 1056  // 8 for each
#define WARP_SIZE 32
#define PIECES 8                 // blocks that share a system
#define PIECE (BODIES / PIECES)  // bodies of a block
#define ALL_LANES 0xffffffffu
#define ORDER 11  // coefficients of the polynomial

// ---- gaps

// The value at i of the polynomial with ORDER coefficients that is nearest to x around i.
// Normal equations, A c = b, with b as the last column of A. No loop is unrolled, so that A lies in
// local memory: slow, and seldom.
inline __device__ float fitted(const float* x, int64_t i, int64_t n) {
    float A[ORDER][ORDER + 1] = {};
#pragma unroll 1
    for (int j = -GAP_REACH; j <= GAP_REACH; j++) {
        float value = i + j >= 0 && i + j < n ? x[i + j] : NAN;
        if (isnan(value)) continue;
        float power[ORDER + 1];
        power[0] = 1.0f;
#pragma unroll 1
        for (int a = 1; a < ORDER; a++) power[a] = power[a - 1] * ((float)j / GAP_REACH);
        power[ORDER] = value;
#pragma unroll 1
        for (int a = 0; a < ORDER; a++)
#pragma unroll 1
            for (int b = 0; b <= ORDER; b++) A[a][b] += power[a] * power[b];
    }
    // from the last unknown to the first, so that the first stands alone at the end
#pragma unroll 1
    for (int p = ORDER - 1; p > 0; p--) {
        float inverse = 1.0f / (A[p][p] + 1e-3f);
#pragma unroll 1
        for (int a = 0; a < p; a++) {
            float factor = A[a][p] * inverse;
#pragma unroll 1
            for (int b = 0; b <= ORDER; b++) A[a][b] -= factor * A[p][b];
        }
    }
    return A[0][ORDER] / (A[0][0] + 1e-3f);
}

__global__ void gaps_kernel(float* __restrict__ y,        // (n)  out
                            const float* __restrict__ x,  // (n)
                            int64_t n) {
    int64_t threads = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += threads) {
        float value = x[i];
        if (isnan(value)) value = fitted(x, i, n);
        y[i] = value;
    }
}

int read_gaps(float* y, const float* x, int64_t n) {
    gaps_kernel<<<GAPS_BLOCKS, THREADS>>>(y, x, n);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- forces

// PIECES blocks for a system, one thread for a body.
__global__ void forces_kernel(float* __restrict__ a,            // (systems, BODIES, 3)  out
                              const float4* __restrict__ body)  // (systems, BODIES)
{
    __shared__ float4 others[BODIES];
    int i = blockIdx.x % PIECES * PIECE + threadIdx.x;  // [0, BODIES)
    size_t first = (size_t)(blockIdx.x / PIECES) * BODIES;
    float4 own = body[first + i];
    for (int j = threadIdx.x; j < BODIES; j += PIECE) others[j] = body[first + j];
    __syncthreads();  // every body is in others before any is read there
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma unroll 8
    for (int j = 0; j < BODIES; j++) {
        float4 other = others[j];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float pull = other.w * inverse * inverse * inverse;
        ax += pull * dx, ay += pull * dy, az += pull * dz;
    }
    float* out = a + 3 * (first + i);
    out[0] = ax, out[1] = ay, out[2] = az;
}

int read_forces(float* a, const float* body, int systems) {
    forces_kernel<<<systems * PIECES, PIECE>>>(a, (const float4*)body);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- norm

__global__ void norm_kernel(unsigned long long* sum,      // (1)  out; 0 before
                            const char4* __restrict__ x,  // (n / 4)
                            int64_t words) {
    int64_t threads = (int64_t)gridDim.x * THREADS;
    int part = 0;
#pragma unroll 1
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < words; i += threads) {
        char4 four = x[i];
        part += four.x * four.x + four.y * four.y + four.z * four.z + four.w * four.w;
    }
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
        part += __shfl_xor_sync(ALL_LANES, part, distance);
    if (threadIdx.x % WARP_SIZE == 0) atomicAdd(sum, (unsigned long long)part);
}

int read_norm(int64_t* sum, const int8_t* x, int64_t n) {
    COURSE_TRY(cudaMemsetAsync(sum, 0, sizeof *sum, 0));
    norm_kernel<<<NORM_BLOCKS, THREADS>>>((unsigned long long*)sum, (const char4*)x, n / 4);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
