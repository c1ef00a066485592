// utf16.c: see utf16.h.
#include "base/utf16.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t unit_at(const char* data, size_t i, bool big) {
    const unsigned char* p = (const unsigned char*)data + i;
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static char* put(char* to, uint32_t c) {
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | c >> 6 * more);
    for (int k = more - 1; k >= 0; k--) *to++ = (char)(0x80 | ((c >> 6 * k) & 0x3f));
    return to;
}

char* utf16_text(const char* data, size_t size, size_t* length) {
    if (size < 2 || size % 2 != 0) return NULL;
    const bool big = !memcmp(data, "\xfe\xff", 2);
    if (!big && memcmp(data, "\xff\xfe", 2) != 0) return NULL;
    // A unit of 2 bytes becomes at most 3.
    char *text = malloc(size / 2 * 3 + 1), *to = text;
    for (size_t i = 2; i < size && text; i += 2) {
        uint32_t c = unit_at(data, i, big);
        if (c >= 0xd800 && c < 0xe000) {
            // Two halves make a character beyond 16 bits.
            const uint32_t low = i + 2 < size ? unit_at(data, i + 2, big) : 0;
            if (c >= 0xdc00 || low < 0xdc00 || low >= 0xe000) {
                free(text);
                return NULL;
            }
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        }
        to = put(to, c);
    }
    if (!text) return NULL;
    *to = '\0';
    *length = (size_t)(to - text);
    return text;
}
