// plain_layers.h: the layers of layers.h that lessons wrote, as a grade of lesson 29 runs them: a
// thread for each result, no shared memory. They round where the course's kernels round.
#ifndef TRAIN_GPT_PLAIN_LAYERS_H
#define TRAIN_GPT_PLAIN_LAYERS_H

#include "small_layers.h"

// ---- linear layers

static __global__ void layer_input_gradient_kernel(bf16* dX,        // (rows, inputs)  out
                                                   const bf16* dY,  // (rows, outputs)
                                                   const bf16* W,   // (outputs, inputs)
                                                   int64_t n, int outputs, int inputs) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x, row = e / inputs;
    if (e >= n) return;
    // dX = dY W
    // dX[row][i] = sum_o dY[row][o] * W[o][i]
    float sum = 0.0f;
    for (int o = 0; o < outputs; o++)
        sum += __bfloat162float(dY[row * outputs + o]) *
               __bfloat162float(W[(int64_t)o * inputs + e % inputs]);
    dX[e] = __float2bfloat16(sum);
}

static __global__ void layer_weight_gradient_kernel(bf16* dW,        // (outputs, inputs)  out
                                                    const bf16* dY,  // (rows, outputs)
                                                    const bf16* X,   // (rows, inputs)
                                                    int64_t n, int rows, int outputs, int inputs) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x, o = e / inputs, i = e % inputs;
    if (e >= n) return;
    // dW = dY^T X
    // dW[o][i] = sum_r dY[r][o] * X[r][i]
    float sum = 0.0f;
    for (int64_t r = 0; r < rows; r++)
        sum += __bfloat162float(dY[r * outputs + o]) * __bfloat162float(X[r * inputs + i]);
    dW[e] = __float2bfloat16(sum);
}

static inline int layer_input_gradient(bf16* dX, const bf16* dY, const bf16* W, int rows,
                                       int outputs, int inputs) {
    int64_t n = (int64_t)rows * inputs;
    LAYER_LAUNCH(layer_input_gradient_kernel, layer_blocks(n), LAYER_THREADS, &dX, &dY, &W, &n,
                 &outputs, &inputs);
    return COURSE_OK;
}

static inline int layer_weight_gradient(bf16* dW, const bf16* dY, const bf16* X, int rows,
                                        int outputs, int inputs, void* workspace) {
    int64_t n = (int64_t)outputs * inputs;
    (void)workspace;
    LAYER_LAUNCH(layer_weight_gradient_kernel, layer_blocks(n), LAYER_THREADS, &dW, &dY, &X, &n,
                 &rows, &outputs, &inputs);
    return COURSE_OK;
}

// ---- GELU

static __global__ void layer_gelu_backward_kernel(bf16* dZ, const bf16* dY, const bf16* Z,
                                                  int64_t n) {
    int64_t i = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (i >= n) return;
    // GELU'(z) = Phi(z) + z Phi'(z)
    float z = __bfloat162float(Z[i]);
    float slope = 0.5f * (1.0f + erff(0.707106781f * z)) + z * 0.398942280f * expf(-0.5f * z * z);
    dZ[i] = __float2bfloat16(slope * __bfloat162float(dY[i]));
}

static inline int layer_gelu_backward(bf16* dZ, const bf16* dY, const bf16* Z, int rows, int cols) {
    int64_t n = (int64_t)rows * cols;
    if (dZ == dY || dZ == Z) return COURSE_BAD_ARGUMENT;  // lesson 08 does not work in place
    LAYER_LAUNCH(layer_gelu_backward_kernel, layer_blocks(n), LAYER_THREADS, &dZ, &dY, &Z, &n);
    return COURSE_OK;
}

// ---- attention

enum { LAYER_MAX_HEAD = 4096 };  // channels of a head, at most

struct layer_attention {
    bf16* dQKV;        // (B, N, 3, H, d)  out
    const bf16* QKV;   // (B, N, 3, H, d)
    const bf16* O;     // (B, N, H, d)
    const float* LSE;  // (B, H, N)
    const bf16* dO;    // (B, N, H, d)
    float* delta;      // (B, H, N)
    int B, N, H, d;
};

