/* kino/engine.h - reading, analyzing and writing traces: the engine as a library.
 *
 * Example: print the time of each kernel (examples/engine does more).
 *
 *   static bool put(void *out, const char *bytes, size_t size)
 *   {
 *       return fwrite(bytes, 1, size, out) == size;
 *   }
 *
 *   int main(void)
 *   {
 *       const char *path = "trace.json.gz", *sql = "SELECT name, sum(dur) FROM kernel GROUP BY 1";
 *       kino_run *run = NULL;
 *       kino_rows *rows = NULL;
 *       kino_error err;
 *       kino_status st = kino_run_open(&path, 1, NULL, &run, &err);
 *       if (st == KINO_OK)
 *           st = kino_run_query(run, sql, NULL, &rows, &err);
 *       if (st == KINO_OK)
 *           st = kino_render_rows(run, rows, NULL, put, stdout, &err);
 *       if (st != KINO_OK)
 *           fprintf(stderr, "%s\n", err.message);
 *       kino_rows_free(rows);
 *       kino_run_free(run);
 *       return st != KINO_OK;
 *   }
 *
 * A loaded run never changes and may be used by any thread; rows and options belong to one
 * thread. */
#ifndef KINO_ENGINE_H
#define KINO_ENGINE_H

#include <kino/analysis.h>
#include <kino/base.h>
#include <kino/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called periodically during long work; total is 0 if unknown. Return false to stop: the call
 * then ends with KINO_CANCELLED. Calls never overlap, but may come from any thread. */
typedef bool (*kino_progress_fn)(void *context, const char *what, uint64_t done, uint64_t total);

/* Takes output bytes; returns false when it cannot (the call then ends with KINO_IO). */
typedef bool (*kino_write_fn)(void *context, const char *bytes, size_t size);

typedef struct kino_run kino_run;

typedef struct kino_load_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
    const char *simd; /* "auto" (or NULL), "avx512", "avx2", "scalar": for tests and measurements */
    const char *run;  /* the run, for a folder that has several, or NULL */
    const char *span; /* the recording, "newest", or NULL */
    const int64_t *ranks; /* only these ranks, or NULL for all */
    size_t rank_count;
    /* Bytes that the traces of a run may take; 0 = no limit. Beyond it traces are released as soon
     * as they were read once, and read again when they are needed: kino_run_analyze and an `alone`
     * report have as many in memory at a time as they have threads; everything else loads all that
     * is missing and keeps it. Such a run is for one thread at a time. A single file is never
     * limited, nor is what cannot be read twice (standard input). */
    uint64_t memory;
    /* What is known about the process of the traces, as the text of a sidecar
     * (docs/formats/sidecar.md); NULL: the one next to each file. */
    const char *about;
    /* Symbolic links in folders are followed only where they stay inside this folder; NULL:
     * anywhere. For folders that others can write to. */
    const char *inside;
    /* Bytes that a file may become: compressed text, and the columns of .kino files. 0 = 64 MiB, or
     * 100 times the size of a compressed file, 200 times that of a .kino file; with more in it, it
     * is refused (KINO_LIMIT). A value raises that. */
    uint64_t expansion;
    /* What people call the run, in reports and errors; NULL: its paths. */
    const char *label;
    /* Only part `part` (from 0) of `parts` parts of the files, of about the same size; 0: all. */
    unsigned part, parts;
    /* Summaries (kino/summary.h) may stand in place of traces. For programs that ask for the report
     * and analyses only: others have no use for traces without events. */
    bool takes_summaries;
    /* A file that is left out, a part or a rank that is missing is an error. */
    bool require_all;
} kino_load_options;
#define KINO_LOAD_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_load_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0,     \
            NULL, 0, 0, false, false                                                               \
    }

/* Opens traces as one run. A path is a trace file, "-" for standard input, or a folder of
 * traces. */
KINO_API KINO_NODISCARD kino_status kino_run_open(const char *const *paths, size_t count,
                                                  const kino_load_options *options, kino_run **out,
                                                  kino_error *err);
KINO_API void kino_run_free(kino_run *run);

