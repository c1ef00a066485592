// calls.S: where the student's calls through a pointer arrive. They are compiled with
// -mindirect-branch=thunk-extern: the address is in a register. It has to be that of one of the
// student's own functions, which lie between the C library's _start and border_text. The functions
// of the runner and of the library cannot be reached by arithmetic.
#ifdef __x86_64__
        .text
        .macro arrive register
        .globl __x86_indirect_thunk_\register
        .type __x86_indirect_thunk_\register, @function
__x86_indirect_thunk_\register:
        cmpq    $_start, %\register
        jbe     gate_foreign_call
        cmpq    $border_text, %\register
        jae     gate_foreign_call
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
