/* cmd_record.c - kino record: a program is run and recorded; its output, exit code and death are
 * its own. What kino has to say comes on standard error, behind it. */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <kino/kino.h>

#include "base/error.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/write_out.h"
#include "record/python_start.h"
#include "record/record.h"

enum {
    EXIT_REFUSED = 126, /* as shells and env have it: it is there, but must not be run */
    EXIT_MISSING = 127, /* it is not there */
    RATE_DEFAULT = 1000,
    RATE_MAX = 100000,
    FILES_SHOWN = 8,
};

typedef struct record_options {
    kino__common_options common;
    const char *output, *categories, *sampling, *stacks, *python;
    unsigned delay_ms, duration_ms, flight_ms;
    uint64_t buffer;
    bool merge, system;
} record_options;

static const kino__option options_table[] = {
    {"output", KINO__OPTION_TEXT, "FILE|DIR",
     "write the trace to FILE or DIR (also -o); the suffix chooses the format, .kino if there is "
     "none (default: PROGRAM-PID.kino)",
     offsetof(record_options, output), false},
    {"delay", KINO__OPTION_SECONDS, "SECONDS",
     "start recording SECONDS after the program starts (default: at once)",
     offsetof(record_options, delay_ms), false},
    {"duration", KINO__OPTION_SECONDS, "SECONDS",
     "stop recording after SECONDS and write the trace; the program continues (default: until the "
     "program exits)",
     offsetof(record_options, duration_ms), false},
    {"sampling", KINO__OPTION_TEXT, "RATE|off",
     "take RATE call stacks per second of CPU time in each thread (default: 1000)",
     offsetof(record_options, sampling), false},
    {"stacks", KINO__OPTION_CHOICE, "auto|fp|dwarf|none",
     "walk stacks by frame pointers (fp) or from a copy of each stack (dwarf), which is slower but "
     "sees more; auto uses frame pointers if the program has them (default: auto)",
     offsetof(record_options, stacks), false},
    {"python", KINO__OPTION_TEXT, "LIST|off",
     "record of Python programs: operators of PyTorch, with their shapes and memory, Python "
     "functions, or samples of them (default: operators,samples)",
     offsetof(record_options, python), false},
    {"system", KINO__OPTION_FLAG, NULL, "also record what else ran on the processors, if permitted",
     offsetof(record_options, system), false},
    {"categories", KINO__OPTION_TEXT, "LIST",
     "record only these categories of events: user_annotation,kernel,cpu_sample,...",
     offsetof(record_options, categories), false},
    {"buffer", KINO__OPTION_SIZE, "SIZE",
     "buffer SIZE of events for each process that has any (default: 64MiB)",
     offsetof(record_options, buffer), false},
    {"flight-recorder", KINO__OPTION_SECONDS, "SECONDS",
     "overwrite the oldest events when the buffer is full, and write the last SECONDS before the "
     "end; 0 writes everything still in the buffer",
     offsetof(record_options, flight_ms), false},
    {"merge", KINO__OPTION_FLAG, NULL,
     "write one file for all processes, not a directory with one file per process",
     offsetof(record_options, merge), false},
    {0},
};

static void init(void *options)
{
    record_options *o = options;
    o->sampling = "1000";
    o->stacks = "auto";
    o->flight_ms = UINT_MAX;
}

/* -o is what everybody types. Only before the program, which has its own. */
static const kino__option *accept_short(void *options, char **arguments, size_t count)
{
    static char output[] = "--output";
    (void)options;
    for (size_t i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], "-o") == 0)
            arguments[i] = output;
    return NULL;
}

/* -- what came of it */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Largest first. */
static int compare_files(const void *left, const void *right)
{
    const kino__record_file *a = *(const kino__record_file *const *)left,
                            *b = *(const kino__record_file *const *)right;
    if (a->events != b->events)
        return a->events > b->events ? -1 : 1;
    return a < b ? -1 : 1;
}

static void tell_files(const kino__record_result *result)
{
    const kino__record_file **files = calloc(result->file_count + 1, sizeof *files);
    size_t shown = result->file_count > FILES_SHOWN ? FILES_SHOWN - 1 : result->file_count;
    if (!files)
        return;
    for (size_t i = 0; i < result->file_count; i++)
        files[i] = &result->files[i];
    qsort(files, result->file_count, sizeof *files, compare_files);
    for (size_t i = 0; i < shown; i++) {
        const kino__record_file *file = files[i];
        if (file->pid)
            kino__report_note("  %s: %" PRIu64 " event%s from %s, process %" PRId64, file->path,
                              file->events, plural(file->events), file->name, file->pid);
        else
            kino__report_note("  %s: %" PRIu64 " event%s", file->path, file->events,
                              plural(file->events));
    }
    if (shown < result->file_count)
        kino__report_note("  and %zu more", result->file_count - shown);
    free(files);
}

