// finds: nothing
// Half warps and quarter warps that synchronise among themselves, and what they know handed on.
#include "small.h"

__global__ void halves(float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) {
        __syncwarp(0xffff);
        out[t] = s[15 - t];
        __syncwarp(0xffff);
        if (t < 8) {
            s[t] = 1.0f;
            __syncwarp(0xff);
            out[32 + t] = s[7 - t];
        }
    } else {
        __syncwarp(0xffff0000);
        out[t] = s[47 - t];
    }
    // lane 0 to 16 by way of lane 8: no two masks are the same
    if (t == 0 || t == 8) __syncwarp(0x101);
    if (t == 8 || t == 16) __syncwarp(0x10100);
    if (t == 16) out[40] = s[0];
    __syncwarp();
    out[48 + t] = s[31 - t];
}

int main(void) {
    halves<<<1, 32>>>(empty(80));
    return 0;
}
