// device.cu: random data, and the comparison of whole outputs, on the GPU.
#include "bench/device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

enum { THREADS = 256, MAX_BLOCKS = 4096 };

static unsigned blocks_for(int64_t count) {
    int64_t blocks = (count + THREADS - 1) / THREADS;
    return (unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}

inline __device__ float load(const void* x, enum device_type type, int64_t i) {
    if (type == DEVICE_F16) return __half2float(((const __half*)x)[i]);
    if (type == DEVICE_BF16) return __bfloat162float(((const __nv_bfloat16*)x)[i]);
    if (type == DEVICE_U8) {
        const unsigned char byte = ((const unsigned char*)x)[i];
        return byte == 0xff ? NAN : (float)byte;
    }
    return ((const float*)x)[i];
}

// A 64-bit mixing function (the finaliser of SplitMix64): neighbouring inputs, unrelated outputs.
inline __device__ uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// x_i = sqrt(-2 ln u) cos(2 pi v), u and v uniform                              (Box and Muller)
__global__ void fill_kernel(void* x, enum device_type type, int64_t count, uint64_t seed) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        uint64_t bits = mix(mix(seed) + (uint64_t)i);
        float u = ((float)(uint32_t)(bits >> 40) + 0.5f) * 0x1p-24f;  // (0, 1)
        float v = (float)(uint32_t)(bits & 0xffffff) * 0x1p-24f;      // [0, 1)
        float normal = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
        if (type == DEVICE_F16)
            ((__half*)x)[i] = __float2half(normal);
        else if (type == DEVICE_BF16)
            ((__nv_bfloat16*)x)[i] = __float2bfloat16(normal);
        else
            ((float*)x)[i] = normal;
    }
}

__global__ void differs_kernel(unsigned* wrong, const void* x, const void* y, enum device_type type,
                               int64_t count, float tolerance, float each) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    unsigned found = 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float a = load(x, type, i), b = load(y, type, i);
        float allowed = tolerance + each * fminf(fabsf(a), fabsf(b));  // finite unless both are not
        found += !(a == b || fabsf(a - b) <= allowed);                 // NaN is neither
    }
    if (found) atomicAdd(wrong, found);
}

__global__ void largest_kernel(float* largest, const void* x, enum device_type type,
                               int64_t count) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    float most = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float a = fabsf(load(x, type, i));
        if (isfinite(a)) most = fmaxf(most, a);
    }
    // Not negative, so the order of the floats is the order of their bits.
    atomicMax((unsigned*)largest, __float_as_uint(most));
}

extern "C" int device_fill(void* x_gpu, enum device_type type, int64_t count, uint64_t seed) {
    fill_kernel<<<blocks_for(count), THREADS>>>(x_gpu, type, count, seed);
    return cudaGetLastError();
}

extern "C" int device_differs(unsigned* wrong_gpu, const void* x_gpu, const void* y_gpu,
                              enum device_type type, int64_t count, float tolerance, float each) {
    differs_kernel<<<blocks_for(count), THREADS>>>(wrong_gpu, x_gpu, y_gpu, type, count, tolerance,
                                                   each);
    return cudaGetLastError();
}

extern "C" int device_largest(float* largest_gpu, const void* x_gpu, enum device_type type,
                              int64_t count) {
    cudaError_t error = cudaMemsetAsync(largest_gpu, 0, sizeof(float));
    if (error != cudaSuccess) return error;
    largest_kernel<<<blocks_for(count), THREADS>>>(largest_gpu, x_gpu, type, count);
    return cudaGetLastError();
}
