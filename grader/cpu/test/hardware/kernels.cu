// Kernels whose counters are predicted on the CPU device and measured on a GPU: types of all sizes,
// addresses that do not line up, lanes that take no part, bank patterns, atomics. What
// watch/counters.cu has (plain copies, transposes, tiled products, divergence) is not repeated.
#include <cuda_fp16.h>
#include "launched.h"
#include "small.h"

#define N 65536      // elements of most arrays
#define THREADS 256  // threads of most blocks

// ---- copies ------------------------------------------------------------------------------------

// Three floats, 4-byte aligned: no load of 12 bytes exists.
struct triple {
    float x, y, z;
};

// Two floats that are only 4-byte aligned: no load of 8 bytes may be used.
struct pair {
    float x, y;
};

// Two shorts, 2-byte aligned.
struct shorts {
    short x, y;
};

template <typename T> __global__ void copy_of(T* out, const T* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void load_stride_2(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[2 * i];
}

__global__ void store_stride_3(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[3 * i] = in[i];
}

__global__ void store_misaligned(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i + 1] = in[i];
}

// Rows of 33 halves: most begin in the middle of a word.
__global__ void halves_misaligned(half* out, const half* in) {
    int i = blockIdx.x * 33 + threadIdx.x;
    out[i] = in[i];
}

__global__ void backwards(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[N - 1 - i] = in[i];
}

// Pseudo-random places: multiplying by an odd number permutes the numbers below a power of two.
__global__ void gather(float* out, const float* in) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(i * 40503u ^ i >> 5) % N];
}

__global__ void one_for_all(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[blockIdx.x];
}

__global__ void guarded(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

__global__ void every_other_lane(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2 == 1) out[i] = in[i];
}

__global__ void in_place(float4* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 x = a[i];
    a[i] = make_float4(2.0f * x.x, 2.0f * x.y, 2.0f * x.z, 2.0f * x.w);
}

__constant__ float table[16] = {1.0f, 2.0f, 3.0f, 4.0f};

__global__ void from_constant(float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[blockIdx.x % 4];
}

// ---- a product with 4 x 4 elements a thread ----------------------------------------------------

#define BLOCK 64  // rows and columns of C a block owns, by 16 x 16 threads
#define DEPTH 8   // columns of A, rows of B at a time

// C = A B, all n x n, n a multiple of BLOCK. A's tile lies transposed: both are read as float4.
__global__ void matmul_registers(float* C, const float* A, const float* B, int n) {
    __shared__ float A_smem[DEPTH][BLOCK + 4], B_smem[DEPTH][BLOCK];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float4 sum[4] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int e = threadIdx.x; e < BLOCK * DEPTH; e += THREADS) {
            A_smem[e % DEPTH][e / DEPTH] = A[(row0 + e / DEPTH) * n + k0 + e % DEPTH];
            B_smem[e / BLOCK][e % BLOCK] = B[(k0 + e / BLOCK) * n + col0 + e % BLOCK];
        }
        __syncthreads();  // both tiles are written -> all read them
        for (int k = 0; k < DEPTH; k++) {
            float4 a = *(const float4*)&A_smem[k][4 * y], b = *(const float4*)&B_smem[k][4 * x];
            sum[0] = make_float4(sum[0].x + a.x * b.x, sum[0].y + a.x * b.y, sum[0].z + a.x * b.z,
                                 sum[0].w + a.x * b.w);
            sum[1] = make_float4(sum[1].x + a.y * b.x, sum[1].y + a.y * b.y, sum[1].z + a.y * b.z,
                                 sum[1].w + a.y * b.w);
            sum[2] = make_float4(sum[2].x + a.z * b.x, sum[2].y + a.z * b.y, sum[2].z + a.z * b.z,
                                 sum[2].w + a.z * b.w);
            sum[3] = make_float4(sum[3].x + a.w * b.x, sum[3].y + a.w * b.y, sum[3].z + a.w * b.z,
                                 sum[3].w + a.w * b.w);
        }
        __syncthreads();  // both tiles have been read -> the next round overwrites them
    }
    for (int i = 0; i < 4; i++) *(float4*)&C[(row0 + 4 * y + i) * n + col0 + 4 * x] = sum[i];
}

