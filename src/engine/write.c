/* write.c - writing a run: which format a name means, compression, and never over the input. */
#include <stdio.h>

#include "base/error.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/sink.h"
#include "base/sized.h"
#include "base/thread.h"
#include "codec/codec.h"
#include "engine/kino_run.h"
#include "reader/reader.h"
#include "writer/writer.h"

bool kino_writer_describe(size_t index, const char **name, const char **suffix, const char **help)
{
    const kino__writer_def *writer = kino__writer_at(index);
    *name = writer ? writer->name : NULL;
    *suffix = writer ? writer->suffix : NULL;
    *help = writer ? writer->help : NULL;
    return writer != NULL;
}

bool kino_reader_describe(size_t index, const char **name, const char **help)
{
    const kino__reader_def *reader = kino__reader_at(index);
    *name = reader ? reader->name : NULL;
    *help = reader ? reader->help : NULL;
    return reader != NULL;
}

/* A format is named by its name ("chrome-json") or its suffix ("json"), both also with ".gz" or
 * ".zst" behind. */
static const kino__writer_def *find_writer(const char *path, const char *format,
                                           kino__compression *packing)
{
    kino_str text = kino__str_from(format ? format : path);
    *packing = kino__compression_of_path(text);
    if (*packing == KINO__COMPRESSION_GZIP)
        text.size -= strlen(".gz");
    else if (*packing == KINO__COMPRESSION_ZSTD)
        text.size -= strlen(".zst");
    const kino__writer_def *writer, *best = NULL;
    for (size_t i = 0; (writer = kino__writer_at(i)); i++) {
        bool fits = format
                        ? kino__str_is(text, writer->name) || kino__str_is(text, writer->suffix + 1)
                        : kino__str_ends_with(text, kino__str_from(writer->suffix));
        if (writer->other_suffix)
            fits |= format ? kino__str_is(text, writer->other_suffix + 1)
                           : kino__str_ends_with(text, kino__str_from(writer->other_suffix));
        if (fits && (*packing == KINO__COMPRESSION_NONE || writer->is_compressible) &&
            (!best || strlen(writer->suffix) > strlen(best->suffix)))
            best = writer; /* ".speedscope.json" goes before ".json" */
    }
    return best;
}

static kino_status fail_unknown(const char *path, const char *format, kino_error *err)
{
    char known[320] = "";
    const kino__writer_def *writer;
    for (size_t i = 0, used = 0; (writer = kino__writer_at(i)) && used + 48 < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s%s", i ? ", " : "",
                                 writer->suffix + 1, writer->is_compressible ? "[.gz|.zst]" : "");
    if (format)
        return kino__fail(err, KINO_ARGUMENT, "unknown format '%s' (known: %s)", format, known);
    return kino__fail(err, KINO_ARGUMENT, "cannot tell the format from the name '%s' (known: %s)",
                      path, known);
}

/* What is not written in order needs a file. */
static kino_status check_place(const kino__writer_def *writer, const char *path, kino_error *err)
{
    if (!writer->write_file)
        return KINO_OK;
    if (strcmp(path, "-") == 0)
        return kino__fail(err, KINO_ARGUMENT, "cannot write %s to standard output: specify a file",
                          writer->name);
    if (kino__output_is_special(path))
        return kino__fail(err, KINO_ARGUMENT, "cannot write %s to '%s': not a regular file",
                          writer->name, path);
    return KINO_OK;
}

static kino_status check_target(const kino_run *run, const kino__writer_def *writer,
                                const char *path, kino_error *err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    if (run->run.traces.count > 1 && !writer->takes_runs)
        return kino__fail_hint(
            err, KINO_ARGUMENT, kino__hint(KINO_HINT_OPTION, "rank", ""),
            "cannot write %zu traces to one file '%s': select one with " KINO__HERE
            ", combine them with 'kino convert --merge', or specify a directory and a format",
            run->run.traces.count, path);
    for (; run && !is_stdout; run = run->parent) {
        for (size_t i = 0; i < run->run.traces.count; i++) {
            const kino__trace *trace = run->run.traces.items[i];
            if (trace->path.size && kino__is_same_file(path, trace->path.data))
                return kino__fail_file(err, KINO_ARGUMENT, "write", path, "it is the input");
        }
    }
    return KINO_OK;
}

