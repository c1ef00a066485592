// products.h: a run in which mma.sync and wgmma multiply wrongly (arena.h, struct arena_products).
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "wall/arena.h"

// From here on. How they multiply, and what they were given, lies on these pages, a mapping of
// their own: they are open while an instruction multiplies, and no other code runs then.
void products_start(struct arena_products* pages);

#endif
