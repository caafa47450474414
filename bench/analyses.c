/* analyses.c - how long do questions about a trace take, and in how much memory? tools/run-bench
 * calls it.
 *
 *   bench_analyses PATH --analyses idle-time,launch-stats:include_memory=yes [--compat hta]
 *
 * As a user of the library does it: kino_run_open, then kino_run_analyze for each name, in one
 * process; what one analysis has worked out about the trace, the next one finds there. A pass gives
 * several times: wall_s[0] all of it, wall_s[1] opening, then each analysis. Results are read and
 * freed behind the clock. With --compat the checks are sums over the answers that bench/peer_hta.py
 * makes too. */
#include <math.h>

#include <kino/engine.h>

#include "bench.h"

enum { NAMES_MAX = 16, PARAMS_MAX = 4, TIMES_BEFORE = 2 };

typedef struct question {
    char *name;
    kino_param params[PARAMS_MAX];
    size_t param_count;
    kino_result *answer;
} question;

/* ---- what is asked --------------------------------------------------------------------------- */

/* Cuts the text at the first mark and returns what follows it, or NULL. */
static char *cut_at(char *text, char mark)
{
    char *at = text ? strchr(text, mark) : NULL;
    if (!at)
        return NULL;
    *at = 0;
    return at + 1;
}

static void add_param(question *q, const char *name, const char *value)
{
    if (q->param_count == PARAMS_MAX)
        bench_die("too many parameters at", name);
    q->params[q->param_count++] = (kino_param){name, value};
}

/* Reads the list into questions; its text is cut up. */
static size_t parse_questions(char *list, const char *compat, question *questions)
{
    size_t count = 0;
    for (char *next; list; list = next) {
        next = cut_at(list, ',');
        if (count == NAMES_MAX)
            bench_die("too many analyses at", list);
        question *q = &questions[count++];
        q->name = list;
        if (compat)
            add_param(q, "compat", compat);
        char *param = cut_at(list, ':');
        for (char *more; param; param = more) {
            more = cut_at(param, ':');
            char *value = cut_at(param, '=');
            add_param(q, param, value ? value : "yes");
        }
    }
    return count;
}

/* ---- what is compared ------------------------------------------------------------------------ */

/* Sums over columns of the answers, as bench/peer_hta.py makes them from HTA's frames. */
static const struct {
    const char *analysis, *table, *column, *check;
} sums[] = {
    {"temporal-breakdown", "temporal_breakdown", "idle_time", "idle_ns"},
    {"temporal-breakdown", "temporal_breakdown", "compute_time", "compute_ns"},
    {"temporal-breakdown", "temporal_breakdown", "kernel_time", "kernel_ns"},
    {"idle-time", "idle", "idle_time", "gaps_ns"},
    {"comm-overlap", "comm_comp_overlap", "comp_comm_overlap_pctg", "overlap_percent_x100"},
    {"kernel-breakdown", "kernel_type", "sum", "types_ns"},
    {"launch-stats", "launch_stats", "cpu_duration", "launch_cpu_ns"},
    {"launch-stats", "launch_stats", "gpu_duration", "launch_gpu_ns"},
    {"launch-stats", "launch_stats", "launch_delay", "launch_delay_ns"},
};

static uint64_t cell_value(const kino_cell *cell)
{
    switch (cell->kind) {
    case KINO_CELL_INT:
        return (uint64_t)cell->value.integer;
    case KINO_CELL_FLOAT:
        return (uint64_t)llround(cell->value.real * 100);
    default:
        return 0;
    }
}

/* False when the answer has no such column. */
static bool sum_column(const kino_result *answer, size_t table, const char *column, uint64_t *sum)
{
    kino_error err = {0};
    kino_rows *rows = NULL;
    if (kino_result_rows(answer, table, &rows, &err) != KINO_OK)
        bench_die("cannot read the answer:", err.message);
    size_t at = 0, count = kino_rows_column_count(rows);
    while (at < count && strcmp(kino_rows_columns(rows)[at].name, column) != 0)
        at++;
    const kino_cell *cells = NULL;
    while (at < count && kino_rows_next(rows, &cells, &err) == KINO_OK && cells)
        *sum += cell_value(&cells[at]);
    kino_rows_free(rows);
    return at < count;
}

static void add_checks(const question *questions, size_t count, bench_result *result)
{
    for (size_t s = 0; s < sizeof sums / sizeof *sums; s++) {
        for (size_t q = 0; q < count; q++) {
            const kino_result *answer = questions[q].answer;
            if (strcmp(questions[q].name, sums[s].analysis) != 0)
                continue;
            size_t table = 0;
            while (table < kino_result_table_count(answer) &&
                   strcmp(kino_result_table_name(answer, table), sums[s].table) != 0)
                table++;
            uint64_t sum = 0;
            if (!sum_column(answer, table, sums[s].column, &sum))
                bench_die("no such column:", sums[s].column);
            bench_add_check(result, sums[s].check, sum);
        }
    }
}

/* ---- one pass -------------------------------------------------------------------------------- */

typedef struct lap {
    double wall, cpu;
} lap;

/* Time since then; then is now afterwards. */
static void add_time(bench_result *result, lap *then)
{
    lap now = {bench_wall(), bench_cpu()};
    if (result->passes == BENCH_PASSES_MAX)
        bench_die("too many", "passes");
    result->wall_s[result->passes] = now.wall - then->wall;
    result->cpu_s[result->passes++] = now.cpu - then->cpu;
    *then = now;
}

static kino_run *answer_all(const bench_options *options, question *questions, size_t count,
                            bench_result *result)
{
    kino_error err = {0};
    kino_run *run = NULL;
    kino_load_options how = KINO_LOAD_OPTIONS_INIT;
    how.jobs = options->jobs;
    how.simd = options->simd;
    lap begin = {bench_wall(), bench_cpu()}, then = begin;
    size_t whole = result->passes++;
    if (kino_run_open(&options->path, 1, &how, &run, &err) != KINO_OK)
        bench_die("cannot load:", err.message);
    add_time(result, &then);
    for (size_t q = 0; q < count; q++) {
        kino_analyze_options ask = KINO_ANALYZE_OPTIONS_INIT;
        ask.jobs = options->jobs;
        ask.params = questions[q].params;
        ask.param_count = questions[q].param_count;
        if (kino_run_analyze(run, questions[q].name, &ask, &questions[q].answer, &err) != KINO_OK)
            bench_die("cannot analyse:", err.message);
        add_time(result, &then);
    }
    result->wall_s[whole] = then.wall - begin.wall;
    result->cpu_s[whole] = then.cpu - begin.cpu;
    return run;
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {.bench = "analyses", .with = options.compat, .jobs = options.jobs};
    question questions[NAMES_MAX] = {0};
    char *list = strdup(options.analyses ? options.analyses : "");
    if (!list || !*list)
        bench_die("no analyses:", "--analyses LIST");
    size_t count = parse_questions(list, options.compat, questions);
    bench_warm(options.path);

    bench_sampler sampler;
    bench_sampler_start(&sampler, options.memory);
    kino_run *run = answer_all(&options, questions, count, &result);
    result.peak_bytes = bench_sampler_stop(&sampler);
    if (options.compat)
        add_checks(questions, count, &result);
    for (size_t q = 0; q < count; q++)
        kino_result_free(questions[q].answer);
    kino_run_free(run);
    free(list);
    bench_print(&result);
    return 0;
}
