// Switching stacks: the part that needs no scheduler.
#include "cpu/device/switch.h"
#include <stdint.h>

#ifdef __x86_64__
__asm__(SWITCH_FUNCTION(cudev_switch) SWITCH_SAVE  //
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"  //
        SWITCH_RESTORE SWITCH_END(cudev_switch));
// then 0 as the return address of the entry: call stacks end there
enum { FRAME_WORDS = 8, ENTRY_WORD = 6 };
#else
__asm__(SWITCH_FUNCTION(cudev_switch) SWITCH_SAVE  //
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"  //
        SWITCH_RESTORE SWITCH_END(cudev_switch));
enum { FRAME_WORDS = 22, ENTRY_WORD = 1 };  // x30
#endif

void* cudev_new_stack(char* top, void (*entry)(void)) {
    void** frame = (void**)top - FRAME_WORDS;
    for (int i = 0; i < FRAME_WORDS; i++) frame[i] = 0;
    frame[ENTRY_WORD] = (void*)(uintptr_t)entry;
    return frame;
}
