// Copies and fills. Their checks turn a mixed-up pointer or a wrong length into an error and a
// sentence instead of a crash.
#include <string.h>
#include "cpu/device/any.h"
#include "cpu/device/errors.h"
#include "cpu/device/far.h"
#include "cpu/device/fault.h"
#include "cpu/device/memory.h"
#include "cpu/device/symbols.h"
#include "cpu/device/watcher.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev.h"

// The bytes [p, p + bytes) of one side of a copy. `want`: 1 device memory, 0 host memory, -1
// either.
static cudaError_t check_range(const char* function, const char* side, const void* p, size_t bytes,
                               int want) {
    if (!p) return cudev_fail(cudaErrorInvalidValue, function, "the %s is NULL", side);
    const struct allocation* a = cudev_allocation_at(p);
    bool device = cudev_is_device_address(p), symbol = cudev_is_symbol(p);
    if (symbol && bytes > 0 && !cudev_is_symbol((const char*)p + bytes - 1))
        return cudev_fail(cudaErrorInvalidValue, function,
                          "%zu bytes do not fit into the %s, a variable of the device", bytes,
                          side);
    if (want == 0 && symbol)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "the %s should be host memory, but it is a variable of the device: is "
                          "the direction right?",
                          side);
    if (want == 1 && !device && !a && !symbol && !cudev_shares(p, bytes))
        return cudev_fail(
            cudaErrorInvalidValue, function,
            "the %s should be device memory, but it is a host pointer: is the direction "
            "right, are the arguments in the order (to, from)?",
            side);
    if (want == 0 && device) {
        char where[300];
        cudev_describe_address(where, sizeof where, p);
        return cudev_fail(cudaErrorInvalidValue, function,
                          "the %s should be host memory, but it is %s: is the direction right?",
                          side, where);
    }
    if (device && !a)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "the %s is device memory that is not allocated: freed before?", side);
    if (!a) return cudaSuccess;
    ptrdiff_t offset = (const char*)p - a->data;
    if (offset >= 0 && (size_t)offset <= a->bytes && bytes <= a->bytes - (size_t)offset)
        return cudaSuccess;
    char where[300];
    cudev_describe_address(where, sizeof where, p);
    return cudev_fail(cudaErrorInvalidValue, function,
                      "%zu bytes do not fit: the %s is %s (count in bytes: n * sizeof(float)?)",
                      bytes, side, where);
}

static cudaError_t check_copy(const char* function, const void* dst, const void* src,
                              size_t dst_bytes, size_t src_bytes, enum cudaMemcpyKind kind) {
    static const int dst_wants[] = {0, 1, 0, 1, -1}, src_wants[] = {0, 0, 1, 1, -1};
    if (cudev_self)
        return cudev_fail(cudaErrorNotSupported, function,
                          "called by a kernel; kernels copy with a loop");
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudev_fail(cudaErrorInvalidMemcpyDirection, function,
                          "the direction %d does not exist", (int)kind);
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    cudaError_t error = check_range(function, "destination", dst, dst_bytes, dst_wants[kind]);
    if (error == cudaSuccess)
        error = check_range(function, "source", src, src_bytes, src_wants[kind]);
    return error;
}

// One row of a copy or a fill, somewhere in a row that lies far from others: the row nearby.
static cudaError_t find_near(const char* function, const void* p, size_t width, void** near) {
    *near = cudev_near(p, width);
    if (*near) return cudaSuccess;
    return cudev_fail(cudaErrorInvalidValue, function,
                      "%zu bytes are not in a row of the array: nothing lies between rows", width);
}

// One row of a copy.
static void move(void* dst, const void* src, size_t bytes) {
    const size_t end = cudev_only_ends(bytes) ? CUDEV_END : bytes, rest = bytes - end;
    memmove(dst, src, end);
    if (rest) memmove((char*)dst + rest, (const char*)src + rest, end);
}

static void set(void* p, int byte, size_t bytes) {
    const size_t end = cudev_only_ends(bytes) ? CUDEV_END : bytes, rest = bytes - end;
    memset(p, byte, end);
    if (rest) memset((char*)p + rest, byte, end);
}

