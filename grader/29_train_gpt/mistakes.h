// mistakes.h: the cases of lesson 29, and what known mistakes leave in their outputs. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "check/check.h"
#include "check/hypothesis.h"
#include "reference.h"
#include "train_gpt.h"

// ---- a block's case

static const char* const names_W[PARAMETERS] = {"W_qkv", "W_proj",     "W_fc",  "W_out",
                                                "b_qkv", "b_proj",     "b_fc",  "b_out",
                                                "norm1", "norm1_bias", "norm2", "norm2_bias"};
static const char* const names_dW[PARAMETERS] = {"dW_qkv", "dW_proj",     "dW_fc",  "dW_out",
                                                 "db_qkv", "db_proj",     "db_fc",  "db_out",
                                                 "dnorm1", "dnorm1_bias", "dnorm2", "dnorm2_bias"};

struct block_case {
    struct block_size size;
    struct tensor *W[PARAMETERS], *dW[PARAMETERS];
    struct tensor *X, *stats1, *QKV, *O, *LSE, *X_mid, *stats2, *Z, *dX;
};

// The case's values as arrays of reference.h; dX and dW are new, dX with dL/dY in it.
static struct block_arrays arrays_of(const struct block_case* b) {
    struct block_arrays a = {.X = b->X->value,
                             .stats1 = b->stats1->value,
                             .QKV = b->QKV->value,
                             .O = b->O->value,
                             .LSE = b->LSE->value,
                             .X_mid = b->X_mid->value,
                             .stats2 = b->stats2->value,
                             .Z = b->Z->value,
                             .dX = numbers(b->dX->count)};
    memcpy(a.dX, b->dX->value, (size_t)b->dX->count * sizeof *a.dX);
    for (int i = 0; i < PARAMETERS; i++) {
        a.W[i] = b->W[i]->value;
        a.dW[i] = numbers(b->dW[i]->count);
    }
    return a;
}

static void arrays_free(struct block_arrays* a) {
    free(a->dX);
    for (int i = 0; i < PARAMETERS; i++) free(a->dW[i]);
}

// ---- AdamW's case

enum adamw_slip {
    ADAMW_RIGHT,
    NOT_CORRECTED,
    CORRECTED_FROM_0,    // by step - 1
    CORRECTED_FROM_2,    // by step + 1
    CORRECTED_M_FROM_0,  // m alone
    CORRECTED_V_FROM_0,  // v alone
    CORRECTED_BY_BETA1,  // both
    CORRECTED_BY_BETA2,
    CORRECTED_BY_OTHER,  // m by beta2, v by beta1
    CORRECTED_BY_FIRST,  // by the first call's step
    CORRECTED_OUTSIDE,   // v behind the root
    CORRECTED_BY_INT,    // by the step's lower 32 bits
    CORRECTED_M_BY_INT,  // m alone
    CORRECTED_V_BY_INT,
    CORRECTED_BY_SUM,  // 1 + beta^step
    M_NOT_CORRECTED,
    V_NOT_CORRECTED,
    CORRECTED_M_TIMES,  // m is multiplied, not divided
    CORRECTED_V_TIMES,
    CORRECTED_TIMES,  // both are
    DECAY_LOST,
    DECAY_OF_ALL,
    DECAY_OF_THE_OTHERS,
    DECAY_OF_PAIRS,  // of two neighbours both, if the first one does
    DECAY_OF_QUADS,
    DECAY_OF_EIGHTS,
    DECAY_OF_BLOCKS,
    DECAY_OF_WHOLE_QUADS,  // of four neighbours none, if the last one does not
    DECAY_ONE_LESS,
    DECAY_OF_TAIL,      // of the last ones, fewer than four, whichever they are
    DECAY_NOT_OF_TAIL,  // of none of these
    DECAY_IN_G,         // Adam with L2: g + decay w
    DECAY_WITHOUT_LR,
    DECAY_OF_NEW_W,  // of the w that has moved already
    EPS_IN_THE_ROOT,
    EPS_LOST,
    EPS_IS_LEAST,  // the root is eps at least
    EPS_IN_SHARE,  // eps is added to the root of v before v is corrected
    G_NOT_SQUARED,
    G_CLIPPED,  // to -1 .. 1
    BETAS_EXCHANGED,
    M_IS_SUM,  // m = beta1 m + g
    V_IS_SUM,
    ROOT_LOST,
    SIGN,          // w + lr ...
    OLD_M,         // w by the m and v from before
    OLD_W_STORED,  // w_bf16 is the w from before
    G_STORED,      // or the gradient
};