/* What a recorder (libkino) reported about its own losses; see kino_run_recover. */
typedef struct kino_recovery {
    uint32_t size;        /* sizeof(kino_recovery), set by the caller */
    bool was_stopped;     /* the recording ended in the regular way */
    uint64_t events;      /* that are there */
    uint64_t open_spans;  /* that had no end yet */
    uint64_t dropped;     /* records dropped: buffer full */
    uint64_t overwritten; /* records that a flight recorder overwrote, as intended */
    uint64_t damaged;     /* invalid records */
} kino_recovery;

/* Opens what a recorder left: the directory of its buffers, or a .kino file it wrote.
 * `recovery` may be NULL. */
KINO_API KINO_NODISCARD kino_status kino_run_recover(const char *path,
                                                     const kino_load_options *options,
                                                     kino_run **out, kino_recovery *recovery,
                                                     kino_error *err);

/* What is in it: format, ranks, devices, steps, event counts, loss, repairs. Tables: traces,
 * devices, steps, categories, tracks, damage, metadata. */
KINO_API KINO_NODISCARD kino_status kino_run_info(kino_run *run, kino_result **out,
                                                  kino_error *err);

typedef struct kino_trace_info {
    uint32_t size;               /* sizeof(kino_trace_info), set by the caller */
    uint32_t trace;              /* its number in the run: what event ids begin with */
    int64_t rank;                /* KINO_NO_INT: unknown */
    kino_str worker, span, path; /* empty: unknown; owned by the run */
    uint64_t events;
} kino_trace_info;
#define KINO_TRACE_INFO_INIT                                                                       \
    {                                                                                              \
        sizeof(kino_trace_info), 0, KINO_NO_INT, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0                \
    }

/* The n-th trace of a run; false at the end. Costs nothing, whatever is loaded. */
KINO_API bool kino_run_trace(const kino_run *run, size_t index, kino_trace_info *out);
/* What times count from: ns since 1970; KINO_NO_TIME: no clock of its traces is known. */
KINO_API int64_t kino_run_origin(const kino_run *run);
/* About how much memory it holds now, in bytes; more is made when it is needed. Mapped files do not
 * count. */
KINO_API uint64_t kino_run_bytes(const kino_run *run);

/* What a user should know about how the run was read, as one line each ("x.json: truncated: ...
 * (byte 123)"); NULL at the end. Owned by the run. */
KINO_API const char *kino_run_warning(const kino_run *run, size_t index);
/* What can be done about it; false: it has no hint. */
KINO_API bool kino_run_warning_hint(const kino_run *run, size_t index, kino_hint *hint);

typedef struct kino_query_options {
    uint32_t size;
    unsigned timeout_ms; /* 0 = none */
    const bool *cancel;  /* polled, may be set by a signal handler; or NULL */
    /* Bytes for the statement (0 = 1 GiB): a value may have 1/64 of them, a row 1/4. The memory of
     * SQLite itself is limited by kino_limit_sql_memory. */
    uint64_t memory;
    const kino_cell *parameters; /* values of '?', '?N', ':name' in the statement, in their order */
    size_t parameter_count;
} kino_query_options;
#define KINO_QUERY_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_query_options), 0, NULL, 0, NULL, 0                                            \
    }

/* One read-only SQL statement over the run's tables. The run must outlive the rows; the values of
 * parameters are copied. */
KINO_API KINO_NODISCARD kino_status kino_run_query(kino_run *run, const char *sql,
                                                   const kino_query_options *options,
                                                   kino_rows **out, kino_error *err);
/* Reads the rows to their end into an answer with one table "result", which needs neither them nor
 * the run afterwards. `run` says what it was computed from; may be NULL. */
KINO_API KINO_NODISCARD kino_status kino_rows_collect(kino_run *run, kino_rows *rows,
                                                      kino_result **out, kino_error *err);
/* The memory that SQLite may have in this process, all statements together, in bytes; 0 = any (the
 * default). For programs that run other people's statements and use SQLite for nothing else. */
KINO_API void kino_limit_sql_memory(uint64_t bytes);
/* CREATE statements of all tables and views. */
KINO_API KINO_NODISCARD kino_status kino_run_schema(kino_run *run, kino_rows **out,
                                                    kino_error *err);

typedef struct kino_analyze_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
    const kino_param *params; /* the others have their defaults; a later one wins */
    size_t param_count;
    /* The run is not used elsewhere, nor again: what an analysis no longer needs of a trace is
     * released while it works; afterwards the run can only be freed. */
    bool last;
} kino_analyze_options;
#define KINO_ANALYZE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_analyze_options), 0, NULL, NULL, NULL, 0, false                                \
    }

