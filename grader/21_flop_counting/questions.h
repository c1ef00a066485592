// questions.h: what lesson 21 asks, the right values, and the mistakes that have a name.
//
// A right value is counted from the definition, in C: by sums over queries, products and arrays. A
// mistake is the formula that it leads to. Where two mistakes lead to one formula, the likelier one
// stands here.
#ifndef QUESTIONS_H
#define QUESTIONS_H

#include <math.h>
#include <stddef.h>

#include "check/cause.h"

// The sizes that answers are made of (the table in lessons/21_flop_counting/README.md), and in the
// same order their names.
struct sizes {
    double B, H, H_k, L, M, N, N_q, N_k, d, W, BLOCK, BLOCK_Q, BLOCK_K;
    double peak, bandwidth, intensity, seconds;
};
static const char* const size_names[] = {
    "B", "H",     "H_k",     "L",       "M",    "N",         "N_q",       "N_k",     "d",
    "W", "BLOCK", "BLOCK_Q", "BLOCK_K", "peak", "bandwidth", "intensity", "seconds",
};

// OTHER: no whole number; ROUNDED: none either, and three digits are enough.
enum unit { FLOPS, BYTES, COUNT, OTHER, ROUNDED };

struct question {
    const char* name;
    enum unit unit;
    const char* sizes;  // the sizes that the answer depends on, or might
    double (*want)(const struct sizes* s);
};

struct mistake {
    const char* question;  // its name
    enum cause cause;
    const char* formula;
};

// ---- counting ------------------------------------------------------------------------------

enum { FP16 = 2, FP32 = 4 };  // bytes of an element

// (rows x inner) times (inner x columns): a multiplication and an addition for each triple of
// indices.
static double product(double rows, double columns, double inner) {
    return 2 * rows * columns * inner;
}

static double whole_tiles(double n, double tile) {
    return ceil(n / tile);
}

// ---- work ----------------------------------------------------------------------------------

static double want_forward_flops(const struct sizes* s) {
    double S = product(s->N_q, s->N_k, s->d), O = product(s->N_q, s->d, s->N_k);
    return s->B * s->H * (S + O);
}

static double want_backward_flops(const struct sizes* s) {
    double S = product(s->N_q, s->N_k, s->d), dP = S;
    double dQ = product(s->N_q, s->d, s->N_k), dK = product(s->N_k, s->d, s->N_q), dV = dK;
    return s->B * s->H * (S + dP + dQ + dK + dV);
}

// S and dP are made in both kernels.
static double want_split_flops(const struct sizes* s) {
    return want_backward_flops(s) + 2 * s->B * s->H * product(s->N_q, s->N_k, s->d);
}

static double want_split_rate(const struct sizes* s) {
    return want_backward_flops(s) / s->seconds;
}

// Pairs of a query and a key that it sees, of one head: query i sees the keys j with
// i + N_k - N_q - window < j <= i + N_k - N_q.
static double pairs_seen(double N_q, double N_k, double window) {
    double pairs = 0;
    for (double i = 0; i < N_q; i++) {
        double end = i + 1 + N_k - N_q;
        pairs += fmax(0, end) - fmax(0, end - window);
    }
    return pairs;
}

static double want_causal_scores(const struct sizes* s) {
    return pairs_seen(s->N, s->N, s->N);
}

static double want_ragged_scores(const struct sizes* s) {
    return pairs_seen(s->N_q, s->N_k, s->N_k);
}

static double want_window_scores(const struct sizes* s) {
    return pairs_seen(s->N, s->N, s->W);
}

static double want_causal_tiles(const struct sizes* s) {
    double tiles = 0;
    for (double first = 0; first < s->N; first += s->BLOCK) {
        double end = fmin(first + s->BLOCK, s->N);  // keys that the block's last query sees
        tiles += whole_tiles(end, s->BLOCK);
    }
    return tiles;
}

// mma.sync m16n8k16 of a product whose sizes are multiples of its own.
static double mma(double rows, double columns, double inner) {
    return rows / 16 * (columns / 8) * (inner / 16);
}
static double want_mma_count(const struct sizes* s) {
    double tiles = whole_tiles(s->N_q, s->BLOCK_Q) * whole_tiles(s->N_k, s->BLOCK_K);
    double of_tile = mma(s->BLOCK_Q, s->BLOCK_K, s->d) + mma(s->BLOCK_Q, s->d, s->BLOCK_K);
    return s->B * s->H * tiles * of_tile;
}

// ---- bytes ---------------------------------------------------------------------------------

