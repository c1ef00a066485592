// meter.c: what the launcher does with the CUDA runtime. See meter.h.
//
// With the linker's --wrap=f calls of f arrive at __wrap_f, and __real_f is the runtime's own. The
// list of --wrap options is in run/wrapped.
#include "run/meter.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "run/vault.h"

// Declares __real_f, and begins the definition of __wrap_f.
#define WRAP(f, parameters)            \
    cudaError_t __real_##f parameters; \
    cudaError_t __wrap_##f parameters

enum { ALLOCATIONS = 256 };

// All that is counted, in the vault.
static _Alignas(VAULT_PAGE) union {
    struct {
        struct {
            void* address;
            size_t bytes;
        } live[ALLOCATIONS];
        bool on, ghost;
        bool fails;  // some call does
        char failing[32];
        int calls_left;  // until the call that fails; 0: none fails
        struct meter meter;
    };
    char pages[2 * VAULT_PAGE];
} book;
_Static_assert(sizeof book == 2 * VAULT_PAGE, "whole pages");

void meter_start(const char* fail_call, int fail_at, bool as_ghost) {
    static bool added;
    if (!added) vault_add(&book, sizeof book);
    added = true;
    vault_open();
    strncpy(book.failing, fail_call, sizeof book.failing - 1);
    book.calls_left = fail_at;
    book.fails = fail_at > 0;
    memset(book.live, 0, sizeof book.live);
    memset(&book.meter, 0, sizeof book.meter);
    book.ghost = as_ghost;
    book.on = true;
    vault_close();
}

struct meter meter_stop(void) {
    vault_open();
    for (int i = 0; i < ALLOCATIONS; i++) book.meter.leaked += (int64_t)book.live[i].bytes;
    book.on = false;
    struct meter meter = book.meter;
    vault_close();
    return meter;
}

static bool fails_now(const char* function) {
    vault_open();
    bool fails = book.on && book.calls_left > 0 && strcmp(function, book.failing) == 0 &&
                 --book.calls_left == 0;
    vault_close();
    return fails;
}

// ---- device memory

static void note_allocation(void* address, size_t bytes) {
    vault_open();
    int i = 0;
    while (i < ALLOCATIONS && book.live[i].bytes) i++;
    if (book.on && i < ALLOCATIONS) {
        book.live[i].address = address;
        book.live[i].bytes = bytes;
    }
    int64_t now = 0;
    for (i = 0; i < ALLOCATIONS; i++) now += (int64_t)book.live[i].bytes;
    if (book.on && now > book.meter.allocated) book.meter.allocated = now;
    vault_close();
}

WRAP(cudaMalloc, (void** address, size_t bytes)) {
    if (fails_now("cudaMalloc")) return cudaErrorMemoryAllocation;
    cudaError_t error = __real_cudaMalloc(address, bytes);
    if (error == cudaSuccess) note_allocation(*address, bytes);
    return error;
}

#ifdef CPU_DEVICE  // where a .cu calls cudaMalloc(), the CPU device notes the line as well
WRAP(cudev_malloc_at, (void** address, size_t bytes, const char* file, int line)) {
    if (fails_now("cudaMalloc")) return cudaErrorMemoryAllocation;
    cudaError_t error = __real_cudev_malloc_at(address, bytes, file, line);
    if (error == cudaSuccess) note_allocation(*address, bytes);
    return error;
}
#endif

WRAP(cudaMallocAsync, (void** address, size_t bytes, cudaStream_t stream)) {
    if (fails_now("cudaMalloc")) return cudaErrorMemoryAllocation;
    cudaError_t error = __real_cudaMallocAsync(address, bytes, stream);
    if (error == cudaSuccess) note_allocation(*address, bytes);
    return error;
}

WRAP(cudaMallocPitch, (void** address, size_t* pitch, size_t width, size_t height)) {
    if (fails_now("cudaMalloc")) return cudaErrorMemoryAllocation;
    cudaError_t error = __real_cudaMallocPitch(address, pitch, width, height);
    if (error == cudaSuccess) note_allocation(*address, *pitch * height);
    return error;
}

static void note_free(const void* address) {
    vault_open();
    for (int i = 0; address && i < ALLOCATIONS; i++)
        if (book.live[i].bytes && book.live[i].address == address) book.live[i].bytes = 0;
    vault_close();
}

WRAP(cudaFree, (void* address)) {
    note_free(address);
    return __real_cudaFree(address);
}