/* One analysis of a run (<kino/analysis.h> describes them). KINO_NOT_FOUND: no such analysis;
 * KINO_ARGUMENT: no such parameter, or a value that does not fit. */
KINO_API KINO_NODISCARD kino_status kino_run_analyze(kino_run *run, const char *name,
                                                     const kino_analyze_options *options,
                                                     kino_result **out, kino_error *err);
/* The same checks without the work: to be asked before a long load. */
KINO_API KINO_NODISCARD kino_status kino_analysis_check(const char *name, const kino_param *params,
                                                        size_t param_count, kino_error *err);

/* -- reports: where the time goes and what to do about it -- */

typedef struct kino_report kino_report;

typedef struct kino_report_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
    const char *compat; /* as a reference implementation has it: "tensorboard"; or NULL */
    const char *steps;  /* only these profiler steps, "5" or "3-7"; or NULL */
    bool full;          /* with the details, and tables that grow with the trace */
    /* The run is not used elsewhere: what is computed about a trace is released at once, so that
     * memory does not grow with the number of traces beyond what loading takes. */
    bool alone;
    /* With alone: the run is not used again. Whatever a trace no longer needs is released, too;
     * afterwards the run can only be freed. */
    bool last;
} kino_report_options;
#define KINO_REPORT_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_report_options), 0, NULL, NULL, NULL, NULL, false, false, false                \
    }

/* All that belongs to a report, each analysis once. What a trace does not support is named there,
 * never an error. The report does not need the run any more. */
KINO_API KINO_NODISCARD kino_status kino_run_report(kino_run *run,
                                                    const kino_report_options *options,
                                                    kino_report **out, kino_error *err);
/* Do the options fit? To be asked before a long load. */
KINO_API KINO_NODISCARD kino_status kino_report_check(const kino_report_options *options,
                                                      kino_error *err);
/* The n-th answer of an analysis that the report was made from, NULL at the end. */
KINO_API const kino_result *kino_report_result(const kino_report *report, size_t index);
KINO_API void kino_report_free(kino_report *report);

typedef struct kino_diff_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
    const char *compat;         /* "tensorboard": that reference implementation; or NULL */
    bool tree;                  /* people see the table diff_tree too */
    bool tree_ops;              /* the table diff_tree_ops too */
    const char *const *fail_on; /* what must hold (kino_diff_check); rows of diff_checks */
    size_t fail_on_count;
    unsigned name_width; /* names of operators and kernels cut to this many columns; 0: whole */
} kino_diff_options;
#define KINO_DIFF_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_diff_options), 0, NULL, NULL, NULL, false, false, NULL, 0, 0                   \
    }

/* Runs side by side. Several runs on a side count by their medians. Tables: diff_steps, diff_ops,
 * diff_kernels, diff_tree (of the first trace of each side's first run), diff_tree_ops,
 * diff_checks. Both sides need a run. */
KINO_API KINO_NODISCARD kino_status kino_runs_diff(kino_run *const *left, size_t left_count,
                                                   kino_run *const *right, size_t right_count,
                                                   const kino_diff_options *options,
                                                   kino_result **out, kino_error *err);
/* Does this line of expressions ("step_time>5%,kernel>2%&>30us"; kino-diff(1) has the grammar) make
 * sense? KINO_ARGUMENT: no, and where. */
KINO_API KINO_NODISCARD kino_status kino_diff_check(const char *expressions, kino_error *err);

typedef struct kino_write_options {
    uint32_t size;
    const char *format; /* NULL: from the path's suffix */
    unsigned jobs;
    kino_progress_fn progress;
    void *progress_context;
    /* formats of stacks: "combined" (or NULL), "python", "op" */
    const char *stacks;
    /* collapsed stacks weigh by "time" (or NULL; own time in ns) or "count" (of calls) */
    const char *weight;
} kino_write_options;
#define KINO_WRITE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_write_options), NULL, 0, NULL, NULL, NULL, NULL                                \
    }

/* Writes the run in another format; "-" is standard output. The file is complete or does not
 * appear at all. */
KINO_API KINO_NODISCARD kino_status kino_run_write(kino_run *run, const char *path,
                                                   const kino_write_options *options,
                                                   kino_error *err);

