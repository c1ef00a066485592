// reduce.h: means over all GPUs of a training, by NCCL, while the default stream goes on.
//
// NCCL is loaded when a training on several GPUs begins: nothing of it is needed to build the
// program, or to train on one GPU.
#ifndef TRAIN_REDUCE_H
#define TRAIN_REDUCE_H

#include <stdint.h>

#include "train/ranks.h"

struct reducer;

// Takes the GPU of this rank for this process, and meets the other ranks. `library` is NCCL's file
// or the name that the loader looks for; the CPU device has one of its own, nccl_cpu.c. Puts NULL
// into *made if there is one rank. Returns an enum course_status, after a message on stderr if that
// is not COURSE_OK.
int reducer_begin(struct reducer** made, const struct ranks* ranks, const char* library);

// Frees all of it, also after an error. NULL is fine, here and below.
void reducer_end(struct reducer* r);

// An array in device memory, `count` elements.
struct reduced {
    void* array_gpu;
    int64_t count;
};

// Takes the mean over all ranks of each array, in place: on a stream of its own, behind the means
// before it, when what the default stream has been given so far is done. The default stream does
// not wait: nothing that it is given before reducer_wait() may touch these arrays. Every rank calls
// it with the same counts in the same order. Returns an enum course_status, after a message on
// stderr. The first is for arrays of bf16.
int reducer_mean(struct reducer* r, const struct reduced* arrays, int count);
int reducer_mean_floats(struct reducer* r, float* array_gpu, int64_t count);

// What the default stream is given from here on starts when all means are there. The host does not
// wait.
int reducer_wait(struct reducer* r);

#endif
