/* engine_internal.h - what the files of src/engine share: the body of kino_run. */
#ifndef KINO__ENGINE_INTERNAL_H
#define KINO__ENGINE_INTERNAL_H

#include <kino/engine.h>

#include "base/arena.h"
#include "store/run.h"
#include "store/table.h"

struct kino_run {
    kino__run run;
    const char *label;                /* the paths it was opened with */
    KINO__VEC(const char *) warnings; /* one line each */
    KINO__VEC(const char *) notes;    /* what was left out of the run, and why */
    kino__arena arena;
};

/* Worker and span of a loaded trace, and its rank from the file name where the reader found none in
 * the file. */
void kino__label_trace(kino__trace *trace, const char *worker, const char *span);

/* The rank that a file name tells ("rank-3.json", "rank3_trace.json", "worker_3.pt.trace.json"), or
 * KINO_NO_INT. */
int64_t kino__rank_of_name(const char *path);

/* The input part of an answer about this run. */
void kino__run_describe(const kino_run *run, kino_result *result);

/* The tables of kino_run_info, each in its own function; they go by kino_result's rule: failure
 * sticks. */
void kino__info_traces(const kino_run *run, kino_result *result);
void kino__info_steps(const kino_run *run, kino_result *result);
void kino__info_devices(const kino_run *run, kino_result *result);
void kino__info_categories(const kino_run *run, kino_result *result);
void kino__info_tracks(const kino_run *run, kino_result *result);
void kino__info_damage(const kino_run *run, kino_result *result);
void kino__info_metadata(const kino_run *run, kino_result *result);

/* First start and last end of the trace's events that have a time (metadata apart); false when
 * there are none. */
bool kino__info_window(const kino__trace *trace, int64_t *start, int64_t *end);

#endif