/* Does kino_run_write support this format, by name or by the path's suffix? Call it before a long
 * load. */
KINO_API KINO_NODISCARD kino_status kino_writer_check(const char *path, const char *format,
                                                      kino_error *err);

/* The name, suffix and one-line help of the n-th format that can be written or read; false at the
 * end. */
KINO_API bool kino_writer_describe(size_t index, const char **name, const char **suffix,
                                   const char **help);
KINO_API bool kino_reader_describe(size_t index, const char **name, const char **help);

/* -- runs made from runs: the new one borrows from `run`, which must outlive it -- */

typedef struct kino_cut_options {
    uint32_t size;
    /* ns since the run's origin, below 0 before the run's end; KINO_NO_TIME: open */
    int64_t from_ns, to_ns;
    int64_t first_step, last_step; /* by number; KINO_NO_INT: open */
    const char *const *categories; /* only these, as in the file */
    size_t category_count;
    const char *const *drop; /* none of these, not even for links */
    size_t drop_count;
    const char *const *names; /* only what fits one of these patterns: * ? [a-z] */
    size_t name_count;
    kino_progress_fn progress;
    void *progress_context;
} kino_cut_options;
#define KINO_CUT_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(kino_cut_options), KINO_NO_TIME, KINO_NO_TIME, KINO_NO_INT, KINO_NO_INT, NULL, 0,   \
            NULL, 0, NULL, 0, NULL, NULL                                                           \
    }

typedef struct kino_cut_counts {
    uint64_t events, kept; /* of all traces */
    uint64_t launches;     /* calls kept only because they launched what is kept */
    uint64_t ops;          /* ops kept only because what is kept belongs to them */
} kino_cut_counts;

/* The events in a window, whole, with the launch and the op of what runs on a device (kino-cut(1)
 * has the rules). A trace of which nothing is left is left out, with a warning; nothing left at all
 * is KINO_NOT_FOUND. counts may be NULL. */
KINO_API KINO_NODISCARD kino_status kino_run_cut(kino_run *run, const kino_cut_options *options,
                                                 kino_run **out, kino_cut_counts *counts,
                                                 kino_error *err);

/* All traces of several runs as one run, on a common clock: in order of ranks, then names. Takes the
 * runs, also after a failure; runs that they borrow from must outlive the new one. names[i]: what
 * traces of the i-th run are called from now on, as a file would be; NULL: as they are. Not for
 * selections and runs with a memory limit (KINO_ARGUMENT). */
KINO_API KINO_NODISCARD kino_status kino_runs_join(kino_run *const *runs, const char *const *names,
                                                   size_t count, kino_run **out, kino_error *err);

/* Some traces of a run, by their numbers: for analyses, reports, info and cuts, not for SQL.
 * Numbers, event ids and the clock stay those of the run. KINO_NOT_FOUND: no such trace. */
KINO_API KINO_NODISCARD kino_status kino_run_select(kino_run *run, const uint32_t *traces,
                                                    size_t count, kino_run **out, kino_error *err);

typedef struct kino_redact_options {
    uint32_t size;
    const char *key;          /* tokens depend on it; NULL: a fixed one */
    const char *const *words; /* further words to replace wherever they occur */
    size_t word_count;
    kino_progress_fn progress;
    void *progress_context;
} kino_redact_options;
#define KINO_REDACT_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_redact_options), NULL, NULL, 0, NULL, NULL                                     \
    }

/* The same events with paths, hosts, users and names replaced by tokens (kino-convert(1) says
 * which): the same text gives the same token everywhere. Counts, times, ids and links stay. */
KINO_API KINO_NODISCARD kino_status kino_run_redact(kino_run *run,
                                                    const kino_redact_options *options,
                                                    kino_run **out, kino_error *err);

typedef struct kino_align_options {
    uint32_t size;
    const char *file; /* clocks from this file, as kino analyze clock-alignment --format csv writes
                         them; NULL: from the collectives of the run */
    kino_progress_fn progress;
    void *progress_context;
} kino_align_options;
#define KINO_ALIGN_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_align_options), NULL, NULL, NULL                                               \
    }

/* The same events with the clocks of all ranks on that of the first (the analysis clock-alignment).
 * A clock that is off by no more than its error bar stays as it is; so does one that the
 * collectives do not determine, with a warning. */
