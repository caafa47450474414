/* samples_internal.h - processes and threads while their records are replayed; for samples*.c. */
#ifndef KINO__RECORD_SAMPLES_INTERNAL_H
#define KINO__RECORD_SAMPLES_INTERNAL_H

#include "base/file.h"
#include "base/map.h"
#include "base/string_pool.h"
#include "record/perf_internal.h"
#include "record/samples_space.h"
#include "record/samples_spans.h"
#include "record/samples_trace.h"
#include "record/samples_unwind.h"

typedef struct kino__samples kino__samples;

/* Stacks that end too early, in a module. */
typedef struct kino__samples_broken {
    kino_strid module; /* of the symbols' texts */
    uint64_t count;
} kino__samples_broken;

typedef struct kino__samples_process {
    int32_t pid;
    kino_strid name;
    kino__space space;
    kino__samples_trace trace;
    kino_builder *builder; /* when it is whole; NULL: not yet, or there is nothing */
    uint64_t samples, switches, faults, lost;
    uint64_t broken; /* samples whose stack does not reach the beginning of the thread */
    KINO__VEC(kino__samples_broken) broken_in;
    int64_t start_ns, end_ns;
    uint32_t running; /* threads */
    bool is_closed;   /* all threads have ended, the trace is whole */
} kino__samples_process;

typedef struct kino__samples_thread {
    int32_t tid;
    kino_strid name;
    kino__samples_process *process;
    kino__samples *samples;
    kino__sample_spans spans;
    int64_t left_ns; /* off its processor since; KINO__SAMPLE_NONE: it is on, or nobody knows */
    bool was_preempted;
    bool is_own; /* the recorder's */
    bool has_ended, has_samples, has_waits;
    kino__frame_vec waiting; /* where it left its processor; may be empty */
} kino__samples_thread;

/* Where a record is. */
typedef struct kino__samples_entry {
    int64_t time_ns;
    uint64_t at; /* in the file of the records */
    uint32_t spool;
} kino__samples_entry;

struct kino__samples {
    kino__perf *perf;
    const kino__perf_output *output;
    int64_t base_ns;
    kino__symbols *symbols;
    kino__string_pool names;
    KINO__VEC(kino__file) spools;
    KINO__VEC(kino__samples_entry) entries;
    KINO__VEC(kino__samples_process *) processes;
    KINO__VEC(kino__samples_thread *) threads;
    kino__map by_pid, by_tid; /* the newest of that number */
    kino__frame_vec frames;   /* of the sample at hand */
    kino__unwind_chain chain;
    size_t pause; /* the next one of perf->pauses */
    int64_t first_ns, last_ns;
    uint64_t damaged, throttled;
    bool failed; /* memory is out */
};

/* samples_system.c: which thread had which processor, all over the machine. */
KINO_NODISCARD kino_status kino__samples_build_system(kino__samples *samples, kino_error *err);

#endif
