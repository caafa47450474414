/* overlay.h - a run with something drawn onto it: events that were worked out (counters, arrows) on
 * top of those of its traces. What counters.c,
 * critical_overlay.c and sequence_overlay.c share. */
#ifndef KINO__TRANSFORM_OVERLAY_H
#define KINO__TRANSFORM_OVERLAY_H

#include "analysis/analysis.h"
#include "engine/kino_run.h"
#include "store/derive.h"

/* Where the texts of an event made lie in the overlay's text. */
typedef struct kino__overlay_places {
    size_t args, text;
} kino__overlay_places;

/* What is drawn onto one trace. Failure sticks: makers need no check for each event. */
typedef struct kino__overlay {
    KINO__VEC(kino__derive_event) events;
    KINO__VEC(kino__overlay_places) places; /* of events, one each */
    kino__buffer text;
    kino__string_pool names;
    uint8_t *is_kept; /* rows of the trace; NULL: all */
    /* rows that get an argument: the number of a mark, from 1; 0: not this one. NULL: none */
    uint32_t *marks;
    const char *mark_key;        /* the argument; rows that have it keep theirs */
    KINO__VEC(kino_str) members; /* "\"key\": value" of each mark */
    bool failed;
} kino__overlay;

/* A run beside `run`, drawn by `draw` with its options; all columns are there. */
KINO_NODISCARD kino_status kino__overlay_make(kino_run *run,
                                              kino_status (*draw)(kino_run *run, kino_run *made,
                                                                  const void *options,
                                                                  kino_error *err),
                                              const void *options, kino_run **out, kino_error *err);
/* What is drawn onto a trace, by its place in `run`; kept and freed with the overlay's run. */
kino__overlay *kino__overlay_of(kino_run *overlay_run, size_t place);

/* Adds an event. `name` and `category` must outlive the run (kino__overlay_name); `args` and `text`
 * are copied, what `event` has of them does not count. */
void kino__overlay_add(kino__overlay *overlay, const kino__derive_event *event, kino_str args,
                       kino_str text);

/* A copy of a name that lives as long as the overlay. */
kino_str kino__overlay_name(kino__overlay *overlay, kino_str name);

/* Zeroed marks for the rows of the trace, which belong to the overlay; NULL (and failed) when
 * memory is out. Then the marks themselves: their numbers. */
uint32_t *kino__overlay_marks_new(kino__overlay *overlay, const kino__trace *trace,
                                  const char *key);
uint32_t kino__overlay_add_mark(kino__overlay *overlay, kino_str member);

/* A pid or tid as JSON. is_text: its number was in quotes. */
void kino__overlay_add_label(kino__buffer *out, const kino__trace *trace, const kino__label *label,
                             bool is_text);

/* A time of the run as the trace's file counts it. */
int64_t kino__overlay_file_time(const kino__trace *trace, int64_t ts);

/* Makes the trace with its overlay and adds it to the run. */
KINO_NODISCARD kino_status kino__overlay_finish(kino_run *overlay_run, const kino__trace *trace,
                                                kino__overlay *overlay, kino__progress *progress,
                                                kino_error *err);

/* Warns of what may be said of many traces, once. */
void kino__overlay_warn(kino_run *overlay_run, const kino_result *result);

/* Numbers of events, as answers have them in their ids, to rows: the caller frees it; NULL when
 * memory is out. */
uint32_t *kino__overlay_rows_new(const kino__trace *trace);

/* An analysis of one trace of the run; the result is the caller's. */
KINO_NODISCARD kino_status kino__overlay_analyze(const kino_run *run, kino__trace *trace,
                                                 const kino__analysis_def *def,
                                                 const kino_param *params, size_t count,
                                                 kino_result **out, kino_error *err);

#endif
