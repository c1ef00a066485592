// reference.h: what the kernels of lesson 22 that compute with real numbers have to leave, in
// double; the same in fp32, for their budgets; and what known mistakes would leave.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdint.h>

#include "bug_hunt.h"
#include "check/check.h"

// ---- 6 attend

struct attention {
    int64_t N_q, N_k, stride_k, stride_v;
    double scale;
    struct tensor *Q, *K, *V, *O;
};

// The elements behind the first `width` of each row need not be read, and no rows behind the first.
static inline void gaps(struct tensor* t, int64_t stride, int64_t width, int64_t rows) {
    for (int64_t k = 0; k < t->count; k++)
        t->untouched[k] = k % stride >= width || k / stride >= rows;
}

// O (N_q, D), where rows of K and V are so many elements apart.
static inline void attention_of(const struct attention* a, int64_t stride_k, int64_t stride_v,
                                double* O) {
    enum { D = BUG_HUNT_D };
    for (int64_t i = 0; i < a->N_q; i++) {
        double m = -INFINITY, l = 0, *o = O + i * D;
        for (int x = 0; x < D; x++) o[x] = 0;
        for (int64_t j = 0; j < a->N_k; j++) {
            double s = 0;
            for (int x = 0; x < D; x++)
                s += a->scale * a->Q->value[i * D + x] * a->K->value[j * stride_k + x];
            double m_new = fmax(m, s), alpha = exp(m - m_new), p = exp(s - m_new);
            l = alpha * l + p;
            for (int x = 0; x < D; x++) o[x] = alpha * o[x] + p * a->V->value[j * stride_v + x];
            m = m_new;
        }
        for (int x = 0; x < D; x++) o[x] /= l;
    }
}

// The same as a plain kernel computes it.
static inline void attention_in_float(const struct attention* a, double* O) {
    enum { D = BUG_HUNT_D };
    for (int64_t i = 0; i < a->N_q; i++) {
        float m = -INFINITY, l = 0, o[D] = {0};
        for (int64_t j = 0; j < a->N_k; j++) {
            float s = 0;
            for (int x = 0; x < D; x++)
                s += (float)a->scale * (float)a->Q->value[i * D + x] *
                     (float)a->K->value[j * a->stride_k + x];
            float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
            l = alpha * l + p;
            for (int x = 0; x < D; x++)
                o[x] = alpha * o[x] + p * (float)a->V->value[j * a->stride_v + x];
            m = m_new;
        }
        for (int x = 0; x < D; x++) O[i * D + x] = o[x] / l;
    }
}

// Are these the strides that were used?
static inline bool attention_had(const struct attention* a, int64_t stride_k, int64_t stride_v,
                                 struct budget budget) {
    const int64_t count = a->O->count;
    double guess[64 * BUG_HUNT_D] = {0};
    // Rows beyond the array hold nobody knows what.
    if (count > (int64_t)(sizeof guess / sizeof guess[0]) ||
        (a->N_k - 1) * stride_k + BUG_HUNT_D > a->K->count ||
        (a->N_k - 1) * stride_v + BUG_HUNT_D > a->V->count)
        return false;
    attention_of(a, stride_k, stride_v, guess);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(a->O->got[i] - guess[i]) <= budget.max)) return false;
    return true;
}

static inline enum cause attention_explain(const struct attention* a, struct budget budget) {
    const int64_t k = a->stride_k, v = a->stride_v, packed = BUG_HUNT_D;
    if (attention_had(a, k, k, budget) || attention_had(a, v, v, budget) ||
        attention_had(a, v, k, budget))
        return CAUSE_other_stride;
    if (attention_had(a, k, packed, budget) || attention_had(a, packed, v, budget) ||
        attention_had(a, packed, packed, budget))
        return CAUSE_stride_ignored;
    return CAUSE_NONE;
}

// ---- 9 masked_softmax, 10 logsumexp

struct masked {
    int64_t rows, cols;
    struct tensor *x, *seen, *y;  // of 10: no `seen`; y is LSE
};

// Softmax of the first n numbers of x, and its m and l; 0 for the others.
static inline double softmax_row(double* y, const double* x, int64_t n, int64_t cols, double* m) {
    double l = 0;
    *m = -INFINITY;
    for (int64_t j = 0; j < n; j++) *m = fmax(*m, x[j]);
    for (int64_t j = 0; j < n; j++) l += exp(x[j] - *m);
    for (int64_t j = 0; y && j < cols; j++) y[j] = j < n ? exp(x[j] - *m) / l : 0;
    return l;
}

static inline float softmax_row_in_float(double* y, const double* x, int64_t n, int64_t cols,
                                         float* m) {
    float l = 0;
    *m = -INFINITY;
    for (int64_t j = 0; j < n; j++) *m = fmaxf(*m, (float)x[j]);
    for (int64_t j = 0; j < n; j++) l += expf((float)x[j] - *m);
    for (int64_t j = 0; y && j < cols; j++) y[j] = j < n ? expf((float)x[j] - *m) / l : 0;
    return l;
}

static inline void masked_softmax_of(const struct masked* p, double* y) {
    double m;
    for (int64_t i = 0; i < p->rows; i++)
        softmax_row(y + i * p->cols, p->x->value + i * p->cols, (int64_t)p->seen->value[i], p->cols,
                    &m);
}

