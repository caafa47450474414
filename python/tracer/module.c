/* module.c - kino._tracer for Python: start, stop, is_active, stats. */
#include "pytracer.h"

pytracer pytracer_state;

static bool is_main_interpreter(void)
{
    return PyThreadState_GetInterpreter(PyThreadState_Get()) == PyInterpreterState_Main();
}

/* -- a window */

static void close_window(void)
{
    pytracer_state.is_active = false;
    if (pytracer_state.has_collections)
        pytracer_collector_stop();
    pytracer_names_close();
}

static bool open_window(void)
{
    pytracer *tracer = &pytracer_state;
    tracer->window++;
    tracer->calls = tracer->dropped = 0;
    tracer->start_ticks = kino_impl_v1_ticks();
    if (!pytracer_names_open()) {
        PyErr_NoMemory();
        return false;
    }
    if (tracer->has_collections && !pytracer_collector_start())
        return false;
    tracer->is_active = true;
    return pytracer_thread_join(PyEval_GetFrame(), false) && pytracer_hooks_start();
}

static PyObject *start(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"modules", "c_calls", "gc", NULL};
    int modules = 1, c_calls = 1, collections = 1;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|ppp:start", names, &modules, &c_calls,
                                     &collections))
        return NULL;
    if (pytracer_state.is_active)
        return PyErr_Format(PyExc_RuntimeError, "Python functions are being recorded already");
    pytracer_state.has_modules = modules;
    pytracer_state.has_c_calls = c_calls;
    pytracer_state.has_collections = collections;
    if (open_window())
        Py_RETURN_NONE;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    pytracer_threads_end_all();
    close_window();
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (!pytracer_state.is_active)
        Py_RETURN_NONE;
    pytracer_hooks_stop();
    pytracer_threads_end_all();
    close_window();
    Py_RETURN_NONE;
}

/* -- samples */

static PyObject *sample_start(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"rate", NULL};
    int rate = 200;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i:sample_start", names, &rate))
        return NULL;
    if (rate < 1 || rate > 1000)
        return PyErr_Format(PyExc_ValueError, "invalid rate %d (expected: 1 to 1000 per second)",
                            rate);
    if (pytracer_sampler_is_active())
        return PyErr_Format(PyExc_RuntimeError, "samples are being taken already");
    if (!pytracer_sampler_start((unsigned)rate))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *sample_stop(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    pytracer_sampler_stop();
    Py_RETURN_NONE;
}

static PyObject *sample_stats(PyObject *self, PyObject *unused)
{
    uint64_t samples, broken;
    (void)self;
    (void)unused;
    pytracer_sampler_counts(&samples, &broken);
    return Py_BuildValue("{s:K,s:K}", "samples", (unsigned long long)samples, "broken",
                         (unsigned long long)broken);
}

/* The child of a fork does not record. */
static PyObject *after_fork(PyObject *self, PyObject *unused)
{
    pytracer_sampler_after_fork();
    pytracer_threads_after_fork();
    pytracer_state.collection = 0;
    return stop(self, unused);
}

/* -- what it says of itself */

static PyObject *is_active(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(pytracer_state.is_active);
}

static PyObject *modules(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return pytracer_modules_list();
}

static PyObject *stats(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("{s:K,s:K}", "calls", (unsigned long long)pytracer_state.calls, "dropped",
                         (unsigned long long)pytracer_state.dropped);
}

/* -- the module */

static PyMethodDef after_fork_def = {"after_fork", after_fork, METH_NOARGS, NULL};

static bool register_after_fork(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *add = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *function = add ? PyCFunction_New(&after_fork_def, NULL) : NULL;
    PyObject *none = function ? PyTuple_New(0) : NULL;
    PyObject *named = none ? Py_BuildValue("{s:O}", "after_in_child", function) : NULL;
    PyObject *done = named ? PyObject_Call(add, none, named) : NULL;
    Py_XDECREF(os);
    Py_XDECREF(add);
    Py_XDECREF(function);
    Py_XDECREF(none);
    Py_XDECREF(named);
    Py_XDECREF(done);
    return done != NULL;
}

/* There is one recorder in a process, and it belongs to the main interpreter. */
static int execute(PyObject *module)
{
    static bool is_registered;
    (void)module;
    if (!is_main_interpreter()) {
        PyErr_SetString(PyExc_ImportError, "kino._tracer works in the main interpreter only");
        return -1;
    }
    if (!is_registered && !register_after_fork())
        return -1;
    is_registered = true;
    return 0;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "start(modules=True, c_calls=True, gc=True)\n--\n\n"
     "Record calls of Python functions on all threads; RuntimeError when another profiler runs."},
    {"stop", stop, METH_NOARGS, "stop()\n--\n\nStop recording calls; open ones end now."},
    {"is_active", is_active, METH_NOARGS, "is_active()\n--\n\nAre calls being recorded?"},
    {"modules", modules, METH_NOARGS,
     "modules()\n--\n\nThe nn.Module objects that were called in the window that is recorded."},
    {"stats", stats, METH_NOARGS,
     "stats()\n--\n\nCalls of this or the last window, and how many of them are not in the trace."},
    {"sample_start", (PyCFunction)(void (*)(void))sample_start, METH_VARARGS | METH_KEYWORDS,
     "sample_start(rate=200)\n--\n\n"
     "Look at the Python stacks of threads that use the processor, `rate` times per second."},
    {"sample_stop", sample_stop, METH_NOARGS, "sample_stop()\n--\n\nStop taking samples."},
    {"sample_stats", sample_stats, METH_NOARGS,
     "sample_stats()\n--\n\nSamples since the last sample_start, and stacks that changed while "
     "they "
     "were read."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "kino._tracer",
    .m_doc = "Calls of Python functions as spans of libkino.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__tracer(void);
PyMODINIT_FUNC PyInit__tracer(void)
{
    return PyModuleDef_Init(&definition);
}