static cudaError_t copy(const char* function, void* dst, size_t dst_pitch, const void* src,
                        size_t src_pitch, size_t width, size_t height, enum cudaMemcpyKind kind);

static cudaError_t copy_far(const char* function, void* dst, size_t dst_pitch, const void* src,
                            size_t src_pitch, size_t width, size_t height,
                            enum cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; row++) {
        void *to, *from;
        error = find_near(function, (char*)dst + row * dst_pitch, width, &to);
        if (error == cudaSuccess)
            error = find_near(function, (const char*)src + row * src_pitch, width, &from);
        if (error == cudaSuccess) error = copy(function, to, width, from, width, width, 1, kind);
    }
    return error;
}

static cudaError_t copy(const char* function, void* dst, size_t dst_pitch, const void* src,
                        size_t src_pitch, size_t width, size_t height, enum cudaMemcpyKind kind) {
    if (width == 0 || height == 0) return cudaSuccess;
    if (cudev_is_far(dst) || cudev_is_far(src))
        return copy_far(function, dst, dst_pitch, src, src_pitch, width, height, kind);
    if (width > dst_pitch || width > src_pitch)  // even of a single row, as on a GPU
        return cudev_fail(cudaErrorInvalidValue, function,
                          "a row of %zu bytes is longer than the pitch", width);
    cudaError_t error = check_copy(function, dst, src, (height - 1) * dst_pitch + width,
                                   (height - 1) * src_pitch + width, kind);
    if (error != cudaSuccess) return error;
    cudev_launches_ended();
    cudev_lock();
    cudev_memory_open();
    for (size_t row = 0; cudev_watcher && row < height; row++)
        cudev_watcher->copies(function, (char*)dst + row * dst_pitch,
                              (const char*)src + row * src_pitch, width);
    cudev_copying = function;
    for (size_t row = 0; row < height; row++)
        move((char*)dst + row * dst_pitch, (const char*)src + row * src_pitch, width);
    cudev_copying = NULL;
    bool to_device = cudev_is_device_address(dst) || cudev_is_symbol(dst);
    bool from_device = cudev_is_device_address(src) || cudev_is_symbol(src);
    cudev_count_copy(to_device && !from_device ? width * height : 0,
                     from_device && !to_device ? width * height : 0);
    cudev_memory_close();
    cudev_unlock();
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, enum cudaMemcpyKind kind) {
    return copy("cudaMemcpy", dst, bytes, src, bytes, bytes, 1, kind);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    (void)stream;
    return copy("cudaMemcpyAsync", dst, bytes, src, bytes, bytes, 1, kind);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                         size_t width_bytes, size_t height, enum cudaMemcpyKind kind) {
    return copy("cudaMemcpy2D", dst, dst_pitch, src, src_pitch, width_bytes, height, kind);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                              size_t width_bytes, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
    (void)stream;
    return copy("cudaMemcpy2DAsync", dst, dst_pitch, src, src_pitch, width_bytes, height, kind);
}

// ---- boxes

// The first byte of a box at pos in memory of layers; or NULL, and the error in *error.
static char* box_at(const char* function, const char* side, struct cudaPitchedPtr p,
                    struct cudaPos pos, struct cudaExtent box, cudaError_t* error) {
    *error = cudaSuccess;
    if (!p.ptr)
        *error = cudev_fail(cudaErrorInvalidValue, function, "the %s is NULL", side);
    else if (pos.x + box.width > p.pitch)
        *error = cudev_fail(cudaErrorInvalidPitchValue, function,
                            "%zu bytes of a row from byte %zu on are longer than the pitch of the "
                            "%s, %zu bytes",
                            box.width, pos.x, side, p.pitch);
    else if (box.depth + pos.z > 1 && pos.y + box.height > p.ysize)
        *error = cudev_fail(cudaErrorInvalidValue, function,
                            "rows %zu to %zu are not in a layer of the %s, which has %zu (ysize)",
                            pos.y, pos.y + box.height - 1, side, p.ysize);
    if (*error != cudaSuccess) return NULL;
    return (char*)p.ptr + (pos.z * p.ysize + pos.y) * p.pitch + pos.x;
}

