// sizes.c: the contract's functions of sizes, how many bytes a workspace has, as functions of the
// library. They are `static inline` in the contract, for C; whoever loads the library finds names.
// CONTRACT is the contract's file, "flash_backward.h".
#include <limits.h>

#include "course.h"

#define static
#define inline
#include CONTRACT
