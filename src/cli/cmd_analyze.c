/* cmd_analyze.c - kino analyze: one analysis of a run. Options, help and the reference page of each
 * come from its definition. */
#include <stdio.h>

#include <kino/summary.h>

#include "base/error.h"
#include "cli/cli.h"

enum { MOST_PARAMS = 48, NAME_SIZE = 48, HELP_SIZE = 200 };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one a program */
typedef struct analyze_options {
    kino__common_options common;
    bool list;
    kino_analysis_info info; /* name is NULL: no analysis was named */
    /* the analysis' parameters as options */
    kino__option table[MOST_PARAMS + 1];
    char names[MOST_PARAMS][NAME_SIZE];
    char helps[MOST_PARAMS][HELP_SIZE];
    char compat[HELP_SIZE]; /* "hta|hta-ns" */
    const char *params[MOST_PARAMS];
    const char *values[MOST_PARAMS]; /* NULL: not given */
    size_t count;
} analyze_options;

static const kino__option options_table[] = {
    {"format", KINO__OPTION_CHOICE, "table|json|csv|md|pyprof-dict|pyprof-csv|pyprof-table",
     "print results in this format; pyprof-*: as PyProf prints kernel-costs (default: table)",
     offsetof(analyze_options, common.format), false},
    {"list", KINO__OPTION_FLAG, NULL, "list all analyses, one per line",
     offsetof(analyze_options, list), false},
    KINO__MEMORY_OPTION(offsetof(analyze_options, common.memory)),
    KINO__REQUIRE_ALL_OPTION(offsetof(analyze_options, common.require_all)),
    {0},
};

static void init(void *options)
{
    analyze_options *o = options;
    o->common.memory = KINO__MEMORY_DEFAULT;
    o->common.takes_summaries = true;
}

/* -- parameters as options -- */

static const char *argument_of(const kino_param_info *param)
{
    switch (param->type) {
    case KINO_TYPE_INT:
        return "N";
    case KINO_TYPE_FLOAT:
        return "X";
    case KINO_TYPE_PERCENT:
        return "PERCENT";
    case KINO_TYPE_DURATION:
    case KINO_TYPE_TIME:
        return "TIME";
    case KINO_TYPE_BYTES:
        return "SIZE";
    case KINO_TYPE_BOOL:
        return "yes|no";
    default:
        return param->choices ? param->choices : "TEXT";
    }
}

static void add_option(analyze_options *o, const kino_param_info *param)
{
    if (o->count == MOST_PARAMS)
        return;
    size_t i = o->count++;
    size_t n = 0;
    for (; n + 1 < NAME_SIZE && param->name[n]; n++)
        o->names[i][n] = param->name[n] == '_' ? '-' : param->name[n];
    (void)snprintf(o->helps[i], HELP_SIZE, param->value ? "%s (default: %s)" : "%s", param->help,
                   param->value);
    bool is_choice = param->type == KINO_TYPE_STRING && param->choices;
    o->params[i] = param->name;
    o->table[i] =
        (kino__option){.name = o->names[i],
                       .kind = param->type == KINO_TYPE_BOOL ? KINO__OPTION_SWITCH
                               : is_choice                   ? KINO__OPTION_CHOICE
                                                             : KINO__OPTION_TEXT,
                       .argument = argument_of(param),
                       .help = o->helps[i],
                       .offset = offsetof(analyze_options, values) + i * sizeof *o->values};
}

static void add_options(analyze_options *o)
{
    for (const kino_param_info *p = o->info.params; p->name; p++)
        add_option(o, p);
    size_t used = 0;
    for (size_t i = 0; o->info.compat[i] && used < sizeof o->compat; i++)
        used += (size_t)snprintf(o->compat + used, sizeof o->compat - used, "%s%s", i ? "|" : "",
                                 o->info.compat[i]);
    if (used)
        add_option(o,
                   &(kino_param_info){
                       "compat", KINO_TYPE_STRING, NULL,
                       "reproduce the numbers of a reference implementation, including its defects",
                       o->compat});
    if (o->info.takes_steps)
        add_option(o, &(kino_param_info){"steps", KINO_TYPE_STRING, NULL,
                                         "use only these profiler steps: 5 or 3-7", NULL});
}

