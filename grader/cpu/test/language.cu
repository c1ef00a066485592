// The forms that CUDA C source takes: launches, qualifiers, shared memory.
#include "test.h"
#include <string.h>

#define BLOCKS(n, size) (((n) + (size)-1) / (size))
#define LAUNCH(kernel, ...) kernel<<<1, 32>>>(__VA_ARGS__)
#define LAUNCH_TWICE(kernel, p)           \
    do {                                  \
        kernel<<<1, 32>>>(p);             \
        kernel<<<dim3(1), dim3(32)>>>(p); \
    } while (0)

#define WHOLE int
__global__ void add_one(WHOLE* p) {
    if (threadIdx.x == 0) *p += 1;
}

template <class T, int n> __global__ void add_n(T* p, T unused = T(0)) {
    if (threadIdx.x == 0) *p += n;
}

template <class A, class B> struct pair {
    A a;
    B b;
};
template <class P> __global__ void add_pair(int* p, P pair) {
    if (threadIdx.x == 0) *p += pair.a + (int)pair.b;
}

namespace inner {
__global__ void add_two(int* p) {
    if (threadIdx.x == 0) *p += 2;
}
__device__ int two() {
    return 2;
}
}  // namespace inner
namespace same = inner;
__global__ void add_two_more(int* p) {
    if (threadIdx.x == 0) *p += same::two();
}

template <int n> __global__ void add_constant(int* p) {
    if (threadIdx.x == 0) *p += n;
}
template <> __global__ void add_constant<4>(int* p) {
    if (threadIdx.x == 0) *p += 400;
}
template __global__ void add_constant<5>(int* p);

// A constant whose value is a product is a constant all the same.
constexpr int ROWS = 3, CELLS = ROWS * ROWS;
const int TWICE = 2 * CELLS;
struct link {
    int value;
    const link* next;
};
__global__ void condition_declares(int* p) {
    link last = {CELLS, nullptr}, first = {TWICE, &last};
    const link* l = &first;
    while (const link* at = l) {
        if (at->value != 3) *p += at->value;
        l = at->next;
    }
    int left = 2;
    while (int n = left) left = n - 1, *p += 100;
}

template <int n> static int launch_from_template(int* p) {
    add_constant<n><<<1, 32>>>(p);
    return 32;
}

__device__ __noinline__ int not_inlined(int x) {
    return x + 1;
}

extern "C" __global__ void __launch_bounds__(32, 1) no_arguments() {
    not_inlined(1);
}

static __global__ __launch_bounds__(32) void add_three(int* __restrict__ p) {
    if (threadIdx.x == 0) *p += 3;
}

