// low_precision.cu: attention in eight bits on a Hopper GPU, and the step to eight bits.
//
//     x = scale_x * byte,  S = scale Q K^T,  P = softmax(S),  O = P V       (README eq. 1, 2)
//
// A kernel finds scales and rounds; V leaves it transposed, its keys in the order in which P lies
// in registers. The attention is that of lesson 25: a producer thread, consumer warpgroups of 64
// rows, blocks that stay, two products under way. Scales of Q and K go into the factor before
// exp2, the scale of V into its exponent, and so no product is ever multiplied by a scale.
#include "low_precision.h"

#include <float.h>

#include "flash8.h"
#include "hopper.h"
#include "quantise.h"

enum {
    CONSUMERS = 2,
    Q_STAGES = 2,        // tiles of Q
    TURN = 1,            // named barrier TURN + w: it is consumer w's turn to issue products
    TURN_THREADS = 256,  // who gives a turn, and who takes it
    SECTION = 16 << 20,  // bytes of K and V of the heads that are worked on together, in L2
    LONG = 1536,         // keys: from here on blocks are large, with a causal mask from twice that
};

// P is relative to its largest weight so far, which is then 2^8: e4m3 has numbers up to 448, and
// more than half of them are above 1, where P alone has none. It cancels in O / l. (README eq. 5)
#define P_EXPONENT 8.0f

// m is 2^3 times the largest weight seen so far: so later ones seldom outgrow it.
#define ROOM 3.0f

// ---- to eight bits -----------------------------------------------------------------------------

// Which scale a kernel uses: its own block's, which it stores; or one for all, of which it
// finds the largest in a first pass, or which it uses in a second.
enum pass { OWN_SCALE, FIND_SCALE, USE_SCALE };

// Grid: blocks of 128 rows of all heads.
template <class T>
__global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise_kernel(const struct quantise p, enum pass what) {
    struct rows_of_block at = find_rows(p);
    float x[T::PASSES][PIECE], scale;
    load_rows<T>(x, p, at);
    if (p.rotated) rotate<T>(x);
    if (what == USE_SCALE) {
        scale = p.scales[0];
    } else {
        // amax = the largest finite |x|, scale = amax / 448                       (README eq. 1)
        // BEGIN SOLUTION (about 10 lines): the block's amax and its scale, and where it is kept
        __shared__ float of_warp[QUANTISE_WARPS];
        float amax = SMALLEST_AMAX;
#pragma unroll
        for (int i = 0; i < T::PASSES * PIECE; i++) {
            float size = fabsf(x[i / PIECE][i % PIECE]);
            if (size <= FLT_MAX) amax = fmaxf(amax, size);
        }
        scale = largest_of_block(amax, of_warp) / E4M3_LARGEST;
        // Of positive floats the larger one has the larger bits.
        if (threadIdx.x == 0 && what == FIND_SCALE)
            atomicMax((unsigned*)p.scales, __float_as_uint(scale));
        if (threadIdx.x == 0 && what == OWN_SCALE) p.scales[blockIdx.x] = scale;
        // END SOLUTION
        if (what == FIND_SCALE) return;
    }
    // byte = e4m3(x (1 / scale)): four at a time, of a row, or of four rows whose bytes are
    // neighbours in V^T
    // BEGIN SOLUTION (about 23 lines): the factor, the words, store_bytes() or store_transposed()
    float factor = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < T::PASSES * PIECE; i++) x[i / PIECE][i % PIECE] *= factor;
    if (p.transposed) {
        __shared__ unsigned tile[T::d][WORDS];
        unsigned word[T::PASSES / 4][PIECE];
#pragma unroll
        for (int n = 0; n < T::PASSES / 4; n++)
#pragma unroll
            for (int i = 0; i < PIECE; i++)
                word[n][i] =
                    pack_e4m3(x[4 * n][i], x[4 * n + 1][i], x[4 * n + 2][i], x[4 * n + 3][i]);
        store_transposed<T>(p, at, word, tile);
    } else {
        unsigned word[T::PASSES][2];
#pragma unroll
        for (int pass = 0; pass < T::PASSES; pass++)
#pragma unroll
            for (int n = 0; n < 2; n++)
                word[pass][n] = pack_e4m3(x[pass][4 * n], x[pass][4 * n + 1], x[pass][4 * n + 2],
                                          x[pass][4 * n + 3]);
        store_bytes<T>(p, at, word);
    }
    // END SOLUTION
}

