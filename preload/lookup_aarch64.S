// SPDX-License-Identifier: Apache-2.0
//
// dlsym and dlvsym for aarch64; lookup_x86_64.S says why these are jumps. x30 is the program's own return address until
// the jump. x0 to x2 are the arguments; nothing else can be one, so only these outlive the call of C++. The jumps go
// through x16, which is the one way to jump (not call) onto a `bti c`.

.macro lookup name, handler, real
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    hint #34 // bti c
    cbz x0, 1f // RTLD_DEFAULT
    cmn x0, #1 // RTLD_NEXT
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
    mov x29, sp
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

// A file without this note takes the mark "has landing pads" from the whole library, where the compiler sets it for
// the rest (Ubuntu's does).
    .section .note.gnu.property, "a", %note
    .p2align 3
    .word 4, 16, 5 // sizes of name and content, NT_GNU_PROPERTY_TYPE_0
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0 // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI

    .section .note.GNU-stack, "", %progbits
