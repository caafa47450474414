/* report.c - a report: every analysis that belongs to it once over every trace
 * (engine/map_reduce.h), then the value that renderers show (render/report.h). The profile of a
 * trace is made first, with the one analysis beside it that does without. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/map_reduce.h"
#include "report/report_internal.h"
#include "rule/rule.h"
#include "rule/rule_costs.h"

/* What a report is made of, in the order in which people read the answers. The expensive ones are
 * started first; large ones need much memory while they work. */
static const struct {
    const kino__analysis_def *def;
    unsigned start;
    bool is_large;
} used[] = {{&kino__analysis_overview, 4, true},        {&kino__analysis_operators, 2, false},
            {&kino__analysis_kernels, 5, false},        {&kino__analysis_memory, 0, true},
            {&kino__analysis_modules, 6, false},        {&kino__analysis_lightning, 8, false},
            {&kino__analysis_distributed, 3, false},    {&kino__analysis_functions, 7, false},
            {&kino__analysis_recommendations, 1, true}, {&kino__analysis_completeness, 9, false}};
/* Larger than any block: the table of their lives is left out without --full anyway. */
#define NO_BLOCKS "1000000TB"
enum { USED_COUNT = sizeof used / sizeof *used, JOBS_MAX = USED_COUNT + 2 };

/* -- small helpers -- */

void kino__report_fail(kino__report *report)
{
    if (report->own)
        report->own->failed = true;
}

kino_str kino__report_copy(kino__report *report, kino_str text)
{
    kino_str copy = kino__arena_copy(&report->arena, text);
    if (copy.data)
        return copy;
    kino__report_fail(report);
    return (kino_str){"", 0};
}

kino_str kino__report_format(kino__report *report, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size = size < 0 ? 0 : size;
    return kino__report_copy(
        report, (kino_str){text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1});
}

kino__id_list kino__report_evidence(kino__report *report, const int64_t *ids, size_t count)
{
    if (count == 0)
        return (kino__id_list){NULL, 0};
    int64_t *copy = kino__arena_alloc(&report->arena, count * sizeof *copy);
    if (!copy) {
        kino__report_fail(report);
        return (kino__id_list){NULL, 0};
    }
    memcpy(copy, ids, count * sizeof *copy);
    return (kino__id_list){copy, count};
}

kino_result *kino__report_result_of(const kino__report *report, const kino__analysis_def *def)
{
    for (size_t i = 0; i < report->results.count; i++)
        if (strcmp(report->results.items[i]->name, def->name) == 0)
            return report->results.items[i];
    return NULL;
}

const kino__table *kino__report_table(const kino__report *report, const kino__analysis_def *def,
                                      size_t table)
{
    return kino__analysis_table(kino__report_result_of(report, def), table);
}

kino_str kino__rank_label(kino__report *report, const kino__rank_fact *rank)
{
    if (rank->rank != KINO_NO_INT)
        return kino__report_format(report, "rank %lld", (long long)rank->rank);
    if (rank->worker.size)
        return kino__report_copy(report, rank->worker);
    return kino__report_format(report, "trace %u", rank->trace);
}

/* -- running -- */

typedef struct work {
    kino__map_reduce map;
    kino__map_job jobs[JOBS_MAX]; /* the first one is the facts */
    kino__analysis analyses[JOBS_MAX];
    kino__pool *inner; /* of the profile, while the other one is at work */
    bool is_compat;
    bool is_alone; /* may forget what was worked out about a trace */
    bool is_last;  /* and drop what nothing here needs any more */
} work;

typedef struct making {
    work *w;
    kino__trace *trace;
    void (*beside)(void *context);
    void *beside_context;
    bool is_made;
} making;

static void make_or_beside(void *context, unsigned worker, size_t index)
{
    (void)worker;
    making *m = context;
    if (index == 1)
        m->beside(m->beside_context);
    else
        m->is_made = kino__profile_of(m->trace, m->w->is_compat, m->w->inner) != NULL;
}

/* Below this many events memory is no concern, and `beside` runs during all of the profile instead
 * of its frugal stages only: a fifth of the report's time where both take as long. */
