/* kino_run.h - the body of kino_run, and what engine, transform and report share of it. */
#ifndef KINO__ENGINE_KINO_RUN_H
#define KINO__ENGINE_KINO_RUN_H

#include <kino/engine.h>

#include "base/arena.h"
#include "store/derive.h"
#include "store/run.h"
#include "store/table.h"

struct kino_run {
    kino__run run;
    unsigned part, parts;           /* of the files that were found; parts 0: all of them */
    unsigned jobs;                  /* as asked for when it was opened */
    const char *label;              /* the paths it was opened with */
    KINO__VEC(kino__note) warnings; /* one line each */
    KINO__VEC(kino__note) notes;    /* what was left out of the run, and why */
    kino__arena arena;
    kino_run *members; /* the traces of ranks alone, where there are others; else NULL */
    /* a run made from another one, which must outlive it (derived.c) */
    const kino_run *parent;
    bool is_selection; /* its traces are the parent's (select.c) */
    void *rules;       /* what its traces' rules point to */
    void (*rules_free)(void *rules);
    KINO__VEC(struct kino_summary *) summaries; /* that its traces come from */
    KINO__VEC(kino_run *) joined; /* runs that its traces come from, which they borrow from */
};

/* KINO_NOT_FOUND: something of the run was left out, or a rank has no trace. */
KINO_NODISCARD kino_status kino__run_check_all(const kino_run *run, kino_error *err);
/* The caller's options, with defaults for what is not given. */
kino_load_options kino__load_options_of(const kino_load_options *options);
/* Takes traces (also on failure) into a run that has none: in order, on one clock, with warnings
 * about their damage. */
KINO_NODISCARD kino_status kino__run_add_traces(kino_run *run, kino__trace **traces, size_t count,
                                                kino_error *err);

/* A trace that was not read from a file. */
typedef struct kino__made_trace {
    kino__trace *trace; /* has no path yet */
    kino_str name;      /* becomes its path */
} kino__made_trace;
/* A run of such traces, which it takes (also on failure). Of the options `jobs` and `about`
 * count. */
KINO_NODISCARD kino_status kino__run_of_traces(kino__made_trace *traces, size_t count,
                                               const kino_load_options *options, kino_run **out,
                                               kino_error *err);

/* What analyses and reports are about: without the traces of launchers and helpers. */
static inline kino_run *kino__run_ranks(kino_run *run)
{
    return run->members ? run->members : run;
}

/* A run without traces that borrows from `parent`: same label, notes and clock. */
KINO_NODISCARD kino_status kino__derived_run_new(const kino_run *parent, kino_run **out,
                                                 kino_error *err);
/* Adds a line to its warnings, once; the hint's words stand at KINO__HERE. */
void kino__derived_run_warn(kino_run *run, kino_hint hint, const char *format, ...)
    KINO_PRINTF(3, 4);
void kino__derived_run_add_warning(kino_run *run, const kino__note *note);
uint64_t kino__run_event_count(const kino_run *run);
/* Makes a trace from one source, with its top-level keys, and adds it. */
KINO_NODISCARD kino_status kino__derived_run_add(kino_run *run, const kino__derive *derive,
                                                 kino_error *err);
/* "rank 3", or "trace 2" where the rank is unknown, into the arena; never NULL. */
const char *kino__trace_title(kino__arena *arena, const kino__trace *trace);
/* What names of files in a format end with (".json.gz"), in the arena; empty: no such format. */
kino_str kino__writer_suffix(const char *format, kino__arena *arena);

/* By what the traces of a run are in order: rank (unknown ones last), then worker, then path. */
typedef struct kino__trace_key {
    int64_t rank;
    kino_str worker;
    const char *path;
} kino__trace_key;
int kino__trace_key_compare(const kino__trace_key *x, const kino__trace_key *y);

/* Worker and span of a loaded trace, and its rank from the file name where the reader found none in
 * the file. */
void kino__label_trace(kino__trace *trace, const char *worker, const char *span);

/* The rank that a file name tells ("rank-3.json", "rank3_trace.json", "worker_3.pt.trace.json"), or
 * KINO_NO_INT. */
int64_t kino__rank_of_name(const char *path);

/* kino__run_require on as many threads as the run was opened with. */
KINO_NODISCARD kino_status kino__run_prepare(const kino_run *run, unsigned columns,
                                             kino_error *err);

/* The input part of an answer about this run. */
void kino__run_describe(const kino_run *run, kino_result *result);

#endif