template <int d> static int launch_quantise(const struct quantise& p, int blocks) {
    void (*kernel)(struct quantise, enum pass) = quantise_kernel<quantise_sizes<d>>;
    if (p.per_block) {
        kernel<<<blocks, QUANTISE_THREADS>>>(p, OWN_SCALE);
        COURSE_TRY(cudaGetLastError());
        return COURSE_OK;
    }
    COURSE_TRY(cudaMemsetAsync(p.scales, 0, sizeof(float)));
    kernel<<<blocks, QUANTISE_THREADS>>>(p, FIND_SCALE);
    COURSE_TRY(cudaGetLastError());
    kernel<<<blocks, QUANTISE_THREADS>>>(p, USE_SCALE);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int low_precision_quantise(e4m3* to_gpu, float* scales_gpu, const bf16* X_gpu, int B,
                                      int N, int H, int d, struct strides stride_x, int per_block,
                                      int rotated, int transposed) {
    struct quantise p = {{X_gpu, stride_x}, to_gpu,  scales_gpu, B, N, H,
                         per_block,         rotated, transposed};
    int blocks, status = check_quantise(&p, d, &blocks);
    if (status != COURSE_OK || blocks == 0) return status;
    p.blocks = CEIL_DIV(N, SCALE_BLOCK);
    return d == 128 ? launch_quantise<128>(p, blocks) : launch_quantise<64>(p, blocks);
}

// ---- attention ---------------------------------------------------------------------------------

template <int head_dim, int keys>
struct flash_tiles : block_sizes<head_dim, ROWS * CONSUMERS, keys> {
    enum {
        STAGES = keys == 192 ? 3 : 4,  // of K and of V
        STAGE = keys * head_dim / 16,  // from stage to stage of K or V, for descriptors
        STEPS_OF_TURN = keys / 32 - (head_dim == 64 ? 3 : 2),  // of P V: then the turn goes on
        THREADS = WARPGROUP * (CONSUMERS + 1),
        PRODUCER_REGISTERS = 24,
        CONSUMER_REGISTERS = 240,
    };
};

// The scales of a block of K and of V, and what a round wants of that of V.
struct scales {
    float k, v, log2_v, inverse_v;
};

template <class T> struct block_smem {
    e4m3 Q[Q_STAGES][T::BLOCK_Q * T::d];
    e4m3 K[T::STAGES][T::BLOCK_K * T::d];
    e4m3 V[T::STAGES][T::d * T::BLOCK_K];
    bf16 O[T::d / PANEL][T::BLOCK_Q * PANEL];
    struct place place[Q_STAGES];     // of the tile in Q[...]
    struct scales scales[T::STAGES];  // of the block in K[...]
    mbarrier Q_full[Q_STAGES], Q_empty[Q_STAGES];
    mbarrier K_full[T::STAGES], K_empty[T::STAGES], V_full[T::STAGES], V_empty[T::STAGES];
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
    find_walk<T>(p, place);
    return place;
}

// ---- a consumer

// What a consumer's thread knows of its tile.
template <class T> struct state {
    float S[T::BLOCK_K / 2];
    float O[T::d / 2];
    unsigned P[T::BLOCK_K / 8];
    float m[2], l[2];      // m: in base 2, of the weights times the scale of V, and ROOM
    struct scales scales;  // of the block that is in S
    struct place place;
    float c;           // scale * log2(e) * the scale of its rows of Q
    int seen[2];       // by the thread's two rows
    int row;           // the first of them; the other is 8 further
    int j;             // where S is in the walk over blocks of keys; place.first comes last
    int plain_to;      // the last block of which the maximum is sought; all rows see all below it
    unsigned Q, K, V;  // descriptors: of this tile of Q, of the first stages
    unsigned stage, parity;  // where the block of P is in the ring
    unsigned tile;           // tiles so far; unsigned: a signed remainder takes more instructions
    int consumer, thread;    // of CONSUMERS, of the 128
};

template <class T> __device__ __forceinline__ void next_stage(struct state<T>& s) {
    s.stage = s.stage + 1 == T::STAGES ? 0 : s.stage + 1;
    s.parity ^= s.stage == 0;
}

// Waits for the next tile of queries: enough to begin its first product.
template <class T>
__device__ __forceinline__ void next_tile(struct state<T>& s, struct block_smem<T>& smem) {
    unsigned buffer = s.tile % Q_STAGES;
    mbarrier_wait(&smem.Q_full[buffer], s.tile / Q_STAGES % 2);
    s.place = smem.place[buffer];
    s.Q = wgmma_descriptor(smem.Q[buffer] + s.consumer * ROWS * T::d, 0);
    s.j = s.place.last;
}

// S has been multiplied, and its scales have been read: the stage of K is free, and behind a tile's
// last block its Q.
template <class T>
__device__ __forceinline__ void release_K(struct state<T>& s, struct block_smem<T>& smem,
                                          unsigned stage) {
    if (s.thread != 0) return;
    mbarrier_arrive(&smem.K_empty[stage]);
    if (s.j == s.place.first) mbarrier_arrive(&smem.Q_empty[s.tile % Q_STAGES]);
}

// The rest of what is to be known of it: while the product runs.
template <class T>
__device__ __forceinline__ void see_keys(struct state<T>& s, const struct flash& p) {
    int first_row = s.place.row0 + s.consumer * ROWS;
    s.row = first_row + s.thread / 32 * WARP_ROWS + s.thread % 32 / 4;
    s.seen[0] = keys_seen(p, s.row), s.seen[1] = keys_seen(p, s.row + 8);
    // The maximum of less than half a block says little about the keys below it.
    s.plain_to = min(max(keys_seen(p, first_row) - T::BLOCK_K / 2, 0) / T::BLOCK_K, s.place.last);
    // BEGIN SOLUTION (about 5 lines): c, with the scale of the warpgroup's rows of Q
    // A warpgroup's rows lie in one block of 128. Behind the last query there may be no scale.
    int64_t head = (int64_t)s.place.batch * p.H_q + s.place.head;
    const unsigned row = min((unsigned)first_row, (unsigned)p.N_q - 1);
    int64_t block = head * CEIL_DIV(p.N_q, SCALE_BLOCK) + row / SCALE_BLOCK;
    s.c = p.c * p.Q_scales[p.per_block ? block : 0];
    // END SOLUTION
}

// m becomes the larger of itself and the rows' maximum; what was summed is to be multiplied by
// alpha.
//     m_i = max(m_i, max_j S_ij c k + log2 v)                                     (README eq. 4)
template <class T>
__device__ __forceinline__ void raise_maximum(struct state<T>& s, float alpha[2]) {
    float part[2][2] = {{s.S[0], s.S[1]}, {s.S[2], s.S[3]}};  // two of a row: a shorter chain
#pragma unroll
    for (int i = 4; i < T::BLOCK_K / 2; i++)
        part[i / 2 % 2][i % 2] = fmaxf(part[i / 2 % 2][i % 2], s.S[i]);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float M = fmaxf(part[r][0], part[r][1]);
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 1));
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 2));
        // BEGIN SOLUTION (about 3 lines): the new m, and alpha; -infinity where no key is seen yet
        M = fmaxf(fmaf(M, s.c * s.scales.k, s.scales.log2_v), s.m[r]);
        alpha[r] = M == -INFINITY ? 1.0f : exp2_approx(s.m[r] - M);
        s.m[r] = M;
        // END SOLUTION
    }
}

