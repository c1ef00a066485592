// course.cu: the layers of `make train` that are kernels of this course: on a Hopper GPU, and on
// the CPU device, which poses as one, those of lessons 24, 25 and 26; elsewhere those of 07, 14 and
// 16. The linear layers of the forward pass are lesson 08's, and on Hopper the same layer on lesson
// 24's product.
#ifndef TRAIN_GPT_PROGRAM
#error "grader/make/train.sh compiles this file, with -DTRAIN_GPT_PROGRAM"
#endif
#include "train/forward.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "flash_backward_split.h"
#include "flash_tensor_core.h"
#include "fused_linear.h"
#include "layers.h"
#include "tensor_core_matmul.h"
#ifdef TRAIN_WITH_HOPPER
#include "hopper_backward.h"
#include "hopper_flash.h"
#include "hopper_matmul.h"
#include "train/split.h"
#else  // never called: is_hopper is 0
#define hopper_matmul(...) COURSE_UNSUPPORTED
#define hopper_flash(...) COURSE_UNSUPPORTED
#define hopper_backward(...) COURSE_UNSUPPORTED
#define split_product(...) COURSE_UNSUPPORTED
#define split_slices(...) 1
#endif
#ifdef TRAIN_WITH_LAYER  // solutions/24_hopper_matmul/layer: lesson 08's contract, under this name
extern "C" int hopper_linear(bf16* Y, bf16* Z, const bf16* X, const bf16* W, const bf16* bias,
                             int M, int N, int K, int f, float p, uint64_t seed, uint64_t offset);
#else
#define hopper_linear fused_linear
#endif

enum { THREADS = 128, TILE = 32 };

static int is_hopper;     // the device has TMA and wgmma as lessons 24 to 26 use them
static bf16* zeros_gpu;   // a bias of nothing
static int* tickets_gpu;  // of lesson 25

extern "C" int train_layers_begin(int outputs) {
    int device, major;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
#ifdef TRAIN_WITH_HOPPER
    is_hopper = major == 9;
#else
    (void)major;
#endif
    COURSE_TRY(cudaMalloc((void**)&zeros_gpu, (size_t)outputs * sizeof *zeros_gpu));
    COURSE_TRY(cudaMemset(zeros_gpu, 0, (size_t)outputs * sizeof *zeros_gpu));
    COURSE_TRY(cudaMalloc((void**)&tickets_gpu, 2 * sizeof *tickets_gpu));
    COURSE_TRY(cudaMemset(tickets_gpu, 0, 2 * sizeof *tickets_gpu));
    return COURSE_OK;
}

extern "C" void train_layers_end(void) {
    cudaFree(zeros_gpu), zeros_gpu = NULL;
    cudaFree(tickets_gpu), tickets_gpu = NULL;
}

extern "C" const char* train_layers_names(void) {
    return is_hopper ? "08, 11, 24, 25, 26 and 29" : "07, 08, 11, 14, 16 and 29";
}

// ---- linear layers

extern "C" int train_linear(bf16* Y, bf16* Z, const bf16* X, const bf16* W, const bf16* bias,
                            int rows, int outputs, int inputs, int gelu) {
    const int f = gelu ? FUSED_LINEAR_GELU : FUSED_LINEAR_NONE;
    return (is_hopper ? hopper_linear : fused_linear)(Y, Z, X, W, bias, rows, outputs, inputs, f,
                                                      0.0f, 0, 0);
}

extern "C" int train_product(bf16* Y, const bf16* X, const bf16* W, int rows, int outputs,
                             int inputs) {
    if (is_hopper)
        return hopper_matmul(Y, X, W, rows, outputs, inputs, outputs, inputs, inputs, 0, 1);
    return fused_linear(Y, NULL, X, W, zeros_gpu, rows, outputs, inputs, FUSED_LINEAR_NONE, 0.0f, 0,
                        0);
}

extern "C" int layer_gelu_backward(bf16* dZ, const bf16* dY, const bf16* Z, int rows, int cols) {
    return fused_linear_backward(dZ, dY, Z, rows, cols, FUSED_LINEAR_GELU, 0.0f, 0, 0);
}

