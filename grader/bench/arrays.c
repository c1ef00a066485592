// arrays.c: the arrays of one size, on the GPU.
#include "bench/arrays.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers.h"

void bench_must(int error, const char* what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString((cudaError_t)error));
    exit(2);
}

static enum device_type device_type(enum dtype dtype) {
    switch (dtype) {
    case F32:
        return DEVICE_F32;
    case F16:
        return DEVICE_F16;
    case BF16:
        return DEVICE_BF16;
    case U8:
        return DEVICE_U8;
    default:
        abort();  // nobody fills or compares such arrays
    }
}

// Memory of the GPU, or NULL with run->no_memory set.
static void* allocate(struct bench_run* run, size_t bytes, const char* what) {
    void* gpu = NULL;
    cudaError_t error = run->no_memory ? cudaErrorMemoryAllocation : cudaMalloc(&gpu, bytes);
    if (error != cudaErrorMemoryAllocation) bench_must(error, what);
    (void)cudaGetLastError();
    run->no_memory |= error == cudaErrorMemoryAllocation;
    return gpu;
}

// The whole array, in stream order.
static void copy(const struct bench_array* a, void* to, const void* from, size_t bytes) {
    if (bytes != a->bytes) {
        fprintf(stderr, "bench: %s has %zu bytes, not %zu\n", a->name, a->bytes, bytes);
        exit(2);
    }
    bench_must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, NULL), a->name);
}

// An array without contents; NULL where there is no memory for it.
static struct bench_array* add(struct bench_run* run, const char* name, enum dtype dtype,
                               int64_t count, int element, enum bench_role role) {
    if (run->count == BENCH_ARRAYS) {
        fprintf(stderr, "bench: more than %d arrays; see BENCH_ARRAYS\n", BENCH_ARRAYS);
        exit(2);
    }
    struct bench_array* a = &run->array[run->count++];
    *a = (struct bench_array){.name = name,
                              .dtype = dtype,
                              .role = role,
                              .count = count,
                              .bytes = (size_t)count * (size_t)element};
    a->gpu = allocate(run, a->bytes ? a->bytes : 1, name);
    return run->no_memory ? NULL : a;
}

void bench_input(struct bench_run* run, const char* name, enum dtype dtype, int64_t count) {
    struct bench_array* a = add(run, name, dtype, count, dtype_size(dtype), BENCH_INPUT);
    if (a) bench_must(device_fill(a->gpu, device_type(dtype), count, (uint64_t)run->count), name);
}

void bench_input_given(struct bench_run* run, const char* name, enum dtype dtype,
                       const void* elements, int64_t count) {
    struct bench_array* a = add(run, name, dtype, count, dtype_size(dtype), BENCH_INPUT);
    if (a) bench_must(cudaMemcpy(a->gpu, elements, a->bytes, cudaMemcpyHostToDevice), name);
}

void bench_output(struct bench_run* run, const char* name, enum dtype dtype, int64_t count) {
    struct bench_array* a = add(run, name, dtype, count, dtype_size(dtype), BENCH_OUTPUT);
    if (a) a->agreed_gpu = allocate(run, a->bytes, name);
}

void bench_in_place(struct bench_run* run, const char* name, enum dtype dtype, int64_t count) {
    bench_input(run, name, dtype, count);
    struct bench_array* a = &run->array[run->count - 1];
    a->role = BENCH_IN_PLACE;
    a->original_gpu = allocate(run, a->bytes, name);
    a->agreed_gpu = allocate(run, a->bytes, name);
    if (!run->no_memory) copy(a, a->original_gpu, a->gpu, a->bytes);
}

void bench_workspace(struct bench_run* run, const char* name, int64_t bytes) {
    add(run, name, F32, bytes, 1, BENCH_WORKSPACE);
}

static struct bench_array* find(const struct bench_run* run, const char* name) {
    for (int i = 0; i < run->count; i++)
        if (strcmp(run->array[i].name, name) == 0) return (struct bench_array*)&run->array[i];
    fprintf(stderr, "bench: this lesson's bench.c declares no array %s\n", name);
    exit(2);
}

void bench_each(struct bench_run* run, const char* name, double each) {
    find(run, name)->each = (float)each;
}

void* bench_gpu(const struct bench_run* run, const char* name) {
    return find(run, name)->gpu;
}

