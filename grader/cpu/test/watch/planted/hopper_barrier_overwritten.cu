// finds: nothing; ends with mbarrier_arrive() at
// says: was an mbarrier, and something else has been written there
// An array before the barriers is written one element too far.
#include "hopper_small.h"

__global__ void overwritten(float* out) {
    __shared__ struct {
        float x[32];
        mbarrier done;
    } s;
    if (threadIdx.x == 0) mbarrier_init(&s.done, 32);
    __syncthreads();
    for (int i = 0; i <= 32; i++)
        if (threadIdx.x == 0) (&s.x[0])[i] = 0.0f;
    __syncthreads();
    mbarrier_arrive(&s.done);
    mbarrier_wait(&s.done, 0);
    out[threadIdx.x] = 1.0f;
}

int main(void) {
    overwritten<<<1, 32>>>(empty(32));
    return 0;
}
