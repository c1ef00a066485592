// finds: nothing; ends with deadlock
// says: setmaxnreg_inc<120>() at hopper_too_many_registers.cu:11
// says: has 96 registers a thread and waits for 120
// The consumers take more registers than there are.
#include "hopper_small.h"

__global__ void __launch_bounds__(640, 1) registers(float* out) {
    if (threadIdx.x < 128) {
        setmaxnreg_dec<24>();
    } else {
        setmaxnreg_inc<120>();
        out[threadIdx.x] = 1.0f;
    }
}

int main(void) {
    registers<<<1, 640>>>(empty(640));
    return 0;
}
