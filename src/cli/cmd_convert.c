/* cmd_convert.c - kino convert: from any format read to any format written. */
#include "cli/cli.h"

typedef struct convert_options {
    kino__common_options common;
    const char *to;
} convert_options;

static const kino__option options_table[] = {
    {"to", KINO__OPTION_TEXT, "FORMAT",
     "format of the output (default: by OUT's suffix): json, json.gz, json.zst",
     offsetof(convert_options, to), false},
    {0},
};

static int write_run(const convert_options *options, kino_run *run, const char *out)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->common.quiet && !options->common.no_progress);
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    write.format = options->to;
    write.jobs = options->common.jobs;
    write.progress = kino__progress_bar_report;
    write.progress_context = &bar;
    kino_error err;
    kino_status st = kino_run_write(run, out, &write, &err);
    kino__progress_bar_end(&bar);
    if (st == KINO_OK)
        return KINO__EXIT_OK;
    return kino__report_error(&err, st == KINO_ARGUMENT ? KINO__EXIT_USAGE : KINO__EXIT_FAILED);
}

static int run_convert(void *options, char **arguments, size_t count)
{
    const convert_options *given = options;
    if (count < 2)
        return kino__report_usage(&kino__command_convert,
                                  count ? "which output file?" : "which trace?");
    const char *out = arguments[count - 1];
    if (strcmp(out, "-") == 0 && !given->to)
        return kino__report_usage(&kino__command_convert,
                                  "standard output needs a format: --to FORMAT");
    kino_error err;
    if (kino_writer_check(out, given->to, &err) != KINO_OK)
        return kino__report_usage(&kino__command_convert, "%s", err.message);
    kino_run *run = NULL;
    int code = kino__open_run(&given->common, arguments, count - 1, &run);
    if (code == KINO__EXIT_OK)
        code = write_run(given, run, out);
    kino_run_free(run);
    return code;
}

const kino__command kino__command_convert = {
    .name = "convert",
    .arguments = "IN OUT",
    .summary = "from any format read to any format written, by OUT's suffix or --to",
    .description =
        "Writes a trace in another format. OUT's suffix says which: .json, .json.gz or\n"
        ".json.zst for Chrome JSON as PyTorch writes it; OUT may be - for standard output\n"
        "together with --to. OUT appears whole or not at all, and is never the input.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(convert_options),
    .run = run_convert,
};