enum { LARGE_TRACE_EVENTS = 8000000 };

/* The rules of the plugin know no costs. */
static bool is_released(const work *w, const kino__trace *trace)
{
    return w->is_last && (w->is_compat || !kino__rule_wants_costs(trace));
}

/* The profile of a trace, which all jobs but one stand on; with several traces it is made by who
 * needs it first, unless it can be made for this report alone. */
static bool make_profile(void *context, kino__trace *trace, void (*beside)(void *),
                         void *beside_context)
{
    work *w = context;
    if (w->is_alone && (!beside || trace->event_count >= LARGE_TRACE_EVENTS))
        return kino__profile_alone(trace, w->is_compat, w->inner, is_released(w, trace), beside,
                                   beside_context) != NULL;
    making m = {w, trace, beside, beside_context, true};
    if (beside)
        kino__pool_run(w->map.pool, 2, make_or_beside, &m);
    return m.is_made;
}

/* -- the jobs -- */

enum { MOST_PARAMS = 4 };

static size_t params_of(const kino__analysis_def *def, const kino_report_options *given,
                        kino_param params[MOST_PARAMS])
{
    size_t count = 0;
    if (def == &kino__analysis_roofline)
        params[count++] = (kino_param){"merge_ranks", "yes"};
    if (!given->full && def == &kino__analysis_memory)
        params[count++] = (kino_param){"min_size", NO_BLOCKS};
    if (given->compat && def->compat)
        params[count++] = (kino_param){"compat", given->compat};
    if (given->steps && def->takes_steps)
        params[count++] = (kino_param){"steps", given->steps};
    return count;
}

/* drop_bulk leaves out its curve. */
bool kino__report_is_brief(const kino__analysis_def *def, bool is_full)
{
    return def == &kino__analysis_memory && !is_full;
}

bool kino__report_is_large(const kino__analysis_def *def)
{
    for (size_t i = 0; i < USED_COUNT; i++)
        if (used[i].def == def)
            return used[i].is_large;
    return false;
}

kino_status kino__report_each_job(const kino_run *run, const kino_report_options *given,
                                  kino__report_job_fn see, void *context, kino_error *err)
{
    kino_param params[MOST_PARAMS];
    size_t count = params_of(&kino__report_facts_def, given, params);
    KINO_TRY(see(context, &kino__report_facts_def, params, count, err));
    for (size_t i = 0; i < USED_COUNT; i++) {
        count = params_of(used[i].def, given, params);
        KINO_TRY(see(context, used[i].def, params, count, err));
    }
    if (!kino__report_wants_costs(run, given))
        return KINO_OK;
    count = params_of(&kino__analysis_roofline, given, params);
    return see(context, &kino__analysis_roofline, params, count, err);
}

static kino_status add_job(work *w, const kino__analysis_def *def, kino_run *run,
                           const kino_report_options *given, kino_error *err)
{
    kino__map_job *job = &w->jobs[w->map.job_count];
    kino_param params[MOST_PARAMS];
    size_t count = params_of(def, given, params);
    job->analysis = &w->analyses[w->map.job_count++];
    KINO_TRY(kino__analysis_init(job->analysis, def, params, count, err));
    job->analysis->is_brief = kino__report_is_brief(def, given->full);
    if (def == &kino__report_facts_def)
        return KINO_OK;
    job->result = kino__result_new(def->name);
    kino__run_describe(run, job->result);
    return job->result ? KINO_OK : kino__fail_nomem(err);
}

/* The facts, then the others as they are to be started, then what only a section needs. */
static kino_status add_jobs(work *w, kino_run *run, const kino_report_options *given,
                            kino_error *err)
{
    KINO_TRY(add_job(w, &kino__report_facts_def, run, given, err));
    for (unsigned start = 0; start < USED_COUNT; start++) {
        size_t i = 0;
        while (used[i].start != start)
            i++;
        w->jobs[w->map.job_count].is_large = used[i].is_large;
        if (used[i].def == &kino__analysis_completeness)
            w->map.unprepared = w->map.job_count;
        KINO_TRY(add_job(w, used[i].def, run, given, err));
    }
    if (kino__report_wants_costs(run, given))
        KINO_TRY(add_job(w, &kino__analysis_roofline, run, given, err));
    return KINO_OK;
}