struct adamw_numbers {
    int64_t n, n_decayed, step, steps;
    double lr, beta1, beta2, eps, decay;
};

struct adamw_case {
    struct adamw_numbers numbers;
    struct tensor *w, *m, *v, *w_bf16, *g;
};

static double correction(double beta, int64_t step, enum adamw_slip slip) {
    if (slip == NOT_CORRECTED) return 1;
    if (slip == CORRECTED_FROM_0) step--;
    if (slip == CORRECTED_FROM_2) step++;
    if (slip == CORRECTED_BY_INT) step = (int32_t)step;
    if (slip == CORRECTED_BY_SUM) return 2 + expm1((double)step * log(beta));
    return -expm1((double)step * log(beta));
}

// One parameter's step, of numbers as floats are. step: that of the first one, plus k.
static void adamw_one(const struct adamw_numbers* a, enum adamw_slip slip, int64_t step,
                      bool decays, double g, double* w, double* m, double* v, double* w_bf16) {
    const bool exchanged = slip == BETAS_EXCHANGED;
    const double beta1 = exchanged ? a->beta2 : a->beta1, beta2 = exchanged ? a->beta1 : a->beta2;
    const double old_w = *w, old_m = *m, old_v = *v;
    if (slip == DECAY_OF_ALL) decays = true;
    if (slip == DECAY_OF_THE_OTHERS) decays = !decays;
    const double decay = decays && slip != DECAY_LOST ? a->decay : 0;
    if (slip == DECAY_IN_G) g += decay * *w;
    if (slip == G_CLIPPED) g = fmin(fmax(g, -1), 1);
    *m = beta1 * *m + (slip == M_IS_SUM ? 1 : 1 - beta1) * g;
    *v = beta2 * *v + (slip == V_IS_SUM ? 1 : 1 - beta2) * (slip == G_NOT_SQUARED ? g : g * g);
    const bool others = slip == CORRECTED_BY_OTHER;
    double correct1 = correction(slip == CORRECTED_BY_BETA2 || others ? a->beta2 : a->beta1,
                                 step - (slip == CORRECTED_M_FROM_0), slip);
    double correct2 = correction(slip == CORRECTED_BY_BETA1 || others ? a->beta1 : a->beta2,
                                 step - (slip == CORRECTED_V_FROM_0), slip);
    if (slip == M_NOT_CORRECTED) correct1 = 1;
    if (slip == V_NOT_CORRECTED) correct2 = 1;
    if (slip == CORRECTED_M_TIMES || slip == CORRECTED_TIMES) correct1 = 1 / correct1;
    if (slip == CORRECTED_M_BY_INT) correct1 = correction(a->beta1, step, CORRECTED_BY_INT);
    if (slip == CORRECTED_V_BY_INT) correct2 = correction(a->beta2, step, CORRECTED_BY_INT);
    if (slip == CORRECTED_V_TIMES || slip == CORRECTED_TIMES) correct2 = 1 / correct2;
    const double m_hat = (slip == OLD_M ? old_m : *m) / correct1;
    const double v_hat = (slip == OLD_M ? old_v : *v) / correct2;
    double root = slip == ROOT_LOST           ? v_hat + a->eps
                  : slip == CORRECTED_OUTSIDE ? sqrt(*v) / correct2 + a->eps
                  : slip == EPS_IN_THE_ROOT   ? sqrt(v_hat + a->eps)
                  : slip == EPS_LOST          ? sqrt(v_hat)
                  : slip == EPS_IS_LEAST      ? fmax(sqrt(v_hat), a->eps)
                  : slip == EPS_IN_SHARE      ? (sqrt(*v) + a->eps) / sqrt(correct2)
                                              : sqrt(v_hat) + a->eps;
    double moved = a->lr * m_hat / root;
    if (slip != DECAY_IN_G) moved += (slip == DECAY_WITHOUT_LR ? 1 : a->lr) * decay * *w;
    if (slip == DECAY_OF_NEW_W) moved = moved - a->lr * decay * (moved - a->lr * decay * *w);
    *w = slip == SIGN ? *w + moved : *w - moved;
    *w_bf16 = slip == OLD_W_STORED ? old_w : slip == G_STORED ? g : *w;
}

