// What CUDA has and this device has not.
#ifndef CUDEV_REWRITE_ABSENT_H
#define CUDEV_REWRITE_ABSENT_H

#include "cpu/rewrite/tokens.h"

void check_absent(size_t i);  // fails if the word is of CUDA, but not of the CPU device
// Is the header, as its #include names it, one of these? Then *what it is and what to *use instead.
bool absent_header(const char* name, const char** what, const char** use);

#endif
