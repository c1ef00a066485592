// text.h: what a model of `make train` learns: a text of printable ASCII characters and newlines,
// cut into chunks, of which every tenth is held out.
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { TEXT_TOKENS = 96 };  // the 95 printable characters, and the newline

struct text {
    size_t length;
    uint8_t* token;  // 0 .. TEXT_TOKENS - 1
    size_t chunk;    // tokens of a chunk; the last one may be longer
    size_t chunks;
    uint64_t hash;  // of all tokens
    double bigram;  // nats: see text_bigram()
};

// Reads a file; characters that are none of those above are left out. A chunk has room for several
// texts of N + 1 tokens. Returns 0, or -1 and a message on stderr. text_free() frees it.
int text_read(struct text* t, const char* path, int N);
void text_free(struct text* t);

char text_char(int token);
int text_token(char c);  // -1: none

// The entropy of a token if the one before it is known, by the counts of the whole text, in nats:
//     - sum_ab n_ab / n ln(n_ab / n_a)
// A table of all pairs that was made of this very text predicts it no better than that.
double text_bigram(const struct text* t);

// Texts: B of N tokens, and the N tokens that follow them one place on. Of training: the texts
// number `first` .. first + B - 1 of all that the seed draws. Held out: these of all that there
// are, in turn.
void text_draw(const struct text* t, int64_t* tokens, int64_t* labels, int B, int N, uint64_t seed,
               uint64_t first);
void text_held_out(const struct text* t, int64_t* tokens, int64_t* labels, int B, int N,
                   size_t first);
// How many texts of N tokens are held out.
size_t text_held_out_count(const struct text* t, int N);

#endif
