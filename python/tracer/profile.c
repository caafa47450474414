/* profile.c - calls as the profile function of each thread sees them: Python 3.9 to 3.11. */
#include "pytracer.h"
#if PY_VERSION_HEX >= 0x030c0000
#    error "monitor.c is for this Python"
#endif
#undef _PyGC_FINALIZED /* the internal headers have their own */
#define Py_BUILD_CORE 1
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

static PyInterpreterState *interpreter;
static uint64_t first_late_id; /* threads from this one on are younger than the window */
static uint64_t newest_id;     /* of the thread at the head of Python's list */

/* A frame has an object of its own as long as it runs under a profile function. */
const void *pytracer_hooks_key(PyFrameObject *frame)
{
    return frame;
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/* -- all threads: new ones come to the head of the list, before they run */

/* A thread that was made outside of Python puts itself there without the GIL, and (in 3.11) sets its
 * fields after that. Who has had the list's lock finds them set; threads leave with the GIL only. */
static PyThreadState *list_of_threads(void)
{
    PyThread_type_lock lock = _PyRuntime.interpreters.mutex;
    PyThread_acquire_lock(lock, WAIT_LOCK);
    PyThreadState *head = PyInterpreterState_ThreadHead(interpreter);
    PyThread_release_lock(lock);
    return head;
}

static void hook_threads(void)
{
    PyThreadState *head = list_of_threads();
    newest_id = head->id;
    for (PyThreadState *thread = head; thread; thread = PyThreadState_Next(thread))
        if (!thread->c_profilefunc && _PyEval_SetProfile(thread, on_event, NULL) < 0)
            PyErr_Clear(); /* an audit hook does not want it */
}

/* Threads are started by C functions: it is enough to look when one returns. The number of one that
 * is not set yet is another one. */
static inline void notice_threads(void)
{
    if (__builtin_expect(PyInterpreterState_ThreadHead(interpreter)->id != newest_id, 0))
        hook_threads();
}

/* -- events */

PYTRACER_COLD static pytracer_thread *join(PyFrameObject *frame, int what)
{
    bool is_late = PyThreadState_Get()->id >= first_late_id;
    if (what != PyTrace_CALL)
        return pytracer_thread_join(frame, is_late);
    PyFrameObject *caller = PyFrame_GetBack(frame);
    pytracer_thread *thread = pytracer_thread_join(caller, is_late);
    Py_XDECREF(caller);
    return thread;
}

static inline pytracer_thread *this_thread(PyFrameObject *frame, int what)
{
    pytracer_thread *thread = pytracer_mine;
    if (__builtin_expect(!thread || thread->window != pytracer_state.window, 0))
        return join(frame, what);
    return thread;
}

static int enter(PyFrameObject *frame)
{
    pytracer_thread *thread = this_thread(frame, PyTrace_CALL);
    pytracer_code *code = thread ? pytracer_code_of(pytracer_frame_code(frame)) : NULL;
    if (!code)
        return 0;
    pytracer_name *name = &code->name;
    if (__builtin_expect(code->is_special, 0))
        name = pytracer_name_special(code, frame);
    pytracer_enter(thread, frame, name);
    return 0;
}

static int leave(PyFrameObject *frame)
{
    pytracer_thread *thread = this_thread(frame, PyTrace_RETURN);
    if (thread)
        pytracer_leave(thread, frame, NULL);
    return 0;
}

static int enter_c(PyFrameObject *frame, PyObject *function)
{
    pytracer_thread *thread = this_thread(frame, PyTrace_C_CALL);
    if (!thread || !pytracer_state.has_c_calls || !PyCFunction_Check(function))
        return 0;
    const PyCFunctionObject *c = (PyCFunctionObject *)function;
    pytracer_enter_c(thread, frame, c->m_ml, c->m_self);
    return 0;
}

static int leave_c(PyFrameObject *frame, PyObject *function)
{
    pytracer_thread *thread = this_thread(frame, PyTrace_C_RETURN);
    notice_threads();
    if (thread && pytracer_state.has_c_calls && PyCFunction_Check(function))
        pytracer_leave(thread, ((PyCFunctionObject *)function)->m_ml, frame);
    return 0;
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    if (what == PyTrace_CALL)
        return enter(frame);
    if (what == PyTrace_RETURN)
        return leave(frame);
    if (what == PyTrace_C_CALL)
        return enter_c(frame, arg);
    if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        return leave_c(frame, arg);
    return 0;
}

/* -- start and stop */

bool pytracer_hooks_start(void)
{
    interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    PyThreadState *head = list_of_threads();
    first_late_id = head->id + 1;
    for (PyThreadState *thread = head; thread; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc) {
            PyErr_Format(PyExc_RuntimeError,
                         "sys.setprofile is in use on thread %lu: Python functions cannot be "
                         "recorded beside another profiler",
                         thread->thread_id);
            return false;
        }
    hook_threads();
    return true;
}

void pytracer_hooks_stop(void)
{
    PyThreadState *thread = list_of_threads();
    for (; thread; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc == on_event && _PyEval_SetProfile(thread, NULL, NULL) < 0)
            PyErr_Clear();
}
