/* kinopy.h - what the files of kino._engine share. The extension is a user of the public headers,
 * on Python's limited API, so that one build serves every CPython from 3.9 on.
 *
 * Long work runs on a thread of its own without the GIL (call.c); the thread that called waits,
 * draws progress and hears Ctrl-C. Runs are shared (box.c): an object, a call at work, a derived
 * run and an Arrow array each have a share, and the last one frees. */
#ifndef KINOPY_H
#define KINOPY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <kino/arrow.h>
#include <kino/engine.h>

/* -- runs and what borrows from them -- */

typedef struct kinopy_box kinopy_box;
struct kinopy_box {
    size_t shares; /* atomic */
    kino_run *run;
    kinopy_box *parent; /* of a derived run: it borrows from there */
    int owner_pid;      /* the process that opened it */
};

/* Takes the run, also on failure. The parent gets one share more. NULL with an exception. */
kinopy_box *kinopy_box_new(kino_run *run, kinopy_box *parent);
void kinopy_box_keep(kinopy_box *box);
void kinopy_box_drop(void *box); /* without the GIL, too; NULL: nothing */

/* -- errors -- */

/* Raises the exception for a failure of the engine; always NULL. */
PyObject *kinopy_raise(kino_status status, const kino_error *error);

/* -- long calls -- */

typedef struct kinopy_call kinopy_call;
/* The work, without the GIL. */
typedef kino_status (*kinopy_work)(void *context, kinopy_call *call, kino_error *err);

/* For options: progress_context is the call. */
bool kinopy_progress(void *call, const char *what, uint64_t done, uint64_t total);
/* For options that poll. */
const bool *kinopy_cancel(const kinopy_call *call);

/* Runs it; `progress` is None or a callable (what, done, total) that may return False to stop.
 * False with an exception: the work failed, was stopped, or a signal handler raised. */
bool kinopy_run_call(kinopy_work work, void *context, PyObject *progress);

/* -- values from Python -- */

/* A list of bytes as C strings, which live as long as the list. NULL items: not given (None). False
 * with an exception. */
typedef struct kinopy_texts {
    const char **items; /* PyMem */
    size_t count;
} kinopy_texts;
bool kinopy_texts_init(kinopy_texts *texts, PyObject *list);
void kinopy_texts_deinit(kinopy_texts *texts);

/* A list of pairs (name, value), both bytes, as parameters. */
typedef struct kinopy_params {
    kino_param *items; /* PyMem */
    size_t count;
} kinopy_params;
bool kinopy_params_init(kinopy_params *params, PyObject *list);
void kinopy_params_deinit(kinopy_params *params);

/* A list of None, int, float and bytes as cells, which live as long as the list. */
typedef struct kinopy_cells {
    kino_cell *items; /* PyMem */
    size_t count;
} kinopy_cells;
bool kinopy_cells_init(kinopy_cells *cells, PyObject *list);
void kinopy_cells_deinit(kinopy_cells *cells);

/* -- values for Python -- */

PyObject *kinopy_text(const char *text); /* NULL: None; bytes that are not UTF-8: U+FFFD */
PyObject *kinopy_str(kino_str text);
const char *kinopy_type_text(kino_type type); /* "duration" */
PyObject *kinopy_cell(kino_type type, const kino_cell *cell);
PyObject *kinopy_columns(const kino_column *columns, size_t count);

/* Renders what `render` writes into a str. */
typedef kino_status (*kinopy_render)(const void *what, const kino_render_options *options,
                                     kino_write_fn write, void *context, kino_error *err);
PyObject *kinopy_rendered(kinopy_render render, const void *what,
                          const kino_render_options *options);

/* -- types -- */

typedef struct kinopy_types {
    PyObject *run, *result, *report;
} kinopy_types;
const kinopy_types *kinopy_get_types(void);

extern PyType_Spec kinopy_run_spec, kinopy_result_spec, kinopy_report_spec;

/* The box of a Run that is open and belongs to this process; NULL with an exception. Borrowed. */
kinopy_box *kinopy_run_box(PyObject *run);
/* New objects; take the value, also on failure. */
PyObject *kinopy_run_new(kinopy_box *box); /* NULL: an exception is set already */
PyObject *kinopy_result_new(kino_result *result);
/* A result that belongs to somebody else, who is kept. */
PyObject *kinopy_result_borrow(const kino_result *result, PyObject *owner);
PyObject *kinopy_report_new(kino_report *report);
/* Objects are made by the engine alone: raises. */
PyObject *kinopy_refuse_new(PyTypeObject *type, PyObject *args, PyObject *names);

/* Works on the run, which has one share more meanwhile; false with an exception. */
bool kinopy_work_with(kinopy_box *box, kinopy_work work, void *context, PyObject *progress);
/* The answer as an object, or its end when the call failed after all. */
PyObject *kinopy_wrap_result(bool ok, kino_result *result);

/* Cells of a table (cells.c). */
PyObject *kinopy_result_rows(const kino_result *result, PyObject *args);
PyObject *kinopy_result_column(const kino_result *result, PyObject *args);

/* Methods of Run that stand in other files than run.c. */
PyObject *kinopy_run_analyze(PyObject *self, PyObject *args);
PyObject *kinopy_run_query(PyObject *self, PyObject *args);
PyObject *kinopy_run_schema(PyObject *self, PyObject *args);
PyObject *kinopy_run_info(PyObject *self, PyObject *args);
PyObject *kinopy_run_report(PyObject *self, PyObject *args);
PyObject *kinopy_run_events(PyObject *self, PyObject *args);
PyObject *kinopy_run_write(PyObject *self, PyObject *args);
PyObject *kinopy_run_cut(PyObject *self, PyObject *args);
PyObject *kinopy_run_redact(PyObject *self, PyObject *args);
PyObject *kinopy_run_merge(PyObject *self, PyObject *args);
PyObject *kinopy_run_add_counters(PyObject *self, PyObject *args);
PyObject *kinopy_run_overlay(PyObject *self, PyObject *args);

/* Functions of the module. */
PyObject *kinopy_open(PyObject *module, PyObject *args);
PyObject *kinopy_diff(PyObject *module, PyObject *args);
PyObject *kinopy_diff_summary(PyObject *module, PyObject *args);
PyObject *kinopy_demo(PyObject *module, PyObject *args);
PyObject *kinopy_analyses(PyObject *module, PyObject *args);
PyObject *kinopy_check_params(PyObject *module, PyObject *args);
PyObject *kinopy_formats(PyObject *module, PyObject *args);
PyObject *kinopy_event_columns(PyObject *module, PyObject *args);

/* Capsules of the Arrow PyCapsule interface; take the value, also on failure. */
PyObject *kinopy_stream_capsule(struct ArrowArrayStream *stream);
PyObject *kinopy_schema_capsule(struct ArrowSchema *schema);

#endif