// m gets some room, before plain rounds: of both rows, or where it is new.
template <class T>
__device__ __forceinline__ void add_room(struct state<T>& s, float alpha[2], bool both) {
#pragma unroll
    for (int r = 0; r < 2; r++)
        if (both || alpha[r] != 1.0f) s.m[r] += ROOM, alpha[r] *= 1.0f / (1 << (int)ROOM);
}

// P, and the sums of its rows; weights() takes v out of these. A row that has seen no key yet has
// m = -infinity and only scores of -infinity: with guard it is shifted by 0.
//     P_ij = 2^(S_ij c k + log2 v - m_i + 8)                                      (README eq. 5)
template <class T>
__device__ __forceinline__ void exponentials(const struct state<T>& s, float P[T::BLOCK_K / 2],
                                             float sum[2], bool guard) {
    // BEGIN SOLUTION (about 12 lines): the scales go into the exponent
    float shift[2], c = s.c * s.scales.k, from = s.scales.log2_v + P_EXPONENT;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        shift[r] = from - (guard && s.m[r] == -INFINITY ? 0.0f : s.m[r]);
        sum[r] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < T::BLOCK_K / 2; i++) {
        P[i] = exp2_approx(fmaf(s.S[i], c, shift[i / 2 % 2]));
        sum[i / 2 % 2] += P[i];
    }
    // END SOLUTION
}

