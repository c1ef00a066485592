// 4_next_QK.cu: two products under way. Q K^T of the next block goes out before P V of this one, so
// that the tensor cores never wait for this consumer's own softmax. The turn is now that of issuing
// products.
//
//     consumer 0   QK PV |  exp      | QK PV |  exp      |
//     consumer 1         | QK PV     |  exp  | QK PV     |  exp
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "flash.h"
#include "hopper.h"

enum {
    STAGES = 2,          // of K and of V
    TURN = 1,            // named barrier TURN + w: it is consumer w's turn to issue products
    TURN_THREADS = 256,  // who gives a turn, and who takes it
};

template <int head_dim> struct tiles {
    enum {
        d = head_dim,
        CONSUMERS = 2,
        BLOCK_Q = ROWS * CONSUMERS,
        PANELS = head_dim / PANEL,
        STAGE = PANELS * BLOCK_K * 128 / 16,  // from stage to stage of K or V, for descriptors
        THREADS = WARPGROUP * (CONSUMERS + 1),
        WINDOW = 1,
        PRODUCER_REGISTERS = 24,
        CONSUMER_REGISTERS = 240,
    };
};

template <class T> struct block_smem {
    bf16 Q[T::PANELS][T::BLOCK_Q * PANEL];
    bf16 K[STAGES][T::PANELS][BLOCK_K * PANEL];
    bf16 V[STAGES][T::PANELS][BLOCK_K * PANEL];
    bf16 O[T::PANELS][T::BLOCK_Q * PANEL];
    mbarrier Q_full;
    mbarrier K_full[STAGES], K_empty[STAGES], V_full[STAGES], V_empty[STAGES];
};

// ---- a consumer

// What a consumer's thread knows of its tile.
template <class T> struct state {
    float S[BLOCK_K / 2];
    float O[T::d / 2];
    unsigned P[BLOCK_K / 4];
    float m[2], l[2];
    struct range keys[2];  // of the thread's two rows
};

// m follows the maximum of S, of block j of the walk; all that is relative to it is to be
// multiplied by alpha.
template <class T>
__device__ __forceinline__ void find_maximum(struct state<T>& s, const struct flash& p,
                                             const struct place& place, int j, float alpha[2]) {
    mask_edges<T>(s.S, s.keys, block_of<true>(p, place, j) * BLOCK_K);
    raise_maximum(s.S, s.m, alpha, p.c);
}

// S becomes P; l and O follow the maximum.
template <class T>
__device__ __forceinline__ void make_weights(struct state<T>& s, const struct flash& p,
                                             const float alpha[2]) {
    float sum[2];
    exponentials(s.S, s.m, sum, p.c, true);
    pack(s.P, s.S);
#pragma unroll
    for (int r = 0; r < 2; r++) s.l[r] = alpha[r] * s.l[r] + sum[r];
    multiply_rows<T>(s.O, alpha);
}