// clang-format off
static void launches(void) {
    int* p = new_ints(1, 0);
    const char* text = "a string with <<< and >>> and __shared__ in it";  // and a comment: <<<
    /* k<<<1>>>(p) is not a launch here */
    add_one<<<1, 32>>>(p);
    add_one <<< 1, 32 >>> (p);
    add_n<int, 5><<<1, 32>>>(p);
    add_n<int, (7 > 3 ? 7 : 0)><<<1, 32, 0>>>(p, 0);
    add_pair<pair<int, float>><<<1, 32>>>(p, pair<int, float>{1, 2.0f});
    inner::add_two<<<BLOCKS(100, 256), 32, 0, 0>>>(p);
    add_two_more<<<1, 32>>>(p);
    ::add_three<<<
        dim3(1, 1, 1),  // blocks
        32
    >>>(
        p
    );
    LAUNCH(add_one, p);
    LAUNCH_TWICE(add_one, p);
    void (*chosen)(int*) = text[0] == 'a' ? add_one : inner::add_two;
    chosen<<<1, 32>>>(p);
    static void (*kept[2])(int*);
    kept[text[0] == 'a'] = text[0] == 'a' ? add_one : inner::add_two;
    kept[1]<<<1, 32>>>(p);
    static void (*one)(int*);
    if (!one) one = kept[1];
    one<<<1, 32>>>(p);
    static decltype(&inner::add_two) third = inner::add_two;
    third<<<1, 32>>>(p);
    (text[0] == 'a' ? add_one : inner::add_two)<<<1, 32>>>(p);
    for (int i = 0; i < 2; i++) add_one<<<1, 32>>>(p);
    no_arguments<<<1, launch_from_template<4>(p)>>>();  // launches while it is configured
    add_pair<<<1, launch_from_template<5>(p)>>>(p, pair<int, int>{1, launch_from_template<6>(p) - 32});
    CHECK(int_at(p, 0) == 1 + 1 + 5 + 7 + 3 + 2 + 2 + 3 + 1 + 2 + 1 + 1 + 1 + 1 + 2 + 2 + 412);
    void* args[] = {&p};
    CHECK_CUDA(cudaLaunchKernel(add_one, dim3(1), dim3(32), args, 0, 0));
    CHECK(int_at(p, 0) == 448);
    CHECK(strstr(text, "<<< and >>>") && __LINE__ == 124);
    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = 32;
    CHECK_CUDA(cudaLaunchKernelEx(&config, add_one, p));
    CHECK_CUDA(cudaLaunchKernelEx(&config, chosen, p));
    cudaError_t error = cudaLaunchKernelEx(&config, add_n<int, 5>, p, 0);
    CHECK_CUDA(error);
    error = cudaLaunchKernelEx(&config, add_pair<pair<int, float>>, p, pair<int, float>{1, 2.0f});
    CHECK_CUDA(error);
    CHECK_CUDA(cudaLaunchKernelExC(&config, (const void*)add_one, args));
    int before = int_at(p, 0);
    condition_declares<<<1, 1>>>(p);
    CHECK(int_at(p, 0) == before + 27 + 200);
    cudaFree(p);
}
// clang-format on

// Every thread sees its own index in a grid of three dimensions.
__global__ void indices(int* seen) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    seen[block * blockDim.x * blockDim.y * blockDim.z + thread] += thread + 1;
}

static void grids(void) {
    const int blocks = 2 * 3 * 4, threads = 5 * 6 * 7;
    int* seen = new_ints(blocks * threads, 0);
    indices<<<dim3(2, 3, 4), dim3(5, 6, 7)>>>(seen);
    int wrong = 0;
    int* host = (int*)malloc(blocks * threads * sizeof(int));
    cudaMemcpy(host, seen, blocks * threads * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < blocks * threads; i++) wrong += host[i] != i % threads + 1;
    CHECK(wrong == 0);
    free(host);
    cudaFree(seen);
}

typedef float row_t[4];
extern __shared__ int at_file_scope[];

