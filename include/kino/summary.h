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
