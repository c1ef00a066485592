// cross_entropy.h: the loss of a language model's head, and its gradient in place of the logits.
//
// Row i of the logits holds one score for each of V tokens; labels[i] is the token that comes. A
// row counts unless its label is ignore_index; N is the number of rows that count. With eps =
// smoothing, for each row that counts
//
//     LSE_i  = ln sum_j exp(x_ij)                                          (README eq. 1)
//     t_ij   = eps / V,  and 1 - eps more where j = labels[i]              (README eq. 2)
//     loss   = 1/N sum_i sum_j t_ij (LSE_i - x_ij)                         (README eq. 3)
//     d loss / d x_ij = 1/N (exp(x_ij - LSE_i) - t_ij)                     (README eq. 4)
//
// This is PyTorch's cross_entropy(logits, labels, ignore_index=, label_smoothing=), and what its
// backward pass leaves in logits.grad.
#ifndef CROSS_ENTROPY_H
#define CROSS_ENTROPY_H

#include "course.h"

COURSE_BEGIN_C

// The most columns: they can be counted in int.
#define CROSS_ENTROPY_MAX_V (1 << 30)

// In place: when the kernels are done, x_ij's place holds the gradient by x_ij, rounded once to the
// nearest bf16. Everything else is computed in fp32, and loss and LSE are stored in it. LSE and the
// loss may be off by some units in the last place of a row's largest logit: LSE_i - x_ij of two
// large numbers has no more digits than these, and that is forgiven. Elements between the rows
// (stride > V) may hold anything, do not count, and stay as they are.
//
// A row that does not count gets gradient 0 and LSE 0, and adds nothing to the loss, whatever its
// logits are: NaN as well. If no row counts (N = 0), the loss is 0 and so are all gradients: a
// batch of padding must not end a training. (PyTorch divides 0 by 0 and returns NaN.)
//
// A label that is neither ignore_index nor one of 0 .. V - 1 is an error that no kernel can return.
// Its row counts; the loss is NaN, and so is the gradient in this row, so that nobody overlooks it.
// Nothing outside the arrays is touched, and LSE and the other rows are what they would be.
// ignore_index may be any number, also one of 0 .. V - 1.
//
// A logit may be -inf (a token that is ruled out): its exp is 0. Then the loss is +inf if the label
// is such a token, or if eps > 0; if eps is 0, the other tokens' logits do not enter it. Finite
// logits are below 2^90 in size. In a row that counts, with NaN or +inf, or with nothing but -inf,
// the row's gradient and LSE are unspecified, and the loss.
//
// Rows are added up in any order: the last bits of the loss may differ from call to call.
//
// Alignment: the logits and the workspace to 2 and 4 bytes, no more: a row may begin anywhere. The
// labels to 8. Memory: everything is in device memory and belongs to the caller; the arrays do not
// overlap. The workspace has cross_entropy_workspace_bytes() bytes, which hold anything, NaN as
// well, and may hold anything afterwards. Nothing is allocated. The kernels run in the default
// stream; the launcher does not wait.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  rows < 0; V < 1; stride < V; smoothing not in [0, 1)
//     COURSE_OK            rows is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer
//     COURSE_UNSUPPORTED   rows > 2^31 - 1 or V > CROSS_ENTROPY_MAX_V
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int cross_entropy(float* loss_gpu,   // (1)        out
                  float* LSE_gpu,    // (rows)     out
                  bf16* logits_gpu,  // (rows, V)  in: x; out: the gradient of the loss by x
                  const int64_t* labels_gpu,  // (rows)     0 .. V - 1, or ignore_index
                  int64_t rows,               // >= 0
                  int64_t V,                  // 1 .. CROSS_ENTROPY_MAX_V
                  int64_t stride,             // elements from one row of logits to the next, >= V
                  int64_t ignore_index,       // the label of rows that do not count; often -100
                  float smoothing,            // eps, from 0 to below 1
                  void* workspace_gpu);       // cross_entropy_workspace_bytes(rows) bytes

// Room for one float of each row and one number more. rows >= 0.
static inline size_t cross_entropy_workspace_bytes(int64_t rows) {
    return ((size_t)rows + 1) * sizeof(float);
}

COURSE_END_C

#endif
