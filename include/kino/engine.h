/* kino/engine.h - reading traces, asking questions, writing them out: the engine as a library.
 *
 *   kino_run *run;
 *   kino_run_open((const char *[]){"trace.json.gz"}, 1, NULL, &run, &err);
 *   kino_run_query(run, "SELECT name, sum(dur) FROM kernel GROUP BY name", NULL, &rows, &err);
 *   kino_render_rows(rows, NULL, write_to_stdout, NULL, &err);
 *
 * A loaded run never changes and may be used by any thread; rows and options belong to one
 * thread. */
#ifndef KINO_ENGINE_H
#define KINO_ENGINE_H

#include <kino/base.h>
#include <kino/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then during long work; total is 0 when unknown. Return false to stop: the call
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
    const char *run;  /* which run of a folder that has several, or NULL */
    const char *span; /* which span, or NULL */
    const int64_t *ranks; /* only these ranks, or NULL for all */
    size_t rank_count;
} kino_load_options;
#define KINO_LOAD_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_load_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0                        \
    }

/* Opens traces as one run. A path is a trace file, "-" for standard input, or a folder of
 * traces. */
KINO_API KINO_NODISCARD kino_status kino_run_open(const char *const *paths, size_t count,
                                                  const kino_load_options *options, kino_run **out,
                                                  kino_error *err);
KINO_API void kino_run_free(kino_run *run);

/* What is in it: format, ranks, devices, steps, event counts, loss, repairs. Tables: traces,
 * devices, steps, categories, tracks, damage, metadata. */
KINO_API KINO_NODISCARD kino_status kino_run_info(kino_run *run, kino_result **out,
                                                  kino_error *err);

/* What a user should know about how the run was read, as one line each ("x.json: truncated: ...
 * (byte 123)"); NULL at the end. Owned by the run. */
KINO_API const char *kino_run_warning(const kino_run *run, size_t index);

typedef struct kino_query_options {
    uint32_t size;
    unsigned timeout_ms; /* 0 = none */
    const bool *cancel;  /* polled, may be set by a signal handler; or NULL */
} kino_query_options;
#define KINO_QUERY_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_query_options), 0, NULL                                                        \
    }

/* One read-only SQL statement over the run's tables. The run must outlive the rows. */
KINO_API KINO_NODISCARD kino_status kino_run_query(kino_run *run, const char *sql,
                                                   const kino_query_options *options,
                                                   kino_rows **out, kino_error *err);
/* CREATE statements of all tables and views. */
KINO_API KINO_NODISCARD kino_status kino_run_schema(kino_run *run, kino_rows **out,
                                                    kino_error *err);

typedef struct kino_write_options {
    uint32_t size;
    const char *format; /* NULL: from the path's suffix */
    unsigned jobs;
    kino_progress_fn progress;
    void *progress_context;
} kino_write_options;
#define KINO_WRITE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kino_write_options), NULL, 0, NULL, NULL                                            \
    }

/* Writes the run in another format; "-" is standard output. Appears whole or not at all. */
KINO_API KINO_NODISCARD kino_status kino_run_write(kino_run *run, const char *path,
                                                   const kino_write_options *options,
                                                   kino_error *err);

/* Is this a format that kino_run_write knows, by name or by the path's suffix? To be asked before a
 * long load. */
KINO_API KINO_NODISCARD kino_status kino_writer_check(const char *path, const char *format,
                                                      kino_error *err);

/* The name, suffix and one-line help of the n-th format that can be written or read; false at the
 * end. */
KINO_API bool kino_writer_describe(size_t index, const char **name, const char **suffix,
                                   const char **help);
KINO_API bool kino_reader_describe(size_t index, const char **name, const char **help);

typedef struct kino_render_options {
    uint32_t size;
    const char *format; /* "table" (or NULL), "json", "csv", "md" */
    const char *table;  /* CSV: which table of a result; NULL = the first */
    uint64_t limit;     /* rows; 0 = all */
    bool color;         /* table only */
    unsigned width;     /* of the terminal; 0 = do not shorten */
} kino_render_options;
#define KINO_RENDER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_render_options), NULL, NULL, 0, false, 0                                       \
    }

KINO_API KINO_NODISCARD kino_status kino_render_result(const kino_result *result,
                                                       const kino_render_options *options,
                                                       kino_write_fn write, void *context,
                                                       kino_error *err);
/* Rows of a query as one table named "result"; run gives the JSON form its "input" object. */
KINO_API KINO_NODISCARD kino_status kino_render_rows(kino_run *run, kino_rows *rows,
                                                     const kino_render_options *options,
                                                     kino_write_fn write, void *context,
                                                     kino_error *err);

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
} kino_demo_options;
#define KINO_DEMO_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_demo_options), 4, 6, 0, 1, NULL, NULL, NULL                                    \
    }

/* Writes a realistic training run into a folder (made when missing), one trace a rank. */
KINO_API KINO_NODISCARD kino_status kino_demo_write(const char *folder,
                                                    const kino_demo_options *options,
                                                    kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
