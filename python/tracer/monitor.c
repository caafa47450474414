/* monitor.c - calls as sys.monitoring reports them, on all threads: Python 3.12 and later. */
#include "pytracer.h"
#if PY_VERSION_HEX < 0x030c0000
#    error "profile.c is for this Python"
#endif

enum { TOOL = 2 }; /* sys.monitoring.PROFILER_ID */

/* The callbacks are not told the frame. */
const void *pytracer_hooks_key(PyFrameObject *frame)
{
    return pytracer_frame_code(frame);
}

/* -- events: code, offset, and what is particular to each */

typedef enum moment { ENTERING, INSIDE } moment;

PYTRACER_COLD static pytracer_thread *join(moment when)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    if (when == INSIDE || !frame)
        return pytracer_thread_join(frame, false);
    PyFrameObject *caller = PyFrame_GetBack(frame);
    pytracer_thread *thread = pytracer_thread_join(caller, false);
    Py_XDECREF(caller);
    return thread;
}

static inline pytracer_thread *this_thread(moment when)
{
    pytracer_thread *thread = pytracer_mine;
    if (__builtin_expect(!pytracer_state.is_active, 0))
        return NULL;
    if (__builtin_expect(!thread || thread->window != pytracer_state.window, 0))
        return join(when);
    return thread;
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    pytracer_thread *thread = this_thread(ENTERING);
    if (!thread || count < 1)
        Py_RETURN_NONE;
    pytracer_code *code = pytracer_code_of((PyCodeObject *)args[0]);
    pytracer_name *name = code ? &code->name : NULL;
    if (code && __builtin_expect(code->is_special, 0))
        name = pytracer_name_special(code, PyEval_GetFrame());
    pytracer_enter(thread, args[0], name);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    pytracer_thread *thread = this_thread(INSIDE);
    if (thread && count >= 1)
        pytracer_leave(thread, args[0], NULL);
    Py_RETURN_NONE;
}

/* The definition of a C function, and whose method it is. Classes and other objects that can be
 * called have none; PyTorch's tracer does not see them either. */
static inline const PyMethodDef *method_of(PyObject *function, PyObject *first, PyObject **self)
{
    if (PyCFunction_Check(function)) {
        *self = ((PyCFunctionObject *)function)->m_self;
        return ((PyCFunctionObject *)function)->m_ml;
    }
    *self = first;
    if (Py_IS_TYPE(function, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)function)->d_method;
    return NULL;
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    PyObject *of;
    const PyMethodDef *method = count >= 4 ? method_of(args[2], args[3], &of) : NULL;
    pytracer_thread *thread = method ? this_thread(INSIDE) : NULL;
    if (thread)
        pytracer_enter_c(thread, args[0], method, of);
    Py_RETURN_NONE;
}

static PyObject *on_c_end(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    PyObject *of;
    const PyMethodDef *method = count >= 4 ? method_of(args[2], args[3], &of) : NULL;
    pytracer_thread *thread = method ? this_thread(INSIDE) : NULL;
    if (thread)
        pytracer_leave(thread, method, args[0]);
    Py_RETURN_NONE;
}

#define CALLBACK(function)                                                                         \
    {                                                                                              \
#        function, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL                    \
    }
static PyMethodDef enter_def = CALLBACK(on_enter), leave_def = CALLBACK(on_leave),
                   call_def = CALLBACK(on_call), c_end_def = CALLBACK(on_c_end);

static const struct {
    const char *name; /* in sys.monitoring.events */
    PyMethodDef *definition;
    bool is_c_call;
    bool is_implied; /* comes with CALL and must not be asked for alone */
} events[] = {
    {"PY_START", &enter_def, false, false}, {"PY_RESUME", &enter_def, false, false},
    {"PY_THROW", &enter_def, false, false}, {"PY_RETURN", &leave_def, false, false},
    {"PY_YIELD", &leave_def, false, false}, {"PY_UNWIND", &leave_def, false, false},
    {"CALL", &call_def, true, false},       {"C_RETURN", &c_end_def, true, true},
    {"C_RAISE", &c_end_def, true, true},
};
enum { EVENTS = sizeof events / sizeof *events };

/* -- start and stop */

static PyObject *monitoring(void)
{
    PyObject *found = PySys_GetObject("monitoring"); /* borrowed */
    if (!found)
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
    return found;
}

static long number_of(PyObject *monitor, const char *event)
{
    PyObject *all = PyObject_GetAttrString(monitor, "events");
    PyObject *number = all ? PyObject_GetAttrString(all, event) : NULL;
    long value = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(all);
    Py_XDECREF(number);
    return value;
}

static bool is_fine(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

static bool take_tool(PyObject *monitor)
{
    PyObject *owner = PyObject_CallMethod(monitor, "get_tool", "i", TOOL);
    if (!owner)
        return false;
    bool is_free = Py_IsNone(owner);
    if (!is_free)
        PyErr_Format(PyExc_RuntimeError,
                     "sys.monitoring's profiler is %R already: Python functions cannot be recorded "
                     "beside it",
                     owner);
    Py_DECREF(owner);
    return is_free &&
           is_fine(PyObject_CallMethod(monitor, "use_tool_id", "is", TOOL, "kino._tracer"));
}

static bool add_callback(PyObject *monitor, long event, PyMethodDef *definition)
{
    PyObject *function = PyCFunction_New(definition, NULL);
    bool is_done = function && is_fine(PyObject_CallMethod(monitor, "register_callback", "ilO",
                                                           TOOL, event, function));
    Py_XDECREF(function);
    return is_done;
}

static bool add_events(PyObject *monitor)
{
    long wanted = 0;
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].is_c_call && !pytracer_state.has_c_calls)
            continue;
        long event = number_of(monitor, events[i].name);
        if (event < 0 || !add_callback(monitor, event, events[i].definition))
            return false;
        wanted |= events[i].is_implied ? 0 : event;
    }
    return is_fine(PyObject_CallMethod(monitor, "set_events", "il", TOOL, wanted));
}

bool pytracer_hooks_start(void)
{
    PyObject *monitor = monitoring();
    if (!monitor || !take_tool(monitor))
        return false;
    if (add_events(monitor))
        return true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    pytracer_hooks_stop();
    PyErr_Restore(type, value, traceback);
    return false;
}

void pytracer_hooks_stop(void)
{
    PyObject *monitor = monitoring();
    if (!monitor)
        return;
    (void)is_fine(PyObject_CallMethod(monitor, "set_events", "ii", TOOL, 0));
    for (int i = 0; i < EVENTS; i++)
        (void)is_fine(PyObject_CallMethod(monitor, "register_callback", "ilO", TOOL,
                                          number_of(monitor, events[i].name), Py_None));
    (void)is_fine(PyObject_CallMethod(monitor, "free_tool_id", "i", TOOL));
    PyErr_Clear();
}