static void tell_losses(const kino__record_result *result)
{
    if (result->dropped)
        kino__report_note("%" PRIu64 " record%s dropped: buffer full (use --buffer for a larger "
                          "one, or --flight-recorder to keep the newest)",
                          result->dropped, plural(result->dropped));
    if (result->overwritten)
        kino__report_note("%" PRIu64 " older record%s overwritten by newer ones",
                          result->overwritten, plural(result->overwritten));
    if (result->open_spans)
        kino__report_note("%" PRIu64 " span%s not finished", result->open_spans,
                          plural(result->open_spans));
}

/* What is shown behind the program's end: the bar begins to count then. */
typedef struct screen {
    const kino__common_options *common;
    const char *categories; /* or NULL */
    kino__progress_bar bar;
    bool has_bar;
} screen;

static bool show_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    screen *s = context;
    if (!s->has_bar)
        kino__progress_bar_init(&s->bar, !s->common->quiet && !s->common->no_progress);
    s->has_bar = true;
    return kino__progress_bar_report(&s->bar, what, done, total);
}

static void end_progress(screen *s)
{
    if (s->has_bar)
        kino__progress_bar_end(&s->bar);
    s->has_bar = false;
}

/* The summary. */
static void tell(void *context, const kino__record_result *result)
{
    screen *s = context;
    end_progress(s);
    if (s->common->quiet)
        return;
    if (result->file_count) {
        char samples[64] = "";
        if (result->samples)
            (void)snprintf(samples, sizeof samples, ", including %" PRIu64 " sample%s,",
                           result->samples, plural(result->samples));
        kino__report_note("recorded %" PRIu64 " event%s%s from %zu process%s:", result->events,
                          plural(result->events), samples, result->recorded,
                          result->recorded == 1 ? "" : "es");
        tell_files(result);
    } else if (s->categories) {
        kino__report_note("nothing was recorded in categories '%s'", s->categories);
    } else {
        kino__report_note("nothing was recorded: no ranges, device work or samples");
    }
    tell_losses(result);
    for (size_t i = 0; i < result->note_count; i++)
        kino__report_note("%s", result->notes[i]);
    if (result->file_count && !result->is_special)
        kino__report_note("next: kino report %s", result->file_count > 1 && result->folder
                                                      ? result->folder
                                                      : result->files[0].path);
}

/* -- exit */