// An array takes the place of the memory beside it; positions and widths are elements then.
static bool use_array(const struct cudaArray* array, struct cudaPitchedPtr* p, struct cudaPos* pos,
                      size_t* element) {
    if (!array) return true;
    if (!cudev_any_array) return false;
    *p = cudev_any_array(array, element);
    pos->x *= *element;
    return true;
}

static cudaError_t copy_box(const char* function, const struct cudaMemcpy3DParms* given) {
    if (!given) return cudev_null(function);
    struct cudaMemcpy3DParms parameters = *given, *c = &parameters;
    size_t element = 1;
    if (!use_array(c->srcArray, &c->srcPtr, &c->srcPos, &element) ||
        !use_array(c->dstArray, &c->dstPtr, &c->dstPos, &element))
        return cudev_fail(cudaErrorNotSupported, function, "there are no arrays for textures");
    struct cudaExtent box = c->extent;
    box.width *= element;
    cudaError_t error = cudaSuccess;
    if (box.width == 0 || box.height == 0 || box.depth == 0) return error;
    char* to = box_at(function, "destination", c->dstPtr, c->dstPos, box, &error);
    if (!to) return error;
    const char* from = box_at(function, "source", c->srcPtr, c->srcPos, box, &error);
    if (!from) return error;
    for (size_t z = 0; z < box.depth && error == cudaSuccess; z++)
        error = copy(function, to + z * c->dstPtr.ysize * c->dstPtr.pitch, c->dstPtr.pitch,
                     from + z * c->srcPtr.ysize * c->srcPtr.pitch, c->srcPtr.pitch, box.width,
                     box.height, c->kind);
    return error;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* parameters) {
    return copy_box("cudaMemcpy3D", parameters);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    (void)stream;
    return copy_box("cudaMemcpy3DAsync", parameters);
}

// ---- fills

static cudaError_t fill(const char* function, void* p, size_t pitch, int byte, size_t width,
                        size_t height) {
    if (width == 0 || height == 0) return cudaSuccess;
    for (size_t row = 0; cudev_is_far(p) && row < height; row++) {
        void* to;
        cudaError_t error = find_near(function, (char*)p + row * pitch, width, &to);
        if (error == cudaSuccess) error = fill(function, to, width, byte, width, 1);
        if (error != cudaSuccess || row + 1 == height) return error;
    }
    if (height > 1 && width > pitch)
        return cudev_fail(cudaErrorInvalidPitchValue, function,
                          "a row of %zu bytes is longer than the pitch", width);
    if (cudev_self) return cudev_fail(cudaErrorNotSupported, function, "called by a kernel");
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    cudaError_t error = check_range(function, "destination", p, (height - 1) * pitch + width, 1);
    if (error != cudaSuccess) return error;
    cudev_launches_ended();
    cudev_lock();
    cudev_memory_open();
    for (size_t row = 0; cudev_watcher && row < height; row++)
        cudev_watcher->copies(function, (char*)p + row * pitch, NULL, width);
    for (size_t row = 0; row < height; row++) set((char*)p + row * pitch, byte, width);
    cudev_memory_close();
    cudev_unlock();
    return cudaSuccess;
}

cudaError_t cudaMemset(void* p, int byte, size_t bytes) {
    return fill("cudaMemset", p, bytes, byte, bytes, 1);
}

cudaError_t cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return fill("cudaMemsetAsync", p, bytes, byte, bytes, 1);
}

cudaError_t cudaMemset2D(void* p, size_t pitch, int byte, size_t width_bytes, size_t height) {
    return fill("cudaMemset2D", p, pitch, byte, width_bytes, height);
}

cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width_bytes, size_t height,
                              cudaStream_t stream) {
    (void)stream;
    return fill("cudaMemset2DAsync", p, pitch, byte, width_bytes, height);
}

