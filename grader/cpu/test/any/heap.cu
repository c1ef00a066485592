// runs
// malloc, free, new and delete of kernels; objects with virtual functions.
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include "test.h"

struct node {
    int value;
    node* next;
};
__device__ node* lists[64];

__global__ void push(int values) {
    for (int i = 0; i < values; i++) {
        int value = (int)threadIdx.x + i;
        node* n = value % 2 ? new node : (node*)malloc(sizeof(node));
        n->value = value;
        n->next = lists[threadIdx.x];
        lists[threadIdx.x] = n;
    }
}
__global__ void pop(int* sums) {
    int sum = 0;
    while (node* n = lists[threadIdx.x]) {
        sum += n->value;
        lists[threadIdx.x] = n->next;
        if (n->value % 2)
            delete n;
        else
            free(n);
    }
    sums[threadIdx.x] = sum;
}
__global__ void fill(void** kept, int bytes) {
    char* all = new char[bytes];
    for (int i = 0; i < bytes; i++) all[i] = (char)i;
    *kept = all;
}
__global__ void read_kept(const char* kept, int* out, int at) {
    *out = kept[at];
    delete[] kept;
}
__global__ void exhaust(int* got) {
    void* p = malloc(1 << 20);
    *got = p != nullptr;
    if (p) free(p);
    if (malloc((size_t)1 << 40)) *got = 2;
    free(nullptr);
}

struct shape {
    float side;
    __device__ shape(float side) : side(side) {}
    __device__ virtual float area() const {
        return side;
    }
    __device__ virtual ~shape() {}
};
struct square : shape {
    __device__ square(float side) : shape(side) {}
    __device__ float area() const override {
        return side * side;
    }
};
__global__ void make_shapes(void* memory, shape** shapes) {
    void* at = (char*)memory + threadIdx.x * sizeof(square);
    if (threadIdx.x % 2)
        shapes[threadIdx.x] = new (at) square((float)threadIdx.x);
    else
        shapes[threadIdx.x] = new shape((float)threadIdx.x);
}
__global__ void areas(shape** shapes, float* out) {
    out[threadIdx.x] = shapes[threadIdx.x]->area();
    if (threadIdx.x % 2 == 0) delete shapes[threadIdx.x];
}

int main() {
    size_t bytes = 0;
    CHECK_CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    CHECK_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    CHECK(bytes == 4 << 20);
    int* sums = new_ints(64, -1);
    for (int round = 0; round < 200; round++) {  // what is freed is there again
        push<<<1, 64>>>(20);
        pop<<<1, 64>>>(sums);
    }
    CHECK(int_at(sums, 5) == 20 * 5 + 190);

    void **kept, *there;
    CHECK_CUDA(cudaMalloc(&kept, sizeof *kept));
    fill<<<1, 1>>>(kept, 1000);
    CHECK_CUDA(cudaMemcpy(&there, kept, sizeof there, cudaMemcpyDeviceToHost));
    int copy = 0;
    CHECK(cudaMemcpy(&copy, there, 4, cudaMemcpyDeviceToHost) != cudaSuccess);
    CHECK(cudaFree(there) != cudaSuccess);
    cudaGetLastError();
    read_kept<<<1, 1>>>((const char*)there, sums, 99);
    CHECK(int_at(sums, 0) == 99);
    exhaust<<<1, 1>>>(sums);
    CHECK(int_at(sums, 0) == 1);

    shape** shapes;
    void* memory;
    float *out, areas_of[32];
    CHECK_CUDA(cudaMalloc(&shapes, 32 * sizeof *shapes));
    CHECK_CUDA(cudaMalloc(&memory, 32 * sizeof(square)));
    CHECK_CUDA(cudaMalloc(&out, sizeof areas_of));
    make_shapes<<<1, 32>>>(memory, shapes);
    areas<<<1, 32>>>(shapes, out);
    CHECK_CUDA(cudaMemcpy(areas_of, out, sizeof areas_of, cudaMemcpyDeviceToHost));
    CHECK(areas_of[6] == 6 && areas_of[7] == 49);

    // the host's own are as ever
    int* host = new int[4];
    node* one = new node{3, nullptr};
    void* plain = malloc(100);
    free(realloc(plain, 1000));
    host[3] = one->value;
    CHECK(host[3] == 3);
    delete one;
    delete[] host;
    return failures != 0;
}
