/* run.c - kino._engine.Run: opening and closing, and what is in it. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/mapped.h"
#include "kinopy.h"

typedef struct run_object {
    PyObject_HEAD kinopy_box *box; /* NULL: closed */
} run_object;

/* -- the object -- */

PyObject *kinopy_run_new(kinopy_box *box)
{
    PyTypeObject *type = (PyTypeObject *)kinopy_get_types()->run;
    run_object *self = box ? PyObject_New(run_object, type) : NULL;
    if (!self) {
        kinopy_box_drop(box);
        return NULL;
    }
    self->box = box;
    return (PyObject *)self;
}

static void run_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    kinopy_box *box = ((run_object *)self)->box;
    Py_BEGIN_ALLOW_THREADS /* a large run takes a while */
        kinopy_box_drop(box);
    Py_END_ALLOW_THREADS PyObject_Free(self);
    Py_DECREF(type);
}

kinopy_box *kinopy_run_box(PyObject *run)
{
    kinopy_box *box = ((run_object *)run)->box;
    kino_error error = {.code = KINO_ARGUMENT, .offset = KINO_NO_OFFSET};
    if (!box)
        memcpy(error.message, "the run is closed", sizeof "the run is closed");
    else if (box->owner_pid != (int)getpid())
        memcpy(error.message,
               "the run was opened before this process was forked: open it again here",
               sizeof "the run was opened before this process was forked: open it again here");
    else
        return box;
    (void)kinopy_raise(KINO_ARGUMENT, &error);
    return NULL;
}

