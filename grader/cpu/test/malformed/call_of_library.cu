// clang-format off
#include <stdio.h>
__device__ void say(float x) {
    printf("%f\n", x);
    fprintf(stderr, "%f\n", x);  // ERROR: fprintf() is a function of the host; a kernel cannot call it
}
