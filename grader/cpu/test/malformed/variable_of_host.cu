// clang-format off
static int calls;
const int width = 4;
static const char* const name = "k";
__device__ int hits;
__global__ void k(int* p) {
    int calls_here = width;
    p[0] = calls_here + hits;
    p[1] = calls;  // ERROR: calls is a variable of the host; write __device__ in front of it, or pass its value to the kernel
}
