// reduce.c: see reduce.h. NCCL's header is not needed: what is used of it is declared here, after
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html. These numbers and calls are
// its binary interface from 2.10 on.
#include "train/reduce.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"

enum { NCCL_FLOAT = 7, NCCL_BF16 = 9, NCCL_MEAN = 4, NCCL_OLDEST = 21000 };

struct nccl_id {  // ncclUniqueId
    unsigned char bytes[RANKS_ID_BYTES];
};

struct reducer {
    void* library;
    int (*get_version)(int* version);
    int (*get_unique_id)(struct nccl_id* id);
    int (*comm_init_rank)(void** comm, int count, struct nccl_id id, int rank);
    int (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, void* comm,
                      cudaStream_t stream);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*comm_destroy)(void* comm);
    const char* (*get_error_string)(int result);
    void* comm;
    cudaStream_t stream;
    cudaEvent_t written, reduced;  // by the default stream; by this one
};

static bool function(const struct reducer* r, const char* name, void* pointer) {
    void* symbol = dlsym(r->library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int open_library(struct reducer* r, const char* name, int ranks) {
    int version = 0;
    r->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!r->library) {
        fprintf(stderr,
                "make train: GPUS=%d needs NCCL, which cannot be loaded: %s.\nInstall it "
                "(libnccl2), or "
                "say where it is, NCCL=folder/libnccl.so.2; PyTorch's lies in "
                "site-packages/nvidia/nccl/lib.\n",
                ranks, dlerror());
        return COURSE_UNSUPPORTED;
    }
    if (!function(r, "ncclGetVersion", &r->get_version) ||
        !function(r, "ncclGetUniqueId", &r->get_unique_id) ||
        !function(r, "ncclCommInitRank", &r->comm_init_rank) ||
        !function(r, "ncclAllReduce", &r->all_reduce) ||
        !function(r, "ncclGroupStart", &r->group_start) ||
        !function(r, "ncclGroupEnd", &r->group_end) ||
        !function(r, "ncclCommDestroy", &r->comm_destroy) ||
        !function(r, "ncclGetErrorString", &r->get_error_string) || r->get_version(&version) != 0 ||
        version < NCCL_OLDEST) {
        fprintf(stderr, "make train: %s is no NCCL from 2.10 on. Say where one is: NCCL=FILE.\n",
                name);
        return COURSE_UNSUPPORTED;
    }
    return COURSE_OK;
}

static int cuda(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return COURSE_OK;
    fprintf(stderr, "make train: %s: %s.\n", what, cudaGetErrorString(error));
    return COURSE_CUDA_ERROR;
}

static int nccl(const struct reducer* r, int result, const char* what) {
    if (result == 0) return COURSE_OK;
    fprintf(stderr,
            "make train: NCCL: %s: %s. With NCCL_DEBUG=INFO in the environment it says more.\n",
            what, r->get_error_string(result));
    return COURSE_CUDA_ERROR;
}

#define TRY(call)                               \
    do {                                        \
        int status = (call);                    \
        if (status != COURSE_OK) return status; \
    } while (0)

// Rank i has GPU i. On the CPU device each process has a device of its own.
static int take_gpu(const struct ranks* ranks) {
#ifdef CPU_DEVICE
    (void)ranks;
    return COURSE_OK;
#else
    int there = 0;
    TRY(cuda(cudaGetDeviceCount(&there), "counting the GPUs"));
    if (there >= ranks->count) return cuda(cudaSetDevice(ranks->rank), "taking a GPU");
    fprintf(stderr, "make train: GPUS=%d, and this machine has %d: GPUS=%d.\n", ranks->count, there,
            there);
    return COURSE_UNSUPPORTED;
#endif
}

static int meet(struct reducer* r, const struct ranks* ranks) {
    struct nccl_id id;
    if (ranks->rank == 0) {
        TRY(nccl(r, r->get_unique_id(&id), "getting an id"));
        memcpy(ranks->shared->id, &id, sizeof id);
    }
    ranks_turn(ranks);
    memcpy(&id, ranks->shared->id, sizeof id);
    return nccl(r, r->comm_init_rank(&r->comm, ranks->count, id, ranks->rank), "connecting");
}

int reducer_begin(struct reducer** made, const struct ranks* ranks, const char* library) {
    *made = NULL;
    if (ranks->count == 1) return COURSE_OK;
    struct reducer* r = *made = calloc(1, sizeof *r);
    if (!r) return COURSE_CUDA_ERROR;
    // Sums in the switch by NVLink's multicast: not on every machine, and on some it does harm.
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    TRY(take_gpu(ranks));
    TRY(open_library(r, library, ranks->count));
    TRY(meet(r, ranks));
    // Not a stream that waits for the default stream and makes it wait. Where both have blocks to
    // start, this one goes first: the other ranks wait for it.
    int least, greatest;
    TRY(cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities"));
    TRY(cuda(cudaStreamCreateWithPriority(&r->stream, cudaStreamNonBlocking, greatest),
             "making a stream"));
    TRY(cuda(cudaEventCreateWithFlags(&r->written, cudaEventDisableTiming), "making an event"));
    return cuda(cudaEventCreateWithFlags(&r->reduced, cudaEventDisableTiming), "making an event");
}

void reducer_end(struct reducer* r) {
    if (!r) return;
    if (r->stream) cudaStreamSynchronize(r->stream);
    if (r->comm) r->comm_destroy(r->comm);
    if (r->written) cudaEventDestroy(r->written);
    if (r->reduced) cudaEventDestroy(r->reduced);
    if (r->stream) cudaStreamDestroy(r->stream);
    free(r);  // the library stays: it may have threads
}

static int mean(struct reducer* r, const struct reduced* arrays, int count, int type) {
    TRY(cuda(cudaEventRecord(r->written, 0), "recording an event"));
    TRY(cuda(cudaStreamWaitEvent(r->stream, r->written, 0), "waiting for an event"));
    TRY(nccl(r, r->group_start(), "a group"));
    int status = COURSE_OK;
    for (int i = 0; i < count && status == COURSE_OK; i++)
        status = nccl(r,
                      r->all_reduce(arrays[i].array_gpu, arrays[i].array_gpu,
                                    (size_t)arrays[i].count, type, NCCL_MEAN, r->comm, r->stream),
                      "a mean over all GPUs");
    int ended = nccl(r, r->group_end(), "means over all GPUs");  // also a group that failed
    return status == COURSE_OK ? ended : status;
}

int reducer_mean(struct reducer* r, const struct reduced* arrays, int count) {
    return r ? mean(r, arrays, count, NCCL_BF16) : COURSE_OK;
}

int reducer_mean_floats(struct reducer* r, float* array_gpu, int64_t count) {
    struct reduced all = {array_gpu, count};
    return r ? mean(r, &all, 1, NCCL_FLOAT) : COURSE_OK;
}

int reducer_wait(struct reducer* r) {
    if (!r) return COURSE_OK;
    TRY(cuda(cudaEventRecord(r->reduced, r->stream), "recording an event"));
    return cuda(cudaStreamWaitEvent(0, r->reduced, 0), "waiting for an event");
}
