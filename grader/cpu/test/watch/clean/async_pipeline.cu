// finds: nothing
// Three tiles on their way at once: round i waits for its own and sends for the one of round i + 2.
// One barrier a round is enough: what is refilled was read before the barrier of this round.
#include "ptx.h"
#include "small.h"

enum { STAGES = 3, TILE = 256, THREADS = TILE / 4 };

__global__ void sums(float* out, const float* in, int n) {
    __shared__ __align__(16) float s[STAGES][TILE];
    int t = threadIdx.x, tiles = (n + TILE - 1) / TILE;
    float sum = 0.0f;
    for (int i = -(STAGES - 1); i < tiles; i++) {
        if (i >= 0) {
            cp_async_wait<STAGES - 2>();
            __syncthreads();
        }
        int next = i + STAGES - 1, first = next * TILE + 4 * t;
        if (next < tiles) {  // elements behind the last one become zero
            int used = n - first < 0 ? 0 : n - first < 4 ? n - first : 4;
            cp_async16_zfill(&s[next % STAGES][4 * t], &in[first], 4 * used);
        }
        cp_async_commit();  // a group each round, also an empty one: so the counts agree
        for (int k = 0; i >= 0 && k < 4; k++)
            sum += s[i % STAGES][(t + 17) % THREADS + THREADS * k];
    }
    atomicAdd(out, sum);
}

// The other sizes, and a wait for what was never committed.
__global__ void sizes(float* out, const float* in) {
    __shared__ __align__(16) float s[4][32 * 4];
    int t = threadIdx.x;
    cp_async4(&s[0][t], &in[t]);
    cp_async8(&s[1][2 * t], &in[2 * t]);
    cp_async16(&s[2][4 * t], &in[4 * t]);
    cp_async16_ca(&s[3][4 * t], &in[4 * t]);
    cp_async_wait_all();
    out[t] = s[0][t] + s[1][2 * t] + s[2][4 * t] + s[3][4 * t + 3];
}

int main(void) {
    const int n = 10 * TILE + 101;
    float *sum_gpu = filled(1), *out_gpu = empty(32), sum, out[32], want = 0.0f;
    sums<<<1, THREADS>>>(sum_gpu, filled(n), n);
    cudaMemcpy(&sum, sum_gpu, sizeof sum, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) want += (float)(i % 10);
    sizes<<<1, 32>>>(out_gpu, filled(128));
    cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost);
    bool same = sum == want;
    for (int t = 0; t < 32; t++)
        same = same && out[t] == (float)(t % 10 + 2 * t % 10 + 4 * t % 10 + (4 * t + 3) % 10);
    return same ? 0 : 1;
}
