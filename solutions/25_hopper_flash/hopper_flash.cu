// hopper_flash.cu: the forward pass of attention on a Hopper GPU.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
//
// A producer thread copies tiles by TMA; consumer warpgroups own 64 rows of Q each (lesson 24).
// Blocks stay, and take the next tile of queries; keys are walked from the last block to the first.
// In a round a consumer has two products under way: S of the next block, and O of this one. While
// the tensor cores work on them, it computes exponentials; and while it does only that, the other
// consumer's products run:
//
//     consumer 0   QK PV |  exp      | QK PV |  exp      |
//     consumer 1         | QK PV     |  exp  | QK PV     |  exp
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "flash.h"
#include "hopper.h"

enum {
    STAGES = 2,          // of K, of V, and tiles of Q
    TURN = 1,            // named barrier TURN + w: it is consumer w's turn to issue products
    TURN_THREADS = 256,  // who gives a turn, and who takes it
    SECTION = 16 << 20,  // bytes of K and V of the heads that are worked on together, in L2
    LONG = 2048,         // keys: from here on d = 64 has three consumers, d = 128 softmax under PV
};

// A lane's weights of a row in a block, 32 of 128, add up to less than this, or the row gets a new
// m. So O, a sum of at most 2^31 / BLOCK_K blocks times a V of up to 2^80, stays below 2^127; and
// where one key dominates a row, its weight is near 1 again, which bf16 holds.     (README eq. 4)
#define LARGEST_SUM 0x1p12f

// The sizes of a kernel. under_PV: exponentials run under this block's P V; else behind it.
// window: there may be a window or documents; lists: each tile of queries has a list of blocks of
// keys. What a kernel has not, it need not ask for.
template <int head_dim, int consumers, bool under_PV, bool window, bool lists> struct flash_tiles {
    enum {
        d = head_dim,
        CONSUMERS = consumers,
        BLOCK_Q = ROWS * consumers,
        PANELS = head_dim / PANEL,
        STAGE = PANELS * BLOCK_K * 128 / 16,  // from stage to stage of K or V, for descriptors
        THREADS = WARPGROUP * (consumers + 1),
        UNDER_PV = under_PV,
        WINDOW = window,
        LISTS = lists,
        PRODUCER_REGISTERS = consumers == 3 ? 32 : 24,
        CONSUMER_REGISTERS = consumers == 3 ? 160 : 240,
    };
    static_assert(!lists || (int)BLOCK_Q == LIST_BLOCK, "a list is of the queries of a tile");
};

template <class T> struct block_smem {
    bf16 Q[STAGES][T::PANELS][T::BLOCK_Q * PANEL];
    bf16 K[STAGES][T::PANELS][BLOCK_K * PANEL];
    bf16 V[STAGES][T::PANELS][BLOCK_K * PANEL];
    bf16 O[T::PANELS][T::BLOCK_Q * PANEL];
    struct place place[STAGES];  // of the tile in Q[...]
    mbarrier Q_full[STAGES], Q_empty[STAGES];
    mbarrier K_full[STAGES], K_empty[STAGES], V_full[STAGES], V_empty[STAGES];
};

// ---- which tile

// Tile number t. A section of heads at a time, whose K and V stay in L2; in a section the last rows
// first: with a causal mask they see the most keys, and what comes last should be short.
template <class T> __device__ __forceinline__ struct place place_of(const struct flash& p, int t) {
    struct place place = {};
    place.live = t < p.tiles;
    if (!place.live) return place;
    int section = t / (p.section * p.tiles_of_head) * p.section;  // its first head
    int heads = min(p.section, p.B * p.H_q - section);
    t -= section * p.tiles_of_head;
    int head = section + t % heads;
    place.row0 = (p.tiles_of_head - 1 - t / heads) * T::BLOCK_Q;
    place.batch = head / p.H_q, place.head = head % p.H_q;
    find_walk<T::WINDOW, T::LISTS>(p, place, T::BLOCK_Q);
    return place;
}

// ---- a consumer