// The row of Q (part 0), K (1) or V (2) of a token's head.
static __device__ __forceinline__ const bf16* layer_row(const struct layer_attention& a, int part,
                                                        int64_t b, int64_t h, int i) {
    return a.QKV + (((b * a.N + i) * 3 + part) * a.H + h) * a.d;
}

static __device__ __forceinline__ float layer_dot(const bf16* x, const bf16* y, int d) {
    float sum = 0.0f;
    for (int k = 0; k < d; k++) sum += __bfloat162float(x[k]) * __bfloat162float(y[k]);
    return sum;
}

static __device__ __forceinline__ float layer_rounded(float x) {
    return __bfloat162float(__float2bfloat16(x));
}

// A thread for each query of each head: delta_i = sum_x dO_ix O_ix.
static __global__ void layer_delta_kernel(struct layer_attention a) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;  // [0, B H N)
    if (e >= (int64_t)a.B * a.H * a.N) return;
    int64_t at = ((e / a.N / a.H * a.N + e % a.N) * a.H + e / a.N % a.H) * a.d;
    a.delta[e] = layer_dot(a.dO + at, a.O + at, a.d);
}

// A thread for each element of dQ, dK and dV.
//     P_ij = exp(S_ij - LSE_i), j <= i      dS_ij = P_ij (sum_x dO_ix V_jx - delta_i)
//     dQ_ix = scale sum_j dS_ij K_jx   dK_jx = scale sum_i dS_ij Q_ix   dV_jx = sum_i P_ij dO_ix
static __global__ void layer_attention_kernel(struct layer_attention a) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;  // [0, B N 3 H d)
    if (e >= (int64_t)a.B * a.N * 3 * a.H * a.d) return;
    int x = (int)(e % a.d), part = (int)(e / a.d / a.H % 3);
    int64_t h = e / a.d % a.H, b = e / a.d / a.H / 3 / a.N;
    int row = (int)(e / a.d / a.H / 3 % a.N);  // the query of dQ, the key of dK and dV
    float scale = 1.0f / sqrtf((float)a.d), sum = 0.0f;
    int first = part == 0 ? 0 : row, last = part == 0 ? row : a.N - 1;
    for (int other = first; other <= last; other++) {
        int i = part == 0 ? row : other, j = part == 0 ? other : row;
        int64_t q = (b * a.H + h) * a.N + i;
        const bf16* dO = a.dO + ((b * a.N + i) * a.H + h) * a.d;
        const bf16 *Q = layer_row(a, 0, b, h, i), *K = layer_row(a, 1, b, h, j);
        float P = expf(scale * layer_dot(Q, K, a.d) - a.LSE[q]);
        if (part == 2) {
            sum += layer_rounded(P) * __bfloat162float(dO[x]);
            continue;
        }
        float dS = P * (layer_dot(dO, layer_row(a, 2, b, h, j), a.d) - a.delta[q]);
        sum += layer_rounded(dS) * __bfloat162float(part == 0 ? K[x] : Q[x]);
    }
    a.dQKV[e] = __float2bfloat16(part == 2 ? sum : scale * sum);
}

static inline int layer_attention_backward(bf16* dQKV, const bf16* QKV, const bf16* O,
                                           const float* LSE, const bf16* dO, int B, int N, int C,
                                           int H, void* workspace) {
    if (C / H > LAYER_MAX_HEAD) return COURSE_UNSUPPORTED;  // a thread would walk over it for long
    int64_t queries = (int64_t)B * H * N, elements = (int64_t)B * N * 3 * C;
    // At the end of the workspace: a smaller one does not do for kernels that need all of it.
    size_t delta = train_gpt_layer_bytes(B, N, C, H) / sizeof(float) - (size_t)queries;
    struct layer_attention a = {dQKV, QKV, O, LSE, dO, (float*)workspace + delta, B, N, H, C / H};
    LAYER_LAUNCH(layer_delta_kernel, layer_blocks(queries), LAYER_THREADS, &a);
    LAYER_LAUNCH(layer_attention_kernel, layer_blocks(elements), LAYER_THREADS, &a);
    return COURSE_OK;
}

#endif
