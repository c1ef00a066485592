// meter.c: what the launcher does with the CUDA runtime. See meter.h.
//
// With the linker's --wrap=f calls of f arrive at __wrap_f, and __real_f is the runtime's own. The
// list of --wrap options is in run/wrapped.
#include "run/meter.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/include/cudev.h"
#include "run/copy.h"
#include "run/handed.h"
#include "run/host.h"
#include "run/origin.h"
#include "run/vault.h"

// Declares __real_f, and begins the definition of __wrap_f.
#define WRAP(f, parameters)            \
    cudaError_t __real_##f parameters; \
    cudaError_t __wrap_##f parameters

enum { WHOLE_COPIES = 16 };  // of arrays on the device, in a round
enum { QUESTIONS = 8 };      // whether a launch has ended, each of another launch

// The launcher's allocations that are not freed: a table for more than a process can have.
enum { ALLOCATIONS = 1 << 20 };

struct live {
    void* address;
    uint64_t bytes : 63, shared : 1;  // shared: both sides reach it
};

// All that is counted, in the vault.
static struct {
    struct live* live;
    size_t live_count;
    int64_t allocated;  // device memory, now
    int64_t shared;     // memory that both sides reach, now
    int whole_copies;   // on the device
    bool on;
    bool fails;  // some call does
    char failing[32];
    int calls_left;    // until the call that fails; 0: none fails
    int64_t asked_at;  // so many launches there were when the launcher asked whether all is done
    int asked;         // so often it asked
    struct meter meter;
}* const book = (void*)vault.book;
_Static_assert(sizeof *book <= sizeof vault.book, "a page");

void meter_start(const char* fail_call, int fail_at) {
    vault_open();
    if (!book->live) book->live = vault_memory(ALLOCATIONS * sizeof *book->live);
    strncpy(book->failing, fail_call, sizeof book->failing - 1);
    book->calls_left = fail_at;
    book->fails = fail_at > 0;
    book->live_count = 0;
    book->whole_copies = 0;
    book->asked_at = book->asked = 0;
    book->allocated = 0;
    book->shared = 0;
    memset(&book->meter, 0, sizeof book->meter);
    book->on = true;
    vault_close();
}

struct meter meter_stop(void) {
    vault_open();
    book->meter.leaked = book->allocated + book->shared;
    book->on = false;
    const struct handed handed = handed_stop();
    book->meter.own = handed.own;
    book->meter.sent = handed.sent;
    book->meter.back = handed.back;
    struct meter meter = book->meter;
    vault_close();
    return meter;
}

static bool fails_now(const char* function) {
    vault_open();
    bool fails = book->on && book->calls_left > 0 && strcmp(function, book->failing) == 0 &&
                 --book->calls_left == 0;
    book->meter.failed |= fails;
    vault_close();
    return fails;
}

// A call that is made to fail. As of every call that fails, cudaGetLastError() will tell it.
#ifdef CPU_DEVICE
cudaError_t cudev_error(cudaError_t error);
static cudaError_t refused(cudaError_t error) {
    return cudev_error(error);
}
#else
cudaError_t __real_cudaMalloc(void** address, size_t bytes);
static cudaError_t refused(cudaError_t error) {
    (void)__real_cudaMalloc(NULL, 1);  // refused as well, and the runtime remembers that
    return error;
}
#endif

// ---- what a launcher asks the runtime, or sets, before it launches

WRAP(cudaGetDevice, (int* device)) {
    return fails_now("query") ? refused(cudaErrorUnknown) : __real_cudaGetDevice(device);
}
static void note_asked(int device) {
    int current = device;
    (void)__real_cudaGetDevice(&current);
    vault_open();
    book->meter.asked_elsewhere |= book->on && device != current;
    vault_close();
}

