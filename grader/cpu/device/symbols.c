// The variables of the device: __device__ and __constant__ at file scope, static ones of kernels.
//
// The rewriter puts them into sections of their own (include/cudev/language.h). The runtime's part
// of each section comes last and is whole pages, so nothing else lies on the variables' pages.
#include "cpu/device/symbols.h"
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 65536 };  // the largest page of the machines that this runs on

#ifdef __x86_64__
#define ZERO ",\"aw\",@nobits#"
#else
#define ZERO ",\"aw\",%nobits//"
#endif
#define SECTION(name, kind, ...)  \
    extern char __start_##name[]; \
    __attribute__((section(#name kind), aligned(PAGE), used)) static __VA_ARGS__

SECTION(cudev_device_zero, ZERO, char device_zero_end[PAGE]);
SECTION(cudev_device_value, "", char device_value_end[PAGE]) = {1};
SECTION(cudev_device_const, "", const char device_const_end[PAGE]) = {1};
SECTION(cudev_constant_zero, ZERO, char constant_zero_end[PAGE]);
SECTION(cudev_constant_value, "", char constant_value_end[PAGE]) = {1};
SECTION(cudev_constant_const, "", const char constant_const_end[PAGE]) = {1};

static const struct {
    char* start;
    const char* end;
    bool constant, fixed;  // in constant memory; const
} sections[] = {
    {__start_cudev_device_zero, device_zero_end, false, false},
    {__start_cudev_device_value, device_value_end, false, false},
    {__start_cudev_device_const, device_const_end, false, true},
    {__start_cudev_constant_zero, constant_zero_end, true, false},
    {__start_cudev_constant_value, constant_value_end, true, false},
    {__start_cudev_constant_const, constant_const_end, true, true},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

struct symbol cudev_symbol_at(const void* p) {
    for (int i = 0; i < SECTIONS; i++)
        if ((const char*)p >= sections[i].start && (const char*)p < sections[i].end)
            return (struct symbol){true, sections[i].constant, sections[i].fixed};
    return (struct symbol){false, false, false};
}

const char* cudev_symbols_end(void) {
    const char* end = sections[0].end;
    for (int i = 1; i < SECTIONS; i++)
        if ((uintptr_t)sections[i].end > (uintptr_t)end) end = sections[i].end;
    return end;
}

void cudev_symbols_protect(enum symbol_access access) {
    for (int i = 0; i < SECTIONS; i++) {
        size_t bytes = (size_t)(sections[i].end - sections[i].start);
        bool reads = access == SYMBOLS_OF_KERNELS && sections[i].constant;
        int protection = access == SYMBOLS_CLOSED ? PROT_NONE
                         : reads                  ? PROT_READ
                                                  : PROT_READ | PROT_WRITE;
        if (bytes && !sections[i].fixed) mprotect(sections[i].start, bytes, protection);
    }
}
