#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* p) {
    __shared__ cg::block_tile_memory<256> memory;  // refused: tiles of more than 32 threads
    auto block = cg::this_thread_block(memory);
    *p = cg::tiled_partition<64>(block).size();
}
int main() {
    return 0;
}
