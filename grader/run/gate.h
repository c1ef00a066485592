// gate.h: between the student's object and the C library, and around its memory.
#ifndef GATE_H
#define GATE_H

#include <stddef.h>

// From here on host code of an instrumented program may write its own memory only: its static
// variables, what it allocates, its stack, and [tensors, tensors + bytes).
void gate_start(void* tensors, size_t bytes);

// The gates of the runtime's functions (gate_calls.awk) call these functions, which end the program
// for: a call by a kernel; an output that is no memory of the student's; a copy to memory of the
// host that is not.
void gate_call(const char* function);
void gate_output(const char* function, const void* output, size_t bytes);
void gate_copy(const char* function, const void* from, int kind, const void* to, size_t bytes);

#endif
