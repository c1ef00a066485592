// ceiling.c: in the place of the measured ceilings, for the bench's own test: 10 GB/s, 1 TFLOP/s.
#include "bench/ceiling.h"

void ceiling_measure(void) {}

double ceiling_copy(void) {
    return 10;
}

double ceiling_matmul(enum dtype precision) {
    (void)precision;
    return 1;
}

void ceiling_flush(void) {}
