/* cmd_convert.c - kino convert: from any format read to any format written. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/write_out.h"

typedef struct convert_options {
    kino__common_options common;
    const char *to;
    const char *stacks, *weight;
    bool merge, redact;
    const char *align;
    const char *redact_key, *redact_words;
    bool counters, critical_path;
    bool include_last_step;
    const char *compat;
    const char *annotation, *instance, *data_load_events; /* of the analysis critical-path */
    bool zero_weight_edges, all_events, all_edges;
    const char *kernel_sequences, *min_pattern_len, *top_k; /* of the analysis kernel-sequences */
} convert_options;

static const kino__option options_table[] = {
    {"to", KINO__OPTION_TEXT, "FORMAT",
     "write this format, one of the above (default: chosen by OUT's suffix)",
     offsetof(convert_options, to), false},
    {"stacks", KINO__OPTION_CHOICE, "combined|python|op",
     "for stack formats: use all spans, only those of the Python tracer, or all others (default: "
     "combined)",
     offsetof(convert_options, stacks), false},
    {"weight", KINO__OPTION_CHOICE, "time|count",
     "for collapsed stacks: add up self time in ns or count calls (default: time)",
     offsetof(convert_options, weight), false},
    {"merge", KINO__OPTION_FLAG, NULL,
     "write all ranks as one trace, keeping their pids and ids distinct",
     offsetof(convert_options, merge), false},
    {"align", KINO__OPTION_TEXT, "auto|off|FILE",
     "put all ranks on one clock: from their collectives, not at all, or as FILE says (default: "
     "auto with --merge, otherwise off)",
     offsetof(convert_options, align), false},
    {"redact", KINO__OPTION_FLAG, NULL,
     "replace paths, hosts, users and names that are not the framework's with tokens",
     offsetof(convert_options, redact), false},
    {"redact-key", KINO__OPTION_TEXT, "KEY",
     "with --redact: make tokens that cannot be guessed without KEY",
     offsetof(convert_options, redact_key), false},
    {"redact-words", KINO__OPTION_TEXT, "LIST",
     "with --redact: also replace these words wherever they occur",
     offsetof(convert_options, redact_words), false},
    {"counters", KINO__OPTION_FLAG, NULL,
     "add counters: queue lengths, memory bandwidth, utilization, allocated memory",
     offsetof(convert_options, counters), false},
    {"critical-path", KINO__OPTION_FLAG, NULL,
     "draw the critical path: mark its events, add arrows along its waits, drop other spans",
     offsetof(convert_options, critical_path), false},
    {"annotation", KINO__OPTION_TEXT, "TEXT",
     "with --critical-path: analyze the events whose name contains TEXT (default: ProfilerStep)",
     offsetof(convert_options, annotation), false},
    {"instance", KINO__OPTION_TEXT, "N|A-B",
     "with --critical-path: analyze these of the matching events, counting from 0 (default: 0)",
     offsetof(convert_options, instance), false},
    {"data-load-events", KINO__OPTION_TEXT, "LIST",
     "with --critical-path: treat events whose name contains one of these as data loading",
     offsetof(convert_options, data_load_events), false},
    {"zero-weight-edges", KINO__OPTION_FLAG, NULL,
     "with --critical-path: add an edge from every launch to its work",
     offsetof(convert_options, zero_weight_edges), false},
    {"all-events", KINO__OPTION_FLAG, NULL,
     "with --critical-path: keep spans that are not on the path",
     offsetof(convert_options, all_events), false},
    {"all-edges", KINO__OPTION_FLAG, NULL,
     "with --critical-path: keep all spans and draw all edges of the graph",
     offsetof(convert_options, all_edges), false},
    {"kernel-sequences", KINO__OPTION_TEXT, "OP",
     "mark the calls of operators whose name contains OP that run the most frequent kernel "
     "sequences",
     offsetof(convert_options, kernel_sequences), false},
    {"min-pattern-len", KINO__OPTION_TEXT, "N",
     "with --kernel-sequences: ignore calls that run fewer than N kernels (default: 3)",
     offsetof(convert_options, min_pattern_len), false},
    {"top-k", KINO__OPTION_TEXT, "N",
     "with --kernel-sequences: mark the N most frequent sequences; 0 for all (default: 5)",
     offsetof(convert_options, top_k), false},
    {"include-last-step", KINO__OPTION_FLAG, NULL,
     "with --compat: include the last profiler step, which HTA leaves out (default without "
     "--compat)",
     offsetof(convert_options, include_last_step), false},
    {"compat", KINO__OPTION_CHOICE, "hta|hta-ns",
     "with --counters, --critical-path, --kernel-sequences: reproduce HTA's results",
     offsetof(convert_options, compat), false},
    {0},
};