extern "C" int layer_input_gradient(bf16* dX, const bf16* dY, const bf16* W, int rows, int outputs,
                                    int inputs) {
    if (is_hopper)
        return hopper_matmul(dX, dY, W, rows, inputs, outputs, inputs, outputs, inputs, 0, 0);
    return tensor_core_matmul(dX, dY, W, rows, inputs, outputs);
}

// to = from^T, a tile of TILE x TILE for each block: lesson 02's, for bf16.
static __global__ void transpose_kernel(bf16* to,          // (cols, rows)  out
                                        const bf16* from,  // (rows, cols)
                                        int rows, int cols) {
    __shared__ bf16 tile[TILE][TILE + 2];
    int64_t row0 = (int64_t)blockIdx.x * TILE, col0 = (int64_t)blockIdx.y * TILE;
    int x = threadIdx.x % TILE;
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE)
        if (row0 + y < rows && col0 + x < cols) tile[y][x] = from[(row0 + y) * cols + col0 + x];
    __syncthreads();  // the tile is written -> read below
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE)
        if (col0 + y < cols && row0 + x < rows) to[(col0 + y) * rows + row0 + x] = tile[x][y];
}

extern "C" int layer_weight_gradient(bf16* dW, const bf16* dY, const bf16* X, int rows, int outputs,
                                     int inputs, void* workspace) {
    if (is_hopper) {
        int slices = split_slices(rows, outputs, inputs);
        if (slices > 1)
            return split_product(dW, dY, X, (float*)workspace, rows, outputs, inputs, slices);
        return hopper_matmul(dW, dY, X, outputs, inputs, rows, inputs, outputs, inputs, 1, 0);
    }
    bf16* transposed = (bf16*)workspace;
    transpose_kernel<<<dim3(CEIL_DIV(rows, TILE), CEIL_DIV(outputs, TILE)), THREADS>>>(
        transposed, dY, rows, outputs);
    COURSE_TRY(cudaGetLastError());
    return tensor_core_matmul(dW, transposed, X, outputs, inputs, rows);
}

// ---- attention

// Where Q, K, V and O begin, and how far their rows are apart: all are (B, N, ..., H, d).
struct heads {
    struct strides qkv, o;
    int d;
    float scale;
};

static struct heads heads_of(int N, int C, int H) {
    struct heads h = {{(int64_t)N * 3 * C, 3 * (int64_t)C, C / H}, {(int64_t)N * C, C, C / H}};
    h.d = C / H;
    h.scale = 1.0f / sqrtf((float)h.d);
    return h;
}

extern "C" int train_attention(bf16* O, float* LSE, const bf16* QKV, int B, int N, int C, int H) {
    struct heads h = heads_of(N, C, H);
    const bf16 *K = QKV + C, *V = QKV + 2 * C;
    if (is_hopper)
        return hopper_flash(O, LSE, QKV, K, V, B, N, N, H, H, h.d, h.o, h.qkv, h.qkv, h.qkv,
                            h.scale, 1, 0, 0, NULL, NULL, tickets_gpu);
    return flash_tensor_core(O, LSE, QKV, K, V, B, N, N, H, h.d, h.o, h.qkv, h.qkv, h.qkv, h.scale,
                             1);
}

extern "C" int layer_attention_backward(bf16* dQKV, const bf16* QKV, const bf16* O,
                                        const float* LSE, const bf16* dO, int B, int N, int C,
                                        int H, void* workspace) {
    struct heads h = heads_of(N, C, H);
    const bf16 *K = QKV + C, *V = QKV + 2 * C;
    bf16 *dK = dQKV + C, *dV = dQKV + 2 * C;
    if (is_hopper)
        return hopper_backward(dQKV, dK, dV, QKV, K, V, O, LSE, dO, B, N, N, H, H, h.d, h.qkv,
                               h.qkv, h.qkv, h.qkv, h.qkv, h.qkv, h.o, h.o, h.scale, 1, 0, 0, NULL,
                               1, workspace);
    return flash_backward_split(dQKV, dK, dV, QKV, K, V, O, LSE, dO, B, N, N, H, h.d, h.qkv, h.qkv,
                                h.qkv, h.qkv, h.qkv, h.qkv, h.o, h.o, h.scale, 1, workspace);
}