WRAP(cudaDeviceGetAttribute, (int* value, enum cudaDeviceAttr attribute, int device)) {
    note_asked(device);
    return fails_now("query") ? refused(cudaErrorUnknown)
                              : __real_cudaDeviceGetAttribute(value, attribute, device);
}
WRAP(cudaFuncSetAttribute, (const void* kernel, enum cudaFuncAttribute attribute, int value)) {
    return fails_now("query") ? refused(cudaErrorUnknown)
                              : __real_cudaFuncSetAttribute(kernel, attribute, value);
}
WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
     (int* blocks, const void* kernel, int threads, size_t bytes)) {
    return fails_now("query") ? refused(cudaErrorUnknown)
                              : __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                    blocks, kernel, threads, bytes);
}
WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int* blocks, const void* kernel, int threads, size_t bytes, unsigned flags)) {
    return fails_now("query") ? refused(cudaErrorUnknown)
                              : __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                                    blocks, kernel, threads, bytes, flags);
}

#if defined CPU_DEVICE || CUDART_VERSION >= 13000  // CUDA 12 has another name for it
WRAP(cudaGetDeviceProperties, (struct cudaDeviceProp * properties, int device)) {
    note_asked(device);
    return fails_now("query") ? refused(cudaErrorUnknown)
                              : __real_cudaGetDeviceProperties(properties, device);
}
#endif

// ---- memory

// Is there room to note one more allocation? A launcher that has a million of them gets no memory.
static bool has_room(void) {
    vault_open();
    bool room = !book->on || book->live_count < ALLOCATIONS;
    vault_close();
    if (!room)
        fprintf(stderr, "cudaMalloc: %d allocations are not freed: the grader follows no more\n",
                ALLOCATIONS);
    return room;
}

static cudaError_t noted(cudaError_t error, void* address, size_t bytes, bool shared) {
    vault_open();
    if (book->on && shared) book->meter.mapped += (int64_t)bytes;
    if (book->on && error == cudaSuccess && bytes > 0 && book->live_count < ALLOCATIONS) {
        book->live[book->live_count++] = (struct live){address, bytes, shared};
        *(shared ? &book->shared : &book->allocated) += (int64_t)bytes;
        if (shared) book->meter.to_host += (int64_t)bytes;
        if (shared) handed_room(bytes);
        if (book->allocated > book->meter.allocated) book->meter.allocated = book->allocated;
    }
    if (book->on && error == cudaErrorMemoryAllocation && !shared && bytes <= INT64_MAX / 2 &&
        book->allocated + (int64_t)bytes > book->meter.allocated)
        book->meter.allocated = book->allocated + (int64_t)bytes;
    vault_close();
    return error;
}

void meter_note_host(size_t bytes) {
    vault_open();
    if (book->on) book->meter.mapped += (int64_t)bytes;
    vault_close();
}

static void note_free(const void* address) {
    vault_open();
    size_t i = book->live_count;
    while (i > 0 && book->live[i - 1].address != address) i--;
    if (address && i > 0) {
        struct live* l = &book->live[i - 1];
        *(l->shared ? &book->shared : &book->allocated) -= (int64_t)l->bytes;
        *l = book->live[--book->live_count];
    }
    vault_close();
}

WRAP(cudaMalloc, (void** address, size_t bytes)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaMalloc(address, bytes);
    return noted(error, address ? *address : NULL, bytes, false);
}

#ifdef CPU_DEVICE  // where a .cu calls cudaMalloc(), the CPU device notes the line as well
WRAP(cudev_malloc_at, (void** address, size_t bytes, const char* file, int line)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudev_malloc_at(address, bytes, file, line);
    return noted(error, address ? *address : NULL, bytes, false);
}
#endif

WRAP(cudaMallocAsync, (void** address, size_t bytes, cudaStream_t stream)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaMallocAsync(address, bytes, stream);
    return noted(error, address ? *address : NULL, bytes, false);
}