static double want_array_bytes(const struct sizes* s) {
    double Q = s->N_q * s->d, K = s->N_k * s->d, V = K, O = Q;
    return FP16 * s->B * s->H * (Q + K + V + O);
}

static double want_gqa_bytes(const struct sizes* s) {
    double Q = s->H * s->N_q * s->d, K = s->H_k * s->N_k * s->d, V = K, O = Q;
    return FP16 * s->B * (Q + K + V + O);
}

static double want_naive_bytes(const struct sizes* s) {
    double Q = FP16 * s->N_q * s->d, K = FP16 * s->N_k * s->d, V = K, O = Q;
    double S = FP32 * s->N_q * s->N_k, P = S;
    return s->B * s->H * ((Q + K + S) + (S + P) + (P + V + O));
}

static double want_flash_read_bytes(const struct sizes* s) {
    double bytes = 0;
    for (double first = 0; first < s->N_q; first += s->BLOCK_Q) {
        double rows = fmin(s->BLOCK_Q, s->N_q - first);
        bytes += FP16 * s->d * (rows + s->N_k + s->N_k);
    }
    return s->B * s->H * bytes;
}

static double want_dq_atomic_bytes(const struct sizes* s) {
    return s->B * s->H * whole_tiles(s->N_k, s->BLOCK_K) * FP32 * s->N_q * s->d;
}

static double want_kv_cache_bytes(const struct sizes* s) {
    double K = s->H_k * s->d, V = K;
    return FP16 * s->L * (K + V);
}

// ---- what bounds it ------------------------------------------------------------------------

static struct sizes one_head(const struct sizes* s) {
    struct sizes head = *s;
    head.B = head.H = 1;
    head.N_q = head.N_k = s->N;
    return head;
}

static double want_flash_intensity(const struct sizes* s) {
    struct sizes head = one_head(s);
    return want_forward_flops(&head) / want_array_bytes(&head);
}

static double want_naive_intensity(const struct sizes* s) {
    struct sizes head = one_head(s);
    return want_forward_flops(&head) / want_naive_bytes(&head);
}

static double want_roofline(const struct sizes* s) {
    double fed = s->intensity * s->bandwidth;  // FLOPs that memory brings operands for, each second
    return s->peak < fed ? s->peak : fed;
}

// A tile of keys is 2 x 2 N_k d bytes; a block makes 2 x 2 BLOCK_Q N_k d FLOPs of it.
static double want_enough_rows(const struct sizes* s) {
    return s->peak / s->bandwidth;
}

static double want_forward_seconds(const struct sizes* s) {
    struct sizes all = *s;
    all.N_q = all.N_k = s->N;
    return fmax(want_forward_flops(&all) / s->peak, want_array_bytes(&all) / s->bandwidth);
}

static double want_decode_seconds(const struct sizes* s) {
    double K = s->H_k * s->N_k * s->d, V = K;
    return FP16 * s->B * (K + V) / s->bandwidth;
}

static double want_softmax_seconds(const struct sizes* s) {
    double x = FP32 * s->M * s->N, y = x;
    return (x + y) / s->bandwidth;
}

static double want_h200_softmax(const struct sizes* s) {
    struct sizes h200 = *s;
    h200.M = 8192;
    h200.N = 4096;
    h200.bandwidth = 4.8e12;
    return want_softmax_seconds(&h200);
}

// ---- the questions, and the mistakes of each in the order in which they are looked for --------

