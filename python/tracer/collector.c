/* collector.c - garbage collections as spans, through gc.callbacks. */
#include "pytracer.h"

static kino_impl_v1_site collection_site = {"Python GC", "python_function", NULL, NULL, 0, 0};
static PyObject *callback; /* while it is in gc.callbacks */

/* callback(phase, info) */
static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    pytracer *tracer = &pytracer_state;
    if (count < 1 || !PyUnicode_Check(args[0]) || !tracer->is_active)
        Py_RETURN_NONE;
    kino_impl_v1_end(tracer->collection);
    tracer->collection = 0;
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
        tracer->collection = kino_impl_v1_begin(&collection_site, 0, KINO_IMPL_V1_SPAN);
    Py_RETURN_NONE;
}

static PyMethodDef definition = {"on_collection", (PyCFunction)(void (*)(void))on_collection,
                                 METH_FASTCALL, NULL};

static PyObject *callbacks(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *list = gc ? PyObject_GetAttrString(gc, "callbacks") : NULL;
    Py_XDECREF(gc);
    return list;
}

bool pytracer_collector_start(void)
{
    PyObject *list = callbacks();
    callback = list ? PyCFunction_New(&definition, NULL) : NULL;
    bool is_done = callback && PyList_Check(list) && PyList_Append(list, callback) == 0;
    if (!is_done)
        Py_CLEAR(callback);
    Py_XDECREF(list);
    return is_done;
}

void pytracer_collector_stop(void)
{
    kino_impl_v1_end(pytracer_state.collection);
    pytracer_state.collection = 0;
    PyObject *list = callback ? callbacks() : NULL;
    Py_ssize_t at = list ? PySequence_Index(list, callback) : -1;
    if (at >= 0)
        (void)PySequence_DelItem(list, at);
    PyErr_Clear(); /* somebody has emptied the list */
    Py_XDECREF(list);
    Py_CLEAR(callback);
}
