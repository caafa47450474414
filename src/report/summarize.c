/* summarize.c - kino_run_summarize: the analyses that a report stands on and those that were asked
 * for, once over every trace, saved in coordinates of that trace.
 *
 * A partial result may depend on one thing of the other traces of its run: whether their steps
 * differ (HTA then leaves out the last one). A trace with several steps has the answer itself; the
 * others are mapped twice, and what differs is kept twice. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/map_reduce.h"
#include "engine/summary.h"
#include "model/frame/frame.h"
#include "report/report_internal.h"

typedef struct summarizing {
    kino_run *run;
    kino_summary *out;
    const kino_summarize_options *given;
    kino__pool *pool;
    kino__progress *progress;
    bool is_brief; /* a report without details, though one with them is asked for too */
    KINO__VEC(kino__analysis *) analyses; /* a job each */
    KINO__VEC(kino__map_job) jobs;
} summarizing;

/* -- what is asked -- */

static bool is_there(const summarizing *s, const kino__analysis *a)
{
    kino__buffer head = {0};
    bool is_there = false;
    kino__partial_head(a, &head);
    for (size_t i = 0; i < s->out->answers.count && !is_there; i++)
        is_there = kino__str_equal(s->out->answers.items[i].head, kino__buffer_str(&head));
    kino__buffer_deinit(&head);
    return is_there;
}

/* The answer without pieces. */
static bool add_answer(summarizing *s, const kino__analysis *a)
{
    kino_summary *out = s->out;
    kino__buffer head = {0};
    kino__kept_answer *answer = kino__vec_add(&out->answers);
    if (!answer)
        return false;
    *answer = (kino__kept_answer){.analysis = a->def->name, .is_brief = a->is_brief};
    kino__partial_head(a, &head);
    answer->head = kino__arena_copy(&out->arena, kino__buffer_str(&head));
    bool ok = !head.failed && answer->head.data &&
              kino__analysis_list_params(a, &out->arena, &answer->params) &&
              kino__vec_reserve(&answer->pieces, s->run->run.traces.count);
    kino__buffer_deinit(&head);
    return ok;
}

static kino_status add_question(summarizing *s, const kino__analysis_def *def,
                                const kino_param *params, size_t count, bool is_brief,
                                kino_error *err)
{
    kino__analysis *a = calloc(1, sizeof *a);
    if (!a)
        return kino__fail_nomem(err);
    kino_status st = kino__analysis_init(a, def, params, count, err);
    a->is_brief = is_brief;
    bool is_new = st == KINO_OK && !is_there(s, a);
    kino__analysis **slot = is_new ? kino__vec_add(&s->analyses) : NULL;
    kino__map_job *job = slot ? kino__vec_add(&s->jobs) : NULL;
    if (job) {
        *slot = a;
        *job = (kino__map_job){.analysis = a, .is_large = kino__report_is_large(def)};
        return add_answer(s, a) ? KINO_OK : kino__fail_nomem(err);
    }
    s->analyses.count -= slot != NULL;
    kino__analysis_deinit(a);
    free(a);
    return st == KINO_OK && is_new ? kino__fail_nomem(err) : st;
}

static kino_status add_report_job(void *context, const kino__analysis_def *def,
                                  const kino_param *params, size_t count, kino_error *err)
{
    summarizing *s = context;
    bool is_full = s->given->how && s->given->how->full && !s->is_brief;
    bool is_brief = kino__report_is_brief(def, is_full);
    return add_question(s, def, params, count, is_brief, err);
}

static kino_status add_all(summarizing *s, kino_error *err)
{
    const kino__analysis_def *def;
    for (size_t i = 0; (def = kino__analyses_at(i)); i++)
        if (s->given->all || (s->given->usual && !def->grows))
            KINO_TRY(add_question(s, def, NULL, 0, false, err));
    return KINO_OK;
}

