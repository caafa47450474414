/* samples_unwind.h - from a copy of a thread's stack to its call chain; for samples.c. */
#ifndef KINO__RECORD_SAMPLES_UNWIND_H
#define KINO__RECORD_SAMPLES_UNWIND_H

#include "record/samples_space.h"
#include "record/symbol_unwind.h"

enum { KINO__UNWIND_DEPTH = 512 }; /* of a chain */

typedef struct kino__unwind_chain {
    uint64_t addresses[KINO__UNWIND_DEPTH]; /* innermost first; a mark of the kernel's before it */
    size_t count;
} kino__unwind_chain;

/* Appends the user's part to the chain (the kernel's is there already, or nothing). It ends where
 * the copy does, where the code says so, or where no rule fits. */
void kino__unwind(kino__space *space, kino__symbols *symbols, const kino__perf_sample *sample,
                  kino__unwind_chain *chain);

#endif