// The same in float, operation by operation: the standard of the tolerance.
static void adamw_standard(const struct adamw_numbers* a, int64_t step, bool decays, float g,
                           float* w, float* m, float* v) {
    const float lr = (float)a->lr, beta1 = (float)a->beta1, beta2 = (float)a->beta2;
    const float decay = decays ? (float)a->decay : 0.0f;
    *m = beta1 * *m + (1.0f - beta1) * g;
    *v = beta2 * *v + (1.0f - beta2) * g * g;
    const float m_hat = *m / (float)correction(beta1, step, ADAMW_RIGHT);
    const float v_hat = *v / (float)correction(beta2, step, ADAMW_RIGHT);
    *w -= lr * (m_hat / (sqrtf(v_hat) + (float)a->eps) + decay * *w);
}

// ---- what they leave

// A slip of the block, or of AdamW.
struct slips {
    enum slip slip;
    enum adamw_slip adamw;
};

// Is dX what the guess says, too? A gradient of zeros has several reasons; they leave other dX.
static bool explains_dX(const struct block_case* b, const double* guess) {
    double most = 0, apart = 0;
    for (int64_t e = 0; e < b->dX->count; e++) {
        most = fmax(most, fabs(b->dX->want[e]));
        apart = fmax(apart, fabs(b->dX->got[e] - guess[e]));
    }
    return apart <= 0.1 * most;
}

static bool simulate_block(const struct block_case* b, const struct tensor* t, enum slip slip,
                           double* guess) {
    struct block_arrays a = arrays_of(b);
    const double* from = t == b->dX ? a.dX : NULL;
    for (int i = 0; i < PARAMETERS; i++)
        if (t == b->dW[i]) from = a.dW[i];
    if (from) {
        block_backward(&a, b->size, slip, true);
        memcpy(guess, from, (size_t)t->count * sizeof *guess);
        if (!explains_dX(b, a.dX)) from = NULL;
    }
    arrays_free(&a);
    return from != NULL;
}

// Is it one of the last parameters, which are no four together?
static bool in_tail(const struct adamw_numbers* a, int64_t i) {
    return i >= a->n / 4 * 4;
}

// The parameter by which it is decided whether i decays.
static int64_t decided_by(const struct adamw_numbers* a, enum adamw_slip slip, int64_t i) {
    if (slip == DECAY_OF_TAIL && in_tail(a, i)) return -1;
    if (slip == DECAY_NOT_OF_TAIL && in_tail(a, i)) return a->n;
    switch (slip) {
    case DECAY_OF_PAIRS:
        return i / 2 * 2;
    case DECAY_OF_QUADS:
        return i / 4 * 4;
    case DECAY_OF_EIGHTS:
        return i / 8 * 8;
    case DECAY_OF_BLOCKS:
        return i / 256 * 256;
    case DECAY_OF_WHOLE_QUADS:
        return i / 4 * 4 + 3;
    case DECAY_ONE_LESS:
        return i + 1;
    default:
        return i;
    }
}

