/* report.c - a report: every analysis that belongs to it once over every trace, then the value that
 * renderers show (render/report.h).
 *
 * One trace: its profile is made first, with the one analysis beside it that does without; then the
 * others are shared out among the threads. Several traces are shared out instead, each with all its
 * analyses, so that what was worked out about a trace is still in the caches; they are merged in
 * their order. The answer does not depend on the threads. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/progress.h"
#include "engine/analyze.h"
#include "engine/reload.h"
#include "model/frame/frame.h"
#include "report/report_internal.h"

/* What a report is made of; one that is not in this build is left out. The expensive ones first:
 * they are started first. */
static const char *const names[] = {"memory",    "recommendations", "operators", "distributed",
                                    "overview",  "kernels",         "modules",   "functions",
                                    "lightning", "completeness"};
/* Larger than any block: the table of their lives is left out without --full anyway. */
#define NO_BLOCKS "1000000TB"
enum { NAME_COUNT = sizeof names / sizeof *names, JOBS_MAX = NAME_COUNT + 1 };

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

kino__evidence kino__report_evidence(kino__report *report, const int64_t *ids, size_t count)
{
    if (count == 0)
        return (kino__evidence){NULL, 0};
    int64_t *copy = kino__arena_alloc(&report->arena, count * sizeof *copy);
    if (!copy) {
        kino__report_fail(report);
        return (kino__evidence){NULL, 0};
    }
    memcpy(copy, ids, count * sizeof *copy);
    return (kino__evidence){copy, count};
}

const kino__table *kino__report_table(const kino__report *report, const char *analysis,
                                      const char *table)
{
    for (size_t i = 0; i < report->results.count; i++) {
        const kino_result *result = report->results.items[i];
        if (strcmp(result->name, analysis) != 0)
            continue;
        for (size_t k = 0; k < result->tables.count; k++)
            if (strcmp(result->tables.items[k]->name, table) == 0)
                return result->tables.items[k];
    }
    return NULL;
}

