#include <cuda_runtime.h>
void f() {
    cuInit(0);  // refused: the driver's functions
}
int main() {
    return 0;
}
