// How much of its stack a thread uses for its local variables, and what it finds there.
//
// gcc announces where functions begin. A kernel is one function with most of its helpers, so the
// frames of a thread are a few; the lowest one says how deep the thread has been. A thread that
// starts finds NaN there: the leavings of earlier threads would look like values of its own.
#include "cpu/device/stacks.h"
#include "cpu/include/cudev/abi.h"
#include "cpu/watch/watch.h"

enum { UNKNOWN = 4096 };  // bytes to clean on a stack that was not used before

void cudev_stack_reaches(struct watch* watch, char* low) {
    struct stack_use* s = &watch->stack[watch->worker->stack];
    if (low >= s->low) return;
    if (s->begin) watch->block_stack += (uint64_t)(s->low - low);
    s->low = low;
    if (s->begin && (size_t)(s->begin - low) > watch->deepest)
        watch->deepest = (uint32_t)(s->begin - low);
}

// Nothing of this function lies below its frame: it calls nothing and keeps all in registers.
__attribute__((noinline)) void cudev_clean_watched_stack(void) {
    struct worker* w = cudev_self;
    if (!w->watch) return;
    struct stack_use* s = &w->watch->stack[w->stack];
    char *frame = __builtin_frame_address(0), *low = s->low ? s->low : frame - UNKNOWN;
    s->begin = s->low = frame;
    cudev_stack_fill(low, frame - OWN_FRAME);
}