static PyObject *run_close(PyObject *self, PyObject *args)
{
    (void)args;
    kinopy_box *box = ((run_object *)self)->box;
    ((run_object *)self)->box = NULL;
    Py_BEGIN_ALLOW_THREADS kinopy_box_drop(box);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *run_is_open(PyObject *self, PyObject *args)
{
    (void)args;
    return PyBool_FromLong(((run_object *)self)->box != NULL);
}

/* -- what is in it -- */

static PyObject *trace_tuple(const kino_trace_info *info)
{
    PyObject *rank =
        info->rank == KINO_NO_INT ? kinopy_text(NULL) : PyLong_FromLongLong(info->rank);
    return Py_BuildValue("(INNNNK)", (unsigned)info->trace, rank, kinopy_str(info->worker),
                         kinopy_str(info->span), kinopy_str(info->path),
                         (unsigned long long)info->events);
}

/* Each as (number, rank, worker, span, path, events). */
static PyObject *run_traces(PyObject *self, PyObject *args)
{
    (void)args;
    kinopy_box *box = kinopy_run_box(self);
    PyObject *list = box ? PyList_New(0) : NULL;
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    for (size_t i = 0; list && kino_run_trace(box->run, i, &info); i++) {
        PyObject *item = trace_tuple(&info);
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *run_origin(PyObject *self, PyObject *args)
{
    (void)args;
    kinopy_box *box = kinopy_run_box(self);
    if (!box)
        return NULL;
    int64_t origin = kino_run_origin(box->run);
    return origin == KINO_NO_TIME ? kinopy_text(NULL) : PyLong_FromLongLong(origin);
}

static PyObject *run_bytes(PyObject *self, PyObject *args)
{
    (void)args;
    kinopy_box *box = kinopy_run_box(self);
    return box ? PyLong_FromUnsignedLongLong(kino_run_bytes(box->run)) : NULL;
}

static PyObject *run_warnings(PyObject *self, PyObject *args)
{
    (void)args;
    kinopy_box *box = kinopy_run_box(self);
    PyObject *list = box ? PyList_New(0) : NULL;
    const char *line;
    for (size_t i = 0; list && (line = kino_run_warning(box->run, i)); i++) {
        PyObject *text = kinopy_text(line);
        if (!text || PyList_Append(list, text) != 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* -- opening -- */

typedef struct opening {
    kinopy_texts paths;
    kino_load_options options;
    kino_run *run;
} opening;

static kino_status open_run(void *context, kinopy_call *call, kino_error *err)
{
    opening *o = context;
    o->options.progress = kinopy_progress;
    o->options.progress_context = call;
    return kino_run_open(o->paths.items, o->paths.count, &o->options, &o->run, err);
}

/* A file that shrinks while it is mapped must not end the process, unless somebody else
 * (faulthandler) wants to hear of it. */
static void guard_files(void)
{
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)kino__mapped_guard(true);
}

/* A list of int as numbers (PyMem); false with an exception. */
static bool read_ranks(PyObject *list, int64_t **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    if (list == Py_None)
        return true;
    Py_ssize_t size = PyList_Size(list);
    *out = size >= 0 ? PyMem_Calloc((size_t)size + 1, sizeof **out) : NULL;
    for (Py_ssize_t i = 0; *out && i < size; i++)
        (*out)[(*count)++] = PyLong_AsLongLong(PyList_GetItem(list, i));
    if (*out && !PyErr_Occurred())
        return true;
    PyMem_Free(*out);
    *out = NULL;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return false;
}

/* open(paths, ranks, run, span, memory, jobs, progress, label) */
PyObject *kinopy_open(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *paths, *ranks, *progress;
    opening o = {.options = KINO_LOAD_OPTIONS_INIT};
    unsigned long long memory;
    if (!PyArg_ParseTuple(args, "OOzzKIOz", &paths, &ranks, &o.options.run, &o.options.span,
                          &memory, &o.options.jobs, &progress, &o.options.label))
        return NULL;
    o.options.memory = memory;
    o.options.expansion = memory;
    int64_t *numbers;
    if (!read_ranks(ranks, &numbers, &o.options.rank_count))
        return NULL;
    o.options.ranks = numbers;
    guard_files();
    bool ok = kinopy_texts_init(&o.paths, paths) && kinopy_run_call(open_run, &o, progress);
    kinopy_texts_deinit(&o.paths);
    PyMem_Free(numbers);
    if (!ok) { /* loaded, and then Ctrl-C: not wanted any more */
        kino_run_free(o.run);
        return NULL;
    }
    return kinopy_run_new(kinopy_box_new(o.run, NULL));
}

static PyMethodDef run_methods[] = {
    {"close", run_close, METH_NOARGS, NULL},
    {"is_open", run_is_open, METH_NOARGS, NULL},
    {"traces", run_traces, METH_NOARGS, NULL},
    {"origin", run_origin, METH_NOARGS, NULL},
    {"nbytes", run_bytes, METH_NOARGS, NULL},
    {"warnings", run_warnings, METH_NOARGS, NULL},
    {"analyze", kinopy_run_analyze, METH_VARARGS, NULL},
    {"query", kinopy_run_query, METH_VARARGS, NULL},
    {"schema", kinopy_run_schema, METH_NOARGS, NULL},
    {"info", kinopy_run_info, METH_VARARGS, NULL},
    {"report", kinopy_run_report, METH_VARARGS, NULL},
    {"events", kinopy_run_events, METH_VARARGS, NULL},
    {"write", kinopy_run_write, METH_VARARGS, NULL},
    {"cut", kinopy_run_cut, METH_VARARGS, NULL},
    {"redact", kinopy_run_redact, METH_VARARGS, NULL},
    {"merge", kinopy_run_merge, METH_VARARGS, NULL},
    {"add_counters", kinopy_run_add_counters, METH_VARARGS, NULL},
    {"overlay", kinopy_run_overlay, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot run_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)kinopy_refuse_new},
    {Py_tp_dealloc, (void *)(uintptr_t)run_free},
    {Py_tp_methods, run_methods},
    {Py_tp_doc, (void *)(uintptr_t) "The engine's run: see kino.Run."},
    {0, NULL},
};

PyType_Spec kinopy_run_spec = {
    .name = "kino._engine.Run",
    .basicsize = sizeof(run_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = run_slots,
};