/* Does this option take the next argument? */
static bool takes_next(const kino__option_set *set, const char *argument)
{
    const kino__option *option;
    for (size_t i = 0; (option = kino__option_at(set, i)); i++)
        if (strcmp(argument + 2, option->name) == 0)
            return option->kind != KINO__OPTION_FLAG;
    return false;
}

/* The first argument that is neither an option nor its value, and names an analysis. */
static const kino__option *more_options(void *options, char **arguments, size_t count)
{
    analyze_options *o = options;
    kino__option_set set = kino__command_options(&kino__command_analyze);
    o->info.size = sizeof o->info;
    for (size_t i = 0; i < count; i++) {
        if (arguments[i][0] == '-')
            i += strncmp(arguments[i], "--", 2) == 0 && takes_next(&set, arguments[i]);
        else if (kino_analysis_find(arguments[i], &o->info))
            break;
    }
    if (!o->info.name)
        return NULL;
    add_options(o);
    return o->table;
}

/* -- help -- */

static const char *type_name(kino_type type)
{
    static const char *const names[] = {
#define TYPE_NAME(name, text) [KINO_TYPE_##name] = text,
        KINO_TYPE_MAP(TYPE_NAME)
#undef TYPE_NAME
    };
    return names[type];
}

/* "kernel_breakdown(0.8, 5)": the defaults, up to the last one that there is. */
static void add_call(kino__buffer *out, const kino_analysis_info *info)
{
    size_t count = 0;
    for (const char *c = info->name; *c; c++)
        kino__buffer_add(out, *c == '-' ? KINO__STR("_") : (kino_str){c, 1});
    for (size_t i = 0; info->params[i].name; i++)
        count = info->params[i].value ? i + 1 : count;
    for (size_t i = 0; i < count; i++) {
        const kino_param_info *p = &info->params[i];
        bool is_number = p->type == KINO_TYPE_INT || p->type == KINO_TYPE_FLOAT;
        const char *quote = is_number || !p->value ? "" : "'";
        kino__buffer_printf(out, "%s%s%s%s", i ? ", " : "(", quote, p->value ? p->value : "NULL",
                            quote);
    }
    kino__buffer_add(out, count ? KINO__STR(")") : KINO__STR(""));
}

static void add_tables(kino__buffer *out, const kino_table_info *tables)
{
    enum { NAME_WIDTH = 26, TYPE_WIDTH = 10 };
    for (const kino_table_info *t = tables; t->name; t++) {
        kino__buffer_printf(out, "\ntable %s: %s\n", t->name, t->help);
        for (const kino_column *c = t->columns; c->name; c++)
            kino__buffer_printf(out, c->help ? "  %-*s  %-*s%s\n" : "  %-*s  %.*s%s\n", NAME_WIDTH,
                                c->name, TYPE_WIDTH, type_name(c->type), c->help ? c->help : "");
    }
}

static void print_text(kino__buffer *out, const analyze_options *o)
{
    const kino_analysis_info *info = &o->info;
    kino__option_set own = {{o->table}}, common = kino__command_options(&kino__command_analyze);
    kino__buffer_printf(out, "usage: kino analyze %s TRACE|DIR... [options]\n\n%s: %s\n\n%s",
                        info->name, info->name, info->help, info->description);
    add_tables(out, info->tables);
    kino__buffer_printf(out, "\nin SQL: SELECT * FROM ");
    add_call(out, info);
    kino__buffer_printf(out, "\n");
    if (o->count) {
        kino__buffer_printf(out, "\nparameters:\n");
        kino__options_print_help(out, &own);
    }
    kino__buffer_printf(out, "\noptions:\n");
    kino__options_print_help(out, &common);
}

