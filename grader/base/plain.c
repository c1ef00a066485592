// plain.c: see plain.h.
#include "base/plain.h"

#include <stdbool.h>
#include <stdint.h>

// Valid, and not to be shown. The last two of each plane are no characters, either.
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x00, 0x1f},        // C0
    {0x7f, 0x9f},        // delete, C1
    {0xad, 0xad},        // a soft hyphen
    {0x61c, 0x61c},      // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200b},    // a blank without width; U+200C and U+200D belong to words
    {0x200e, 0x200f},    // marks of direction
    {0x2028, 0x202e},    // separators of lines, embeddings and overrides of direction
    {0x2060, 0x206f},    // invisible operators, isolates of direction
    {0xd800, 0xdfff},    // halves of pairs
    {0xfdd0, 0xfdef},    // noncharacters
    {0xfeff, 0xfeff},    // a byte-order mark
    {0xfff0, 0xfffb},    // annotations
    {0xe0000, 0xe0fff},  // tags, selectors of variants
};

size_t plain_character(const char* text) {
    const unsigned char* s = (const unsigned char*)text;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 0 || s[0] > 0xf4) return 0;
    uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c & 0xfffe) == 0xfffe) return 0;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (c >= hidden[i].first && c <= hidden[i].last) return 0;
    return n;
}

static void clean(char* text, bool lines) {
    while (*text) {
        size_t n = plain_character(text);
        if (n == 0 && !(lines && (*text == '\n' || *text == '\t'))) *text = '?';
        text += n ? n : 1;
    }
}

void plain_text(char* text) {
    clean(text, true);
}

void plain_line(char* text) {
    clean(text, false);
}