// What a consumer's thread knows of its tile.
template <class T> struct state {
    float S[BLOCK_K / 2];
    float O[T::d / 2];
    unsigned P[BLOCK_K / 4];
    float m[2], l[2];
    struct place place;
    struct range keys[2];      // of the thread's two rows
    int row;                   // the first of them; the other is 8 further
    int j;                     // where S is in the walk over blocks of keys; place.first comes last
    int plain_from, plain_to;  // blocks that all rows of the warpgroup see whole
    unsigned Q, K, V;          // descriptors: of this tile of Q, of the first stages
    // Blocks of keys so far, in stage round % STAGES, and tiles so far. Unsigned: a signed number's
    // remainder takes five instructions more, in front of the wait that begins a round.
    unsigned round, tile;
    int consumer, thread;  // of CONSUMERS, of the 128
};

// Waits for the next tile of queries: enough to begin its first product.
template <class T>
__device__ __forceinline__ void next_tile(struct state<T>& s, struct block_smem<T>& smem) {
    unsigned buffer = s.tile % STAGES;
    mbarrier_wait(&smem.Q_full[buffer], s.tile / STAGES % 2);
    s.place = smem.place[buffer];
    s.Q = wgmma_descriptor(smem.Q[buffer][0] + s.consumer * ROWS * PANEL, 0);
    s.j = s.place.last;
}

// S has been multiplied: the stage of K is free, and behind a tile's last block its Q.
template <class T>
__device__ __forceinline__ void release_K(const struct state<T>& s, struct block_smem<T>& smem,
                                          unsigned stage) {
    if (s.thread != 0) return;
    mbarrier_arrive(&smem.K_empty[stage]);
    if (s.j == s.place.first) mbarrier_arrive(&smem.Q_empty[s.tile % STAGES]);
}

// The rest of what is to be known of it: while the product runs.
template <class T>
__device__ __forceinline__ void see_keys(struct state<T>& s, const struct flash& p) {
    int first_row = s.place.row0 + s.consumer * ROWS;
    s.row = first_row + s.thread / 32 * WARP_ROWS + s.thread % 32 / 4;
    s.keys[0] = visible<T::WINDOW>(p, s.place, s.row);
    s.keys[1] = visible<T::WINDOW>(p, s.place, s.row + 8);
    // Of a list only the last block of all may be seen in part, and that comes first.
    s.plain_to = s.place.last, s.plain_from = s.place.first;
    if (T::LISTS) return;
    // The block with the last key of the first row is no plain one: a row without a key in the
    // blocks before it gets its first m there.
    s.plain_to = max(visible<T::WINDOW>(p, s.place, first_row).to - 1, 0) / BLOCK_K;
    s.plain_from = CEIL_DIV(visible<T::WINDOW>(p, s.place, first_row + ROWS - 1).from, BLOCK_K);
}

// The softmax of a tile's first block, with its maximum.                          (README eq. 3)
template <class T>
__device__ __forceinline__ void first_softmax(struct state<T>& s, const struct flash& p) {
    float alpha[2];
    int first_key = block_of<T::LISTS>(p, s.place, s.j) * BLOCK_K;
    s.m[0] = s.m[1] = -INFINITY;
    mask_edges<T>(s.S, s.keys, first_key);
    raise_maximum(s.S, s.m, alpha, p.c);
    exponentials(s.S, s.m, s.l, p.c, true);
}

