// fingerprint.c: see fingerprint.h.
#include "wall/fingerprint.h"

#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "wall/build.h"
#include "wall/cache.h"
#include "wall/scratch.h"

enum { SOURCES = 1024, LARGEST_LIST = 1 << 20 };

struct sources {
    char* path[SOURCES];  // owned
    int count;
};

static int add(struct sources* s, const char* path) {
    if (s->count == SOURCES || !(s->path[s->count] = strdup(path))) return -1;
    s->count++;
    return 0;
}

// The fingerprint of a built file covers its sources.
static int add_unless_built(const char* from, const char* to, void* sources) {
    (void)to;
    return strncmp(from, BUILD_FOLDER "/", strlen(BUILD_FOLDER "/")) ? add(sources, from) : 0;
}

// The list that make writes beside the check (make/sources.awk).
static int add_listed(struct sources* s, const char* lesson) {
    char path[512];
    size_t size;
    snprintf(path, sizeof path, BUILD_FOLDER "/grader/%s/sources", lesson);
    char *text = file_read(path, LARGEST_LIST, &size), *rest;
    int result = text ? 0 : -1;
    for (char* line = text ? strtok_r(text, "\n", &rest) : NULL; line && result == 0;
         line = strtok_r(NULL, "\n", &rest))
        result = add(s, line);
    free(text);
    return result;
}

static int by_name(const void* a, const void* b) {
    return strcmp(*(char* const*)a, *(char* const*)b);
}

int fingerprint(const char* lesson, char hex[65]) {
    struct sources s = {.count = 0};
    SHA2_CTX hash;
    SHA256Init(&hash);
    int result = add_listed(&s, lesson);
    if (result == 0 && build_has_kernel(lesson))
        result = scratch_each(lesson, false, add_unless_built, &s);
    qsort(s.path, (size_t)s.count, sizeof s.path[0], by_name);
    for (int i = 0; i < s.count && result == 0; i++)
        if (i == 0 || strcmp(s.path[i - 1], s.path[i]) != 0)
            result = cache_hash_file(&hash, s.path[i], s.path[i]);
    SHA256End(&hash, hex);
    for (int i = 0; i < s.count; i++) free(s.path[i]);
    return result;
}