KINO_API KINO_NODISCARD kino_status kino_run_align(kino_run *run, const kino_align_options *options,
                                                   kino_run **out, kino_error *err);

typedef struct kino_merge_options {
    uint32_t size;
    kino_progress_fn progress;
    void *progress_context;
    bool is_one_process; /* the traces are parts of one: pids, names and facts are kept */
} kino_merge_options;
#define KINO_MERGE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_merge_options), NULL, NULL, false                                              \
    }

/* All traces as one, on the run's common clock: pids and ids are renumbered where those of two
 * traces would be mistaken for each other (docs/formats/merged.md). */
KINO_API KINO_NODISCARD kino_status kino_run_merge(kino_run *run, const kino_merge_options *options,
                                                   kino_run **out, kino_error *err);

typedef struct kino_counter_options {
    uint32_t size;
    const char *compat;     /* "hta", "hta-ns": what HTA adds; NULL: exact times and more */
    bool include_last_step; /* with compat: also of the last profiler step, which HTA leaves out */
    kino_progress_fn progress;
    void *progress_context;
} kino_counter_options;
#define KINO_COUNTER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_counter_options), NULL, false, NULL, NULL                                      \
    }

/* The same events, followed by counters derived from them: queue length of each stream, memory
 * bandwidth, device utilization, allocated memory (their names are in kino-convert(1)). Counters
 * without data are left out, with a warning if none is left. */
KINO_API KINO_NODISCARD kino_status kino_run_add_counters(kino_run *run,
                                                          const kino_counter_options *options,
                                                          kino_run **out, kino_error *err);

typedef struct kino_critical_overlay_options {
    uint32_t size;
    const kino_param *params; /* of the analysis critical-path: "annotation", "instance", ... */
    size_t param_count;
    bool all_events; /* keep spans that are not on the path */
    bool all_edges;  /* arrows for all edges of the graph, not only for waits on the path */
    kino_progress_fn progress;
    void *progress_context;
} kino_critical_overlay_options;
#define KINO_CRITICAL_OVERLAY_OPTIONS_INIT                                                         \
    {                                                                                              \
        sizeof(kino_critical_overlay_options), NULL, 0, false, false, NULL, NULL                   \
    }

/* The traces with their critical path drawn in: events on it have the argument "critical", arrows
 * lead along its edges. Spans off the path are left out, except for annotations and Python frames. A
 * trace without the annotation is left unchanged, with a warning; none that has it is
 * KINO_NOT_FOUND. */
KINO_API KINO_NODISCARD kino_status kino_run_overlay_critical_path(
    kino_run *run, const kino_critical_overlay_options *options, kino_run **out, kino_error *err);

typedef struct kino_sequence_overlay_options {
    uint32_t size;
    const kino_param *params; /* of the analysis kernel-sequences: "op", "top_k", ... */
    size_t param_count;
    kino_progress_fn progress;
    void *progress_context;
} kino_sequence_overlay_options;
#define KINO_SEQUENCE_OVERLAY_OPTIONS_INIT                                                         \
    {                                                                                              \
        sizeof(kino_sequence_overlay_options), NULL, 0, NULL, NULL                                 \
    }

/* The same events; those of calls that run a frequent kernel sequence have the argument "Patterns"
 * with that sequence and its count. No such call in any trace is KINO_NOT_FOUND. */
KINO_API KINO_NODISCARD kino_status kino_run_overlay_kernel_sequences(
    kino_run *run, const kino_sequence_overlay_options *options, kino_run **out, kino_error *err);

/* Writes each trace to its own file in a folder (created if needed), named after its input;
 * options->format is required. Each file is complete or does not appear at all. */
KINO_API KINO_NODISCARD kino_status kino_run_write_folder(kino_run *run, const char *folder,
                                                          const kino_write_options *options,
                                                          kino_error *err);

/* How notes name options. */
typedef enum kino_hint_form {
    KINO_HINTS_PLAIN,  /* run=NAME */
    KINO_HINTS_OPTION, /* --run NAME */
    KINO_HINTS_FIELDS  /* as PLAIN; JSON has "hints" beside "notes" */
} kino_hint_form;

