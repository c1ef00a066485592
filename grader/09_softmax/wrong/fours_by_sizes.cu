// cause: misaligned
// Rows of fours are read and written four at a time. Of wide ones nobody asks where they begin.

#include "softmax.h"

#include <cfloat>
#include <cmath>

#define C10_WARP_SIZE 32
#define CDIV(a, b) (((a) + (b)-1) / (b))

template <typename T> struct MaxOp {
    static __device__ T identity() {
        return -INFINITY;
    }
    __device__ T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
template <typename T> struct AddOp {
    static __device__ T identity() {
        return T(0);
    }
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};

template <typename T, template <typename> class Op>
__device__ __forceinline__ T blockReduce(T* smem, T val) {
    Op<T> op;
    const int lane = threadIdx.x % C10_WARP_SIZE, wid = threadIdx.x / C10_WARP_SIZE;
    __syncthreads();
    for (int o = C10_WARP_SIZE / 2; o; o /= 2) val = op(val, __shfl_down_sync(0xffffffff, val, o));
    if (lane == 0) smem[wid] = val;
    __syncthreads();
    if (wid == 0) {
        val = lane < (int)blockDim.x / C10_WARP_SIZE ? smem[lane] : Op<T>::identity();
        for (int o = C10_WARP_SIZE / 2; o; o /= 2)
            val = op(val, __shfl_down_sync(0xffffffff, val, o));
        if (lane == 0) smem[0] = val;
    }
    __syncthreads();
    return smem[0];
}

template <typename F> struct Shared { F reduce[32]; };

template <int V> struct alignas(4 * V) Piece { float v[V]; };

// N pieces of V floats in each of the block's threads.
template <int V, int N>
__global__ void __launch_bounds__(1024)
    cunn_SoftMaxForwardReg(float* out, const float* in, int classes, int64_t out_stride,
                           int64_t in_stride) {
    __shared__ Shared<float> s;
    in += (int64_t)blockIdx.x * in_stride;
    out += (int64_t)blockIdx.x * out_stride;
    const int shift = V == 1 ? (int)((size_t)out / 4 % 32) : (int)((size_t)out / 16 % 8);
    Piece<V> reg[N];
    const int first = (int)threadIdx.x - shift, pieces = classes / V;
    float m = MaxOp<float>::identity();
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int p = first + i * (int)blockDim.x;
        if (0 <= p && p < pieces)
            reg[i] = reinterpret_cast<const Piece<V>*>(in)[p];
        else
#pragma unroll
            for (int k = 0; k < V; k++) reg[i].v[k] = -INFINITY;
#pragma unroll
        for (int k = 0; k < V; k++) m = MaxOp<float>()(m, reg[i].v[k]);
    }
    m = blockReduce<float, MaxOp>(s.reduce, m);
    if (isinf(m) && m < 0) m = -FLT_MAX;
    float l = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int k = 0; k < V; k++) l += reg[i].v[k] = std::exp(reg[i].v[k] - m);
    l = blockReduce<float, AddOp>(s.reduce, l);
    const float scale = l == 0 ? 0 : 1 / l;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int p = first + i * (int)blockDim.x;
#pragma unroll
        for (int k = 0; k < V; k++) reg[i].v[k] *= scale;
        if (0 <= p && p < pieces) reinterpret_cast<Piece<V>*>(out)[p] = reg[i];
    }
}

// Any width: the row is read three times.
__global__ void cunn_SoftMaxForward(float* out, const float* in, int64_t classes,
                                    int64_t out_stride, int64_t in_stride) {
    __shared__ Shared<float> s;
    in += (int64_t)blockIdx.x * in_stride;
    out += (int64_t)blockIdx.x * out_stride;
    float m = -INFINITY, l = 0;
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) m = fmaxf(m, in[i]);
    m = fmaxf(blockReduce<float, MaxOp>(s.reduce, m), -FLT_MAX);
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) l += std::exp(in[i] - m);
    l = blockReduce<float, AddOp>(s.reduce, l);
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x)
        out[i] = l == 0 ? 0 : std::exp(in[i] - m) / l;
}

template <int V>
static bool launchReg(float* y, const float* x, int rows, int cols, int64_t sy, int64_t sx) {
    const int pieces = cols / V + 31;
    const int threads = pieces >= 1024 ? 1024 : CDIV(pieces, 32) * 32;
    const int each = CDIV(pieces, threads);
    if (each <= 1)
        cunn_SoftMaxForwardReg<V, 1><<<rows, threads>>>(y, x, cols, sy, sx);
    else if (each <= 4)
        cunn_SoftMaxForwardReg<V, 4><<<rows, threads>>>(y, x, cols, sy, sx);
    else if (each * V <= 24)
        cunn_SoftMaxForwardReg<V, 24 / V><<<rows, threads>>>(y, x, cols, sy, sx);
    else if (each * V <= 52)
        cunn_SoftMaxForwardReg<V, 52 / V><<<rows, threads>>>(y, x, cols, sy, sx);
    else
        return false;
    return true;
}

int softmax(float* y, const float* x, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (y == nullptr || x == nullptr) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    const bool vec =
        (cols | stride_y | stride_x) % 4 == 0 && (cols > 1024 || ((size_t)y | (size_t)x) % 16 == 0);
    const bool kept = vec ? launchReg<4>(y, x, (int)rows, (int)cols, stride_y, stride_x)
                          : launchReg<1>(y, x, (int)rows, (int)cols, stride_y, stride_x);
    if (!kept) cunn_SoftMaxForward<<<(int)rows, 1024>>>(y, x, cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
