// finds: nothing
// Counted beside traffic: how deep a thread's local variables go, which static variables
// kernels use, and how much shared memory a block has.
#include <cudev.h>
#include <stdio.h>
#include "small.h"

__device__ float table[1000];
__device__ float other[1000];

template <int N> __global__ void row(float* x, int n) {
    float s[N];
    for (int i = 0; i < n; i++) s[i] = x[i];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum = 0.5f * sum + s[i];
    x[n + threadIdx.x] = sum;
}

__device__ __noinline__ float deep(const float* x, int n) {
    float mine[8];
    for (int i = 0; i < 8; i++) mine[i] = x[i] * n;
    float below = n ? deep(x, n - 1) : 0.0f;
    return below + mine[n % 8];
}

__global__ void recursive(float* x, int n) {
    x[64 + threadIdx.x] = deep(x, n);
}

__global__ void statics(float* x, int n) {
    int i = threadIdx.x;
    if (i < n) table[i] = x[i];
    if (i < n) x[64 + i] = table[i] + other[10 * i];
}

__global__ void shared(float* x) {
    __shared__ float a[100];
    __shared__ float b[20];
    extern __shared__ float c[];
    a[threadIdx.x] = b[threadIdx.x % 20] = c[threadIdx.x] = x[threadIdx.x];
}

static int failures;

static void between(const char* what, unsigned long long got, unsigned long long least,
                    unsigned long long most) {
    if (got >= least && got <= most) return;
    printf("%s: %llu, expected %llu to %llu\n", what, got, least, most);
    failures++;
}

static struct cudev_traffic traffic() {
    struct cudev_traffic t;
    cudev_get_traffic(&t);
    cudev_reset_traffic();
    return t;
}

int main() {
    float* x = filled(256);
    row<64><<<1, 64>>>(x, 64);
    between("64 numbers", traffic().local_bytes_per_thread, 256, 256 + 256);
    row<4096><<<1, 64>>>(x, 64);
    between("4096 numbers", traffic().local_bytes_per_thread, 16384, 16384 + 256);
    row<64><<<1, 64>>>(x, 64);
    between("64 numbers again", traffic().local_bytes_per_thread, 256, 256 + 256);
    recursive<<<1, 64>>>(x, 50);
    between("50 calls", traffic().local_bytes_per_thread, 51 * 32, 51 * 160);
    statics<<<1, 64>>>(x, 50);
    between("static variables", traffic().static_bytes, 50 * 4 + 50 * 4, 50 * 4 + 50 * 4);
    shared<<<3, 16, 4 * 30>>>(x);
    shared<<<1, 16, 4 * 16>>>(x);
    between("shared memory", traffic().shared_bytes_per_block, 4 * 150, 4 * 150);
    row<64><<<1, 64>>>(x, 64);
    between("none of it", traffic().shared_bytes_per_block, 0, 0);
    return failures;
}
