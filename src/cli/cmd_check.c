/* cmd_check.c - kino check: is a trace or run complete and valid? The completeness analysis with a
 * verdict in front, and a gate for scripts. */
#include <stdio.h>

#include <kino/summary.h>

#include "base/error.h"
#include "cli/cli.h"

typedef struct check_options {
    kino__common_options common;
    const char *fail_on;
} check_options;

static const kino__option options_table[] = {
    {"fail-on", KINO__OPTION_TEXT, "KIND,...",
     "exit with 3 if one of these is found: kinds (truncated), severities (loss, damage, warning, "
     "note), or any (everything except notes)",
     offsetof(check_options, fail_on), false},
    KINO__MEMORY_OPTION(offsetof(check_options, common.memory)),
    KINO__REQUIRE_ALL_OPTION(offsetof(check_options, common.require_all)),
    {0},
};

static void init(void *options)
{
    check_options *o = options;
    o->common.memory = KINO__MEMORY_DEFAULT;
    o->common.takes_summaries = true;
}

enum { LOSS, DAMAGE, WARNING, NOTE, SEVERITY_COUNT };
static const char *const severities[SEVERITY_COUNT] = {"loss", "damage", "warning", "note"};

typedef struct summary {
    uint64_t rows[SEVERITY_COUNT]; /* of the findings */
    kino__buffer failed;           /* what --fail-on names and was found: "truncated (rank 0)" */
} summary;

static bool has_word(const char *words, kino_str word)
{
    while (words && *words) {
        size_t size = strcspn(words, ",");
        if (kino__str_equal((kino_str){words, size}, word))
            return true;
        words += size + (words[size] == ',');
    }
    return false;
}

/* The places of the columns that the summary needs. */
typedef struct columns {
    size_t rank, severity, kind;
} columns;

static columns find_columns(const kino_rows *rows)
{
    columns at = {0};
    const kino_column *list = kino_rows_columns(rows);
    for (size_t i = 0; i < kino_rows_column_count(rows); i++) {
        if (strcmp(list[i].name, "rank") == 0)
            at.rank = i;
        else if (strcmp(list[i].name, "severity") == 0)
            at.severity = i;
        else if (strcmp(list[i].name, "kind") == 0)
            at.kind = i;
    }
    return at;
}

static void add_row(summary *s, const columns *at, const kino_cell *cells, const char *fail_on)
{
    kino_str severity = cells[at->severity].value.text, kind = cells[at->kind].value.text;
    int level = NOTE;
    for (int i = 0; i < SEVERITY_COUNT; i++)
        level = kino__str_is(severity, severities[i]) ? i : level;
    s->rows[level]++;
    if (!has_word(fail_on, kind) && !has_word(fail_on, severity) &&
        !(level != NOTE && has_word(fail_on, KINO__STR("any"))))
        return;
    kino__buffer_printf(&s->failed, "%s%.*s", s->failed.size ? ", " : "", KINO__STR_ARG(kind));
    if (cells[at->rank].kind == KINO_CELL_INT)
        kino__buffer_printf(&s->failed, " (rank %lld)", (long long)cells[at->rank].value.integer);
}

static kino_status summarise(summary *s, const kino_result *result, const char *fail_on,
                             kino_error *err)
{
    kino_rows *rows;
    const kino_cell *cells;
    KINO_TRY(kino_result_rows(result, 0, &rows, err));
    columns at = find_columns(rows);
    kino_status st;
    while ((st = kino_rows_next(rows, &cells, err)) == KINO_OK && cells)
        add_row(s, &at, cells, fail_on);
    kino_rows_free(rows);
    kino__buffer_add(&s->failed, (kino_str){"", 1});
    return st == KINO_OK && s->failed.failed ? kino__fail_nomem(err) : st;
}

