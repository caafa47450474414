/* map_reduce.c - maps jobs over traces, saves what must not stay, merges and finishes. */
#include "engine/map_reduce.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/analyze.h"
#include "engine/reload.h"
#include "engine/summary.h"
#include "model/frame/frame.h"

/* -- map -- */

static kino_status map_one(const kino__map_reduce *m, const kino__map_job *job, size_t index,
                           kino_error *err)
{
    const kino__trace *trace = m->run->traces.items[index];
    void *partial = NULL;
    if (kino__progress_is_cancelled(m->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    partial = job->partials[index] = kino__partial_new(job->analysis);
    if (!partial)
        return kino__fail_nomem(err);
    KINO_TRY(kino__frame_explain(trace, job->analysis->def->map(job->analysis, trace, partial, err),
                                 err));
    if (!kino__progress_add(m->progress, trace->event_count))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return KINO_OK;
}

static void run_job(const kino__map_reduce *m, size_t number, size_t index)
{
    const kino__map_job *job = &m->jobs[number];
    job->statuses[index] = map_one(m, job, index, &job->errors[index]);
}

/* No job has its partial of this trace. */
static void fail_trace(const kino__map_reduce *m, size_t index, const kino_error *err)
{
    for (size_t i = 0; i < m->job_count; i++) {
        m->jobs[i].statuses[index] = err->code;
        m->jobs[i].errors[index] = *err;
    }
}

/* The columns that some job reads. */
static unsigned columns_of(const kino__map_reduce *m)
{
    unsigned needs = 0;
    for (size_t i = 0; i < m->job_count; i++) {
        unsigned own = m->jobs[i].analysis->def->needs;
        needs |= own ? own : KINO__COLUMN_ALL;
    }
    return needs;
}

/* -- several traces: each on its thread -- */

/* A partial moved into bytes of its own: it may point into what is made of the trace. One that
 * cannot be saved points to the trace alone. */
static kino_status save_partial(const kino__map_reduce *m, const kino__map_job *job, size_t index,
                                kino_error *err)
{
    if (!job->analysis->def->pack || !job->partials[index])
        return KINO_OK;
    if (m->saves_alone)
        kino__partial_save_alone(job->analysis, job->partials[index],
                                 m->run->traces.items[index]->shift_ns, &job->saved[index]);
    else
        kino__partial_save(job->analysis, job->partials[index], &job->saved[index]);
    kino__buffer_trim(&job->saved[index]);
    kino__partial_free(job->analysis, job->partials[index]);
    job->partials[index] = NULL;
    return job->saved[index].failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status save_all(const kino__map_reduce *m, size_t index, kino_error *err)
{
    for (size_t i = 0; i < m->job_count; i++)
        if (m->jobs[i].statuses[index] == KINO_OK)
            KINO_TRY(save_partial(m, &m->jobs[i], index, err));
    return KINO_OK;
}

static void map_jobs(const kino__map_reduce *m, kino__trace *trace, size_t index)
{
    if (m->unprepared < m->job_count)
        run_job(m, m->unprepared, index);
    if (m->prepare) /* who needs it sees whether it is there */
        (void)m->prepare(m->prepare_context, trace, NULL, NULL);
    for (size_t i = 0; i < m->job_count; i++)
        if (i != m->unprepared)
            run_job(m, i, index);
}

static void map_trace(void *context, unsigned worker, size_t index)
{
    (void)worker;
    const kino__map_reduce *m = context;
    kino__trace *trace = m->run->traces.items[index];
    if (trace->kept) /* was mapped elsewhere: loaded when it is merged */
        return;
    bool was_there = !kino__trace_is_released(trace);
    kino_error err;
    kino_status st = kino__trace_require(trace, columns_of(m), NULL, &err);
    if (st == KINO_OK)
        map_jobs(m, trace, index);
    if (st == KINO_OK && m->forgets)
        st = save_all(m, index, &err);
    if (st != KINO_OK)
        fail_trace(m, index, &err);
    if (m->forgets && (m->run->is_tight || (trace->source && st == KINO_OK)))
        kino__trace_done(trace, was_there);
    else if (m->forgets && st == KINO_OK)
        kino__trace_forget(trace);
}

/* -- a single trace: its jobs shared out -- */

/* Of the large jobs the first stands for all. */
static void map_job(void *context, unsigned worker, size_t number)
{
    (void)worker;
    const kino__map_reduce *m = context;
    if (number == m->unprepared)
        return;
    if (!m->jobs[number].is_large) {
        run_job(m, number, 0);
        return;
    }
    for (size_t i = 0; i < number; i++)
        if (m->jobs[i].is_large)
            return;
    for (size_t i = number; i < m->job_count; i++)
        if (m->jobs[i].is_large)
            run_job(m, i, 0);
}

static void map_unprepared(void *context)
{
    kino__map_reduce *m = context;
    m->is_unprepared_mapped = true;
    if (m->unprepared < m->job_count)
        run_job(m, m->unprepared, 0);
}

static kino_status map_single(kino__map_reduce *m, kino_error *err)
{
    kino__trace *trace = m->run->traces.items[0];
    bool is_prepared = true;
    KINO_TRY(kino__trace_require(trace, columns_of(m), m->pool, err));
    if (m->prepare)
        is_prepared = m->prepare(m->prepare_context, trace, map_unprepared, m);
    if (!m->is_unprepared_mapped)
        map_unprepared(m);
    if (!is_prepared)
        return kino__fail_nomem(err);
    kino__pool_run(m->job_count > 1 ? m->pool : NULL, m->job_count, map_job, m);
    return m->forgets ? save_all(m, 0, err) : KINO_OK;
}

static void map_only_trace(kino__map_reduce *m)
{
    kino__trace *trace = m->run->traces.items[0];
    if (trace->kept)
        return;
    bool was_there = !kino__trace_is_released(trace);
    kino_error err;
    if (map_single(m, &err) != KINO_OK)
        fail_trace(m, 0, &err);
    if (m->forgets)
        kino__trace_done(trace, was_there);
}

/* -- both -- */

static bool job_init(kino__map_job *job, const kino__run *run)
{
    size_t traces = run->traces.count;
    job->run = run;
    job->partials = calloc(traces + 1, sizeof *job->partials);
    job->saved = calloc(traces + 1, sizeof *job->saved);
    job->statuses = calloc(traces + 1, sizeof *job->statuses);
    job->errors = calloc(traces + 1, sizeof *job->errors);
    return job->partials && job->saved && job->statuses && job->errors;
}

/* Who shares out nothing else may share out the work inside of map. */
static void set_pools(const kino__map_reduce *m, kino__pool *pool)
{
    for (size_t i = 0; i < m->job_count; i++) {
        m->jobs[i].analysis->pool = m->job_count == 1 ? pool : NULL;
        m->jobs[i].analysis->progress = m->progress;
    }
}

kino_status kino__map_reduce_map(kino__map_reduce *m, kino_error *err)
{
    size_t traces = m->run->traces.count;
    uint64_t events = 0;
    for (size_t i = 0; i < m->job_count; i++)
        if (!job_init(&m->jobs[i], m->run))
            return kino__fail_nomem(err);
    for (size_t i = 0; i < traces; i++)
        events += m->run->traces.items[i]->event_count;
    if (m->progress)
        kino__progress_stage(m->progress, "analysing", events * m->job_count);
    set_pools(m, traces == 1 ? m->pool : NULL);
    if (traces == 1)
        map_only_trace(m);
    else
        kino__pool_run(m->pool, traces, map_trace, m);
    set_pools(m, m->pool); /* nobody else uses it in finish */
    return KINO_OK;
}

/* -- merge and finish -- */

static kino_status need_partial(kino__map_job *job, size_t index, kino_error *err)
{
    if (job->statuses[index] != KINO_OK) {
        if (err)
            *err = job->errors[index];
        return job->statuses[index];
    }
    if (job->partials[index])
        return KINO_OK;
    const kino__trace *trace = job->run->traces.items[index];
    if (trace->kept)
        return kino__kept_load(job->analysis, trace, index, &job->partials[index], err);
    return kino__partial_load(job->analysis, kino__buffer_str(&job->saved[index]),
                              &job->partials[index], err);
}

kino_status kino__map_job_merge(kino__map_job *job, size_t from, size_t to, kino_error *err)
{
    const kino__analysis_def *def = job->analysis->def;
    for (size_t i = from; i < to; i++) {
        KINO_TRY(need_partial(job, i, err));
        if (i == from || !job->partials[i]) /* a part of one before */
            continue;
        KINO_TRY(def->merge(job->analysis, job->partials[from], job->partials[i], err));
        kino__partial_free(job->analysis, job->partials[i]);
        job->partials[i] = NULL;
    }
    return KINO_OK;
}

static kino_status finish(const kino__map_reduce *m, kino__map_job *job, kino_error *err)
{
    size_t traces = m->run->traces.count;
    KINO_TRY(kino__map_job_merge(job, 0, traces, err));
    if (traces == 0)
        job->partials[0] = kino__partial_new(job->analysis);
    if (!job->partials[0])
        return kino__fail_nomem(err);
    return job->result
               ? kino__analysis_finish(job->analysis, traces, job->partials[0], job->result, err)
               : KINO_OK;
}

static void finish_job(void *context, unsigned worker, size_t number)
{
    (void)worker;
    const kino__map_reduce *m = context;
    kino__map_job *job = &m->jobs[number];
    job->status = finish(m, job, &job->error);
}

kino_status kino__map_reduce_run(kino__map_reduce *m, kino_error *err)
{
    KINO_TRY(kino__map_reduce_map(m, err));
    kino__pool_run(m->job_count > 1 ? m->pool : NULL, m->job_count, finish_job, m);
    for (size_t i = 0; i < m->job_count; i++) {
        if (m->jobs[i].status == KINO_OK)
            continue;
        if (err)
            *err = m->jobs[i].error;
        return m->jobs[i].status;
    }
    return KINO_OK;
}

void kino__map_reduce_deinit(kino__map_reduce *m)
{
    for (size_t i = 0; i < m->job_count; i++) {
        kino__map_job *job = &m->jobs[i];
        for (size_t k = 0; k <= m->run->traces.count; k++) {
            if (job->partials)
                kino__partial_free(job->analysis, job->partials[k]);
            if (job->saved)
                kino__buffer_deinit(&job->saved[k]);
        }
        free(job->partials);
        free(job->saved);
        free(job->statuses);
        free(job->errors);
    }
}
