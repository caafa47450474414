/* report.c - kino._engine.Report: where the time goes, as text, page or answers. */
#include "kinopy.h"

typedef struct report_object {
    PyObject_HEAD kino_report *report;
} report_object;

PyObject *kinopy_report_new(kino_report *report)
{
    PyTypeObject *type = (PyTypeObject *)kinopy_get_types()->report;
    report_object *self = PyObject_New(report_object, type);
    if (self)
        self->report = report;
    else
        kino_report_free(report);
    return (PyObject *)self;
}

static void report_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    kino_report_free(((report_object *)self)->report);
    PyObject_Free(self);
    Py_DECREF(type);
}

static kino_status render_report(const void *what, const kino_render_options *options,
                                 kino_write_fn write, void *context, kino_error *err)
{
    return kino_render_report(what, options, write, context, err);
}

/* render(format, limit, width) */
static PyObject *report_render(PyObject *self, PyObject *args)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    unsigned long long limit;
    if (!PyArg_ParseTuple(args, "sKI", &options.format, &limit, &options.width))
        return NULL;
    options.limit = limit;
    return kinopy_rendered(render_report, ((report_object *)self)->report, &options);
}

/* The answers that it was made from. */
static PyObject *report_results(PyObject *self, PyObject *args)
{
    (void)args;
    PyObject *list = PyList_New(0);
    const kino_result *result;
    for (size_t i = 0; list && (result = kino_report_result(((report_object *)self)->report, i));
         i++) {
        PyObject *item = kinopy_result_borrow(result, self);
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef report_methods[] = {
    {"render", report_render, METH_VARARGS, NULL},
    {"results", report_results, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot report_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)kinopy_refuse_new},
    {Py_tp_dealloc, (void *)(uintptr_t)report_free},
    {Py_tp_methods, report_methods},
    {Py_tp_doc, (void *)(uintptr_t) "The engine's report: see kino.Report."},
    {0, NULL},
};

PyType_Spec kinopy_report_spec = {
    .name = "kino._engine.Report",
    .basicsize = sizeof(report_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = report_slots,
};
