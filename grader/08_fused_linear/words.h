// words.h: numbers for dropout's p, seed and offset with which a random word lies beside the limit
// p 2^32, or at an end of its range. For check.c.
#ifndef WORDS_H
#define WORDS_H

#include "layer.h"

// p so that an element's word is just kept, or just not: which one a float cannot tell.
static double p_beside(struct check* c, const struct layer* l) {
    int64_t e = check_pick(c, 0, l->M * l->N / 2);
    uint32_t word = word_of(l, e);
    while (word < 0x80000000 || word > 0xf0000000 || word % 256 < 130) word = word_of(l, ++e);
    return ldexp((double)(word / 256 + 1), -24);
}

// p so that p 2^32 is `more` than an element's word: with 0 it is just kept, with 1 just dropped.
// From 2^-9 to 2^-8 each p 2^32 that is whole is that of a float, and of 512 words one lies there.
static double p_at(struct check* c, const struct layer* l, uint32_t more) {
    const int64_t elements = l->M * l->N, first = check_pick(c, 0, elements - 1);
    for (int64_t i = 0; i < elements; i++) {
        const uint32_t word = word_of(l, (first + i) % elements);
        if (word >= 1u << 23 && word < (1u << 24) - 1) return ldexp(word + more, -32);
    }
    return 0x1p-9;
}

// The same for a p above 1/2, where p 2^32 is just below an element's word, and equal to it as a
// float: the element is kept.
static double p_below(struct check* c, const struct layer* l) {
    int64_t e = check_pick(c, 0, l->M * l->N / 2);
    uint32_t word = word_of(l, e);
    while (word < 0x80000000 || word % 256 < 1 || word % 256 > 126) word = word_of(l, ++e);
    return ldexp(word / 256, -24);
}

// Found by trying: with this seed, and one of these offsets, the word of one of the first 16384
// elements is 0. Nothing is below p 2^32 = 0, not even that.
enum { WORD_0_SEED = 8 };
static const uint64_t word_0_offsets[] = {210355, 369892, 1561804, 2081205, 2664992, 3516151};
enum { WORD_0_OFFSETS = sizeof word_0_offsets / sizeof *word_0_offsets };

// With these, two of the first 16384 elements have a word of 2^32 - 2^12 or more.
static const uint64_t kept_offsets[] = {10807, 18313, 24060, 25383, 26682, 29443, 33620, 41535};
enum { KEPT_OFFSETS = sizeof kept_offsets / sizeof *kept_offsets };

// p so small that p 2^32 is no whole number, and half above an element's word: it is dropped.
static double p_above(struct check* c, const struct layer* l) {
    const int64_t elements = l->M * l->N, first = check_pick(c, 0, elements - 1);
    for (int64_t i = 0; i < elements; i++) {
        const uint32_t word = word_of(l, (first + i) % elements);
        if (word > 0 && word < 1u << 23) return ldexp(word + 0.5, -32);
    }
    return 0x1p-12;
}

#endif