static int write_run(const convert_options *options, kino_run *run,
                     const kino__write_target *target)
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

static kino_status align(const convert_options *options, kino__progress_bar *bar, kino_run *run,
                         kino_run **out, kino_error *err)
{
    kino_align_options align = KINO_ALIGN_OPTIONS_INIT;
    bool is_auto = !options->align || strcmp(options->align, "auto") == 0;
    align.file = is_auto ? NULL : options->align;
    align.progress = kino__progress_bar_report;
    align.progress_context = bar;
    return kino_run_align(run, &align, out, err);
}

static bool wants_alignment(const convert_options *options)
{
    return options->align ? strcmp(options->align, "off") != 0 : options->merge;
}

static kino_status merge(const convert_options *options, kino__progress_bar *bar, kino_run *run,
                         kino_run **out, kino_error *err)
{
    (void)options;
    kino_merge_options merge = KINO_MERGE_OPTIONS_INIT;
    merge.progress = kino__progress_bar_report;
    merge.progress_context = bar;
    return kino_run_merge(run, &merge, out, err);
}

static kino_status add_counters(const convert_options *options, kino__progress_bar *bar,
                                kino_run *run, kino_run **out, kino_error *err)
{
    kino_counter_options counters = KINO_COUNTER_OPTIONS_INIT;
    counters.compat = options->compat;
    counters.include_last_step = options->include_last_step;
    counters.progress = kino__progress_bar_report;
    counters.progress_context = bar;
    return kino_run_add_counters(run, &counters, out, err);
}

/* -- overlays, with the parameters of their analyses -- */

enum { MOST_PARAMS = 6 };

typedef struct params {
    kino_param items[MOST_PARAMS];
    size_t count;
} params;

/* Those that were given. */
static void add_param(params *to, const char *name, const char *value)
{
    if (value)
        to->items[to->count++] = (kino_param){name, value};
}

static params critical_params(const convert_options *options)
{
    params p = {.count = 0};
    add_param(&p, "annotation", options->annotation);
    add_param(&p, "instance", options->instance);
    add_param(&p, "data_load_events", options->data_load_events);
    add_param(&p, "zero_weight_edges", options->zero_weight_edges ? "yes" : NULL);
    add_param(&p, "include_last_step", options->include_last_step ? "yes" : NULL);
    add_param(&p, "compat", options->compat);
    return p;
}

static kino_status overlay_critical_path(const convert_options *options, kino__progress_bar *bar,
                                         kino_run *run, kino_run **out, kino_error *err)
{
    const params p = critical_params(options);
    kino_critical_overlay_options overlay = KINO_CRITICAL_OVERLAY_OPTIONS_INIT;
    overlay.params = p.items;
    overlay.param_count = p.count;
    overlay.all_events = options->all_events;
    overlay.all_edges = options->all_edges;
    overlay.progress = kino__progress_bar_report;
    overlay.progress_context = bar;
    return kino_run_overlay_critical_path(run, &overlay, out, err);
}

static params sequence_params(const convert_options *options)
{
    params p = {.count = 0};
    add_param(&p, "op", options->kernel_sequences);
    add_param(&p, "min_pattern_len", options->min_pattern_len);
    add_param(&p, "top_k", options->top_k);
    add_param(&p, "include_last_step", options->include_last_step ? "yes" : NULL);
    add_param(&p, "compat", options->compat);
    return p;
}

static kino_status overlay_sequences(const convert_options *options, kino__progress_bar *bar,
                                     kino_run *run, kino_run **out, kino_error *err)
{
    const params p = sequence_params(options);
    kino_sequence_overlay_options overlay = KINO_SEQUENCE_OVERLAY_OPTIONS_INIT;
    overlay.params = p.items;
    overlay.param_count = p.count;
    overlay.progress = kino__progress_bar_report;
    overlay.progress_context = bar;
    return kino_run_overlay_kernel_sequences(run, &overlay, out, err);
}

/* -- all of them -- */

typedef kino_status (*change)(const convert_options *options, kino__progress_bar *bar,
                              kino_run *run, kino_run **out, kino_error *err);

