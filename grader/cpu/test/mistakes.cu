// Mistakes the compiler reports. run.sh compiles this file once and expects an error with the text
// behind "ERROR:" on each line that has one, and on no other line.
// clang-format off
#define BOTH 1
#if BOTH
#include <cooperative_groups.h>  // ERROR: not on the CPU device: cooperative groups, use __syncthreads() and __syncwarp()
#else
#include <cublas_v2.h>
#endif

__global__ void kernel(float* p, int n) {
    p[0] = n;
    threadIdx.x = 3;             // ERROR: read-only
    __shared__ float big[20000]; // ERROR: at most 48 KB
    big[n] = 0;
    undeclared(n);               // ERROR: not declared
}

void host(int n) {
    asm volatile("add.s32 %0, %1, %2;" : "=r"(n) : "r"(n), "r"(1));  // ERROR: not on the CPU device: inline PTX, lessons/ptx.h lists what there is
}

/* a comment
   of two lines, and a launch that is
   spread out */
int main(void) {
    int* numbers = NULL;
    kernel<<<1, 32>>>(
        numbers,  // ERROR: cannot convert 'int*' to 'float*'
        3);
    kernel<<<1, 32>>>(NULL);   // ERROR: too few arguments
    kernel<<<BOTH>>>(NULL, 3); // ERROR: required from here
    kernel(NULL, 3);           // ERROR: a kernel is launched with <<<blocks, threads>>>: kernel<<<...>>>(...)
    return 0                   // ERROR: expected ';' before
}