WRAP(cudaMallocPitch, (void** address, size_t* pitch, size_t width, size_t height)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaMallocPitch(address, pitch, width, height);
    return noted(error, address ? *address : NULL, pitch ? *pitch * height : 0, false);
}

// Memory that the host reaches without a copy.
WRAP(cudaMallocManaged, (void** address, size_t bytes, unsigned flags)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaMallocManaged(address, bytes, flags);
    return noted(error, address ? *address : NULL, bytes, true);
}

WRAP(cudaMallocHost, (void** address, size_t bytes)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaMallocHost(address, bytes);
    return noted(error, address ? *address : NULL, bytes, true);
}

WRAP(cudaHostAlloc, (void** address, size_t bytes, unsigned flags)) {
    if (fails_now("cudaMalloc") || !has_room()) return refused(cudaErrorMemoryAllocation);
    cudaError_t error = __real_cudaHostAlloc(address, bytes, flags);
    return noted(error, address ? *address : NULL, bytes, true);
}

WRAP(cudaFree, (void* address)) {
    note_free(address);
    return __real_cudaFree(address);
}

WRAP(cudaFreeAsync, (void* address, cudaStream_t stream)) {
    note_free(address);
    return __real_cudaFreeAsync(address, stream);
}

WRAP(cudaFreeHost, (void* address)) {
    note_free(address);
    return __real_cudaFreeHost(address);
}

// ---- waiting: waits.c tells of it

cudaError_t __real_cudaDeviceSynchronize(void);

void meter_note_wait(void) {
    vault_open();
    book->meter.waits += book->on;
    book->asked_at = book->meter.launches;
    vault_close();
}

bool meter_note_query(void) {
    vault_open();
    bool first = book->on && book->asked_at != book->meter.launches;
    bool again = book->on && book->meter.launches > 0 && (!first || ++book->asked > QUESTIONS);
    book->meter.waits += again;
    book->asked_at = book->meter.launches;
    vault_close();
    return first;
}

// ---- copies and fills

// A copy that is about to be made.
static struct copy sending(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind) {
    struct copy c = {to, to_pitch, from, from_pitch, width, height, kind, from, from_pitch};
    const bool leaves = direction(&c) == cudaMemcpyHostToDevice && !is_device_memory(c.from);
    vault_open();
    if (book->on && leaves) c.sent = handed_rows(c.from, &c.sent_pitch, c.width, c.height);
    vault_close();
    return c;
}

static bool counts_words(void) {
    vault_open();
    bool counts = book->on && origin_counts_words();
    vault_close();
    return counts;
}

// Does the copy move bytes on the device as a kernel should? A few whole arrays, kept in memory of
// the launcher's own, are no result.
static bool does_kernels_work(const struct copy* c) {
    bool whole = c->height == 1 || (c->to_pitch == c->width && c->from_pitch == c->width);
    bool to_output = origin_is_output(c->to, (c->height - 1) * c->to_pitch + c->width);
    return !whole || to_output || ++book->whole_copies > WHOLE_COPIES;
}

// Notes the words of a copy: of a large one the ends alone are made in some cases.
static void note_row(void (*note)(void* to, const void* from, size_t bytes), void* to,
                     const void* from, size_t bytes) {
#ifdef CPU_DEVICE
    if (cudev_only_ends(bytes)) {
        const size_t rest = bytes - CUDEV_END;
        note(to, from, CUDEV_END);
        note((char*)to + rest, (const char*)from + rest, CUDEV_END);
        return;
    }
#endif
    note(to, from, bytes);
}

static void note_written(void* to, const void* from, size_t bytes) {
    origin_written(to, from, bytes);
}

static void note_brought(void* to, const void* from, size_t bytes) {
    (void)from;
    origin_brought(to, bytes);
}

