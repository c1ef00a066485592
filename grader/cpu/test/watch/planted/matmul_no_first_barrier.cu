// finds: race 14 16, race 15 16
// says: on As[
// says: As: __shared__, 16 x 16 elements of 4 bytes
// Tiled matrix product without the barrier between writing the tiles and reading them.
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
        for (int k = 0; k < TILE; k++) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

int main(void) {
    int n = 48;
    dim3 grid(n / TILE, n / TILE), block(TILE, TILE);
    matmul<<<grid, block>>>(empty(n * n), filled(n * n), filled(n * n), n);
    return 0;
}