static int make_change(const convert_options *options, change make, kino_run *run, kino_run **out)
{
    kino__progress_bar bar;
    kino_error err;
    kino__progress_bar_init(&bar, !options->common.quiet && !options->common.no_progress);
    kino_status st = make(options, &bar, run, out, &err);
    kino__progress_bar_end(&bar);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    bool is_asked_for = make != align || options->align; /* else clocks are a courtesy */
    if (!options->common.quiet && is_asked_for)
        kino__report_warnings(*out);
    return KINO__EXIT_OK;
}

/* The run as it was asked for. Counters and sequences are made while all events are there, and what
 * was added is redacted and merged as well. Each run borrows from the one before. */
static int change_and_write(const convert_options *options, kino_run *run,
                            const kino__write_target *target)
{
    enum { CHANGES = 6 };
    static const change changes[CHANGES] = {
        align, add_counters, overlay_sequences, overlay_critical_path, redact, merge};
    const bool is_wanted[CHANGES] = {
        wants_alignment(options), options->counters, options->kernel_sequences != NULL,
        options->critical_path,   options->redact,   options->merge};
    kino_run *made[CHANGES] = {NULL};
    int code = KINO__EXIT_OK;
    for (size_t i = 0; i < CHANGES && code == KINO__EXIT_OK; i++) {
        if (!is_wanted[i])
            continue;
        code = make_change(options, changes[i], run, &made[i]);
        run = made[i];
    }
    if (code == KINO__EXIT_OK)
        code = write_run(options, run, target);
    for (size_t i = CHANGES; i-- > 0;)
        kino_run_free(made[i]);
    return code;
}

/* Options that mean nothing without another one, and values that do not fit. */
static int check_options(const convert_options *given)
{
    if (!given->redact && (given->redact_key || given->redact_words))
        return kino__report_usage(&kino__command_convert,
                                  "--redact-key and --redact-words require --redact");
    bool has_path_options = given->annotation || given->instance || given->data_load_events ||
                            given->zero_weight_edges || given->all_events || given->all_edges;
    if (!given->critical_path && has_path_options)
        return kino__report_usage(
            &kino__command_convert,
            "--annotation, --instance, --data-load-events, --zero-weight-edges, --all-events and "
            "--all-edges require --critical-path");
    if (!given->kernel_sequences && (given->min_pattern_len || given->top_k))
        return kino__report_usage(&kino__command_convert,
                                  "--min-pattern-len and --top-k require --kernel-sequences");
    if (given->kernel_sequences && given->redact)
        return kino__report_usage(&kino__command_convert,
                                  "--kernel-sequences and --redact cannot be combined: redact "
                                  "first, then mark sequences in the output");
    bool has_overlay = given->counters || given->critical_path || given->kernel_sequences;
    if (!has_overlay && (given->compat || given->include_last_step))
        return kino__report_usage(&kino__command_convert,
                                  "--compat and --include-last-step require --counters, "
                                  "--critical-path or --kernel-sequences");
    const params path = critical_params(given), sequences = sequence_params(given);
    kino_error err;
    if ((given->critical_path &&
         kino_analysis_check("critical-path", path.items, path.count, &err) != KINO_OK) ||
        (given->kernel_sequences && kino_analysis_check("kernel-sequences", sequences.items,
                                                        sequences.count, &err) != KINO_OK))
        return kino__report_usage(&kino__command_convert, "%s", kino__error_text(&err));
    return KINO__EXIT_OK;
}

static int run_convert(void *options, char **arguments, size_t count)
{
    const convert_options *given = options;
    if (count < 2)
        return kino__report_usage(&kino__command_convert,
                                  count ? "missing argument: OUT" : "missing argument: IN");
    kino__write_target target;
    kino_run *run = NULL;
    int code = check_options(given);
    if (code == KINO__EXIT_OK)
        code = kino__target_check(&kino__command_convert, arguments[count - 1], given->to, "to",
                                  &target);
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
    .summary = "convert a trace to another format",
    .description =
        "Converts a trace to another format, chosen by OUT's suffix; append .gz or .zst\n"
        "to a text format to compress it. OUT may be - for standard output, or a\n"
        "directory for one file per trace; both require --to. OUT is complete or does\n"
        "not appear at all, and must not be the input.\n",
    .describe = describe_formats,
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(convert_options),
    .run = run_convert,
};
