/* cmd_cut.c - kino cut: a smaller trace that still hangs together. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/write_out.h"

typedef struct cut_options {
    kino__common_options common;
    const char *format;
    const char *from, *to, *steps;
    const char *categories, *drop, *names;
} cut_options;

static const kino__option options_table[] = {
    {"from", KINO__OPTION_TEXT, "TIME",
     "keep what ends after TIME: 1.5s, 200ms, 37us, 12ns or 12 after the run's start; -200ms is "
     "before its end",
     offsetof(cut_options, from), false},
    {"to", KINO__OPTION_TEXT, "TIME", "keep what starts before TIME", offsetof(cut_options, to),
     false},
    {"steps", KINO__OPTION_TEXT, "A-B", "keep these steps: 3, 3-5, 3- or -5",
     offsetof(cut_options, steps), false},
    {"category", KINO__OPTION_TEXT, "LIST", "keep only events of these categories: kernel,cpu_op",
     offsetof(cut_options, categories), false},
    {"drop", KINO__OPTION_TEXT, "LIST",
     "drop events of these categories, even if a link needs them", offsetof(cut_options, drop),
     false},
    {"name", KINO__OPTION_TEXT, "LIST",
     "keep only events whose full name matches one of these patterns: '*gemm*,aten::mm'",
     offsetof(cut_options, names), false},
    {"format", KINO__OPTION_TEXT, "FORMAT", "write this format (default: chosen by OUT's suffix)",
     offsetof(cut_options, format), false},
    {0},
};

/* -- values -- */

/* "1.5s" in ns; a number alone is ns. False for junk, and for parts of a ns. */
static bool parse_time(const char *text, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},       {"us", 1000},      {"\xc2\xb5s", 1000},
                 {"ms", 1000000}, {"s", 1000000000}, {"min", INT64_C(60000000000)},
                 {"", 1}};
    bool is_negative = *text == '-';
    text += is_negative;
    __int128 value = 0, scale = 1;
    size_t digits = 0;
    bool has_point = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !has_point); text++) {
        has_point |= *text == '.';
        if (*text == '.')
            continue;
        value = value * 10 + (*text - '0');
        scale *= has_point ? 10 : 1;
        if (++digits > 24)
            return false;
    }
    size_t u = 0;
    while (u < sizeof units / sizeof *units && strcmp(text, units[u].name) != 0)
        u++;
    if (digits == 0 || u == sizeof units / sizeof *units)
        return false;
    value *= units[u].ns;
    if (value % scale || value / scale > INT64_MAX / 4)
        return false;
    *out = (int64_t)(value / scale);
    *out = is_negative ? -*out : *out;
    return true;
}

/* "3", "3-5", "3-", "-5" */
static bool parse_steps(const char *text, int64_t *first, int64_t *last)
{
    const char *dash = strchr(text, '-');
    kino_str low = {text, dash ? (size_t)(dash - text) : strlen(text)};
    kino_str high = dash ? kino__str_from(dash + 1) : low;
    if (low.size == 0 && high.size == 0)
        return false;
    return (low.size == 0 || kino__str_to_int(low, first)) &&
           (high.size == 0 || (high.data[0] != '-' && kino__str_to_int(high, last)));
}

static int read_window(const cut_options *given, kino_cut_options *cut)
{
    const char *const times[] = {given->from, given->to};
    int64_t *const targets[] = {&cut->from_ns, &cut->to_ns};
    for (int i = 0; i < 2; i++)
        if (times[i] && !parse_time(times[i], targets[i]))
            return kino__report_usage(
                &kino__command_cut,
                "invalid value '%s' for --%s (expected: a time such as 1.5s, 200ms, 37us or 12ns)",
                times[i], i ? "to" : "from");
    if (given->steps && !parse_steps(given->steps, &cut->first_step, &cut->last_step))
        return kino__report_usage(
            &kino__command_cut,
            "invalid value '%s' for --steps (expected: steps such as 3, 3-5, 3- or -5)",
            given->steps);
    return KINO__EXIT_OK;
}