kino_status kino_writer_check(const char *path, const char *format, kino_error *err)
{
    kino__compression packing;
    kino__error_clear(err);
    const kino__writer_def *writer = find_writer(path, format, &packing);
    return writer ? check_place(writer, path, err) : fail_unknown(path, format, err);
}

kino_str kino__writer_suffix(const char *format, kino__arena *arena)
{
    kino__compression packing;
    const kino__writer_def *writer = find_writer("", format, &packing);
    if (!writer)
        return (kino_str){"", 0};
    const char *packed = packing == KINO__COMPRESSION_GZIP   ? ".gz"
                         : packing == KINO__COMPRESSION_ZSTD ? ".zst"
                                                             : "";
    return kino__arena_format(arena, "%s%s", writer->suffix, packed);
}

/* Options that are words. */
static kino_status read_words(const kino_write_options *given, kino__write_context *context,
                              kino_error *err)
{
    static const char *const kinds[] = {[KINO__STACK_COMBINED] = "combined",
                                        [KINO__STACK_PYTHON] = "python",
                                        [KINO__STACK_OP] = "op"};
    enum { KIND_COUNT = sizeof kinds / sizeof *kinds };
    unsigned kind = 0;
    while (given->stacks && kind < KIND_COUNT && strcmp(given->stacks, kinds[kind]) != 0)
        kind++;
    if (kind == KIND_COUNT)
        return kino__fail(err, KINO_ARGUMENT,
                          "unknown stacks '%s' (expected: combined, python or op)", given->stacks);
    context->stack_kind = (kino__stack_kind)kind;
    context->counts = given->weight && strcmp(given->weight, "count") == 0;
    if (given->weight && !context->counts && strcmp(given->weight, "time") != 0)
        return kino__fail(err, KINO_ARGUMENT, "unknown weight '%s' (expected: time or count)",
                          given->weight);
    return KINO_OK;
}

/* Opens, writes and closes a sink. */
static kino_status write_in_order(const kino__run *run, const kino__writer_def *writer,
                                  const char *path, kino__compression packing,
                                  const kino__write_context *context, kino_error *err)
{
    kino__sink *sink;
    KINO_TRY(kino__file_sink_open(path, &sink, err));
    KINO_TRY(kino__compress_sink_take(packing, &sink, err));
    kino_status st = writer->write(run, sink, context, err);
    kino_status closed = kino__sink_close(sink, st == KINO_OK, st == KINO_OK ? err : NULL);
    return st == KINO_OK ? closed : st;
}

/* Lets the writer fill a file under a temporary name. */
static kino_status write_beside(const kino__run *run, const kino__writer_def *writer,
                                const char *path, const kino__write_context *context,
                                kino_error *err)
{
    kino__output_file file;
    KINO_TRY(kino__output_file_open_named(path, &file, err));
    kino_status st = writer->write_file(run, file.temporary, context, err);
    kino_status closed = kino__output_file_close(&file, st == KINO_OK, st == KINO_OK ? err : NULL);
    return st == KINO_OK ? closed : st;
}

kino_status kino_run_write(kino_run *run, const char *path, const kino_write_options *options,
                           kino_error *err)
{
    kino__error_clear(err);
    kino_write_options given = KINO_WRITE_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino__compression packing;
    const kino__writer_def *writer = find_writer(path, given.format, &packing);
    if (!writer)
        return fail_unknown(path, given.format, err);
    KINO_TRY(check_place(writer, path, err));
    KINO_TRY(check_target(run, writer, path, err));
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__write_context context = {.progress = &progress, .label = path};
    KINO_TRY(read_words(&given, &context, err));
    kino_status st = kino__pool_new(given.jobs, &context.pool, err);
    if (st == KINO_OK)
        st = kino__run_require(&run->run, KINO__COLUMN_ALL, context.pool, err);
    if (st == KINO_OK)
        st = writer->write_file ? write_beside(&run->run, writer, path, &context, err)
                                : write_in_order(&run->run, writer, path, packing, &context, err);
    kino__pool_free(context.pool);
    return st;
}
