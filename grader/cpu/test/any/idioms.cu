// runs with -Ifolder folder/host.cpp
// Programs out there do this, and no lesson does.
#ifndef __DRIVER_TYPES_H__
#error CUDA's headers say that they are here
#endif
#include <scale.cuh>
#include <stdio.h>
#include "test.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma nv_diag_suppress 177
#pragma omp parallel for
#pragma GCC diagnostic pop

static const char* text = R"(a raw "string"
over two lines, with <<< and __shared__ in it)";

template <typename T>
void check(T result, char const* const function, const char* const file, int const line) {
    if (!result) return;
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\"\n", file, line,
            static_cast<unsigned int>(result), cudaGetErrorName((cudaError_t)result), function);
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(value) check((value), #value, __FILE__, __LINE__)

// The dynamic shared memory of a template, by a type that depends on it.
template <class T> struct dynamic {
    __device__ inline operator T*() {
        extern __shared__ int memory[];
        return (T*)memory;
    }
};
template <class T> __global__ void reversed(T* p) {
    T* s = dynamic<T>();
    s[threadIdx.x] = p[threadIdx.x];
    assert(threadIdx.x < blockDim.x);
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
template <class T> __global__ void reversed_too(T* p) {
    extern __shared__ T own[];
    own[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = own[blockDim.x - 1 - threadIdx.x];
}
__global__ void asserts(int n) {
    assert(threadIdx.x < (unsigned)n && "too many threads");
}

// The header's kernel shares its name with this function.
static void scale(int* p, int n, int threads) {
    scale<int><<<1, threads, threads * sizeof(int)>>>(p, n);
}

// A constant whose value is a product is no variable.
constexpr int ROWS = 3, COLUMNS = 5, CELLS = ROWS * COLUMNS;
const int TWICE = 2 * CELLS;
template <int n> __global__ void add_constants(int* p) {
    *p += n + CELLS + TWICE;
}

// Launches as some formatters leave them, which nvcc takes.
// clang-format off
template <class T> struct box { T x; };
static void launches_apart(int* p) {
    add_constants<1> << <1, 1 >> > (p);
    add_constants<2><< <dim3(box<box<int>>{}.x.x + 1), 1,
        0 >> >(p);
    add_constants<4><<<1, 1>> >(p);
}
// clang-format on

static void zeros(int* p) {
    for (int i = 0; i < 64; i++) checkCudaErrors(cudaMemset(p + i, 0, 4));
    add_maybe<true><<<1, 64>>>(p, 0, 3);
    add_maybe<false><<<1, 64>>>(p, NULL, 0);
    add_maybe<false><<<1, 64>>>(p, p, 0);
    add_plainly<<<1, 64>>>(p, 0, 1);
    add_plainly<<<1, 64>>>(p, NULL, 0);
    void (*kernel)(int*, const int*, long) = add_plainly;
    kernel<<<1, 64>>>(p, 0, 0);
    CHECK(int_at(p, 7) == 13);
    set_to<<<1, 64>>>(p, 8, 0);
    CHECK(int_at(p, 7) == 0 && int_at(p, 8) == 13);
    windows<64><<<1, 64>>>(p);
    CHECK(int_at(p, 7) == 4 && int_at(p, 8) == 17);
    for (int n : {1, 2}) CHECK(n < 3);
    shares_of_file<<<1, 64>>>(p);
    CHECK(int_at(p, 1) == 8 + 3 * 62 + 63);
}

static int calls;
static void CUDART_CB called(cudaStream_t, cudaError_t status, void* data) {
    calls += status == cudaSuccess ? *(int*)data : 100;
}

int host_factor(int* devices);

static void streams() {
    enum { N = 1 << 12, STREAMS = 3 };
    float *host, *p;
    checkCudaErrors(cudaHostAlloc(&host, N * sizeof(float), cudaHostAllocDefault));
    checkCudaErrors(cudaMalloc(&p, N * sizeof(float)));
    for (int i = 0; i < N; i++) host[i] = (float)i;
    const float offsets[2] = {0, 1};
    checkCudaErrors(cudaMemcpyToSymbol(offset, offsets, sizeof offsets));
    cudaStream_t stream[STREAMS];
    cudaEvent_t start, stop;
    int one = 1, part = N / STREAMS;
    checkCudaErrors(cudaEventCreate(&start));
    checkCudaErrors(cudaEventCreate(&stop, cudaEventBlockingSync));
    checkCudaErrors(cudaEventRecord(start));
    for (int s = 0; s < STREAMS; s++) {
        int first = s * part, n = s == STREAMS - 1 ? N - first : part;
        checkCudaErrors(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        checkCudaErrors(cudaMemcpyAsync(p + first, host + first, n * sizeof(float),
                                        cudaMemcpyHostToDevice, stream[s]));
        scale<float><<<(n + 127) / 128, 128, 128 * sizeof(float), stream[s]>>>(p + first, n);
        checkCudaErrors(cudaMemcpyAsync(host + first, p + first, n * sizeof(float),
                                        cudaMemcpyDeviceToHost, stream[s]));
        checkCudaErrors(cudaStreamAddCallback(stream[s], called, &one, 0));
    }
    checkCudaErrors(cudaEventRecord(stop));
    checkCudaErrors(cudaEventSynchronize(stop));
    float ms = -1;
    checkCudaErrors(cudaEventElapsedTime(&ms, start, stop));
    CHECK(ms >= 0 && calls == STREAMS);
    for (int i = 0; i < N; i++) CHECK(host[i] == 3 * i + 1);
}

int main() {
    streams();
    int devices = 0, blocks = 0, grid = 0, block = 0;
    CHECK(host_factor(&devices) == 3 && devices == 1);
    CHECK(strlen(text) == 60);
    checkCudaErrors(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reversed<int>, 256, 0));
    checkCudaErrors(cudaOccupancyMaxPotentialBlockSize(&grid, &block, reversed<double>));
    CHECK(blocks > 0 && grid > 0 && block > 0);
    int* p = new_ints(64, 0);
    for (int i = 0; i < 64; i++) checkCudaErrors(cudaMemcpy(p + i, &i, 4, cudaMemcpyHostToDevice));
    reversed<<<1, 64, 64 * sizeof(int)>>>(p);
    CHECK(int_at(p, 0) == 63);
    scale(p, 0, 64);
    LAUNCH(scale, 1, 64, 64 * sizeof(int), p, 0);
    reversed_too<int><<<1, 64, 64 * sizeof(int)>>>(p);
    CHECK(int_at(p, 0) == 0);
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.unifiedAddressing && !properties.cooperativeLaunch);
    zeros(p);
    checkCudaErrors(cudaMemset(p, 0, 4));
    launches_apart(p);
    CHECK(cudaThreadSynchronize() == cudaSuccess && int_at(p, 0) == 7 + 3 * 45);
    asserts<<<1, 64>>>(60);
    CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
    return failures != 0;
}
