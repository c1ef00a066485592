// finds: out_of_bounds 6
// An array of float3 with room for 10 and a half.
#include "small.h"

__global__ void move(float3* p) {
    p[threadIdx.x] = make_float3(1.0f, 2.0f, 3.0f);
}

int main(void) {
    move<<<1, 11>>>((float3*)empty(32));
    return 0;
}
