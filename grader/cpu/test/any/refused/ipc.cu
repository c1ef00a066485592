#include <cuda_runtime.h>
cudaIpcMemHandle_t h;  // refused: memory of other processes
int main() {
    return 0;
}