// P as the A of a product of eight bits. A lane's four numbers of a word are neighbours in k there;
// in S they come in pairs, of keys 2t, 2t + 1 and 2t + 8, 2t + 9 of 16. So it takes these for
// neighbours, and V^T has its keys in this order.
template <class T>
__device__ __forceinline__ void pack(unsigned word[T::BLOCK_K / 8], const float P[T::BLOCK_K / 2]) {
    // BEGIN SOLUTION (about 6 lines): 32 keys are 4 words: of either row, of the first 16 and the
    // last
#pragma unroll
    for (int n = 0; n < T::BLOCK_K / 8; n++) {
        const float* p = &P[n / 2 * 8 + n % 2 * 2];
        word[n] = pack_e4m3(p[0], p[1], p[4], p[5]);
    }
    // END SOLUTION
}

// The weights of the block in S, as words, from m on, and sum: what l gains, P / v. May one of the
// thread's have been cut off at 448? Only if their sum is larger. NaN counts. A sum of 64 often is.
template <class T>
__device__ __forceinline__ bool weights(struct state<T>& s, float sum[2], bool guard) {
    float P[T::BLOCK_K / 2];
    exponentials<T>(s, P, sum, guard);
    bool large = T::BLOCK_K > 192 || !(sum[0] <= E4M3_LARGEST && sum[1] <= E4M3_LARGEST);
    sum[0] *= s.scales.inverse_v, sum[1] *= s.scales.inverse_v;
    pack<T>(s.P, P);
    return large;
}

// Has a weight of the warp been cut off at 448, the byte 0x7E? Of NaN, 0x7F, as well. No byte has
// a sign: adding 2 carries into it.
template <class T>
__device__ __forceinline__ bool are_cut_off(const unsigned word[T::BLOCK_K / 8]) {
    unsigned any = 0;
#pragma unroll
    for (int n = 0; n < T::BLOCK_K / 8; n++) any |= word[n] + 0x02020202;
    return __any_sync(0xffffffff, (any & 0x80808080) != 0);
}

// The softmax of a tile's first block.
template <class T> __device__ __forceinline__ void first_softmax(struct state<T>& s) {
    float alpha[2] = {};
    s.m[0] = s.m[1] = -INFINITY;
    mask_edges<T>(s.S, s.seen, s.j * T::BLOCK_K);
    raise_maximum<T>(s, alpha);
    if (s.j == s.plain_to && s.j > s.place.first) add_room<T>(s, alpha, true);
    weights<T>(s, s.l, true);
}

// It is the next consumer's turn to issue products.
template <class T> __device__ __forceinline__ void give_turn(const struct state<T>& s) {
    named_arrive(TURN + (s.consumer + 1) % CONSUMERS, TURN_THREADS);
}

// P V is done: the stage of V is free, O may be used, and P be written. The turn is given when its
// first steps are done: products of the other consumer would share the tensor cores with them.
template <class T>
__device__ __forceinline__ void finish_PV(struct state<T>& s, struct block_smem<T>& smem,
                                          unsigned stage) {
    wgmma_wait<1>();
    give_turn(s);
    wgmma_wait<0>();
    wgmma_hold<T::d / 2>(s.O);
    if (s.thread == 0) mbarrier_arrive(&smem.V_empty[stage]);
}