// ---- softmax -----------------------------------------------------------------------------------

// y = softmax(x) by rows of n, a warp each, in three passes.
__global__ void softmax(float* y, const float* x, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float m = -INFINITY, l = 0.0f;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, x[row * n + j]);
    for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, step));
    for (int j = lane; j < n; j += 32) l += expf(x[row * n + j] - m);
    for (int step = 16; step > 0; step /= 2) l += __shfl_xor_sync(0xffffffff, l, step);
    for (int j = lane; j < n; j += 32) y[row * n + j] = expf(x[row * n + j] - m) / l;
}

// ---- banks -------------------------------------------------------------------------------------

__device__ inline float add_up(unsigned char v) {
    return v;
}
__device__ inline float add_up(half v) {
    return __half2float(v);
}
__device__ inline float add_up(float v) {
    return v;
}
__device__ inline float add_up(float2 v) {
    return v.x + v.y;
}
__device__ inline float add_up(float4 v) {
    return v.x + v.y + v.z + v.w;
}

// A permutation of [0, 256), a different one in each block.
__device__ inline int mixed(int i) {
    unsigned x = (i + 32 * blockIdx.x) * (2 * blockIdx.x + 77) % 256;
    return (x ^ x >> 4) * 59 % 256;
}

// Block b has the b-th pattern. Lanes whose bit in `lanes` is 0 take no part. Each element that a
// lane stores is its own; what it loads others may load as well.
template <typename T, bool STORE> __global__ void mixed_banks(float* out, T value, unsigned lanes) {
    __shared__ T s[256];
    int t = threadIdx.x;
    // the second warp prepares, so that the first one does nothing but the one request
    if (t >= 32)
        for (int i = t - 32; i < 256; i += 32) s[i] = value;
    __syncthreads();  // s is written -> the first warp uses it
    if (t < 32 && lanes >> t & 1) {
        if (STORE)
            s[mixed(t)] = value;
        else
            out[32 * blockIdx.x + t] = add_up(s[mixed(t) / (1 + blockIdx.x % 3)]);
    }
    if (!STORE) return;
    __syncthreads();  // the first warp has stored -> one thread looks, or nvcc leaves the stores out
    if (t == 32) out[blockIdx.x] = add_up(s[lanes % 256]);
}

// ---- atomics -----------------------------------------------------------------------------------

// bins[8 x]++, a sector for each bin, for whole numbers x in [0, 10); the results of the atomics are not used.
__global__ void histogram(int* bins, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[8 * (int)in[i]], 1);
}

__global__ void histogram_shared(int* bins, const float* in) {
    __shared__ int own[10];
    int t = threadIdx.x;
    if (t < 10) own[t] = 0;
    __syncthreads();  // the bins are empty -> all count
    atomicAdd(&own[(int)in[blockIdx.x * blockDim.x + t]], 1);
    __syncthreads();  // all have counted -> the sums go out
    if (t < 10) atomicAdd(&bins[t], own[t]);
}

// A ticket for every thread: here the result counts.
__global__ void tickets(int* out, int* next) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = atomicAdd(&next[threadIdx.x % 16], 1);
}

__global__ void add_floats(float* sum, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sum[i % 4096], in[i]);
}

// ---- launches ----------------------------------------------------------------------------------

template <typename T> static void copies(const char* name, float* out, float* in) {
    copy_of<T><<<16, THREADS>>>((T*)out, (const T*)in);
    launched(name);
}

