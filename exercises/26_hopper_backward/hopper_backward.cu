// hopper_backward.cu: the gradients of attention on a Hopper GPU.
//
//     P  = exp2(c S - log2(e) LSE)      S = Q K^T,  c = scale log2(e)
//     dV = P^T dO
//     dS = P * (dP - delta)             dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,                dQ = scale dS K                            (README eq. 1)
//
// A block owns 128 keys, each of its two consumers 64 of them, and walks over the queries that see
// some of them. S and dP are made transposed, keys as rows: so P^T and dS^T leave the tensor cores
// in the registers that dV and dK want them in. Only dS goes through shared memory, for dQ, which
// sums over the keys of both consumers. Other blocks own other keys of it: TMA adds it to sums in
// global memory.
//
//                 A                       B                      sums over
//     S^T  =      K      shared           Q^T    shared          d
//     dP^T =      V      shared           dO^T   shared          d
//     dV  +=      P^T    registers        dO     shared          queries
//     dK  +=      dS^T   registers        Q      shared          queries
//     dQ  +=      dS     shared           K      shared          keys
//
// dQ of a round is multiplied in the next one. So the other consumer has half a round or more to
// store its dS, and the two need not march in step: while one computes, the other's products run.
// Each consumer has an adder, a warp of the producer's warpgroup, that sees to its sums of dQ.
#include "hopper_backward.h"

#include <limits.h>
#include <math.h>

#include "before_after.h"
#include "hopper.h"

enum {
    BLOCK_K = 128,  // keys of a block
    STAGES = 2,     // of Q and dO, each with its LSE or delta
    BUFFERS = 3,    // of dS: see round_of()
    THREADS = WARPGROUP * (CONSUMERS + 1),
    BOTH = WARPGROUP * CONSUMERS,
    PRODUCER_REGISTERS = 24,
    CONSUMER_REGISTERS = 240,
};

// The named barriers: of both consumers, of one and its adder, or of one.
enum {
    K_READ = 1,         // both have multiplied with K for the last time
    DQ_READY,           // + w: consumer w's dQ is in shared memory; with its adder
    DS_READY = 4,       // + 2 w + turn: consumer w's dS is, of an even or an odd round; both
    STARTED = 8,        // consumer 0 is half a round ahead; both
    DQ_FREE,            // + w: consumer w's dQ has been read; with its adder
    COLUMNS_READ = 11,  // + w: the first LSE and delta are in consumer w's registers
    WITH_ADDER = WARPGROUP + 32,
};

// The sizes of a kernel. same_bits: what blocks add to dQ is added in their order. window: there
// may be a window or documents.
template <int head_dim, int block_q, bool same_bits, bool window> struct backward_tiles {
    enum {
        d = head_dim,
        BLOCK_Q = block_q,  // queries of a round
        PANELS = head_dim / PANEL,
        STAGE = PANELS * BLOCK_Q * 128 / 16,            // from stage to stage, for descriptors
        BUFFER = BLOCK_K / PANEL * BLOCK_Q * 128 / 16,  // from buffer to buffer of dS
        LATE = block_q == ROWS,                         // dQ is handed over at the end of a round
        SAME_BITS = same_bits,
        WINDOW = window,
    };
    static_assert(BLOCK_Q * d == CONSUMERS * HALF, "32 sums of dQ a thread");
};

template <class T> struct block_smem {
    bf16 K[T::PANELS][BLOCK_K * PANEL];
    bf16 V[T::PANELS][BLOCK_K * PANEL];
    bf16 Q[STAGES][T::PANELS][T::BLOCK_Q * PANEL];
    bf16 dO[STAGES][T::PANELS][T::BLOCK_Q * PANEL];
    bf16 dS[BUFFERS][BLOCK_K / PANEL][T::BLOCK_Q * PANEL];  // rows are queries; panel w: consumer w
    float dQ[CONSUMERS][HALF];
    float LSE[STAGES][T::BLOCK_Q], delta[STAGES][T::BLOCK_Q];
    mbarrier K_full, V_full, Q_full[STAGES], Q_empty[STAGES], dO_full[STAGES], dO_empty[STAGES];
};

// ---- a consumer

