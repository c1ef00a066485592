// names.c: strangers' names as file names; names of lessons. See class.h.
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

bool class_names(const char* text, const char* lesson) {
    const char* name = strchr(lesson, '_');
    char* end;
    long n = strtol(text, &end, 10);
    return !strcmp(lesson, text) || (name && !strcmp(name + 1, text)) ||
           (end != text && !*end && n == strtol(lesson, NULL, 10));
}