/* "incomplete and partly invalid: 1 loss, 2 warnings" */
static void add_verdict(kino__buffer *out, const summary *s)
{
    static const char *const plurals[] = {"losses", "damages", "warnings", "notes"};
    bool is_whole = s->rows[LOSS] == 0, is_sane = s->rows[DAMAGE] + s->rows[WARNING] == 0;
    const char *text = is_whole && is_sane ? "complete and valid"
                       : is_whole          ? "complete, but partly invalid"
                       : is_sane           ? "incomplete"
                                           : "incomplete and partly invalid";
    kino__buffer_printf(out, "%s", text);
    const char *separator = ": ";
    for (int i = 0; i < SEVERITY_COUNT; i++) {
        if (s->rows[i] == 0)
            continue;
        kino__buffer_printf(out, "%s%llu %s", separator, (unsigned long long)s->rows[i],
                            s->rows[i] == 1 ? severities[i] : plurals[i]);
        separator = ", ";
    }
}

static bool is_for_people(const char *format)
{
    return strcmp(format, "table") == 0 || strcmp(format, "md") == 0;
}

static int show(const check_options *options, const kino_result *result, const summary *s)
{
    if (!is_for_people(options->common.format))
        return kino__show_result(&options->common, result);
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, &options->common);
    if (code != KINO__EXIT_OK)
        return code;
    bool is_markdown = strcmp(options->common.format, "md") == 0;
    bool is_good = s->rows[LOSS] + s->rows[DAMAGE] + s->rows[WARNING] == 0;
    const char *before = is_markdown            ? "**"
                         : !output.render.color ? ""
                         : is_good              ? "\033[1;32m"
                                                : "\033[1;33m";
    const char *after = is_markdown ? "**" : output.render.color ? "\033[0m" : "";
    kino__buffer text = {0};
    kino__buffer_printf(&text, "%s", before);
    add_verdict(&text, s);
    kino__buffer_printf(&text, "%s\n\n", after);
    kino_status st = KINO_OK;
    if (text.failed)
        st = kino__fail_nomem(&err);
    else if (!kino__output_write(&output, text.data, text.size))
        st = kino__fail(&err, KINO_IO, "cannot write the result");
    else
        st = kino_render_result(result, &output.render, kino__output_write, &output, &err);
    kino__buffer_deinit(&text);
    return kino__output_finish(&output, st, &err);
}

static int check_run(const check_options *options, kino_run *run)
{
    kino_result *result = NULL;
    kino_error err;
    summary s = {0};
    int code = kino__run_analysis(&options->common, run, "completeness", NULL, 0, false, &result);
    if (code == KINO__EXIT_OK && summarise(&s, result, options->fail_on, &err) != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    if (code == KINO__EXIT_OK)
        code = show(options, result, &s);
    if (code == KINO__EXIT_OK && s.failed.size > 1) { /* more than the terminator */
        kino__report_note("check failed (--fail-on %s): %s", options->fail_on, s.failed.data);
        code = KINO__EXIT_CHECK;
    }
    kino__buffer_deinit(&s.failed);
    kino_result_free(result);
    return code;
}

static int run_check(void *options, char **arguments, size_t count)
{
    check_options *given = options;
    kino_error err;
    if (count == 0)
        return kino__report_usage(&kino__command_check, "missing argument: TRACE or DIR");
    kino_param kinds = {"kinds", given->fail_on};
    if (given->fail_on && kino_analysis_check("completeness", &kinds, 1, &err) != KINO_OK)
        return kino__report_usage(&kino__command_check, "--fail-on: %s", kino__error_text(&err));
    kino_run *run = NULL;
    kino_summarize_options asks = KINO_SUMMARIZE_OPTIONS_INIT;
    const kino_summary_question question = {"completeness", NULL, 0};
    asks.questions = &question;
    asks.question_count = 1;
    given->common.asks = &asks;
    int code = kino__open_run(&given->common, arguments, count, &run);
    if (code == KINO__EXIT_OK)
        code = check_run(given, run);
    kino_run_free(run);
    return code;
}

const kino__command kino__command_check = {
    .name = "check",
    .arguments = "TRACE|DIR...",
    .summary = "check that a trace is complete and valid",
    .description =
        "Finds what is missing, damaged or inconsistent in a trace or a run, and shows\n"
        "how much and where. Lists what could not be checked, with the reason. Without\n"
        "--fail-on, the exit code is 0 whatever is found. The same tables are available\n"
        "as the analysis 'completeness'. Summaries (kino summarize) take the\n"
        "place of traces.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS | KINO__COMMAND_PRINTS,
    .is_for_clusters = true,
    .options_size = sizeof(check_options),
    .init = init,
    .run = run_check,
};
