// Lesson 12's launcher: two head dimensions, the second with rows that lie apart.
#include "flash_forward.h"
#include <cuda_fp16.h>
#include "../launched.h"
#include "small.h"

// Attention over B batches of N_q queries and N_k keys whose rows lie `stride` elements apart.
static void attention(int B, int N_q, int N_k, int d, int stride) {
    fp16 *Q = (fp16*)filled(B * N_q * stride), *O = (fp16*)empty(B * N_q * stride);
    fp16 *K = (fp16*)filled(B * N_k * stride), *V = (fp16*)filled(B * N_k * stride);
    flash_forward(O, empty(B * N_q), Q, K, V, B, N_q, N_k, d, N_q * stride, stride, N_q,
                  N_q * stride, stride, N_k * stride, stride, N_k * stride, stride, 0.125f);
}

int main(void) {
    attention(2, 64, 128, 64, 64);
    launched("2 x 64 x 128 d 64");
    attention(1, 32, 64, 128, 136);
    launched("1 x 32 x 64 d 128 stride 136");
    return 0;
}
