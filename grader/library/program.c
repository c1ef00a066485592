// program.c: the program that runs a kernel on the CPU device for spawn.c: copies the arrays to the
// device, has call.c call the launcher, copies the outputs back. A kernel that the device stops
// ends it, with the device's own words on stderr.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "library/library.h"
#include "library/packed.h"
#include "run/run.h"

static void need(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

// The file, whose size stands at its beginning.
static char* map_file(void) {
    int64_t bytes;
    struct packed* head =
        mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, PACKED_FILE, 0);
    if (head != MAP_FAILED) {
        bytes = head->bytes;
        munmap(head, sizeof *head);
        head = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, PACKED_FILE, 0);
    }
    if (head != MAP_FAILED) return (char*)head;
    fprintf(stderr,
            "this program is started by the library beside it, with the arrays of a call\n");
    exit(1);
}

int main(void) {
    char* file = map_file();
    struct packed* head = (struct packed*)file;
    const int count = (int)head->count;
    struct library_argument* packed = (struct library_argument*)(head + 1);
    struct library_argument* arguments = calloc((size_t)count + 1, sizeof *arguments);
    if (!arguments) need(cudaErrorMemoryAllocation, "the arguments");
    for (int i = 0; i < count; i++) {
        arguments[i] = packed[i];
        arguments[i].name = file + (size_t)packed[i].name;
        if (!packed[i].pointer) continue;
        const size_t bytes = (size_t)packed[i].bytes;
        need(cudaMalloc(&arguments[i].pointer, bytes), "no device memory");
        // An output stays what fresh memory of the device is, NaN: what nobody writes is seen.
        if (packed[i].kind == LIBRARY_OUTPUT) continue;
        need(cudaMemcpy(arguments[i].pointer, file + (size_t)packed[i].pointer, bytes,
                        cudaMemcpyHostToDevice),
             "to the device");
    }
    library_take(arguments, count);
    int status = call();
    need(cudaDeviceSynchronize(), "the kernel");
    if (library_missing()) {
        status = LIBRARY_MISSING;
        snprintf(head->missing, sizeof head->missing, "%s", library_missing());
    }
    for (int i = 0; i < count; i++) {
        if (!packed[i].pointer) continue;
        if (packed[i].kind != LIBRARY_INPUT)
            need(cudaMemcpy(file + (size_t)packed[i].pointer, arguments[i].pointer,
                            (size_t)packed[i].bytes, cudaMemcpyDeviceToHost),
                 "from the device");
        need(cudaFree(arguments[i].pointer), "cudaFree");  // looks at the guards around the array
    }
    free(arguments);
    head->status = status;
    return 0;
}