static const struct question questions[] = {
    {"forward_flops", FLOPS, "B H N_q N_k d", want_forward_flops},
    {"gqa_flops", FLOPS, "B H H_k N_q N_k d", want_forward_flops},
    {"backward_flops", FLOPS, "B H N_q N_k d", want_backward_flops},
    {"split_flops", FLOPS, "B H N_q N_k d", want_split_flops},
    {"split_rate", OTHER, "B H N_q N_k d seconds", want_split_rate},
    {"causal_scores", COUNT, "N", want_causal_scores},
    {"ragged_scores", COUNT, "N_q N_k", want_ragged_scores},
    {"window_scores", COUNT, "N W", want_window_scores},
    {"causal_tiles", COUNT, "N BLOCK", want_causal_tiles},
    {"mma_count", COUNT, "B H N_q N_k d BLOCK_Q BLOCK_K", want_mma_count},
    {"array_bytes", BYTES, "B H N_q N_k d", want_array_bytes},
    {"gqa_bytes", BYTES, "B H H_k N_q N_k d", want_gqa_bytes},
    {"naive_bytes", BYTES, "B H N_q N_k d", want_naive_bytes},
    {"flash_read_bytes", BYTES, "B H N_q N_k d BLOCK_Q", want_flash_read_bytes},
    {"dq_atomic_bytes", BYTES, "B H N_q N_k d BLOCK_K", want_dq_atomic_bytes},
    {"kv_cache_bytes", BYTES, "H H_k d L", want_kv_cache_bytes},
    {"flash_intensity", OTHER, "N d", want_flash_intensity},
    {"naive_intensity", OTHER, "N d", want_naive_intensity},
    {"roofline", OTHER, "peak bandwidth intensity", want_roofline},
    {"enough_rows", OTHER, "peak bandwidth d", want_enough_rows},
    {"forward_seconds", OTHER, "B H N d peak bandwidth", want_forward_seconds},
    {"decode_seconds", OTHER, "B H H_k N_k d bandwidth", want_decode_seconds},
    {"softmax_seconds", OTHER, "M N bandwidth", want_softmax_seconds},
    {"h200_softmax", ROUNDED, "", want_h200_softmax},
};

