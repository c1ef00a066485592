// arena.c: the grader's side of the shared memory. See arena.h.
#include "wall/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dull;
    return x ^ (x >> 33);
}

// The 16-bit pattern at an even offset: 0x7f81..0x7fbe. It is a NaN as fp16 and as bf16, two of
// them are a NaN as fp32, and none is a NaN that arithmetic makes (0x7fc0, 0x7e00, 0x7fff). As fp32
// and bf16 it is a signalling NaN: adding to it sets a bit, so that the element is no longer "never
// written".
static uint16_t pattern(uint64_t key, uint64_t offset) {
    return (uint16_t)(0x7f81 + mix(key ^ (offset >> 1)) % 62);
}

static unsigned char pattern_byte(uint64_t key, uint64_t offset) {
    return (unsigned char)(pattern(key, offset) >> (offset % 2 * 8));
}

// Those of what the launcher sends come last.
static uint64_t place_seconds(struct arena* arena, uint64_t at, bool sent) {
    for (uint32_t i = 0; i < arena->layout.tensor_count; i++) {
        struct arena_tensor* t = &arena->layout.tensor[i];
        const bool has_second = sent ? arena_is_sent(t) : arena_is_written(t->role);
        for (uint32_t r = 0; has_second && r < arena->layout.rounds; r++) {
            t->second[r] = at;
            at = round_up(at + t->bytes, ARENA_GUARD);
        }
    }
    return at;
}

static void place_tensors(struct arena* arena) {
    uint64_t at = round_up(sizeof(struct arena_head), ARENA_GUARD);
    for (uint32_t i = 0; i < arena->layout.tensor_count; i++) {
        struct arena_tensor* t = &arena->layout.tensor[i];
        if (t->role == ARENA_NULL) continue;
        for (uint32_t r = 0; r < arena->layout.rounds; r++) {
            t->offset[r] = at + ARENA_GUARD + (t->on_host ? arena_before(t) : 0);
            at = round_up(t->offset[r] + t->bytes + ARENA_GUARD, ARENA_GUARD);
        }
    }
    arena->layout.seconds = at;
    at = place_seconds(arena, at, false);
    arena->unpoisoned = at;
    at = place_seconds(arena, at, true);
    arena->size = at;
}

static void poison(const struct arena* arena, unsigned char* p, uint64_t from, uint64_t to) {
    for (uint64_t at = from; at < to; at += 2) {
        uint16_t v = pattern(arena->key, at);
        memcpy(p + at, &v, 2);
    }
}

// Everything behind the head but the holes, and the inputs: the grader fills them.
static void poison_all(const struct arena* arena, unsigned char* p) {
    uint64_t at = round_up(sizeof(struct arena_head), ARENA_GUARD);
    for (uint32_t i = 0; i < arena->layout.tensor_count; i++) {
        const struct arena_tensor* t = &arena->layout.tensor[i];
        if (t->role == ARENA_NULL) continue;
        for (uint32_t r = 0; r < arena->layout.rounds; r++) {
            poison(arena, p, at, t->offset[r] - (t->on_host ? arena_before(t) : 0));
            at = t->offset[r];
            if (arena_is_read(t->role)) at = (at + t->bytes) & ~(uint64_t)1;
        }
    }
    poison(arena, p, at, arena->unpoisoned);
}

