/* process_runs.c - the trace of a process from what it left.
 *
 *   buffers of each exec ──► kino_run_recover ─┐
 *   samples ──► builders ──► kino_run_build ───┴─► joined ──► merged ──► cut
 *
 * A process may have several recordings (one for each exec) and samples; they become one trace with
 * the pids as they are. All of it is in memory; everything goes through the engine's public
 * functions. */
#include <inttypes.h>
#include <unistd.h>

#include "base/error.h"
#include "record/record_internal.h"

static kino_load_options load_options(const kino__recording *r, const char *about)
{
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    load.progress = r->options->progress;
    load.progress_context = r->options->progress_context;
    load.about = about;
    return load;
}

/* -- what there is */

/* Why a recording cannot be opened: an error, a sentence for the user, or nothing. */
static kino_status explain_part(kino__recording *r, const kino__record_part *part,
                                const kino_error *reason, kino_error *err)
{
    if (reason->code == KINO_CANCELLED || reason->code == KINO_NOMEM) {
        if (err)
            *err = *reason;
        return reason->code;
    }
    if (part->is_empty || access(part->path, F_OK) != 0)
        return KINO_OK; /* its process has just ended, and removed it */
    kino__record_note(r, "cannot write a trace of process %" PRId64 ": %s", part->pid,
                      reason->message);
    if (reason->code == KINO_IO && r->failure.code == KINO_OK) /* it is not lost */
        r->failure = *reason;
    return KINO_OK;
}

kino_status kino__record_open_part(kino__recording *r, const kino__record_part *part,
                                   const char *about, kino_run **out, kino_error *err)
{
    kino_recovery recovery = {.size = sizeof recovery};
    kino_load_options load = load_options(r, about);
    kino_error reason;
    if (kino_run_recover(part->path, &load, out, &recovery, &reason) != KINO_OK)
        return explain_part(r, part, &reason, err);
    r->dropped += recovery.dropped;
    r->overwritten += recovery.overwritten;
    r->open_spans += recovery.open_spans;
    return KINO_OK;
}

typedef KINO__VEC(kino_run *) run_list;

static kino_status add_run(run_list *list, kino_run *run, kino_error *err)
{
    kino_run **slot = run ? kino__vec_add(list) : NULL;
    if (slot)
        *slot = run;
    if (slot || !run)
        return KINO_OK;
    kino_run_free(run);
    return kino__fail_nomem(err);
}

static kino_status open_inputs(kino__recording *r, const kino__record_process *p, const char *about,
                               run_list *list, kino_error *err)
{
    kino_run *run = NULL;
    for (size_t i = 0; i < p->parts.count; i++) {
        run = NULL;
        KINO_TRY(kino__record_open_part(r, p->parts.items[i], about, &run, err));
        KINO_TRY(add_run(list, run, err));
    }
    if (!p->samples.count)
        return KINO_OK;
    kino_load_options load = load_options(r, about);
    KINO_TRY(kino_run_build(p->samples.items, p->samples.count, &load, &run, err));
    return add_run(list, run, err);
}

/* -- one run of it */

static kino_run *top(const kino__process_runs *runs)
{
    return runs->items[runs->count - 1];
}

static kino_status join(run_list *list, kino__process_runs *runs, kino_error *err)
{
    size_t count = list->count;
    if (!count)
        return KINO_OK;
    list->count = 0; /* taken in any case */
    if (count == 1)
        runs->items[0] = list->items[0];
    else
        KINO_TRY(kino_runs_join(list->items, NULL, count, &runs->items[0], err));
    runs->count = 1;
    return KINO_OK;
}

static kino_status merge(const kino__recording *r, kino__process_runs *runs, kino_error *err)
{
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    kino_merge_options options = KINO_MERGE_OPTIONS_INIT;
    if (!kino_run_trace(top(runs), 1, &info))
        return KINO_OK;
    options.is_one_process = true;
    options.progress = r->options->progress;
    options.progress_context = r->options->progress_context;
    KINO_TRY(kino_run_merge(top(runs), &options, &runs->items[runs->count], err));
    runs->count++;
    return KINO_OK;
}

/* The newest part of a flight recorder, and the categories that were asked for. */
static kino_status cut(const kino__recording *r, kino__process_runs *runs, kino_error *err)
{
    kino_cut_options options = KINO_CUT_OPTIONS_INIT;
    if (!r->options->category_count && !r->options->flight_ms)
        return KINO_OK;
    options.categories = r->options->categories;
    options.category_count = r->options->category_count;
    if (r->options->flight_ms)
        options.from_ns = -(int64_t)r->options->flight_ms * 1000000;
    options.progress = r->options->progress;
    options.progress_context = r->options->progress_context;
    kino_status st = kino_run_cut(top(runs), &options, &runs->items[runs->count], NULL, err);
    if (st == KINO_NOT_FOUND) { /* nothing is left */
        kino__process_runs_close(runs);
        return KINO_OK;
    }
    runs->count += st == KINO_OK;
    return st;
}

static kino_status open_process(kino__recording *r, const kino__record_process *process,
                                const char *about, kino__process_runs *out, kino_error *err)
{
    run_list list = {0};
    kino_status st = open_inputs(r, process, about, &list, err);
    if (st == KINO_OK)
        st = join(&list, out, err);
    for (size_t i = 0; i < list.count; i++)
        kino_run_free(list.items[i]);
    kino__vec_deinit(&list);
    if (st == KINO_OK && out->count)
        st = merge(r, out, err);
    if (st == KINO_OK && out->count)
        st = cut(r, out, err);
    return st;
}

kino_status kino__process_runs_open(kino__recording *r, const kino__record_process *process,
                                    kino__process_runs *out, kino_error *err)
{
    *out = (kino__process_runs){0};
    kino__buffer about = {0};
    kino__parts_about(&r->parts, process->pid, &about);
    kino__buffer_add(&about, (kino_str){"", 1});
    kino_status st = about.failed
                         ? kino__fail_nomem(err)
                         : open_process(r, process, about.size > 1 ? about.data : NULL, out, err);
    kino__buffer_deinit(&about);
    return st;
}

void kino__process_runs_close(kino__process_runs *runs)
{
    while (runs->count)
        kino_run_free(runs->items[--runs->count]);
}
