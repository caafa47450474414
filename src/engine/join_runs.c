/* join_runs.c - runs of traces that are there already: built, recovered, or of other runs. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/kino_run.h"
#include "engine/sidecar.h"

static kino_status run_new(kino_run **out, kino_error *err)
{
    kino_run *run = *out = calloc(1, sizeof *run);
    if (!run)
        return kino__fail_nomem(err);
    kino__arena_init(&run->arena, NULL);
    kino__run_init(&run->run);
    run->label = "";
    return KINO_OK;
}

/* The paths of its traces: as kino_run_open has it. */
static void set_label(kino_run *run)
{
    kino__buffer text = {0};
    for (size_t i = 0; i < run->run.traces.count; i++) {
        kino_str path = run->run.traces.items[i]->path;
        kino__buffer_printf(&text, "%s%.*s", i && path.size ? " " : "", KINO__STR_ARG(path));
    }
    if (!text.failed && text.size) {
        kino_str label = kino__arena_copy(&run->arena, kino__buffer_str(&text));
        run->label = label.data ? label.data : "";
    }
    kino__buffer_deinit(&text);
}

static kino_status finish(kino_run *run, kino__trace **traces, size_t count, kino_run **out,
                          kino_error *err)
{
    kino_status st = kino__run_add_traces(run, traces, count, err);
    if (st == KINO_OK) {
        set_label(run);
        st = kino__run_set_apart(run, err);
    }
    if (st == KINO_OK)
        *out = run;
    else
        kino_run_free(run);
    return st;
}

static kino_status rename_trace(kino__trace *trace, kino_str name, kino_error *err)
{
    trace->path = kino__arena_copy(&trace->arena, name);
    return trace->path.data ? KINO_OK : kino__fail_nomem(err);
}

/* What is known of its process; nothing lies beside it, as it has no path yet. */
static kino_status describe_made(kino_run *run, const kino__made_trace *made, const char *about,
                                 kino_error *err)
{
    const char *warning;
    KINO_TRY(kino__sidecar_apply(made->trace, about, &run->arena, &warning, err));
    if (warning)
        kino__derived_run_warn(run, KINO__NO_HINT, "%s", warning);
    return rename_trace(made->trace, made->name, err);
}

kino_status kino__run_of_traces(kino__made_trace *traces, size_t count,
                                const kino_load_options *options, kino_run **out, kino_error *err)
{
    kino_run *run = NULL;
    kino__trace **list = calloc(count + 1, sizeof *list);
    kino_status st = list ? run_new(&run, err) : kino__fail_nomem(err);
    if (st == KINO_OK && !count)
        st = kino__fail(err, KINO_ARGUMENT, "no traces to make a run of");
    for (size_t i = 0; i < count && st == KINO_OK; i++)
        st = describe_made(run, &traces[i], options->about, err);
    if (st == KINO_OK) {
        for (size_t i = 0; i < count; i++)
            list[i] = traces[i].trace;
        run->jobs = options->jobs;
        st = finish(run, list, count, out, err);
    } else {
        for (size_t i = 0; i < count; i++)
            kino__trace_free(traces[i].trace);
        kino_run_free(run);
    }
    free(list);
    return st;
}

/* -- runs of runs */

static size_t count_traces(kino_run *const *runs, size_t count)
{
    size_t traces = 0;
    for (size_t i = 0; i < count; i++)
        traces += runs[i]->run.traces.count;
    return traces;
}

/* A run whose traces are its own, to give away. */
static kino_status check_owner(const kino_run *run, kino_error *err)
{
    if (run->is_selection)
        return kino__fail(err, KINO_ARGUMENT, "a selection of a run has no traces of its own");
    return run->run.is_tight
               ? kino__fail(err, KINO_ARGUMENT, "a run with a memory limit cannot be joined")
               : KINO_OK;
}

/* What was worked out about its traces knew their old numbers. */
static void take_traces(kino_run *from, kino__trace **list, size_t *count)
{
    kino_run_free(from->members);
    from->members = NULL;
    from->run.ranks = NULL;
    for (size_t i = 0; i < from->run.traces.count; i++) {
        kino__trace_forget(from->run.traces.items[i]);
        list[(*count)++] = from->run.traces.items[i];
    }
    from->run.traces.count = 0;
}

static kino_status join(kino_run *run, kino_run *const *runs, const char *const *names,
                        size_t count, kino__trace **list, kino_error *err)
{
    for (size_t i = 0; i < count; i++) {
        KINO_TRY(check_owner(runs[i], err));
        KINO_TRY(kino__run_prepare(runs[i], KINO__COLUMN_ALL, err));
        for (size_t k = 0; names && names[i] && k < runs[i]->run.traces.count; k++)
            KINO_TRY(rename_trace(runs[i]->run.traces.items[k], kino__str_from(names[i]), err));
    }
    if (!kino__vec_reserve(&run->joined, count))
        return kino__fail_nomem(err);
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        take_traces(runs[i], list, &taken);
        run->joined.items[run->joined.count++] = runs[i];
        run->jobs = runs[i]->jobs > run->jobs ? runs[i]->jobs : run->jobs;
    }
    return KINO_OK;
}

kino_status kino_runs_join(kino_run *const *runs, const char *const *names, size_t count,
                           kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_run *run = NULL;
    size_t traces = count_traces(runs, count);
    kino__trace **list = calloc(traces + 1, sizeof *list);
    kino_status st = list ? run_new(&run, err) : kino__fail_nomem(err);
    if (st == KINO_OK && !traces)
        st = kino__fail(err, KINO_ARGUMENT, "no traces to make a run of");
    if (st == KINO_OK)
        st = join(run, runs, names, count, list, err);
    if (st == KINO_OK) {
        st = finish(run, list, traces, out, err);
    } else {
        kino_run_free(run);
        for (size_t i = 0; i < count; i++)
            kino_run_free(runs[i]);
    }
    free(list);
    return st;
}
