/* frames.h - what a frame has, for each version of Python. References are borrowed: they hold while
 * the frame runs. */
#ifndef KINO_PYTRACER_FRAMES_H
#define KINO_PYTRACER_FRAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000
/* Frames are opaque since 3.11. There the public functions would make a dictionary of a frame's
 * variables; sampler.c reads frames of other threads, for which no function is good. */
#    define Py_BUILD_CORE 1
#    include <internal/pycore_frame.h>
#    undef Py_BUILD_CORE
#endif

static inline PyCodeObject *pytracer_frame_code(PyFrameObject *frame)
{
#if PY_VERSION_HEX < 0x030b0000
    return frame->f_code;
#elif PY_VERSION_HEX < 0x030c0000
    return frame->f_frame->f_code;
#else
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    return code;
#endif
}

/* The first argument of a method, or NULL; no exception is set. */
static inline PyObject *pytracer_frame_self(PyFrameObject *frame)
{
#if PY_VERSION_HEX < 0x030b0000
    return frame->f_localsplus[0];
#elif PY_VERSION_HEX < 0x030c0000
    return frame->f_frame->localsplus[0];
#else
    PyObject *self = PyFrame_GetVarString(frame, "self");
    if (!self)
        PyErr_Clear();
    Py_XDECREF(self);
    return self;
#endif
}

#endif