// What a consumer's thread knows. A lane has two rows of S^T and dP^T, keys; number i is of key
// i / 2 % 2, of query i / 4 * 8 + i % 2 from its first one on.
template <class T> struct state {
    float S[T::BLOCK_Q / 2];   // becomes P
    float dP[T::BLOCK_Q / 2];  // becomes dP - delta
    float dK[T::d / 2], dV[T::d / 2];
    struct place place;
    struct range seen[2];  // the queries that see the key, less the lane's first column
    int tile;              // of queries in its head, the one that S is of
    unsigned K, V, Q, dO, Q_rows, dO_rows;  // descriptors; Q^T and Q, dO^T and dO
    unsigned dS, K_rows;                    // for dQ
    unsigned round, buffer;                 // rounds so far; the buffer of dS for this one
    int w, thread;                          // which consumer; of the 128
    int own_dS, other_dS;                   // barriers: DS_READY of this round, of the one before
};

// S^T = K Q^T or dP^T = V dO^T: 64 rows of A, the columns are the tile's queries.  (README eq. 3)
template <class T>
__device__ __forceinline__ void issue_scores(float S[T::BLOCK_Q / 2], unsigned A, unsigned B) {
    const int IN_PANEL = PANEL / 16;
    wgmma_fence();
    wgmma_bf16_first<T::BLOCK_Q, K_MAJOR, K_MAJOR>(S, A, B);
#pragma unroll
    for (int x = 1; x < T::d / 16; x++)
        wgmma_bf16<T::BLOCK_Q, K_MAJOR, K_MAJOR>(
            S, A + x / IN_PANEL * (BLOCK_K * 128 / 16) + x % IN_PANEL * 2,
            B + x / IN_PANEL * (T::BLOCK_Q * 128 / 16) + x % IN_PANEL * 2, 1);
    wgmma_commit();
}

// dV += P^T dO or dK += dS^T Q, for 64 of the tile's queries, from 64 half on. A is in registers,
// B the tile's rows.                                                            (README eq. 5, 6)
template <class T>
__device__ __forceinline__ void issue_keys(float D[T::d / 2], const unsigned A[T::BLOCK_Q / 4],
                                           unsigned B, int half) {
    wgmma_fence();
#pragma unroll
    for (int i = 4 * half; i < 4 * half + 4; i++)
        wgmma_bf16_registers<T::d, MN_MAJOR>(D, &A[4 * i], B + i * (16 * 128 / 16), 1);
    wgmma_commit();
}

// dQ = dS K over the block's 128 keys: 64 rows and 64 columns, this consumer's half. (README eq. 7)
template <class T>
__device__ __forceinline__ void issue_dQ(float dQ[PANEL / 2], unsigned dS, unsigned K) {
    const int IN_PANEL = PANEL / 16;
    wgmma_fence();
    wgmma_bf16_first<PANEL, K_MAJOR, MN_MAJOR>(dQ, dS, K);
#pragma unroll
    for (int n = 1; n < BLOCK_K / 16; n++)
        wgmma_bf16<PANEL, K_MAJOR, MN_MAJOR>(
            dQ, dS + n / IN_PANEL * (T::BLOCK_Q * 128 / 16) + n % IN_PANEL * 2,
            K + n * (16 * 128 / 16), 1);
    wgmma_commit();
}

// column: of the first 64 queries, and then of the next 64, from LSE, in shared memory. All 128 at
// once would spill.
// P_ij = exp2(c S_ij - log2(e) LSE_i), 0 where hidden                              (README eq. 4)
template <class T, bool masked>
__device__ __forceinline__ void exponentials(struct state<T>& s, float column[COLUMNS],
                                             const float* LSE, const struct backward& p) {
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < T::BLOCK_Q / 2; i++) {
        if (i == 32) load_columns<ROWS>(column, LSE + ROWS);
        s.S[i] = exp2_approx(fmaf(s.S[i], p.c, column[i % 32 / 4 * 2 + i % 2]));
        const int query = i / 4 * 8 + i % 2 + s.tile * T::BLOCK_Q;
        if (masked && query < s.seen[i / 2 % 2].from) s.S[i] = 0.0f;
        if (masked && T::WINDOW && query >= s.seen[i / 2 % 2].to) s.S[i] = 0.0f;
        any |= __float_as_uint(s.S[i]);
    }
    // A use of every P, which is never taken: else the compiler moves the next wait, for dP, above
    // the exponentials, and nothing runs under them.
    if (any == 0xffffffff) __nanosleep(20);
    wgmma_hold<T::BLOCK_Q / 2>(s.S);
}