static kino_status add_given(summarizing *s, kino_error *err)
{
    for (size_t i = 0; i < s->given->question_count; i++) {
        const kino_summary_question *q = &s->given->questions[i];
        const kino__analysis_def *def = kino__analyses_find(kino__str_from(q->analysis));
        if (!def)
            return kino__fail(err, KINO_NOT_FOUND, "unknown analysis '%s'", q->analysis);
        KINO_TRY(add_question(s, def, q->params, q->param_count, false, err));
    }
    return KINO_OK;
}

static kino_status add_questions(summarizing *s, kino_error *err)
{
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(how, s->given->how);
    if (s->given->usual || s->given->report)
        KINO_TRY(kino__report_each_job(s->run, &how, add_report_job, s, err));
    if (s->given->usual && how.full) { /* the shorter one too */
        s->is_brief = true;
        how.full = false;
        KINO_TRY(kino__report_each_job(s->run, &how, add_report_job, s, err));
    }
    KINO_TRY(add_all(s, err));
    return add_given(s, err);
}

/* -- mapping -- */

static kino_status map(summarizing *s, const kino__run *run, kino__map_reduce *m, kino_error *err)
{
    *m = (kino__map_reduce){.run = run,
                            .pool = s->pool,
                            .progress = s->progress,
                            .jobs = s->jobs.items,
                            .job_count = s->jobs.count,
                            .forgets = true,
                            .saves_alone = true,
                            .unprepared = s->jobs.count};
    return kino__map_reduce_map(m, err);
}

static kino_status first_failure(const summarizing *s, size_t trace, kino_error *err)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const kino__map_job *job = &s->jobs.items[i];
        if (job->statuses[trace] == KINO_OK)
            continue;
        if (err)
            *err = job->errors[trace];
        return job->statuses[trace];
    }
    return KINO_OK;
}

static bool keep_bytes(summarizing *s, const kino__buffer *from, kino_str *out)
{
    *out = kino__arena_copy(&s->out->arena, kino__buffer_str(from));
    return out->data != NULL;
}

static kino_status take_pieces(summarizing *s, kino_error *err)
{
    size_t traces = s->run->run.traces.count;
    for (size_t t = 0; t < traces; t++)
        KINO_TRY(first_failure(s, t, err));
    for (size_t i = 0; i < s->jobs.count; i++) {
        kino__kept_answer *answer = &s->out->answers.items[i];
        for (size_t t = 0; t < traces; t++) {
            kino__kept_piece *piece = &answer->pieces.items[answer->pieces.count++];
            *piece = (kino__kept_piece){.trace = (uint32_t)t, .count = 1, .together = {"", 0}};
            if (!keep_bytes(s, &s->jobs.items[i].saved[t], &piece->bytes))
                return kino__fail_nomem(err);
        }
    }
    return KINO_OK;
}

