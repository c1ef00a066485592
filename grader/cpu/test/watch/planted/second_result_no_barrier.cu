// finds: race 10 12, race 11 12
// says: on sine[1]
// Another thread reads what sincosf() wrote, without a barrier between: by both of its ways.
#include "small.h"

__global__ void angles(float* out, const float* in) {
    __shared__ float sine[64], cosine[64];
    int t = threadIdx.x;
    float rest;
    sincosf(in[t], &sine[t], &rest);
    (sincosf)(in[t], &rest, &cosine[t]);
    out[t] = sine[(t + 1) % 64] + cosine[(t + 1) % 64];
}

int main(void) {
    angles<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
