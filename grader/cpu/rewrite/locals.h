// Local variables that have no value.
#ifndef CUDEV_REWRITE_LOCALS_H
#define CUDEV_REWRITE_LOCALS_H

#include "cpu/rewrite/tokens.h"

// The variables that are declared behind `end`, a ; { or } of a function, and have no value: lets
// them have one that shows.
void unset_locals(size_t end);

#endif
