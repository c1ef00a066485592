// inspect.c: inspection reads any file that a compile may leave in out/. The first byte says which
// of them the rest is; each of the others is one in which there is nothing to refuse.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "wall/inspect.h"

static const char plain[] = "# 1 \"x.cu\"\nextern \"C\" int add(float* c) { return 0; }\n";
static struct {
    const char *name, *usual;
} files[] = {
    {"unit.ii", plain},
    {"watched.ii", plain},
    {"source/unit.cpp", "#line 1 \"x.cu\"\nextern \"C\" int add(float* c) { return 0; }\n"},
    {"source/unit.cu", "extern \"C\" int add(float* c) { return 0; }\n"},
    {"alone.ii", "# 1 \"x.cu\"\n"},
    {"alone-watched.ii", "# 1 \"x.cu\"\n"},
    {"unit.s", "\t.text\nadd:\n\tret\n"},
    {"deps", "out/unit.s: out/source/unit.cpp include/add.h /usr/include/math.h\n"},
    {"symbols", "add T 0 6\tx.cu:1\ncudaMalloc U\nexpf U\n"},
    {"symbols-watched", "add T 0 6\n__tsan_write4 U\n"},
    {"sections", "  [ 1] .text PROGBITS 0000 000040\n"},
    {"wanted", "add\nmemcpy\n"},
    {"device", "void cudaMalloc();"},
    {"watching", ""},
    {"runner", "run_fetch\n"},
    {"gated", "printf\n"},
    {"by_value", ""},
    {"beside", ""},
    {"endless", ""}};
enum { FILES = sizeof files / sizeof files[0] };

static const char* path(int i) {
    static char folder[64], text[128];
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/dev/shm/fuzz-inspect.%d", (int)getpid());
        mkdir(folder, 0700);
        snprintf(text, sizeof text, "%s/source", folder);
        mkdir(text, 0700);
    }
    if (i < 0) return folder;
    snprintf(text, sizeof text, "%s/%s", folder, files[i].name);
    return text;
}

static void remove_folder(void) {
    char source[128];
    for (int i = 0; i < FILES; i++) unlink(path(i));
    snprintf(source, sizeof source, "%s/source", path(-1));
    rmdir(source);
    rmdir(path(-1));
}

static void put(int i, const void* data, size_t size) {
    FILE* f = fopen(path(i), "w");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static char before;
    char message[512], name[64];
    if (size == 0) return 0;
    if (!before++) {
        atexit(remove_folder);
        for (int i = 0; i < FILES; i++) put(i, files[i].usual, strlen(files[i].usual));
    }
    int i = data[0] % FILES;
    put(i, data + 1, size - 1);
    enum inspection end = inspect_unit(path(-1), "x.cu", "add", message, sizeof message);
    if (end == INSPECTION_HAS_NOTHING) abort();
    inspect_missing(path(-1), "add", name, sizeof name);
    put(i, files[i].usual, strlen(files[i].usual));
    return 0;
}
