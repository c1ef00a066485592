// finds: race 13 16, race 14 16
// says: on Bs[
// Tiled matrix product without the barrier between reading the tiles and writing the next.
#include "small.h"
#define TILE 16

__global__ void matmul(float* C, const float* A, const float* B, int n) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        As[y][x] = A[row * n + t + x];
        Bs[y][x] = B[(t + y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += As[y][k] * Bs[k][x];
    }
    C[row * n + col] = sum;
}

int main(void) {
    int n = 48;
    dim3 grid(n / TILE, n / TILE), block(TILE, TILE);
    matmul<<<grid, block>>>(empty(n * n), filled(n * n), filled(n * n), n);
    return 0;
}
