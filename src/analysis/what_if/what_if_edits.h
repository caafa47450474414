/* what_if_edits.h - changes of a run, as words: "kernel *gemm*=2; collective all-reduce; loader;
 * rank 5; launches". */
#ifndef KINO__ANALYSIS_WHAT_IF_EDITS_H
#define KINO__ANALYSIS_WHAT_IF_EDITS_H

#include "analysis/what_if/what_if_facts.h"

typedef enum kino__edit_type {
    KINO__EDIT_KERNEL,     /* kernels and copies that match are so many times as fast */
    KINO__EDIT_COLLECTIVE, /* ... take no time to transfer */
    KINO__EDIT_LOADER,     /* batches are there when they are asked for */
    KINO__EDIT_RANK,       /* does everything as fast as the median of the others */
    KINO__EDIT_LAUNCHES,   /* operators and launches cost the host nothing: a graph */
    KINO__EDIT_TYPES,
} kino__edit_type;

typedef struct kino__edit {
    kino__edit_type type;
    kino_str pattern; /* with a star: of the whole name; else a part of it. Of collectives: an
                         operation, or all */
    double factor;
    int64_t rank;
} kino__edit;

enum { KINO__MOST_EDITS = 16 };

typedef struct kino__edits {
    kino__edit items[KINO__MOST_EDITS];
    size_t count;
} kino__edits;

/* Views of the text. KINO_ARGUMENT: not such a list. */
KINO_NODISCARD kino_status kino__edits_read(kino_str text, kino__edits *out, kino_error *err);
/* The words of one edit. */
void kino__edit_say(const kino__edit *edit, kino__buffer *out);

/* How long things take after the edits: of each item of the facts. */
typedef struct kino__edited {
    int64_t *gap, *call, *device; /* device of a collective: its transfer */
    const char *refused;          /* an edit that cannot be made, and why; NULL: all could */
} kino__edited;

/* False when memory is out; deinitialise in any case. transfer: of each item that is a collective,
 * else its duration. */
KINO_NODISCARD bool kino__edits_apply(const kino__edits *edits, const kino__replay_facts *facts,
                                      const int64_t *transfer, kino__edited *out);
void kino__edited_deinit(kino__edited *edited);

#endif