// dP_ij - delta_i, with the same halves
template <class T>
__device__ __forceinline__ void subtract_delta(struct state<T>& s, float column[COLUMNS],
                                               const float* delta) {
#pragma unroll
    for (int i = 0; i < T::BLOCK_Q / 2; i++) {
        if (i == 32) load_columns<ROWS>(column, delta + ROWS);
        s.dP[i] += column[i % 32 / 4 * 2 + i % 2];
    }
    wgmma_hold<T::BLOCK_Q / 2>(s.dP);
}

// dS to shared memory, transposed: queries become rows. dS: the lane's part of dS^T, packed.
template <class T>
__device__ __forceinline__ void store_dS(const struct state<T>& s, struct block_smem<T>& smem,
                                         const unsigned dS[T::BLOCK_Q / 4], unsigned buffer) {
    const int lane = s.thread % 32, row = lane / 16 * 8 + lane % 8;
    const int piece = (s.thread / 32 * 2 + lane / 8 % 2) ^ row % 8;
    bf16* to = &smem.dS[buffer][s.w][row * PANEL + piece * 8];
#pragma unroll
    for (int j = 0; j < T::BLOCK_Q / 16; j++) stmatrix_x4_trans(to + j * 16 * PANEL, &dS[4 * j]);
}

// dQ to shared memory, for the adder.
template <class T>
__device__ __forceinline__ void store_dQ(const struct state<T>& s, struct block_smem<T>& smem,
                                         const float dQ[PANEL / 2]) {
    named_sync(DQ_FREE + s.w, WITH_ADDER);  // TMA has read the last one before it is overwritten
#pragma unroll
    for (int i = 0; i < PANEL / 2; i += 4)
        *(float4*)&smem.dQ[s.w][i * WARPGROUP + s.thread * 4] = *(const float4*)&dQ[i];
}

// ... which TMA may read from here on. The fence waits for all stores, in busy shared memory: at
// the end of a round they have arrived. With d = 64 that costs registers, and it comes earlier.
template <class T> __device__ __forceinline__ void hand_over_dQ(const struct state<T>& s) {
    fence_proxy_async();                       // this thread's dQ comes before what TMA reads
    named_arrive(DQ_READY + s.w, WITH_ADDER);  // ... which the adder asks: all 128 threads'
}

// Tiles are walked in this order: i-th, for i from place.first on. With SAME_BITS a head's last
// tile is the first: under a causal mask all blocks see it, and soon follow each other.
template <class T>
__device__ __forceinline__ int tile_at(int i, const struct place& place, const struct backward& p) {
    return T::SAME_BITS ? end_of<T>(place, p) - 1 - (i - place.first) : i;
}

// The tile behind this one; behind a head's last one comes the first of the group's next head.
template <class T>
__device__ __forceinline__ int next_tile(int tile, const struct place& place,
                                         const struct backward& p) {
    if (T::SAME_BITS) return tile == place.first ? end_of<T>(place, p) - 1 : tile - 1;
    return tile + 1 == end_of<T>(place, p) ? place.first : tile + 1;
}

// Is P of the next tile to be masked?
template <class T>
__device__ __forceinline__ bool is_masked(const struct state<T>& s, const struct backward& p) {
    const int next = next_tile<T>(s.tile, s.place, p);
    return next < s.place.plain_from || (T::WINDOW && next >= s.place.plain_to);
}

