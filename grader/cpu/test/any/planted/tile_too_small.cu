// finds: race
// The tile orders its own 8 threads; the neighbour is one of 16.
#include <cooperative_groups.h>
#include "test.h"
namespace cg = cooperative_groups;

__global__ void neighbours(int* out) {
    __shared__ int s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[threadIdx.x] = (int)threadIdx.x;
    tile.sync();
    out[threadIdx.x] = s[threadIdx.x ^ 8];
}

int main() {
    int* out = new_ints(32, 0);
    neighbours<<<1, 32>>>(out);
    return failures != 0;
}
