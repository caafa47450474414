/* reload.h - traces that do not stay in memory: their columns are released and read again from the
 * file when somebody needs them.
 *
 *   open     load 0, load 1, ... each kept while the limit lasts, then released
 *   analyse  trace by trace, as many at a time as there are threads: load again, map, save the
 *            partial result as bytes, release
 *
 * A released trace is a trace like any other: kino__trace_need brings its columns back. */
#ifndef KINO__ENGINE_RELOAD_H
#define KINO__ENGINE_RELOAD_H

#include "base/arena.h"
#include "reader/reader.h"
#include "store/run.h"

/* A file as it was before it was read. */
typedef struct kino__file_state {
    bool is_known; /* false: no regular file; it cannot be read twice */
    uint64_t device, inode, size;
    int64_t changed_s, changed_ns;
} kino__file_state;

kino__file_state kino__file_state_of(const char *path);

/* How much of a run stays in memory while it is opened. */
typedef struct kino__memory_limit {
    uint64_t bytes; /* that its traces may take; 0: no limit */
    /* so many are kept in any case: they would be loaded again together, each on its thread */
    size_t least;
    kino__run *run;
    kino__simd simd;    /* to read again with */
    uint64_t expansion; /* the same */
    kino__arena *arena; /* outlives the traces */
    uint64_t kept;      /* columns that stay */
    uint64_t texts;     /* files that were read */
} kino__memory_limit;

/* After each load, with the traces so far: keeps the last one or releases it. The run becomes tight
 * when it goes beyond the limit. `state` is that of the file before it was read. */
KINO_NODISCARD kino_status kino__memory_limit_check(kino__memory_limit *limit,
                                                    kino__trace *const *traces, size_t count,
                                                    const kino__file_state *state, kino_error *err);

/* In a tight run, by one who has it for himself and has no more use for this trace now: gives back
 * what was made of it, and its columns unless they were there before (`was_there`). */
void kino__trace_done(kino__trace *trace, bool was_there);

#endif
