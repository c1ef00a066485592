// gate.c: see gate.h. The student's object calls gate_printf() where it says printf() (run/gated;
// the names are changed in the object): C's functions that follow pointers do so for the student
// without being watched, so each is looked at here first.
#include "run/gate.h"

#ifdef CPU_DEVICE

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu/include/cuda_runtime_api.h"
#include "cpu/include/cudev.h"
#include "run/host.h"
#include "run/meter.h"
#include "run/starts.h"

static struct { char *tensors, *tensors_end; } own;  // NULL: none of the student's code has run

// Where the student's functions begin: the compiler lists these addresses, and nobody else's
// (-fpatchable-function-entry). The linker names the ends of the list.
#pragma weak __start___patchable_function_entries
#pragma weak __stop___patchable_function_entries
extern const uintptr_t __start___patchable_function_entries[];
extern const uintptr_t __stop___patchable_function_entries[];
_Alignas(4096) unsigned char gate_starts[STARTS_REACH / 8];

static void note_starts(void) {
    const uintptr_t* end = __stop___patchable_function_entries;
    for (const uintptr_t* at = __start___patchable_function_entries; at < end; at++)
        if (*at < STARTS_REACH) gate_starts[*at / 8] |= (unsigned char)(1 << *at % 8);
    if (mprotect(gate_starts, sizeof gate_starts, PROT_READ) != 0) abort();
}

void gate_start(void* tensors, size_t bytes) {
    static bool noted;
    if (!noted) note_starts();
    noted = true;
    own.tensors = tensors;
    own.tensors_end = own.tensors + bytes;
}

// A call through a pointer that is not the beginning of a function of the student (calls.S). The
// address of a label comes here as well: CUDA has none.
void gate_foreign_call(void) {
    cudev_refuse("a call through a pointer that is no function of this file, or a goto *",
                 "use the name of the function, or a switch");
}

// ---- memory of the host

static void host_only(const char* function) {
    char what[64];
    snprintf(what, sizeof what, "%s() in a kernel", function);
    if (cudev_is_kernel())
        cudev_refuse(what, "use memory from cudaMalloc that the kernel is given, or __shared__");
}

void* gate_malloc(size_t bytes) {
    host_only("malloc");
    meter_note_host(bytes);
    return host_allocate(bytes);
}

void* gate_calloc(size_t count, size_t bytes) {
    host_only("calloc");
    size_t all;
    void* block = __builtin_mul_overflow(count, bytes, &all) ? NULL : host_allocate(all);
    if (block) meter_note_host(all);
    return block ? memset(block, 0, all) : NULL;
}

void gate_free(void* p) {
    host_only("free");
    if (p && !host_free(p))
        cudev_refuse("free() of a pointer that malloc() did not give", "free each block once");
}

void* gate_realloc(void* p, size_t bytes) {
    void* larger = gate_malloc(bytes);
    size_t before;
    if (!larger || !p) return larger;
    if (host_bytes(p, &before)) memcpy(larger, p, before < bytes ? before : bytes);
    gate_free(p);
    return larger;
}

// C++'s new and delete, by their names in an object.
#define NEW(name)                              \
    void* name(size_t bytes) {                 \
        return gate_malloc(bytes ? bytes : 1); \
    }
#define DELETE(name)     \
    void name(void* p) { \
        gate_free(p);    \
    }
NEW(gate__Znwm)
NEW(gate__Znam)
DELETE(gate__ZdlPv)
DELETE(gate__ZdlPvm)
DELETE(gate__ZdaPv)
DELETE(gate__ZdaPvm)

// May these bytes be written? Instrumented host code asks before each write (cudev.h).
int cudev_may_write(const void* address, size_t bytes) {
    const char *p = address, *end = p + bytes;
    if (!own.tensors) return 1;
    if (p >= own.tensors && end <= own.tensors_end) return 1;
    return host_owns(p, bytes, __builtin_frame_address(0));
}

int cudev_is_host_memory(const void* address) {
    return host_owns(address, 1, NULL);
}

// ---- the runtime: gate_calls.awk has a function for each of its own

void gate_call(const char* function) {
    char what[80];
    snprintf(what, sizeof what, "%s(), a function of the host, in a kernel", function);
    if (cudev_is_kernel()) cudev_refuse(what, "call it in the launcher");
}

void gate_output(const char* function, const void* output, size_t bytes) {
    char what[80];
    snprintf(what, sizeof what, "%s() that writes to memory of others", function);
    if (output && !cudev_may_write(output, bytes))
        cudev_refuse(what, "give it the address of a variable of the launcher");
}

static bool is_of_device(const void* p) {
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type != cudaMemoryTypeUnregistered;
}

void gate_copy(const char* function, const void* from, int kind, const void* to, size_t bytes) {
    if (bytes == 0 || !own.tensors || is_of_device(to)) return;
    // CUDA refuses these, and writes nothing
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) return;
    if (kind == cudaMemcpyDeviceToHost && !is_of_device(from)) return;
    gate_output(function, to, bytes);
}

// ---- random numbers: a state that threads of a kernel would share unseen

int gate_rand(void) {
    host_only("rand");
    return rand();
}

void gate_srand(unsigned seed) {
    host_only("srand");
    srand(seed);
}

// ---- printing: to stdout and stderr; %n, which writes to memory, does not exist in CUDA either

static bool may_print(const char* format, FILE* stream) {
    for (const char* p = format; (p = strchr(p, '%')); p++) {
        p++;
        p += strspn(p, "0123456789+-# .*'hlqjztL$");
        if (*p == 'n') cudev_refuse("%n in a format", "use the number itself");
        // libraries have flags of their own, which %n could stand behind: %In
        if (*p && !strchr("diouxXeEfFgGaAcspm%", *p))
            cudev_refuse("a format with a conversion that CUDA lacks", "use one of C's");
        if (!*p) break;
    }
    if (stream == stdout || stream == stderr) return true;
    cudev_refuse("printing to what is neither stdout nor stderr", "use printf()");
    return false;
}

int gate_printf(const char* format, ...) {
    va_list args;
    if (!may_print(format, stdout)) return -1;
    va_start(args, format);
    int n = vprintf(format, args);
    va_end(args);
    return n;
}

int gate_fprintf(FILE* stream, const char* format, ...) {
    va_list args;
    if (!may_print(format, stream)) return -1;
    va_start(args, format);
    int n = vfprintf(stream, format, args);
    va_end(args);
    return n;
}

int gate_puts(const char* text) {
    return puts(text);
}

int gate_putchar(int c) {
    return putchar(c);
}

int gate_fputs(const char* text, FILE* stream) {
    return may_print("", stream) ? fputs(text, stream) : EOF;
}

int gate_fputc(int c, FILE* stream) {
    return may_print("", stream) ? fputc(c, stream) : EOF;
}

size_t gate_fwrite(const void* data, size_t bytes, size_t count, FILE* stream) {
    return may_print("", stream) ? fwrite(data, bytes, count, stream) : 0;
}

int gate_fflush(FILE* stream) {
    return !stream || may_print("", stream) ? fflush(stream) : EOF;
}

#else  // on a GPU nothing of all that is watched

void gate_start(void* tensors, size_t bytes) {
    (void)tensors, (void)bytes;
}

#endif
