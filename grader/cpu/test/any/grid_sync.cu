// ends: not on the CPU device: grid.sync(): blocks run one after the other, none can wait for the others at grid_sync.cu:9
#include <cooperative_groups.h>
#include "test.h"
namespace cg = cooperative_groups;

__global__ void twice(int* p) {
    cg::grid_group grid = cg::this_grid();
    p[grid.thread_rank()] += 1;
    grid.sync();
    p[grid.thread_rank()] += p[0];
}

int main() {
    int* p = new_ints(64, 1);
    void* arguments[] = {&p};
    CHECK_CUDA(cudaLaunchCooperativeKernel((void*)twice, dim3(2), dim3(32), arguments));
    return failures != 0;
}
