// fused_linear.h: the contract of lesson 08: a linear layer with all that follows it.
//
//     Z = X W^T + bias                                                       (README eq. 1)
//     Y = dropout(f(Z)),   f(z) = z, or GELU of z in one of two forms        (README eq. 2, 3)
//
// and the elementwise part of its backward pass, dZ = f'(Z) * dropout(dY)    (README eq. 4)
//
// PyTorch's dropout(gelu(linear(X, W, bias))). The random numbers are of the elements, so that any
// kernel, with tiles of any size, drops the same ones.
#ifndef FUSED_LINEAR_H
#define FUSED_LINEAR_H

#include "course.h"

// f. With Phi the distribution function of the normal distribution:
enum fused_linear_f {
    FUSED_LINEAR_NONE = 0,       // f(z) = z
    FUSED_LINEAR_GELU = 1,       // f(z) = z Phi(z) = z / 2 (1 + erf(z / sqrt(2)))
    FUSED_LINEAR_GELU_TANH = 2,  // f(z) = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3)))
};

// M, N and K may not be larger.
enum { FUSED_LINEAR_MAX_SIZE = 1000000 };

COURSE_BEGIN_C

// Dropout. Element (i, j) has the index e = i N + j, which needs 64 bits, and the random word
//
//     word e % 4 of Philox4x32-10 (Salmon and others 2011), with
//         counter  e / 4 (64 bits, the lower 32 first), offset (64 bits, the same)
//         key      seed (64 bits, the same)
//
// It is kept if word >= p 2^32, compared exactly. A kept element is multiplied by 1 / (1 - p), one
// that is dropped becomes +0, also if it was NaN. So p = 0 drops nothing, not even where the word
// is 0, and p = 1 everything. (It is cuRAND's curand4() after curand_init(seed, offset, e / 4 * 4,
// state).) Key 0 and counter 0 give 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
//
// Everything between the bf16 inputs and a bf16 output is computed in fp32: an output is rounded
// once, to the nearest. f has an absolute error of at most |z| 2^-22, with what fp32 adds to that.
// Y comes from Z before Z is rounded.
//
// Matrices are packed and row-major. W has a row for each output, as PyTorch's weight. A NaN in Z
// shows in the kept elements of Y; of +infinity f is +infinity, and f(-infinity) is unspecified.
// All memory is device memory, belongs to the caller, and overlaps in nothing. What outputs held
// before does not matter. Nothing is allocated: beside the sums on the chip and the outputs nothing
// of M x N elements exists. The kernels run in the default stream; the launcher does not wait.
//
// Returns, in this order of precedence
//     COURSE_BAD_ARGUMENT  M, N or K is negative; f is none of the three; p is not in [0, 1]
//     COURSE_UNSUPPORTED   M, N or K is above FUSED_LINEAR_MAX_SIZE; N is no multiple of 4, K none
//                          of 8
//     COURSE_OK            M = 0 or N = 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  Y or bias is NULL; or K > 0 and X or W is NULL
//     COURSE_UNSUPPORTED   a pointer is no multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched. K = 0: Z is bias, and X and W may be NULL
int fused_linear(bf16* Y_gpu,           // (M, N)  out
                 bf16* Z_gpu,           // (M, N)  out, for the backward pass; NULL: not wanted
                 const bf16* X_gpu,     // (M, K)
                 const bf16* W_gpu,     // (N, K)
                 const bf16* bias_gpu,  // (N)
                 int M,                 // rows of X: tokens
                 int N,                 // outputs, a multiple of 4
                 int K,                 // inputs, a multiple of 8
                 int f,                 // enum fused_linear_f
                 float p,               // the probability that an element is dropped, 0 .. 1
                 uint64_t seed,         // of all of a training's numbers
                 uint64_t offset);      // of this call: another one for each layer and step

// dZ from dY, with the mask of the forward call that had the same M, N, p, seed and offset: nobody
// stored it. A dropped element's dZ is +0. f'(Z) is of the bf16 Z that the forward pass wrote, off
// by at most 2^-21 (1 + |Z|). A NaN in Z or dY shows in dZ where the element is kept. With
// f = FUSED_LINEAR_NONE nobody reads Z, and it may be NULL.
//
// Returns, in this order of precedence
//     COURSE_BAD_ARGUMENT  M or N is negative; f is none of the three; p is not in [0, 1]
//     COURSE_UNSUPPORTED   M or N is above FUSED_LINEAR_MAX_SIZE; N is no multiple of 4
//     COURSE_OK            M = 0 or N = 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  dZ or dY is NULL; or Z is, and f is a GELU
//     COURSE_UNSUPPORTED   a pointer is no multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int fused_linear_backward(bf16* dZ_gpu,        // (M, N)  out
                          const bf16* dY_gpu,  // (M, N)
                          const bf16* Z_gpu,   // (M, N)
                          int M, int N, int f, float p, uint64_t seed, uint64_t offset);

COURSE_END_C

#endif
