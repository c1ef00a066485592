// Parts of CUDA that this device lacks.
#ifndef CUDEV_REWRITE_ABSENT_H
#define CUDEV_REWRITE_ABSENT_H

#include "cpu/rewrite/tokens.h"

void check_absent(size_t i);  // fails if the word is of CUDA, but not of the CPU device
// Does this device lack the header that an #include names? Then *what says of which library it is,
// and *use what to take instead.
bool absent_header(const char* name, const char** what, const char** use);

#endif
