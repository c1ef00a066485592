// products.h: a run in which mma.sync and wgmma multiply wrongly (arena.h, struct arena_products).
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "wall/arena.h"

// From here on, if the run is such a one. What is altered, and what is counted, lies in the vault:
// it is open while an instruction multiplies, and no other code runs then.
void products_start(struct arena_products* in_vault);

#endif