static cudaError_t fill_box(const char* function, struct cudaPitchedPtr p, int byte,
                            struct cudaExtent box) {
    cudaError_t error = cudaSuccess;
    if (box.width == 0 || box.height == 0 || box.depth == 0) return error;
    char* to = box_at(function, "destination", p, (struct cudaPos){0, 0, 0}, box, &error);
    for (size_t z = 0; to && z < box.depth && error == cudaSuccess; z++)
        error = fill(function, to + z * p.ysize * p.pitch, p.pitch, byte, box.width, box.height);
    return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int byte, struct cudaExtent extent) {
    return fill_box("cudaMemset3D", p, byte, extent);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int byte, struct cudaExtent extent,
                              cudaStream_t stream) {
    (void)stream;
    return fill_box("cudaMemset3DAsync", p, byte, extent);
}

// ---- symbols

static cudaError_t no_symbol(const char* function, const void* symbol) {
    return cudev_fail(cudaErrorInvalidSymbol, function,
                      "the symbol is %s, not a __device__ or "
                      "__constant__ variable",
                      cudev_is_device_address(symbol) ? "memory behind a pointer"
                                                      : "a variable of the host");
}

cudaError_t cudev_symbol_address(void** p, const void* symbol) {
    if (!p) return cudev_fail(cudaErrorInvalidValue, "cudaGetSymbolAddress", "the pointer is NULL");
    *p = NULL;
    if (!cudev_is_symbol(symbol) && !cudev_shares(symbol, 1))
        return no_symbol("cudaGetSymbolAddress", symbol);
    *p = (void*)(uintptr_t)symbol;
    return cudaSuccess;
}

// A copy between memory and `bytes` bytes of a variable from byte `offset` on. usual: the kind that
// is not between two places of the device.
static cudaError_t copy_symbol(const char* function, bool to_symbol, void* symbol,
                               size_t symbol_bytes, void* other, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
    const enum cudaMemcpyKind usual = to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    if (kind != usual && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudev_fail(cudaErrorInvalidMemcpyDirection, function, "this copies %s the device",
                          to_symbol ? "to" : "from");
    if (!cudev_is_symbol(symbol) && !cudev_shares(symbol, symbol_bytes))
        return no_symbol(function, symbol);
    if (to_symbol && cudev_symbol_at(symbol).fixed)
        return cudev_fail(cudaErrorInvalidSymbol, function, "the variable is const");
    if (offset > symbol_bytes || bytes > symbol_bytes - offset)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "%zu bytes from byte %zu on do not fit: the variable has %zu bytes",
                          bytes, offset, symbol_bytes);
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    int wants = kind == usual ? 0 : kind == cudaMemcpyDefault ? -1 : 1;
    cudaError_t error = check_range(function, "other side", other, bytes, wants);
    if (error != cudaSuccess) return error;
    void* part = (char*)symbol + offset;
    void *dst = to_symbol ? part : other, *src = to_symbol ? other : part;
    cudev_lock();
    cudev_memory_open();
    cudev_launches_ended();
    if (cudev_watcher) cudev_watcher->copies("cudaMemcpy of a symbol", dst, src, bytes);
    memmove(dst, src, bytes);
    cudev_memory_close();
    cudev_unlock();
    size_t crossed = cudev_is_device_address(other) || cudev_is_symbol(other) ? 0 : bytes;
    cudev_count_copy(to_symbol ? crossed : 0, to_symbol ? 0 : crossed);
    return cudaSuccess;
}

cudaError_t cudev_to_symbol(void* symbol, size_t symbol_bytes, const void* src, size_t bytes,
                            size_t offset, enum cudaMemcpyKind kind) {
    return copy_symbol("cudaMemcpyToSymbol", true, symbol, symbol_bytes, (void*)(uintptr_t)src,
                       bytes, offset, kind);
}

cudaError_t cudev_from_symbol(void* dst, const void* symbol, size_t symbol_bytes, size_t bytes,
                              size_t offset, enum cudaMemcpyKind kind) {
    return copy_symbol("cudaMemcpyFromSymbol", false, (void*)(uintptr_t)symbol, symbol_bytes, dst,
                       bytes, offset, kind);
}
