// kernels.h: the ten kernels of lesson 22, by the numbers of their sections in bug_hunt.cu. call.c
// has the same.
#ifndef KERNELS_H
#define KERNELS_H

enum kernel {
    WARP_SUMS = 1,
    TRANSPOSE,
    SCALE_ROWS,
    DIVIDE_BY_COUNT,
    REVERSE_ROWS,
    ATTEND,
    GROUP_SUMS,
    CHUNK_SUMS,
    MASKED_SOFTMAX,
    LOGSUMEXP,
};

#endif
