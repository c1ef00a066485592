// gate.h: between the student's object and the C library, and around its memory.
#ifndef GATE_H
#define GATE_H

#include <stddef.h>

// From here on host code of an instrumented program may write its own memory only: its static
// variables, what it allocates, its stack, and [tensors, tensors + bytes).
void gate_start(void* tensors, size_t bytes);

#endif
