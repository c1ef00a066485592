// drawn.h: costs of a product of sizes that people multiply, which are drawn. One drawn block of
// the grid is run and looked at: in all of it nobody would wait for the instrumented build.
#ifndef MATMUL_DRAWN_H
#define MATMUL_DRAWN_H

#include "matmul/product.h"

struct drawn {
    struct product p;  // after the run those elements of C are `untouched` that were not made
    int64_t less;      // so many elements are missing in the last tiles
    double made;       // multiplications of all elements of C that were made
    double whole;      // the same with what is missing: tiles of the edge cost what whole ones do
};

// A product of drawn sizes, M or N above 1024, and about most_K terms, at times four times as many:
// whole tiles, or up to most_less elements less of each. The caller may set its parts before it is
// run.
struct drawn drawn_product(struct check* c, const struct matmul* of, int64_t most_K, int most_less);

// Makes the case, whose data are fill()'s (NULL: whole numbers above 0), and compares what the
// block has made of C; the traffic is that of the block. If it has made nothing, or sums to which
// other blocks add, all of them run. A mistake is first looked for in a small case of the same
// kind, where it has its name. d has to live as long as the case.
void drawn_run(struct drawn* d, void (*fill)(const struct product* p));

// Like check_loaded_once() of A and B, where nothing is missing in the last tiles; else like
// multiplied_loaded_once().
void drawn_loaded_once(const struct drawn* d);

// Like check_stored_once() of C, of the elements that were made.
void drawn_stored_once(const struct drawn* d);

#endif
