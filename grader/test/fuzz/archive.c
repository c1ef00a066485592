// archive.c: what a student hands in as a zip or tar may be anything; so may be what the program
// says that reads it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "class/told.h"

enum { LIMIT = 1 << 16 };

// Each byte that is handed on must be there to read.
static void take(void* to, enum told kind, const char* name, int64_t time, const void* data,
                 size_t size) {
    size_t* sum = to;
    const unsigned char* bytes = data;
    *sum += strlen(name) + (size_t)time;
    if (size >= SIZE_LIMIT || kind >= TOLD_WHOLE) abort();
    for (size_t i = 0; i < size; i++) *sum += bytes[i];
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static int file = -1;
    static const char* const all[] = {NULL};
    size_t sum = 0, told_size;
    char why[WHY_SIZE] = "", *told;
    if (file < 0) file = memfd_create("archive", 0);
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    if (lseek(file, 0, SEEK_SET) != 0) abort();
    FILE* to = open_memstream(&told, &told_size);
    archive_tell(file, LIMIT, all, to);
    fclose(to);
    if (!told_each(told, told_size, take, &sum, why) && !why[0]) abort();  // a refusal says why
    free(told);
    told_each((const char*)data, size, take, &sum, why);
    return 0;
}