WRAP(cudaFreeAsync, (void* address, cudaStream_t stream)) {
    note_free(address);
    return __real_cudaFreeAsync(address, stream);
}

// ---- copies to the host

// With cudaMemcpyDefault the pointers decide the direction.
static bool is_device_memory(const void* to) {
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, to) == cudaSuccess && a.type == cudaMemoryTypeDevice;
}

static void note_to_host(const void* to, size_t bytes, enum cudaMemcpyKind kind) {
    bool to_host =
        kind == cudaMemcpyDeviceToHost || (kind == cudaMemcpyDefault && !is_device_memory(to));
    vault_open();
    if (book.on && to_host) book.meter.to_host += (int64_t)bytes;
    vault_close();
}

// Memory that the host reaches without a copy.
static void note_mapped(size_t bytes) {
    note_to_host(NULL, bytes, cudaMemcpyDeviceToHost);
}

WRAP(cudaMemcpy, (void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return cudaErrorInvalidValue;
    note_to_host(to, bytes, kind);
    return __real_cudaMemcpy(to, from, bytes, kind);
}

WRAP(cudaMemcpyAsync,
     (void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)) {
    note_to_host(to, bytes, kind);
    return __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

WRAP(cudaMemcpy2D, (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, enum cudaMemcpyKind kind)) {
    note_to_host(to, width * height, kind);
    return __real_cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

WRAP(cudaMemcpy2DAsync,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream)) {
    note_to_host(to, width * height, kind);
    return __real_cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

#ifdef CPU_DEVICE  // there the copy from a symbol is a template that calls this function
WRAP(cudev_from_symbol, (void* to, const void* symbol, size_t symbol_bytes, size_t bytes,
                         size_t offset, enum cudaMemcpyKind kind)) {
    note_to_host(to, bytes, kind);
    return __real_cudev_from_symbol(to, symbol, symbol_bytes, bytes, offset, kind);
}
#else
WRAP(cudaMemcpyFromSymbol,
     (void* to, const void* symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)) {
    note_to_host(to, bytes, kind);
    return __real_cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
#endif

WRAP(cudaMallocManaged, (void** address, size_t bytes, unsigned flags)) {
    note_mapped(bytes);
    return __real_cudaMallocManaged(address, bytes, flags);
}

WRAP(cudaMallocHost, (void** address, size_t bytes)) {
    note_mapped(bytes);
    return __real_cudaMallocHost(address, bytes);
}

WRAP(cudaHostAlloc, (void** address, size_t bytes, unsigned flags)) {
    note_mapped(bytes);
    return __real_cudaHostAlloc(address, bytes, flags);
}

// ---- launches

enum launch { RUNS, RUNS_NOT, FAILS };

// Behind a launch that was made to fail no kernel runs: what it would read may not be there.
static enum launch next_launch(void) {
    bool fails = fails_now("launch");
    vault_open();
    bool failed = strcmp(book.failing, "launch") == 0 && book.fails && book.calls_left == 0;
    bool runs = !(book.on && (book.ghost || failed));
    book.meter.launches += book.on;
    vault_close();
    return fails ? FAILS : runs ? RUNS : RUNS_NOT;
}

#ifdef CPU_DEVICE
#include "cudev/abi.h"

cudaError_t cudev_error(cudaError_t error);  // the CPU device's: cudaGetLastError() will tell it
int __real_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body);
int __wrap_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body) {
    enum launch l = next_launch();
    if (l == FAILS) return (int)cudev_error(cudaErrorLaunchOutOfResources);
    return l == RUNS ? __real_cudev_launch(site, run, body) : cudaSuccess;
}
#else
static const dim3 no_threads = {0, 1, 1};  // of a block: the runtime refuses it, and remembers that

// nvcc replaces <<<>>> by cudaLaunchKernel() itself up to CUDA 12, by this function since CUDA 13.
WRAP(cudaLaunchKernel, (const void* kernel, dim3 grid, dim3 block, void** arguments,
                        size_t shared_bytes, cudaStream_t stream)) {
    enum launch l = next_launch();
    if (l == FAILS) block = no_threads;
    if (l == RUNS_NOT) return cudaSuccess;
    return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

#if CUDART_VERSION >= 13000
WRAP(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                          size_t shared_bytes, cudaStream_t stream)) {
    enum launch l = next_launch();
    if (l == FAILS) block = no_threads;
    if (l == RUNS_NOT) return cudaSuccess;
    return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
#endif
#endif
