// runs
// Managed variables, registered memory, hints: what host and kernels share.
#include "test.h"

__device__ __managed__ int counts[4];
__managed__ float scale = 2.5f;
static __managed__ int hidden;
namespace deep {
__managed__ double value = 1.0, *pointer;
}

__global__ void count(int* registered, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&counts[i % 4], 1);
    registered[i] = (int)(registered[i] * scale);
    if (i == 0) {
        hidden = 7;
        deep::value = 2.0;
        deep::pointer = &deep::value;
    }
}

struct element {
    int a;
    char text[8];
};
// A parameter that is a reference names memory that both sides share.
__global__ void by_reference(element& e, const int& add, int twice) {
    e.a += add + 2 * twice;
    e.text[0] = 'k';
}

int main() {
    enum { N = 1000 };
    static int plain[N];
    for (int i = 0; i < N; i++) plain[i] = i;
    CHECK_CUDA(cudaHostRegister(plain, sizeof plain, cudaHostRegisterMapped));
    int* seen = NULL;
    CHECK_CUDA(cudaHostGetDevicePointer(&seen, plain, 0));
    CHECK(seen == plain);
    unsigned flags = 0;
    CHECK_CUDA(cudaHostGetFlags(&flags, plain));
    CHECK(flags == cudaHostRegisterMapped);
    counts[1] = 100;
    count<<<(N + 127) / 128, 128>>>(seen, N);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(counts[0] == N / 4 && counts[1] == 100 + N / 4);
    CHECK(hidden == 7 && deep::value == 2.0 && deep::pointer == &deep::value);
    for (int i = 0; i < N; i++) CHECK(plain[i] == (int)(i * 2.5f));
    scale = 3;
    float copied = 0;
    CHECK_CUDA(cudaMemcpyFromSymbol(&copied, scale, sizeof copied));
    CHECK(copied == 3);
    CHECK_CUDA(cudaMemPrefetchAsync(counts, sizeof counts, 0));
    CHECK_CUDA(cudaMemAdvise(counts, sizeof counts, cudaMemAdviseSetReadMostly, cudaCpuDeviceId));
    cudaMemLocation place = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    CHECK_CUDA(cudaMemPrefetchAsync(counts, sizeof counts, place, 0));
    CHECK_CUDA(cudaMemAdvise(counts, sizeof counts, cudaMemAdviseSetAccessedBy, host));
    CHECK(cudaMemPrefetchAsync(&failures, 4, 0) == cudaErrorInvalidValue);
    CHECK(cudaMemPrefetchAsync(counts, 4, 3) == cudaErrorInvalidDevice);
    CHECK(cudaHostRegister(plain + 1, 4, 0) == cudaErrorHostMemoryAlreadyRegistered);
    element* e;
    CHECK_CUDA(cudaMallocManaged(&e, sizeof *e));
    e->a = 1;
    by_reference<<<1, 1>>>(*e, hidden, 3);
    CHECK(e->a == 14 && e->text[0] == 'k');
    CHECK_CUDA(cudaHostUnregister(plain));
    CHECK(cudaHostUnregister(plain) == cudaErrorHostMemoryNotRegistered);
    (void)cudaGetLastError();
    return failures != 0;
}