static bool simulate_adamw(const struct adamw_case* a, const struct tensor* t, enum adamw_slip slip,
                           double* guess) {
    const struct adamw_numbers* s = &a->numbers;
    for (int64_t i = 0; i < s->n; i++) {
        double w = a->w->value[i], m = a->m->value[i], v = a->v->value[i], w_bf16 = 0;
        for (int64_t k = 0; k < s->steps; k++)
            adamw_one(s, slip, slip == CORRECTED_BY_FIRST ? s->step : s->step + k,
                      decided_by(s, slip, i) < s->n_decayed, a->g->value[k * s->n + i], &w, &m, &v,
                      &w_bf16);
        guess[i] = t == a->w ? w : t == a->m ? m : t == a->v ? v : dtype_round(BF16, w_bf16);
    }
    return true;
}

// The description of a case: one of the two.
struct described {
    const struct block_case* block;
    const struct adamw_case* adamw;
};

static bool slipped(const struct suspect* s, const struct hypothesis* h, int variant,
                    double* guess) {
    const struct described* d = s->problem;
    const struct slips* like = h->like;
    (void)variant;
    if (like->slip && d->block) return simulate_block(d->block, s->tensor, like->slip, guess);
    if (like->adamw && d->adamw) return simulate_adamw(d->adamw, s->tensor, like->adamw, guess);
    return false;
}