#define IN_TILES "B * H * ceil(N_q / BLOCK_Q) * BLOCK_Q * ceil(N_k / BLOCK_K) * BLOCK_K * d"
#define Q_TILES "ceil(N_q / BLOCK_Q)"
static const struct mistake mistakes[] = {
    {"forward_flops", CAUSE_multiply_add, "2 * B * H * N_q * N_k * d"},
    {"forward_flops", CAUSE_multiply_add, "B * H * N_q * N_k * d"},
    {"forward_flops", CAUSE_size_missing, "4 * B * H * N_q^2 * d"},
    {"forward_flops", CAUSE_size_missing, "4 * B * H * N_k^2 * d"},
    {"forward_flops", CAUSE_products_missing, "6 * B * H * N_q * N_k * d"},
    {"gqa_flops", CAUSE_key_heads, "4 * B * H_k * N_q * N_k * d"},
    {"gqa_flops", CAUSE_key_heads, "4 * B * H * H_k * N_q * N_k * d"},
    {"gqa_flops", CAUSE_key_heads, "4 * B * H / H_k * N_q * N_k * d"},
    {"gqa_flops", CAUSE_key_heads, "2 * B * (H + H_k) * N_q * N_k * d"},
    {"gqa_flops", CAUSE_multiply_add, "2 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_multiply_add, "5 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_products_missing, "8 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_products_missing, "6 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_products_missing, "4 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_products_missing, "12 * B * H * N_q * N_k * d"},
    {"backward_flops", CAUSE_executed_credited, "14 * B * H * N_q * N_k * d"},
    {"split_flops", CAUSE_executed_credited, "10 * B * H * N_q * N_k * d"},
    {"split_flops", CAUSE_multiply_add, "7 * B * H * N_q * N_k * d"},
    {"split_flops", CAUSE_products_missing, "12 * B * H * N_q * N_k * d"},
    {"split_flops", CAUSE_products_missing, "16 * B * H * N_q * N_k * d"},
    {"split_flops", CAUSE_products_missing, "20 * B * H * N_q * N_k * d"},
    {"split_rate", CAUSE_executed_credited, "14 * B * H * N_q * N_k * d / seconds"},
    {"split_rate", CAUSE_multiply_add, "5 * B * H * N_q * N_k * d / seconds"},
    {"split_rate", CAUSE_products_missing, "4 * B * H * N_q * N_k * d / seconds"},
    {"split_rate", CAUSE_upside_down, "10 * B * H * N_q * N_k * d * seconds"},
    {"causal_scores", CAUSE_triangle, "N^2 / 2"},
    {"causal_scores", CAUSE_mask_off_by_one, "N * (N - 1) / 2"},
    {"causal_scores", CAUSE_mask_not_counted, "N^2"},
    {"causal_scores", CAUSE_triangle, "(N + 1)^2 / 2"},
    {"causal_scores", CAUSE_triangle, "N * (N + 1)"},
    {"ragged_scores", CAUSE_not_clamped, "N_q * N_k - N_q * (N_q - 1) / 2"},
    {"ragged_scores", CAUSE_not_clamped, "max(0, N_k - N_q) * N_q + N_q * (N_q + 1) / 2"},
    {"ragged_scores", CAUSE_not_clamped,
     "(N_k - N_q) * N_q + min(N_q, N_k) * (min(N_q, N_k) + 1) / 2"},
    {"ragged_scores", CAUSE_mask_corner,
     "min(N_q, N_k) * (min(N_q, N_k) + 1) / 2 + max(0, N_q - N_k) * N_k"},
    {"ragged_scores", CAUSE_mask_corner, "N_q * (N_q + 1) / 2"},
    {"ragged_scores", CAUSE_triangle, "N_q * N_k / 2"},
    {"ragged_scores", CAUSE_triangle, "N_q * (max(0, N_k - N_q) + N_k) / 2"},
    {"ragged_scores", CAUSE_mask_off_by_one,
     "min(N_q, N_k) * N_k - min(N_q, N_k) * (min(N_q, N_k) + 1) / 2"},
    {"ragged_scores", CAUSE_mask_not_counted, "N_q * N_k"},
    {"window_scores", CAUSE_not_clamped, "N * W - W * (W - 1) / 2"},
    {"window_scores", CAUSE_not_clamped, "max(0, N - W) * W + W * (W + 1) / 2"},
    {"window_scores", CAUSE_not_clamped, "(N - W) * W + min(N, W) * (min(N, W) + 1) / 2"},
    {"window_scores", CAUSE_triangle, "N * W - W^2 / 2"},
    {"window_scores", CAUSE_triangle, "N * W"},
    {"window_scores", CAUSE_triangle, "N * min(N, W)"},
    {"window_scores", CAUSE_triangle, "N * min(N, W) - min(N, W)^2 / 2"},
    {"window_scores", CAUSE_triangle, "N * min(N, W) - min(N, W) * (min(N, W) - 1)"},
    {"window_scores", CAUSE_window_off_by_one,
     "N * min(N, W + 1) - min(N, W + 1) * (min(N, W + 1) - 1) / 2"},
    {"window_scores", CAUSE_window_off_by_one, "N * min(N, W) - min(N, W) * (min(N, W) + 1) / 2"},
    {"window_scores", CAUSE_mask_not_counted,
     "2 * N * min(N, W) - min(N, W) * (min(N, W) - 1) - N"},
    {"window_scores", CAUSE_mask_not_counted, "N * (N + 1) / 2"},
    {"causal_tiles", CAUSE_partial_tile, "N / BLOCK * (N / BLOCK + 1) / 2"},
    {"causal_tiles", CAUSE_partial_tile, "floor(N / BLOCK) * (floor(N / BLOCK) + 1) / 2"},
    {"causal_tiles", CAUSE_partial_tile, "(floor(N / BLOCK) + 1) * (floor(N / BLOCK) + 2) / 2"},
    {"causal_tiles", CAUSE_partial_tile, "N * (N + 1) / 2 / BLOCK^2"},
    {"causal_tiles", CAUSE_partial_tile, "ceil(N * (N + 1) / 2 / BLOCK^2)"},
    {"causal_tiles", CAUSE_triangle, "ceil(N / BLOCK)^2 / 2"},
    {"causal_tiles", CAUSE_triangle, "ceil(ceil(N / BLOCK)^2 / 2)"},
    {"causal_tiles", CAUSE_mask_not_counted, "ceil(N / BLOCK)^2"},
    {"mma_count", CAUSE_partial_tile, "B * H * N_q * N_k * d / 1024"},
    {"mma_count", CAUSE_partial_tile, "B * H * ceil(N_q / 16) * ceil(N_k / 8) * d / 8"},
    {"mma_count", CAUSE_partial_tile, "B * H * ceil(N_q / 16) * ceil(N_k / 16) * d / 4"},
    {"mma_count", CAUSE_partial_tile,
     "B * H * floor(N_q / BLOCK_Q) * BLOCK_Q * floor(N_k / BLOCK_K) * BLOCK_K * d / 1024"},
    {"mma_count", CAUSE_partial_tile,
     "B * H * (floor(N_q / BLOCK_Q) + 1) * BLOCK_Q * (floor(N_k / BLOCK_K) + 1) * BLOCK_K * d / "
     "1024"},
    {"mma_count", CAUSE_multiply_add, IN_TILES " / 512"},
    {"mma_count", CAUSE_products_missing, IN_TILES " / 2048"},
    {"array_bytes", CAUSE_element_size, "8 * B * H * d * (N_q + N_k)"},
    {"array_bytes", CAUSE_element_size, "2 * B * H * d * (N_q + N_k)"},
    {"array_bytes", CAUSE_size_missing, "8 * B * H * N_q * d"},
    {"array_bytes", CAUSE_size_missing, "8 * B * H * N_k * d"},
    {"array_bytes", CAUSE_array_missing, "2 * B * H * d * (N_q + 2 * N_k)"},
    {"array_bytes", CAUSE_array_missing, "2 * B * H * d * (2 * N_q + N_k)"},
    {"array_bytes", CAUSE_array_missing, "2 * B * H * d * (N_q + 3 * N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "4 * B * H * d * (N_q + N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "4 * B * H_k * d * (N_q + N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "4 * B * d * (H_k * N_q + H * N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "4 * B * d * (H * N_q + H / H_k * N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "2 * B * d * (H * N_q + H_k * N_q + 2 * H_k * N_k)"},
    {"gqa_bytes", CAUSE_key_heads, "2 * B * d * (2 * H * N_q + (H + H_k) * N_k)"},
    {"gqa_bytes", CAUSE_array_missing, "2 * B * d * (H * N_q + 2 * H_k * N_k)"},
    {"naive_bytes", CAUSE_element_size, "4 * B * H * d * (N_q + N_k) + 8 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_element_size, "8 * B * H * d * (N_q + N_k) + 16 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_array_missing, "4 * B * H * d * (N_q + N_k) + 12 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_array_missing, "4 * B * H * d * (N_q + N_k) + 4 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_array_missing,
     "2 * B * H * d * (N_q + 2 * N_k) + 16 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_array_missing, "16 * B * H * N_q * N_k"},
    {"naive_bytes", CAUSE_size_missing, "4 * B * H * d * (N_q + N_k) + 16 * B * H * N_q^2"},
    {"naive_bytes", CAUSE_size_missing, "4 * B * H * d * (N_q + N_k) + 16 * B * H * N_k^2"},
    {"flash_read_bytes", CAUSE_partial_tile, "2 * B * H * d * (N_q + 2 * N_k * N_q / BLOCK_Q)"},
    {"flash_read_bytes", CAUSE_partial_tile, "2 * B * H * d * " Q_TILES " * (BLOCK_Q + 2 * N_k)"},
    {"flash_read_bytes", CAUSE_partial_tile, "2 * B * H * d * " Q_TILES " * (N_q + 2 * N_k)"},
    {"flash_read_bytes", CAUSE_partial_tile,
     "2 * B * H * d * (N_q + 2 * N_k * floor(N_q / BLOCK_Q))"},
    {"flash_read_bytes", CAUSE_partial_tile,
     "2 * B * H * d * (N_q + 2 * N_k * (floor(N_q / BLOCK_Q) + 1))"},
    {"flash_read_bytes", CAUSE_array_missing, "2 * B * H * d * (N_q + N_k * " Q_TILES ")"},
    {"flash_read_bytes", CAUSE_array_missing, "2 * B * H * d * (2 * N_q + 2 * N_k * " Q_TILES ")"},
    {"flash_read_bytes", CAUSE_array_missing, "4 * B * H * d * N_k * " Q_TILES},
    {"flash_read_bytes", CAUSE_array_missing, "2 * B * H * d * (N_q + 2 * N_k)"},
    {"flash_read_bytes", CAUSE_array_missing, "2 * B * H * d * (N_q + 2 * N_k * N_q)"},
    {"dq_atomic_bytes", CAUSE_partial_tile, "4 * B * H * N_q * d * N_k / BLOCK_K"},
    {"dq_atomic_bytes", CAUSE_partial_tile, "4 * B * H * N_q * d * floor(N_k / BLOCK_K)"},
    {"dq_atomic_bytes", CAUSE_partial_tile, "4 * B * H * N_q * d * (floor(N_k / BLOCK_K) + 1)"},
    {"dq_atomic_bytes", CAUSE_partial_tile,
     "4 * B * H * ceil(N_q / BLOCK_K) * BLOCK_K * d * ceil(N_k / BLOCK_K)"},
    {"dq_atomic_bytes", CAUSE_array_missing, "8 * B * H * N_q * d * ceil(N_k / BLOCK_K)"},
    {"dq_atomic_bytes", CAUSE_size_missing, "4 * B * H * N_k * d * ceil(N_q / BLOCK_K)"},
    {"dq_atomic_bytes", CAUSE_size_missing, "4 * B * H * N_k * d * ceil(N_k / BLOCK_K)"},
    {"dq_atomic_bytes", CAUSE_array_missing, "4 * B * H * N_q * d"},
    {"dq_atomic_bytes", CAUSE_array_missing, "4 * B * H * N_q * d * N_k"},
    {"kv_cache_bytes", CAUSE_key_heads, "4 * L * H * d"},
    {"kv_cache_bytes", CAUSE_key_heads, "4 * L * H * H_k * d"},
    {"kv_cache_bytes", CAUSE_array_missing, "2 * L * H_k * d"},
    {"flash_intensity", CAUSE_multiply_add, "N / 4"},
    {"flash_intensity", CAUSE_element_size, "N"},
    {"flash_intensity", CAUSE_array_missing, "2 * N / 3"},
    {"naive_intensity", CAUSE_element_size, "N * d / (2 * d + 2 * N)"},
    {"naive_intensity", CAUSE_multiply_add, "N * d / (4 * d + 8 * N)"},
    {"naive_intensity", CAUSE_array_missing, "N * d / (2 * d + 3 * N)"},
    {"naive_intensity", CAUSE_array_missing, "N * d / (2 * d + N)"},
    {"naive_intensity", CAUSE_array_missing, "d / 4"},
    {"naive_intensity", CAUSE_array_missing, "N / 2"},
    {"roofline", CAUSE_wrong_roof, "max(peak, intensity * bandwidth)"},
    {"roofline", CAUSE_wrong_roof, "intensity * bandwidth"},
    {"roofline", CAUSE_wrong_roof, "peak"},
    {"roofline", CAUSE_upside_down, "min(peak, bandwidth / intensity)"},
    {"roofline", CAUSE_upside_down, "min(peak, intensity / bandwidth)"},
    {"roofline", CAUSE_upside_down, "min(peak, intensity * peak / bandwidth)"},
    {"enough_rows", CAUSE_element_size, "peak / bandwidth / 2"},
    {"enough_rows", CAUSE_multiply_add, "2 * peak / bandwidth"},
    {"forward_seconds", CAUSE_wrong_roof, "4 * B * H * N^2 * d / peak"},
    {"forward_seconds", CAUSE_wrong_roof, "8 * B * H * N * d / bandwidth"},
    {"forward_seconds", CAUSE_wrong_roof,
     "min(4 * B * H * N^2 * d / peak, 8 * B * H * N * d / bandwidth)"},
    {"forward_seconds", CAUSE_wrong_roof,
     "4 * B * H * N^2 * d / peak + 8 * B * H * N * d / bandwidth"},
    {"forward_seconds", CAUSE_multiply_add,
     "max(2 * B * H * N^2 * d / peak, 8 * B * H * N * d / bandwidth)"},
    {"forward_seconds", CAUSE_array_missing,
     "max(4 * B * H * N^2 * d / peak, 4 * B * H * N * d / bandwidth)"},
    {"forward_seconds", CAUSE_array_missing,
     "max(4 * B * H * N^2 * d / peak, 6 * B * H * N * d / bandwidth)"},
    {"forward_seconds", CAUSE_array_missing,
     "max(4 * B * H * N^2 * d / peak, (8 * B * H * N * d + 16 * B * H * N^2) / bandwidth)"},
    {"forward_seconds", CAUSE_element_size,
     "max(4 * B * H * N^2 * d / peak, 16 * B * H * N * d / bandwidth)"},
    {"decode_seconds", CAUSE_key_heads, "4 * B * H * N_k * d / bandwidth"},
    {"decode_seconds", CAUSE_array_missing, "(4 * B * H_k * N_k * d + 4 * B * H * d) / bandwidth"},
    {"decode_seconds", CAUSE_array_missing, "2 * B * H_k * N_k * d / bandwidth"},
    {"decode_seconds", CAUSE_element_size, "8 * B * H_k * N_k * d / bandwidth"},
    {"softmax_seconds", CAUSE_array_missing, "4 * M * N / bandwidth"},
    {"softmax_seconds", CAUSE_array_missing, "12 * M * N / bandwidth"},
    {"softmax_seconds", CAUSE_array_missing, "16 * M * N / bandwidth"},
    {"softmax_seconds", CAUSE_upside_down, "8 * M * N * bandwidth"},
    {"softmax_seconds", CAUSE_size_missing, "8 * M^2 / bandwidth"},
    {"softmax_seconds", CAUSE_size_missing, "8 * N^2 / bandwidth"},
    {"h200_softmax", CAUSE_array_missing, "4 * 8192 * 4096 / 4.8e12"},
    {"h200_softmax", CAUSE_array_missing, "12 * 8192 * 4096 / 4.8e12"},
    {"h200_softmax", CAUSE_array_missing, "16 * 8192 * 4096 / 4.8e12"},
};

#endif
