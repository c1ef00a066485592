// Declarations of shared memory.
#ifndef CUDEV_REWRITE_SHARED_H
#define CUDEV_REWRITE_SHARED_H

#include "cpu/rewrite/tokens.h"

// Rewrites the declaration whose __shared__ is there; file_scope: it stands outside of functions.
// Returns its last token.
size_t rewrite_shared(size_t shared, bool file_scope);

#endif