// A warp's 16 rows of Q K^T again, from global memory: no other warp takes part.
template <class T>
__device__ __forceinline__ void scores_again(float S[BLOCK_K / 2], const struct flash& p,
                                             const struct place& place, int row, int j) {
    int lane = threadIdx.x % 32, first_key = block_of<T::LISTS>(p, place, j) * BLOCK_K;
    const bf16* Q = head_of(p.Q, place.batch, place.head) + lane % 4 * 2;
    const bf16* K = head_of(p.K, place.batch, place.head / (p.H_q / p.H_k)) + lane % 4 * 2 +
                    (first_key + lane / 4) * p.K.stride.n;
    const unsigned last = p.N_q - 1;
    const bf16* Q_row[2] = {Q + min((unsigned)row, last) * p.Q.stride.n,
                            Q + min((unsigned)row + 8, last) * p.Q.stride.n};
#pragma unroll
    for (int i = 0; i < BLOCK_K / 2; i++) S[i] = 0.0f;
#pragma unroll 1
    for (int x = 0; x < T::d; x += 16) {
        unsigned a[4] = {*(const unsigned*)(Q_row[0] + x), *(const unsigned*)(Q_row[1] + x),
                         *(const unsigned*)(Q_row[0] + x + 8),
                         *(const unsigned*)(Q_row[1] + x + 8)};
#pragma unroll
        for (int n = 0; n < BLOCK_K / 8; n++) {
            const bf16* k = K + 8 * n * p.K.stride.n + x;
            unsigned b[2] = {*(const unsigned*)k, *(const unsigned*)(k + 8)};
            mma_m16n8k16_bf16(&S[4 * n], a, b);
        }
    }
}

// Has a row of the warp outgrown its m?  NaN counts.                              (README eq. 4)
__device__ __forceinline__ bool are_large(const float sum[2]) {
    return __any_sync(0xffffffff, !(sum[0] < LARGEST_SUM) || !(sum[1] < LARGEST_SUM));
}

// One round: S of the next block and O of this one, then the softmax of the next one. In a plain
// round nobody looks for a maximum: m stays, and cancels in O / l. If sums become large all the
// same, the warp computes its scores again, with their maximum.
template <class T, bool masked>
__device__ __forceinline__ void round_of(struct state<T>& s, struct block_smem<T>& smem,
                                         const struct flash& p) {
    s.j--;
    // BEGIN SOLUTION (about 45 lines): both products in turn, the softmax, what is free again
    unsigned stage = s.round % STAGES, next = (s.round + 1) % STAGES;
    float sum[2], alpha[2];
    bool again = false;
    mbarrier_wait(&smem.K_full[next], (s.round + 1) / STAGES % 2);
    named_sync(TURN + s.consumer, TURN_THREADS);
    issue_QK<T>(s.S, s.Q, s.K + next * T::STAGE);
    mbarrier_wait(&smem.V_full[stage], s.round / STAGES % 2);
    issue_PV<T>(s.O, s.P, s.V + stage * T::STAGE);
    named_arrive(TURN + (s.consumer + 1) % T::CONSUMERS, TURN_THREADS);
    wgmma_wait<1>();
    wgmma_hold<BLOCK_K / 2>(s.S);
    release_K<T>(s, smem, next);
    if (masked) {
        mask<T>(s.S, s.keys, s.j * BLOCK_K + s.thread % 4 * 2);
        raise_maximum(s.S, s.m, alpha, p.c);
        s.l[0] *= alpha[0], s.l[1] *= alpha[1];
    }
    if (T::UNDER_PV) {
        exponentials(s.S, s.m, sum, p.c, masked);
        if (!masked) again = are_large(sum);
        // Something that the compiler takes for a use of the sums: else it moves the wait for P V
        // above the exponentials, and nothing runs under it.
        if (again) __nanosleep(20);
        wgmma_hold<BLOCK_K / 2>(s.S);
    }
    wgmma_wait<0>();
    wgmma_hold<T::d / 2>(s.O);
    if (s.thread == 0) mbarrier_arrive(&smem.V_empty[stage]);
    if (!T::UNDER_PV) exponentials(s.S, s.m, sum, p.c, masked);
    pack(s.P, s.S);
    if (!T::UNDER_PV && !masked) again = are_large(sum);
    if (masked) {
        multiply_rows<T>(s.O, alpha);
    } else if (__builtin_expect(again, 0)) {
        scores_again<T>(s.S, p, s.place, s.row, s.j);
        raise_maximum(s.S, s.m, alpha, p.c);
        s.l[0] *= alpha[0], s.l[1] *= alpha[1];
        exponentials(s.S, s.m, sum, p.c, true);
        pack(s.P, s.S);
        multiply_rows<T>(s.O, alpha);
    }
    s.l[0] += sum[0], s.l[1] += sum[1];
    // END SOLUTION
    s.round++;
}

