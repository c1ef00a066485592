// Local variables that have no value.
#ifndef CUDEV_REWRITE_LOCALS_H
#define CUDEV_REWRITE_LOCALS_H

#include "cpu/rewrite/tokens.h"

// Gives a conspicuous value to the variables that are declared without a value behind `end`, which
// is a ; { or } of a function.
void unset_locals(size_t end);

#endif
