// clang-format off
__global__ void k(int* p, int n) {}
void launch(int* p, int tiles) {
    k<<<tiles>>>(p, 1);  // ERROR: a launch needs two sizes: kernel<<<blocks, threads_per_block>>>(...)
}