// l of the whole rows: LSE, and factor = 1 / l.                                   (README eq. 5)
//     LSE = m scale + ln l;  O = 0 and LSE = -infinity for a row that sees no key
template <class T>
__device__ __forceinline__ void finish_sums(const struct flash& p, const struct place& place,
                                            int row, const float m[2], const float l[2],
                                            float factor[2]) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = l[r];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        // Unsigned: the last tile may end behind what an int counts.
        if (threadIdx.x % 4 == 0 && (unsigned)row + 8 * r < (unsigned)p.N_q)
            p.LSE[((int64_t)place.batch * p.H_q + place.head) * p.N_q + row + 8 * r] =
                sum > 0 ? (m[r] * p.c + __log2f(sum)) * LN_2 : -INFINITY;
        factor[r] = sum > 0 ? __fdividef(1.0f, sum) : 0.0f;
    }
}

// O / l leaves by way of shared memory, 16 rows of a warp.
template <class T>
__device__ __forceinline__ void store_rows(const struct flash& p, const struct place& place,
                                           struct state<T>& s, const float factor[2],
                                           struct block_smem<T>& smem) {
    int lane = s.thread % 32, first = s.consumer * ROWS + s.thread / 32 * WARP_ROWS;
    multiply_rows<T>(s.O, factor);
    if (lane == 0) bulk_wait_read<0>();  // the stores of the tile before have read these rows
    __syncwarp();                        // ... before any lane writes there
    int row = first + lane % 16;
#pragma unroll
    for (int x = 0; x < T::d; x += 16) {
        const float* o = &s.O[x / 2];
        unsigned word[4] = {pack_bf16(o[0], o[1]), pack_bf16(o[2], o[3]), pack_bf16(o[4], o[5]),
                            pack_bf16(o[6], o[7])};
        int piece = (x % PANEL / 8 + lane / 16) ^ row % 8;
        stmatrix_x4(&smem.O[x / PANEL][row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    if (lane == 0) {
        if (first < p.N_q - place.row0)
            for (int panel = 0; panel < T::PANELS; panel++)
                tma_store_5d(&p.O_map, smem.O[panel] + first * PANEL, 0, place.row0 + first, panel,
                             place.head, place.batch);
        bulk_commit();
    }
}

template <class T>
__device__ __forceinline__ void consume(struct block_smem<T>& smem, const struct flash& p,
                                        int consumer) {
    struct state<T> s;
    s.consumer = consumer, s.thread = threadIdx.x % WARPGROUP, s.round = 0, s.tile = 0;
    s.K = wgmma_descriptor(smem.K[0][0], 0);
    s.V = wgmma_descriptor(smem.V[0][0], BLOCK_K * 128);
    if (consumer == T::CONSUMERS - 1) named_arrive(TURN, TURN_THREADS);  // consumer 0 begins
    next_tile<T>(s, smem);
    // The grid is not larger than the number of tiles: there is a first one.
    mbarrier_wait(&smem.K_full[0], 0);
    named_sync(TURN + consumer, TURN_THREADS);  // also: all have read smem.place
    issue_QK<T>(s.S, s.Q, s.K);
    named_arrive(TURN + (consumer + 1) % T::CONSUMERS, TURN_THREADS);
    see_keys<T>(s, p);
    wgmma_wait<0>();
    wgmma_hold<BLOCK_K / 2>(s.S);
    release_K<T>(s, smem, 0);
    first_softmax<T>(s, p);
    pack(s.P, s.S);
    for (;;) {
#pragma unroll
        for (int i = 0; i < T::d / 2; i++) s.O[i] = 0.0f;
        while (!T::LISTS && s.j > s.place.first && s.j > s.plain_to) round_of<T, true>(s, smem, p);
        while (s.j > s.place.first && s.j > s.plain_from) round_of<T, false>(s, smem, p);
        if (T::WINDOW)
            while (s.j > s.place.first) round_of<T, true>(s, smem, p);
        // The tile's last P V; the next tile's first Q K^T goes with it.
        struct place done = s.place;
        int row = s.row;
        unsigned stage = s.round % STAGES, parity = s.round / STAGES % 2;
        float factor[2];
        s.round++, s.tile++;
        next_tile<T>(s, smem);
        if (s.place.live) {
            unsigned next = s.round % STAGES;
            mbarrier_wait(&smem.K_full[next], s.round / STAGES % 2);
            named_sync(TURN + consumer, TURN_THREADS);
            issue_QK<T>(s.S, s.Q, s.K + next * T::STAGE);
            mbarrier_wait(&smem.V_full[stage], parity);
            issue_PV<T>(s.O, s.P, s.V + stage * T::STAGE);
            named_arrive(TURN + (consumer + 1) % T::CONSUMERS, TURN_THREADS);
            see_keys<T>(s, p);
            finish_sums<T>(p, done, row, s.m, s.l, factor);
            wgmma_wait<1>();
            wgmma_hold<BLOCK_K / 2>(s.S);
            release_K<T>(s, smem, next);
            first_softmax<T>(s, p);
            wgmma_wait<0>();
            wgmma_hold<T::d / 2>(s.O);
            wgmma_hold<BLOCK_K / 2>(s.S);
            if (s.thread == 0) mbarrier_arrive(&smem.V_empty[stage]);
            pack(s.P, s.S);
        } else {
            mbarrier_wait(&smem.V_full[stage], parity);
            issue_PV<T>(s.O, s.P, s.V + stage * T::STAGE);
            finish_sums<T>(p, done, row, s.m, s.l, factor);
            wgmma_wait<0>();
            wgmma_hold<T::d / 2>(s.O);
        }
        store_rows<T>(p, done, s, factor, smem);
        if (!s.place.live) break;
    }
    bulk_wait<0>();  // shared memory must live until it is read
}

// ---- the producer: one thread

template <class T>
__device__ __forceinline__ void produce(struct block_smem<T>& smem, const struct flash& p) {
    unsigned round = 0;
    int t = blockIdx.x;  // the tile; later ones by tickets, whoever is ready first
    for (unsigned tile = 0;; tile++) {
        unsigned buffer = tile % STAGES;
        struct place place = place_of<T>(p, t);
        mbarrier_wait(&smem.Q_empty[buffer], tile / STAGES % 2 ^ 1);
        smem.place[buffer] = place;  // who waits for Q_full sees it
        if (!place.live) {
            mbarrier_arrive(&smem.Q_full[buffer]);
            break;
        }
        mbarrier_arrive_expect(&smem.Q_full[buffer], sizeof smem.Q[0]);
        tma_load_5d(smem.Q[buffer], &p.Q_map, &smem.Q_full[buffer], L2_EVICT_FIRST, 0, place.row0,
                    0, place.head, place.batch);
        int head = place.head / (p.H_q / p.H_k);
        for (int j = place.last; j >= place.first; j--, round++) {
            unsigned stage = round % STAGES, parity = round / STAGES % 2 ^ 1;
            int row = block_of<T::LISTS>(p, place, j) * BLOCK_K;
            if (j == place.first) t = gridDim.x + atomicAdd(&p.tickets[0], 1);
            mbarrier_wait(&smem.K_empty[stage], parity);
            mbarrier_arrive_expect(&smem.K_full[stage], sizeof smem.K[0]);
            tma_load_5d(smem.K[stage], &p.K_map, &smem.K_full[stage], L2_EVICT_LAST, 0, row, 0,
                        head, place.batch);
            mbarrier_wait(&smem.V_empty[stage], parity);
            mbarrier_arrive_expect(&smem.V_full[stage], sizeof smem.V[0]);
            tma_load_5d(smem.V[stage], &p.V_map, &smem.V_full[stage], L2_EVICT_LAST, 0, row, 0,
                        head, place.batch);
        }
    }
    // The last block to be done puts the tickets back: all others have taken theirs.
    if (atomicAdd(&p.tickets[1], 1) == gridDim.x - 1) p.tickets[0] = p.tickets[1] = 0;
}

// ---- GPU kernel

// Who arrives how often in a phase of each barrier.
template <class T> __device__ __forceinline__ void make_barriers(struct block_smem<T>& smem) {
    // BEGIN SOLUTION (about 6 lines): all barriers with their counts, and the fence behind them
    for (int i = 0; i < STAGES; i++) {
        mbarrier_init(&smem.Q_full[i], 1), mbarrier_init(&smem.Q_empty[i], T::CONSUMERS);
        mbarrier_init(&smem.K_full[i], 1), mbarrier_init(&smem.K_empty[i], T::CONSUMERS);
        mbarrier_init(&smem.V_full[i], 1), mbarrier_init(&smem.V_empty[i], T::CONSUMERS);
    }
    fence_mbarrier_init();
    // END SOLUTION
}

// Grid: a block for each multiprocessor, or for each tile if these are fewer.
template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    hopper_flash_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    if (threadIdx.x == 0) make_barriers<T>(smem);
    __syncthreads();  // the barriers are there before anybody uses them
    // BEGIN SOLUTION (about 8 lines): the first warpgroup produces, by one thread; others consume
    // The same number in all lanes, and the compiler knows it.
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0);
    if (warpgroup == 0) {
        setmaxnreg_dec<T::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce<T>(smem, p);
    } else {
        setmaxnreg_inc<T::CONSUMER_REGISTERS>();
        consume<T>(smem, p, warpgroup - 1);
    }
    // END SOLUTION
}

// ---- launcher

template <class T> static int launch(struct flash p, int multiprocessors) {
    if (make_maps(&p, T::d, T::BLOCK_Q)) return COURSE_CUDA_ERROR;
    p.tiles_of_head = CEIL_DIV(p.N_q, T::BLOCK_Q);
    p.tiles = p.tiles_of_head * p.B * p.H_q;
    // Without a mask all tiles take as long, and one head after the other needs the least L2.
    p.section = 1;
    int64_t bytes_of_head = (int64_t)p.N_k * T::d * 2 * sizeof(bf16) / (p.H_q / p.H_k);
    while (p.causal && p.section * 2 <= p.B * p.H_q && p.section * 2 * bytes_of_head <= SECTION)
        p.section *= 2;
    void (*kernel)(struct flash) = hopper_flash_kernel<T>;
    const int bytes = sizeof(struct block_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int blocks = p.tiles < multiprocessors ? p.tiles : multiprocessors;
    kernel<<<blocks, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

template <bool window> static int launch_best(const struct flash& p, int d, int multiprocessors) {
    bool is_long = p.N_k / (p.documents > 0 ? p.documents : 1) >= LONG;
    if (d == 128)
        return is_long ? launch<flash_tiles<128, 2, true, window, false>>(p, multiprocessors)
                       : launch<flash_tiles<128, 2, false, window, false>>(p, multiprocessors);
    return is_long ? launch<flash_tiles<64, 3, false, window, false>>(p, multiprocessors)
                   : launch<flash_tiles<64, 2, false, window, false>>(p, multiprocessors);
}

// A list is of 128 queries: two consumers, however long it is.
static int launch_lists(const struct flash& p, int d, int multiprocessors) {
    return d == 128 ? launch<flash_tiles<128, 2, true, false, true>>(p, multiprocessors)
                    : launch<flash_tiles<64, 2, false, false, true>>(p, multiprocessors);
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
    p.LSE = LSE_gpu, p.tickets = tickets_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.window = window, p.c = scale * LOG2_E;
    p.documents = documents, p.cu_seqlens = cu_seqlens_gpu, p.lists = lists_gpu;
    if (lists_gpu) return launch_lists(p, d, multiprocessors);
    return window || documents ? launch_best<true>(p, d, multiprocessors)
                               : launch_best<false>(p, d, multiprocessors);
}
