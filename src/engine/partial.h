/* partial.h - the body of kino_partial: which traces, which analysis, and what it knows of them.
 *
 *   traces   0    1    2         5    6     the facts of each, in the order of the whole run
 *   pieces  [0 ........ 2]      [5 .. 6]    saved partials of neighbours (kino__partial_save)
 *
 * Merging only puts pieces into order, because an analysis merges later traces into earlier ones:
 * neighbours become one piece when the partial is saved, and all do in the end. */
#ifndef KINO__ENGINE_PARTIAL_H
#define KINO__ENGINE_PARTIAL_H

#include <kino/partial.h>

#include "analysis/analysis.h"
#include "store/run.h"

/* What the others have to know of a trace, and what an answer says about its input. */
typedef struct kino__trace_fact {
    uint32_t index; /* in the whole run */
    int64_t rank;
    kino_str worker, path;
    kino_str label;    /* what its run was opened with */
    kino_str notes;    /* of its run, one a line, with the run's first trace */
    int64_t origin_ns; /* its own */
    bool is_epoch;     /* which counts from 1970 */
    bool is_rank;      /* certainly, not a launcher or a helper */
    kino__run_steps steps;
    uint64_t events, skipped;
} kino__trace_fact;

/* Traces first to last. */
typedef struct kino__partial_piece {
    uint32_t first, last;
    kino__buffer bytes;
} kino__partial_piece;

struct kino_partial {
    kino__arena arena;
    kino_str analysis; /* empty: facts alone */
    kino__param_list params;
    kino__whole_run whole;
    bool is_epoch;
    int64_t origin_ns; /* of the whole run */
    KINO__VEC(kino__trace_fact) traces;
    KINO__VEC(kino__partial_piece) pieces;
};

/* NULL when memory is out. */
kino_partial *kino__facts_partial_new(void);
/* The facts of a run's traces as the run has them now. */
KINO_NODISCARD kino_status kino__facts_of(const kino_run *run, kino_partial **out, kino_error *err);
/* A copy of a fact at its place by number; false: memory is out. */
KINO_NODISCARD bool kino__facts_add(kino_partial *partial, const kino__trace_fact *fact);
/* Facts into facts: new numbers for all. */
KINO_NODISCARD kino_status kino__facts_merge(kino_partial *into, const kino_partial *from,
                                             kino_error *err);

/* The whole run that a run is, or is a part of. */
KINO_NODISCARD kino_status kino__whole_run_of(const kino_run *run, kino__whole_run *out,
                                              kino_error *err);

/* The analysis with its parameters; deinitialise it. */
KINO_NODISCARD kino_status kino__partial_analysis(const kino_partial *partial, kino__analysis *out,
                                                  kino_error *err);
/* Neighbours become one piece. */
KINO_NODISCARD kino_status kino__partial_join_pieces(kino_partial *partial, kino_error *err);

/* The traces as bytes and back: what facts are told apart by (partial_bytes.c). */
void kino__facts_pack(kino__pack *pack, kino_partial *partial);

#endif
