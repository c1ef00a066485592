// Tensor maps: what a tensor in global memory looks like, and the boxes that TMA moves.
#ifndef CUDEV_TENSOR_MAP_H
#define CUDEV_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 5 };

// tensor_map_encode() leaves this in the 128 bytes of a CUtensorMap.
struct tensor_map {
    uint64_t magic;
    char* data;
    uint64_t stride[MAX_RANK - 1];   // bytes from one element of dimension i + 1 to the next
    uint32_t last[MAX_RANK];         // size - 1
    uint16_t box[MAX_RANK];          // 1 to 256
    uint8_t rank, element, swizzle;  // element: bytes
};

bool cudev_is_tensor_map(const struct tensor_map* m);
// Bytes of a box in shared memory: its rows one after the other.
unsigned cudev_box_bytes(const struct tensor_map* m);
// A box in shared memory begins at a multiple of so many bytes.
unsigned cudev_box_alignment(const struct tensor_map* m);
// Where the 16 bytes lie whose offset in the swizzled tile would be `at` without a swizzle. at:
// counted from a multiple of 1024 bytes.
static inline uint64_t cudev_swizzled(uint64_t at, unsigned swizzle) {
    return at ^ (at >> 3 & (swizzle == 128  ? 0x70
                            : swizzle == 64 ? 0x30
                            : swizzle == 32 ? 0x10
                                            : 0));
}

// A row of a box: box[0] elements, of which those in [from, to) lie in the tensor.
struct box_row {
    char* global;  // of element 0, which may lie outside
    unsigned from, to;
};
unsigned cudev_box_rows(const struct tensor_map* m);
// Row number `row` of the box that begins at c.
struct box_row cudev_box_row(const struct tensor_map* m, const int* c, unsigned row);

#endif
