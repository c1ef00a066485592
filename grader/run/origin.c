// origin.c: see origin.h.
#include "run/origin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "run/vault.h"
#include "wall/arena.h"

// Sets of 32-bit words, as bitmaps of their keyed hashes. In a large case one word in thirty may
// share its bit with others; the grader asks for most of the elements only. In a small case a set
// has fewer bits, but BITS_OF_WORD for each word of the arrays: each page that is touched takes
// time.
enum { FEWEST_BITS = 15, MOST_BITS = 26, BITS_OF_WORD = 256, SET_BYTES = 1 << (MOST_BITS - 3) };

// In the vault.
static struct {
    const struct arena_layout* layout;
    unsigned char* arena;
    unsigned char *taken, *brought;  // words that copies took to the device, or to the host
    uint64_t key;
    uint32_t round;
    bool words;
    int bits;  // the logarithm of how many a set has now
    unsigned char* device[ARENA_TENSORS];
}* const own = (void*)vault.origin;
_Static_assert(sizeof *own <= sizeof vault.origin, "a page");

// ---- words

static uint32_t bit_of(uint32_t word) {
    uint64_t x = (word + 1) * own->key;
    x ^= x >> 32;
    return (uint32_t)((x * own->key) >> (64 - own->bits));
}

static bool has(const unsigned char* set, uint32_t word) {
    uint32_t bit = bit_of(word);
    return set[bit / 8] >> bit % 8 & 1;
}

static void put(unsigned char* set, uint32_t word) {
    uint32_t bit = bit_of(word);
    set[bit / 8] |= (unsigned char)(1u << bit % 8);
}

static uint32_t word_at(const void* p, size_t i) {
    uint32_t word;
    memcpy(&word, (const unsigned char*)p + i, sizeof word);
    return word;
}

bool origin_counts_words(void) {
    return own->words;
}

void origin_brought(const void* to, size_t bytes) {
    for (size_t i = 0; own->words && i + 4 <= bytes; i += 4) put(own->brought, word_at(to, i));
}

void origin_before_launch(const void* shared, size_t bytes) {
    for (size_t i = 0; own->words && i + 4 <= bytes; i += 4) {
        uint32_t word = word_at(shared, i);
        if (!has(own->brought, word)) put(own->taken, word);
    }
}

void origin_after_launch(const void* shared, size_t bytes) {
    origin_brought(shared, bytes);
}

// ---- the second arrays

static unsigned char* second(uint32_t tensor) {
    return own->arena + own->layout->tensor[tensor].second[own->round];
}

// The part of [to, to + bytes) that lies in an output: *at in the output, *skip bytes behind `to`.
static size_t part_of(uint32_t tensor, const void* to, size_t bytes, size_t* at, size_t* skip) {
    const struct arena_tensor* t = &own->layout->tensor[tensor];
    uintptr_t first = (uintptr_t)to, begin = (uintptr_t)own->device[tensor];
    uintptr_t last = first + bytes, end = begin + t->bytes;
    if (!arena_is_written(t->role) || !begin) return 0;
    uintptr_t from = first > begin ? first : begin, until = last < end ? last : end;
    *at = from - begin;
    *skip = from - first;
    return until > from ? until - from : 0;
}

bool origin_is_output(const void* to, size_t bytes) {
    size_t at, skip;
    for (uint32_t i = 0; i < own->layout->tensor_count; i++)
        if (part_of(i, to, bytes, &at, &skip)) return true;
    return false;
}

void origin_written(const void* to, const void* from, size_t bytes) {
    size_t at, skip, part;
    for (size_t i = 0; own->words && i + 4 <= bytes; i += 4) put(own->taken, word_at(from, i));
    for (uint32_t i = 0; i < own->layout->tensor_count; i++)
        if ((part = part_of(i, to, bytes, &at, &skip)))
            memcpy(second(i) + at, (const unsigned char*)from + skip, part);
}

void origin_filled(const void* to, int byte, size_t bytes) {
    size_t at, skip, part;
    for (uint32_t i = 0; i < own->layout->tensor_count; i++)
        if ((part = part_of(i, to, bytes, &at, &skip))) memset(second(i) + at, byte, part);
}

void origin_start(const struct arena_layout* layout, unsigned char* arena, uint32_t round,
                  unsigned char* const* device) {
    own->layout = layout;
    own->arena = arena;
    own->round = round;
    own->words = false;
    uint64_t words = 0;
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        own->device[i] = device[i];
        own->words |= arena_is_written(layout->tensor[i].role) && layout->tensor[i].on_host;
        words += layout->tensor[i].bytes / 4;
    }
    own->bits = FEWEST_BITS;
    while (own->bits < MOST_BITS && 1ull << own->bits < BITS_OF_WORD * words) own->bits++;
    if (!own->words) return;
    if (getrandom(&own->key, sizeof own->key, 0) != sizeof own->key) abort();
    own->key |= 1;
    if (!own->taken) own->taken = vault_memory(2 * SET_BYTES);
    own->brought = own->taken + SET_BYTES;
    madvise(own->taken, 2 * SET_BYTES, MADV_REMOVE);  // all zero again
}

void origin_stop(void) {
    for (uint32_t i = 0; i < own->layout->tensor_count; i++) {
        const struct arena_tensor* t = &own->layout->tensor[i];
        if (!arena_is_written(t->role) || !t->on_host) continue;
        const unsigned char* got = own->arena + t->offset[own->round];
        for (size_t k = 0; k + 4 <= t->bytes; k += 4) {
            uint32_t word = word_at(got, k);
            if (!has(own->brought, word) || has(own->taken, word)) memcpy(second(i) + k, &word, 4);
        }
    }
}
