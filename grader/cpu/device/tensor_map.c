// Tensor maps: see tensor_map.h, and tensor_map_encode() in lessons/hopper.h.
#include "cpu/device/tensor_map.h"
#include <stdio.h>
#include <string.h>
#include "cpu/device/errors.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev.h"
#include "cpu/include/cudev/hopper_abi.h"

_Static_assert(sizeof(struct tensor_map) <= 128, "a CUtensorMap has 128 bytes");

// Any bytes that nobody else writes.
#define MAGIC 0x7065736e6f725463u

enum { INVALID_VALUE = 1, NOT_SUPPORTED = 801 };             // CUresult
enum { UINT8 = 0, FLOAT16 = 6, FLOAT32 = 7, BFLOAT16 = 9 };  // CUtensorMapDataType

static int refuse(int result, const char* file, int line, const char* reason) {
    // a function of the driver: the runtime's last error stays
    cudev_refused(cudaSuccess, "tensor_map_encode", "tensor_map_encode() at %s:%d: %s", file, line,
                  reason);
    return result;
}

int cudev_tensor_map_encode(void* map, const void* p, int type, int rank,
                            const unsigned long long* sizes, const unsigned long long* strides,
                            const unsigned* box, int swizzle, const char* file, int line) {
    const unsigned element = type == FLOAT32 ? 4 : type == UINT8 ? 1 : 2;
    if (cudev_card()->major != 9)
        return refuse(NOT_SUPPORTED, file, line, "the card is no Hopper GPU: CARD=h200 or h100");
    if (!map || !sizes || !strides || !box)
        return refuse(INVALID_VALUE, file, line, "a pointer is NULL");
    if (cudev_self) return refuse(NOT_SUPPORTED, file, line, "a kernel makes no map");
    if (cudev_may_write && !cudev_may_write(map, 128))
        return refuse(INVALID_VALUE, file, line, "the map is not the program's own memory");
    if ((uintptr_t)map % 64) return refuse(INVALID_VALUE, file, line, "the map is misaligned");
    if (type != UINT8 && type != FLOAT16 && type != FLOAT32 && type != BFLOAT16)
        return refuse(INVALID_VALUE, file, line,
                      "the type is neither float nor 16 bits wide, nor bytes");
    if (rank < 2 || rank > MAX_RANK)
        return refuse(INVALID_VALUE, file, line, "the rank is not 2 to 5");
    if ((uintptr_t)p % 16 || !p)
        return refuse(INVALID_VALUE, file, line, "the address is no multiple of 16");
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return refuse(INVALID_VALUE, file, line, "the swizzle is not 0, 32, 64 or 128");
    struct tensor_map m = {
        MAGIC,           (char*)(uintptr_t)p, {0}, {0}, {0}, (uint8_t)rank, (uint8_t)element,
        (uint8_t)swizzle};
    for (int i = 0; i < rank; i++) {
        if (sizes[i] < 1 || sizes[i] > (uint64_t)1 << 32)
            return refuse(INVALID_VALUE, file, line, "a size is not 1 to 2^32");
        if (box[i] < 1 || box[i] > 256)
            return refuse(INVALID_VALUE, file, line, "a box has 1 to 256 elements a dimension");
        m.last[i] = (uint32_t)(sizes[i] - 1);
        m.box[i] = (uint16_t)box[i];
        if (i == 0) continue;
        m.stride[i - 1] = strides[i - 1];
        if (strides[i - 1] % 16 || strides[i - 1] >= (uint64_t)1 << 40)
            return refuse(INVALID_VALUE, file, line,
                          "a stride is no multiple of 16 bytes below 2^40");
    }
    const unsigned row = box[0] * element;
    if (swizzle ? row != (unsigned)swizzle : row % 16 != 0)
        return refuse(INVALID_VALUE, file, line,
                      swizzle ? "a row of the box has not as many bytes as the swizzle"
                              : "a row of the box is no multiple of 16 bytes");
    memset(map, 0, 128);
    memcpy(map, &m, sizeof m);
    return 0;
}

bool cudev_is_tensor_map(const struct tensor_map* m) {
    return m->magic == MAGIC;
}

unsigned cudev_box_rows(const struct tensor_map* m) {
    unsigned rows = 1;
    for (unsigned i = 1; i < m->rank; i++) rows *= m->box[i];
    return rows;
}

unsigned cudev_box_bytes(const struct tensor_map* m) {
    return cudev_box_rows(m) * m->box[0] * m->element;
}

unsigned cudev_box_alignment(const struct tensor_map* m) {
    return m->swizzle ? 8u * m->swizzle : 128;
}

struct box_row cudev_box_row(const struct tensor_map* m, const int* c, unsigned row) {
    struct box_row r = {m->data + (int64_t)c[0] * m->element, 0, m->box[0]};
    bool inside = true;
    for (unsigned i = 1; i < m->rank; i++) {
        int64_t at = (int64_t)c[i] + row % m->box[i];
        row /= m->box[i];
        inside = inside && at >= 0 && at <= (int64_t)m->last[i];
        r.global += at * (int64_t)m->stride[i - 1];
    }
    int64_t left = (int64_t)m->last[0] + 1 - c[0];  // elements from c[0] to the end of the tensor
    if (c[0] < 0) r.from = -(int64_t)c[0] < r.to ? (unsigned)-(int64_t)c[0] : r.to;
    if (left < r.to) r.to = left > 0 ? (unsigned)left : 0;
    if (!inside || r.from >= r.to) r.from = r.to = 0;
    return r;
}
