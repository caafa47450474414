/* modules.c - calls of nn.Module: "nn.Module: Linear_0" is the first Linear that was called in
 * this window. */
#include <stdlib.h>

#include "pytracer.h"

typedef struct pytracer_class {
    PyObject *type; /* a reference */
    uint32_t count; /* modules of it that were called */
} pytracer_class;

typedef struct pytracer_module {
    pytracer_name name;
    PyObject *module; /* a reference, so that no other one comes to its address */
} pytracer_module;

static void release_class(void *value)
{
    pytracer_class *class = value;
    Py_DECREF(class->type);
    free(class);
}

static void release_module(void *value)
{
    pytracer_module *module = value;
    free((char *)module->name.site.name);
    Py_DECREF(module->module);
    free(module);
}

static pytracer_class *class_of(PyObject *type)
{
    pytracer_class *class = pytracer_table_get(&pytracer_state.classes, type);
    if (class || !(class = calloc(1, sizeof *class)))
        return class;
    if (!pytracer_table_put(&pytracer_state.classes, type, class)) {
        free(class);
        return NULL;
    }
    Py_INCREF(type);
    class->type = type;
    return class;
}

/* The name of a class that was made by a class statement is without its module. */
static pytracer_module *make_module(PyObject *object, pytracer_class *class)
{
    pytracer_module *module = calloc(1, sizeof *module);
    uint32_t number = class->count;
    if (!module)
        return NULL;
    Py_INCREF(object);
    module->module = object;
    char *text = pytracer_text("nn.Module: %s_%u", Py_TYPE(object)->tp_name, number);
    if (pytracer_name_fill(&module->name, text, number + 1) &&
        pytracer_table_put(&pytracer_state.modules, object, module)) {
        class->count++;
        return module;
    }
    release_module(module);
    return NULL;
}

pytracer_name *pytracer_module_name(PyObject *object)
{
    pytracer_module *known = pytracer_table_get(&pytracer_state.modules, object);
    if (known)
        return &known->name;
    pytracer_class *class = class_of((PyObject *)Py_TYPE(object));
    pytracer_module *made = class ? make_module(object, class) : NULL;
    return made ? &made->name : NULL;
}

PyObject *pytracer_modules_list(void)
{
    const pytracer_table *table = &pytracer_state.modules;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && table->slots && i <= table->mask; i++) {
        const pytracer_module *module = table->slots[i].value;
        if (table->slots[i].key && PyList_Append(list, module->module) < 0)
            Py_CLEAR(list);
    }
    return list;
}

void pytracer_modules_close(void)
{
    pytracer_table_clear(&pytracer_state.modules, release_module);
    pytracer_table_clear(&pytracer_state.classes, release_class);
}