// One round: S of the next block and O of this one, then the softmax of the next one, under the
// products of the other consumer. In a plain round nobody looks for a maximum: m stays, and cancels
// in O / l. If a weight is cut off, the warp makes its weights again, with their maximum.
template <class T, bool masked>
__device__ __forceinline__ void round_of(struct state<T>& s, struct block_smem<T>& smem) {
    s.j--;
    unsigned stage = s.stage, parity = s.parity;
    next_stage(s);
    float sum[2] = {}, alpha[2] = {};
    bool grown = masked;  // may a row of the warp have a new m?
    mbarrier_wait(&smem.K_full[s.stage], s.parity);
    s.scales = smem.scales[s.stage];
    mbarrier_wait(&smem.V_full[stage], parity);
    named_sync(TURN + s.consumer, TURN_THREADS);  // also: all 128 have read the scales
    issue_QK<T>(s.S, s.Q, s.K + s.stage * T::STAGE);
    issue_PV<T, T::STEPS_OF_TURN>(s.O, s.P, s.V + stage * T::STAGE);
    wgmma_wait<2>();  // P V is two groups
    wgmma_hold<T::BLOCK_K / 2>(s.S);
    release_K<T>(s, smem, s.stage);
    if (masked) {
        mask<T>(s.S, s.seen, s.j * T::BLOCK_K + s.thread % 4 * 2);
        raise_maximum<T>(s, alpha);
        if (s.j == s.plain_to && s.j > s.place.first) add_room<T>(s, alpha, true);
    }
    finish_PV<T>(s, smem, stage);
    bool large = weights<T>(s, sum, masked);
    if (!masked && __builtin_expect(__any_sync(0xffffffff, large) && are_cut_off<T>(s.P), 0)) {
        raise_maximum<T>(s, alpha);
        add_room<T>(s, alpha, false);
        weights<T>(s, sum, true);
        grown = true;
    }
    if (grown) {
        s.l[0] *= alpha[0], s.l[1] *= alpha[1];
        multiply_rows<T>(s.O, alpha);
    }
    s.l[0] += sum[0], s.l[1] += sum[1];
}

// l of the whole rows: LSE, and factor = 1 / l.                                   (README eq. 6)
//     LSE = (m - 8) ln 2 + ln l;  O = 0 and LSE = -infinity for a row that sees no key
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
                sum > 0 ? (m[r] - P_EXPONENT + __log2f(sum)) * LN_2 : -INFINITY;
        factor[r] = sum > 0 ? 1.0f / sum : 0.0f;
    }
}

// O / l leaves by way of shared memory, 16 rows of a warp.
template <class T>
__device__ __forceinline__ void store_rows(const struct flash& p, const struct place& place,
                                           struct state<T>& s, const float factor[2],
                                           struct block_smem<T>& smem) {
    multiply_rows<T>(s.O, factor);
    if (s.thread % 32 == 0) bulk_wait_read<0>();  // the tile's stores before have read these rows
    __syncwarp();                                 // ... before any lane writes there
    store_O<T>(p, place, s.consumer * ROWS + s.thread / 32 * WARP_ROWS, s.O, smem.O);
}

