// Switching stacks: the only machine-dependent code of the CPU device.
//
// A thread that does not run is a stack pointer: its stack holds the registers that a call
// preserves, and the address where the thread goes on.
//
// SWITCHING_ENTRY(name, choose) defines name(a, b, c, d), a function for C of up to four integers
// or pointers. It saves the registers of its caller and goes on at the stack pointer that
// choose(stack_pointer, a, b, c, d) returns; the first argument is the caller's stack pointer. The
// scheduler is thus a C function in the middle. A __syncthreads() leaves 56 bytes on the stack of a
// waiting thread, three cache lines with the kernel's own frame. It returns with a jump: the
// processor would predict that a return instruction goes back to the previous thread's caller.
#ifndef CUDEV_SWITCH_H
#define CUDEV_SWITCH_H

// Saves the caller's registers, stores its stack pointer in *save, and goes on at `to`.
void cudev_switch(void** save, void* to);
// The stack pointer of a new thread that starts with `entry`; `top` is a multiple of 16.
void* cudev_new_stack(char* top, void (*entry)(void));

#if defined(__x86_64__)

// clang-format off
#define SWITCH_FUNCTION(name) \
    ".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"
#define SWITCH_END(name) ".cfi_endproc\n.size " #name ", . - " #name "\n"
#define SWITCH_SAVE \
    "pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n" \
    "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n" \
    "pushq %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n" \
    "pushq %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n" \
    "pushq %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n" \
    "pushq %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
#define SWITCH_RESTORE \
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n" \
    "popq %rcx\nnotrack jmp *%rcx\n"
// clang-format on

#define SWITCHING_ENTRY(name, choose)                                                     \
    __asm__(SWITCH_FUNCTION(name) SWITCH_SAVE                                             \
            "movq %rcx, %r8\n"                                                            \
            "movq %rdx, %rcx\n"                                                           \
            "movq %rsi, %rdx\n"                                                           \
            "movq %rdi, %rsi\n"                                                           \
            "movq %rsp, %rdi\n"                                                           \
            "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n" /* calls want a multiple of 16 */ \
            "call " #choose "\n"                                                          \
            "movq %rax, %rsp\n" SWITCH_RESTORE SWITCH_END(name))

#elif defined(__aarch64__)

// clang-format off
#define SWITCH_FUNCTION(name) \
    ".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"
#define SWITCH_END(name) ".size " #name ", . - " #name "\n"
#define SWITCH_SAVE \
    "hint #34\n"  /* bti c: a legal target of an indirect call */ \
    "sub sp, sp, #176\n" \
    "stp x29, x30, [sp, #0]\nstp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\n" \
    "stp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n" \
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n" \
    "stp d14, d15, [sp, #144]\n"
#define SWITCH_RESTORE \
    "ldp x29, x30, [sp, #0]\nldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\n" \
    "ldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #64]\nldp x27, x28, [sp, #80]\n" \
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n" \
    "ldp d14, d15, [sp, #144]\nadd sp, sp, #176\nret\n"
// clang-format on

#define SWITCHING_ENTRY(name, choose)                            \
    __asm__(SWITCH_FUNCTION(name) SWITCH_SAVE "mov x4, x3\n"     \
                                              "mov x3, x2\n"     \
                                              "mov x2, x1\n"     \
                                              "mov x1, x0\n"     \
                                              "mov x0, sp\n"     \
                                              "bl " #choose "\n" \
                                              "mov sp, x0\n" SWITCH_RESTORE SWITCH_END(name))

#else
#error "the CPU device runs on x86-64 and aarch64; add the entries for this machine here"
#endif

#endif
