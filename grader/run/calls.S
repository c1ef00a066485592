// calls.S: where the student's calls through a pointer arrive. They are compiled with
// -mindirect-branch=thunk-extern: the address is in a register. It has to be where one of the
// student's own functions begins: gate.c has set the bit of each such place. The functions of the
// runner and of the library cannot be reached by arithmetic, nor can bytes inside of a function, as
// those of a constant are: they were instructions that nobody watches.
#ifdef __x86_64__
#include "run/starts.h"

        .text
foreign:
        andq    $-16, %rsp      // a goto brings another stack than a call
        call    gate_foreign_call

        .macro arrive register
        .globl __x86_indirect_thunk_\register
        .type __x86_indirect_thunk_\register, @function
__x86_indirect_thunk_\register:
        cmpq    $STARTS_REACH, %\register
        jae     foreign
        btq     %\register, gate_starts
        jnc     foreign
        jmp     *%\register
        .endm

        arrive  rax
        arrive  rbx
        arrive  rcx
        arrive  rdx
        arrive  rsi
        arrive  rdi
        arrive  rbp
        arrive  r8
        arrive  r9
        arrive  r10
        arrive  r11
        arrive  r12
        arrive  r13
        arrive  r14
        arrive  r15
#endif
        .section .note.GNU-stack,"",@progbits