int arena_open(struct arena* arena, unsigned char** map) {
    arena->layout.magic = ARENA_MAGIC;
    arena->layout.version = ARENA_VERSION;
    arena->bytes = NULL;
    place_tensors(arena);
    if (getrandom(&arena->key, sizeof arena->key, 0) != sizeof arena->key) return -1;
    arena->fd = memfd_create("case", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (arena->fd < 0) return -1;
    if (ftruncate(arena->fd, (off_t)arena->size) != 0 ||
        fcntl(arena->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return -1;
    unsigned char* p = mmap(NULL, arena->size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd, 0);
    if (p == MAP_FAILED) return -1;
    poison_all(arena, p);
    *map = p;
    return 0;
}

int arena_close_writing(struct arena* arena, unsigned char* map) {
    struct arena_products* products = &((struct arena_head*)map)->products;
    memcpy(map, &arena->layout, sizeof arena->layout);
    products->key = arena->altered;
    products->by_both = arena->by_both;
    return munmap(map, arena->size);
}

int arena_seal(struct arena* arena) {
    if (fcntl(arena->fd, F_ADD_SEALS, F_SEAL_WRITE) != 0) return -1;
    void* p = mmap(NULL, arena->size, PROT_READ, MAP_PRIVATE, arena->fd, 0);
    if (p == MAP_FAILED) return -1;
    arena->bytes = p;
    return 0;
}

bool arena_started(const struct arena* arena) {
    uint32_t started = 0;
    off_t at = offsetof(struct arena_head, answer.started);
    return pread(arena->fd, &started, sizeof started, at) == sizeof started && started == 1;
}

struct arena_answer arena_answer(const struct arena* arena) {
    struct arena_answer answer;
    memcpy(&answer, arena->bytes + offsetof(struct arena_head, answer), sizeof answer);
    answer.kind[sizeof answer.kind - 1] = '\0';
    answer.text[sizeof answer.text - 1] = '\0';
    answer.refused_text[sizeof answer.refused_text - 1] = '\0';
    for (int i = 0; i < FINDINGS; i++) finding_values_end(&answer.finding[i]);
    answer.finding_text[sizeof answer.finding_text - 1] = '\0';
    answer.note_kind[sizeof answer.note_kind - 1] = '\0';
    answer.note_text[sizeof answer.note_text - 1] = '\0';
    return answer;
}

const uint32_t* arena_given(const struct arena* arena) {
    return ((const struct arena_head*)arena->bytes)->products.given;
}

bool arena_guards_intact(const struct arena* arena, int tensor, int round, int64_t* offset) {
    const struct arena_tensor* t = &arena->layout.tensor[tensor];
    uint64_t begin = t->offset[round];
    uint64_t ranges[2][2] = {{begin - ARENA_GUARD, begin},
                             {begin + t->bytes, begin + t->bytes + ARENA_GUARD}};
    // The band after the data first: that is where a missing guard writes.
    const int first = t->on_host && t->ends ? 1 : 0;  // the array begins far before
    for (int i = 1; i >= first; i--)
        for (uint64_t at = ranges[i][0]; at < ranges[i][1]; at++)
            if (arena->bytes[at] != pattern_byte(arena->key, at)) {
                *offset = (int64_t)(at - begin);
                return false;
            }
    return true;
}

bool arena_is_poison(const struct arena* arena, uint64_t offset, int size) {
    uint16_t word;
    if (size >= 2) {  // nearly always the first two bytes tell
        memcpy(&word, arena->bytes + offset, sizeof word);
        if (word != pattern(arena->key, offset)) return false;
    }
    for (int i = size < 2 ? 0 : 2; i < size; i++)
        if (arena->bytes[offset + i] != pattern_byte(arena->key, offset + i)) return false;
    return true;
}

bool arena_was_added_to(const struct arena* arena, uint64_t offset, int size) {
    const int quiet = size - 2;  // the byte of the quiet bit, which is bit 6
    if (arena_is_poison(arena, offset, size)) return false;
    for (int i = 0; i < size; i++) {
        unsigned char was = pattern_byte(arena->key, offset + (uint64_t)i);
        unsigned char mask = i == quiet ? 0x40 : 0;
        if ((arena->bytes[offset + (uint64_t)i] & ~mask) != (was & ~mask)) return false;
    }
    return true;
}

void arena_free(struct arena* arena) {
    if (arena->bytes) munmap((void*)(uintptr_t)arena->bytes, arena->size);
    arena->bytes = NULL;
    if (arena->fd >= 0) close(arena->fd);
    arena->fd = -1;
}
