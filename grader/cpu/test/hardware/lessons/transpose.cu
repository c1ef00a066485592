// Lesson 02's launcher: whole tiles and edges.
#include "transpose.h"
#include "../launched.h"
#include "small.h"

int main(void) {
    float *in = filled(128 * 256), *out = empty(128 * 256);
    transpose(out, in, 128, 256);
    launched("128 x 256");
    transpose(out, in, 70, 101);
    launched("70 x 101");
    return 0;
}
