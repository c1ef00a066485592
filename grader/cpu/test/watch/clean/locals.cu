// finds: nothing
// says: 4 locals without a value are NaN
// Local variables that start without a value, declared in all ways; what looks like one and is none.
#include <math.h>
#include <stdio.h>
#include "small.h"

#define SIZE 4
struct pair {
    float m, l;
};
typedef struct pair pair;

__device__ float last(const float* row, int n) {
    float value;
    for (int i = 0; i < n && n > 1; i++) value = row[i];
    return value;
}

template <int d> __global__ void declared(float* out, const float* in, int n, int m) {
    struct inner {
        float a;
        int b[2];
    } whole;
    __shared__ float tile[32];
    float first = 1.0f, O_reg[d / SIZE], *p, matrix[2][3];
    pair state, *q = &state;
    dim3 grid;
    __align__(16) float4 four[2];
    unsigned long long u;
    int t = threadIdx.x;
    for (int i = 0; i < n && n > m; i++) {
        float sum = 0.0f, x;
        x = in[i], sum += x;
        tile[t] = sum;
    }
    switch (n) {
        int chosen;
    case 1:
        chosen = 2;
        out[t] = chosen;
        break;
    default:;
    }
    p = &tile[t];
    *p = last(in, n);
    float integer, part = modff(2.5f, &integer), kept[2], set = (kept[0] = kept[1] = integer - 2);
    int missing = isnan(O_reg[t % (d / SIZE)]) + isnan(q->m) + isnan(matrix[t % 2][t % 3]) +
                  isnan(four[t % 2].x);
    if (t < n) u = 3, whole.a = first, whole.b[1] = 1;
    out[t] =
        missing + grid.x + *p * 0 + (part - 0.5f) + set + kept[t % 2] + (t < n ? whole.a + u : 0);
    if (t == 0 && integer == 2 && kept[0] == 0)
        printf("%d locals without a value are NaN\n", missing);
}

int main(void) {
    declared<16><<<1, 32>>>(empty(32), filled(32), 10, 3);
    return cudaDeviceSynchronize();
}
