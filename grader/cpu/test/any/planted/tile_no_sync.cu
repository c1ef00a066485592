// finds: race
// says: race on s
// says: tile_no_sync.cu
#include <cooperative_groups.h>
#include "test.h"
namespace cg = cooperative_groups;

__global__ void neighbours(int* out) {
    __shared__ int s[32];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[threadIdx.x] = (int)threadIdx.x;
    // tile.sync() is missing
    out[threadIdx.x] = s[threadIdx.x ^ 1];
    tile.sync();
}

int main() {
    int* out = new_ints(32, 0);
    neighbours<<<1, 32>>>(out);
    return failures != 0;
}