/* A cell of a Markdown table: the bar would end it. */
static void add_cell(kino__buffer *out, const char *text)
{
    for (; text && *text; text++)
        kino__buffer_printf(out, *text == '|' ? "\\%c" : "%c", *text);
    kino__buffer_add(out, KINO__STR(" |"));
}

/* The generated part of docs/analyses/<name>.md; tools/make-analysis-docs puts it there. */
static void print_page(kino__buffer *out, const analyze_options *o)
{
    const kino_analysis_info *info = &o->info;
    kino__buffer_printf(out, "# %s: %s\n\n%s\n", info->name, info->help, info->description);
    kino__buffer_printf(out, "```\nkino analyze %s run/\nkino query run/ 'SELECT * FROM ",
                        info->name);
    kino__buffer call = {0};
    add_call(&call, info);
    for (size_t i = 0; i < call.size; i++) /* inside the shell's quotes */
        kino__buffer_add(out, (kino_str){call.data[i] == '\'' ? "\"" : &call.data[i], 1});
    out->failed |= call.failed;
    kino__buffer_deinit(&call);
    kino__buffer_printf(out, "'\n```\n\n## Parameters\n\n");
    if (!o->count)
        kino__buffer_printf(out, "None.\n");
    else
        kino__buffer_printf(out, "| name | value | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < o->count; i++) {
        kino__buffer_printf(out, "| `%s` | ", o->params[i]);
        add_cell(out, o->table[i].argument);
        kino__buffer_add(out, KINO__STR(" "));
        add_cell(out, o->table[i].help);
        kino__buffer_add(out, KINO__STR("\n"));
    }
    for (const kino_table_info *t = info->tables; t->name; t++) {
        kino__buffer_printf(out,
                            "\n## Table `%s`\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n",
                            t->name, t->help);
        for (const kino_column *c = t->columns; c->name; c++) {
            kino__buffer_printf(out, "| `%s` | %s%s%s | ", c->name, type_name(c->type),
                                c->unit ? ", " : "", c->unit ? c->unit : "");
            add_cell(out, c->help);
            kino__buffer_add(out, KINO__STR("\n"));
        }
    }
}

static bool print_help(kino__buffer *out, const void *options, bool is_manual)
{
    const analyze_options *o = options;
    if (!o->info.name)
        return false;
    if (is_manual)
        print_page(out, o);
    else
        print_text(out, o);
    return true;
}

/* -- running -- */

static int fail_name(const char *name)
{
    enum { MOST_NAMES = 256 };
    const char *words[MOST_NAMES + 1] = {NULL};
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    for (size_t i = 0; i < MOST_NAMES && kino_analysis_describe(i, &info); i++)
        words[i] = info.name;
    const char *meant = kino__suggest(name, words);
    if (meant)
        return kino__report_usage(&kino__command_analyze,
                                  "unknown analysis '%s' (did you mean '%s'?)", name, meant);
    return kino__report_usage(&kino__command_analyze,
                              "unknown analysis '%s' (see 'kino analyze --list')", name);
}

static int list_analyses(const analyze_options *o)
{
    kino_result *result;
    kino_error err;
    if (kino_analysis_list(&result, &err) != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    int code = kino__show_result(&o->common, result);
    kino_result_free(result);
    return code;
}

int kino__run_analysis(const kino__common_options *options, kino_run *run, const char *name,
                       const kino_param *params, size_t count, bool is_last, kino_result **out)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->quiet && !options->no_progress);
    kino_analyze_options how = KINO_ANALYZE_OPTIONS_INIT;
    how.jobs = options->jobs;
    how.progress = kino__progress_bar_report;
    how.progress_context = &bar;
    how.params = params;
    how.param_count = count;
    how.last = is_last;
    kino_error err;
    kino_status st = kino_run_analyze(run, name, &how, out, &err);
    kino__progress_bar_end(&bar);
    return st == KINO_OK ? KINO__EXIT_OK : kino__report_error(&err, KINO__EXIT_FAILED);
}

/* -- PyProf's outputs: lines of text that the analysis makes -- */

