// cuda_runtime.h as an editor's clangd reads it, where there is no CUDA: clang takes a .cu for
// CUDA, and the CPU device's headers stand in for CUDA's (grader/make/editor.sh has the options).
// Nothing is compiled with this folder.
//
// The headers beside this one do the same as this one: what the CPU device declares may be called
// from kernels and from host code alike, so clang is told that it is for both.
#pragma once
#pragma clang force_cuda_host_device begin
#include_next <cuda_runtime.h>
#pragma clang force_cuda_host_device end

// clang makes calls of kernel<<<grid, block, shared_bytes, stream>>>(): the first, or where it
// finds no CUDA the second, an older form.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                cudaStream_t stream = 0);
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                         cudaStream_t stream = 0);

// CUDA's words as clang knows them: a kernel that calls a host function is marked.
#undef __host__
#undef __device__
#undef __global__
#undef __constant__
#undef __shared__
#undef __launch_bounds__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
