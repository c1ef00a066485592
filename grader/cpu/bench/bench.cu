// How fast the CPU device is: kernels against plain C loops doing the same, in one run.
//     make bench-cpu
// Milliseconds, best of several. The C loops run on one core; the kernels on all (CUDEV_WORKERS).
#include <stdio.h>
#include <time.h>

#define CHECK_CUDA(call)                                                                   \
    do {                                                                                   \
        cudaError_t error = (call);                                                        \
        if (error != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

enum { MIN_REPEAT = 5, MIN_MS = 300 };  // of each measurement

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

// ---- c = a + b, n elements ----

__global__ void vector_add(float* c, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

static __attribute__((noinline)) void vector_add_c(float* c, const float* a, const float* b,
                                                   int n) {
    for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
}

// ---- C = A B, n x n ----

#define TILE 16

__global__ void matmul(float* C, const float* A, const float* B, int n) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        As[threadIdx.y][threadIdx.x] = A[row * n + k + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + col];
        __syncthreads();  // the tiles are written before they are read
        for (int i = 0; i < TILE; i++) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();  // they are read before they are overwritten
    }
    C[row * n + col] = sum;
}

static __attribute__((noinline)) void matmul_c(float* C, const float* A, const float* B, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) C[i * n + j] = 0.0f;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) C[i * n + j] += A[i * n + k] * B[k * n + j];
    }
}

// ---- attention of N queries and keys of D elements, B times; one thread per query ----

#define D 64
#define BLOCK_K 32

__global__ void attention(float* O, const float* Q, const float* K, const float* V, int N) {
    __shared__ float Ks[BLOCK_K][D], Vs[BLOCK_K][D];
    size_t base = (size_t)blockIdx.y * N * D;
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    float q[D], o[D], m = -INFINITY, l = 0.0f;
    for (int x = 0; x < D; x++) q[x] = Q[base + (size_t)query * D + x], o[x] = 0.0f;
    for (int start = 0; start < N; start += BLOCK_K) {
        for (int i = threadIdx.x; i < BLOCK_K * D; i += blockDim.x) {
            Ks[i / D][i % D] = K[base + (size_t)start * D + i];
            Vs[i / D][i % D] = V[base + (size_t)start * D + i];
        }
        __syncthreads();  // the tiles are written before they are read
        for (int j = 0; j < BLOCK_K; j++) {
            float s = 0.0f;
            for (int x = 0; x < D; x++) s += q[x] * Ks[j][x];
            float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
            for (int x = 0; x < D; x++) o[x] = o[x] * alpha + p * Vs[j][x];
            l = l * alpha + p;
            m = m_new;
        }
        __syncthreads();  // they are read before they are overwritten
    }
    for (int x = 0; x < D; x++) O[base + (size_t)query * D + x] = o[x] / l;
}

static __attribute__((noinline)) void attention_c(float* O, const float* Q, const float* K,
                                                  const float* V, int N) {
    for (int query = 0; query < N; query++) {
        float o[D] = {0}, m = -INFINITY, l = 0.0f;
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int x = 0; x < D; x++) s += Q[query * D + x] * K[j * D + x];
            float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
            for (int x = 0; x < D; x++) o[x] = o[x] * alpha + p * V[j * D + x];
            l = l * alpha + p;
            m = m_new;
        }
        for (int x = 0; x < D; x++) O[query * D + x] = o[x] / l;
    }
}

// ---- measuring ----

static float *host[4], *gpu[4];  // result, then operands

static void prepare(int n) {
    unsigned seed = 1;
    for (int k = 0; k < 4; k++) {
        host[k] = (float*)malloc(n * sizeof(float));
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            host[k][i] = (float)(int)seed * 0x1p-31f;
        }
        CHECK_CUDA(cudaMalloc(&gpu[k], n * sizeof(float)));
        CHECK_CUDA(cudaMemcpy(gpu[k], host[k], n * sizeof(float), cudaMemcpyHostToDevice));
    }
}

// Prints a line of the table; a result that differs from the C loop's ends the program.
static void finish(const char* name, int n, double c_ms, double kernel_ms) {
    float* result = (float*)malloc(n * sizeof(float));
    CHECK_CUDA(cudaMemcpy(result, gpu[0], n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (!(fabsf(result[i] - host[0][i]) <= 1e-4f * (1 + fabsf(host[0][i])))) {
            printf("%s: element %d is %g, the C loop says %g\n", name, i, result[i], host[0][i]);
            exit(1);
        }
    printf("%-20s %10.2f %10.2f %8.2f\n", name, c_ms, kernel_ms, kernel_ms / c_ms);
    free(result);
    for (int k = 0; k < 4; k++) {
        free(host[k]);
        CHECK_CUDA(cudaFree(gpu[k]));
    }
}

#define BEST_OF(ms, statement)                                                            \
    for (double repeat = 0, spent = 0; repeat < MIN_REPEAT || spent < MIN_MS; repeat++) { \
        double start = now_ms();                                                          \
        statement;                                                                        \
        double took = now_ms() - start;                                                   \
        if (repeat == 0 || took < ms) ms = took;                                          \
        spent += took;                                                                    \
    }

static void bench_matmul(const char* name, int n) {
    double c_ms = 0, kernel_ms = 0;
    dim3 block(TILE, TILE), grid(n / TILE, n / TILE);
    prepare(n * n);
    BEST_OF(c_ms, matmul_c(host[0], host[1], host[2], n));
    BEST_OF(kernel_ms, (matmul<<<grid, block>>>(gpu[0], gpu[1], gpu[2], n)));
    finish(name, n * n, c_ms, kernel_ms);
}

int main(void) {
    const int n = 1 << 20, N = 256, B = 2;
    double c_ms = 0, kernel_ms = 0;
    cudaDeviceProp prop;
    CHECK_CUDA(cudaGetDeviceProperties(&prop, 0));
    printf("%-20s %10s %10s %8s   %d worker(s)\n", "", "C loop ms", "kernel ms", "ratio",
           prop.multiProcessorCount);

    prepare(n);
    BEST_OF(c_ms, vector_add_c(host[0], host[1], host[2], n));
    BEST_OF(kernel_ms, (vector_add<<<n / 256, 256>>>(gpu[0], gpu[1], gpu[2], n)));
    finish("vector add, 1M", n, c_ms, kernel_ms);

    bench_matmul("matmul, 256", 256);
    bench_matmul("matmul, 512", 512);

    prepare(B * N * D);
    BEST_OF(c_ms,
            for (int b = 0; b < B; b++) attention_c(host[0] + b * N * D, host[1] + b * N * D,
                                                    host[2] + b * N * D, host[3] + b * N * D, N));
    BEST_OF(kernel_ms, (attention<<<dim3(N / 128, B), 128>>>(gpu[0], gpu[1], gpu[2], gpu[3], N)));
    finish("attention, 256x64x2", B * N * D, c_ms, kernel_ms);
    return 0;
}