// Notes a copy that was made.
static cudaError_t copied(cudaError_t error, struct copy c) {
    enum cudaMemcpyKind way = direction(&c);
    handed_free(c.sent, c.from, c.width * c.height);
    if (error != cudaSuccess || c.width == 0 || c.height == 0) return error;
    // what arrives is looked at: it has to be there
    if (way == cudaMemcpyDeviceToHost && counts_words()) (void)__real_cudaDeviceSynchronize();
    vault_open();
    if (book->on && way == cudaMemcpyHostToDevice) {
        book->meter.to_device += (int64_t)(c.width * c.height);
        handed_copy(c.from, c.from_pitch, c.width, c.height);
    }
    if (book->on && way == cudaMemcpyDeviceToHost) {
        book->meter.to_host += (int64_t)(c.width * c.height);
        handed_back(c.width * c.height);
    }
    if (book->on && way == cudaMemcpyDeviceToDevice) {
        handed_call(0);
        book->meter.copied += (int64_t)(c.width * c.height);
        if (does_kernels_work(&c)) book->meter.on_device += (int64_t)(c.width * c.height);
    }
    for (size_t row = 0; book->on && row < c.height; row++) {
        char* to = (char*)c.to + row * c.to_pitch;
        const char* from = (const char*)c.from + row * c.from_pitch;
        if (way == cudaMemcpyHostToDevice) note_row(note_written, to, from, c.width);
        if (way == cudaMemcpyDeviceToHost) note_row(note_brought, to, from, c.width);
    }
    vault_close();
    return error;
}

