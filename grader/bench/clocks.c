// clocks.c: NVML's figures. The library comes with the driver, its header does not. So this file
// declares what it uses, after https://docs.nvidia.com/deploy/nvml-api/.
#include "bench/clocks.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SM_CLOCK = 1 };  // NVML_CLOCK_SM

static const struct {
    unsigned long long mask;  // of NVML's reasons
    const char* name;
} reasons[] = {
    {0x4 | 0x80, "power"},         // the power cap; the brake on the board
    {0x20 | 0x40, "heat"},         // by the driver; by the hardware
    {0x2 | 0x10 | 0x8, "setting"}  // clocks set by somebody, or for several cards; other slowdowns
};

static int (*clock_info)(void* device, unsigned type, unsigned* mhz);
static int (*limits)(void* device, unsigned long long* mask);
static void* device;

static unsigned slowest;
static unsigned long long seen;

static bool function(void* library, const char* name, void* pointer) {
    void* symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void open_library(void) {
    static bool tried;
    if (tried) return;
    tried = true;
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(void);
    int (*by_bus)(const char* bus, void** of);
    char bus[32];
    if (!library || !function(library, "nvmlInit_v2", &init) ||
        !function(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus) ||
        !function(library, "nvmlDeviceGetClockInfo", &clock_info) ||
        !function(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &limits))
        return;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, 0) != cudaSuccess || init() != 0 ||
        by_bus(bus, &device) != 0)
        device = NULL;
}

void clocks_begin(void) {
    open_library();
    slowest = 0;
    seen = 0;
}

void clocks_sample(void) {
    unsigned mhz;
    unsigned long long mask;
    if (!device) return;
    if (clock_info(device, SM_CLOCK, &mhz) == 0 && (!slowest || mhz < slowest)) slowest = mhz;
    if (limits(device, &mask) == 0) seen |= mask;
}

unsigned clocks_slowest(void) {
    return slowest;
}

const char* clocks_limited_by(void) {
    static char text[64];
    text[0] = '\0';
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (seen & reasons[i].mask)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? "+" : "",
                     reasons[i].name);
    return text;
}
