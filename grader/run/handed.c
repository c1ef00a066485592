// handed.c: see handed.h.
#include "run/handed.h"

#include <stdlib.h>
#include <string.h>

#include "run/vault.h"
#include "wall/arena.h"

enum { OF_A_CALL = 64, TABLE_BITS = 16, TABLE = 1 << TABLE_BITS, PIECES = 64, UNSET = 0xff };

static const uint32_t SIGN = 0x80000000u;

// A word of an input without its sign, and what arrives for it.
struct other {
    uint32_t word, arrives;
};

// A piece of memory that both sides reach, where it lies; as the host has it; and which of its
// words a kernel has made. Pieces that are freed stay.
struct piece {
    void* at;
    size_t bytes;
    unsigned char *host, *made;
};

// In the vault.
static struct {
    const struct arena_layout* layout;
    unsigned char* arena;
    uint32_t round;
    bool others;          // other numbers arrive
    struct other* table;  // a word of 0 is none
    int words;
    struct handed counted;
    int64_t back;  // until now
    struct piece piece[PIECES];
    int pieces;
}* const own = (void*)vault.handed;
_Static_assert(sizeof *own <= sizeof vault.handed, "a page");

// ---- counting

void handed_call(size_t bytes) {
    own->counted.own += (int64_t)bytes + OF_A_CALL;
    own->counted.sent += (int64_t)bytes + OF_A_CALL;
}

void handed_room(size_t bytes) {
    own->counted.own += (int64_t)bytes;
}

void handed_launch(size_t bytes) {
    handed_call(bytes);
    own->counted.back = own->back;
}

// Where the tensor lies on the host; NULL: it does not, or is no input.
static const unsigned char* input(uint32_t i) {
    const struct arena_tensor* t = &own->layout->tensor[i];
    return arena_is_sent(t) ? own->arena + t->offset[own->round] : NULL;
}

// Does a row of an input go there as it is? Host code may have changed it for a while.
static bool is_input(const unsigned char* row, size_t width) {
    for (uint32_t i = 0; i < own->layout->tensor_count; i++) {
        const struct arena_tensor* t = &own->layout->tensor[i];
        const uintptr_t begin = (uintptr_t)input(i), first = (uintptr_t)row;
        if (!begin || first < begin || first + width > begin + t->bytes) continue;
        const unsigned char* second = own->arena + t->second[own->round];
        return t->handed || memcmp(row, second + (first - begin), width) == 0;
    }
    return false;
}

void handed_copy(const void* from, size_t pitch, size_t width, size_t height) {
    handed_call(0);
    for (size_t i = 0; i < height; i++) {
        own->counted.sent += (int64_t)width;
        if (!is_input((const unsigned char*)from + i * pitch, width))
            own->counted.own += (int64_t)width;
    }
}

void handed_back(size_t bytes) {
    own->back += (int64_t)bytes;
}

// ---- other numbers

static uint32_t word_at(const void* p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

// The place of the word in the table, or where it would be.
static struct other* place(uint32_t word) {
    uint32_t at = word * 0x9e3779b1u >> (32 - TABLE_BITS);
    while (own->table[at].word && own->table[at].word != word) at = (at + 1) % TABLE;
    return &own->table[at];
}

// Finds what arrives for a word, of either sign. False: the word itself.
static bool arrives(uint32_t word, uint32_t* other) {
    const struct other* o = (word & ~SIGN) ? place(word & ~SIGN) : NULL;
    if (!o || !o->word) return false;
    *other = o->arrives ^ (word & SIGN);
    return true;
}

static void add_words(const struct arena_tensor* t) {
    for (size_t k = 0; k + 4 <= t->bytes; k += 4) {
        const uint32_t word = word_at(own->arena + t->offset[own->round] + k);
        if ((word & ~SIGN) == 0) continue;
        struct other* o = place(word & ~SIGN);
        if (o->word == 0 && ++own->words > TABLE / 2) abort();
        o->word = word & ~SIGN;
        o->arrives = word_at(own->arena + t->second[own->round] + k) ^ (word & SIGN);
    }
}

void handed_start(const struct arena_layout* layout, unsigned char* arena, uint32_t round) {
    own->layout = layout;
    own->arena = arena;
    own->round = round;
    own->counted = (struct handed){0, 0, 0};
    own->back = 0;
    own->others = false;
    own->words = 0;
    for (uint32_t i = 0; i < layout->tensor_count; i++) own->others |= layout->tensor[i].handed;
    if (!own->others) return;
    if (!own->table) own->table = vault_memory(TABLE * sizeof *own->table);
    memset(own->table, 0, TABLE * sizeof *own->table);
    for (uint32_t i = 0; i < layout->tensor_count; i++)
        if (layout->tensor[i].handed) add_words(&layout->tensor[i]);
}

struct handed handed_stop(void) {
    own->others = false;
    return own->counted;
}

// The same for numbers of an input of which these bytes have a part alone. Its word is looked up:
// host code may have changed it for a while.
static void hand_over_pieces(unsigned char* to, const unsigned char* from, size_t bytes,
                             uint32_t i) {
    const struct arena_tensor* t = &own->layout->tensor[i];
    const uintptr_t first = (uintptr_t)from, begin = (uintptr_t)input(i);
    if (first >= begin + t->bytes || first + bytes <= begin) return;
    for (size_t k = 0; k + 4 <= t->bytes; k += 4) {
        uint32_t other;
        if (begin + k + 4 <= first || begin + k >= first + bytes) continue;
        if (!arrives(word_at((const unsigned char*)begin + k), &other)) continue;
        for (size_t j = 0; j < 4; j++) {
            const uintptr_t at = begin + k + j;
            if (at >= first && at < first + bytes) to[at - first] = (unsigned char)(other >> 8 * j);
        }
    }
}

// Writes what arrives for these bytes. A launcher may send its floats as doubles; or in pieces that
// end within one.
static void hand_over(unsigned char* to, const unsigned char* from, size_t bytes) {
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t other;
        if (arrives(word_at(from + i), &other)) memcpy(to + i, &other, 4);
    }
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        double wide;
        memcpy(&wide, from + i, 8);
        float narrow = (float)wide;
        uint32_t other;
        if ((double)narrow != wide || !arrives(word_at(&narrow), &other)) continue;
        memcpy(&narrow, &other, 4);
        wide = (double)narrow;
        memcpy(to + i, &wide, 8);
    }
    for (uint32_t i = 0; i < own->layout->tensor_count; i++)
        if (own->layout->tensor[i].handed) hand_over_pieces(to, from, bytes, i);
}

