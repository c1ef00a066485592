// from lesson 25: arrays.h: arrays on the host: which ones TMA can take, and their maps.
#ifndef ARRAYS_H
#define ARRAYS_H

#include <cuda_bf16.h>

#include "course.h"
#include "hopper.h"

enum { PANEL = 64 };  // elements in a swizzled row of 128 bytes

// A (B, N, H, d) array, where it lies. The arrays belong to the caller.
struct rows {
    const bf16* first;
    struct strides stride;  // in elements
};

// Where a head's rows begin.
__device__ __forceinline__ const bf16* head_of(struct rows array, int batch, int head) {
    return array.first + batch * array.stride.b + head * array.stride.h;
}

// Checks the strides and the alignment of all `count` arrays by the contract, with rows of d
// elements. Returns COURSE_OK, COURSE_BAD_ARGUMENT or COURSE_UNSUPPORTED.
static inline int check_rows(const struct rows* array, int count, int d) {
    const int64_t limit = (int64_t)1 << 39;  // elements of 2 bytes: TMA takes strides below 2^40
    bool fit = true;
    for (int a = 0; a < count; a++) {
        const struct strides s = array[a].stride;
        if (s.b < 0 || s.n < d || s.h < 0) return COURSE_BAD_ARGUMENT;
        fit = fit && ((uintptr_t)array[a].first % 16 | (s.b | s.n | s.h) % 8) == 0;
        fit = fit && s.b < limit && s.n < limit && s.h < limit;
    }
    return fit ? COURSE_OK : COURSE_UNSUPPORTED;
}

// Sets how many multiprocessors the current device has; COURSE_UNSUPPORTED if it is no Hopper GPU.
static inline int find_hopper(int* multiprocessors) {
    int device, major;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    COURSE_TRY(cudaDeviceGetAttribute(multiprocessors, cudaDevAttrMultiProcessorCount, device));
    return major == 9 ? COURSE_OK : COURSE_UNSUPPORTED;
}

// The map of a (B, N, H, d) array for TMA, as (B, H, d / 64, N, 64): a box is `rows` rows of one
// head, in `panels` panels of 64 columns, one behind the other. A row of a panel is 128 bytes, and
// swizzled. Returns 0, or a CUresult.
static inline int encode(CUtensorMap* map, struct rows array, int B, int N, int H, int d, int rows,
                         int panels) {
    const struct strides s = array.stride;
    const cuuint64_t size = sizeof(bf16);
    const cuuint64_t sizes[5] = {PANEL, (cuuint64_t)N, (cuuint64_t)d / PANEL, (cuuint64_t)H,
                                 (cuuint64_t)B};
    const cuuint64_t bytes[4] = {s.n * size, PANEL * size, s.h * size, s.b * size};
    const cuuint32_t box[5] = {PANEL, (cuuint32_t)rows, (cuuint32_t)panels, 1, 1};
    return tensor_map_encode(map, array.first, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5, sizes, bytes,
                             box, 128);
}

#endif
