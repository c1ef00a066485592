// Launches of kernels.
#ifndef CUDEV_REWRITE_LAUNCHES_H
#define CUDEV_REWRITE_LAUNCHES_H

#include "cpu/rewrite/tokens.h"

void rewrite_launch(size_t open);  // the launch whose <<< is there
// cudaLaunchKernel((const void*)kernel, ...).
void rewrite_launch_call(size_t i);
// A kernel called like a function runs nothing on a GPU, and nvcc refuses it: so does the compiler
// then.
void check_plain_call(size_t i);

#endif