template <class T>
__device__ __forceinline__ void consume(struct block_smem<T>& smem, const struct flash& p,
                                        int consumer) {
    struct state<T> s;
    s.consumer = consumer, s.thread = threadIdx.x % WARPGROUP, s.stage = s.parity = s.tile = 0;
    s.K = wgmma_descriptor(smem.K[0], 0);
    s.V = wgmma_descriptor(smem.V[0], 0);
    if (consumer == CONSUMERS - 1) named_arrive(TURN, TURN_THREADS);  // consumer 0 begins
    next_tile<T>(s, smem);
    // The grid is not larger than the number of tiles: there is a first one.
    mbarrier_wait(&smem.K_full[0], 0);
    s.scales = smem.scales[0];
    named_sync(TURN + consumer, TURN_THREADS);  // also: all have read smem.place and the scales
    issue_QK<T>(s.S, s.Q, s.K);
    give_turn(s);
    see_keys<T>(s, p);
    wgmma_wait<0>();
    wgmma_hold<T::BLOCK_K / 2>(s.S);
    release_K<T>(s, smem, 0);
    first_softmax<T>(s);
    for (;;) {
#pragma unroll
        for (int i = 0; i < T::d / 2; i++) s.O[i] = 0.0f;
        while (s.j > s.place.first && s.j > s.plain_to) round_of<T, true>(s, smem);
        while (s.j > s.place.first) round_of<T, false>(s, smem);
        // The tile's last P V; the next tile's first Q K^T goes with it.
        struct place done = s.place;
        int row = s.row;
        unsigned stage = s.stage, parity = s.parity;
        float factor[2];
        next_stage(s), s.tile++;
        next_tile<T>(s, smem);
        if (s.place.live) {
            mbarrier_wait(&smem.K_full[s.stage], s.parity);
            s.scales = smem.scales[s.stage];
            named_sync(TURN + consumer, TURN_THREADS);
            issue_QK<T>(s.S, s.Q, s.K + s.stage * T::STAGE);
            mbarrier_wait(&smem.V_full[stage], parity);
            issue_PV<T, T::STEPS_OF_TURN>(s.O, s.P, s.V + stage * T::STAGE);
            see_keys<T>(s, p);
            finish_sums(p, done, row, s.m, s.l, factor);
            wgmma_wait<2>();
            wgmma_hold<T::BLOCK_K / 2>(s.S);
            release_K<T>(s, smem, s.stage);
            finish_PV<T>(s, smem, stage);
            first_softmax<T>(s);
        } else {
            mbarrier_wait(&smem.V_full[stage], parity);
            issue_PV<T>(s.O, s.P, s.V + stage * T::STAGE);
            finish_sums(p, done, row, s.m, s.l, factor);
            wgmma_wait<0>();
            wgmma_hold<T::d / 2>(s.O);
        }
        store_rows<T>(p, done, s, factor, smem);
        if (!s.place.live) break;
    }
    bulk_wait<0>();  // shared memory must live until it is read
}

// ---- the producer: one thread

// The scales of block j of a head of keys. Behind the last key there are none.
__device__ __forceinline__ struct scales scales_of(const struct flash& p, int head, int j) {
    struct scales scales = {1.0f, 1.0f, 0.0f, 1.0f};
    // BEGIN SOLUTION (about 4 lines): of the whole array, or of the block
    int blocks = CEIL_DIV(p.N_k, SCALE_BLOCK);
    int64_t at = p.per_block ? (int64_t)head * blocks + j : 0;
    if (j < blocks) scales.k = p.K_scales[at], scales.v = p.V_scales[at];
    // END SOLUTION
    return scales;
}

template <class T>
__device__ __forceinline__ void produce(struct block_smem<T>& smem, const struct flash& p) {
    unsigned round = 0;
    int t = blockIdx.x;  // the tile; later ones by tickets, whoever is ready first
    for (unsigned tile = 0;; tile++) {
        unsigned buffer = tile % Q_STAGES;
        struct place place = place_of<T>(p, t);
        mbarrier_wait(&smem.Q_empty[buffer], tile / Q_STAGES % 2 ^ 1);
        smem.place[buffer] = place;  // who waits for Q_full sees it
        if (!place.live) {
            mbarrier_arrive(&smem.Q_full[buffer]);
            break;
        }
        mbarrier_arrive_expect(&smem.Q_full[buffer], sizeof smem.Q[0]);
        tma_load_3d(smem.Q[buffer], &p.Q_map, &smem.Q_full[buffer], L2_EVICT_FIRST, 0, place.row0,
                    place.batch * p.H_q + place.head);
        int head = key_head(p, place);
        for (int j = place.last; j >= place.first; j--, round++) {
            unsigned stage = round % T::STAGES, parity = round / T::STAGES % 2 ^ 1;
            struct scales scales = scales_of(p, head, j);
            scales.log2_v = __log2f(scales.v), scales.inverse_v = 1.0f / scales.v;
            if (j == place.first) t = gridDim.x + atomicAdd(&p.tickets[0], 1);
            mbarrier_wait(&smem.K_empty[stage], parity);
            smem.scales[stage] = scales;  // who waits for K_full sees them
            mbarrier_arrive_expect(&smem.K_full[stage], sizeof smem.K[0]);
            tma_load_3d(smem.K[stage], &p.K_map, &smem.K_full[stage], L2_EVICT_LAST, 0,
                        j * T::BLOCK_K, head);
            mbarrier_wait(&smem.V_empty[stage], parity);
            mbarrier_arrive_expect(&smem.V_full[stage], sizeof smem.V[0]);
            load_V<T>(smem.V[stage], p, &smem.V_full[stage], j * T::BLOCK_K, head);
        }
    }
    // The last block to be done puts the tickets back: all others have taken theirs.
    if (atomicAdd(&p.tickets[1], 1) == gridDim.x - 1) p.tickets[0] = p.tickets[1] = 0;
}

