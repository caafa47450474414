/* cmd_convert.c - kino convert: from any format read to any format written. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/write_out.h"

typedef struct convert_options {
    kino__common_options common;
    const char *to;
    const char *stacks, *weight;
    bool merge, redact;
    const char *redact_key, *redact_words;
} convert_options;

static const kino__option options_table[] = {
    {"to", KINO__OPTION_TEXT, "FORMAT",
     "format of the output, one of the above (default: by OUT's suffix)",
     offsetof(convert_options, to), false},
    {"stacks", KINO__OPTION_CHOICE, "combined|python|op",
     "spans that formats of stacks are made of: all (default), those of the Python tracer, or all "
     "others",
     offsetof(convert_options, stacks), false},
    {"weight", KINO__OPTION_CHOICE, "time|count",
     "what collapsed stacks add up: own time in ns (default), or calls",
     offsetof(convert_options, weight), false},
    {"merge", KINO__OPTION_FLAG, NULL, "all ranks as one trace; pids and ids are kept apart",
     offsetof(convert_options, merge), false},
    {"redact", KINO__OPTION_FLAG, NULL,
     "replace paths, hosts, users and names that are not the framework's by tokens",
     offsetof(convert_options, redact), false},
    {"redact-key", KINO__OPTION_TEXT, "KEY",
     "with --redact: makes tokens that nobody can guess without KEY",
     offsetof(convert_options, redact_key), false},
    {"redact-words", KINO__OPTION_TEXT, "LIST",
     "with --redact: words to replace as well, wherever they stand",
     offsetof(convert_options, redact_words), false},
    {0},
};

static int write_run(const convert_options *options, kino_run *run, const kino__target *target)
{
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    write.format = options->to;
    write.stacks = options->stacks;
    write.weight = options->weight;
    return kino__target_write(&options->common, target, &write, run);
}

static kino_status redact(const convert_options *options, kino__progress_bar *bar, kino_run *run,
                          kino_run **out, kino_error *err)
{
    kino__text_list words;
    kino_redact_options redact = KINO_REDACT_OPTIONS_INIT;
    kino_status st =
        kino__text_list_init(&words, options->redact_words) ? KINO_OK : kino__fail_nomem(err);
    redact.key = options->redact_key;
    redact.progress = kino__progress_bar_report;
    redact.progress_context = bar;
    redact.words = words.items.items;
    redact.word_count = words.items.count;
    if (st == KINO_OK)
        st = kino_run_redact(run, &redact, out, err);
    kino__text_list_deinit(&words);
    return st;
}

/* The run as it was asked for: redacted, merged, both or neither. */
static int change_and_write(const convert_options *options, kino_run *run,
                            const kino__target *target)
{
    kino_run *redacted = NULL, *merged = NULL;
    kino_error err;
    kino_status st = KINO_OK;
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->common.quiet && !options->common.no_progress);
    kino_merge_options merge = KINO_MERGE_OPTIONS_INIT;
    merge.progress = kino__progress_bar_report;
    merge.progress_context = &bar;
    if (options->redact)
        st = redact(options, &bar, run, &redacted, &err);
    if (st == KINO_OK && options->merge)
        st = kino_run_merge(redacted ? redacted : run, &merge, &merged, &err);
    kino__progress_bar_end(&bar);
    int code = st == KINO_OK ? KINO__EXIT_OK : kino__report_error(&err, KINO__EXIT_FAILED);
    if (code == KINO__EXIT_OK)
        code = write_run(options, merged ? merged : redacted ? redacted : run, target);
    kino_run_free(merged);
    kino_run_free(redacted);
    return code;
}

static int run_convert(void *options, char **arguments, size_t count)
{
    const convert_options *given = options;
    if (count < 2)
        return kino__report_usage(&kino__command_convert,
                                  count ? "which output file?" : "which trace?");
    if (!given->redact && (given->redact_key || given->redact_words))
        return kino__report_usage(&kino__command_convert,
                                  "--redact-key and --redact-words need --redact");
    kino__target target;
    int code =
        kino__target_check(&kino__command_convert, arguments[count - 1], given->to, "to", &target);
    kino_run *run = NULL;
    if (code == KINO__EXIT_OK)
        code = kino__open_run(&given->common, arguments, count - 1, &run);
    if (code == KINO__EXIT_OK)
        code = change_and_write(given, run, &target);
    kino_run_free(run);
    return code;
}

static void describe_formats(kino__buffer *out)
{
    enum { HELP_COLUMN = 20 };
    const char *name, *suffix, *help;
    kino__buffer_add(out, KINO__STR("formats:\n"));
    for (size_t i = 0; kino_writer_describe(i, &name, &suffix, &help); i++)
        kino__buffer_printf(out, "  %-*s%s\n", HELP_COLUMN - 2, suffix + 1, help);
    kino__buffer_add(out, KINO__STR("\n"));
}

const kino__command kino__command_convert = {
    .name = "convert",
    .arguments = "IN OUT",
    .summary = "from any format read to any format written, by OUT's suffix or --to",
    .description =
        "Writes a trace in another format. OUT's suffix says which; formats of text take\n"
        ".gz or .zst behind it. OUT may be - for standard output, or a folder for a file\n"
        "per trace; both need --to. OUT appears whole or not at all, and is never the\n"
        "input.\n",
    .describe = describe_formats,
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(convert_options),
    .run = run_convert,
};
