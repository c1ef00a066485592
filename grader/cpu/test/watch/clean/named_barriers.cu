// finds: nothing
// A warp that fetches and two that add up, by two buffers and two barriers each; and the halves of a
// block that wait by themselves, not equally often.
#include "ptx.h"
#include "small.h"

enum { FULL = 1, EMPTY = 3, ALL = 96, ROUNDS = 6 };

__global__ void producer_consumer(float* out, const float* in) {
    __shared__ float s[2][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            named_sync(EMPTY + i % 2, ALL);
            s[i % 2][lane] = in[32 * i + lane];
            named_arrive(FULL + i % 2, ALL);
        }
        return;
    }
    float sum = 0.0f;
    named_arrive(EMPTY, ALL);
    named_arrive(EMPTY + 1, ALL);
    for (int i = 0; i < ROUNDS; i++) {
        named_sync(FULL + i % 2, ALL);
        sum += s[i % 2][31 - lane];
        if (i + 2 < ROUNDS) named_arrive(EMPTY + i % 2, ALL);
    }
    out[threadIdx.x - 32] = sum;
}

// Half 0 passes its barrier eight times, half 1 five; then both meet.
__global__ void halves(float* out, const float* in) {
    __shared__ float s[128];
    int t = threadIdx.x, half = t / 64, partner = half * 64 + (t + 32) % 64;
    s[t] = in[t];
    for (int i = 0; i < (half == 0 ? 8 : 5); i++) {
        named_sync(1 + half, 64);
        float x = s[partner];
        named_sync(1 + half, 64);
        s[t] = x + 1.0f;
    }
    __syncthreads();
    out[t] = s[127 - t];
}

// The last warp is not full: it counts as one all the same.
__global__ void partial(float* out, const float* in) {
    __shared__ float s[40];
    s[threadIdx.x] = in[threadIdx.x];
    named_sync(15, 64);
    out[threadIdx.x] = s[39 - threadIdx.x];
}

int main(void) {
    float *out_gpu = empty(64), out[64];
    producer_consumer<<<1, ALL>>>(out_gpu, filled(32 * ROUNDS));
    cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost);
    halves<<<1, 128>>>(empty(128), filled(128));
    partial<<<1, 40>>>(empty(40), filled(40));
    float want = 0.0f;
    for (int i = 0; i < ROUNDS; i++) want += (float)((32 * i + 31) % 10);
    return out[0] == want && out[32] == want ? 0 : 1;
}
