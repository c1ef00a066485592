// bare.c: see bare.h. It reads what strangers wrote.
#include "check/bare.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Lines that end with a backslash go on in the next; marks are set.
static char* joined(const char* text, size_t size, const char* mark) {
    const char* const end = text + size;
    const size_t length = mark ? strlen(mark) : size + 1;
    char *copy = malloc(2 * size + 1), *to = copy;
    for (const char* p = text; copy && p < end; p++) {
        const bool begins = p == text || p[-1] == '\n';
        if (begins && (size_t)(end - p) >= length && memcmp(p, mark, length) == 0)
            *to++ = BARE_MARK;
        const char* next = p + 1;
        while (*p == '\\' && next < end && (*next == ' ' || *next == '\r')) next++;
        if (*p == '\\' && next < end && *next == '\n')
            p = next;
        else
            *to++ = *p == '\0' || *p == BARE_MARK ? ' ' : *p;
    }
    if (copy) *to = '\0';
    return copy;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Behind the comment, the text or the character that begins at p.
static const char* behind(const char* p) {
    const char quote = *p;
    if (quote == '/' && p[1] == '/') return p + strcspn(p, "\n");
    if (quote == '/') {
        const char* end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    for (p++; *p && *p != quote && *p != '\n'; p++)
        if (*p == '\\' && p[1]) p++;
    return *p == quote ? p + 1 : p;
}

// What _Pragma("...") at p says, into *to, as a line. Behind it; NULL if p is none.
static const char* take_pragma(const char* p, char** to) {
    static const char name[] = "_Pragma", as[] = "\n#pragma ";
    const char* text = p + strlen(name);
    if (strncmp(p, name, strlen(name)) != 0) return NULL;
    while (isspace((unsigned char)*text) || *text == '(') text++;
    if (*text != '"') return NULL;
    const char* end = behind(text);
    memcpy(*to, as, strlen(as));
    *to += strlen(as);
    for (text++; text < end && *text != '"'; text++) *(*to)++ = *text;
    *(*to)++ = '\n';
    end += strspn(end, " \t\n");
    return *end == ')' ? end + 1 : end;
}

char* bare_text(const char* text, size_t size, const char* mark) {
    char* from = joined(text, size, mark);
    char *bare = from ? malloc(2 * strlen(from) + 16) : NULL, *to = bare;
    if (bare) *to++ = '\n';
    for (const char* p = from; bare && *p;) {
        const bool comment = p[0] == '/' && (p[1] == '/' || p[1] == '*');
        // 1'000 is a number
        const bool digits = *p == '\'' && p > from && is_word(p[-1]) && is_word(p[1]);
        const char* next = *p == '_' && !is_word(to[-1]) ? take_pragma(p, &to) : NULL;
        if (!next && (comment || *p == '"' || (*p == '\'' && !digits))) {
            next = behind(p);
            for (const char* q = p; q < next; q++)
                if (*q == BARE_MARK) *to++ = *q;
            *to++ = comment ? ' ' : '"';
            if (!comment) *to++ = '"';
        }
        if (!next) *to++ = *p;
        p = next ? next : p + 1;
    }
    if (bare) *to = '\0';
    free(from);
    return bare;
}
