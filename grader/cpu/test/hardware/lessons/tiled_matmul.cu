// Lesson 05's launcher: whole tiles and edges.
#include "tiled_matmul.h"
#include "../launched.h"
#include "small.h"

int main(void) {
    float *A = filled(64 * 96), *B = filled(96 * 128), *C = empty(64 * 128);
    tiled_matmul(C, A, B, 64, 128, 96);
    launched("64 x 128 x 96");
    tiled_matmul(C, A, B, 37, 53, 41);
    launched("37 x 53 x 41");
    return 0;
}
