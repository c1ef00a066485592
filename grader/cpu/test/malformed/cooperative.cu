// clang-format off
/*
#include <cublas_v2.h>
*/
#if 0
#include <cublas_v2.h>
#endif
#include <cooperative_groups.h>  // ERROR: not on the CPU device: cooperative groups, use __syncthreads() and __syncwarp()
namespace cg = cooperative_groups;
__global__ void k() {
    cg::this_thread_block().sync();
}