static bool is_pyprof_format(const char *format)
{
    return strncmp(format, "pyprof-", 7) == 0;
}

static bool is_given(const kino_param *params, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(params[i].name, name) == 0)
            return true;
    return false;
}

/* The parameters that the format stands for; false: the analysis has no such format. */
static bool add_pyprof_params(const analyze_options *o, kino_param *params, size_t *count)
{
    if (!o->info.name || strcmp(o->info.name, "kernel-costs") != 0 || *count + 2 > MOST_PARAMS)
        return false;
    if (!is_given(params, *count, "pyprof"))
        params[(*count)++] = (kino_param){"pyprof", o->common.format + 7};
    if (!is_given(params, *count, "compat"))
        params[(*count)++] = (kino_param){"compat", "pyprof"};
    return true;
}

static int show_lines(const analyze_options *o, const kino_result *result)
{
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, &o->common);
    if (code != KINO__EXIT_OK)
        return code;
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_status st = kino_result_rows(result, 1, &rows, &err);
    while (st == KINO_OK && (st = kino_rows_next(rows, &cells, &err)) == KINO_OK && cells)
        if (!kino__output_write(&output, cells[0].value.text.data, cells[0].value.text.size) ||
            !kino__output_write(&output, "\n", 1))
            st = KINO_IO;
    kino_rows_free(rows);
    return kino__output_finish(&output, st, &err);
}

static int run_analyze(void *options, char **arguments, size_t count)
{
    analyze_options *o = options;
    if (o->list)
        return list_analyses(o);
    if (count == 0)
        return kino__report_usage(
            &kino__command_analyze,
            "missing argument: NAME of an analysis (see 'kino analyze --list')");
    const char *name = arguments[0];
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    if (!kino_analysis_find(name, &info))
        return fail_name(name);
    if (count == 1)
        return kino__report_usage(&kino__command_analyze, "missing argument: TRACE or DIR");
    kino_param params[MOST_PARAMS];
    size_t given = 0;
    for (size_t i = 0; i < o->count; i++)
        if (o->values[i])
            params[given++] = (kino_param){o->params[i], o->values[i]};
    kino_error err;
    bool is_pyprof = is_pyprof_format(o->common.format);
    if (is_pyprof && !add_pyprof_params(o, params, &given))
        return kino__report_usage(&kino__command_analyze,
                                  "--format %s is for the analysis kernel-costs", o->common.format);
    if (kino_analysis_check(name, params, given, &err) != KINO_OK)
        return kino__report_usage(&kino__command_analyze, "%s", kino__error_text(&err));
    kino_run *run = NULL;
    kino_result *result = NULL;
    kino_summarize_options asks = KINO_SUMMARIZE_OPTIONS_INIT;
    const kino_summary_question question = {name, params, given};
    asks.questions = &question;
    asks.question_count = 1;
    o->common.asks = &asks;
    int code = kino__open_run(&o->common, arguments + 1, count - 1, &run);
    if (code == KINO__EXIT_OK)
        code = kino__run_analysis(&o->common, run, name, params, given, true, &result);
    if (code == KINO__EXIT_OK)
        code = is_pyprof ? show_lines(o, result) : kino__show_result(&o->common, result);
    kino_result_free(result);
    kino_run_free(run);
    return code;
}

const kino__command kino__command_analyze = {
    .name = "analyze",
    .arguments = "NAME TRACE|DIR...",
    .summary = "run one analysis ('--list' shows them all)",
    .description =
        "Answers one question about a trace or a run with tables. 'kino analyze --list'\n"
        "lists the analyses; 'kino analyze NAME --help' describes an analysis, its\n"
        "parameters and its tables. Each is also a table function in 'kino query'.\n"
        "Summaries (kino summarize) take the place of traces.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS | KINO__COMMAND_PRINTS,
    .is_for_clusters = true,
    .options_size = sizeof(analyze_options),
    .init = init,
    .run = run_analyze,
    .more_options = more_options,
    .print_help = print_help,
};
