/* common.c - what every command does the same way: errors, opening runs, output. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hint.h"
#include "base/mapped.h"
#include "base/memory_limit.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/sink.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

enum { DEFAULT_LIMIT = 50 };

/* Messages may quote what a file or a user wrote: nothing of it may steer the terminal. */
static void print_line(const char *prefix, const char *text, uint64_t offset)
{
    char line[1024];
    (void)kino__copy_printable(kino__str_from(text), line, sizeof line);
    if (offset == KINO_NO_OFFSET)
        (void)fprintf(stderr, "kino: %s%s\n", prefix, line);
    else
        (void)fprintf(stderr, "kino: %s%s (byte %" PRIu64 ")\n", prefix, line, offset);
}

/* 0: none. Global as the limit is. */
static uint64_t memory_limit; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables) */

void kino__limit_memory(uint64_t bytes)
{
    if (kino__memory_limit_process(bytes))
        memory_limit = bytes;
}

const char *kino__error_text(kino_error *err)
{
    char text[sizeof err->message];
    const char *said = kino__hint_as_option(err->message, &err->hint, text, sizeof text);
    if (said == text)
        memcpy(err->message, text, sizeof text);
    err->hint = KINO__NO_HINT; /* its place has changed */
    return err->message;
}

void kino__report_warnings(const kino_run *run)
{
    const char *warning;
    for (size_t i = 0; (warning = kino_run_warning(run, i)); i++) {
        char text[1024];
        kino_hint hint;
        if (kino_run_warning_hint(run, i, &hint))
            warning = kino__hint_as_option(warning, &hint, text, sizeof text);
        print_line("warning: ", warning, KINO_NO_OFFSET);
    }
}

int kino__report_error(const kino_error *err, int code)
{
    if (kino__interrupt_was_asked()) {
        print_line("", "interrupted", KINO_NO_OFFSET);
        return KINO__EXIT_INTERRUPTED;
    }
    kino_error cut;
    if (kino__mapped_check(&cut) != KINO_OK)
        err = &cut; /* whatever came of it is not the reason */
    kino_error said = *err;
    print_line("", said.message[0] ? kino__error_text(&said) : kino_status_text(err->code),
               err->offset);
    if (err->code == KINO_NOMEM && memory_limit)
        (void)fprintf(stderr, "hint: the memory limit is %.1f GiB; change it with --memory SIZE\n",
                      (double)memory_limit / (1 << 30));
    return code;
}

int kino__report_usage(const kino__command *command, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("", text, KINO_NO_OFFSET);
    if (command)
        (void)fprintf(stderr, "Try 'kino %s --help'.\n", command->name);
    else
        (void)fputs("Try 'kino --help'.\n", stderr);
    return KINO__EXIT_USAGE;
}

void kino__report_note(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("", text, KINO_NO_OFFSET);
}

static const char *simd_level(const kino__common_options *options)
{
    const char *level = options->simd;
    if (!level)
        level = getenv("KINO_SIMD"); /* NOLINT(concurrency-mt-unsafe): nobody calls setenv here */
    return level && *level ? level : NULL;
}

/* An answer never takes the place of a trace that it was made from. */
static int check_output(const kino__common_options *options, const kino_run *run)
{
    kino_trace_info trace = KINO_TRACE_INFO_INIT;
    if (!options->output || strcmp(options->output, "-") == 0)
        return KINO__EXIT_OK;
    for (size_t i = 0; kino_run_trace(run, i, &trace); i++) {
        if (trace.path.size == 0 || !kino__is_same_file(options->output, trace.path.data))
            continue;
        kino__report_note("cannot write '%s': it is the input", options->output);
        return KINO__EXIT_USAGE;
    }
    return KINO__EXIT_OK;
}

int kino__open_run(const kino__common_options *options, char **paths, size_t count, kino_run **out)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->quiet && !options->no_progress);
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    load.jobs = options->jobs;
    load.progress = kino__progress_bar_report;
    load.progress_context = &bar;
    load.simd = simd_level(options);
    load.run = options->run;
    load.span = options->span;
    load.ranks = options->ranks.items.items;
    load.rank_count = options->ranks.items.count;
    load.memory = options->memory;
    load.expansion = options->budget;
    load.takes_summaries = options->takes_summaries;
    load.require_all = options->require_all;
    load.part = options->part;
    load.parts = options->parts;
    if (options->memory > KINO__MEMORY_DEFAULT)
        load.expansion = options->memory;
    kino_error err;
    if (options->opener) {
        int code =
            options->opener->open(options->opener->context, options, &load, paths, count, out);
        kino__progress_bar_end(&bar);
        if (code == KINO__EXIT_OK && !options->quiet)
            kino__report_warnings(*out);
        return code;
    }
    kino_status st = kino_run_open((const char *const *)paths, count, &load, out, &err);
    kino__progress_bar_end(&bar);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    if (!options->quiet)
        kino__report_warnings(*out);
    int code = check_output(options, *out);
    if (code != KINO__EXIT_OK) {
        kino_run_free(*out);
        *out = NULL;
    }
    return code;
}

/* -- output -- */

int kino__output_open(kino__output *output, const kino__common_options *options)
{
    *output = (kino__output){.render = KINO_RENDER_OPTIONS_INIT};
    output->render.hints = KINO_HINTS_OPTION;
    const char *path = options->output ? options->output : "-";
    bool is_stdout = strcmp(path, "-") == 0;
    bool is_for_people =
        strcmp(options->format, "table") == 0 || strcmp(options->format, "md") == 0;
    output->render.format = options->format;
    output->render.table = options->table;
    output->render.limit = options->limit;
    if (options->limit == KINO__LIMIT_DEFAULT)
        output->render.limit = is_for_people ? DEFAULT_LIMIT : 0;
    /* What mpirun puts in the place of a terminal has no width that people see. */
    bool is_direct = is_stdout && !options->opener;
    output->render.width = is_direct ? kino__terminal_width(STDOUT_FILENO) : 0;
    output->render.color = kino__terminal_wants_color(options->color, output->render.width > 0);
    kino_error err;
    kino__error_clear(&err);
    if (kino__file_sink_open(path, &output->sink, &err) != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    return KINO__EXIT_OK;
}

bool kino__output_write(void *context, const char *bytes, size_t size)
{
    kino__output *output = context;
    if (kino__interrupt_was_asked())
        return false;
    return kino__sink_write(output->sink, (kino_str){bytes, size}, &output->error) == KINO_OK;
}

int kino__output_finish(kino__output *output, kino_status st, kino_error *err)
{
    if (output->error.code != KINO_OK)
        *err = output->error; /* knows the file and the reason */
    kino_status closed = kino__sink_close(output->sink, st == KINO_OK, st == KINO_OK ? err : NULL);
    output->sink = NULL;
    if (st == KINO_OK)
        st = closed;
    return st == KINO_OK ? KINO__EXIT_OK : kino__report_error(err, KINO__EXIT_FAILED);
}

int kino__show_result(const kino__common_options *options, const kino_result *result)
{
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, options);
    if (code != KINO__EXIT_OK)
        return code;
    kino_status st = kino_render_result(result, &output.render, kino__output_write, &output, &err);
    return kino__output_finish(&output, st, &err);
}
