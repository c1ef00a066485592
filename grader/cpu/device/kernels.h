// Facts about a kernel at its launch.
#ifndef CUDEV_KERNELS_H
#define CUDEV_KERNELS_H

#include <stdbool.h>
#include "cpu/include/cudev/abi.h"

// The dynamic shared memory that a launch may ask for, in bytes. Returns whether the program has
// asked for more than the usual 48 KB. A kernel that the rewriter could not name gets the largest
// limit of all.
bool cudev_shared_limit(const struct cudev_launch_site* site, size_t* limit);

#endif
