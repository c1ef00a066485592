// model.h: the language model of `make train`: GPT-2's, at the sizes of a table.
//
// Token and position embedding; blocks of norm, attention, norm and MLP (lesson 29's train_gpt.h
// has the equations); a norm; a head whose weights are the token embedding's. Parameters lie one
// behind the other in one array, first those that decay, so that AdamW is one launch.
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "course.h"
#include "train/reduce.h"

struct model_size {
    const char* name;  // MODEL=
    int layers, C, H;  // blocks, channels, heads
    int N, B;          // tokens of a text, texts of a step
    int V;             // tokens that the head knows
    int steps;         // STEPS= if it is not given
    int warm;          // steps until the learning rate is the largest
    float lr;          // the largest learning rate
    float embedding;   // the standard deviation of both embeddings at the beginning
};

// The size of this name, or NULL. model_names(): all of them, with spaces between.
const struct model_size* model_size_of(const char* name);
const char* model_names(void);

// A model on the device. Its functions return an enum course_status, and everything of it is freed
// by model_end(), also after an error in model_begin().
struct model;

// Parameters drawn from the seed; step 0. With a reducer, which stays the caller's, size->B is the
// part of this GPU, and losses and gradients are means over all of them.
int model_begin(struct model** made, const struct model_size* size, uint64_t seed,
                struct reducer* reducer);
void model_end(struct model* m);

int64_t model_parameters(const struct model* m);

// What the forward pass keeps of a step for the backward pass, in bytes.
size_t model_kept_bytes(const struct model* m);

// What the GPUs tell each other in a step: the means over all of them.
struct model_sums {
    float loss;  // nats a token
    float stop;  // in: 1 if this process was asked to end, else 0
};

// tokens, labels: B N of each, 0 .. V - 1. If `backward`, the gradients are made, too.
int model_run(struct model* m, const int64_t* tokens, const int64_t* labels, bool backward,
              struct model_sums* sums);

// AdamW with the gradients of the last model_run(); step counts from 1.
int model_update(struct model* m, float lr, int64_t step);

// The logits of the first `tokens` known tokens for the token that comes after place `at` of each
// text: out[b * tokens + t], B of them. model_run() is not called for these: only forward.
int model_next(struct model* m, const int64_t* tokens, int at, int known, float* out);

// The whole state, for a checkpoint: w, m and v, model_parameters() floats each.
int model_save(const struct model* m, float* w, float* mean, float* square);
int model_load(struct model* m, const float* w, const float* mean, const float* square);

// Draws number `index` of a seed: 64 random bits; one of 0 .. n - 1.
uint64_t draw_bits(uint64_t seed, uint64_t index);
int64_t draw_below(uint64_t seed, uint64_t index, int64_t n);

#endif
