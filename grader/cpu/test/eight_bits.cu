// Numbers of eight bits: conversions, and products of wgmma, against sums in double.
#include "hopper.h"
#include "test.h"

enum { K = 128, N = 64, ROWS_OF_A = 64, WORDS_OF_A = ROWS_OF_A * K / 4 };

// ---- conversions -------------------------------------------------------------------------------

struct format {
    int fraction, bias, largest;
};
static const struct format e4m3 = {3, 7, 0x7e}, e5m2 = {2, 15, 0x7b};

static double value_of(const struct format* f, int bits) {
    int size = bits & 0x7f, e = size >> f->fraction, part = size & ((1 << f->fraction) - 1);
    double x = ldexp(part + (e ? 1 << f->fraction : 0), (e ? e : 1) - f->bias - f->fraction);
    return bits & 0x80 ? -x : x;
}

__global__ void convert(int* out, const float* x, int n, int wide) {
    for (int i = 0; i < n; i++)
        out[i] = (int)(wide ? pack_e5m2(x[i], 0, 0, 0) : pack_e4m3(x[i], 0, 0, 0));
    out[n] = (int)pack_e4m3(1, -2, 448, 0.0f);
}

// Every number, what lies half way to the next, and a little to both sides of that.
static void check_format(const struct format* f, int wide) {
    enum { MOST = 1100 };
    float x[MOST];
    int want[MOST], n = 0;
    for (int sign = 0; sign <= 0x80; sign += 0x80)
        for (int bits = 0; bits <= f->largest; bits++) {
            double own = value_of(f, bits), next = value_of(f, bits + 1), sized = sign ? -1 : 1;
            double half = (own + next) / 2;
            x[n] = (float)(sized * own), want[n++] = sign | bits;
            if (bits == f->largest) continue;
            x[n] = (float)(sized * half), want[n++] = sign | (bits + bits % 2);
            x[n] = (float)(sized * half * (1 + 0x1p-20)), want[n++] = sign | (bits + 1);
            x[n] = (float)(sized * half * (1 - 0x1p-20)), want[n++] = sign | bits;
        }
    const float beyond[] = {(float)value_of(f, f->largest) * 1.5f, 1e30f, INFINITY};
    for (int i = 0; i < 3; i++) {
        x[n] = beyond[i], want[n++] = f->largest;
        x[n] = -beyond[i], want[n++] = 0x80 | f->largest;
    }
    x[n] = NAN, want[n++] = 0x7f;
    x[n] = 1e-30f, want[n++] = 0;
    x[n] = -1e-30f, want[n++] = 0x80;
    float* x_gpu;
    int* out_gpu = new_ints(MOST + 1, -1);
    CHECK_CUDA(cudaMalloc((void**)&x_gpu, sizeof x));
    CHECK_CUDA(cudaMemcpy(x_gpu, x, sizeof x, cudaMemcpyHostToDevice));
    convert<<<1, 1>>>(out_gpu, x_gpu, n, wide);
    for (int i = 0; i < n; i++) CHECK((int_at(out_gpu, i) & 0xff) == want[i]);
    CHECK(int_at(out_gpu, n) == 0x007ec038);
    CHECK_CUDA(cudaFree(x_gpu));
}

// ---- products ----------------------------------------------------------------------------------

// The word of a tile of rows of 128 bytes where bytes 4 w ... of row r lie, swizzled.
__device__ int word_at(int r, int w) {
    return r * 32 + (((w / 4) ^ r % 8) * 4 + w % 4);
}

// d = A B, of 128 of k: A and B in shared memory; e the same with A in registers, of e5m2 and added
// to 1.
__global__ void multiply(float* out, const unsigned* A, const unsigned* B) {
    __shared__ __align__(1024) unsigned A_smem[WORDS_OF_A], B_smem[N * K / 4];
    for (int i = threadIdx.x; i < WORDS_OF_A; i += blockDim.x)
        A_smem[word_at(i / 32, i % 32)] = A[i];
    for (int i = threadIdx.x; i < N * K / 4; i += blockDim.x)
        B_smem[word_at(i / 32, i % 32)] = B[i];
    fence_proxy_async();
    __syncthreads();
    float d[N / 2], e[N / 2];
    unsigned a = wgmma_descriptor(A_smem, 0), b = wgmma_descriptor(B_smem, 0);
    int w = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned from[K / 32][4];
    for (int k = 0; k < K / 32; k++)
        for (int i = 0; i < 4; i++)
            from[k][i] = A[(16 * w + g + i % 2 * 8) * (K / 4) + 8 * k + i / 2 * 4 + t];
    for (int i = 0; i < N / 2; i++) e[i] = 1;
    wgmma_fence();
    wgmma_e4m3_first<N>(d, a, b);
    for (int k = 1; k < K / 32; k++) wgmma_e4m3<N>(d, a + 2 * k, b + 2 * k, 1);
    for (int k = 0; k < K / 32; k++) wgmma_e5m2_registers<N>(e, from[k], b + 2 * k, 1);
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < N / 2; i++) {
        int row = 16 * w + g + i / 2 % 2 * 8, column = i / 4 * 8 + 2 * t + i % 2;
        out[row * N + column] = d[i];
        out[ROWS_OF_A * N + row * N + column] = e[i];
    }
}

static void check_products(void) {
    unsigned char A[ROWS_OF_A * K], B[N * K];
    float* out_gpu = (float*)new_ints(2 * ROWS_OF_A * N, 0);
    unsigned *A_gpu = (unsigned*)new_ints(sizeof A / 4, 0),
             *B_gpu = (unsigned*)new_ints(sizeof B / 4, 0);
    static float out[2 * ROWS_OF_A * N];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof A + sizeof B; i++) {
        random = random * 1664525 + 1013904223;
        // Numbers of both formats within 2^6 of 1: their sums are exact in fp32.
        unsigned char byte = (unsigned char)((random >> 24 & 0x87) | 0x30 | (random >> 20 & 8));
        if (i < sizeof A)
            A[i] = byte;
        else
            B[i - sizeof A] = byte;
    }
    CHECK_CUDA(cudaMemcpy(A_gpu, A, sizeof A, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(B_gpu, B, sizeof B, cudaMemcpyHostToDevice));
    multiply<<<1, 128>>>(out_gpu, A_gpu, B_gpu);
    CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ROWS_OF_A; i++)
        for (int j = 0; j < N; j++) {
            double d = 0, e = 1;
            for (int k = 0; k < K; k++) {
                d += value_of(&e4m3, A[i * K + k]) * value_of(&e4m3, B[j * K + k]);
                e += value_of(&e5m2, A[i * K + k]) * value_of(&e5m2, B[j * K + k]);
            }
            CHECK(out[i * N + j] == (float)d);
            CHECK(out[(ROWS_OF_A + i) * N + j] == (float)e);
        }
}

int main(void) {
    check_format(&e4m3, 0);
    check_format(&e5m2, 1);
    check_products();
    CHECK_CUDA(cudaGetLastError());
    return failures != 0;
}
