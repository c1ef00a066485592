// Lesson 03's launcher: whole sweeps, and rows that end and begin anywhere.
#include "reduction.h"
#include "../launched.h"
#include "small.h"

int main(void) {
    float *x = filled(64 * 1024), *sum = empty(64), *max = empty(64);
    reduction(sum, max, x, 64, 1024, 1024);
    launched("64 x 1024");
    reduction(sum, max, x, 37, 333, 401);
    launched("37 x 333");
    return 0;
}