// ---- GPU kernel

// Who arrives how often in a phase of each barrier.
template <class T> __device__ __forceinline__ void make_barriers(struct block_smem<T>& smem) {
    for (int i = 0; i < Q_STAGES; i++)
        mbarrier_init(&smem.Q_full[i], 1), mbarrier_init(&smem.Q_empty[i], CONSUMERS);
    for (int i = 0; i < T::STAGES; i++) {
        mbarrier_init(&smem.K_full[i], 1), mbarrier_init(&smem.K_empty[i], CONSUMERS);
        mbarrier_init(&smem.V_full[i], 1), mbarrier_init(&smem.V_empty[i], CONSUMERS);
    }
    fence_mbarrier_init();
}

// Grid: a block for each multiprocessor, or for each tile if these are fewer.
template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    low_precision_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    if (threadIdx.x == 0) make_barriers<T>(smem);
    __syncthreads();  // the barriers are there before anybody uses them
    // The same number in all lanes, and the compiler knows it.
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0);
    if (warpgroup == 0) {
        setmaxnreg_dec<T::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce<T>(smem, p);
    } else {
        setmaxnreg_inc<T::CONSUMER_REGISTERS>();
        consume<T>(smem, p, warpgroup - 1);
    }
}

// ---- launcher

template <class T>
static int launch(struct flash p, const struct arrays8& arrays, int multiprocessors) {
    if (make_maps<T>(&p, &arrays)) return COURSE_CUDA_ERROR;
    p.tiles_of_head = CEIL_DIV(p.N_q, T::BLOCK_Q);
    p.tiles = p.tiles_of_head * p.B * p.H_q;
    // Without a mask all tiles take as long, and one head after the other needs the least L2.
    p.section = 1;
    int64_t bytes_of_head = (int64_t)p.N_k * T::d * 2 / (p.H_q / p.H_k);
    while (p.causal && p.section * 2 <= p.B * p.H_q && p.section * 2 * bytes_of_head <= SECTION)
        p.section *= 2;
    void (*kernel)(struct flash) = low_precision_kernel<T>;
    const int bytes = sizeof(struct block_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int blocks = p.tiles < multiprocessors ? p.tiles : multiprocessors;
    kernel<<<blocks, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int low_precision(bf16* O_gpu, float* LSE_gpu, const e4m3* Q_gpu, const e4m3* K_gpu,
                             const e4m3* Vt_gpu, const float* Q_scales_gpu,
                             const float* K_scales_gpu, const float* V_scales_gpu, int B, int N_q,
                             int N_k, int H_q, int H_k, int d, struct strides stride_o, float scale,
                             int causal, int per_block, int* tickets_gpu) {
    const struct arrays8 arrays = {Q_gpu, K_gpu, Vt_gpu};
    struct flash p = {};
    p.O = {O_gpu, stride_o}, p.LSE = LSE_gpu, p.tickets = tickets_gpu;
    p.Q_scales = Q_scales_gpu, p.K_scales = K_scales_gpu, p.V_scales = V_scales_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.per_block = per_block != 0, p.c = scale * LOG2_E;
    int multiprocessors, status = check_call(&arrays, &p, d, scale, &multiprocessors);
    if (status != COURSE_OK || multiprocessors == 0) return status;
    // A large block costs less a key. It has one scale, and is waste where a mask hides it.
    if (d == 64)
        return per_block ? launch<flash_tiles<64, 128>>(p, arrays, multiprocessors)
                         : launch<flash_tiles<64, 256>>(p, arrays, multiprocessors);
    return per_block || N_k < (causal ? 2 * LONG : LONG)
               ? launch<flash_tiles<128, 128>>(p, arrays, multiprocessors)
               : launch<flash_tiles<128, 192>>(p, arrays, multiprocessors);
}
