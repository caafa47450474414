/* cmd_diff.c - kino diff: two traces or runs side by side, and a gate for scripts.
 *
 *   kino diff A B                  a run each
 *   kino diff a1,a2,a3 b1,b2,b3    several runs a side
 *   kino diff a* vs b*             the same, as shells write it */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/write_out.h"

enum { DEFAULT_LIMIT = 10, MOST_RUNS = 256, MOST_LINES = 5, MARKDOWN_NAMES = 80 };

typedef struct diff_options {
    kino__common_options common;
    kino__option_texts fail_on;
    const char *compat;
    bool tree, tree_ops;
} diff_options;

static const kino__option options_table[] = {
    {"fail-on", KINO__OPTION_TEXTS, "EXPR",
     "exit with 3 if B is worse than A by more than this: 'step_time>5%', 'kernel>2%&>30us', "
     "'op:aten::mm>5%', 'category:Memcpy>1ms'; separate several with commas or repeat the option",
     offsetof(diff_options, fail_on), false},
    {"tree", KINO__OPTION_FLAG, NULL, "also show the operator trees side by side",
     offsetof(diff_options, tree), false},
    {"tree-ops", KINO__OPTION_FLAG, NULL,
     "in JSON and CSV, include the operators of each part of the trees (table diff_tree_ops)",
     offsetof(diff_options, tree_ops), false},
    {"compat", KINO__OPTION_CHOICE, "tensorboard",
     "reproduce the numbers of a reference implementation, including its defects",
     offsetof(diff_options, compat), false},
    {0},
};

/* -- what was typed -- */

/* The runs of both sides: left ones first. */
typedef struct sides {
    char *paths[MOST_RUNS]; /* one a run */
    kino_run *runs[MOST_RUNS];
    size_t counts[2], count;
    kino__text_list lists[2]; /* own the paths of "a1,a2" */
} sides;

static int add_path(sides *s, char *path)
{
    if (s->count == MOST_RUNS)
        return kino__report_usage(&kino__command_diff, "too many runs: at most %d", MOST_RUNS);
    s->paths[s->count++] = path;
    return KINO__EXIT_OK;
}

/* "a1,a2": a comma that belongs to a path is written "\,", but in a path that is there. */
static int add_list(sides *s, int side, char *text)
{
    if (access(text, F_OK) == 0 || !strchr(text, ','))
        return add_path(s, text);
    if (!kino__text_list_init(&s->lists[side], text))
        return kino__report_usage(&kino__command_diff, "out of memory");
    int code = KINO__EXIT_OK;
    for (size_t i = 0; i < s->lists[side].items.count && code == KINO__EXIT_OK; i++)
        code = add_path(s, (char *)(uintptr_t)s->lists[side].items.items[i]);
    return code;
}

static int find_sides(sides *s, char **arguments, size_t count)
{
    size_t vs = 0;
    while (vs < count && strcmp(arguments[vs], "vs") != 0)
        vs++;
    if (vs == count && count != 2)
        return kino__report_usage(
            &kino__command_diff,
            count < 2 ? "missing argument: A and B, two traces or directories"
                      : "expected 2 traces or directories, got %zu; to compare several runs per "
                        "side, use 'a1,a2 b1,b2' or 'a1 a2 vs b1 b2'",
            count);
    if (vs < count && (vs == 0 || vs + 1 == count))
        return kino__report_usage(&kino__command_diff, "missing argument: a run %s 'vs'",
                                  vs == 0 ? "before" : "after");
    int code = KINO__EXIT_OK;
    for (size_t i = 0; i < count && code == KINO__EXIT_OK; i++) {
        if (i == vs)
            continue;
        bool is_left = vs < count ? i < vs : i == 0;
        code = vs < count ? add_path(s, arguments[i]) : add_list(s, !is_left, arguments[i]);
        if (is_left)
            s->counts[0] = s->count;
        s->counts[1] = s->count - s->counts[0];
    }
    return code;
}

/* -- what is shown -- */

/* "kernel>2%&>30us: gemm 1.2 ms -> 1.5 ms (+25.0 %)" on standard error for each that does not
 * hold. */
typedef struct checks {
    const kino_result *result;
    size_t failed, shown;
} checks;

static void add_time(kino__buffer *out, const kino_cell *cell)
{
    static const struct {
        int64_t from;
        double factor;
        const char *unit;
    } units[] = {{1000000000, 1e9, "s"}, {1000000, 1e6, "ms"}, {1000, 1e3, "us"}, {0, 1, "ns"}};
    int64_t ns = cell->kind == KINO_CELL_INT ? cell->value.integer : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns < units[i].from)
            continue;
        kino__buffer_printf(out, "%.4g %s", (double)ns / units[i].factor, units[i].unit);
        return;
    }
}

/* Columns of diff_checks, in their order. */
enum { C_EXPRESSION, C_HOLDS, C_NAME, C_LEFT, C_RIGHT, C_DELTA, C_PERCENT };