/* The program's end becomes ours: also a death by signal, without a second core file. */
static int end_like(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    const struct rlimit none = {0, 0};
    sigset_t set;
    (void)fflush(NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(number);
    return 128 + number;
}

static int code_of(kino_status st)
{
    return st == KINO_NOT_FOUND ? EXIT_MISSING : st == KINO_UNAVAILABLE ? EXIT_REFUSED : 1;
}

/* -- the command */

static bool read_rate(const char *text, unsigned *out)
{
    int64_t rate;
    *out = 0;
    if (strcmp(text, "off") == 0)
        return true;
    if (!kino__str_to_int(kino__str_from(text), &rate) || rate < 1 || rate > RATE_MAX)
        return false;
    *out = (unsigned)rate;
    return true;
}

static bool has_suffix(const char *output)
{
    const char *slash = strrchr(output, '/'), *last = slash ? slash + 1 : output;
    return !*last || strchr(last, '.');
}

/* A name without a suffix is that of a .kino file; a device or a pipe keeps its own. NULL: memory
 * is out. */
static char *complete_output(const char *output)
{
    bool is_whole = has_suffix(output) || kino__output_is_special(output);
    size_t size = strlen(output);
    char *path = malloc(size + sizeof ".kino");
    if (path)
        (void)snprintf(path, size + sizeof ".kino", "%s%s", output, is_whole ? "" : ".kino");
    return path;
}

/* Of the output; NULL: its suffix says it. */
static const char *format_of(const char *output)
{
    return output && !has_suffix(output) ? "kino" : NULL;
}

static int check(const record_options *given, unsigned *rate)
{
    kino_error err;
    size_t size = given->output ? strlen(given->output) : 0;
    if (!read_rate(given->sampling, rate))
        return kino__report_usage(
            &kino__command_record,
            "invalid value '%s' for --sampling (expected: a rate from 1 to %d, or off)",
            given->sampling, RATE_MAX);
    char wrong[64];
    if (given->python && !kino__python_check(given->python, wrong, sizeof wrong))
        return kino__report_usage(&kino__command_record,
                                  "invalid value '%s' for --python (expected: a list of operators, "
                                  "shapes, memory, functions, samples; or off)",
                                  wrong);
    if (given->buffer && given->buffer < KINO_BUDGET_MIN_BYTES)
        return kino__report_usage(&kino__command_record,
                                  "invalid value for --buffer (expected: at least %u MiB)",
                                  KINO_BUDGET_MIN_BYTES >> 20);
    if (given->output && strcmp(given->output, "-.kino") == 0)
        return kino__report_usage(
            &kino__command_record,
            "invalid value '-' for --output: standard output belongs to the program");
    if (given->output && !(size && given->output[size - 1] == '/') &&
        kino_writer_check(given->output, format_of(given->output), &err) != KINO_OK)
        return kino__report_usage(&kino__command_record, "--output: %s", kino__error_text(&err));
    return KINO__EXIT_OK;
}

static int record(const record_options *given, char **command, unsigned rate,
                  const kino__text_list *categories)
{
    screen show = {.common = &given->common, .categories = given->categories};
    kino__record_result result;
    kino_error err;
    bool is_flight = given->flight_ms != UINT_MAX;
    kino__record_options options = {
        .command = command,
        .output = given->output,
        .format = format_of(given->output),
        .delay_ms = given->delay_ms,
        .duration_ms = given->duration_ms,
        .budget = given->buffer,
        .is_flight = is_flight,
        .flight_ms = is_flight ? given->flight_ms : 0,
        .frequency = rate,
        .stacks = given->stacks,
        .system = given->system,
        .merge = given->merge,
        .python = given->python ? given->python
                  : rate        ? "operators,samples"
                                : "operators",
        .categories = categories->items.items,
        .category_count = categories->items.count,
        .progress = show_progress,
        .progress_context = &show,
        .finished = tell,
        .finished_context = &show,
    };
    kino_status st = kino__record_run(&options, &result, &err);
    end_progress(&show);
    int code = KINO__EXIT_OK;
    if (st != KINO_OK)
        code = kino__report_error(&err, result.has_run ? KINO__EXIT_FAILED : code_of(st));
    for (size_t i = 0; st != KINO_OK && i < result.note_count; i++)
        kino__report_note("%s", result.notes[i]);
    bool has_run = result.has_run;
    int status = result.status;
    kino__record_result_deinit(&result);
    if (!has_run || (code && WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return code;
    return end_like(status);
}

static int run_record(void *options, char **arguments, size_t count)
{
    record_options *given = options;
    kino_error err = {.code = KINO_NOMEM, .message = "out of memory"};
    kino__text_list categories = {0};
    unsigned rate;
    if (!count)
        return kino__report_usage(
            &kino__command_record,
            "missing argument: PROGRAM (kino record [options] -- PROGRAM [ARGUMENTS])");
    char *output = given->output ? complete_output(given->output) : NULL;
    if (given->output && !output)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    given->output = output;
    int code = check(given, &rate);
    arguments[count] = NULL; /* where argv had its own */
    if (code == KINO__EXIT_OK)
        code = kino__text_list_init(&categories, given->categories)
                   ? record(given, arguments, rate, &categories)
                   : kino__report_error(&err, KINO__EXIT_FAILED);
    kino__text_list_deinit(&categories);
    free(output);
    return code;
}

/* Options come before the program, whose own follow it. */
static bool print_help(kino__buffer *out, const void *options, bool is_manual)
{
    (void)options;
    if (is_manual)
        return false;
    kino__option_set set = kino__command_options(&kino__command_record);
    kino__buffer_printf(out,
                        "usage: kino record [options] -- PROGRAM [ARGUMENTS]\n\n%s\noptions:\n",
                        kino__command_record.description);
    kino__options_print_help(out, &set);
    return true;
}

const kino__command kino__command_record = {
    .name = "record",
    .arguments = "-- PROGRAM [ARGUMENTS]",
    .summary = "run a program and record a trace of it",
    .description = "Runs PROGRAM and records it and its children: ranges marked with NVTX, ITT or\n"
                   "libkino, work on GPUs (CUDA, ROCm, XPU) and OpenCL devices, operators of\n"
                   "PyTorch, Python functions, and call-stack samples. The program does not need\n"
                   "to be rebuilt or changed. Its input, output, exit code and signals are not\n"
                   "affected, and a program that crashes or is killed still leaves a trace. Each\n"
                   "process gets its own trace; several traces go to a directory, or to one file\n"
                   "with --merge. At the end, kino record lists what could not be recorded and\n"
                   "why; 'kino doctor' shows this in advance.\n",
    .options = options_table,
    .options_size = sizeof(record_options),
    .init = init,
    .more_options = accept_short,
    .run = run_record,
    .print_help = print_help,
};
