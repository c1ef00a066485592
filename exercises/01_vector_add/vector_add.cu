// vector_add.cu: c = a + b on the GPU, from host memory to host memory.
//
// One thread adds one pair of numbers; the grid is large enough for all of them. Slower versions on
// the way here: steps/1_one_thread.cu, steps/2_one_block.cu.
//
//     make grade LESSON=01
#include "vector_add.h"

enum {
    BLOCK = 256,  // threads per block: a multiple of the warp size (32), at most 1024
};

// ---- GPU kernel

// c = a + b                                (README eq. 1)
__global__ void vector_add_kernel(float* c,        // (n)  out
                                  const float* a,  // (n)
                                  const float* b,  // (n)
                                  int64_t n) {
    // your code goes here (about 2 lines): find this thread's element i; add it if there is one
}

// ---- launcher

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    // your code goes here (about 3 lines): refuse bad arguments; nothing to do is not an error

    int status = COURSE_CUDA_ERROR;  // until the sum has arrived in c
    // your code goes here (about 20 lines): allocate, copy in, launch, copy back, free
    return status;
}