static void report_check(checks *c, const kino_cell *cells)
{
    if (cells[C_HOLDS].value.integer)
        return;
    c->failed++;
    if (c->shown == MOST_LINES)
        return;
    c->shown++;
    kino__buffer text = {0};
    add_time(&text, &cells[C_LEFT]);
    kino__buffer_printf(&text, " -> ");
    add_time(&text, &cells[C_RIGHT]);
    if (cells[C_PERCENT].kind == KINO_CELL_FLOAT)
        kino__buffer_printf(&text, " (%+.1f %%)", cells[C_PERCENT].value.real);
    else
        kino__buffer_printf(&text, " (new)");
    kino__report_note(
        "check failed (--fail-on %.*s): %.*s %.*s", KINO__STR_ARG(cells[C_EXPRESSION].value.text),
        (int)(cells[C_NAME].value.text.size > 120 ? 120 : cells[C_NAME].value.text.size),
        cells[C_NAME].value.text.data, (int)text.size, text.data);
    kino__buffer_deinit(&text);
}

/* Is this table of the result the one called that? */
static size_t table_at(const kino_result *result, const char *name)
{
    size_t i = 0;
    while (i < kino_result_table_count(result) &&
           strcmp(kino_result_table_name(result, i), name) != 0)
        i++;
    return i;
}

static int report_checks(const kino_result *result)
{
    kino_rows *rows;
    kino_error err;
    const kino_cell *cells;
    checks c = {.result = result};
    kino_status st = kino_result_rows(result, table_at(result, "diff_checks"), &rows, &err);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    while ((st = kino_rows_next(rows, &cells, &err)) == KINO_OK && cells)
        report_check(&c, cells);
    kino_rows_free(rows);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    if (c.failed > c.shown)
        kino__report_note("check failed: and %zu more", c.failed - c.shown);
    return c.failed ? KINO__EXIT_CHECK : KINO__EXIT_OK;
}

static bool is_for_people(const char *format)
{
    return strcmp(format, "table") == 0 || strcmp(format, "md") == 0;
}

static int show(const diff_options *options, const kino_result *result)
{
    kino__common_options common = options->common;
    if (!is_for_people(common.format))
        return kino__show_result(&common, result);
    if (common.limit == KINO__LIMIT_DEFAULT)
        common.limit = DEFAULT_LIMIT;
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, &common);
    if (code != KINO__EXIT_OK)
        return code;
    kino_status st = kino_diff_summary(result, &output.render, kino__output_write, &output, &err);
    if (st == KINO_OK)
        st = kino_render_result(result, &output.render, kino__output_write, &output, &err);
    return kino__output_finish(&output, st, &err);
}

/* -- running -- */

static int compare(const diff_options *options, sides *s, kino_result **out)
{
    for (size_t i = 0; i < s->count; i++) {
        int code = kino__open_run(&options->common, &s->paths[i], 1, &s->runs[i]);
        if (code != KINO__EXIT_OK)
            return code;
    }
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->common.quiet && !options->common.no_progress);
    kino_diff_options how = KINO_DIFF_OPTIONS_INIT;
    how.jobs = options->common.jobs;
    how.progress = kino__progress_bar_report;
    how.progress_context = &bar;
    how.compat = options->compat;
    how.tree = options->tree;
    how.name_width = strcmp(options->common.format, "md") == 0 ? MARKDOWN_NAMES : 0;
    how.tree_ops = options->tree_ops;
    how.fail_on = options->fail_on.items;
    how.fail_on_count = options->fail_on.count;
    kino_error err;
    kino_status st = kino_runs_diff(s->runs, s->counts[0], s->runs + s->counts[0], s->counts[1],
                                    &how, out, &err);
    kino__progress_bar_end(&bar);
    return st == KINO_OK ? KINO__EXIT_OK : kino__report_error(&err, KINO__EXIT_FAILED);
}

static int run_diff(void *options, char **arguments, size_t count)
{
    const diff_options *given = options;
    kino_error err;
    for (size_t i = 0; i < given->fail_on.count; i++)
        if (kino_diff_check(given->fail_on.items[i], &err) != KINO_OK)
            return kino__report_usage(&kino__command_diff, "--fail-on %s", kino__error_text(&err));
    sides *s = calloc(1, sizeof *s);
    if (!s)
        return kino__report_usage(&kino__command_diff, "out of memory");
    kino_result *result = NULL;
    int code = find_sides(s, arguments, count);
    if (code == KINO__EXIT_OK)
        code = compare(given, s, &result);
    if (code == KINO__EXIT_OK)
        code = show(given, result);
    if (code == KINO__EXIT_OK)
        code = report_checks(result);
    kino_result_free(result);
    for (size_t i = 0; i < s->count; i++)
        kino_run_free(s->runs[i]);
    kino__text_list_deinit(&s->lists[0]);
    kino__text_list_deinit(&s->lists[1]);
    free(s);
    return code;
}

const kino__command kino__command_diff = {
    .name = "diff",
    .arguments = "A B",
    .summary = "compare two traces or runs; use as a CI gate",
    .description =
        "Compares two traces or runs: step time and its parts, operators and kernels\n"
        "with the largest change first, and what was added or removed. All times are per\n"
        "step and rank. 'a1,a2,a3 b1,b2,b3' or 'a* vs b*' compares the medians of\n"
        "several runs and shows the spread between runs. Use --format md for a pull\n"
        "request.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS | KINO__COMMAND_PRINTS,
    .options_size = sizeof(diff_options),
    .run = run_diff,
};