size_t kino__table_column(const kino__table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

kino_cell kino__table_cell(const kino__table *table, size_t row, size_t column)
{
    return column < table->column_count ? table->cells.items[row * table->column_count + column]
                                        : kino__cell_null();
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

typedef struct job {
    kino__analysis analysis;
    void **partials;     /* of each trace; the first one is the whole after merging */
    kino__buffer *saved; /* of each trace: the bytes that its partial lives in; or empty */
    kino_result *result; /* NULL: the facts */
    kino_status status;
    kino_error error;
} job;

typedef struct work {
    const kino__run *run;
    kino__pool *pool;
    kino__pool *inner; /* of the profile, while `pool` is at work */
    kino__progress *progress;
    bool is_compat;
    bool is_alone; /* may forget what was worked out about a trace */
    bool is_last;  /* and drop what nothing here needs any more */
    job jobs[JOBS_MAX];
    size_t count;
    size_t alone;          /* the job that needs no profile; count: none */
    bool is_alone_mapped;  /* of a single trace */
    bool has_profile;      /* of a single trace */
    kino_status *statuses; /* of jobs and traces: job * traces + trace */
    kino_error *errors;
} work;

static kino_status map_one(work *w, size_t number, size_t index, kino_error *err)
{
    job *j = &w->jobs[number];
    const kino__trace *trace = w->run->traces.items[index];
    if (kino__progress_is_cancelled(w->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    j->partials[index] = kino__partial_new(&j->analysis);
    if (!j->partials[index])
        return kino__fail_nomem(err);
    KINO_TRY(kino__frame_explain(
        trace, j->analysis.def->map(&j->analysis, trace, j->partials[index], err), err));
    if (!kino__progress_add(w->progress, trace->event_count))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return KINO_OK;
}

static void run_map(work *w, size_t number, size_t index)
{
    size_t at = number * w->run->traces.count + index;
    w->statuses[at] = map_one(w, number, index, &w->errors[at]);
}

/* These need much memory while they work: one after the other, beside the others. */
static bool is_large(const work *w, size_t number)
{
    const char *name = w->jobs[number].analysis.def->name;
    return strcmp(name, "memory") == 0 || strcmp(name, "recommendations") == 0 ||
           strcmp(name, "overview") == 0;
}

/* A job; of the large ones the first stands for all. */
static void map_job(void *context, unsigned worker, size_t number)
{
    (void)worker;
    work *w = context;
    if (number == w->alone)
        return;
    if (!is_large(w, number)) {
        run_map(w, number, 0);
        return;
    }
    for (size_t i = 0; i < number; i++)
        if (is_large(w, i))
            return;
    for (size_t i = number; i < w->count; i++)
        if (is_large(w, i))
            run_map(w, i, 0);
}

/* The analysis that needs no profile, beside the making of one. */
static void map_beside(void *context)
{
    work *w = context;
    w->is_alone_mapped = true;
    if (w->alone < w->count)
        run_map(w, w->alone, 0);
}

static void map_beside_task(void *context, unsigned worker, size_t index)
{
    (void)worker;
    work *w = context;
    if (index == 1)
        map_beside(w);
    else
        w->has_profile = kino__profile_of(w->run->traces.items[0], w->is_compat, w->inner) != NULL;
}

/* Makes the profile of the only trace. */
static void begin_trace(work *w)
{
    kino__trace *trace = w->run->traces.items[0];
    if (w->is_alone)
        w->has_profile =
            kino__profile_alone(trace, w->is_compat, w->inner, w->is_last, map_beside, w) != NULL;
    else
        kino__pool_run(w->pool, 2, map_beside_task, w);
    if (!w->is_alone_mapped) /* there was a profile already */
        map_beside(w);
}

/* The partials of a trace moved into bytes of their own, so that all that was worked out about it
 * can go: they may point into it. */
static kino_status save_partials(work *w, size_t index, kino_error *err)
{
    for (size_t i = 0; i < w->count; i++) {
        job *j = &w->jobs[i];
        kino__buffer *bytes = &j->saved[index];
        if (!j->analysis.def->pack || !j->partials[index])
            continue; /* the facts point to the trace alone */
        kino__partial_save(&j->analysis, j->partials[index], bytes);
        kino__partial_free(&j->analysis, j->partials[index]);
        j->partials[index] = NULL;
        if (bytes->failed)
            return kino__fail_nomem(err);
        KINO_TRY(
            kino__partial_load(&j->analysis, kino__buffer_str(bytes), &j->partials[index], err));
    }
    return KINO_OK;
}

/* No job has its partial of this trace. */
static void fail_trace(work *w, size_t index, const kino_error *err)
{
    for (size_t i = 0; i < w->count; i++) {
        w->statuses[i * w->run->traces.count + index] = err->code;
        w->errors[i * w->run->traces.count + index] = *err;
    }
}

/* What needs links comes first: the analysis that does without a profile, and that. */
static void map_each(work *w, kino__trace *trace, size_t index)
{
    if (w->alone < w->count)
        run_map(w, w->alone, index);
    if (w->is_alone) /* who needs it sees whether it is there */
        (void)kino__profile_alone(trace, w->is_compat, NULL, w->is_last, NULL, NULL);
    for (size_t i = 0; i < w->count; i++)
        if (i != w->alone)
            run_map(w, i, index);
}

static void map_trace(void *context, unsigned worker, size_t index)
{
    (void)worker;
    work *w = context;
    kino__trace *trace = w->run->traces.items[index];
    bool was_there = !kino__trace_is_released(trace);
    kino_error err;
    kino_status st = kino__trace_require(trace, KINO__COLUMN_ALL, NULL, &err);
    if (st == KINO_OK)
        map_each(w, trace, index);
    bool forgets = w->is_alone && w->run->traces.count > 1;
    if (st == KINO_OK && forgets)
        st = save_partials(w, index, &err);
    if (st != KINO_OK)
        fail_trace(w, index, &err);
    if (forgets && (w->run->is_tight || (trace->source && st == KINO_OK)))
        kino__trace_done(trace, was_there);
    else if (forgets && st == KINO_OK)
        kino__trace_forget(trace);
}

static void map_all(work *w)
{
    size_t traces = w->run->traces.count;
    uint64_t events = 0;
    for (size_t i = 0; i < traces; i++)
        events += w->run->traces.items[i]->event_count;
    kino__progress_stage(w->progress, "analysing", events * w->count);
    if (traces != 1) {
        kino__pool_run(w->pool, traces, map_trace, w);
        return;
    }
    kino_error err;
    kino_status st = kino__trace_require(w->run->traces.items[0], KINO__COLUMN_ALL, w->pool, &err);
    if (st == KINO_OK)
        begin_trace(w);
    if (w->has_profile)
        kino__pool_run(w->pool, w->count, map_job, w);
    else if (st == KINO_OK)
        st = kino__fail_nomem(&err);
    if (st != KINO_OK)
        fail_trace(w, 0, &err);
}

static kino_status merge_job(work *w, size_t number, kino_error *err)
{
    job *j = &w->jobs[number];
    size_t traces = w->run->traces.count;
    for (size_t i = 0; i < traces; i++) {
        size_t at = number * traces + i;
        if (w->statuses[at] != KINO_OK) {
            if (err)
                *err = w->errors[at];
            return w->statuses[at];
        }
        if (i == 0)
            continue;
        KINO_TRY(j->analysis.def->merge(&j->analysis, j->partials[0], j->partials[i], err));
        kino__partial_free(&j->analysis, j->partials[i]);
        j->partials[i] = NULL;
    }
    return KINO_OK;
}

/* Merges, and makes the tables. The partial of the facts stays. */
static void finish_job(void *context, unsigned worker, size_t number)
{
    (void)worker;
    work *w = context;
    job *j = &w->jobs[number];
    j->status = merge_job(w, number, &j->error);
    if (j->status != KINO_OK || !j->result)
        return;
    j->status = kino__analysis_finish(&j->analysis, w->run, j->partials[0], j->result, &j->error);
}

/* -- the jobs -- */

static kino_status add_job(work *w, const kino__analysis_def *def, kino_run *run,
                           const kino_report_options *given, kino_error *err)
{
    job *j = &w->jobs[w->count];
    kino_param params[3];
    size_t count = 0;
    kino_param_info info;
    for (size_t i = 0; !given->full && kino__analysis_param(def, i, &info); i++)
        if (strcmp(def->name, "memory") == 0 && strcmp(info.name, "min_size") == 0)
            params[count++] = (kino_param){info.name, NO_BLOCKS};
    if (given->compat && def->compat)
        params[count++] = (kino_param){"compat", given->compat};
    if (given->steps && def->takes_steps)
        params[count++] = (kino_param){"steps", given->steps};
    w->count++;
    KINO_TRY(kino__analysis_init(&j->analysis, def, params, count, err));
    j->analysis.progress = w->progress;
    j->partials = calloc(w->run->traces.count + 1, sizeof *j->partials);
    j->saved = calloc(w->run->traces.count + 1, sizeof *j->saved);
    if (!j->partials || !j->saved)
        return kino__fail_nomem(err);
    if (def == &kino__report_facts_def)
        return KINO_OK;
    j->result = kino__result_new(def->name);
    kino__run_describe(run, j->result);
    return KINO_OK;
}

static kino_status add_jobs(work *w, kino_run *run, const kino_report_options *given,
                            kino_error *err)
{
    KINO_TRY(add_job(w, &kino__report_facts_def, run, given, err));
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const kino__analysis_def *def = kino__analyses_find(kino__str_from(names[i]));
        if (def)
            KINO_TRY(add_job(w, def, run, given, err));
    }
    for (w->alone = 0; w->alone < w->count; w->alone++)
        if (strcmp(w->jobs[w->alone].analysis.def->name, "completeness") == 0)
            break;
    size_t total = w->count * (w->run->traces.count + 1);
    w->statuses = calloc(total, sizeof *w->statuses);
    w->errors = calloc(total, sizeof *w->errors);
    return w->statuses && w->errors ? KINO_OK : kino__fail_nomem(err);
}

static void free_jobs(work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        job *j = &w->jobs[i];
        for (size_t k = 0; j->partials && k < w->run->traces.count; k++)
            kino__partial_free(&j->analysis, j->partials[k]);
        for (size_t k = 0; j->saved && k < w->run->traces.count; k++)
            kino__buffer_deinit(&j->saved[k]);
        free(j->saved);
        free(j->partials);
        kino_result_free(j->result);
        kino__analysis_deinit(&j->analysis);
    }
    free(w->statuses);
    free(w->errors);
}

/* Tables that grow with the trace are for those who ask for everything. */
static void quiet_bulk(kino_result *result)
{
    static const char *const bulk[] = {"memory_events", "memory_curve", "utilization_series"};
    size_t kept = 0;
    for (size_t i = 0; i < result->tables.count; i++) {
        kino__table *table = result->tables.items[i];
        bool is_bulk = false;
        for (size_t k = 0; k < sizeof bulk / sizeof *bulk; k++)
            is_bulk |= strcmp(table->name, bulk[k]) == 0;
        if (!is_bulk)
            result->tables.items[kept++] = table;
        else
            kino__vec_deinit(&table->cells);
    }
    if (kept < result->tables.count)
        kino__result_note(result, "tables that grow with the trace are left out without --full");
    result->tables.count = kept;
}

/* Few recordings have samples of the CPU: the others need not say so. */
static bool is_left_out(const kino_result *result)
{
    if (strcmp(result->name, "functions") != 0)
        return false;
    for (size_t i = 0; i < result->tables.count; i++)
        if (kino__table_row_count(result->tables.items[i]))
            return false;
    return true;
}

/* In the order that people read them. */
static kino_status take_results(kino__report *report, work *w, kino_error *err)
{
    static const char *const order[] = {
        "overview",  "operators",   "kernels",   "memory",          "modules",
        "lightning", "distributed", "functions", "recommendations", "completeness"};
    for (size_t i = 0; i < w->count; i++) {
        if (w->jobs[i].status == KINO_OK)
            continue;
        if (err)
            *err = w->jobs[i].error;
        return w->jobs[i].status;
    }
    for (size_t n = 0; n < sizeof order / sizeof *order; n++) {
        for (size_t i = 0; i < w->count; i++) {
            job *j = &w->jobs[i];
            if (!j->result || strcmp(j->result->name, order[n]) != 0 || is_left_out(j->result))
                continue;
            kino_result **slot = kino__vec_add(&report->results);
            if (!slot)
                return kino__fail_nomem(err);
            kino_result *result = j->result;
            j->result = NULL;
            KINO_TRY(kino__result_finish(result, slot, err));
        }
    }
    return KINO_OK;
}

static kino_status compose(kino__report *report, kino_run *run, work *w, kino_error *err)
{
    const kino__report_facts *facts = w->jobs[0].partials[0];
    static const kino__report_facts none = {0};
    kino__report_numbers numbers = {.step_time = KINO_NO_INT, .losses = KINO_NO_INT};
    facts = facts ? facts : &none;
    KINO_TRY(take_results(report, w, err));
    kino__report_head(report, run, facts);
    kino__report_steps(report, facts, &numbers);
    kino__report_sections(report, run, facts, &numbers);
    kino__report_say(report, &numbers);
    for (size_t i = 0; !report->is_full && i < report->results.count; i++)
        quiet_bulk(report->results.items[i]);
    for (size_t i = 0; i < run->notes.count; i++) {
        kino_str *slot = kino__vec_add(&report->notes);
        if (!slot)
            return kino__fail_nomem(err);
        *slot = kino__report_copy(report, kino__str_from(run->notes.items[i]));
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
    map_all(w);
    kino__pool_run(w->pool, w->count, finish_job, w);
    return compose(report, run, w, err);
}

kino_status kino_run_report(kino_run *run, const kino_report_options *options, kino_report **out,
                            kino_error *err)
{
    static_assert((int)KINO__REPORT_ROLES == (int)KINO__ROLE_COUNT, "a bar has all roles");
    *out = NULL;
    kino__error_clear(err);
    run = kino__run_ranks(run);
    kino_report_options given = KINO_REPORT_OPTIONS_INIT;
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    work *w = calloc(1, sizeof *w);
    kino__report *report = w ? report_new(run, given.full) : NULL;
    if (!report) {
        free(w);
        return kino__fail_nomem(err);
    }
    w->run = &run->run;
    w->progress = &progress;
    w->is_alone = given.alone;
    w->is_last = given.alone && given.last;
    w->is_compat = given.compat && strcmp(given.compat, "tensorboard") == 0;
    kino_status st = kino__pool_new(given.jobs, &w->pool, err);
    if (st == KINO_OK && run->run.traces.count == 1)
        st = kino__pool_new(given.jobs, &w->inner, err);
    if (st == KINO_OK)
        st = make(w, run, &given, report, err);
    free_jobs(w);
    kino__pool_free(w->inner);
    kino__pool_free(w->pool);
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
    memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
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
