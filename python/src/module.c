/* module.c - kino._engine: its functions, its types, and the capsules of the Arrow interface. */
#include <stdlib.h>

#include "kinopy.h"

/* -- capsules: a consumer moves the value out, else it is released here -- */

static void free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

PyObject *kinopy_stream_capsule(struct ArrowArrayStream *stream)
{
    struct ArrowArrayStream *moved = malloc(sizeof *moved);
    PyObject *capsule = NULL;
    if (moved) {
        *moved = *stream;
        capsule = PyCapsule_New(moved, "arrow_array_stream", free_stream);
    }
    if (capsule)
        return capsule;
    stream->release(stream);
    free(moved);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static void free_schema(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

PyObject *kinopy_schema_capsule(struct ArrowSchema *schema)
{
    struct ArrowSchema *moved = malloc(sizeof *moved);
    PyObject *capsule = NULL;
    if (moved) {
        *moved = *schema;
        capsule = PyCapsule_New(moved, "arrow_schema", free_schema);
    }
    if (capsule)
        return capsule;
    schema->release(schema);
    free(moved);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* The schema of a stream that is in a capsule, for those who want it alone. */
static PyObject *schema_of(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    struct ArrowSchema schema;
    if (!PyArg_ParseTuple(args, "O", &capsule))
        return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!stream)
        return NULL;
    if (!stream->release || stream->get_schema(stream, &schema) != 0)
        return PyErr_NoMemory();
    return kinopy_schema_capsule(&schema);
}

/* -- the module -- */

static PyObject *version(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    return kinopy_text(kino_version());
}

static PyMethodDef functions[] = {
    {"open", kinopy_open, METH_VARARGS, NULL},
    {"diff", kinopy_diff, METH_VARARGS, NULL},
    {"diff_summary", kinopy_diff_summary, METH_VARARGS, NULL},
    {"demo", kinopy_demo, METH_VARARGS, NULL},
    {"analyses", kinopy_analyses, METH_NOARGS, NULL},
    {"check_params", kinopy_check_params, METH_VARARGS, NULL},
    {"formats", kinopy_formats, METH_NOARGS, NULL},
    {"event_columns", kinopy_event_columns, METH_NOARGS, NULL},
    {"schema_of", schema_of, METH_VARARGS, NULL},
    {"version", version, METH_NOARGS, NULL},
    {0},
};

/* One for the process: PyType_GetModule is not in the limited API of 3.9. */
static kinopy_types types; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables) */

const kinopy_types *kinopy_get_types(void)
{
    return &types;
}

static bool add_type(PyObject *module, const char *name, PyType_Spec *spec, PyObject **slot)
{
    *slot = PyType_FromSpec(spec);
    if (!*slot)
        return false;
    Py_INCREF(*slot); /* the module's */
    if (PyModule_AddObject(module, name, *slot) == 0)
        return true;
    Py_DECREF(*slot);
    return false;
}

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "kino._engine",
    .m_doc = "The engine as it is; kino wraps it.",
    .m_size = -1, /* not for several interpreters in one process */
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__engine(void);
PyMODINIT_FUNC PyInit__engine(void)
{
    PyObject *module = PyModule_Create(&definition);
    bool ok = module && add_type(module, "Run", &kinopy_run_spec, &types.run) &&
              add_type(module, "Result", &kinopy_result_spec, &types.result) &&
              add_type(module, "Report", &kinopy_report_spec, &types.report);
    if (!ok)
        Py_CLEAR(module);
    return module;
}