// One round. It begins with P and dP - delta of a tile in registers, and ends with those of the
// next one; no product is under way there, or the compiler would wait after each one.
// dS(j) goes where dS(j - 3) was. The other consumer has multiplied that: it waited for its dQ(j -
// 3) before it said that its dS(j - 2) is there, and round j - 1 waited for that.
template <class T, bool masked, bool first, bool last>
__device__ __forceinline__ void round_of(struct state<T>& s, struct block_smem<T>& smem,
                                         const struct backward& p) {
    const unsigned stage = s.round % STAGES, next = (s.round + 1) % STAGES;
    const unsigned parity = (s.round + 1) / STAGES % 2;
    const unsigned buffer = s.buffer, old = buffer == 0 ? BUFFERS - 1 : buffer - 1;
    unsigned P[T::BLOCK_Q / 4], dS[T::BLOCK_Q / 4];
    float dQ[PANEL / 2], column[COLUMNS];
    s.tile = next_tile<T>(s.tile, s.place, p);
    s.buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
    // your code goes here (about 55 lines): dV, dS, dK and the last round's dQ; the next S, P and dP
    s.own_dS ^= 1, s.other_dS ^= 1, s.round++;
}

// dQ of the last round, which no other round multiplies.
template <class T>
__device__ __forceinline__ void last_dQ(struct state<T>& s, struct block_smem<T>& smem,
                                        const struct backward& p) {
    const unsigned old = s.buffer == 0 ? BUFFERS - 1 : s.buffer - 1;
    float dQ[PANEL / 2];
    // As in round_of(): the other's dS is there.
    named_sync(s.other_dS, BOTH);
    issue_dQ<T>(dQ, s.dS + old * T::BUFFER, s.K_rows);
    wgmma_wait<0>();
    wgmma_hold<PANEL / 2>(dQ);
    store_dQ<T>(s, smem, dQ);
    hand_over_dQ<T>(s);
}

// P and dP - delta of the first tile. Consumer 1 begins when consumer 0 has its own: so one
// computes while the other's products run, from here on.
template <class T>
__device__ __forceinline__ void first_scores(struct state<T>& s, struct block_smem<T>& smem,
                                             const struct backward& p) {
    float column[COLUMNS];
    if (s.w == 1) named_sync(STARTED, BOTH);
    mbarrier_wait(&smem.Q_full[0], 0);
    load_columns<ROWS>(column, smem.LSE[0]);
    mbarrier_wait(&smem.K_full, 0);
    issue_scores<T>(s.S, s.K, s.Q);
    mbarrier_wait(&smem.V_full, 0);
    mbarrier_wait(&smem.dO_full[0], 0);
    issue_scores<T>(s.dP, s.V, s.dO);
    wgmma_wait<1>();
    wgmma_hold<T::BLOCK_Q / 2>(s.S);
    exponentials<T, true>(s, column, smem.LSE[0], p);
    load_columns<ROWS>(column, smem.delta[0]);
    wgmma_wait<0>();
    wgmma_hold<T::BLOCK_Q / 2>(s.dP);
    subtract_delta<T>(s, column, smem.delta[0]);
    if (s.w == 0) named_arrive(STARTED, BOTH);
    // All 128 threads have read LSE and delta before thread 0 frees them. In later rounds the wait
    // for DS_READY does that.
    named_sync(COLUMNS_READ + s.w, WARPGROUP);
}

// All rounds, of one tile or more.
template <class T>
__device__ __forceinline__ void walk(struct state<T>& s, struct block_smem<T>& smem,
                                     const struct backward& p) {
    int left = p.group * (end_of<T>(s.place, p) - s.place.first) - 1;  // tiles behind the first one
    first_scores<T>(s, smem, p);
    if (left == 0) {
        round_of<T, false, true, true>(s, smem, p);
    } else {
        round_of<T, true, true, false>(s, smem, p);
        left--;
        while (left > 0) {
            // The round computes P of the tile behind s.tile.
            for (; left > 0 && is_masked<T>(s, p); left--)
                round_of<T, true, false, false>(s, smem, p);
            for (; left > 0 && !is_masked<T>(s, p); left--)
                round_of<T, false, false, false>(s, smem, p);
        }
        round_of<T, false, false, true>(s, smem, p);
    }
    last_dQ<T>(s, smem, p);
}

