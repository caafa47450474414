/* values.c - from Python's values to the engine's and back. */
#include <string.h>

#include "kinopy.h"

/* -- errors -- */

static PyObject *path_of(const kino_error *error)
{
    char path[sizeof error->message];
    memcpy(path, error->message + error->path_at, error->path_size);
    path[error->path_size] = 0;
    return kinopy_text(path);
}

PyObject *kinopy_raise(kino_status status, const kino_error *error)
{
    PyObject *module = PyImport_ImportModule("kino._errors");
    if (!module)
        return NULL;
    const char *text = error && error->message[0] ? error->message : kino_status_text(status);
    PyObject *message = kinopy_text(text);
    PyObject *offset = NULL;
    if (error && error->offset != KINO_NO_OFFSET && status == error->code)
        offset = PyLong_FromUnsignedLongLong(error->offset);
    PyObject *path = error && error->path_size ? path_of(error) : NULL;
    PyObject *exception = NULL;
    if (message && !PyErr_Occurred())
        exception = PyObject_CallMethod(
            module, "error_of", "iOOOsss", (int)status, message, offset ? offset : Py_None,
            path ? path : Py_None, kino_hint_name(error ? error->hint.code : KINO_HINT_NONE),
            error ? error->hint.subject : "", error ? error->hint.value : "");
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(path);
    Py_XDECREF(offset);
    Py_XDECREF(message);
    Py_DECREF(module);
    return NULL;
}

/* -- lists from Python -- */

/* The bytes object's text; NULL and true for None. */
static bool text_of(PyObject *object, const char **out)
{
    *out = NULL;
    if (object == Py_None)
        return true;
    char *text;
    if (PyBytes_AsStringAndSize(object, &text, NULL) != 0)
        return false; /* not bytes, or with a zero byte in it */
    *out = text;
    return true;
}

bool kinopy_texts_init(kinopy_texts *texts, PyObject *list)
{
    *texts = (kinopy_texts){0};
    if (list == Py_None)
        return true;
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    texts->items = PyMem_Calloc((size_t)count + 1, sizeof *texts->items);
    if (!texts->items) {
        PyErr_NoMemory();
        return false;
    }
    texts->count = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (text_of(PyList_GetItem(list, i), &texts->items[i]))
            continue;
        kinopy_texts_deinit(texts);
        return false;
    }
    return true;
}

void kinopy_texts_deinit(kinopy_texts *texts)
{
    PyMem_Free((void *)texts->items);
    *texts = (kinopy_texts){0};
}

bool kinopy_params_init(kinopy_params *params, PyObject *list)
{
    *params = (kinopy_params){0};
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    params->items = PyMem_Calloc((size_t)count + 1, sizeof *params->items);
    if (!params->items) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        kino_param *to = &params->items[params->count++];
        if (PyArg_ParseTuple(PyList_GetItem(list, i), "yy", &to->name, &to->value))
            continue;
        kinopy_params_deinit(params);
        return false;
    }
    return true;
}

void kinopy_params_deinit(kinopy_params *params)
{
    PyMem_Free(params->items);
    *params = (kinopy_params){0};
}

static bool cell_of(PyObject *object, kino_cell *out)
{
    *out = (kino_cell){.kind = KINO_CELL_NULL};
    if (object == Py_None)
        return true;
    if (PyLong_Check(object)) {
        out->kind = KINO_CELL_INT;
        out->value.integer = PyLong_AsLongLong(object);
        return !PyErr_Occurred();
    }
    if (PyFloat_Check(object)) {
        out->kind = KINO_CELL_FLOAT;
        out->value.real = PyFloat_AsDouble(object);
        return true;
    }
    char *text;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &text, &size) != 0)
        return false;
    out->kind = KINO_CELL_TEXT;
    out->value.text = (kino_str){text, (size_t)size};
    return true;
}

bool kinopy_cells_init(kinopy_cells *cells, PyObject *list)
{
    *cells = (kinopy_cells){0};
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    cells->items = PyMem_Calloc((size_t)count + 1, sizeof *cells->items);
    if (!cells->items) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (cell_of(PyList_GetItem(list, i), &cells->items[cells->count++]))
            continue;
        kinopy_cells_deinit(cells);
        return false;
    }
    return true;
}

void kinopy_cells_deinit(kinopy_cells *cells)
{
    PyMem_Free(cells->items);
    *cells = (kinopy_cells){0};
}

/* -- values for Python -- */

PyObject *kinopy_str(kino_str text)
{
    return PyUnicode_DecodeUTF8(text.data ? text.data : "", (Py_ssize_t)text.size, "replace");
}

PyObject *kinopy_text(const char *text)
{
    if (!text)
        Py_RETURN_NONE;
    return kinopy_str((kino_str){text, strlen(text)});
}

PyObject *kinopy_cell(kino_type type, const kino_cell *cell)
{
    switch (cell->kind) {
    case KINO_CELL_INT:
        if (type == KINO_TYPE_BOOL)
            return PyBool_FromLong(cell->value.integer != 0);
        return PyLong_FromLongLong(cell->value.integer);
    case KINO_CELL_FLOAT:
        return PyFloat_FromDouble(cell->value.real);
    case KINO_CELL_TEXT:
        return kinopy_str(cell->value.text);
    default:
        Py_RETURN_NONE;
    }
}

const char *kinopy_type_text(kino_type type)
{
    switch (type) {
#define KINO_TYPE_TEXT(name, text)                                                                 \
    case KINO_TYPE_##name:                                                                         \
        return text;
        KINO_TYPE_MAP(KINO_TYPE_TEXT)
#undef KINO_TYPE_TEXT
    }
    return "any";
}

PyObject *kinopy_columns(const kino_column *columns, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = Py_BuildValue("(ssNN)", columns[i].name, kinopy_type_text(columns[i].type),
                                       kinopy_text(columns[i].unit), kinopy_text(columns[i].help));
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}
