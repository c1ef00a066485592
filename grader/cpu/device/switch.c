// Switching stacks: the only machine-dependent code of the CPU device.
//
// A thread that does not run is a stack pointer; on its stack lie the registers that a call
// preserves and the address to go on at. Three entries share that frame:
//
//   cudev_switch(void **save, void *to)  stores the stack pointer in *save and goes on at `to`
//   cudev_wait(w)                        goes on at cudev_choose(stack pointer, w)
//   cudev_barrier(op, vote, file, line)  goes on at cudev_arrive(stack pointer, op, vote, file, line)
//
// The scheduler is the C function in the middle. This way a __syncthreads() leaves 56 bytes on the
// stack of a waiting thread, three cache lines with the kernel's own frame, and returns with a jump:
// a return instruction would be predicted to go back to where the previous thread came from.
#include "cpu/device/runtime.h"

#if defined(__x86_64__)

// clang-format off
#define FUNCTION(name) \
    ".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " #name ", . - " #name "\n"
#define SAVE \
    "pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n" \
    "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n" \
    "pushq %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n" \
    "pushq %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n" \
    "pushq %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n" \
    "pushq %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
#define RESTORE \
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n" \
    "popq %rcx\nnotrack jmp *%rcx\n"
// clang-format on

__asm__(".text\n" FUNCTION(cudev_switch) SAVE  //
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"  //
        RESTORE END(cudev_switch));
__asm__(".text\n" FUNCTION(cudev_wait) SAVE  //
        "movq %rdi, %rsi\n"
        "movq %rsp, %rdi\n"
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"  // calls want a multiple of 16
        "call cudev_choose\n"
        "movq %rax, %rsp\n"  //
        RESTORE END(cudev_wait));
__asm__(".text\n" FUNCTION(cudev_barrier) SAVE  //
        "movl %ecx, %r8d\n"
        "movq %rdx, %rcx\n"
        "movl %esi, %edx\n"
        "movl %edi, %esi\n"
        "movq %rsp, %rdi\n"
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "call cudev_arrive\n"
        "movq %rax, %rsp\n"  //
        RESTORE END(cudev_barrier));
// then 0 as the return address of the entry: call stacks end there
enum { FRAME_WORDS = 8, ENTRY_WORD = 6 };

#elif defined(__aarch64__)

// clang-format off
#define FUNCTION(name) \
    ".globl " #name "\n.type " #name ", %function\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"
#define SAVE \
    "hint #34\n"  /* bti c: a legal target of an indirect call */ \
    "sub sp, sp, #176\n" \
    "stp x29, x30, [sp, #0]\nstp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\n" \
    "stp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n" \
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n" \
    "stp d14, d15, [sp, #144]\n"
#define RESTORE \
    "ldp x29, x30, [sp, #0]\nldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\n" \
    "ldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #64]\nldp x27, x28, [sp, #80]\n" \
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n" \
    "ldp d14, d15, [sp, #144]\nadd sp, sp, #176\nret\n"
// clang-format on

__asm__(".text\n" FUNCTION(cudev_switch) SAVE  //
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"  //
        RESTORE END(cudev_switch));
__asm__(".text\n" FUNCTION(cudev_wait) SAVE  //
        "mov x1, x0\n"
        "mov x0, sp\n"
        "bl cudev_choose\n"
        "mov sp, x0\n"  //
        RESTORE END(cudev_wait));
__asm__(".text\n" FUNCTION(cudev_barrier) SAVE  //
        "mov w4, w3\n"
        "mov x3, x2\n"
        "mov w2, w1\n"
        "mov w1, w0\n"
        "mov x0, sp\n"
        "bl cudev_arrive\n"
        "mov sp, x0\n"  //
        RESTORE END(cudev_barrier));
enum { FRAME_WORDS = 22, ENTRY_WORD = 1 };  // x30

#else
#error "the CPU device runs on x86-64 and aarch64; add the three entries for this machine here"
#endif

// Without this the whole program would get an executable stack.
__asm__(".section .note.GNU-stack,\"\",%progbits\n.text\n");

// The stack pointer of a new thread that starts with `entry`; `top` is a multiple of 16.
void* cudev_new_stack(char* top, void (*entry)(void)) {
    void** frame = (void**)top - FRAME_WORDS;
    for (int i = 0; i < FRAME_WORDS; i++) frame[i] = 0;
    frame[ENTRY_WORD] = (void*)(uintptr_t)entry;
    return frame;
}