template <class T>
__device__ __forceinline__ void consume(struct block_smem<T>& smem, const struct backward& p,
                                        int w) {
    struct state<T> s;
    s.place = place_of<T>(p);
    s.w = w, s.thread = threadIdx.x % WARPGROUP, s.round = 0, s.buffer = 0;
    s.own_dS = DS_READY + 2 * w, s.other_dS = DS_READY + 2 * (1 - w) + 1;
    s.K = wgmma_descriptor(smem.K[0] + w * ROWS * PANEL, 0);
    s.V = wgmma_descriptor(smem.V[0] + w * ROWS * PANEL, 0);
    s.Q = wgmma_descriptor(smem.Q[0][0], 0);
    s.dO = wgmma_descriptor(smem.dO[0][0], 0);
    s.Q_rows = wgmma_descriptor(smem.Q[0][0], T::BLOCK_Q * 128);
    s.dO_rows = wgmma_descriptor(smem.dO[0][0], T::BLOCK_Q * 128);
    // Consumer w's half of dQ: of 64 x 128 its columns, of 128 x 64 its rows.
    const bool by_columns = T::BLOCK_Q == (int)ROWS;
    s.dS = wgmma_descriptor(smem.dS[0][0] + (by_columns ? 0 : w * ROWS * PANEL), 0);
    s.K_rows = wgmma_descriptor(smem.K[by_columns ? w : 0], 0);
    const int warp_row = w * ROWS + s.thread / 32 * WARP_ROWS;  // of the block's keys
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int key = s.place.row0 + warp_row + s.thread % 32 / 4 + 8 * r;
        const bool is_there = key < keys_of<T::WINDOW>(p, s.place.batch);
        s.seen[r] = {INT_MAX, INT_MAX};
        if (is_there) s.seen[r] = queries_of_key<T::WINDOW>(p, s.place.batch, key);
        s.seen[r].from -= s.thread % 4 * 2, s.seen[r].to -= s.thread % 4 * 2;
    }
    s.tile = tile_at<T>(s.place.first, s.place, p);
#pragma unroll
    for (int i = 0; i < T::d / 2; i++) s.dK[i] = s.dV[i] = 0.0f;
    wgmma_hold<T::d / 2>(s.dK);  // two arrays: else the compiler takes one for a copy of the other
    wgmma_hold<T::d / 2>(s.dV);
    if (!T::WINDOW || s.place.first < s.place.end) walk<T>(s, smem, p);
    store_rows<T::PANELS>(&p.dV_map, smem.V[0] + warp_row * PANEL, BLOCK_K * PANEL, s.dV, 1.0f,
                          s.place.row0 + warp_row, p.N_k, 0, s.place.head, s.place.batch);
    named_sync(K_READ, BOTH);  // both have multiplied with K before its place is written
    store_rows<T::PANELS>(&p.dK_map, smem.K[0] + warp_row * PANEL, BLOCK_K * PANEL, s.dK, p.scale,
                          s.place.row0 + warp_row, p.N_k, 0, s.place.head, s.place.batch);
    if (s.thread % 32 == 0) bulk_wait<0>();  // shared memory must live until it is read
}

// ---- the producer: one thread

// Q, dO and what belongs to their rows, for each tile of each head of the group.
template <class T>
__device__ __forceinline__ void produce(struct block_smem<T>& smem, const struct backward& p) {
    const struct place place = place_of<T>(p);
    const unsigned bytes = T::BLOCK_Q * T::d * sizeof(bf16) + T::BLOCK_Q * sizeof(float);
    if (T::WINDOW && place.first >= place.end) return griddep_wait();  // nobody sees these keys
    mbarrier_arrive_expect(&smem.K_full, sizeof smem.K);
    tma_load_5d(smem.K, &p.K_map, &smem.K_full, L2_EVICT_FIRST, 0, place.row0, 0, place.head,
                place.batch);
    mbarrier_arrive_expect(&smem.V_full, sizeof smem.V);
    tma_load_5d(smem.V, &p.V_map, &smem.V_full, L2_EVICT_FIRST, 0, place.row0, 0, place.head,
                place.batch);
    griddep_wait();  // LSE and delta are there
    unsigned round = 0;
    for (int head = place.head * p.group; head < (place.head + 1) * p.group; head++)
        for (int i = place.first; i < end_of<T>(place, p); i++, round++) {
            const int tile = tile_at<T>(i, place, p);
            const unsigned stage = round % STAGES, parity = round / STAGES % 2 ^ 1;
            const int row = tile * T::BLOCK_Q;
            const int64_t at =
                ((int64_t)(place.batch * p.H_q + head) * p.tiles_q + tile) * T::BLOCK_Q;
            mbarrier_wait(&smem.Q_empty[stage], parity);
            mbarrier_arrive_expect(&smem.Q_full[stage], bytes);
            tma_load_5d(smem.Q[stage], &p.Q_map, &smem.Q_full[stage], L2_EVICT_LAST, 0, row, 0,
                        head, place.batch);
            bulk_load(smem.LSE[stage], p.LSE + at, sizeof smem.LSE[0], &smem.Q_full[stage]);
            mbarrier_wait(&smem.dO_empty[stage], parity);
            mbarrier_arrive_expect(&smem.dO_full[stage], bytes);
            tma_load_5d(smem.dO[stage], &p.dO_map, &smem.dO_full[stage], L2_EVICT_LAST, 0, row, 0,
                        head, place.batch);
            bulk_load(smem.delta[stage], p.delta + at, sizeof smem.delta[0], &smem.dO_full[stage]);
        }
    griddep_launch();  // the kernel after may begin where there is room
}

