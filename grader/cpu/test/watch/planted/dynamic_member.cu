// finds: race 27 28, uninitialised 29
// says: race on tile[1][2][6]:
// says: tile: 2 x 4 x 8 elements of 4 bytes, of a structure over memory, dynamic shared memory, from byte 32 of 336 on
// says: of later[3]
// Members of a structure that lies over dynamic shared memory have their names; not everything in
// it is one.
#include "small.h"

enum { STAGES = 2 };
template <class T> struct pair { T x, y; };
template <int rows> struct tiles {
    static const int count = rows * 8;
    enum { EIGHT = 8 };
    struct inner;
    __align__(16) float first[EIGHT];
    float tile[STAGES][rows][8];
    int columns() const {
        return EIGHT;
    }
    pair<short> one, later[4], *next;
    unsigned last;
};

template <int rows> __global__ void kernel(float* out) {
    extern __shared__ __align__(16) unsigned char memory[];
    struct tiles<rows>& smem = *(struct tiles<rows>*)memory;
    smem.tile[1][2][threadIdx.x % 8] = threadIdx.x;
    out[threadIdx.x] = threadIdx.x == 7 ? smem.tile[1][2][6] : 0.0f;
    if (threadIdx.x == 0) out[16] = smem.later[3].y;
}

int main(void) {
    kernel<4><<<1, 8, 336>>>(empty(20));
    return 0;
}