#define SLIP(id, ...) \
    { CAUSE_##id, slipped, .like = LIKE(slips, __VA_ARGS__) }
static const struct hypothesis mistakes[] = {
    SLIP(residual, .slip = AROUND_MLP_LOST),
    SLIP(residual, .slip = AROUND_ATTENTION_LOST),
    SLIP(residual, .slip = AROUND_MLP_TWICE),
    SLIP(residual, .slip = AROUND_ATTENTION_TWICE),
    SLIP(residual_rounded, .slip = AROUND_ROUNDED),
    SLIP(backward_order, .slip = ATTENTION_TAKES_DY),
    SLIP(backward_order, .slip = ATTENTION_TAKES_NORM),
    SLIP(backward_order, .slip = PROJ_BIAS_OF_DY),
    SLIP(layer_input, .slip = OUT_OVERWRITTEN),
    SLIP(layer_input, .slip = FC_OVERWRITTEN),
    SLIP(layer_input, .slip = QKV_OVERWRITTEN),
    SLIP(layer_input, .slip = OUT_TAKES_Z),
    SLIP(layer_input, .slip = FC_TAKES_X),
    SLIP(layer_input, .slip = QKV_TAKES_X),
    SLIP(layer_input, .slip = FC_TAKES_NORM1),
    SLIP(layer_input, .slip = QKV_TAKES_NORM2),
    SLIP(layer_input, .slip = PROJ_TAKES_DO),
    SLIP(layer_input, .slip = FC_TAKES_X_BY_2),
    SLIP(layer_input, .slip = QKV_TAKES_MID_BY_1),
    SLIP(layer_input, .slip = FC_BY_STATS_1),
    SLIP(layer_input, .slip = QKV_BY_STATS_2),
    SLIP(layer_input, .slip = FC_TAKES_X_BY_1),
    SLIP(layer_input, .slip = QKV_TAKES_MID_BY_2),
    SLIP(layer_input, .slip = FC_BY_WEIGHT_1),
    SLIP(layer_input, .slip = QKV_BY_WEIGHT_2),
    SLIP(layer_input, .slip = FC_BY_SCALE_1),
    SLIP(layer_input, .slip = QKV_BY_SCALE_2),
    SLIP(layer_input, .slip = FC_BY_BIAS_1),
    SLIP(layer_input, .slip = QKV_BY_BIAS_2),
    SLIP(wrong_array, .slip = NORM2_BY_WEIGHT_1),
    SLIP(wrong_array, .slip = NORM1_BY_WEIGHT_2),
    SLIP(layer_input, .slip = NORM2_BACK_OF_X),
    SLIP(layer_input, .slip = NORM1_BACK_OF_MID),
    SLIP(head_ignored, .slip = ONE_HEAD),
    SLIP(gelu_slope, .slip = SLOPE_LOST),
    SLIP(gelu_slope, .slip = BIAS_BEFORE_SLOPE),
    SLIP(gelu_slope, .slip = WEIGHT_BEFORE_SLOPE),
    SLIP(bias_correction, .adamw = NOT_CORRECTED),
    SLIP(bias_correction, .adamw = M_NOT_CORRECTED),
    SLIP(bias_correction, .adamw = V_NOT_CORRECTED),
    SLIP(bias_correction, .adamw = CORRECTED_FROM_0),
    SLIP(bias_correction, .adamw = CORRECTED_FROM_2),
    SLIP(bias_correction, .adamw = CORRECTED_M_FROM_0),
    SLIP(bias_correction, .adamw = CORRECTED_V_FROM_0),
    SLIP(bias_correction, .adamw = CORRECTED_BY_BETA1),
    SLIP(bias_correction, .adamw = CORRECTED_BY_BETA2),
    SLIP(bias_correction, .adamw = CORRECTED_BY_OTHER),
    SLIP(bias_correction, .adamw = CORRECTED_OUTSIDE),
    SLIP(bias_correction, .adamw = CORRECTED_BY_INT),
    SLIP(bias_correction, .adamw = CORRECTED_M_BY_INT),
    SLIP(bias_correction, .adamw = CORRECTED_V_BY_INT),
    SLIP(bias_correction, .adamw = CORRECTED_BY_SUM),
    SLIP(bias_correction, .adamw = CORRECTED_M_TIMES),
    SLIP(bias_correction, .adamw = CORRECTED_V_TIMES),
    SLIP(bias_correction, .adamw = CORRECTED_TIMES),
    SLIP(stale_state, .adamw = CORRECTED_BY_FIRST),
    SLIP(weight_decay, .adamw = DECAY_LOST),
    SLIP(weight_decay, .adamw = DECAY_OF_ALL),
    SLIP(weight_decay, .adamw = DECAY_OF_THE_OTHERS),
    SLIP(weight_decay, .adamw = DECAY_OF_PAIRS),
    SLIP(weight_decay, .adamw = DECAY_OF_QUADS),
    SLIP(weight_decay, .adamw = DECAY_OF_EIGHTS),
    SLIP(weight_decay, .adamw = DECAY_OF_BLOCKS),
    SLIP(weight_decay, .adamw = DECAY_OF_WHOLE_QUADS),
    SLIP(weight_decay, .adamw = DECAY_ONE_LESS),
    SLIP(weight_decay, .adamw = DECAY_OF_TAIL),
    SLIP(weight_decay, .adamw = DECAY_NOT_OF_TAIL),
    SLIP(weight_decay, .adamw = DECAY_IN_G),
    SLIP(weight_decay, .adamw = DECAY_WITHOUT_LR),
    SLIP(weight_decay, .adamw = DECAY_OF_NEW_W),
    SLIP(adam_step, .adamw = EPS_IN_THE_ROOT),
    SLIP(adam_step, .adamw = EPS_LOST),
    SLIP(adam_step, .adamw = EPS_IS_LEAST),
    SLIP(adam_step, .adamw = EPS_IN_SHARE),
    SLIP(adam_step, .adamw = ROOT_LOST),
    SLIP(adam_step, .adamw = SIGN),
    SLIP(adam_step, .adamw = OLD_M),
    SLIP(adam_step, .adamw = OLD_W_STORED),
    SLIP(adam_step, .adamw = G_STORED),
    SLIP(adam_means, .adamw = G_NOT_SQUARED),
    SLIP(adam_means, .adamw = G_CLIPPED),
    SLIP(adam_means, .adamw = BETAS_EXCHANGED),
    SLIP(adam_means, .adamw = M_IS_SUM),
    SLIP(adam_means, .adamw = V_IS_SUM),
    {0},
};

#endif
