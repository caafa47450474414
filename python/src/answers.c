/* answers.c - questions to a run: analyses, SQL, info, reports, events. Each parses what Python
 * gave, works without the GIL, and wraps the answer. The run has one share more
 * meanwhile. */
#include "kinopy.h"

bool kinopy_work_with(kinopy_box *box, kinopy_work work, void *context, PyObject *progress)
{
    kinopy_box_keep(box);
    bool ok = kinopy_run_call(work, context, progress);
    kinopy_box_drop(box);
    return ok;
}

PyObject *kinopy_wrap_result(bool ok, kino_result *result)
{
    if (ok)
        return kinopy_result_new(result);
    kino_result_free(result);
    return NULL;
}

/* -- analyses -- */

typedef struct analysis {
    kino_run *run;
    const char *name;
    kino_analyze_options options;
    kino_result *result;
} analysis;

static kino_status analyze(void *context, kinopy_call *call, kino_error *err)
{
    analysis *a = context;
    a->options.progress = kinopy_progress;
    a->options.progress_context = call;
    return kino_run_analyze(a->run, a->name, &a->options, &a->result, err);
}

/* analyze(name, params, jobs, progress) */
PyObject *kinopy_run_analyze(PyObject *self, PyObject *args)
{
    PyObject *list, *progress;
    analysis a = {.options = KINO_ANALYZE_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    kinopy_params params;
    if (!box || !PyArg_ParseTuple(args, "sOIO", &a.name, &list, &a.options.jobs, &progress) ||
        !kinopy_params_init(&params, list))
        return NULL;
    a.run = box->run;
    a.options.params = params.items;
    a.options.param_count = params.count;
    bool ok = kinopy_work_with(box, analyze, &a, progress);
    kinopy_params_deinit(&params);
    return kinopy_wrap_result(ok, a.result);
}

/* -- SQL -- */

typedef struct query {
    kino_run *run;
    const char *sql;
    kino_query_options options;
    kino_result *result;
} query;

static kino_status run_query(void *context, kinopy_call *call, kino_error *err)
{
    query *q = context;
    kino_rows *rows;
    q->options.cancel = kinopy_cancel(call);
    kino_status st = kino_run_query(q->run, q->sql, &q->options, &rows, err);
    if (st != KINO_OK)
        return st;
    st = kino_rows_collect(q->run, rows, &q->result, err);
    kino_rows_free(rows);
    return st;
}

/* query(sql, parameters, timeout in ms) */
PyObject *kinopy_run_query(PyObject *self, PyObject *args)
{
    PyObject *list;
    query q = {.options = KINO_QUERY_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    kinopy_cells cells;
    if (!box || !PyArg_ParseTuple(args, "sOI", &q.sql, &list, &q.options.timeout_ms) ||
        !kinopy_cells_init(&cells, list))
        return NULL;
    q.run = box->run;
    q.options.parameters = cells.items;
    q.options.parameter_count = cells.count;
    bool ok = kinopy_work_with(box, run_query, &q, Py_None);
    kinopy_cells_deinit(&cells);
    return kinopy_wrap_result(ok, q.result);
}

static kino_status read_schema(void *context, kinopy_call *call, kino_error *err)
{
    (void)call;
    query *q = context;
    kino_rows *rows;
    kino_status st = kino_run_schema(q->run, &rows, err);
    if (st != KINO_OK)
        return st;
    st = kino_rows_collect(NULL, rows, &q->result, err);
    kino_rows_free(rows);
    return st;
}

PyObject *kinopy_run_schema(PyObject *self, PyObject *args)
{
    (void)args;
    query q = {0};
    kinopy_box *box = kinopy_run_box(self);
    if (!box)
        return NULL;
    q.run = box->run;
    bool ok = kinopy_work_with(box, read_schema, &q, Py_None);
    return kinopy_wrap_result(ok, q.result);
}

/* -- info -- */

static kino_status read_info(void *context, kinopy_call *call, kino_error *err)
{
    (void)call;
    query *q = context;
    return kino_run_info(q->run, &q->result, err);
}

PyObject *kinopy_run_info(PyObject *self, PyObject *args)
{
    query q = {0};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, ""))
        return NULL;
    q.run = box->run;
    bool ok = kinopy_work_with(box, read_info, &q, Py_None);
    return kinopy_wrap_result(ok, q.result);
}

/* -- reports -- */

typedef struct reporting {
    kino_run *run;
    kino_report_options options;
    kino_report *report;
} reporting;

static kino_status make_report(void *context, kinopy_call *call, kino_error *err)
{
    reporting *r = context;
    r->options.progress = kinopy_progress;
    r->options.progress_context = call;
    return kino_run_report(r->run, &r->options, &r->report, err);
}

/* report(compat, steps, full, jobs, progress) */
PyObject *kinopy_run_report(PyObject *self, PyObject *args)
{
    PyObject *progress;
    int full;
    reporting r = {.options = KINO_REPORT_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "zzpIO", &r.options.compat, &r.options.steps, &full,
                                  &r.options.jobs, &progress))
        return NULL;
    r.run = box->run;
    r.options.full = full != 0;
    if (kinopy_work_with(box, make_report, &r, progress))
        return kinopy_report_new(r.report);
    kino_report_free(r.report);
    return NULL;
}

/* -- events -- */

typedef struct eventing {
    kino_run *run;
    kino_events_options options;
    struct ArrowArrayStream stream;
} eventing;

static kino_status read_events(void *context, kinopy_call *call, kino_error *err)
{
    eventing *e = context;
    e->options.cancel = kinopy_cancel(call);
    return kino_run_events(e->run, &e->options, &e->stream, err);
}

/* events(columns, where, parameters): a capsule with the stream; its arrays keep the run. */
PyObject *kinopy_run_events(PyObject *self, PyObject *args)
{
    PyObject *names, *values;
    eventing e = {.options = KINO_EVENTS_OPTIONS_INIT};
    kinopy_texts columns;
    kinopy_cells cells;
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "OzO", &names, &e.options.where, &values) ||
        !kinopy_texts_init(&columns, names))
        return NULL;
    if (!kinopy_cells_init(&cells, values)) {
        kinopy_texts_deinit(&columns);
        return NULL;
    }
    e.run = box->run;
    e.options.columns = columns.items;
    e.options.column_count = columns.count;
    e.options.parameters = cells.items;
    e.options.parameter_count = cells.count;
    e.options.release = kinopy_box_drop;
    e.options.owner = box;
    kinopy_box_keep(box); /* the stream's */
    bool ok = kinopy_work_with(box, read_events, &e, Py_None);
    kinopy_cells_deinit(&cells);
    kinopy_texts_deinit(&columns);
    if (ok)
        return kinopy_stream_capsule(&e.stream);
    if (e.stream.release)
        e.stream.release(&e.stream);
    return NULL;
}
