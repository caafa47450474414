/* cmd_report.c - kino report: where the time goes and what to do about it. */
#include <malloc.h>

#include <kino/summary.h>

#include "base/error.h"
#include "cli/cli.h"

typedef struct report_options {
    kino__common_options common;
    const char *compat, *steps;
    bool full;
    unsigned width;
} report_options;

#define COMMON(name) offsetof(report_options, common.name)

static const kino__option options_table[] = {
    {"full", KINO__OPTION_FLAG, NULL,
     "show all details: every recommendation, steps, modules, collectives",
     offsetof(report_options, full), false},
    {"format", KINO__OPTION_CHOICE, "table|json|md|html",
     "print the report in this format; html is a single self-contained page (default: table)",
     COMMON(format), false},
    {"output", KINO__OPTION_TEXT, "FILE", "write the report to FILE (default: standard output)",
     COMMON(output), false},
    {"steps", KINO__OPTION_TEXT, "A-B",
     "restrict the step time and its parts to these profiler steps: 5 or 3-7",
     offsetof(report_options, steps), false},
    {"compat", KINO__OPTION_CHOICE, "tensorboard",
     "reproduce the numbers of the TensorBoard plugin, including its defects",
     offsetof(report_options, compat), false},
    {"limit", KINO__OPTION_COUNT, "N",
     "show at most N rows of each table in the details; 0 for all (default: 50; JSON: all)",
     COMMON(limit), false},
    {"width", KINO__OPTION_UINT, "N",
     "fit the report into N columns (default: terminal width, or 100 if there is no terminal)",
     offsetof(report_options, width), false},
    KINO__MEMORY_OPTION(COMMON(memory)),
    KINO__REQUIRE_ALL_OPTION(COMMON(require_all)),
    {0},
};

static void init(void *options)
{
    report_options *o = options;
    o->common.span = "newest";
    o->common.memory = KINO__MEMORY_DEFAULT;
    o->common.takes_summaries = true;
}

static int show_report(const report_options *given, const kino_report *report)
{
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, &given->common);
    if (code != KINO__EXIT_OK)
        return code;
    if (given->width)
        output.render.width = given->width;
    if (strcmp(given->common.format, "html") == 0 && given->common.limit == KINO__LIMIT_DEFAULT)
        output.render.limit = 500;
    kino_status st = kino_render_report(report, &output.render, kino__output_write, &output, &err);
    return kino__output_finish(&output, st, &err);
}

static int make_report(const report_options *given, kino_run *run, const kino_report_options *how)
{
    kino_report *report = NULL;
    kino_error err;
    kino_report_options options = *how;
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    options.progress = kino__progress_bar_report;
    options.progress_context = &bar;
    kino_status st = kino_run_report(run, &options, &report, &err);
    kino__progress_bar_end(&bar);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    int code = show_report(given, report);
    kino_report_free(report);
    return code;
}

static int run_report(void *options, char **arguments, size_t count)
{
    report_options *given = options;
    kino_error err;
#ifdef M_ARENA_MAX
    /* Analyses beside each other ask seldom and for much: heaps for each thread only keep it, and
     * what is large goes back at once. */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
    if (count == 0)
        return kino__report_usage(&kino__command_report, "missing argument: TRACE or DIR");
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    how.jobs = given->common.jobs;
    how.alone = how.last = true;
    how.compat = given->compat;
    how.steps = given->steps;
    how.full = given->full || strcmp(given->common.format, "html") == 0;
    if (kino_report_check(&how, &err) != KINO_OK)
        return kino__report_usage(&kino__command_report, "%s", kino__error_text(&err));
    kino_run *run = NULL;
    kino_summarize_options asks = KINO_SUMMARIZE_OPTIONS_INIT;
    asks.report = true;
    asks.how = &how;
    given->common.asks = &asks;
    int code = kino__open_run(&given->common, arguments, count, &run);
    if (code == KINO__EXIT_OK)
        code = make_report(given, run, &how);
    kino_run_free(run);
    return code;
}

int kino__show_report(const kino__common_options *options, char **paths, size_t count)
{
    report_options given = {.common = *options};
    init(&given);
    return run_report(&given, paths, count);
}

const kino__command kino__command_report = {
    .name = "report",
    .arguments = "TRACE|DIR...",
    .summary = "show where the time goes and what to fix first",
    .description =
        "Summarizes a trace or a run on one screen: what ran, where the step time goes,\n"
        "what to fix first and how much that could save, the largest operators and\n"
        "kernels, memory and communication. --full adds details. If a directory holds\n"
        "several recordings, the newest is used. Data that a trace does not contain is\n"
        "reported as missing, never shown as 0. Summaries (kino summarize) take the place\n"
        "of traces.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .is_for_clusters = true,
    .options_size = sizeof(report_options),
    .init = init,
    .run = run_report,
};
