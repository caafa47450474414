/* symbol_unwind.h - how to find the caller of a place in the code, by the tables that compilers
 * write for exceptions (.eh_frame); for samples_unwind.c.
 *
 * Of all that these tables can say, this keeps what compilers do say: the frame's address is a
 * register plus a number (or a word in memory at that), registers were saved at fixed distances
 * from it. Each place is worked out once. */
#ifndef KINO__RECORD_SYMBOL_UNWIND_H
#define KINO__RECORD_SYMBOL_UNWIND_H

#include <kino/base.h>

/* Registers by their DWARF numbers: those that calls preserve, and what frames are found by. */
#if defined(__aarch64__)
enum {
    KINO__UNWIND_REGS = 33, /* X0..X30, SP, and the place itself */
    KINO__UNWIND_FP = 29,
    KINO__UNWIND_RA = 30,
    KINO__UNWIND_SP = 31,
    KINO__UNWIND_PC = 32,
    KINO__UNWIND_SAVED = 12, /* X19..X30 */
};
#    define KINO__UNWIND_SAVED_LIST                                                                \
        {                                                                                          \
            19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30                                         \
        }
#else
enum {
    KINO__UNWIND_REGS = 17, /* x86-64: 16 registers and the return address */
    KINO__UNWIND_FP = 6,
    KINO__UNWIND_SP = 7,
    KINO__UNWIND_RA = 16,
    KINO__UNWIND_PC = 16,
    KINO__UNWIND_SAVED = 7, /* RBX, RBP, R12..R15, RIP */
};
#    define KINO__UNWIND_SAVED_LIST                                                                \
        {                                                                                          \
            3, 6, 12, 13, 14, 15, 16                                                               \
        }
#endif

typedef enum kino__unwind_kind {
    KINO__UNWIND_NONE,   /* nothing is known: try the frame pointer */
    KINO__UNWIND_END,    /* there is no caller */
    KINO__UNWIND_PLAIN,  /* frame = register + offset */
    KINO__UNWIND_DEREF,  /* frame = the word at register + offset */
    KINO__UNWIND_PLT,    /* frame = SP + offset, and a word more behind the push of the entry */
    KINO__UNWIND_SIGNAL, /* the kernel saved all registers on the stack */
} kino__unwind_kind;

typedef struct kino__unwind_rule {
    kino__unwind_kind kind;
    uint32_t reg;
    int32_t offset;
    uint32_t saved_mask;               /* which of the list were saved */
    int32_t saved[KINO__UNWIND_SAVED]; /* and where: distance from the frame */
} kino__unwind_rule;

#endif