/* Of the trace, where it is another one than before. */
static kino_status take_other(summarizing *s, size_t mapped, size_t trace, kino_error *err)
{
    KINO_TRY(first_failure(s, mapped, err));
    for (size_t i = 0; i < s->jobs.count; i++) {
        kino__kept_piece *piece = &s->out->answers.items[i].pieces.items[trace];
        const kino__buffer *saved = &s->jobs.items[i].saved[mapped];
        if (!kino__str_equal(piece->bytes, kino__buffer_str(saved)) &&
            !keep_bytes(s, saved, &piece->together))
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

static bool has_several_steps(const kino__trace *trace)
{
    kino__run_steps steps = {.seen = KINO_NO_INT};
    kino__run_steps_add(&steps, trace);
    return steps.has_several;
}

static kino_status map_again(summarizing *s, const uint32_t *traces, size_t count, kino_error *err)
{
    kino_run *some;
    kino__map_reduce m;
    KINO_TRY(kino_run_select(s->run, traces, count, &some, err));
    for (size_t i = 0; i < count; i++)
        kino__trace_forget(some->run.traces.items[i]);
    kino_status st = map(s, &some->run, &m, err);
    for (size_t i = 0; i < count && st == KINO_OK; i++)
        st = take_other(s, i, traces[i], err);
    kino__map_reduce_deinit(&m);
    kino_run_free(some);
    return st;
}

static kino_status map_with_several(summarizing *s, kino_error *err)
{
    size_t all = s->run->run.traces.count, count = 0;
    uint32_t *traces = calloc(all + 1, sizeof *traces);
    if (!traces)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < all; i++)
        if (!has_several_steps(s->run->run.traces.items[i]))
            traces[count++] = (uint32_t)i;
    s->run->run.steps_as = KINO__STEPS_AS_SEVERAL;
    kino_status st = count ? map_again(s, traces, count, err) : KINO_OK;
    free(traces);
    return st;
}

static kino_status map_alone(summarizing *s, kino_error *err)
{
    kino__map_reduce m;
    s->run->run.steps_as = KINO__STEPS_AS_ALONE;
    kino_status st = map(s, &s->run->run, &m, err);
    if (st == KINO_OK)
        st = take_pieces(s, err);
    kino__map_reduce_deinit(&m);
    return st;
}

static kino_status add_traces(summarizing *s, kino_error *err)
{
    const kino_run *run = s->run;
    kino_str label = kino__arena_copy(&s->out->arena, kino__str_from(run->label));
    if (!label.data || !kino__summary_add_notes(s->out, run))
        return kino__fail_nomem(err);
    s->out->label = label.data;
    s->out->part = run->part;
    s->out->parts = run->parts;
    for (size_t i = 0; i < run->run.traces.count; i++)
        KINO_TRY(kino__summary_add_trace(s->out, run->run.traces.items[i], err));
    return KINO_OK;
}

static kino_status summarize(summarizing *s, kino_error *err)
{
    KINO_TRY(add_questions(s, err));
    KINO_TRY(add_traces(s, err));
    if (s->run->run.traces.count == 0)
        return KINO_OK;
    KINO_TRY(map_alone(s, err));
    return map_with_several(s, err);
}

kino_status kino_summary_new(const char *const *paths, size_t count,
                             const kino_summarize_options *options, kino_summary **out,
                             kino_error *err)
{
    kino_run none = {.label = ""};
    kino__buffer label = {0};
    for (size_t i = 0; i < count; i++)
        kino__buffer_printf(&label, "%s%s", i ? " " : "", paths[i]);
    kino__buffer_add(&label, (kino_str){"", 1});
    kino__run_init(&none.run);
    none.label = label.failed ? "" : label.data;
    kino_status st = kino_run_summarize(&none, options, out, err);
    kino__buffer_deinit(&label);
    return st;
}

kino_status kino_run_summarize(kino_run *run, const kino_summarize_options *options,
                               kino_summary **out, kino_error *err)
{
    kino_summarize_options given = KINO_SUMMARIZE_OPTIONS_INIT;
    kino__progress progress;
    *out = NULL;
    kino__error_clear(err);
    KINO__TAKE_OPTIONS(given, options);
    kino__progress_init(&progress, given.progress, given.progress_context);
    summarizing s = {.run = run, .given = &given, .progress = &progress};
    kino_status st = run->summaries.count || run->is_selection
                         ? kino__fail(err, KINO_ARGUMENT, "'%s' has no events", run->label)
                         : kino__pool_new(given.jobs, &s.pool, err);
    if (st == KINO_OK)
        st = kino__summary_new(&s.out, err);
    if (st == KINO_OK)
        st = summarize(&s, err);
    for (size_t i = 0; i < s.analyses.count; i++) {
        kino__analysis_deinit(s.analyses.items[i]);
        free(s.analyses.items[i]);
    }
    kino__vec_deinit(&s.analyses);
    kino__vec_deinit(&s.jobs);
    kino__pool_free(s.pool);
    if (st == KINO_OK)
        *out = s.out;
    else
        kino_summary_free(s.out);
    return st;
}