WRAP(cudaMemcpy, (void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = sending(to, bytes, from, bytes, bytes, 1, kind);
    return copied(__real_cudaMemcpy(to, c.sent, bytes, kind), c);
}

WRAP(cudaMemcpyAsync,
     (void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = sending(to, bytes, from, bytes, bytes, 1, kind);
    return copied(__real_cudaMemcpyAsync(to, c.sent, bytes, kind, stream), c);
}

WRAP(cudaMemcpy2D, (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = sending(to, to_pitch, from, from_pitch, width, height, kind);
    return copied(__real_cudaMemcpy2D(to, to_pitch, c.sent, c.sent_pitch, width, height, kind), c);
}

WRAP(cudaMemcpy2DAsync,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = sending(to, to_pitch, from, from_pitch, width, height, kind);
    return copied(
        __real_cudaMemcpy2DAsync(to, to_pitch, c.sent, c.sent_pitch, width, height, kind, stream),
        c);
}

// Copies of symbols. On the CPU device they are templates that call these functions.
#ifdef CPU_DEVICE
WRAP(cudev_from_symbol, (void* to, const void* symbol, size_t symbol_bytes, size_t bytes,
                         size_t offset, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    return copied(__real_cudev_from_symbol(to, symbol, symbol_bytes, bytes, offset, kind),
                  sending(to, bytes, symbol, bytes, bytes, 1, kind));
}

WRAP(cudev_to_symbol, (void* symbol, size_t symbol_bytes, const void* from, size_t bytes,
                       size_t offset, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = sending(symbol, bytes, from, bytes, bytes, 1, kind);
    return copied(__real_cudev_to_symbol(symbol, symbol_bytes, c.sent, bytes, offset, kind), c);
}
#else
// The address of a symbol on the host is not that of the variable: what the kind does not say, the
// other side does.
static enum cudaMemcpyKind with_symbol(enum cudaMemcpyKind kind, const void* other,
                                       bool to_symbol) {
    if (kind != cudaMemcpyDefault) return kind;
    if (is_device_memory(other)) return cudaMemcpyDeviceToDevice;
    return to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
}

static struct copy to_symbol(const void* symbol, const void* from, size_t bytes,
                             enum cudaMemcpyKind kind) {
    return sending((void*)symbol, bytes, from, bytes, bytes, 1, with_symbol(kind, from, true));
}

WRAP(cudaMemcpyFromSymbol,
     (void* to, const void* symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    return copied(__real_cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind),
                  sending(to, bytes, symbol, bytes, bytes, 1, with_symbol(kind, to, false)));
}

WRAP(cudaMemcpyToSymbol, (const void* symbol, const void* from, size_t bytes, size_t offset,
                          enum cudaMemcpyKind kind)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = to_symbol(symbol, from, bytes, kind);
    return copied(__real_cudaMemcpyToSymbol(symbol, c.sent, bytes, offset, kind), c);
}

WRAP(cudaMemcpyFromSymbolAsync, (void* to, const void* symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind, cudaStream_t stream)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    return copied(__real_cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, stream),
                  sending(to, bytes, symbol, bytes, bytes, 1, with_symbol(kind, to, false)));
}

WRAP(cudaMemcpyToSymbolAsync, (const void* symbol, const void* from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind, cudaStream_t stream)) {
    if (fails_now("cudaMemcpy")) return refused(cudaErrorInvalidValue);
    const struct copy c = to_symbol(symbol, from, bytes, kind);
    return copied(__real_cudaMemcpyToSymbolAsync(symbol, c.sent, bytes, offset, kind, stream), c);
}
#endif

static cudaError_t filled(cudaError_t error, void* to, size_t pitch, int byte, size_t width,
                          size_t height) {
    vault_open();
    for (size_t row = 0; book->on && error == cudaSuccess && row < height; row++)
        origin_filled((char*)to + row * pitch, byte, width);
    if (book->on && error == cudaSuccess) book->meter.filled += (int64_t)(width * height);
    if (book->on) handed_call(0);
    vault_close();
    return error;
}

WRAP(cudaMemset, (void* to, int byte, size_t bytes)) {
    return filled(__real_cudaMemset(to, byte, bytes), to, bytes, byte, bytes, 1);
}

WRAP(cudaMemsetAsync, (void* to, int byte, size_t bytes, cudaStream_t stream)) {
    return filled(__real_cudaMemsetAsync(to, byte, bytes, stream), to, bytes, byte, bytes, 1);
}

WRAP(cudaMemset2D, (void* to, size_t pitch, int byte, size_t width, size_t height)) {
    return filled(__real_cudaMemset2D(to, pitch, byte, width, height), to, pitch, byte, width,
                  height);
}

WRAP(cudaMemset2DAsync,
     (void* to, size_t pitch, int byte, size_t width, size_t height, cudaStream_t stream)) {
    return filled(__real_cudaMemset2DAsync(to, pitch, byte, width, height, stream), to, pitch, byte,
                  width, height);
}

// ---- launches

enum launch { RUNS, RUNS_NOT, FAILS };

// Memory that both sides reach, before a launch and after it.
static void look_at_shared(void (*look)(void* shared, size_t bytes)) {
    if (!counts_words()) return;
    (void)__real_cudaDeviceSynchronize();
    vault_open();
    for (size_t i = 0; i < book->live_count; i++)
        if (book->live[i].shared) look(book->live[i].address, book->live[i].bytes);
    vault_close();
}

static void before_launch(void* shared, size_t bytes) {
    origin_before_launch(shared, bytes);
    handed_before_launch(shared, bytes);
}

static void after_launch(void* shared, size_t bytes) {
    handed_after_launch(shared, bytes);
    origin_after_launch(shared, bytes);
}

// In the book, which is open.
static void add_grid(dim3 grid) {
    const int64_t blocks = (int64_t)grid.x * grid.y * grid.z;
    book->meter.blocks += blocks;
    if (blocks > book->meter.largest_grid) book->meter.largest_grid = blocks;
    if ((int32_t)grid.y > book->meter.grid_y) book->meter.grid_y = (int32_t)grid.y;
    if ((int32_t)grid.z > book->meter.grid_z) book->meter.grid_z = (int32_t)grid.z;
}

// Where a launch is made to fail, no kernel runs. bytes: of its arguments.
static enum launch next_launch(dim3 grid, size_t bytes) {
    bool fails = fails_now("launch");
    vault_open();
    bool failing = book->on && strcmp(book->failing, "launch") == 0 && book->fails;
    book->meter.launches += fails || (failing && book->calls_left > 0);
    if (fails)
        book->meter.blocks = book->meter.largest_grid =
            0;  // those from here on tell whether the launcher goes on
    if (failing && !fails) add_grid(grid);
    if (book->on) handed_launch(bytes);
    vault_close();
    if (!failing) look_at_shared(before_launch);
    return fails ? FAILS : failing ? RUNS_NOT : RUNS;
}

// The default stream is NULL or 1 (cudaStreamLegacy). 2 is cudaStreamPerThread, another stream.
static cudaError_t launched(cudaError_t error, dim3 grid, const void* stream) {
    if (error != cudaSuccess) look_at_shared(handed_after_launch);
    if (error != cudaSuccess) return error;
    vault_open();
    book->meter.launches += book->on;
    book->meter.elsewhere += book->on && (uintptr_t)stream > 1;
    if (book->on) add_grid(grid);
    vault_close();
    look_at_shared(after_launch);
    return error;
}

#ifdef CPU_DEVICE
#include "cudev/abi.h"

int __real_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                        size_t bytes);
int __wrap_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                        size_t bytes) {
    const dim3 grid = {site->grid[0], site->grid[1], site->grid[2]};
    enum launch l = next_launch(grid, bytes);
    if (l == FAILS) return (int)cudev_error(cudaErrorLaunchOutOfResources);
    if (l == RUNS_NOT) return cudaSuccess;
    return (int)launched((cudaError_t)host_launch(__real_cudev_launch, site, run, body, bytes),
                         grid, site->stream);
}
#else
enum { MOST_ARGUMENTS = 4096 };  // bytes: the runtime does not tell how many there are

static const dim3 no_threads = {0, 1, 1};  // of a block: the runtime refuses it, and remembers that

// How the launch shall go on.
static enum launch begin_launch(dim3 grid, dim3* block) {
    enum launch l = next_launch(grid, MOST_ARGUMENTS);
    if (l == FAILS) *block = no_threads;
    return l;
}

#if CUDART_VERSION >= 12050
// hopper.h asks for the driver's function that encodes a tensor map: it touches no memory of the
// device. The driver's other functions would allocate, copy and launch past this file.
WRAP(cudaGetDriverEntryPointByVersion,
     (const char* name, void** function, unsigned version, unsigned long long flags,
      enum cudaDriverEntryPointQueryResult* found)) {
    if (strcmp(name, "cuTensorMapEncodeTiled") != 0) return cudaErrorNotSupported;
    return __real_cudaGetDriverEntryPointByVersion(name, function, version, flags, found);
}
#endif

// nvcc replaces <<<>>> by cudaLaunchKernel() itself up to CUDA 12, by this function since CUDA 13.
WRAP(cudaLaunchKernel, (const void* kernel, dim3 grid, dim3 block, void** arguments,
                        size_t shared_bytes, cudaStream_t stream)) {
    if (begin_launch(grid, &block) == RUNS_NOT) return cudaSuccess;
    return launched(__real_cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream),
                    grid, stream);
}

// cudaLaunchKernelEx() calls this one.
WRAP(cudaLaunchKernelExC,
     (const cudaLaunchConfig_t* config, const void* kernel, void** arguments)) {
    cudaLaunchConfig_t own = *config;
    if (begin_launch(own.gridDim, &own.blockDim) == RUNS_NOT) return cudaSuccess;
    return launched(__real_cudaLaunchKernelExC(&own, kernel, arguments), own.gridDim, own.stream);
}

#if CUDART_VERSION >= 13000
WRAP(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                          size_t shared_bytes, cudaStream_t stream)) {
    if (begin_launch(grid, &block) == RUNS_NOT) return cudaSuccess;
    return launched(__real___cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream),
                    grid, stream);
}
#endif
#endif
