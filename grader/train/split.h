// split.h: a weight gradient on a Hopper GPU whose sums are cut, so that all multiprocessors work.
#ifndef TRAIN_SPLIT_H
#define TRAIN_SPLIT_H

#include "course.h"

COURSE_BEGIN_C

// dW = dY^T X as lesson 24's product makes it has a tile for each block, and a small dW has few: a
// model of 768 channels has 18 of W_proj, beside sums of 16384 terms. Here each sum is cut into
// slices, a block for each tile and slice; the slices' sums are then added in their order, so that
// the result is repeatable.
//
// How many slices there are: as many as leave each multiprocessor at most one block, fewer if they
// were short or the workspace had no room. 1: the product is better lesson 24's own.
int split_slices(int rows, int outputs, int inputs);

// Returns COURSE_UNSUPPORTED for what TMA cannot copy, COURSE_CUDA_ERROR if a launch failed, else
// COURSE_OK. Kernels run in the default stream; nothing is allocated or waited for.
int split_product(bf16* dW_gpu,          // (outputs, inputs)  out; multiples of 8
                  const bf16* dY_gpu,    // (rows, outputs)    all aligned to 16 bytes
                  const bf16* X_gpu,     // (rows, inputs)
                  float* workspace_gpu,  // (slices, outputs, inputs); of split_slices() slices
                                         // these are at most rows * outputs / 2
                  int rows, int outputs, int inputs, int slices);

COURSE_END_C

#endif
