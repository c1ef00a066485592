#include <cuda_runtime.h>
cudaGraph_t g;  // refused: graphs
int main() {
    return 0;
}
