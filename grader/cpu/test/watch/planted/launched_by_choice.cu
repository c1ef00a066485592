// finds: out_of_bounds 9
// says: of out[64]
// says: kernel fill<<<(1,1,1), (64,1,1)>>>
// A condition chooses between two kernels of one template, and a pointer is launched: it has the kernel's name, and
// the names of its parameters.
#include "small.h"

template <int first> __global__ void fill(float* out) {
    out[threadIdx.x + first] = 1.0f;
}

int main(int count, char**) {
    void (*launched)(float*) = count > 7 ? fill<2> : fill<1>;
    launched<<<1, 64>>>(empty(64));
    return 0;
}