static inline void masked_softmax_in_float(const struct masked* p, double* y) {
    float m;
    for (int64_t i = 0; i < p->rows; i++)
        softmax_row_in_float(y + i * p->cols, p->x->value + i * p->cols, (int64_t)p->seen->value[i],
                             p->cols, &m);
}

// Rows in which something is hidden are 0 where they should not be: a hidden score was the largest,
// and was left out then.
static inline bool hidden_was_largest(const struct masked* p) {
    bool any = false;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < (int64_t)p->seen->value[i]; j++) {
            const double got = p->y->got[i * p->cols + j];
            if (p->seen->value[i] < (double)p->cols && got != 0) return false;
            any |= got == 0;
        }
    return any;
}

// Hidden columns are 0, and have weight in the sum: in each row what is seen is too small by one
// factor, as if each hidden score weighed `weight`, which is at most what the largest
// score does.
static inline bool hidden_was_summed(const struct masked* p) {
    bool any = false;
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t seen = (int64_t)p->seen->value[i];
        const double *want = p->y->want + i * p->cols, *got = p->y->got + i * p->cols;
        double m, less = 0;
        const double l = softmax_row(NULL, p->x->value + i * p->cols, seen, p->cols, &m);
        for (int64_t j = 0; j < p->cols; j++) {
            if (want[j] < 1e-6) continue;
            const double own = got[j] / want[j];
            if (less == 0) less = own;
            if (!(fabs(own - less) < 1e-4)) return false;
        }
        if (seen == 0) continue;
        const double weight = l * (1 / less - 1) / fmax(1, (double)(p->cols - seen));
        if (seen == p->cols ? fabs(less - 1) > 1e-4 : !(weight <= 1.001)) return false;
        any |= less < 1 - 1e-3;
    }
    return any;
}

// What hidden columns hold tells.
static inline enum cause masked_explain(const struct masked* p) {
    bool nan_in_empty = false;
    if (hidden_was_largest(p)) return CAUSE_mask_value;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = (int64_t)p->seen->value[i]; j < p->cols; j++) {
            double got = p->y->got[i * p->cols + j];
            if (p->seen->value[i] == 0 && isnan(got))
                nan_in_empty = true;
            else if (got != 0)
                return CAUSE_mask_value;
        }
    if (nan_in_empty) return CAUSE_masked_row;
    return hidden_was_summed(p) ? CAUSE_mask_value : CAUSE_NONE;
}

static inline void logsumexp_of(const struct masked* p, double* LSE) {
    double m;
    for (int64_t i = 0; i < p->rows; i++) {
        double l = softmax_row(NULL, p->x->value + i * p->cols, p->cols, p->cols, &m);
        LSE[i] = m + log(l);
    }
}

static inline void logsumexp_in_float(const struct masked* p, double* LSE) {
    float m;
    for (int64_t i = 0; i < p->rows; i++) {
        float l = softmax_row_in_float(NULL, p->x->value + i * p->cols, p->cols, p->cols, &m);
        LSE[i] = m + logf(l);
    }
}

// l is too large by the same number in each row: by whole ones, or by a little.
static inline enum cause logsumexp_explain(const struct masked* p) {
    double m, least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < p->rows; i++) {
        double l = softmax_row(NULL, p->x->value + i * p->cols, p->cols, p->cols, &m);
        double more = exp(p->y->got[i] - m) - l;
        least = fmin(least, more);
        most = fmax(most, more);
    }
    if (!(least > 0 && most - least < 0.01 * most + 1e-4 * p->cols)) return CAUSE_NONE;
    return most > 0.5 ? CAUSE_sum_init : CAUSE_epsilon_added;
}

// ---- what an output looks like

// All quotients are of one other divisor.
static inline bool other_count(struct check* c, const struct tensor* y) {
    const double* x = check_tensor(c, "x")->value;
    double divisor = 0;
    for (int64_t i = 0; i < y->count; i++) {
        double own = x[i] / y->got[i];
        if (!check_was_written(y, i)) return false;
        if (i == 0) divisor = own;
        if (!(fabs(own - divisor) <= 1e-5 * fabs(divisor)) && !(isinf(own) && isinf(divisor)))
            return false;
    }
    return true;
}

// Only the sum of the last numbers is wrong, of which there are not 32.
static inline bool last_sum(struct check* c, const struct tensor* y) {
    for (int64_t i = 0; i + 1 < y->count; i++)
        if (y->got[i] != y->want[i]) return false;
    return check_tensor(c, "x")->count % 32 != 0;
}

// Each row of y begins where one does with the stride of x.
static inline bool by_stride_of_x(struct check* c, const struct tensor* y) {
    const struct tensor* x = check_tensor(c, "x");
    const int64_t rows = check_int_of(c, "rows"), cols = check_int_of(c, "cols");
    const int64_t own = y->count / rows, other = x->count / rows;
    bool all = own != other;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols && all; j++)
            all = y->got[i * other + j] == y->want[i * own + j];
    return all;
}

// NaN, and nothing else, where sums of other groups are wanted.
static inline bool nan_of_others(const struct tensor* y) {
    for (int64_t i = 0; i < y->count; i++)
        if (!isnan(y->got[i]) && y->got[i] != y->want[i]) return false;
    return true;
}

#endif