// ---- an adder: a warp for each consumer, of the producer's warpgroup

// The blocks of all smaller keys have added theirs to these sums. They were launched before this
// one.
__device__ __forceinline__ void await_turn(const struct backward& p, int64_t half, int block) {
    while (load_acquire(&p.turns[half]) != block) continue;
    fence_proxy_async_global();  // what they have added comes before what TMA adds
}

__device__ __forceinline__ void pass_turn(const struct backward& p, int64_t half) {
    fence_proxy_async_global();      // what TMA has added, for which the caller waited,
    add_release(&p.turns[half], 1);  // ... is there before the turn is over
}

// Consumer w's dQ of each round goes from shared memory to the sums. With SAME_BITS in turns: the
// consumer may store the next dQ as soon as TMA has read this one, but the turn is passed when it
// has been added.
template <class T>
__device__ __forceinline__ void add(struct block_smem<T>& smem, const struct backward& p, int w) {
    const struct place place = place_of<T>(p);
    const bool asks = threadIdx.x % 32 == 0;
    int left = p.group * (end_of<T>(place, p) - place.first);
    griddep_wait();  // the sums are cleared, or the counters are there; and the turns begin
    if (!T::SAME_BITS) await_cleared(p);
    if (left > 0) named_arrive(DQ_FREE + w, WITH_ADDER);  // nothing is there to be read yet
    for (int head = place.head * p.group; head < (place.head + 1) * p.group; head++)
        for (int i = place.first; i < end_of<T>(place, p); i++) {
            const int64_t tile = tile_at<T>(i, place, p);
            const int64_t half =
                ((place.batch * p.H_q + head) * (int64_t)p.tiles_q + tile) * CONSUMERS + w;
            if (T::SAME_BITS && asks) await_turn(p, half, place.block);
            __syncwarp();
            named_sync(DQ_READY + w, WITH_ADDER);  // all 128 threads' dQ, before TMA reads it
            if (asks) {
                bulk_reduce_add(p.sums + half * HALF, smem.dQ[w], HALF * sizeof(float),
                                L2_EVICT_LAST);
                bulk_commit();
                bulk_wait_read<0>();
            }
            __syncwarp();                                           // ... before any lane says so
            if (--left > 0) named_arrive(DQ_FREE + w, WITH_ADDER);  // TMA has read this round's
            if (T::SAME_BITS && asks) {
                bulk_wait<0>();  // it has been added
                pass_turn(p, half);
            }
        }
    if (asks) bulk_wait<0>();  // all is added; and shared memory must live until it is read
}

// ---- GPU kernel

// Who arrives how often in a phase of each barrier.
template <class T> __device__ __forceinline__ void make_barriers(struct block_smem<T>& smem) {
    // your code goes here (about 6 lines): all barriers with their counts, and the fence behind them
}

// Grid: a block for each 128 keys of each head of K.
template <class T>
__global__ void __launch_bounds__(THREADS, 1)
    hopper_backward_kernel(const __grid_constant__ struct backward p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    if (threadIdx.x == 0) make_barriers<T>(smem);
    __syncthreads();  // the barriers are there before anybody uses them
    // your code goes here (about 11 lines): warp 0 produces by one thread, 1 and 2 add, 3 clears ahead
}

