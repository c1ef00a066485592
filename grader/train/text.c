// text.c: see text.h.
#include "train/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/model.h"

enum { HELD_OUT = 10, MOST_BYTES = 1 << 28 };

char text_char(int token) {
    return token == TEXT_TOKENS - 1 ? '\n' : (char)(' ' + token);
}

int text_token(char c) {
    if (c == '\n') return TEXT_TOKENS - 1;
    return c >= ' ' && c <= '~' ? c - ' ' : -1;
}

int text_read(struct text* t, const char* path, int N) {
    size_t size;
    char* bytes = file_read(path, MOST_BYTES, &size);
    *t = (struct text){.chunk = N < 256 ? 1024 : 4 * (size_t)N + 4};
    t->token = bytes ? malloc(size + 1) : NULL;
    if (!t->token) {
        free(bytes);
        fprintf(stderr, "make train: the text %s cannot be read.\n", path);
        return -1;
    }
    t->hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        int token = text_token(bytes[i]);
        if (token < 0) continue;
        t->token[t->length++] = (uint8_t)token;
        t->hash = (t->hash ^ (unsigned)token) * 0x100000001b3u;
    }
    free(bytes);
    t->chunks = t->length / t->chunk;
    t->bigram = text_bigram(t);
    if (t->chunks >= HELD_OUT) return 0;
    fprintf(stderr,
            "make train: the text %s has %zu characters; texts of %d tokens, of which a tenth is "
            "held out,\nneed %zu. Take a smaller MODEL= or a longer text.\n",
            path, t->length, N, t->chunk * HELD_OUT);
    text_free(t);
    return -1;
}

void text_free(struct text* t) {
    free(t->token);
    t->token = NULL;
}

double text_bigram(const struct text* t) {
    static double pair[TEXT_TOKENS][TEXT_TOKENS], single[TEXT_TOKENS];
    memset(pair, 0, sizeof pair);
    memset(single, 0, sizeof single);
    for (size_t i = 0; i + 1 < t->length; i++) {
        pair[t->token[i]][t->token[i + 1]]++;
        single[t->token[i]]++;
    }
    double sum = 0, n = (double)t->length - 1;
    for (int a = 0; a < TEXT_TOKENS; a++)
        for (int b = 0; b < TEXT_TOKENS; b++)
            if (pair[a][b] > 0) sum -= pair[a][b] / n * log(pair[a][b] / single[a]);
    return sum;
}

static void copy(const struct text* t, size_t from, int64_t* tokens, int64_t* labels, int N) {
    for (int i = 0; i < N; i++) {
        tokens[i] = t->token[from + (size_t)i];
        labels[i] = t->token[from + (size_t)i + 1];
    }
}

// Chunk number HELD_OUT - 1 of each HELD_OUT is held out.
void text_draw(const struct text* t, int64_t* tokens, int64_t* labels, int B, int N, uint64_t seed,
               uint64_t first) {
    const size_t held = t->chunks / HELD_OUT;
    for (int b = 0; b < B; b++) {
        uint64_t index = 2 * (first + (uint64_t)b);
        size_t i = (size_t)draw_below(~seed, index, (int64_t)(t->chunks - held));
        size_t chunk = i / (HELD_OUT - 1) * HELD_OUT + i % (HELD_OUT - 1);
        size_t at = (size_t)draw_below(~seed, index + 1, (int64_t)(t->chunk - (size_t)N));
        copy(t, chunk * t->chunk + at, tokens + (size_t)b * (size_t)N,
             labels + (size_t)b * (size_t)N, N);
    }
}

size_t text_held_out_count(const struct text* t, int N) {
    return t->chunks / HELD_OUT * ((t->chunk - 1) / (size_t)N);
}

void text_held_out(const struct text* t, int64_t* tokens, int64_t* labels, int B, int N,
                   size_t first) {
    const size_t each = (t->chunk - 1) / (size_t)N, all = text_held_out_count(t, N);
    for (int b = 0; b < B; b++) {
        size_t i = (first + (size_t)b) % all;
        size_t chunk = i / each * HELD_OUT + HELD_OUT - 1;
        copy(t, chunk * t->chunk + i % each * (size_t)N, tokens + (size_t)b * (size_t)N,
             labels + (size_t)b * (size_t)N, N);
    }
}
