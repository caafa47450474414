/* clocks.h - the clocks of the ranks of a run against each other, from the ends of matched
 * collectives: for clock-alignment, straggler-cause, and whoever puts ranks on one time axis.
 *
 *   map:     kino__clock_facts_add(&facts, a, trace)     the calls of collectives
 *   merge:   kino__clock_facts_merge(&facts, &others)
 *   finish:  kino__clocks_find(&facts, &clocks) ... kino__clocks_deinit(&clocks)
 *
 * Used are collectives that no rank can leave before all have come (all-reduce, all-gather,
 * reduce-scatter, all-to-all, barrier), and sends with their receives. Ranks that share none with
 * the reference are aligned through others that do; errors add up. docs/analyses/clock-alignment.md
 * has the definition. */
#ifndef KINO__ANALYSIS_CLOCK_ALIGNMENT_CLOCKS_H
#define KINO__ANALYSIS_CLOCK_ALIGNMENT_CLOCKS_H

#include "analysis/analysis.h"
#include "analysis/clock_alignment/clock_fit.h"

typedef struct kino__clock_call {
    uint32_t trace; /* its place in traces */
    uint32_t kind;  /* in the pool */
    int64_t series; /* as in collective_match.h */
    int64_t size;   /* KINO_NO_INT: unknown */
    int64_t start, end;
    int64_t step, event; /* number of the step, KINO_NO_INT: none; id of the event */
} kino__clock_call;

typedef struct kino__clock_trace {
    int64_t rank, index;
    int64_t first, last; /* times of all events; first > last: there are none */
} kino__clock_trace;

typedef struct kino__clock_facts {
    kino__string_pool kinds;
    KINO__VEC(kino__clock_trace) traces;
    KINO__VEC(kino__clock_call) calls; /* trace by trace, each in order of time */
} kino__clock_facts;

/* False when memory is out. */
KINO_NODISCARD bool kino__clock_facts_add(kino__clock_facts *facts, const kino__analysis *a,
                                          const kino__trace *trace);
KINO_NODISCARD bool kino__clock_facts_merge(kino__clock_facts *into, const kino__clock_facts *from);
void kino__clock_facts_pack(kino__pack *pack, kino__clock_facts *facts);
void kino__clock_facts_deinit(kino__clock_facts *facts);

/* Which calls of the facts are the same. */
typedef struct kino__clock_matches {
    uint32_t *call_of; /* of each call of the facts: its number */
    uint32_t *by_call; /* calls of the facts, by number, then trace */
    size_t count;      /* of numbers */
} kino__clock_matches;

/* False when memory is out; deinitialise in any case. */
KINO_NODISCARD bool kino__clock_match(const kino__clock_facts *facts, kino__clock_matches *out);
void kino__clock_matches_deinit(kino__clock_matches *matches);
/* Behind the calls that are one with the one at this place of by_call. */
size_t kino__clock_matches_next(const kino__clock_matches *matches, const kino__clock_facts *facts,
                                size_t at);

/* Why a clock stays as it is. */
typedef enum kino__clock_reason {
    KINO__CLOCK_ALIGNED,
    KINO__CLOCK_REFERENCE,
    KINO__CLOCK_NO_CALLS,    /* no collectives of a kind that says when all are there */
    KINO__CLOCK_TOO_FEW,     /* calls in common with ranks that are aligned */
    KINO__CLOCK_UNMATCHED,   /* most of its calls in that time have no partner */
    KINO__CLOCK_SIZES,       /* what matched has different sizes */
    KINO__CLOCK_SCATTER,     /* the line is not known well enough */
    KINO__CLOCK_DRIFT,       /* more than clocks drift */
    KINO__CLOCK_CONTRADICTS, /* a rank would leave before another one came */
    KINO__CLOCK_REASONS,
} kino__clock_reason;

typedef struct kino__clock {
    int64_t rank, index;
    kino__clock_line line;  /* all 0 where it is not aligned */
    int64_t calls, matched; /* of them with ranks that are aligned */
    kino__clock_reason reason;
} kino__clock;

static inline bool kino__clock_is_known(const kino__clock *clock)
{
    return clock->reason <= KINO__CLOCK_REFERENCE;
}

typedef struct kino__clocks {
    KINO__VEC(kino__clock) items; /* as the traces of the facts */
} kino__clocks;

/* "too few matched collectives (7; at least 16 are needed)"; "": it is aligned. */
void kino__clock_say_reason(const kino__clock *clock, kino__buffer *out);

/* False when memory is out; deinitialise in any case. */
KINO_NODISCARD bool kino__clocks_find(const kino__clock_facts *facts, kino__clocks *out);
void kino__clocks_deinit(kino__clocks *clocks);

#endif