// What runs after: dQ, scaled and rounded. Grid: a block for each tile of queries.
template <class T>
__global__ void __launch_bounds__(BOTH) after_kernel(const __grid_constant__ struct backward p) {
    __shared__ __align__(1024) bf16 stage[CONSUMERS * ROWS * PANEL];
    convert_dQ<T::d, T::BLOCK_Q>(stage, p);
}

// ---- launcher

template <class T>
static int launch(struct backward p, const struct rows array[8], void* workspace) {
    if (prepare(&p, array, workspace, T::d, T::BLOCK_Q, BLOCK_K)) return COURSE_CUDA_ERROR;
    const int tiles = p.B * p.H_q * p.tiles_q;
    if (!T::SAME_BITS && few_to_clear(p)) p.cleared = p.turns + (int64_t)tiles * CONSUMERS;
    void (*kernel)(struct backward) = hopper_backward_kernel<T>;
    const int bytes = sizeof(struct block_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    before_kernel<T::d, T::BLOCK_Q><<<tiles, BEFORE_THREADS>>>(p);
    COURSE_TRY(cudaGetLastError());
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = overlapping(p.B * p.H_k * p.tiles_k, THREADS, bytes, &overlap);
    COURSE_TRY(cudaLaunchKernelEx(&config, kernel, p));
    config = overlapping(tiles, BOTH, 0, &overlap);
    COURSE_TRY(cudaLaunchKernelEx(&config, after_kernel<T>, p));
    return COURSE_OK;
}

template <bool same_bits, bool window>
static int launch_best(const struct backward& p, int d, const struct rows array[8],
                       void* workspace) {
    return d == 128 ? launch<backward_tiles<128, 64, same_bits, window>>(p, array, workspace)
                    : launch<backward_tiles<64, 128, same_bits, window>>(p, array, workspace);
}

// The gradients of what meets nothing: dQ without keys, dK and dV without queries.
static int store_zeros(bf16* first, struct strides stride, int B, int N, int H, int d) {
    const struct zeros z = {first, stride, N, H, d, (int64_t)B * N * H * (d / 8)};
    if (z.pieces == 0) return COURSE_OK;
    const int64_t blocks = CEIL_DIV(z.pieces, ZERO_THREADS);
    zero_kernel<<<(unsigned)(blocks < 65535 ? blocks : 65535), ZERO_THREADS>>>(z);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
hopper_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                int B, int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
                struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                struct strides stride_k, struct strides stride_v, struct strides stride_o,
                struct strides stride_do, float scale, int causal, int window, int documents,
                const int* cu_seqlens_gpu, int deterministic, void* workspace_gpu) {
    const struct rows array[8] = {{Q_gpu, stride_q},   {K_gpu, stride_k},   {V_gpu, stride_v},
                                  {O_gpu, stride_o},   {dO_gpu, stride_do}, {dQ_gpu, stride_dq},
                                  {dK_gpu, stride_dk}, {dV_gpu, stride_dv}};
    int status = check_backward(array, LSE_gpu, workspace_gpu, B, N_q, N_k, H_q, H_k, d, causal,
                                window, documents, cu_seqlens_gpu);
    if (status != COURSE_OK) return status;
    if (B == 0 || H_k == 0) return COURSE_OK;
    if (N_k == 0) return store_zeros(dQ_gpu, stride_dq, B, N_q, H_q, d);
    if (N_q == 0 || H_q == 0) {
        status = store_zeros(dK_gpu, stride_dk, B, N_k, H_k, d);
        return status ? status : store_zeros(dV_gpu, stride_dv, B, N_k, H_k, d);
    }
    struct backward p = {};
    p.LSE_in = LSE_gpu, p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.group = H_q / H_k, p.causal = causal != 0, p.scale = scale, p.c = scale * LOG2_E;
    p.same_bits = deterministic != 0;
    p.window = window, p.documents = documents, p.cu_seqlens = cu_seqlens_gpu;
    if (deterministic)
        return window || documents ? launch_best<true, true>(p, d, array, workspace_gpu)
                                   : launch_best<true, false>(p, d, array, workspace_gpu);
    return window || documents ? launch_best<false, true>(p, d, array, workspace_gpu)
                               : launch_best<false, false>(p, d, array, workspace_gpu);
}