static void read_elements(const struct bench_array* a, const void* from_gpu, int64_t first,
                          int64_t stride, int64_t rows, int64_t width, double* to) {
    size_t size = (size_t)dtype_size(a->dtype), row = (size_t)width * size;
    unsigned char* bytes = malloc((size_t)rows * row);
    if (!bytes || first < 0 || first + (rows - 1) * stride + width > a->count) {
        fprintf(stderr, "bench: cannot read %lld elements of %s from %lld on\n",
                (long long)(rows * width), a->name, (long long)first);
        exit(2);
    }
    size_t pitch = rows > 1 ? (size_t)stride * size : row;  // CUDA wants at least a row
    bench_must(cudaMemcpy2D(bytes, row, (const char*)from_gpu + (size_t)first * size, pitch, row,
                            (size_t)rows, cudaMemcpyDeviceToHost),
               a->name);
    for (int64_t i = 0; i < rows * width; i++)
        to[i] = dtype_load(a->dtype, bytes + (size_t)i * size);
    free(bytes);
}

void bench_read(struct bench_run* run, const char* name, int64_t first, int64_t stride,
                int64_t rows, int64_t width, double* to) {
    const struct bench_array* a = find(run, name);
    read_elements(a, a->gpu, first, stride, rows, width, to);
}

void bench_read_original(struct bench_run* run, const char* name, int64_t first, int64_t stride,
                         int64_t rows, int64_t width, double* to) {
    const struct bench_array* a = find(run, name);
    if (!a->original_gpu) {
        fprintf(stderr, "bench: %s is no array in place\n", name);
        exit(2);
    }
    read_elements(a, a->original_gpu, first, stride, rows, width, to);
}

size_t bench_bytes(const struct bench_run* run, const char* name) {
    return find(run, name)->bytes;
}

void bench_get(const struct bench_run* run, const char* name, void* to_gpu, size_t bytes) {
    const struct bench_array* a = find(run, name);
    copy(a, to_gpu, a->original_gpu ? a->original_gpu : a->gpu, bytes);
}

void bench_put(const struct bench_run* run, const char* name, const void* from_gpu, size_t bytes) {
    const struct bench_array* a = find(run, name);
    copy(a, a->gpu, from_gpu, bytes);
}

void bench_put_agreed(const struct bench_run* run, const char* name) {
    const struct bench_array* a = find(run, name);
    copy(a, a->gpu, a->agreed_gpu, a->bytes);
}

// A linear congruential generator (Knuth's MMIX constants), its high bits.
int64_t bench_pick(struct bench_run* run, int64_t below) {
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((run->random >> 33) % (uint64_t)below);
}

void arrays_restore(const struct bench_run* run) {
    for (int i = 0; i < run->count; i++) {
        const struct bench_array* a = &run->array[i];
        if (a->role == BENCH_IN_PLACE)
            copy(a, a->gpu, a->original_gpu, a->bytes);
        else if (a->role != BENCH_INPUT)  // all ones are a NaN in every format
            bench_must(cudaMemsetAsync(a->gpu, 0xff, a->bytes, NULL), "poisoning");
    }
}

void arrays_keep(struct bench_run* run, double spread) {
    for (int i = 0; i < run->count; i++) {
        struct bench_array* a = &run->array[i];
        if (!a->agreed_gpu) continue;
        float largest = 0;
        bench_must(cudaMemcpy(a->agreed_gpu, a->gpu, a->bytes, cudaMemcpyDeviceToDevice), a->name);
        bench_must(
            device_largest((float*)run->scratch_gpu, a->gpu, device_type(a->dtype), a->count),
            a->name);
        bench_must(cudaMemcpy(&largest, run->scratch_gpu, sizeof largest, cudaMemcpyDeviceToHost),
                   a->name);
        // Bytes are equal or not.
        a->tolerance = a->each > 0 || a->dtype == U8 ? 0 : (float)spread * largest;
    }
}

void arrays_compare(const struct bench_run* run, double looser, unsigned* wrong_gpu) {
    for (int i = 0; i < run->count; i++) {
        const struct bench_array* a = &run->array[i];
        if (!a->agreed_gpu) continue;
        bench_must(device_differs(wrong_gpu, a->gpu, a->agreed_gpu, device_type(a->dtype), a->count,
                                  (float)looser * a->tolerance, (float)looser * a->each),
                   a->name);
    }
}

void arrays_free(struct bench_run* run) {
    for (int i = 0; i < run->count; i++) {
        cudaFree(run->array[i].gpu);
        cudaFree(run->array[i].original_gpu);
        cudaFree(run->array[i].agreed_gpu);
    }
    run->count = 0;
}
