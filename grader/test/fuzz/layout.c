// layout.c: the names of what was handed in, and Gradescope's list of who did: whatever they are,
// each entry is one student's or nobody's, and each student has an id that is a file's name.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "class/class.h"

enum { MOST = 64 };

// The next line of the input, as UTF-8; NULL at its end.
static char* next_line(const char** at, const char* end) {
    if (*at >= end) return NULL;
    const char* stop = memchr(*at, '\n', (size_t)(end - *at));
    size_t n = (size_t)((stop ? stop : end) - *at);
    char* line = name_utf8(*at, n < TOLD_NAME ? n : TOLD_NAME, "windows-1252");
    *at += n + 1;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static char* known[] = {"01_vector_add", "17_gqa", "21_flop_counting"};
    struct class class = {.submissions = "fuzz-submissions",
                          .known_lesson = known,
                          .known_lessons = 3,
                          .lesson = {{.name = "17_gqa", .file = "gqa.cu"},
                                     {.name = "21_flop_counting", .file = "answers.txt"}}};
    if (size < 1) return 0;
    class.lessons = data[0] & 1 ? 1 : 2;
    class.plain = data[0] & 2;
    class.roster_kind = (data[0] >> 2) % 4;
    class.entry = calloc(MOST, sizeof *class.entry);
    const char *at = (const char*)data + 1, *end = (const char*)data + size;
    for (char* path; class.entries < MOST && (path = next_line(&at, end)); class.entries++) {
        struct entry* e = &class.entry[class.entries];
        e->kind = (unsigned char)path[0] % 5;
        e->path = path;
        if (strcmp(base_name(path), METADATA_FILE) != 0) continue;
        e->size = at < end ? (size_t)(end - at) : 0;
        e->data = malloc(e->size + 1);
        memcpy(e->data, at < end ? at : "", e->size);
        at = end;
    }
    if (class.entries > 0) layout(&class);
    for (int i = 0; i < class.entries; i++) {
        const struct entry* e = &class.entry[i];
        if (e->handin >= class.handins || (e->handin >= 0 && !strstr(e->path, e->inside))) abort();
    }
    for (int i = 0; i < class.handins; i++)
        if (class.handin[i].row < 0 || class.handin[i].row >= class.rows) abort();
    for (int i = 0; i < class.rows; i++) {
        char shown[ID_SIZE];
        snprintf(shown, sizeof shown, "%s", class.row[i].id);
        plain_line(shown);
        if (strchr(class.row[i].id, '/') || strcmp(shown, class.row[i].id) != 0) abort();
        for (int k = 0; k < i; k++)
            if (!strcmp(class.row[k].id, class.row[i].id)) abort();
    }
    tree_free(&class);
    free(class.row);
    free(class.handin);
    return 0;
}
