// Arrays whose rows lie far apart. The rows of a packed array in device memory are mapped a second
// time, at addresses so far from each other that an index of 32 bits does not reach from one to the
// next. Nothing lies between them, and nothing is kept for what lies between them: all that the
// device and its watchers know of a row they know of its place in the packed array.
#include "cpu/device/far.h"
#include <stdint.h>
#include <sys/mman.h>
#include "cpu/include/cudev.h"

enum { FAR_ARRAYS = 32, PAGE = 4096 };

static struct far_array {
    char *far, *near;
    size_t row_bytes, pitch, count[3], unit;
} arrays[FAR_ARRAYS];
static int array_count;
static size_t far_top;  // bytes of the address space that are used

static size_t rows_of(const struct far_array* a) {
    return a->count[0] * a->count[1] * a->count[2];
}

static void index_of(const struct far_array* a, size_t row, size_t index[3]) {
    for (int axis = 2; axis >= 0; axis--) {
        index[axis] = row % a->count[axis];
        row /= a->count[axis];
    }
}

static size_t units_of(const size_t index[3]) {
    return index[0] + index[1] + index[2];
}

// Bytes from a unit before the array, where negative indices end, to its end.
static size_t extent(const struct far_array* a) {
    return (units_of(a->count) - 1) * a->unit;
}

void* cudev_far_map(void* p, const size_t count[3], size_t row_bytes, size_t pitch, size_t unit) {
    struct far_array* a = &arrays[array_count];
    if (array_count == FAR_ARRAYS) return NULL;
    *a = (struct far_array){.near = p,
                            .row_bytes = row_bytes,
                            .pitch = pitch,
                            .count = {count[0], count[1], count[2]},
                            .unit = unit};
    if (rows_of(a) == 0 || extent(a) > FAR_SPACE - far_top) return NULL;
    a->far = FAR_BASE + far_top + unit;
    for (size_t row = 0; row < rows_of(a); row++) {
        size_t index[3];
        index_of(a, row, index);
        char* to = a->far + row * pitch + units_of(index) * unit;
        // of size 0: a second mapping of the same memory
        if (mremap(a->near + row * pitch, 0, pitch, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
            return NULL;
    }
    far_top += extent(a);
    array_count++;
    return a->far;
}

// Is it row N, or a later one, of a batch of this array, as an index that is too large finds it?
static bool is_behind(const struct far_array* a, uintptr_t address) {
    if (address < (uintptr_t)a->far) return false;
    const size_t distance = address - (uintptr_t)a->far;
    const size_t row = distance % a->unit / a->pitch;
    const size_t k = row % a->count[2], ij = row / a->count[2];
    if (distance % a->unit % a->pitch >= a->row_bytes) return false;
    for (size_t i = 0; i < a->count[0] && (i + 1) * a->count[1] <= ij; i++) {
        const size_t index[3] = {i, ij - i * a->count[1], k};
        if (units_of(index) == distance / a->unit) return true;
    }
    return false;
}

struct far_place cudev_far_at(const volatile void* p, size_t bytes) {
    struct far_place place = {.is = FAR_NOTHING};
    const struct far_array* a = arrays;
    const uintptr_t address = (uintptr_t)p;
    while (a < arrays + array_count && address - ((uintptr_t)a->far - a->unit) >= extent(a)) a++;
    if (a == arrays + array_count) return place;
    const size_t distance = address - ((uintptr_t)a->far - a->unit);  // from a unit before
    const size_t row = distance % a->unit / a->pitch, byte = distance % a->unit % a->pitch;
    if (row >= rows_of(a) || byte + bytes > a->row_bytes) return place;
    index_of(a, row, place.index);
    const size_t right = 1 + units_of(place.index), found = distance / a->unit;
    // Upper bits that are lost make an index smaller. A larger index was computed for a row that
    // does not exist: row N of one batch, which is as far from row 0 as that of the next.
    if (found > right) return place;
    // So may an index that was computed for an array before this one.
    for (const struct far_array* other = arrays; other < a && found < right; other++)
        if (is_behind(other, address)) return place;
    place.near = a->near + row * a->pitch + byte;
    place.lost = right - found;
    place.is = place.lost == 0 ? FAR_ROW : FAR_WRAPPED;
    return place;
}

void* cudev_near(const void* p, size_t bytes) {
    if (!cudev_is_far(p)) return (void*)(uintptr_t)p;
    const struct far_place place = cudev_far_at(p, bytes);
    return place.is == FAR_ROW ? place.near : NULL;
}

void cudev_far_open(bool open) {
    const int protection = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    for (const struct far_array* a = arrays; a < arrays + array_count; a++)
        for (size_t row = 0; row < rows_of(a); row++) {
            size_t index[3];
            index_of(a, row, index);
            mprotect(a->far + row * a->pitch + units_of(index) * a->unit, a->pitch, protection);
        }
}
