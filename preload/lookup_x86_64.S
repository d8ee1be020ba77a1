// SPDX-License-Identifier: Apache-2.0
//
// dlsym and dlvsym. RTLD_DEFAULT (0) and RTLD_NEXT (-1) mean "as seen from my caller", and the loader takes the caller
// from the return address: such a call must arrive with the program's own return address, so it is a jump. A call with
// an ordinary handle goes to C++, where the result can be looked at.

#define RTLD_NEXT_VALUE -1

.macro lookup name, handler, real
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    testq %rdi, %rdi
    je 1f
    cmpq $RTLD_NEXT_VALUE, %rdi
    je 1f
    jmp \handler
1:  movq \real(%rip), %rax
    testq %rax, %rax
    je 2f
    jmp *%rax
2:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call keepgraph_find_loader
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    movq \real(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
    lookup dlsym, keepgraph_dlsym, keepgraph_real_dlsym
    lookup dlvsym, keepgraph_dlvsym, keepgraph_real_dlvsym
    .section .note.GNU-stack, "", @progbits
