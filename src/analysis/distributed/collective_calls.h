/* collective_calls.h - the calls of collectives in a trace, with what the profiler says of them: for
 * every analysis that looks at collectives one by one. */
#ifndef KINO__ANALYSIS_DISTRIBUTED_COLLECTIVE_CALLS_H
#define KINO__ANALYSIS_DISTRIBUTED_COLLECTIVE_CALLS_H

#include "analysis/analysis.h"

typedef struct kino__collective_call {
    uint32_t row;     /* the kernel; the span of the host where the data are moved there */
    uint32_t op;      /* the operator that launched it; KINO_NO_ROW: unknown */
    uint32_t kind;    /* in the pool: kino__collective_text */
    int64_t series;   /* sequence number, or number of the step; KINO_NO_INT: neither */
    int64_t step;     /* number of the step; KINO_NO_INT: none */
    int64_t size;     /* bytes, KINO_NO_INT: not known */
    int64_t from, to; /* of a send or receive: the ranks as told; KINO_NO_INT: it does not say */
} kino__collective_call;

typedef struct kino__collective_calls {
    KINO__VEC(kino__collective_call) items; /* in order of time */
    bool is_by_name;                        /* some have no metadata */
} kino__collective_calls;

/* Of the steps that were asked for. Adds their texts to `kinds`. False when memory is out; the
 * caller deinitialises in any case. */
KINO_NODISCARD bool kino__collective_calls_find(const kino__analysis *a, const kino__trace *trace,
                                                kino__string_pool *kinds,
                                                kino__collective_calls *out);
void kino__collective_calls_deinit(kino__collective_calls *calls);

#endif
