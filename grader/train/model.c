// model.c: see model.h.
#include "train/model.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "11_cross_entropy/cross_entropy.h"
#include "29_train_gpt/layers.h"
#include "train/forward.h"

// tiny: heads of 64 channels are the smallest that the course's attention takes. Its steps and
// numbers were tried out: it has 60 seconds.
static const struct model_size sizes[] = {
    {"tiny", 2, 64, 1, 32, 4, 96, 390, 60, 6e-3f, 0.15f},
    {"small", 6, 384, 6, 256, 16, 96, 800, 100, 1e-3f, 0.05f},
    {"124m", 12, 768, 12, 1024, 16, 50304, 2000, 100, 6e-4f, 0.02f},
    {0},
};

const struct model_size* model_size_of(const char* name) {
    for (const struct model_size* s = sizes; s->name; s++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}

const char* model_names(void) {
    return "tiny small 124m";
}

enum { BLOCK_ARRAYS = 12, MATRICES = 4, MOST_LAYERS = 12 };
enum { PER_BLOCK = 8 };  // arrays that a block keeps

struct model {
    struct model_size size;
    int rows;
    int64_t n, decayed;  // parameters
    // of all parameters
    float *w, *mean, *square;
    bf16 *w16, *g16;
    // where they are
    int64_t E, P, last_weight, last_bias;
    int64_t at[MOST_LAYERS][BLOCK_ARRAYS];
    struct reducer* reducer;  // NULL with one GPU
    // a step's
    int64_t *tokens, *labels;
    int *order, *first;  // the rows sorted by token, and where a token's begin (forward.h)
    int used;            // tokens that occur
    int* host;           // of the host: room to sort them
    struct train_gpt_kept kept[MOST_LAYERS];
    float *last_X, *last_stats, *dX, *LSE;
    float* sums;  // 2: the loss, and whether to stop
    bf16 *norm, *wide, *narrow, *last_norm, *logits;
    void *workspace, *loss_workspace;
};

// ---- random numbers

uint64_t draw_bits(uint64_t seed, uint64_t index) {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + index + 1;
    for (int round = 0; round < 2; round++) {  // splitmix64's mixing, twice
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

int64_t draw_below(uint64_t seed, uint64_t index, int64_t n) {
    return (int64_t)(draw_bits(seed, index) >> 1) % n;
}

// Mean 0, standard deviation 1: Box and Muller.
static double draw_normal(uint64_t seed, uint64_t index) {
    double a = ((double)(draw_bits(seed, 2 * index) >> 11) + 1) * 0x1p-53;
    double b = (double)(draw_bits(seed, 2 * index + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(a)) * cos(2 * 3.14159265358979323846 * b);
}

// ---- memory

static int make(void* pointer, size_t bytes) {
    void* made = NULL;
    if (cudaMalloc(&made, bytes) != cudaSuccess) {
        fprintf(stderr,
                "make train: the device has no %.1f MB more. A smaller MODEL= needs less.\n",
                (double)bytes / 1e6);
        return COURSE_CUDA_ERROR;
    }
    memcpy(pointer, &made, sizeof made);
    return COURSE_OK;
}

#define TRY(call)                               \
    do {                                        \
        int status = (call);                    \
        if (status != COURSE_OK) return status; \
    } while (0)

// How many elements array number i of a block has.
static int64_t elements_of(int i, int64_t C) {
    const int64_t counts[BLOCK_ARRAYS] = {3 * C * C, C * C, 4 * C * C, 4 * C * C, 3 * C, C,
                                          4 * C,     C,     C,         C,         C,     C};
    return counts[i];
}

// The matrices of a block lie one behind the other, and so do its vectors, and the last norm's two:
// what is summed over the GPUs at a time is two pieces.
static void lay_out(struct model* m) {
    const int64_t C = m->size.C;
    int64_t at = 0;
    m->E = at, at += m->size.V * C;
    m->P = at, at += m->size.N * C;
    for (int layer = 0; layer < m->size.layers; layer++)
        for (int i = 0; i < MATRICES; i++) m->at[layer][i] = at, at += elements_of(i, C);
    m->decayed = at;
    for (int layer = 0; layer < m->size.layers; layer++)
        for (int i = MATRICES; i < BLOCK_ARRAYS; i++) m->at[layer][i] = at, at += elements_of(i, C);
    m->last_weight = at, at += C;
    m->last_bias = at, at += C;
    m->n = at;
}

// The block's arrays in `all`, parameters or gradients.
static struct train_gpt_block block_of(const struct model* m, bf16* all, int layer) {
    const int64_t* at = m->at[layer];
    return (struct train_gpt_block){all + at[0], all + at[1], all + at[2],  all + at[3],
                                    all + at[4], all + at[5], all + at[6],  all + at[7],
                                    all + at[8], all + at[9], all + at[10], all + at[11]};
}

static int make_kept(struct model* m, struct train_gpt_kept* k) {
    const size_t rows = (size_t)m->rows, C = (size_t)m->size.C;
    TRY(make(&k->X, rows * C * 4));
    TRY(make(&k->stats1, rows * 2 * 4));
    TRY(make(&k->QKV, rows * 3 * C * 2));
    TRY(make(&k->O, rows * C * 2));
    TRY(make(&k->LSE, rows * (size_t)m->size.H * 4));
    TRY(make(&k->X_mid, rows * C * 4));
    TRY(make(&k->stats2, rows * 2 * 4));
    return make(&k->Z, rows * 4 * C * 2);
}

size_t model_kept_bytes(const struct model* m) {
    const size_t rows = (size_t)m->rows, C = (size_t)m->size.C, H = (size_t)m->size.H;
    return (size_t)m->size.layers * rows * (24 * C + 4 * H + 16);
}

static int make_all(struct model* m) {
    const size_t rows = (size_t)m->rows, C = (size_t)m->size.C, n = (size_t)m->n;
    TRY(train_layers_begin(m->size.V > 4 * m->size.C ? m->size.V : 4 * m->size.C));
    TRY(make(&m->w, n * 4));
    TRY(make(&m->mean, n * 4));
    TRY(make(&m->square, n * 4));
    TRY(make(&m->w16, n * 2));
    TRY(make(&m->g16, n * 2));
    TRY(make(&m->tokens, rows * 8));
    TRY(make(&m->labels, rows * 8));
    TRY(make(&m->order, rows * sizeof *m->order));
    TRY(make(&m->first, (rows + 1) * sizeof *m->first));
    for (int layer = 0; layer < m->size.layers; layer++) TRY(make_kept(m, &m->kept[layer]));
    TRY(make(&m->last_X, rows * C * 4));
    TRY(make(&m->last_stats, rows * 2 * 4));
    TRY(make(&m->dX, rows * C * 4));
    TRY(make(&m->sums, 2 * sizeof *m->sums));
    TRY(make(&m->LSE, rows * 4));
    TRY(make(&m->norm, rows * C * 2));
    TRY(make(&m->wide, rows * 4 * C * 2));
    TRY(make(&m->narrow, rows * C * 2));
    TRY(make(&m->last_norm, rows * C * 2));
    TRY(make(&m->logits, rows * (size_t)m->size.V * 2));
    TRY(make(&m->loss_workspace, cross_entropy_workspace_bytes(m->rows)));
    return make(&m->workspace,
                train_gpt_block_workspace_bytes(m->size.B, m->size.N, m->size.C, m->size.H) +
                    rows * (size_t)m->size.V * 2);  // the head's transposed gradient
}

// As GPT-2, whose matrices have 0.02 for 768 channels; where a layer ends on the residual path, it
// is less for each layer that does.
static void draw_parameters(const struct model* m, uint64_t seed, float* w) {
    const double matrices = 0.02 * sqrt(768.0 / m->size.C);
    for (int64_t i = 0; i < m->decayed; i++) {
        double size = i < m->at[0][0] ? m->size.embedding : matrices;
        w[i] = (float)(size * draw_normal(seed, (uint64_t)i));
    }
    for (int64_t i = m->decayed; i < m->n; i++) w[i] = 0.0f;
    const int64_t C = m->size.C;
    for (int layer = 0; layer < m->size.layers; layer++) {
        for (int matrix = 1; matrix <= 3; matrix += 2)
            for (int64_t i = 0; i < elements_of(matrix, C); i++)
                w[m->at[layer][matrix] + i] /= sqrtf(2.0f * (float)m->size.layers);
        for (int norm = 8; norm <= 10; norm += 2)
            for (int64_t j = 0; j < C; j++) w[m->at[layer][norm] + j] = 1.0f;
    }
    for (int64_t j = 0; j < C; j++) w[m->last_weight + j] = 1.0f;
}

int model_begin(struct model** made, const struct model_size* size, uint64_t seed,
                struct reducer* reducer) {
    struct model* m = *made = calloc(1, sizeof *m);
    if (!m) return COURSE_CUDA_ERROR;
    m->size = *size;
    m->reducer = reducer;
    m->rows = size->B * size->N;
    m->host = calloc((size_t)size->V + 2 * (size_t)m->rows + 1, sizeof *m->host);
    if (!m->host) return COURSE_CUDA_ERROR;
    lay_out(m);
    TRY(make_all(m));
    float* w = calloc((size_t)m->n, sizeof *w);
    float* zeros = calloc((size_t)m->n, sizeof *zeros);
    if (w) draw_parameters(m, seed, w);
    int status = w && zeros ? model_load(m, w, zeros, zeros) : COURSE_CUDA_ERROR;
    free(w), free(zeros);
    return status;
}

void model_end(struct model* m) {
    if (!m) return;
    for (int layer = 0; layer < m->size.layers; layer++) {
        const struct train_gpt_kept* k = &m->kept[layer];
        const void* own[PER_BLOCK] = {k->X,   k->stats1, k->QKV,    k->O,
                                      k->LSE, k->X_mid,  k->stats2, k->Z};
        for (int i = 0; i < PER_BLOCK; i++) cudaFree((void*)(uintptr_t)own[i]);
    }
    void* own[] = {m->w,      m->mean,      m->square,        m->w16,    m->g16,    m->tokens,
                   m->labels, m->order,     m->first,         m->last_X, m->dX,     m->last_stats,
                   m->sums,   m->LSE,       m->norm,          m->wide,   m->narrow, m->last_norm,
                   m->logits, m->workspace, m->loss_workspace};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) cudaFree(own[i]);
    train_layers_end();
    free(m->host), free(m);
}

int64_t model_parameters(const struct model* m) {
    return m->n;
}

// ---- a step

static int to_device(void* to, const void* from, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess ? COURSE_OK
                                                                              : COURSE_CUDA_ERROR;
}

static int to_host(void* to, const void* from, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) == cudaSuccess ? COURSE_OK
                                                                              : COURSE_CUDA_ERROR;
}

// X' = X + Y + bias with its norm. kept's arrays are const for the backward pass.
static int add_norm(const struct model* m, const float* X_out, const float* stats, const float* X,
                    const bf16* Y, const bf16* bias, const bf16* weight, const bf16* shift) {
    return train_add_norm((float*)(uintptr_t)X_out, (float*)(uintptr_t)stats, m->norm, X, Y, bias,
                          weight, shift, m->rows, m->size.C);
}

// Block `layer`: m->norm holds the norm of kept->X. Leaves in m->narrow what X' still lacks.
static int run_block(struct model* m, int layer) {
    const struct model_size* s = &m->size;
    const struct train_gpt_block W = block_of(m, m->w16, layer);
    const struct train_gpt_kept* k = &m->kept[layer];
    bf16 *QKV = (bf16*)(uintptr_t)k->QKV, *O = (bf16*)(uintptr_t)k->O, *Z = (bf16*)(uintptr_t)k->Z;
    TRY(train_linear(QKV, NULL, m->norm, W.W_qkv, W.b_qkv, m->rows, 3 * s->C, s->C, 0));
    TRY(train_attention(O, (float*)(uintptr_t)k->LSE, QKV, s->B, s->N, s->C, s->H));
    TRY(train_product(m->narrow, O, W.W_proj, m->rows, s->C, s->C));
    TRY(add_norm(m, k->X_mid, k->stats2, k->X, m->narrow, W.b_proj, W.norm2, W.norm2_bias));
    TRY(train_linear(m->wide, Z, m->norm, W.W_fc, W.b_fc, m->rows, 4 * s->C, s->C, 1));
    return train_product(m->narrow, m->wide, W.W_out, m->rows, s->C, 4 * s->C);
}

static int forward(struct model* m, const int64_t* tokens) {
    const struct model_size* s = &m->size;
    TRY(to_device(m->tokens, tokens, (size_t)m->rows * sizeof *tokens));
    TRY(train_embed((float*)(uintptr_t)m->kept[0].X, m->tokens, m->w16 + m->E, m->w16 + m->P,
                    m->rows, s->N, s->C));
    for (int layer = 0; layer < s->layers; layer++) {
        const struct train_gpt_block W = block_of(m, m->w16, layer);
        const struct train_gpt_kept* k = &m->kept[layer];
        if (layer == 0) TRY(add_norm(m, NULL, k->stats1, k->X, NULL, NULL, W.norm1, W.norm1_bias));
        TRY(run_block(m, layer));
        const bf16* bias = W.b_out;
        if (layer + 1 < s->layers) {
            const struct train_gpt_block next = block_of(m, m->w16, layer + 1);
            TRY(add_norm(m, k[1].X, k[1].stats1, k->X_mid, m->narrow, bias, next.norm1,
                         next.norm1_bias));
        } else {
            TRY(train_add_norm(m->last_X, m->last_stats, m->last_norm, k->X_mid, m->narrow, bias,
                               m->w16 + m->last_weight, m->w16 + m->last_bias, m->rows, s->C));
        }
    }
    return train_product(m->logits, m->last_norm, m->w16 + m->E, m->rows, s->V, s->C);
}

// The gradients of a block are complete: their mean over all GPUs is taken while the block before
// it computes its own.
static int block_mean(struct model* m, int layer) {
    const int64_t C = m->size.C;
    const struct reduced arrays[] = {
        {m->g16 + m->at[layer][0], m->at[layer][MATRICES - 1] + 4 * C * C - m->at[layer][0]},
        {m->g16 + m->at[layer][MATRICES],
         m->at[layer][BLOCK_ARRAYS - 1] + C - m->at[layer][MATRICES]}};
    return reducer_mean(m->reducer, arrays, 2);
}

// Those of the embeddings, which the head and the first layer add to, and of the last norm.
static int ends_mean(struct model* m) {
    const struct reduced arrays[] = {{m->g16 + m->E, m->at[0][0] - m->E},
                                     {m->g16 + m->last_weight, m->n - m->last_weight}};
    return reducer_mean(m->reducer, arrays, 2);
}

// The rows sorted by their token, for the gradient of the token embedding. Here rather than on the
// device, which computes meanwhile.
static int sort_rows(struct model* m, const int64_t* tokens) {
    int *place = m->host, *order = place + m->size.V, *first = order + m->rows, at = 0;
    memset(place, 0, (size_t)m->size.V * sizeof *place);
    for (int row = 0; row < m->rows; row++) place[tokens[row]]++;
    m->used = 0;
    for (int token = 0; token < m->size.V; token++) {
        const int count = place[token];
        if (count == 0) continue;
        first[m->used++] = place[token] = at;
        at += count;
    }
    first[m->used] = at;
    for (int row = 0; row < m->rows; row++) order[place[tokens[row]]++] = row;
    TRY(to_device(m->order, order, (size_t)m->rows * sizeof *order));
    return to_device(m->first, first, ((size_t)m->used + 1) * sizeof *first);
}

static int backward(struct model* m) {
    const struct model_size* s = &m->size;
    bf16 *g = m->g16, *w = m->w16;
    TRY(layer_weight_gradient(g + m->E, m->logits, m->last_norm, m->rows, s->V, s->C,
                              m->workspace));
    TRY(layer_input_gradient(m->narrow, m->logits, w + m->E, m->rows, s->V, s->C));
    TRY(layer_norm_backward(m->dX, NULL, g + m->last_weight, g + m->last_bias, m->narrow, m->last_X,
                            m->last_stats, w + m->last_weight, m->rows, s->C, m->workspace));
    for (int layer = s->layers - 1; layer >= 0; layer--) {
        TRY(train_gpt_block(m->dX, block_of(m, g, layer), block_of(m, w, layer), m->kept[layer],
                            s->B, s->N, s->C, s->H, m->workspace));
        TRY(block_mean(m, layer));
    }
    TRY(train_embed_backward(g + m->E, g + m->P, m->dX, m->tokens, m->order, m->first, m->used,
                             m->rows, s->N, s->C));
    return ends_mean(m);
}

int model_run(struct model* m, const int64_t* tokens, const int64_t* labels, bool with_backward,
              struct model_sums* sums) {
    TRY(forward(m, tokens));
    if (with_backward) TRY(sort_rows(m, tokens));
    TRY(to_device(m->labels, labels, (size_t)m->rows * sizeof *labels));
    TRY(to_device(m->sums, sums, sizeof *sums));
    TRY(cross_entropy(m->sums, m->LSE, m->logits, m->labels, m->rows, m->size.V, m->size.V, -100,
                      0.0f, m->loss_workspace));
    TRY(reducer_mean_floats(m->reducer, m->sums, 2));
    if (with_backward) TRY(backward(m));
    TRY(reducer_wait(m->reducer));
    return to_host(sums, m->sums, sizeof *sums);
}

int model_update(struct model* m, float lr, int64_t step) {
    return train_gpt_adamw(m->w, m->mean, m->square, m->w16, m->g16, m->n, m->decayed, lr, 0.9f,
                           0.95f, 1e-8f, 0.1f, step);
}

int model_next(struct model* m, const int64_t* tokens, int at, int known, float* out) {
    uint16_t* row = malloc((size_t)known * sizeof *row);
    if (!row) return COURSE_CUDA_ERROR;
    int status = forward(m, tokens);
    for (int b = 0; b < m->size.B && status == COURSE_OK; b++) {
        const int64_t from = ((int64_t)b * m->size.N + at) * m->size.V;
        status = to_host(row, m->logits + from, (size_t)known * sizeof *row);
        for (int t = 0; t < known; t++) {
            uint32_t bits = (uint32_t)row[t] << 16;
            memcpy(&out[b * known + t], &bits, sizeof bits);
        }
    }
    free(row);
    return status;
}

// ---- its state

int model_save(const struct model* m, float* w, float* mean, float* square) {
    const size_t bytes = (size_t)m->n * sizeof *w;
    TRY(to_host(w, m->w, bytes));
    TRY(to_host(mean, m->mean, bytes));
    return to_host(square, m->square, bytes);
}

int model_load(struct model* m, const float* w, const float* mean, const float* square) {
    const size_t bytes = (size_t)m->n * sizeof *w;
    TRY(to_device(m->w, w, bytes));
    TRY(to_device(m->mean, mean, bytes));
    TRY(to_device(m->square, square, bytes));
    return layer_round(m->w16, m->w, m->n);
}
