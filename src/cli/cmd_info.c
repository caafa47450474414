/* cmd_info.c - kino info: what is in a trace or a run. */
#include "cli/cli.h"

static int run_info(void *options, char **arguments, size_t count)
{
    kino_run *run = NULL;
    kino_result *result = NULL;
    kino_error err;
    if (count == 0)
        return kino__report_usage(&kino__command_info, "missing argument: TRACE or DIR");
    int code = kino__open_run(options, arguments, count, &run);
    if (code != KINO__EXIT_OK)
        return code;
    if (kino_run_info(run, &result, &err) == KINO_OK)
        code = kino__show_result(options, result);
    else
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    kino_result_free(result);
    kino_run_free(run);
    return code;
}

const kino__command kino__command_info = {
    .name = "info",
    .arguments = "TRACE|DIR...",
    .summary = "show what a trace contains and what is damaged",
    .description =
        "Shows what a trace, or a directory of traces, contains: its origin, clock and\n"
        "length, devices, steps, events by phase and category, threads and streams, and\n"
        "what was damaged. A trace is a file, or - for standard input.\n",
    .groups = KINO__COMMAND_LOADS | KINO__COMMAND_PRINTS,
    .options_size = sizeof(kino__common_options),
    .run = run_info,
};
