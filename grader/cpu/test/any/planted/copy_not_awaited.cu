// finds: uninitialised
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "test.h"
namespace cg = cooperative_groups;

__global__ void staged(const int* in, int* out) {
    __shared__ int stage[32];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage, in, sizeof stage);
    block.sync();  // cg::wait(block) is missing
    out[threadIdx.x] = stage[threadIdx.x];
}

int main() {
    int *in = new_ints(32, 1), *out = new_ints(32, 0);
    staged<<<1, 32>>>(in, out);
    return failures != 0;
}
