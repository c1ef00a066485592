// The kernels that the file declares.
#ifndef CUDEV_REWRITE_KERNELS_H
#define CUDEV_REWRITE_KERNELS_H

#include "cpu/rewrite/tokens.h"

void note_kernel(size_t global);  // reads the declaration whose __global__ is there
bool is_kernel(size_t name);
// Can `(const void *)(expression)` be written for a kernel expression that ends at `last`? Only if
// it names one function for certain; the launch then knows the kernel's shared memory limit.
bool has_address(size_t last);
// The parameters of the kernel that the expression up to `last` names, or that a pointer of this
// name is set to: "out,in,n". Empty if not known.
const char* parameters_of(size_t last);
// Adds the name of the kernel of the expression [first, last].
void add_kernel_name(struct text* t, size_t first, size_t last);

#endif
