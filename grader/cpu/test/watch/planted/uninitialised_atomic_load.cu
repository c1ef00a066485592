// finds: uninitialised 9, uninitialised 10, uninitialised 12, out_of_bounds 13
// Reading by an atomic what nobody has written. (Not on a GPU: no cudev_ there has these.)
#include <atomic>
#include "small.h"

__global__ void peek(int* out, int* unwritten, float* room) {
    int t = threadIdx.x;
    if (t) return;
    out[0] = __atomic_load_n(unwritten, __ATOMIC_RELAXED);
    out[1] = ((std::atomic<int>*)unwritten)[1].load();
    int want = 7;
    __atomic_compare_exchange_n(unwritten + 2, &want, 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    out[2] = __atomic_load_n((int*)room + 100, __ATOMIC_RELAXED);
}

int main(void) {
    peek<<<1, 32>>>((int*)empty(4), (int*)empty(4), filled(100));
    return 0;
}