static void free_jobs(work *w)
{
    kino__map_reduce_deinit(&w->map);
    for (size_t i = 0; i < w->map.job_count; i++) {
        kino_result_free(w->jobs[i].result);
        kino__analysis_deinit(&w->analyses[i]);
    }
}

/* Tables that grow with the trace are for those who ask for everything. */
static void drop_bulk(kino__report *report)
{
    static const struct {
        const kino__analysis_def *def;
        size_t table;
    } bulk[] = {{&kino__analysis_overview, KINO__OVERVIEW_UTILIZATION},
                {&kino__analysis_memory, KINO__MEMORY_CURVE},
                {&kino__analysis_memory, KINO__MEMORY_EVENTS}}; /* the last ones first */
    for (size_t i = 0; i < sizeof bulk / sizeof *bulk; i++) {
        kino_result *result = kino__report_result_of(report, bulk[i].def);
        size_t at = bulk[i].table;
        if (!result)
            continue;
        kino__table_clear(result->tables.items[at]);
        memmove(&result->tables.items[at], &result->tables.items[at + 1],
                (--result->tables.count - at) * sizeof *result->tables.items);
        if (i == 0 || bulk[i].def != bulk[i - 1].def)
            kino__result_note_hinted(
                result, kino__hint(KINO_HINT_OPTION, "full", "yes"),
                "tables that grow with the trace are left out without " KINO__HERE);
    }
}

/* Few recordings have samples of the CPU: the others need not say so. */
static bool is_left_out(const kino_result *result, const kino__analysis_def *def)
{
    if (def != &kino__analysis_functions)
        return false;
    for (size_t i = 0; i < result->tables.count; i++)
        if (kino__table_row_count(result->tables.items[i]))
            return false;
    return true;
}

static kino_status take_results(kino__report *report, work *w, kino_error *err)
{
    for (size_t i = 0; i < USED_COUNT; i++) {
        kino_result **from = &w->jobs[1 + used[i].start].result;
        if (is_left_out(*from, used[i].def))
            continue;
        kino_result **slot = kino__vec_add(&report->results);
        if (!slot)
            return kino__fail_nomem(err);
        kino_result *result = *from;
        *from = NULL;
        KINO_TRY(kino__result_finish(result, slot, err));
    }
    return KINO_OK;
}

/* Findings and sums of operators and kernels do not depend on the chosen steps. */
static kino_status note_steps(kino__report *report, const char *steps, kino_error *err)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text,
                        "only the step time and its parts are restricted to steps %s; findings, "
                        "operators, kernels and memory cover all steps",
                        steps);
    kino__note *slot = text.failed ? NULL : kino__vec_add(&report->notes);
    if (slot)
        *slot = (kino__note){kino__report_copy(report, kino__buffer_str(&text)).data, {0}, 0};
    kino__buffer_deinit(&text);
    return slot && slot->text ? KINO_OK : kino__fail_nomem(err);
}

