// block.h: what one block of a large layer moves. For check.c of lesson 08.
//
// Of each launch one drawn block runs: in the whole of it nobody would wait for the instrumented
// build. What the block has stored is compared, and its costs are held against that alone. If it
// stores nothing that is right, since kernels give something to one another, all blocks run.
#ifndef BLOCK_H
#define BLOCK_H

#include "check/reach.h"
#include "layer.h"
#include "wall/arena.h"

#include <math.h>
#include <string.h>

// Larger than the layers of other costs in one direction: whole tiles of up to 128 x 256.
static void draw_sizes(struct check* c, int64_t* M, int64_t* N) {
    const bool is_wide = check_pick(c, 0, 1);
    *M = 128 * (is_wide ? 1 : check_pick(c, 5, 9));
    *N = 256 * (is_wide ? check_pick(c, 3, 5) : 1);
}

static void leave_out(const struct tensor* t) {
    if (t) memset(t->untouched, true, (size_t)t->count * sizeof *t->untouched);
}

// Sets what is wanted of element e, which the block has stored. Is it that?
static bool is_right(const struct layer* l, int64_t e) {
    const struct tensor* out = l->backward ? l->dZ : l->Y;
    const double scale = scale_of(l), kept = is_kept(l, e) ? 1 : 0;
    double y, allowed;
    if (l->backward) {
        const double g = l->dY->value[e], z = l->f ? l->Z->value[e] : 0;
        y = kept > 0 ? g * slope_of(l->f, z) * scale : 0;
        allowed = allowed_of_dZ(g, z, y, scale);
        l->dY->untouched[e] = false;
        if (l->f) l->Z->untouched[e] = false;
    } else {
        const double z = z_of(l, e / l->N, e % l->N);
        y = kept > 0 ? f_of(l->f, z) * scale : 0;
        allowed = allowed_of_Y(z, y, scale);
        if (l->with_Z) {
            if (!check_was_written(l->Z, e)) return false;
            l->Z->untouched[e] = false;
            l->Z->want[e] = dtype_round(BF16, z);
            if (l->Z->got[e] != l->Z->want[e]) return false;
        }
    }
    out->untouched[e] = false;
    out->want[e] = y;
    return fabs(out->got[e] - y) <= (y == 0 ? 0x1p-132 : allowed);
}

// So many elements are stored, all of them right; or 0. Of the inputs only what these need has to
// be read.
static double stored_right(const struct layer* l) {
    struct tensor* const of[] = {l->Y, l->Z, l->X, l->W, l->bias, l->dZ, l->dY};
    const struct tensor* out = l->backward ? l->dZ : l->Y;
    double stored = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) leave_out(of[i]);
    for (int64_t e = 0; e < out->count; e++) {
        if (!check_was_written(out, e)) continue;
        if (!is_right(l, e)) return 0;
        stored++;
        if (l->backward) continue;
        const int64_t i = e / l->N, j = e % l->N;
        if (l->bias->untouched[j])
            memset(&l->W->untouched[j * l->K], false, (size_t)l->K * sizeof(bool));
        if (l->X->untouched[i * l->K])
            memset(&l->X->untouched[i * l->K], false, (size_t)l->K * sizeof(bool));
        l->bias->untouched[j] = false;
    }
    return stored;
}

// Runs l, and says how many elements the counted blocks have stored. Of all blocks `judge` compares
// the outputs.
static double run_block(struct layer* l, void (*judge)(struct layer* l)) {
    struct check* c = l->check;
    check_watch(c, WATCH_PROFILE);
    layer_begin(l, "what one block of the grid moves");
    layer_fill(l);
    const double stored = check_run_one_block(c) ? stored_right(l) : 0;
    if (stored > 0) {
        // Each element was compared: here it counts as compared.
        check_compare(c, l->backward ? l->dZ : l->Y, (struct budget){INFINITY, INFINITY, 0});
        return stored;
    }
    layer_begin(l, "what a large layer moves");
    layer_fill(l);
    check_run(c);
    judge(l);
    return (double)(l->M * l->N);
}

// The forward pass: as many products by the tensor cores as it has; X and W are read once a tile,
// and nothing but the outputs is written.
static void forward_of_block(struct layer l, void (*judge)(struct layer* l)) {
    enum { TILE = 64 };
    struct check* c = l.check;
    draw_sizes(c, &l.M, &l.N);
    const double stored = run_block(&l, judge), K = (double)l.K;
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync or wgmma",
                  1 - ((double)t->mma * 2048 + (double)t->wgmma_multiplications) / (stored * K), 0);
    check_kept(c, CAUSE_intermediate, "element of Y", (double)(l.M * l.N), 0.5, 3000);
    // Each element of Y may load its bias, and a share of a row of X and of one of W.
    check_at_most(c, CAUSE_too_much_read, "elements loaded for each element of Y",
                  (double)t->global_load_bytes / (2 * stored), 2 * K / TILE + 1);
    check_loaded_once(c, "X");
    check_loaded_once(c, "W");
    check_at_most(c, CAUSE_too_much_written, "times that each element of the outputs is stored",
                  (double)(t->global_store_bytes + t->filled_bytes) /
                      (2 * stored * (l.with_Z ? 2 : 1)),
                  1.01);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  32 * (double)t->global_store_sectors / (double)t->global_store_bytes, 2.1);
}

// The backward pass: dY and Z are read once, and dZ is written once.
static void backward_of_block(struct layer l, void (*judge)(struct layer* l)) {
    struct check* c = l.check;
    draw_sizes(c, &l.M, &l.N);
    const double bytes = 2 * run_block(&l, judge);
    const struct arena_traffic* t = check_traffic(c);
    check_kept(c, CAUSE_intermediate, "element of dZ", (double)(l.M * l.N), 0.5, 3000);
    check_at_most(c, CAUSE_too_much_read, "times that each element of dY and Z is loaded",
                  (double)t->global_load_bytes / (l.f ? 2 * bytes : bytes), 1.01);
    check_at_most(c, CAUSE_too_much_written, "times that each element of dZ is stored",
                  (double)(t->global_store_bytes + t->filled_bytes) / bytes, 1.01);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.1);
}

#endif
