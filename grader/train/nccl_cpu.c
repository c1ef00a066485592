// nccl_cpu.c: what takes NCCL's place on the CPU device: means over processes by memory that they
// share. A library of its own, loaded as NCCL is, with the functions that reduce.c asks for.
//
// It keeps NCCL's rules: what is asked for in a group happens at the group's end, in the order in
// which it was asked for, and a call comes back when all ranks have made theirs. The sum is made in
// float, in the order of the ranks, and rounded once, so that all ranks get the same bits.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE };
enum { FLOAT = 7, BF16 = 9, MEAN = 4 };
enum { SLOT_BYTES = 1 << 18, MOST_CALLS = 64 };

struct id {
    char name[128];  // of the memory
};

// At the beginning of the memory; behind it a slot for each rank.
struct meeting {
    atomic_int ready, attached;
    pthread_barrier_t barrier;
};

struct comm {
    struct meeting* meeting;
    unsigned char* slots;
    size_t bytes;
    int rank, count;
    unsigned char mean[SLOT_BYTES];
};

struct call {
    const void* from;
    void* to;
    size_t count;
    int type;
    struct comm* comm;
};

static int depth, calls;  // of groups; asked for in this one
static struct call asked[MOST_CALLS];

int ncclGetVersion(int* version) {
    *version = 21000;
    return SUCCESS;
}

const char* ncclGetErrorString(int result) {
    static const char* const words[] = {"no error",       "a CUDA error",
                                        "a system error", "an internal error",
                                        "a bad argument", "a call that does not fit here"};
    return result >= SUCCESS && result <= INVALID_USAGE ? words[result] : "an unknown error";
}

int ncclGetUniqueId(struct id* id) {
    static int made;
    memset(id, 0, sizeof *id);
    snprintf(id->name, sizeof id->name, "/nccl-cpu-%d-%d", (int)getpid(), made++);
    int file = shm_open(id->name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0) return SYSTEM_ERROR;
    close(file);
    return SUCCESS;
}

// Rank 0 makes the barrier; the last one to come takes the memory's name away.
int ncclCommInitRank(struct comm** made, int count, struct id id, int rank) {
    *made = NULL;
    if (count < 1 || rank < 0 || rank >= count) return INVALID_ARGUMENT;
    struct comm* c = calloc(1, sizeof *c);
    if (!c) return SYSTEM_ERROR;
    *c = (struct comm){.rank = rank, .count = count};
    c->bytes = sizeof *c->meeting + (size_t)count * SLOT_BYTES;
    int file = shm_open(id.name, O_RDWR, 0600);
    void* memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, (off_t)c->bytes) == 0)
        memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) {
        free(c);
        return SYSTEM_ERROR;
    }
    c->meeting = memory;
    c->slots = (unsigned char*)memory + sizeof *c->meeting;
    if (rank == 0) {
        pthread_barrierattr_t shared;
        pthread_barrierattr_init(&shared);
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&c->meeting->barrier, &shared, (unsigned)count);
        atomic_store(&c->meeting->ready, 1);
    }
    while (!atomic_load(&c->meeting->ready)) usleep(1000);
    if (atomic_fetch_add(&c->meeting->attached, 1) == count - 1) shm_unlink(id.name);
    pthread_barrier_wait(&c->meeting->barrier);
    *made = c;
    return SUCCESS;
}

int ncclCommDestroy(struct comm* c) {
    munmap(c->meeting, c->bytes);
    free(c);
    return SUCCESS;
}

// ---- means

static float from_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

// To the nearest, of two the even one.
static uint16_t to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Of n numbers of each slot.
static void mean_of(struct comm* c, size_t n, int type) {
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int rank = 0; rank < c->count; rank++) {
            const unsigned char* slot = c->slots + (size_t)rank * SLOT_BYTES;
            sum += type == FLOAT ? ((const float*)slot)[i] : from_bf16(((const uint16_t*)slot)[i]);
        }
        sum /= (float)c->count;
        if (type == FLOAT)
            ((float*)c->mean)[i] = sum;
        else
            ((uint16_t*)c->mean)[i] = to_bf16(sum);
    }
}

static int run(const struct call* call) {
    struct comm* c = call->comm;
    const size_t size = call->type == FLOAT ? 4 : 2, most = SLOT_BYTES / size;
    for (size_t done = 0; done < call->count; done += most) {
        const size_t n = call->count - done < most ? call->count - done : most;
        if (cudaMemcpy(c->slots + (size_t)c->rank * SLOT_BYTES,
                       (const char*)call->from + done * size, n * size,
                       cudaMemcpyDeviceToHost) != cudaSuccess)
            return CUDA_ERROR;
        pthread_barrier_wait(&c->meeting->barrier);  // the slots are written -> read
        mean_of(c, n, call->type);
        if (cudaMemcpy((char*)call->to + done * size, c->mean, n * size, cudaMemcpyHostToDevice) !=
            cudaSuccess)
            return CUDA_ERROR;
        pthread_barrier_wait(&c->meeting->barrier);  // read -> written again
    }
    return SUCCESS;
}

int ncclGroupStart(void) {
    depth++;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    if (depth == 0) return INVALID_USAGE;
    if (--depth > 0) return SUCCESS;
    const int all = calls;
    calls = 0;
    for (int i = 0; i < all; i++) {
        int result = run(&asked[i]);
        if (result != SUCCESS) return result;
    }
    return SUCCESS;
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation,
                  struct comm* comm, cudaStream_t stream) {
    (void)stream;  // on the CPU device all that was submitted is done
    if (!comm || (type != FLOAT && type != BF16) || operation != MEAN) return INVALID_ARGUMENT;
    if (calls == MOST_CALLS) return INTERNAL_ERROR;
    asked[calls++] = (struct call){from, to, count, type, comm};
    if (depth > 0) return SUCCESS;
    depth = 1;
    return ncclGroupEnd();
}
