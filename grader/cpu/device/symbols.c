// The variables of the device: __device__ and __constant__ at file scope, static ones of kernels.
//
// The rewriter puts them into sections of their own (include/cudev/language.h). The runtime's parts
// of these sections come last and are whole pages, so nothing else lies on the variables' pages.
#include "cpu/device/symbols.h"
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 65536 };  // the largest page of the machines that this runs on

#define LAST(section_name) __attribute__((section(section_name), aligned(PAGE), used)) static char
#ifdef __x86_64__
LAST("cudev_bss,\"aw\",@nobits#") unset_end[PAGE];
#else
LAST("cudev_bss,\"aw\",%nobits//") unset_end[PAGE];
#endif
LAST("cudev_data") values_end[PAGE] = {1};
__attribute__((section("cudev_const"), used)) static const char constants_end[16] = {1};

extern char __start_cudev_bss[], __start_cudev_data[];
extern const char __start_cudev_const[];

static bool within(const void* p, const char* start, const char* end) {
    return (const char*)p >= start && (const char*)p < end;
}

bool cudev_is_symbol(const void* p) {
    return within(p, __start_cudev_bss, unset_end) || within(p, __start_cudev_data, values_end) ||
           cudev_is_constant_symbol(p);
}

bool cudev_is_constant_symbol(const void* p) {
    return within(p, __start_cudev_const, constants_end);
}

const char* cudev_symbols_end(void) {
    const char *unset = unset_end, *values = values_end;
    return (uintptr_t)unset > (uintptr_t)values ? unset : values;
}

static void protect(char* start, const char* end, int protection) {
    if (start != end) mprotect(start, (size_t)(end - start), protection);
}

void cudev_symbols_protect(bool open) {
    const int protection = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    protect(__start_cudev_bss, unset_end, protection);
    protect(__start_cudev_data, values_end, protection);
}
