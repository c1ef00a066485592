// The part of the runtime API that graded files do not have: arrays, textures, memory of the host
// that kernels reach, hints, several devices. Plain C. Every function returns cudaSuccess or an
// error, with a sentence on stderr, as those of cuda_runtime_api.h do.
#ifndef CUDEV_ANY_API_H
#define CUDEV_ANY_API_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- memory of the host that kernels reach ----

#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04
#define cudaHostAllocWriteCombined 0x04
#define cudaDeviceBlockingSync cudaDeviceScheduleBlockingSync
// The bytes [p, p + bytes) of the program may be read and written by kernels, until they are
// unregistered. Races on them are not looked for.
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* p);
cudaError_t cudaHostGetFlags(unsigned* flags, void* p);

// ---- hints: they are checked, and change nothing ----

#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly = 2,
    cudaMemAdviseSetPreferredLocation = 3,
    cudaMemAdviseUnsetPreferredLocation = 4,
    cudaMemAdviseSetAccessedBy = 5,
    cudaMemAdviseUnsetAccessedBy = 6
};
cudaError_t cudaMemPrefetchAsync(const void* p, size_t bytes, int device,
                                 cudaStream_t stream CUDEV_DEFAULT(0));
cudaError_t cudaMemAdvise(const void* p, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* p, size_t bytes CUDEV_DEFAULT(0),
                                     unsigned flags CUDEV_DEFAULT(cudaMemAttachSingle));
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

// ---- names that CUDA had before version 4, and up to version 12 ----

static inline cudaError_t cudaThreadSynchronize(void) {
    return cudaDeviceSynchronize();
}
static inline cudaError_t cudaThreadExit(void) {
    return cudaDeviceReset();
}
static inline cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
static inline cudaError_t cudaThreadGetLimit(size_t* value, enum cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}
static inline cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache cache) {
    return cudaDeviceSetCacheConfig(cache);
}
static inline cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache* cache) {
    return cudaDeviceGetCacheConfig(cache);
}

// ---- several devices: there is one ----

cudaError_t cudaMemcpyPeer(void* dst, int to_device, const void* src, int from_device,
                           size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* dst, int to_device, const void* src, int from_device,
                                size_t bytes, cudaStream_t stream CUDEV_DEFAULT(0));
cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int device);
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device);

// ---- arrays: what textures and surfaces show. A row is as long as its elements. ----

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
// Bits of each channel, 0: there is none.
struct cudaChannelFormatDesc {
    int x, y, z, w;
    enum cudaChannelFormatKind f;
};
typedef struct cudaArray* cudaArray_t;
typedef const struct cudaArray* cudaArray_const_t;
#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
struct cudaChannelFormatDesc cudev_channels(int x, int y, int z, int w,
                                            enum cudaChannelFormatKind kind);
cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                            size_t width, size_t height CUDEV_DEFAULT(0),
                            unsigned flags CUDEV_DEFAULT(0));
// extent in elements; with cudaArrayLayered the depth counts layers.
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                              struct cudaExtent extent, unsigned flags CUDEV_DEFAULT(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* channels, cudaArray_const_t array);
// x and widths in bytes, y and heights in rows
cudaError_t cudaMemcpyToArray(cudaArray_t array, size_t x, size_t y, const void* src, size_t bytes,
                              enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t array, size_t x, size_t y,
                                size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* src,
                                size_t pitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void* dst, size_t pitch, cudaArray_const_t array, size_t x,
                                  size_t y, size_t width, size_t height, enum cudaMemcpyKind kind);

// ---- texture and surface objects ----

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2
};
struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void* devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void* devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
    unsigned flags;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
struct cudaResourceViewDesc;
// view: NULL
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture,
                                    const struct cudaResourceDesc* resource,
                                    const struct cudaTextureDesc* description,
                                    const struct cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface,
                                    const struct cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);

// A texture or surface object is the address of such a struct. Elements lie one after the other,
// rows `pitch` bytes apart, layers (or z) `rows` rows.
struct cudev_texture {
    const char* data;
    size_t pitch, rows, element;
    long size[3];
    int linear;  // of plain memory: tex1Dfetch()
    struct cudaChannelFormatDesc channels;
    struct cudaTextureDesc how;
};
// The object; ends the program if there is none. what: "tex2D()".
const struct cudev_texture* cudev_texture_of(unsigned long long object, const char* what,
                                             const char* file, int line);
// A copy of it, for watched code, which must not read the object itself: that is the host's.
void cudev_texture_copy(struct cudev_texture* copy, unsigned long long object, const char* what,
                        const char* file, int line);

#ifdef __cplusplus
}

// ---- places of memory, as CUDA 13 has them

enum cudaMemLocationType {
    cudaMemLocationTypeInvalid = 0,
    cudaMemLocationTypeDevice = 1,
    cudaMemLocationTypeHost = 2,
    cudaMemLocationTypeHostNuma = 3,
    cudaMemLocationTypeHostNumaCurrent = 4
};
struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
};
static inline int cudev_device_of(cudaMemLocation place) {
    return place.type == cudaMemLocationTypeDevice    ? place.id
           : place.type == cudaMemLocationTypeInvalid ? cudaInvalidDeviceId
                                                      : cudaCpuDeviceId;
}
static inline cudaError_t cudaMemPrefetchAsync(const void* p, size_t bytes, cudaMemLocation place,
                                               unsigned, cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(p, bytes, cudev_device_of(place), stream);
}
static inline cudaError_t cudaMemAdvise(const void* p, size_t bytes, enum cudaMemoryAdvise advice,
                                        cudaMemLocation place) {
    return cudaMemAdvise(p, bytes, advice, cudev_device_of(place));
}
#endif
#endif