typedef struct kino_render_options {
    uint32_t size;
    const char *format; /* "table" (or NULL), "json", "csv", "md" */
    const char *table;  /* CSV: which table of a result; NULL = the first */
    uint64_t limit;     /* rows; 0 = all */
    bool color;         /* table only */
    unsigned width;     /* of the terminal; 0 = do not shorten */
    kino_hint_form hints;
} kino_render_options;
#define KINO_RENDER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_render_options), NULL, NULL, 0, false, 0, KINO_HINTS_PLAIN                     \
    }

KINO_API KINO_NODISCARD kino_status kino_render_result(const kino_result *result,
                                                       const kino_render_options *options,
                                                       kino_write_fn write, void *context,
                                                       kino_error *err);
/* A report; format: "table" (or NULL), "json", "md", "html" (one page that needs nothing else). */
KINO_API KINO_NODISCARD kino_status kino_render_report(const kino_report *report,
                                                       const kino_render_options *options,
                                                       kino_write_fn write, void *context,
                                                       kino_error *err);
/* The summary above the tables of kino_runs_diff; options->format is "table" or
 * "md". */
KINO_API KINO_NODISCARD kino_status kino_diff_summary(const kino_result *diff,
                                                      const kino_render_options *options,
                                                      kino_write_fn write, void *context,
                                                      kino_error *err);
/* Rows of a query as one table named "result"; run gives the JSON form its "input" object. */
KINO_API KINO_NODISCARD kino_status kino_render_rows(kino_run *run, kino_rows *rows,
                                                     const kino_render_options *options,
                                                     kino_write_fn write, void *context,
                                                     kino_error *err);

/* -- what there is to open, by names only: nothing is read -- */

typedef struct kino_catalog kino_catalog;

typedef struct kino_catalog_file {
    const char *name;     /* without folders */
    const char *worker;   /* NULL: the name does not say */
    const char *span;     /* digits; NULL: the name has none */
    uint32_t span_number; /* among the spans of its worker, from 1; 0: no span */
    bool is_newest;       /* the last of these, or without a span */
    int64_t rank;         /* from the file name, or KINO_NO_INT */
    uint64_t bytes;
    int64_t changed_ns; /* since 1970 */
    uint64_t inode;
} kino_catalog_file;

typedef struct kino_catalog_run {
    const char *name;  /* unique: "a/b", "." for the folder itself */
    const char *label; /* what people call it */
    const char *path;  /* for kino_run_open */
    const kino_catalog_file *files;
    size_t file_count;
    uint32_t span_count; /* the most that a worker has; 0: names have no spans */
} kino_catalog_run;

/* The runs of files and folders, at any depth. KINO_NOT_FOUND, KINO_IO: a path does not exist; a
 * folder without traces is not an error. */
KINO_API KINO_NODISCARD kino_status kino_catalog_new(const char *const *paths, size_t count,
                                                     kino_catalog **out, kino_error *err);
/* The n-th run in natural order, NULL at the end. Owned by the catalog. */
KINO_API const kino_catalog_run *kino_catalog_run_at(const kino_catalog *catalog, size_t index);
KINO_API void kino_catalog_free(kino_catalog *catalog);

typedef struct kino_demo_options {
    uint32_t size;
    unsigned ranks; /* default 4 */
    unsigned steps; /* default 6 */
    /* 0 = as many layers as the default model has; else about this much JSON */
    uint64_t bytes_per_rank;
    uint64_t seed;      /* same seed and options, same bytes */
    const char *suffix; /* ".json" (or NULL), ".json.gz", ".json.zst" */
    kino_progress_fn progress;
    void *progress_context;
    /* NULL, or a run with a known truth: "device-straggler" and others (kino-demo(1)); ranks and
     * steps may then be 0, which leaves them to the seed */
    const char *plant;
    unsigned strength;  /* of the plant, in tenths of a percent of the step; 0: by the seed */
    const char *truth;  /* NULL, or a file for what is planted, as JSON */
    const char *change; /* NULL, or the same run with one change: "collectives" take no time to
                           transfer, "kernels" of one name take half the time, "launches" and
                           operators cost the host nothing, the "loader" is hidden, the
                           "straggler" is like the others */
} kino_demo_options;
#define KINO_DEMO_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_demo_options), 4, 6, 0, 1, NULL, NULL, NULL, NULL, 0, NULL, NULL               \
    }

/* Writes a realistic training run to a folder (created if needed), one trace per rank. */
KINO_API KINO_NODISCARD kino_status kino_demo_write(const char *folder,
                                                    const kino_demo_options *options,
                                                    kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
