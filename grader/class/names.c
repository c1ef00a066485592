// names.c: strangers' names, as file names and on a terminal; names of lessons. See class.h.
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

enum { LONGEST_ID = 150 };

void name_to_id(const char* name, size_t size, char id[ID_SIZE]) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = 0, i = 0;
    for (; i < size && n + 4 < LONGEST_ID; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c && strchr(plain, c) && (i > 0 || c != '.'))
            id[n++] = (char)c;
        else
            n += (size_t)snprintf(id + n, 4, "%%%02X", c);
    }
    id[n] = '\0';
    if (i == size) return;
    // The name of a file has 255 bytes at most. A hash tells longer names with the same beginning
    // apart.
    char hash[65];
    SHA256Data((const uint8_t*)name, size, hash);
    snprintf(id + n, ID_SIZE - n, "%%%.16s", hash);
}

// The length of the UTF-8 character at s; 0 if there is none, or if a terminal would obey it.
static size_t character(const unsigned char* s) {
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (n == 0 || s[0] > 0xf4 || (s[0] == 0xc2 && s[1] < 0xa0)) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ||
        (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
        return 0;  // too long a form, a surrogate, above U+10FFFF, a noncharacter
    return n;
}

void show_text(char* text) {
    char* to = text;
    for (const unsigned char* s = (unsigned char*)text; *s;) {
        size_t length = character(s);
        if (length == 0) {
            *to++ = '?';
            s++;
        }
        while (length-- > 0) *to++ = (char)*s++;
    }
    *to = '\0';
}

bool class_names(const char* text, const char* lesson) {
    const char* name = strchr(lesson, '_');
    char* end;
    long n = strtol(text, &end, 10);
    return !strcmp(lesson, text) || (name && !strcmp(name + 1, text)) ||
           (end != text && !*end && n == strtol(lesson, NULL, 10));
}
