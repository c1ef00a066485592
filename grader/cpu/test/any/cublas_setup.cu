// ends: not on the CPU device: cuBLAS: cublasSgemm() at cublas_setup.cu:23
// A program may set cuBLAS up and run kernels of its own; what multiplies with it is refused there.
#include <cublas_v2.h>
#include <cublasLt.h>
#include "test.h"

__global__ void square(int* p) {
    p[threadIdx.x] *= p[threadIdx.x];
}

int main() {
    cublasHandle_t handle;
    cublasLtHandle_t light;
    CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtCreate(&light) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_STATUS_SUCCESS);
    int* p = new_ints(32, 5);
    square<<<1, 32>>>(p);
    CHECK(int_at(p, 31) == 25);
    if (failures) return 1;
    const float one = 1;
    float* none = NULL;
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, &one, none, 1, none, 1, &one, none,
                      1) == CUBLAS_STATUS_SUCCESS);
    return 0;
}