/* -- the work -- */

static void tell(const kino_cut_counts *counts)
{
    char added[128] = "";
    if (counts->launches || counts->ops)
        (void)snprintf(added, sizeof added,
                       " (including %" PRIu64 " launch%s and %" PRIu64 " op%s needed by links)",
                       counts->launches, counts->launches == 1 ? "" : "es", counts->ops,
                       counts->ops == 1 ? "" : "s");
    kino__report_note("kept %" PRIu64 " of %" PRIu64 " events%s", counts->kept, counts->events,
                      added);
}

static int cut_run(const cut_options *given, const kino_cut_options *options, kino_run *run,
                   const kino__write_target *target)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_cut_options cut = *options;
    cut.progress = kino__progress_bar_report;
    cut.progress_context = &bar;
    kino_run *made = NULL;
    kino_cut_counts counts;
    kino_error err;
    kino_status st = kino_run_cut(run, &cut, &made, &counts, &err);
    kino__progress_bar_end(&bar);
    if (st == KINO_ARGUMENT)
        return kino__report_usage(&kino__command_cut, "%s", kino__error_text(&err));
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    if (!given->common.quiet)
        kino__report_warnings(made);
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    write.format = given->format;
    int code = kino__target_write(&given->common, target, &write, made);
    if (code == KINO__EXIT_OK && !given->common.quiet)
        tell(&counts);
    kino_run_free(made);
    return code;
}

static int open_and_cut(const cut_options *given, kino_cut_options *cut, char **arguments,
                        size_t count, const kino__write_target *target)
{
    kino__text_list categories, drop, names;
    bool ok = kino__text_list_init(&categories, given->categories);
    ok &= kino__text_list_init(&drop, given->drop);
    ok &= kino__text_list_init(&names, given->names);
    cut->categories = categories.items.items;
    cut->category_count = categories.items.count;
    cut->drop = drop.items.items;
    cut->drop_count = drop.items.count;
    cut->names = names.items.items;
    cut->name_count = names.items.count;
    kino_run *run = NULL;
    kino_error err;
    int code = KINO__EXIT_OK;
    if (!ok) {
        (void)kino__fail_nomem(&err);
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    }
    if (code == KINO__EXIT_OK)
        code = kino__open_run(&given->common, arguments, count - 1, &run);
    if (code == KINO__EXIT_OK)
        code = cut_run(given, cut, run, target);
    kino_run_free(run);
    kino__text_list_deinit(&categories);
    kino__text_list_deinit(&drop);
    kino__text_list_deinit(&names);
    return code;
}

static int run_cut(void *options, char **arguments, size_t count)
{
    const cut_options *given = options;
    if (count < 2)
        return kino__report_usage(&kino__command_cut,
                                  count ? "missing argument: OUT" : "missing argument: IN");
    if (!given->from && !given->to && !given->steps && !given->categories && !given->drop &&
        !given->names && !given->common.ranks.items.count)
        return kino__report_usage(
            &kino__command_cut,
            "nothing to cut: specify --from, --to, --steps, --rank, --category, --drop or --name");
    kino_cut_options cut = KINO_CUT_OPTIONS_INIT;
    int code = read_window(given, &cut);
    kino__write_target target;
    if (code == KINO__EXIT_OK)
        code = kino__target_check(&kino__command_cut, arguments[count - 1], given->format, "format",
                                  &target);
    if (code == KINO__EXIT_OK)
        code = open_and_cut(given, &cut, arguments, count, &target);
    return code;
}

const kino__command kino__command_cut = {
    .name = "cut",
    .arguments = "IN OUT",
    .summary = "extract a window, ranks, categories or names",
    .description =
        "Writes the part of a trace that meets all given conditions. Spans that overlap\n"
        "the window are kept in full, and so is device work whose launch overlaps it.\n"
        "Kept device work keeps its launch and its operator; arrows are kept with both\n"
        "ends. OUT is a file, or a directory (with --format) if IN is a directory of\n"
        "traces.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(cut_options),
    .run = run_cut,
};
