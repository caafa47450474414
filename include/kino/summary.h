/* kino/summary.h - what is needed of traces to answer questions about their run later, elsewhere and
 * together with others: what is known about each trace, and its partial results.
 *
 *   host 0:  traces --summarize--> a.summary --+
 *   host 1:  traces --summarize--> b.summary --+--open--> run --report, analyze, check--> answers
 *
 * Each host works alone and knows nothing about the others: partial results are in coordinates of
 * their trace, and are moved to the place and the clock of the run once that is known. The answers
 * are those of a run that was opened with all traces at once, byte for byte.
 *
 * With a launcher that connects the hosts (kino-mpi) they agree on the order first, and merge on
 * the way to the host that answers:
 *
 *   all:     kino_summary_keys     what has to be known of each trace: about 100 bytes
 *   first:   kino_summaries_place  the place of each trace in the run
 *   all:     kino_summary_settle   partial results moved there, neighbors merged
 *   pairs:   kino_summary_add      summaries put together, neighbors merged
 *   first:   kino_summaries_open
 *
 * Summaries belong to one version of Kino, as partial results do (kino/partial.h). Bytes of any
 * origin can be loaded (docs/formats/summary.md). */
#ifndef KINO_SUMMARY_H
#define KINO_SUMMARY_H

#include <kino/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time. */
typedef struct kino_summary kino_summary;

/* A question that a summary can answer. */
typedef struct kino_summary_question {
    const char *analysis;
    const kino_param *params;
    size_t param_count;
} kino_summary_question;

typedef struct kino_summarize_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
    /* The report and the analyses whose partial results do not grow with the number of events,
     * completeness among them, all with their defaults. */
    bool usual;
    bool report;                            /* the report alone, as `how` asks for it */
    bool all;                               /* every analysis, with its defaults */
    const kino_report_options *how;         /* full, compat and steps count; NULL: the defaults */
    const kino_summary_question *questions; /* more of them */
    size_t question_count;
} kino_summarize_options;
#define KINO_SUMMARIZE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(kino_summarize_options), 0, NULL, NULL, false, false, false, NULL, NULL, 0          \
    }

/* A summary of the run's traces, which it does not need afterwards. No one else may use the run
 * meanwhile, nor afterwards for anything but this. KINO_NOT_FOUND: an unknown analysis. */
KINO_API KINO_NODISCARD kino_status kino_run_summarize(kino_run *run,
                                                       const kino_summarize_options *options,
                                                       kino_summary **out, kino_error *err);
KINO_API void kino_summary_free(kino_summary *summary);

/* A run of the summaries' traces, for kino_run_report, kino_run_analyze and kino_run_map; asking for
 * events is an error. It takes the summaries, also on failure. Of the options ranks and require_all
 * count. KINO_ARGUMENT: a trace is in two of them. */
KINO_API KINO_NODISCARD kino_status kino_summaries_open(kino_summary *const *summaries,
                                                        size_t count,
                                                        const kino_load_options *options,
                                                        kino_run **out, kino_error *err);

/* A summary of no traces, as one of these paths would be. */
KINO_API KINO_NODISCARD kino_status kino_summary_new(const char *const *paths, size_t count,
                                                     const kino_summarize_options *options,
                                                     kino_summary **out, kino_error *err);

/* A number for the files that kino_run_open would open: the same for all processes that see the same
 * files, also on different machines. Never 0. */
KINO_API KINO_NODISCARD kino_status kino_traces_view(const char *const *paths, size_t count,
                                                     const kino_load_options *options,
                                                     uint64_t *out, kino_error *err);

/* -- in several processes that are connected -- */

/* What orders the summary's traces among others, as bytes. */
KINO_API KINO_NODISCARD kino_status kino_summary_keys(const kino_summary *summary,
                                                      kino_write_fn write, void *context,
                                                      kino_error *err);
/* From the keys of all summaries of a run, for each the places of its traces: bytes that the caller
 * frees, also after a failure. KINO_FORMAT: damaged keys. */
KINO_API KINO_NODISCARD kino_status kino_summaries_place(const kino_str *keys, size_t count,
                                                         kino_str *places, kino_error *err);
/* Moves partial results to their places, and merges those of neighbors. */
KINO_API KINO_NODISCARD kino_status kino_summary_settle(kino_summary *summary, kino_str places,
                                                        kino_error *err);
/* Puts two settled summaries of a run together, and merges neighbors; what only one of them answers
 * goes. Takes `from`, also on failure; `into` is then good for freeing only. */
KINO_API KINO_NODISCARD kino_status kino_summary_add(kino_summary *into, kino_summary *from,
                                                     kino_error *err);

/* To bytes and back; they are copied. KINO_FORMAT: not a summary, of another version, or
 * damaged. */
KINO_API KINO_NODISCARD kino_status kino_summary_save(kino_summary *summary, kino_write_fn write,
                                                      void *context, kino_error *err);
KINO_API KINO_NODISCARD kino_status kino_summary_load(const void *bytes, size_t size,
                                                      kino_summary **out, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
