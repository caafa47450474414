/* samples_spans.h - from the samples of one thread to nested spans; for samples.c.
 *
 *   time      0    1    2    3         5    6        a sample stands for the CPU time before it
 *   stack     main main main main      main          since the one before; time off the processor
 *             f    f    f    g         f             is never bridged
 *   spans     [main ------------]      [main]
 *             [f ---------][g  ]       [f   ]
 *
 * Consecutive samples whose frames are equal, from the outermost on, share these spans. A thread
 * that is off its processor often has a sample for several short stretches of CPU time; each gets
 * the frames of that sample, so that times add up to the CPU time. */
#ifndef KINO__RECORD_SAMPLES_SPANS_H
#define KINO__RECORD_SAMPLES_SPANS_H

#include "base/vec.h"
#include "record/symbol.h"

typedef struct kino__sample_span {
    int64_t start_ns, end_ns;
    uint32_t function;
    uint32_t line;    /* that most samples were at; 0: unknown */
    uint64_t samples; /* taken within; 0: a stretch before its sample */
} kino__sample_span;

/* Takes finished spans: of those that end together the outer ones first. */
typedef void (*kino__sample_span_sink)(void *context, const kino__sample_span *span);

enum { KINO__SAMPLE_LINES = 4 }; /* candidates for the line of a span */

typedef struct kino__sample_line {
    uint32_t line;
    uint32_t weight;
} kino__sample_line;

typedef struct kino__sample_open {
    int64_t start_ns;
    uint32_t function;
    uint64_t samples;
    kino__sample_line lines[KINO__SAMPLE_LINES];
} kino__sample_open;

typedef struct kino__sample_stretch {
    int64_t start_ns, end_ns;
} kino__sample_stretch;

typedef struct kino__sample_spans {
    int64_t period_ns;  /* CPU time between two samples */
    bool has_switches;  /* the thread's switches are told */
    int64_t running_ns; /* on its processor, and not yet accounted for, since; NONE: it is off, or
                           nobody knows */
    int64_t sampled_ns; /* the last sample; NONE: none */
    int64_t end_ns;     /* of the spans that are open */
    int64_t waiting_ns; /* sum of stretches */
    KINO__VEC(kino__sample_stretch) stretches; /* CPU time that waits for its sample */
    KINO__VEC(kino__sample_open) open;         /* outermost first */
    kino__sample_span_sink sink;
    void *context;
    bool failed; /* memory was out: spans are missing */
} kino__sample_spans;

#define KINO__SAMPLE_NONE INT64_MIN

void kino__sample_spans_init(kino__sample_spans *spans, int64_t period_ns, bool has_switches,
                             kino__sample_span_sink sink, void *context);
void kino__sample_spans_deinit(kino__sample_spans *spans);

/* The thread gets its processor, or leaves it. Times must not fall, here and below. */
void kino__sample_spans_run(kino__sample_spans *spans, int64_t time_ns);
void kino__sample_spans_leave(kino__sample_spans *spans, int64_t time_ns);

/* A sample with its frames, outermost first. */
void kino__sample_spans_add(kino__sample_spans *spans, int64_t time_ns,
                            const kino__symbol_frame *frames, size_t count);

/* Nothing is known about the time before this: a pause, lost records. */
void kino__sample_spans_forget(kino__sample_spans *spans);

/* Ends all that is open. */
void kino__sample_spans_finish(kino__sample_spans *spans);

#endif
