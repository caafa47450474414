/* samples_trace.h - the trace of one process's samples, made with the public builder; for samples.c.
 *
 * Tracks are named by text ("1234 samples", "1234 off-CPU"), so that they never collide with the
 * threads of a recording of the same process. The builder is made with the first event: programs
 * that start thousands of processes have few that are seen. */
#ifndef KINO__RECORD_SAMPLES_TRACE_H
#define KINO__RECORD_SAMPLES_TRACE_H

#include <kino/builder.h>

#include "base/map.h"
#include "record/samples_spans.h"

/* A function in the builder. */
typedef struct kino__samples_function {
    kino_strid name;
    uint64_t args; /* its file and module */
} kino__samples_function;

typedef struct kino__samples_trace {
    int32_t pid;
    int64_t base_ns, offset_ns; /* of the trace; from the records' clock to times since it */
    const kino__symbols *symbols;
    kino_builder *builder; /* NULL: no event yet */
    KINO__VEC(kino__samples_function) functions;
    kino__map by_function; /* number of the symbols -> place in functions */
    bool failed;           /* memory is out; later calls do nothing */
} kino__samples_trace;

void kino__samples_trace_init(kino__samples_trace *trace, int32_t pid, int64_t base_ns,
                              int64_t offset_ns, const kino__symbols *symbols);
void kino__samples_trace_deinit(kino__samples_trace *trace);

/* A span of the track "<tid> <track>". `state` is an argument more, or NULL. */
void kino__samples_trace_span(kino__samples_trace *trace, int32_t tid, const char *track,
                              const char *category, const kino__sample_span *span,
                              const char *state);

/* Time off the processor without a stack: the state is its name. */
void kino__samples_trace_wait(kino__samples_trace *trace, int32_t tid, const char *state,
                              int64_t start_ns, int64_t end_ns);

/* `faults` page faults that this one stands for; `total` with all before. */
void kino__samples_trace_fault(kino__samples_trace *trace, int32_t tid, int64_t time_ns,
                               uint64_t address, uint64_t faults, uint64_t total,
                               kino__symbol_frame frame);

void kino__samples_trace_name_track(kino__samples_trace *trace, int32_t tid, const char *track,
                                    kino_str thread_name);

/* A processor and the thread that had it; tracks "CPU <number>". */
void kino__samples_trace_run(kino__samples_trace *trace, uint32_t processor, kino_str name,
                             int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns);
void kino__samples_trace_name_processor(kino__samples_trace *trace, uint32_t processor);

typedef struct kino__samples_end {
    kino_str name; /* of the process */
    uint64_t lost, damaged;
    uint64_t samples, broken; /* stacks, and those that do not reach the beginning of the thread */
    kino_str broken_in;       /* the module in which most of these end; empty: unknown */
    int64_t period_ns;
    const char *stacks; /* "frame pointers", ... */
} kino__samples_end;

/* Adds what is known at the end. The builder, NULL: there was no event; it is the caller's now. */
kino_builder *kino__samples_trace_take(kino__samples_trace *trace, const kino__samples_end *end);

#endif