const void* handed_rows(const void* from, size_t* pitch, size_t width, size_t height) {
    unsigned char* rows = own->others ? malloc(width * height + 1) : NULL;
    if (!rows) return from;
    for (size_t i = 0; i < height; i++) {
        const unsigned char* row = (const unsigned char*)from + i * *pitch;
        memcpy(rows + i * width, row, width);
        hand_over(rows + i * width, row, width);
    }
    *pitch = width;
    return rows;
}

// Nothing of it is left for host code to find.
static void wipe_and_free(void* p, size_t bytes) {
    if (p) explicit_bzero(p, bytes);
    free(p);
}

void handed_free(const void* rows, const void* from, size_t bytes) {
    if (rows != from) wipe_and_free((void*)rows, bytes);
}

// ---- memory that both sides reach

// A piece of it; a new one, if there is room. NULL: there is none.
static struct piece* piece_at(void* at, size_t bytes) {
    int k = 0;
    while (k < own->pieces && (own->piece[k].at != at || own->piece[k].bytes != bytes)) k++;
    if (k == PIECES) return NULL;
    struct piece* p = &own->piece[k];
    if (k < own->pieces) return p;
    own->pieces++;
    *p = (struct piece){at, bytes, malloc(bytes + 4), calloc(bytes / 4 + 1, 1)};
    if (!p->host || !p->made) abort();
    memset(p->host, UNSET, bytes);
    return p;
}

// Writes what arrives there. A number that a kernel has made is a result, even if by chance an
// input is the same.
static void arrive(const struct piece* p, unsigned char* to) {
    memcpy(to, p->host, p->bytes);
    hand_over(to, p->host, p->bytes);
    for (size_t i = 0; i < p->bytes; i += 4)
        if (p->made[i / 4]) memcpy(to + i, p->host + i, p->bytes - i < 4 ? p->bytes - i : 4);
}

static bool differ(const unsigned char* a, const unsigned char* b, const struct piece* p,
                   size_t at) {
    return memcmp(a + at, b + at, p->bytes - at < 4 ? p->bytes - at : 4) != 0;
}

void handed_before_launch(void* shared, size_t bytes) {
    struct piece* p = own->others ? piece_at(shared, bytes) : NULL;
    if (!p) return;
    for (size_t i = 0; i < bytes; i += 4) {
        if (!differ(shared, p->host, p, i)) continue;
        p->made[i / 4] = 0;
        own->counted.sent += 4;
    }
    memcpy(p->host, shared, bytes);
    arrive(p, shared);
}

// Words that no kernel has changed are the host's again; those that one has changed come back to
// the host.
void handed_after_launch(void* shared, size_t bytes) {
    struct piece* p = own->others ? piece_at(shared, bytes) : NULL;
    unsigned char* arrived = p ? malloc(bytes + 1) : NULL;
    if (!arrived) return;
    arrive(p, arrived);
    for (size_t i = 0; i < bytes; i += 4) {
        if (!differ(shared, arrived, p, i)) continue;
        const size_t some = bytes - i < 4 ? bytes - i : 4;
        memcpy(p->host + i, (unsigned char*)shared + i, some);
        p->made[i / 4] = 1;
        handed_back(some);
    }
    memcpy(shared, p->host, bytes);
    wipe_and_free(arrived, bytes);
}
