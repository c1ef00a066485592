// setmaxnreg: warps give registers back, and others take them. A block has as many as it was
// launched with: for each thread the same, a multiple of 8, and here as many as fit on the
// multiprocessor. The compiler may have chosen fewer, so an inc to fewer than these is no mistake.
#include <stdio.h>
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/warp.h"

void cudev_registers_begin(struct worker* w) {
    struct registers* r = &w->hopper->registers;
    unsigned warps = (w->launch->of_block + WARP_SIZE - 1) / WARP_SIZE;
    unsigned each = (unsigned)cudev_card()->registers / (warps * WARP_SIZE) / 8 * 8;
    if (each > CARD_THREAD_REGISTERS) each = CARD_THREAD_REGISTERS + 1;
    for (unsigned i = 0; i < MAX_WARPS; i++) {
        r->of[i] = each;
        r->wanted[i] = 0;
    }
    memset(r->free, 0, sizeof r->free);
}

void cudev_registers_report(const struct worker* w) {
    const struct registers* r = &w->hopper->registers;
    for (unsigned i = 0; i < MAX_WARPS; i++)
        if (r->wanted[i])
            cudev_report_add(
                "  warp %u has %u registers a thread and waits for %u; %u are free for "
                "one warp: the sum over all warps is more than the block was launched "
                "with\n",
                i, r->of[i], r->wanted[i], r->free[cudev_rank_of(w, i * WARP_SIZE)]);
}

// As many warps as can be served, in their order.
static void serve(struct worker* w, unsigned last) {
    struct registers* r = &w->hopper->registers;
    for (unsigned i = 0; i < MAX_WARPS; i++) {
        unsigned* free = &r->free[cudev_rank_of(w, i * WARP_SIZE)];
        if (!r->wanted[i] || r->wanted[i] - r->of[i] > *free) continue;
        *free -= r->wanted[i] - r->of[i];
        r->of[i] = r->wanted[i];
        r->wanted[i] = 0;
        if (i == last) continue;
        w->waiting->in_call[i] = 0;
        cudev_make_ready(w, i, w->live[i]);
    }
}

static const char* text_of(struct worker* w, unsigned registers, unsigned increase) {
    char* text = w->hopper->registers.text[cudev_current(w) / WARP_SIZE];
    snprintf(text, sizeof w->hopper->registers.text[0], "setmaxnreg_%s<%u>()",
             increase ? "inc" : "dec", registers);
    return text;
}

static bool complete_set(struct worker* w, unsigned warp, uint32_t lanes) {
    struct registers* r = &w->hopper->registers;
    const struct lane* lane = &cudev_lanes(w, warp)[__builtin_ctz(lanes)];
    const unsigned wanted = lane->arg;
    const bool increase = lane->width != 0;
    if (!increase && wanted > r->of[warp]) {
        char text[120];
        snprintf(text, sizeof text, "is more than the %u registers that each thread has",
                 r->of[warp]);
        cudev_hopper_mistake(w, "unsupported", &lane->place, text,
                             "dec gives registers back, inc takes them");
    }
    if (!increase) r->free[cudev_rank_of(w, warp * WARP_SIZE)] += r->of[warp] - wanted;
    if (!increase) r->of[warp] = wanted;
    if (increase && wanted > r->of[warp]) r->wanted[warp] = wanted;
    serve(w, warp);
    if (!r->wanted[warp]) return true;
    w->waiting->in_call[warp] |= lanes;
    return false;
}

static const struct warp_function setmaxnreg = {  // arg: registers; width: increase
    .text = text_of,
    .complete = complete_set,
    .whole_warp = true,
    .with_all_32 = true};

void cudev_set_registers(int increase, unsigned registers, const char* file, int line) {
    struct worker* w = cudev_in_hopper("setmaxnreg", file, line);
    cudev_warp_call(w, &setmaxnreg, ~0u, 0, registers, increase != 0, file, line);
}
