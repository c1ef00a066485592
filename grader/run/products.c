// products.c: see products.h. A kernel that knew the key could multiply as wrongly without the
// instructions. So it never lies where the student's code can read, and no copy of it stays on a
// stack.
#include "run/products.h"

#ifdef CPU_DEVICE

#include <stdlib.h>
#include <sys/mman.h>

#include "cpu/include/cudev.h"

static struct arena_products* products;

// A watched program has one worker: nobody else multiplies, nor runs, while this is open.
static void open_products(int open) {
    if (mprotect(products, sizeof *products, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        abort();
}

static double product(double a, double b) {
    uint32_t class;
    const double altered = arena_altered(a, b, products, &class);
    products->given[class]++;
    return altered;
}

void products_start(struct arena_products* pages) {
    products = pages;
    open_products(0);
    cudev_alter_products(product, open_products);
}

#else  // a GPU multiplies as it does

void products_start(struct arena_products* pages) {
    (void)pages;
}

#endif
