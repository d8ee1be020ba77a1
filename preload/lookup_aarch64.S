// SPDX-License-Identifier: Apache-2.0
//
// dlsym and dlvsym for aarch64; lookup_x86_64.S says why these are jumps.

.macro lookup name, handler, real
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    hint #34 // bti c
    cbz x0, 1f
    cmn x0, #1
    b.eq 1f
    b \handler
1:  adrp x16, \real
    ldr x16, [x16, #:lo12:\real]
    cbz x16, 2f
    br x16
2:  stp x29, x30, [sp, #-48]!
    .cfi_adjust_cfa_offset 48
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    bl keepgraph_find_loader
    ldr x2, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #48
    .cfi_adjust_cfa_offset -48
    .cfi_restore x29
    .cfi_restore x30
    adrp x16, \real
    ldr x16, [x16, #:lo12:\real]
    br x16
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
    lookup dlsym, keepgraph_dlsym, keepgraph_real_dlsym
    lookup dlvsym, keepgraph_dlvsym, keepgraph_real_dlvsym
    .section .note.GNU-stack, "", %progbits
