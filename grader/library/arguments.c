// arguments.c: what call.c asks for (run/run.h), out of the arguments of library_call().
#include <stdio.h>
#include <string.h>

#include "library/library.h"
#include "run/run.h"

// Of this thread: PyTorch runs a backward pass in a thread of its own.
static _Thread_local struct {
    const struct library_argument* first;
    int count;
    char missing[64];
} now;

void library_take(const struct library_argument* arguments, int count) {
    now.first = arguments;
    now.count = count;
    now.missing[0] = '\0';
}

const char* library_missing(void) {
    return now.missing[0] ? now.missing : NULL;
}

// The argument of that name whose kind is `first` to `last`. One that is not there is all zeros,
// with which a launcher does nothing, and remembered.
static const struct library_argument* find(const char* name, enum library_kind first,
                                           enum library_kind last) {
    static const struct library_argument none;
    for (int i = 0; i < now.count; i++) {
        const struct library_argument* a = &now.first[i];
        if (a->kind >= (int64_t)first && a->kind <= (int64_t)last && !strcmp(a->name, name))
            return a;
    }
    if (!now.missing[0]) snprintf(now.missing, sizeof now.missing, "%s", name);
    return &none;
}

void* run_gpu(const char* name) {
    return find(name, LIBRARY_INPUT, LIBRARY_BOTH)->pointer;
}

int64_t run_int(const char* name) {
    return find(name, LIBRARY_INT, LIBRARY_INT)->number[0];
}

double run_real(const char* name) {
    return find(name, LIBRARY_REAL, LIBRARY_REAL)->real;
}

struct strides run_strides(const char* array) {
    const int64_t* stride = find(array, LIBRARY_STRIDES, LIBRARY_STRIDES)->number;
    return (struct strides){stride[0], stride[1], stride[2]};
}