template <int N, class T> __device__ T reversed(const T* in) {
    __shared__ T copy[N];
    copy[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    T result = copy[N - 1 - threadIdx.x];
    __syncthreads();
    return result;
}

__global__ void shared_forms(int* out, int n) {
    __shared__ int a[1 << 2][16 >> 1 == 8 ? 8 : 0], b[32], *pointer;
    static __shared__ volatile int total;
    __shared__ __align__(128) unsigned char bytes[64];
    alignas(64) __shared__ row_t rows[2];
    __shared__ struct { int x, y; } both;
    __shared__ pair<int, float> mixed[3];
    extern __shared__ float dynamic[];
    int i = threadIdx.x;
    a[i / 8][i % 8] = i;
    b[i] = 100 + i;
    if (i == 0) {
        pointer = b;
        total = sizeof(a) + sizeof b;
        both.x = 3;
        both.y = 4;
        rows[1][3] = 5.0f;
        mixed[2].a = 6;
        bytes[63] = 7;
    }
    dynamic[i] = (float)i;
    __syncthreads();
    for (int k = 0; k < n; k++) {
        __shared__ int in_loop[32];
        in_loop[i] = dynamic[31 - i];
        __syncthreads();
        out[i] = a[i / 8][i % 8] + pointer[31 - i] + in_loop[31 - i];
        __syncthreads();
    }
    out[i] += reversed<32>(b) - reversed<32, int>(b);
    if (i == 0) {
        out[32] = total;
        out[33] = both.x + both.y + (int)rows[1][3] + mixed[2].a + bytes[63];
        out[34] = (unsigned long long)bytes % 128 == 0 && (unsigned long long)rows % 64 == 0;
        out[35] = at_file_scope == (int*)dynamic && at_file_scope[1] == 0x3f800000;
    }
}

// Fresh for each block, and NaN until written.
__global__ void untouched(int* out) {
    __shared__ float once[8];
    extern __shared__ float dynamic[];
    out[blockIdx.x] = isnan(once[3]) && isnan(dynamic[5]);
    once[3] = dynamic[5] = 1.0f;
}

static void shared_memory(void) {
    int* out = new_ints(36, 0);
    shared_forms<<<1, 32, 32 * sizeof(float)>>>(out, 2);
    int wrong = 0;
    for (int i = 0; i < 32; i++) wrong += int_at(out, i) != i + 131 - i + i;
    CHECK(wrong == 0);
    CHECK(int_at(out, 32) == 256);
    CHECK(int_at(out, 33) == 25);
    CHECK(int_at(out, 34) == 1);
    CHECK(int_at(out, 35) == 1);
    untouched<<<16, 1, 64>>>(out);
    for (int i = 0; i < 16; i++) CHECK(int_at(out, i) == 1);
    cudaFree(out);
}

__device__ int counter = 40;
__constant__ float table[4];
__device__ float result;
__device__ __forceinline__ int twice(int x) {
    return 2 * x;
}
__host__ __device__ inline int both_sides(int x) {
    return x + 1;
}
__global__ void variables(float* out) {
    counter += twice(both_sides(0));
    out[0] = table[0] + table[3];
}

static void symbols(void) {
    float values[4] = {1, 2, 3, 4}, sum = 0, *out, *address;
    int count = 0;
    size_t size = 0;
    CHECK_CUDA(cudaMemcpyToSymbol(table, values, sizeof values));
    CHECK_CUDA(cudaMalloc(&out, sizeof(float)));
    variables<<<1, 1>>>(out);
    CHECK_CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK_CUDA(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(count == 42 && sum == 5.0f);
    CHECK_CUDA(cudaGetSymbolAddress((void**)&address, result));
    CHECK_CUDA(cudaGetSymbolSize(&size, table));
    CHECK(size == sizeof table);
    variables<<<1, 1>>>(address);
    CHECK_CUDA(cudaMemcpyFromSymbol(&sum, result, sizeof sum));
    CHECK(sum == 5.0f);
    CHECK(cudaMemcpyToSymbol(table, values, 32) == cudaErrorInvalidValue);
    cudaFree(out);
}

// A kernel's parameters are the thread's own.
__global__ void own_parameters(int n, int* out) {
    n += threadIdx.x;
    out[threadIdx.x] = n;
}

// A < in a parameter's default value is no bracket.
__global__ void with_default(int* out, int less = 1 < 2) {
    out[threadIdx.x] += less;
}

// A kernel and a function of the host with one name.
__global__ void same_name(int* p, int value) {
    p[threadIdx.x] = value;
}
static void same_name(int* p, int value, int threads) {
    same_name<<<1, threads>>>(p, value);
}

// Two beginnings, one end: the braces of one of them count.
#ifdef CUDEV_NEVER
static bool braces_of_both(int n) {
    if (n > 0) {
#else
static bool braces_of_both(int n) {
    if (n >= 0) {
#endif
        return true;
    }
    return false;
}

int main(void) {
    CHECK(braces_of_both(0));
    launches();
    grids();
    shared_memory();
    symbols();
    int* out = new_ints(4, 0);
    own_parameters<<<1, 4>>>(10, out);
    for (int i = 0; i < 4; i++) CHECK(int_at(out, i) == 10 + i);
    with_default<<<1, 4>>>(out);
    for (int i = 0; i < 4; i++) CHECK(int_at(out, i) == 11 + i);
    same_name(out, 8, 4);
    CHECK(int_at(out, 3) == 8);
    cudaFree(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);  // the one provoked above
    return failures != 0;
}
