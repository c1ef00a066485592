// Calls that lanes of a warp make together. Each lane leaves its operand and waits. The lane of the
// mask that comes last computes the results of all lanes and goes on. Several groups with different
// masks may wait in one warp.
#ifndef CUDEV_WARP_H
#define CUDEV_WARP_H

#include "cpu/device/waiting.h"

struct warp_function {
    const char* name;  // as a report shows it; NULL: `text` gives it
    const char* (*text)(struct worker* w, unsigned arg, unsigned width);
    // All lanes of the group have come: turns the operands in lane[].value into results. Returns
    // whether the lanes can go on.
    bool (*complete)(struct worker* w, unsigned warp, uint32_t lanes);
    bool shuffles;      // lanes read each other's values: none may have returned
    bool any_line;      // calls at different lines may meet
    bool whole_warp;    // an instruction of whole warps: it has no mask, all lanes have to come
    bool with_all_32;   // and no lane may have returned or be absent
    bool who_is_there;  // __activemask(): waits until no other thread can run
};

// The calling thread calls `function` together with the lanes of `mask`. `value` is its operand;
// the meaning of `arg` and `width` is the function's. Returns its result. file, line: of the call,
// for reports.
uint64_t cudev_warp_call(struct worker* w, const struct warp_function* function, unsigned mask,
                         uint64_t value, unsigned arg, unsigned width, const char* file, int line);

// A lane has returned from the kernel. Calls that waited only for this lane are complete now; calls
// that needed its value end the program.
void cudev_warp_lane_returned(struct worker* w, unsigned warp);
// No other thread can run: lanes that have reached one __activemask() are active together, and
// become ready. false if there are none.
bool cudev_warp_settle(struct worker* w);
// No thread can go on. Ends the program if lanes wait for lanes of their mask that wait elsewhere.
// Returns if no lane does: a full __syncwarp() against a __syncthreads() is called a deadlock.
void cudev_warp_blame_mask(struct worker* w);

static inline struct lane* cudev_lanes(struct worker* w, unsigned warp) {
    return &w->waiting->lane[warp * WARP_SIZE];
}

#endif