template <class T>
__device__ __forceinline__ void consume(struct block_smem<T>& smem, const struct flash& p,
                                        const struct place& place, int consumer) {
    struct state<T> s;
    unsigned Q = wgmma_descriptor(smem.Q[0] + consumer * ROWS * PANEL, 0);
    unsigned K = wgmma_descriptor(smem.K[0][0], 0);
    unsigned V = wgmma_descriptor(smem.V[0][0], BLOCK_K * 128);
    int thread = threadIdx.x % WARPGROUP, first = consumer * ROWS + thread / 32 * WARP_ROWS;
    int row = place.row0 + first + thread % 32 / 4;
    s.keys[0] = visible<true>(p, place, row), s.keys[1] = visible<true>(p, place, row + 8);
    s.m[0] = s.m[1] = -INFINITY, s.l[0] = s.l[1] = 0.0f;
#pragma unroll
    for (int i = 0; i < T::d / 2; i++) s.O[i] = 0.0f;
    if (consumer == T::CONSUMERS - 1) named_arrive(TURN, TURN_THREADS);  // consumer 0 begins
    mbarrier_wait(&smem.Q_full, 0);
    mbarrier_wait(&smem.K_full[0], 0);
    named_sync(TURN + consumer, TURN_THREADS);
    issue_QK<T>(s.S, Q, K);
    named_arrive(TURN + (consumer + 1) % T::CONSUMERS, TURN_THREADS);
    wgmma_wait<0>();
    wgmma_hold<BLOCK_K / 2>(s.S);
    if (thread == 0) mbarrier_arrive(&smem.K_empty[0]);
    float alpha[2];
    find_maximum<T>(s, p, place, place.last, alpha);
    make_weights<T>(s, p, alpha);
    unsigned round = 0, stage = 0;
    for (int j = place.last - 1; j >= place.first; j--) {
        unsigned next = (round + 1) % STAGES;
        mbarrier_wait(&smem.K_full[next], (round + 1) / STAGES % 2);
        named_sync(TURN + consumer, TURN_THREADS);
        issue_QK<T>(s.S, Q, K + next * T::STAGE);
        mbarrier_wait(&smem.V_full[stage], round / STAGES % 2);
        issue_PV<T>(s.O, s.P, V + stage * T::STAGE);
        named_arrive(TURN + (consumer + 1) % T::CONSUMERS, TURN_THREADS);
        wgmma_wait<1>();
        wgmma_hold<BLOCK_K / 2>(s.S);
        if (thread == 0) mbarrier_arrive(&smem.K_empty[next]);
        find_maximum<T>(s, p, place, j, alpha);
        wgmma_wait<0>();
        wgmma_hold<T::d / 2>(s.O);
        if (thread == 0) mbarrier_arrive(&smem.V_empty[stage]);
        make_weights<T>(s, p, alpha);
        round++, stage = next;
    }
    mbarrier_wait(&smem.V_full[stage], round / STAGES % 2);
    issue_PV<T>(s.O, s.P, V + stage * T::STAGE);
    wgmma_wait<0>();
    wgmma_hold<T::d / 2>(s.O);
    finish_rows<T>(p, place, first, s.O, s.m, s.l, smem.O);
}

// ---- the producer: one thread

template <class T>
__device__ __forceinline__ void produce(struct block_smem<T>& smem, const struct flash& p,
                                        const struct place& place) {
    mbarrier_arrive_expect(&smem.Q_full, sizeof smem.Q);
    tma_load_5d(smem.Q, &p.Q_map, &smem.Q_full, L2_EVICT_FIRST, 0, place.row0, 0, place.head,
                place.batch);
    int head = place.head / (p.H_q / p.H_k);
    unsigned round = 0;
    for (int j = place.last; j >= place.first; j--, round++) {
        unsigned stage = round % STAGES, parity = round / STAGES % 2 ^ 1;
        int row = block_of<true>(p, place, j) * BLOCK_K;
        mbarrier_wait(&smem.K_empty[stage], parity);
        mbarrier_arrive_expect(&smem.K_full[stage], sizeof smem.K[0]);
        tma_load_5d(smem.K[stage], &p.K_map, &smem.K_full[stage], L2_EVICT_LAST, 0, row, 0, head,
                    place.batch);
        mbarrier_wait(&smem.V_empty[stage], parity);
        mbarrier_arrive_expect(&smem.V_full[stage], sizeof smem.V[0]);
        tma_load_5d(smem.V[stage], &p.V_map, &smem.V_full[stage], L2_EVICT_LAST, 0, row, 0, head,
                    place.batch);
    }
}

// ---- GPU kernel

// Who arrives how often in a phase of each barrier.
template <class T> __device__ __forceinline__ void make_barriers(struct block_smem<T>& smem) {
    mbarrier_init(&smem.Q_full, 1);
    for (int i = 0; i < STAGES; i++) {
        mbarrier_init(&smem.K_full[i], 1), mbarrier_init(&smem.K_empty[i], T::CONSUMERS);
        mbarrier_init(&smem.V_full[i], 1), mbarrier_init(&smem.V_empty[i], T::CONSUMERS);
    }
    fence_mbarrier_init();
}

// Grid: the tiles of queries of all heads.
template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    hopper_flash_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    struct place place = place_of_block<T>(p);
    if (threadIdx.x == 0) make_barriers<T>(smem);
    __syncthreads();  // the barriers are there before anybody uses them
    // The same number in all lanes, and the compiler knows it.
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0);
    if (warpgroup == 0) {
        setmaxnreg_dec<T::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce<T>(smem, p, place);
    } else {
        setmaxnreg_inc<T::CONSUMER_REGISTERS>();
        consume<T>(smem, p, place, warpgroup - 1);
    }
}

// ---- launcher

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