template <typename T, bool STORE>
static void banks(const char* all, const char* half_of_them, float* out, T value) {
    mixed_banks<T, STORE><<<64, 64>>>(out, value, 0xffffffff);
    launched(all);
    mixed_banks<T, STORE><<<64, 64>>>(out, value, 0x6b3a4d59);
    launched(half_of_them);
}

static void copy_all(float* out, float* in) {
    copies<char>("copy of char", out, in);
    copies<short>("copy of short", out, in);
    copies<half>("copy of half", out, in);
    copies<half2>("copy of half2", out, in);
    copies<uchar4>("copy of uchar4", out, in);
    copies<float2>("copy of float2", out, in);
    copies<double>("copy of double", out, in);
    copies<int4>("copy of int4", out, in);
    copies<float3>("copy of float3", out, in);
    copies<triple>("copy of a structure of three floats", out, in);
    copies<pair>("copy of a structure of two floats", out, in);
    copies<shorts>("copy of a structure of two shorts", out, in);
    load_stride_2<<<64, THREADS>>>(out, in);
    launched("load stride 2");
    store_stride_3<<<64, THREADS>>>(out, in);
    launched("store stride 3");
    store_misaligned<<<64, THREADS>>>(out, in);
    launched("store misaligned");
    halves_misaligned<<<64, 32>>>((half*)out, (half*)in);
    launched("halves misaligned");
    backwards<<<N / THREADS, THREADS>>>(out, in);
    launched("backwards");
    gather<<<N / THREADS, THREADS>>>(out, in);
    launched("gather");
    one_for_all<<<64, THREADS>>>(out, in);
    launched("one for all");
    guarded<<<4, THREADS>>>(out, in, 1001);
    launched("guarded 1001");
    every_other_lane<<<64, THREADS>>>(out, in);
    launched("every other lane");
    in_place<<<64, THREADS>>>((float4*)out);
    launched("in place");
    from_constant<<<64, THREADS>>>(out);
    launched("from constant memory");
}

int main(void) {
    float *in = filled(N), *out = filled(N);
    copy_all(out, in);
    matmul_registers<<<dim3(2, 2), THREADS>>>(out, in, in + 128 * 128, 128);
    launched("matmul 4 x 4 in registers");
    softmax<<<8, 128>>>(out, in, 1000);
    launched("softmax 32 x 1000");

    banks<unsigned char, false>("mixed banks load 1 B", "mixed banks load 1 B some lanes", out, 1);
    banks<half, false>("mixed banks load 2 B", "mixed banks load 2 B some lanes", out, half());
    banks<float, false>("mixed banks load 4 B", "mixed banks load 4 B some lanes", out, 1.0f);
    banks<float2, false>("mixed banks load 8 B", "mixed banks load 8 B some lanes", out,
                         make_float2(1, 2));
    banks<float4, false>("mixed banks load 16 B", "mixed banks load 16 B some lanes", out,
                         make_float4(1, 2, 3, 4));
    banks<unsigned char, true>("mixed banks store 1 B", "mixed banks store 1 B some lanes", out, 1);
    banks<half, true>("mixed banks store 2 B", "mixed banks store 2 B some lanes", out, half());
    banks<float, true>("mixed banks store 4 B", "mixed banks store 4 B some lanes", out, 1.0f);
    banks<float2, true>("mixed banks store 8 B", "mixed banks store 8 B some lanes", out,
                        make_float2(1, 2));
    banks<float4, true>("mixed banks store 16 B", "mixed banks store 16 B some lanes", out,
                        make_float4(1, 2, 3, 4));

    cudaMemset(out, 0, N * sizeof *out);
    histogram<<<64, THREADS>>>((int*)out, in);
    launched("histogram");
    histogram_shared<<<64, THREADS>>>((int*)out, in);
    launched("histogram in shared memory");
    tickets<<<64, THREADS>>>((int*)out, (int*)out + N / 2);
    launched("tickets");
    add_floats<<<64, THREADS>>>(out, in);
    launched("add floats");
    return 0;
}
