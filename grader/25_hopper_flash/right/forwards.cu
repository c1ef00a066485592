// forwards.cu: keys from the first to the last; K and V have a barrier each. The next K comes while
// this V is multiplied.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "flash.h"
#include "hopper.h"

template <int head_dim> struct tiles {
    enum {
        d = head_dim,
        BLOCK_Q = ROWS,
        PANELS = head_dim / PANEL,
        THREADS = WARPGROUP,
        WINDOW = 1,
    };
};

template <class T> struct block_smem {
    bf16 Q[T::PANELS][T::BLOCK_Q * PANEL];
    bf16 K[T::PANELS][BLOCK_K * PANEL];
    bf16 V[T::PANELS][BLOCK_K * PANEL];
    bf16 O[T::PANELS][T::BLOCK_Q * PANEL];
    mbarrier K_loaded, V_loaded;
};

// Grid: the tiles of queries of all heads.
template <class T>
__global__ void __launch_bounds__(T::THREADS)
    hopper_flash_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    struct place place = place_of_block<T>(p);
    int key_head = place.head / (p.H_q / p.H_k);
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.K_loaded, 1), mbarrier_init(&smem.V_loaded, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is there before anybody waits

    int first = threadIdx.x / 32 * WARP_ROWS, row = place.row0 + first + threadIdx.x % 32 / 4;
    struct range keys[2] = {visible<true>(p, place, row), visible<true>(p, place, row + 8)};
    float S[BLOCK_K / 2], O[T::d / 2], m[2] = {-INFINITY, -INFINITY}, l[2] = {}, alpha[2], sum[2];
    unsigned P[BLOCK_K / 4], parity = 0;
    unsigned Q = wgmma_descriptor(smem.Q[0], 0), K = wgmma_descriptor(smem.K[0], 0);
    unsigned V = wgmma_descriptor(smem.V[0], BLOCK_K * 128);
    for (int i = 0; i < T::d / 2; i++) O[i] = 0.0f;
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&smem.K_loaded, sizeof smem.Q + sizeof smem.K);
        tma_load_5d(smem.Q, &p.Q_map, &smem.K_loaded, L2_EVICT_FIRST, 0, place.row0, 0, place.head,
                    place.batch);
        tma_load_5d(smem.K, &p.K_map, &smem.K_loaded, L2_EVICT_LAST, 0,
                    block_of<true>(p, place, place.first) * BLOCK_K, 0, key_head, place.batch);
    }
    for (int j = place.first; j <= place.last; j++, parity ^= 1) {
        int key = block_of<true>(p, place, j) * BLOCK_K;
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(&smem.V_loaded, sizeof smem.V);
            tma_load_5d(smem.V, &p.V_map, &smem.V_loaded, L2_EVICT_LAST, 0, key, 0, key_head,
                        place.batch);
        }
        mbarrier_wait(&smem.K_loaded, parity);
        issue_QK<T>(S, Q, K);
        wgmma_wait<0>();
        wgmma_hold<BLOCK_K / 2>(S);
        __syncthreads();  // all warps have multiplied K before the next one comes
        if (threadIdx.x == 0 && j < place.last) {
            mbarrier_arrive_expect(&smem.K_loaded, sizeof smem.K);
            tma_load_5d(smem.K, &p.K_map, &smem.K_loaded, L2_EVICT_LAST, 0,
                        block_of<true>(p, place, j + 1) * BLOCK_K, 0, key_head, place.batch);
        }
        mask_edges<T>(S, keys, key);
        raise_maximum(S, m, alpha, p.c);
        exponentials(S, m, sum, p.c, true);
        multiply_rows<T>(O, alpha);
        for (int r = 0; r < 2; r++) l[r] = alpha[r] * l[r] + sum[r];
        pack(P, S);
        mbarrier_wait(&smem.V_loaded, parity);
        issue_PV<T>(O, P, V);
        wgmma_wait<0>();
        wgmma_hold<T::d / 2>(O);
        __syncthreads();  // all warps have multiplied V before the next one comes
    }
    finish_rows<T>(p, place, first, O, m, l, smem.O);
}

template <class T> static int launch(struct flash p) {
    if (make_maps(&p, T::d, T::BLOCK_Q)) return COURSE_CUDA_ERROR;
    p.tiles_of_head = CEIL_DIV(p.N_q, T::BLOCK_Q);
    void (*kernel)(struct flash) = hopper_flash_kernel<T>;
    const int bytes = sizeof(struct block_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<p.tiles_of_head * p.B * p.H_q, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int hopper_flash(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                            const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                            struct strides stride_o, struct strides stride_q,
                            struct strides stride_k, struct strides stride_v, float scale,
                            int causal, int window, int documents, const int* cu_seqlens_gpu,
                            const int* lists_gpu, int* tickets_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1 || window < 0 || documents < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || CEIL_DIV(N_q, ROWS) * ((int64_t)B * H_q) > INT_MAX ||
        !(scale > 0) || (window && !causal))
        return COURSE_UNSUPPORTED;
    if (lists_gpu && (causal || documents)) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !tickets_gpu || (N_k > 0 && (!K_gpu || !V_gpu)))
        return COURSE_BAD_ARGUMENT;
    if (documents > 0 && !cu_seqlens_gpu) return COURSE_BAD_ARGUMENT;
    const struct rows arrays[4] = {
        {Q_gpu, stride_q}, {K_gpu, stride_k}, {V_gpu, stride_v}, {O_gpu, stride_o}};
    int status = check_rows(arrays, 4, d), multiprocessors;
    if (status == COURSE_OK) status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    struct flash p = {};
    p.Q = arrays[0], p.K = arrays[1], p.V = arrays[2], p.O = arrays[3];
    p.LSE = LSE_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.window = window, p.c = scale * LOG2_E;
    p.documents = documents, p.cu_seqlens = cu_seqlens_gpu, p.lists = lists_gpu;
    return d == 128 ? launch<tiles<128>>(p) : launch<tiles<64>>(p);
}
