// Facts about a kernel at its launch: how much shared memory it may have, and its pointer
// arguments.
#include "cpu/device/worker.h"
#include <limits.h>
#include <string.h>
#include "cpu/device/allocations.h"
#include "cpu/device/any.h"
#include "cpu/device/far.h"
#include "cpu/device/memory.h"
#include "cpu/device/errors.h"
#include "cpu/device/report.h"
#include "cpu/device/symbols.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

enum { MAX_KERNELS = 512, MAX_NESTED = 32 };
static struct {
    const void* kernel;
    int device;
    size_t bytes;
} limits[MAX_KERNELS];
static int limit_count;

cudaError_t cudaFuncSetAttribute(const void* kernel, enum cudaFuncAttribute attribute, int value) {
    if (!kernel)
        return cudev_fail(cudaErrorInvalidDeviceFunction, "cudaFuncSetAttribute",
                          "no kernel given");
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a hint
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudev_fail(cudaErrorInvalidValue, "cudaFuncSetAttribute", "unknown attribute %d",
                          (int)attribute);
    if (value < 0 || (size_t)value > cudev_card()->shared_block)
        return cudev_fail(cudaErrorInvalidValue, "cudaFuncSetAttribute",
                          "%d bytes of shared memory; a block has at most %zu (%zu KB) on %s",
                          value, cudev_card()->shared_block, cudev_card()->shared_block >> 10,
                          cudev_card()->name);
    int i = 0, devices, device = cudev_device(&devices);
    while (i < limit_count && (limits[i].kernel != kernel || limits[i].device != device)) i++;
    if (i == MAX_KERNELS)
        return cudev_fail(cudaErrorInvalidValue, "cudaFuncSetAttribute", "more than %d kernels",
                          MAX_KERNELS);
    if (i == limit_count) limit_count++;
    limits[i].kernel = kernel;
    limits[i].device = device;
    limits[i].bytes = (size_t)value;
    return cudaSuccess;
}

bool cudev_shared_limit(const struct cudev_launch_site* site, size_t* limit) {
    int devices;
    const int device = cudev_device(&devices);
    size_t asked = 0;
    for (int i = 0; i < limit_count; i++)
        if ((limits[i].kernel == site->kernel || !site->kernel) && limits[i].device == device &&
            limits[i].bytes > asked)
            asked = limits[i].bytes;
    *limit = asked > STATIC_SHARED_LIMIT ? asked : STATIC_SHARED_LIMIT;
    return asked > 0;
}

cudaError_t cudev_configure(struct cudev_launch_site* site, const cudaLaunchConfig_t* config) {
    if (!config || (config->numAttrs && !config->attrs)) return cudev_null("cudaLaunchKernelEx");
    const dim3 *g = &config->gridDim, *b = &config->blockDim;
    const unsigned grid[3] = {g->x, g->y, g->z}, block[3] = {b->x, b->y, b->z};
    memcpy(site->grid, grid, sizeof grid);
    memcpy(site->block, block, sizeof block);
    site->shared_bytes = config->dynamicSmemBytes;
    site->stream = config->stream;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttributeValue* v = &config->attrs[i].val;
        switch ((int)config->attrs[i].id) {
        case cudaLaunchAttributeIgnore:
        case cudaLaunchAttributePriority:
        case cudaLaunchAttributePreferredSharedMemoryCarveout:
            break;
        case cudaLaunchAttributeClusterDimension:
            if (site->cluster > 1 && site->cluster != v->clusterDim.x)
                return cudev_fail(cudaErrorInvalidValue, "cudaLaunchKernelEx",
                                  "%s has __cluster_dims__() already, of another size", site->name);
            site->cluster =
                v->clusterDim.y == 1 && v->clusterDim.z == 1 ? v->clusterDim.x : UINT_MAX;
            break;
        case cudaLaunchAttributeProgrammaticStreamSerialization:
            site->overlaps = v->programmaticStreamSerializationAllowed != 0;
            break;
        default:
            return cudev_fail(cudaErrorNotSupported, "cudaLaunchKernelEx",
                              "attribute %d of %s is not here: there are clusterDim and "
                              "programmaticStreamSerializationAllowed",
                              (int)config->attrs[i].id, site->name);
        }
    }
    if (site->overlaps && cudev_card()->major < 9)
        return cudev_fail(cudaErrorNotSupported, "cudaLaunchKernelEx",
                          "launches overlap on a Hopper GPU alone: CARD=h200");
    return cudaSuccess;
}

static __thread struct cudev_launch_site sites[MAX_NESTED];
static __thread unsigned site_count;

void cudev_push_site(const struct cudev_launch_site* site) {
    if (site_count == MAX_NESTED)
        cudev_refuse("launches within the arguments of launches, more than 32 deep",
                     "compute the arguments first");
    sites[site_count++] = *site;
}

void cudev_pop_site(struct cudev_launch_site* site) {
    *site = sites[--site_count];
}

// Between arrays of which little is there lie gigabytes. A kernel that is not run touches none.
static void check_hollow(const struct cudev_launch_site* site, int index, const void* address) {
    if (cudev_pool_of(address) != &cudev_hollow || cudev_allocation_at(address)) return;
    cudev_report_begin("bad_address", "argument %d of %s at %s:%d points into no array", index + 1,
                       site->name, site->file, site->line);
    cudev_report_add("  next: compute in 64 bits where an array begins\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_check_argument(const struct cudev_launch_site* site, int index, const volatile void* p,
                          size_t bytes) {
    const void* near = cudev_near((const void*)p, 1);
    const void* address = near ? near : (const void*)p;
    if (cudev_watcher) cudev_watcher->argument(site, index, address, bytes);
    check_hollow(site, index, address);
    if (!p || cudev_is_far(address) || cudev_is_device_address(address) ||
        cudev_allocation_at(address) || cudev_is_symbol(address) ||
        cudev_shares(address, bytes ? bytes : 1) || cudev_in_heap(address, 1))
        return;
    cudev_report_begin(
        "host_pointer",
        "host pointer passed to a kernel: argument %d of %s at %s:%d is %p, which is not "
        "device memory",
        index + 1, site->name, site->file, site->line, address);
    cudev_report_add(
        "  next: allocate with cudaMalloc, copy with cudaMemcpy, and pass that pointer\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}
