/* summary.h - the body of kino_summary: traces without events, and the partial results of each.
 *
 *   traces    0     1     2          what is known of each (kino__trace without columns)
 *   answers   kernels(num_kernels=5)    a piece of bytes for each trace
 *             report()                  the same
 *
 * The traces become those of a run (summary_run.c); each knows what was kept of it, and where
 * engine/map_reduce would map it, it loads the piece instead. So all that is built on analyses works
 * on such a run as on any other. */
#ifndef KINO__ENGINE_SUMMARY_H
#define KINO__ENGINE_SUMMARY_H

#include <kino/summary.h>

#include "analysis/analysis.h"
#include "engine/kino_run.h"

/* A partial result, of one trace of the summary in coordinates of its own. In a settled summary: of
 * neighbors, in coordinates of the run. */
typedef struct kino__kept_piece {
    uint32_t
        trace; /* the first one: in the summary; settled: of those that the analysis is about */
    uint32_t count;    /* of traces */
    kino_str bytes;    /* as if the run had no step, or this trace's alone */
    kino_str together; /* as if it had several; no data: the same */
} kino__kept_piece;

/* An analysis with parameters. */
typedef struct kino__kept_answer {
    kino_str head; /* kino__partial_head: what it is found by */
    const char *analysis;
    bool is_brief; /* kino__analysis.is_brief */
    kino__param_list params;
    KINO__VEC(kino__kept_piece) pieces; /* one for each trace, in their order */
} kino__kept_answer;

/* The place of a trace in its run: among all, and among those of ranks (UINT32_MAX: it is none). */
typedef struct kino__kept_place {
    uint32_t trace, rank;
} kino__kept_place;

/* What a settled summary knows of its run. */
typedef struct kino__kept_whole {
    uint32_t traces, ranks;
    bool is_epoch;
    int64_t origin_ns;
    bool has_several_steps;
} kino__kept_whole;

/* A line about the run, or a warning. */
typedef struct kino__kept_note {
    bool is_warning;
    kino__note note;
} kino__kept_note;

struct kino_summary {
    kino__arena arena;
    const char *label;    /* of the run that it was made from */
    const char *path;     /* of the file that it was read from, or "" */
    uint32_t part, parts; /* which part of the files of that run; parts 0: all of it */
    KINO__VEC(kino__kept_note) notes;
    KINO__VEC(kino__trace *) traces; /* until a run has taken them */
    KINO__VEC(kino__kept_answer) answers;
    bool is_settled;
    kino__kept_whole whole;                 /* of a settled one */
    KINO__VEC(kino__kept_place) places;     /* of its traces, while it is settled */
    KINO__VEC(struct kino_summary *) added; /* whose texts it uses */
    char *body;                             /* that texts are views of; or NULL */
};

/* What a trace of a run is, whose events are elsewhere. */
struct kino__kept {
    const kino_summary *summary;
    uint32_t number; /* of the trace in it */
};

KINO_NODISCARD kino_status kino__summary_new(kino_summary **out, kino_error *err);
/* A copy of all that is known of a trace but its events. */
KINO_NODISCARD kino_status kino__summary_add_trace(kino_summary *summary, const kino__trace *from,
                                                   kino_error *err);
/* Lines about the run that do not come from its traces; false: memory is out. */
bool kino__summary_add_notes(kino_summary *summary, const kino_run *run);
/* Gives a trace its link to the summary and the source of its columns: there is none. */
bool kino__summary_keep(const kino_summary *summary, kino__trace *trace, uint32_t number);

/* The partial result that was kept of a trace, moved into its run, where the trace is the `index`-th
 * of those that the analysis is about. NULL: it is a part of that of a trace before. KINO_NOT_FOUND:
 * the summary cannot answer that. */
KINO_NODISCARD kino_status kino__kept_load(const kino__analysis *a, const kino__trace *trace,
                                           size_t index, void **out, kino_error *err);

void kino__kept_whole_pack(kino__pack *pack, kino__kept_whole *whole);
/* Sets whole and places from what kino_summaries_place has given. */
KINO_NODISCARD kino_status kino__summary_take_places(kino_summary *summary, kino_str bytes,
                                                     kino_error *err);

/* Is there a summary at the path? What is not a regular file is none. */
bool kino__is_summary(const char *path);
/* kino_summaries_open of files. */
KINO_NODISCARD kino_status kino__summaries_read(const char *const *paths, size_t count,
                                                const kino_load_options *options, kino_run **out,
                                                kino_error *err);

#endif
