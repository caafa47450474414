/* result.c - kino._engine.Result: a finished answer. Nothing in it changes, so it needs neither the
 * run nor a lock. */
#include <string.h>

#include "kinopy.h"

typedef struct result_object {
    PyObject_HEAD const kino_result *result;
    PyObject *owner; /* whose it is; NULL: its own */
} result_object;

/* -- results: making and ending -- */

PyObject *kinopy_result_borrow(const kino_result *result, PyObject *owner)
{
    PyTypeObject *type = (PyTypeObject *)kinopy_get_types()->result;
    result_object *self = PyObject_New(result_object, type);
    if (!self)
        return NULL;
    Py_XINCREF(owner);
    self->result = result;
    self->owner = owner;
    return (PyObject *)self;
}

PyObject *kinopy_result_new(kino_result *result)
{
    PyObject *self = kinopy_result_borrow(result, NULL);
    if (!self)
        kino_result_free(result);
    return self;
}

static void result_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    result_object *object = (result_object *)self;
    if (object->owner)
        Py_DECREF(object->owner);
    else
        kino_result_free((kino_result *)(uintptr_t)object->result);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *kinopy_refuse_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    (void)type, (void)args, (void)names;
    PyErr_SetString(PyExc_TypeError, "made by the engine only");
    return NULL;
}

static const kino_result *result_of(PyObject *self)
{
    return ((result_object *)self)->result;
}

/* -- results: what is in them -- */

static PyObject *result_name(PyObject *self, PyObject *args)
{
    (void)args;
    return kinopy_text(kino_result_name(result_of(self)));
}

static PyObject *result_origin(PyObject *self, PyObject *args)
{
    (void)args;
    int64_t origin = kino_result_origin(result_of(self));
    return origin == KINO_NO_TIME ? kinopy_text(NULL) : PyLong_FromLongLong(origin);
}

static PyObject *result_notes(PyObject *self, PyObject *args)
{
    (void)args;
    PyObject *list = PyList_New(0);
    const char *note;
    for (size_t i = 0; list && (note = kino_result_note(result_of(self), i)); i++) {
        PyObject *text = kinopy_text(note);
        if (!text || PyList_Append(list, text) != 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* Pairs (name, value). */
static PyObject *result_params(PyObject *self, PyObject *args)
{
    (void)args;
    PyObject *list = PyList_New(0);
    const char *name;
    kino_cell value;
    for (size_t i = 0; list && kino_result_param(result_of(self), i, &name, &value); i++) {
        PyObject *item = Py_BuildValue("(sN)", name, kinopy_cell(KINO_TYPE_ANY, &value));
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* Each table as (name, rows, columns). */
static PyObject *table_tuple(const kino_result *result, size_t table)
{
    kino_rows *rows;
    kino_error error;
    kino_status st = kino_result_rows(result, table, &rows, &error);
    if (st != KINO_OK)
        return kinopy_raise(st, &error);
    PyObject *columns = kinopy_columns(kino_rows_columns(rows), kino_rows_column_count(rows));
    kino_rows_free(rows);
    return Py_BuildValue("(snN)", kino_result_table_name(result, table),
                         (Py_ssize_t)kino_result_row_count(result, table), columns);
}

static PyObject *result_tables(PyObject *self, PyObject *args)
{
    (void)args;
    size_t count = kino_result_table_count(result_of(self));
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = table_tuple(result_of(self), i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* -- Arrow and text -- */

/* arrow_stream(table) */
static PyObject *result_stream(PyObject *self, PyObject *args)
{
    Py_ssize_t table;
    struct ArrowArrayStream stream;
    kino_error error;
    kino_status st;
    if (!PyArg_ParseTuple(args, "n", &table))
        return NULL;
    const kino_result *result = result_of(self);
    Py_BEGIN_ALLOW_THREADS st = kino_result_arrow(result, (size_t)table, &stream, &error);
    Py_END_ALLOW_THREADS return st == KINO_OK ? kinopy_stream_capsule(&stream)
                                              : kinopy_raise(st, &error);
}

static PyObject *result_schema(PyObject *self, PyObject *args)
{
    Py_ssize_t table;
    struct ArrowSchema schema;
    kino_error error;
    if (!PyArg_ParseTuple(args, "n", &table))
        return NULL;
    kino_status st = kino_result_arrow_schema(result_of(self), (size_t)table, &schema, &error);
    return st == KINO_OK ? kinopy_schema_capsule(&schema) : kinopy_raise(st, &error);
}

static kino_status render_result(const void *what, const kino_render_options *options,
                                 kino_write_fn write, void *context, kino_error *err)
{
    return kino_render_result(what, options, write, context, err);
}

/* render(format, table or None, limit, width) */
static PyObject *result_render(PyObject *self, PyObject *args)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    unsigned long long limit;
    if (!PyArg_ParseTuple(args, "szKI", &options.format, &options.table, &limit, &options.width))
        return NULL;
    options.limit = limit;
    return kinopy_rendered(render_result, result_of(self), &options);
}

static kino_status render_summary(const void *what, const kino_render_options *options,
                                  kino_write_fn write, void *context, kino_error *err)
{
    return kino_diff_summary(what, options, write, context, err);
}

PyObject *kinopy_diff_summary(PyObject *module, PyObject *args)
{
    PyObject *object;
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!s", kinopy_get_types()->result, &object, &options.format))
        return NULL;
    return kinopy_rendered(render_summary, result_of(object), &options);
}

static PyObject *result_rows(PyObject *self, PyObject *args)
{
    return kinopy_result_rows(result_of(self), args);
}

static PyObject *result_column(PyObject *self, PyObject *args)
{
    return kinopy_result_column(result_of(self), args);
}

static PyMethodDef result_methods[] = {
    {"name", result_name, METH_NOARGS, NULL},
    {"origin", result_origin, METH_NOARGS, NULL},
    {"notes", result_notes, METH_NOARGS, NULL},
    {"params", result_params, METH_NOARGS, NULL},
    {"tables", result_tables, METH_NOARGS, NULL},
    {"rows", result_rows, METH_VARARGS, NULL},
    {"column", result_column, METH_VARARGS, NULL},
    {"arrow_stream", result_stream, METH_VARARGS, NULL},
    {"arrow_schema", result_schema, METH_VARARGS, NULL},
    {"render", result_render, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot result_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)kinopy_refuse_new},
    {Py_tp_dealloc, (void *)(uintptr_t)result_free},
    {Py_tp_methods, result_methods},
    {Py_tp_doc, (void *)(uintptr_t) "The engine's answer: see kino.Table and kino.Result."},
    {0, NULL},
};

PyType_Spec kinopy_result_spec = {
    .name = "kino._engine.Result",
    .basicsize = sizeof(result_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = result_slots,
};