static kino_status compose(kino__report *report, kino_run *run, work *w, const char *steps,
                           kino_error *err)
{
    const kino__report_facts *facts = w->jobs[0].partials[0];
    kino__report_numbers numbers = {.step_time = KINO_NO_INT, .losses = KINO_NO_INT};
    if (facts->ranks.count != run->run.traces.count)
        return kino__fail(err, KINO_FORMAT, "'%s': a partial result of the report is damaged",
                          run->label);
    if (steps && facts->steps.count == 0)
        return kino__fail(err, KINO_NOT_FOUND, "no step of '%s' matches '%s'", run->label, steps);
    if (steps)
        KINO_TRY(note_steps(report, steps, err));
    KINO_TRY(take_results(report, w, err));
    kino__report_head(report, run, facts);
    kino__report_steps(report, facts, &numbers);
    kino__report_input input = {report, run, facts, &numbers, w->is_compat, NULL};
    if (w->map.job_count == JOBS_MAX)
        input.costs = w->jobs[JOBS_MAX - 1].result;
    kino__report_sections(&input);
    kino__report_say(report, &numbers);
    if (!report->is_full)
        drop_bulk(report);
    for (size_t i = 0; i < run->notes.count; i++) {
        kino__note *slot = kino__vec_add(&report->notes);
        if (!slot)
            return kino__fail_nomem(err);
        const kino__note *note = &run->notes.items[i];
        kino_str text = kino__report_copy(report, kino__str_from(note->text));
        *slot = (kino__note){text.data ? text.data : "", note->hint, 0};
    }
    return report->own->failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino__report *report_new(const kino_run *run, bool is_full)
{
    kino__report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    kino__arena_init(&report->arena, NULL);
    report->is_full = is_full;
    report->version = kino_version();
    report->own = kino__result_new("report");
    kino__run_describe(run, report->own);
    report->path = kino__report_copy(report, kino__str_from(run->label));
    for (int r = 0; r < KINO__REPORT_ROLES; r++)
        report->roles[r] = kino__role_name((kino__role)r);
    if (report->own)
        return report;
    kino_report_free(report);
    return NULL;
}

static kino_status make(work *w, kino_run *run, const kino_report_options *given,
                        kino__report *report, kino_error *err)
{
    KINO_TRY(add_jobs(w, run, given, err));
    KINO_TRY(kino__map_reduce_run(&w->map, err));
    return compose(report, run, w, given->steps, err);
}

kino_status kino_run_report(kino_run *run, const kino_report_options *options, kino_report **out,
                            kino_error *err)
{
    static_assert((int)KINO__REPORT_ROLES == (int)KINO__ROLE_COUNT, "a bar has all roles");
    *out = NULL;
    kino__error_clear(err);
    run = kino__run_ranks(run);
    kino_report_options given = KINO_REPORT_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    work *w = calloc(1, sizeof *w);
    kino__report *report = w ? report_new(run, given.full) : NULL;
    if (!report) {
        free(w);
        return kino__fail_nomem(err);
    }
    w->map = (kino__map_reduce){.run = &run->run,
                                .progress = &progress,
                                .jobs = w->jobs,
                                .forgets = given.alone && run->run.traces.count > 1,
                                .prepare = make_profile,
                                .prepare_context = w};
    w->is_alone = given.alone;
    w->is_last = given.alone && given.last && !kino__report_wants_costs(run, &given);
    w->is_compat = given.compat && strcmp(given.compat, "tensorboard") == 0;
    kino_status st = kino__pool_new(given.jobs, &w->map.pool, err);
    if (st == KINO_OK && run->run.traces.count == 1)
        st = kino__pool_new(given.jobs, &w->inner, err);
    if (st == KINO_OK)
        st = make(w, run, &given, report, err);
    free_jobs(w);
    kino__pool_free(w->inner);
    kino__pool_free(w->map.pool);
    free(w);
    if (st == KINO_OK)
        *out = report;
    else
        kino_report_free(report);
    return st;
}

kino_status kino_report_check(const kino_report_options *options, kino_error *err)
{
    kino__error_clear(err);
    kino_report_options given = KINO_REPORT_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino_param params[2];
    size_t count = 0;
    if (given.compat)
        params[count++] = (kino_param){"compat", given.compat};
    if (given.steps)
        params[count++] = (kino_param){"steps", given.steps};
    kino__analysis a;
    kino_status st = kino__analysis_init(&a, &kino__report_facts_def, params, count, err);
    kino__analysis_deinit(&a);
    return st;
}

const kino_result *kino_report_result(const kino_report *report, size_t index)
{
    return index < report->results.count ? report->results.items[index] : NULL;
}

void kino_report_free(kino_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->results.count; i++)
        kino_result_free(report->results.items[i]);
    kino_result_free(report->own);
    kino__vec_deinit(&report->facts);
    kino__vec_deinit(&report->summary);
    kino__vec_deinit(&report->ranks);
    kino__vec_deinit(&report->steps);
    kino__vec_deinit(&report->findings);
    kino__vec_deinit(&report->sections);
    kino__vec_deinit(&report->results);
    kino__vec_deinit(&report->notes);
    kino__arena_deinit(&report->arena);
    free(report);
}
