/* run.h - one or many traces looked at as one: workers, ranks, spans. */
#ifndef KINO__STORE_RUN_H
#define KINO__STORE_RUN_H

#include "store/trace.h"

/* Do the names of profiler steps differ? Analyses of one trace ask it about all of them. */
typedef struct kino__run_steps {
    int64_t seen; /* a number, KINO_NO_INT: none yet */
    bool has_several;
} kino__run_steps;

/* Traces that are mapped before their run is known: as if the steps were those of each alone, or
 * those of the run differed. */
typedef enum kino__steps_as {
    KINO__STEPS_AS_THEY_ARE,
    KINO__STEPS_AS_ALONE,
    KINO__STEPS_AS_SEVERAL,
} kino__steps_as;

/* The run that a run is a part of, where the others are elsewhere (engine/partial.h). */
typedef struct kino__whole_run {
    uint32_t id;            /* a checksum of its facts */
    uint32_t traces, ranks; /* how many; traces 0: the run is whole */
} kino__whole_run;

typedef struct kino__run kino__run;
struct kino__run {
    KINO__VEC(kino__trace *) traces; /* trace->index is the position, in the whole run */
    int64_t origin_ns;               /* earliest event of all traces whose clock is the epoch */
    bool is_epoch;                   /* false when no trace's clock is known */
    /* Not all of it may be in memory at a time: what is made of a trace is given back at once by
     * those who have the run for themselves, and columns that are not there are loaded again by who
     * needs them. */
    bool is_tight;
    /* The traces of ranks alone, where there are others too (launchers, helpers); NULL: all are. */
    const kino__run *ranks;
    kino__whole_run whole;
    kino__run_steps steps; /* of a tight run, or of the whole one */
    kino__steps_as steps_as;
};

/* What analyses are about. */
static inline const kino__run *kino__run_of_ranks(const kino__run *run)
{
    return run->ranks ? run->ranks : run;
}

/* Takes the traces (also on failure), numbers them, and moves all epoch clocks to the common
 * origin. */
void kino__run_init(kino__run *run);
KINO_NODISCARD kino_status kino__run_add_take(kino__run *run, kino__trace *trace, kino_error *err);
void kino__run_align(kino__run *run); /* once, after the last add, before anybody reads */
/* The same to another origin, for a part of a run. */
void kino__run_align_to(kino__run *run, bool is_epoch, int64_t origin_ns);
/* kino__trace_require for all traces, kino__trace_need for all. */
KINO_NODISCARD kino_status kino__run_require(const kino__run *run, unsigned columns,
                                             kino__pool *pool, kino_error *err);
KINO_NODISCARD bool kino__run_need(const kino__run *run, unsigned columns, kino__pool *pool);
void kino__run_deinit(kino__run *run);

#endif
