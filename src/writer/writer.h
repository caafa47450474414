/* writer.h - trace formats out: one file each, listed in writers.def.
 *
 * A new format: src/writer/<name>.c with a kino__writer_def, WRITER(<name>) in writers.def, a page
 * in docs/formats/. */
#ifndef KINO__WRITER_WRITER_H
#define KINO__WRITER_WRITER_H

#include "base/progress.h"
#include "base/sink.h"
#include "base/thread.h"
#include "store/run.h"
#include "store/stacks.h"

typedef struct kino__write_context {
    kino__pool *pool;         /* NULL: one thread */
    kino__progress *progress; /* or NULL */
    const char *label;        /* the output's name in messages, or NULL */
    kino__stack_kind stack_kind;
    bool counts; /* stacks weigh by number of calls, not by time */
} kino__write_context;

typedef struct kino__writer_def {
    const char *name;         /* "chrome-json" */
    const char *suffix;       /* ".json"; ".gz" and ".zst" may follow where is_compressible */
    const char *other_suffix; /* that means the same, or NULL */
    const char *help;
    bool is_compressible;
    bool takes_runs; /* one file may hold several traces */
    /* Writes the whole run to the sink, in order; the caller closes the sink. All columns are
     * there. */
    kino_status (*write)(const kino__run *run, kino__sink *sink, const kino__write_context *context,
                         kino_error *err);
    /* Instead, for formats that are not written in order: fills the file `path`, which is empty;
     * the caller moves it to its name or removes it. */
    kino_status (*write_file)(const kino__run *run, const char *path,
                              const kino__write_context *context, kino_error *err);
} kino__writer_def;

#define WRITER(name) extern const kino__writer_def kino__writer_##name;
#include "writer/writers.def"
#undef WRITER

/* The n-th writer, NULL at the end. */
const kino__writer_def *kino__writer_at(size_t index);

/* The error of a run without the spans that a writer of stacks was asked for. */
kino_status kino__writer_fail_empty(const kino__write_context *context, kino_error *err);

#endif
