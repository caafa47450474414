/* names.c - what calls are named, found once: functions by their code object, C functions by their
 * definition. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pytracer.h"

enum { RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };

/* -- texts */

char *pytracer_text(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text)
        (void)vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

/* Takes the text. `line` is not one of a file: readers make the number of a module of it. */
bool pytracer_name_fill(pytracer_name *name, char *text, uint32_t line)
{
    name->site = (kino_impl_v1_site){text, "python_function", NULL, NULL, line, 0};
    return text != NULL;
}

static PyObject *utf8_of(PyObject *text)
{
    PyObject *bytes =
        PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    return bytes ? bytes : PyBytes_FromString("?");
}

static bool fill_function(pytracer_name *name, const PyCodeObject *code, int line)
{
    PyObject *file = utf8_of(code->co_filename), *function = utf8_of(code->co_name);
    char *text = NULL;
    if (file && function)
        text = pytracer_text("%s(%d): %s",
                             pytracer_path_short(&pytracer_state.paths, PyBytes_AS_STRING(file)),
                             line, PyBytes_AS_STRING(function));
    Py_XDECREF(file);
    Py_XDECREF(function);
    name->line = line;
    return pytracer_name_fill(name, text, 0);
}

/* -- functions */

/* The line that a frame is at when it is entered. That of a file's own code is 0 since 3.11. */
static int first_line(const PyCodeObject *code)
{
    bool is_file = PY_VERSION_HEX >= 0x030b0000 && PyUnicode_Check(code->co_name) &&
                   PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
    return is_file ? 0 : code->co_firstlineno;
}

/* PyTorch's Module.__call__; found by its name and file, because torch may be imported later. */
static bool is_module_call(const PyCodeObject *code)
{
    static const char file_end[] = "torch/nn/modules/module.py";
    if (!pytracer_state.has_modules || code->co_argcount < 1 || !PyUnicode_Check(code->co_name) ||
        PyUnicode_CompareWithASCIIString(code->co_name, "_wrapped_call_impl") != 0)
        return false;
    PyObject *file = utf8_of(code->co_filename);
    size_t size = file ? (size_t)PyBytes_GET_SIZE(file) : 0, want = sizeof file_end - 1;
    bool is_it = size >= want && strcmp(PyBytes_AS_STRING(file) + size - want, file_end) == 0;
    Py_XDECREF(file);
    return is_it;
}

static void release_code(void *value)
{
    pytracer_code *code = value;
    for (pytracer_name *next, *name = code->name.next; name; name = next) {
        next = name->next;
        free((char *)name->site.name);
        free(name);
    }
    free((char *)code->name.site.name);
    Py_DECREF(code->code);
    free(code);
}

static pytracer_code *make_code(PyCodeObject *object)
{
    pytracer_code *code = calloc(1, sizeof *code);
    if (!code)
        return NULL;
    Py_INCREF(object);
    code->code = object;
    code->is_resumable = object->co_flags & RESUMABLE;
    code->is_module = is_module_call(object);
    code->is_special = code->is_resumable || code->is_module;
    if (fill_function(&code->name, object, first_line(object)) &&
        pytracer_table_put(&pytracer_state.codes, object, code))
        return code;
    release_code(code);
    return NULL;
}

pytracer_code *pytracer_code_make(PyCodeObject *object)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); /* calls begin while exceptions are on their way, too */
    pytracer_code *code = make_code(object);
    PyErr_Restore(type, value, traceback);
    return code;
}

pytracer_name *pytracer_name_at(pytracer_code *code, int line)
{
    for (pytracer_name *name = &code->name; name; name = name->next)
        if (name->line == line)
            return name;
    pytracer_name *name = calloc(1, sizeof *name);
    if (!name || !fill_function(name, code->code, line)) {
        free(name);
        return NULL;
    }
    name->next = code->name.next;
    code->name.next = name;
    return name;
}

static pytracer_name *special_name(pytracer_code *code, PyFrameObject *frame)
{
    PyObject *module = code->is_module ? pytracer_frame_self(frame) : NULL;
    pytracer_name *name = module ? pytracer_module_name(module)
                          : code->is_resumable
                              ? pytracer_name_at(code, PyFrame_GetLineNumber(frame))
                              : NULL;
    return name ? name : &code->name;
}

pytracer_name *pytracer_name_special(pytracer_code *code, PyFrameObject *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    pytracer_name *name = frame ? special_name(code, frame) : &code->name;
    PyErr_Restore(type, value, traceback);
    return name;
}

/* -- C functions: named like the first object whose method was called, as PyTorch does it. So a
 * trace has one name for each method, not one for each object. */

static char *text_of_method(const PyMethodDef *method, PyObject *self)
{
    if (!self || PyModule_Check(self))
        return pytracer_text("<built-in function %s>", method->ml_name);
    return pytracer_text("<built-in method %s of %s object at %p>", method->ml_name,
                         Py_TYPE(self)->tp_name, (void *)self);
}

/* Called again when another definition has come to the address of one that is gone. */
pytracer_name *pytracer_method_make(const PyMethodDef *method, PyObject *self)
{
    pytracer_name *name = pytracer_table_get(&pytracer_state.methods, method);
    char *text = text_of_method(method, self);
    if (name && text)
        free((char *)name->site.name);
    if (!name && (name = calloc(1, sizeof *name)) &&
        !pytracer_table_put(&pytracer_state.methods, method, name)) {
        free(name);
        name = NULL;
    }
    if (!name || !text) {
        free(text);
        return NULL;
    }
    (void)pytracer_name_fill(name, text, 0);
    name->definition = method->ml_name;
    return name;
}

/* -- a window */

bool pytracer_names_open(void)
{
    pytracer *tracer = &pytracer_state;
    return pytracer_table_init(&tracer->codes) && pytracer_table_init(&tracer->methods) &&
           pytracer_table_init(&tracer->modules) && pytracer_table_init(&tracer->classes) &&
           pytracer_paths_open(&tracer->paths);
}

void pytracer_names_close(void)
{
    pytracer_modules_close();
    pytracer_table_clear(&pytracer_state.codes, release_code);
    pytracer_paths_close(&pytracer_state.paths);
}
