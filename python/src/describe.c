/* describe.c - what there is: analyses with their parameters and tables, formats, columns of
 * events. */
#include <string.h>

#include "kinopy.h"

/* Adds a new reference to the list; the list is gone when it cannot. */
static PyObject *add(PyObject *list, PyObject *item)
{
    if (!list || !item || PyList_Append(list, item) != 0)
        Py_CLEAR(list);
    Py_XDECREF(item);
    return list;
}

/* Each as (name, type, default, help, choices). */
static PyObject *params_of(const kino_analysis_info *info)
{
    PyObject *list = PyList_New(0);
    for (const kino_param_info *p = info->params; list && p->name; p++)
        list = add(list, Py_BuildValue("(sszzz)", p->name, kinopy_type_text(p->type), p->value,
                                       p->help, p->choices));
    if (list && info->compat[0]) {
        char choices[256] = "";
        for (size_t i = 0; info->compat[i]; i++) {
            size_t used = strlen(choices);
            (void)PyOS_snprintf(choices + used, sizeof choices - used, "%s%s", i ? "|" : "",
                                info->compat[i]);
        }
        list = add(list, Py_BuildValue("(sszzs)", "compat", "string", NULL,
                                       "numbers as a reference implementation gives them, defects "
                                       "included",
                                       choices));
    }
    if (list && info->takes_steps)
        list = add(list, Py_BuildValue("(sszzz)", "steps", "string", NULL,
                                       "only these profiler steps: 5 or 3-7", NULL));
    return list;
}

/* Each as (name, help, columns). */
static PyObject *tables_of(const kino_analysis_info *info)
{
    PyObject *list = PyList_New(0);
    for (const kino_table_info *t = info->tables; list && t->name; t++) {
        size_t count = 0;
        while (t->columns[count].name)
            count++;
        list =
            add(list, Py_BuildValue("(szN)", t->name, t->help, kinopy_columns(t->columns, count)));
    }
    return list;
}

/* Each as (name, help, description, params, tables). */
PyObject *kinopy_analyses(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    PyObject *list = PyList_New(0);
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    for (size_t i = 0; list && kino_analysis_describe(i, &info); i++)
        list = add(list, Py_BuildValue("(szzNN)", info.name, info.help, info.description,
                                       params_of(&info), tables_of(&info)));
    return list;
}

/* check_params(name, params): raises what analyze would, without the work. */
PyObject *kinopy_check_params(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *list;
    kinopy_params params;
    kino_error error;
    if (!PyArg_ParseTuple(args, "sO", &name, &list) || !kinopy_params_init(&params, list))
        return NULL;
    kino_status st = kino_analysis_check(name, params.items, params.count, &error);
    kinopy_params_deinit(&params);
    if (st != KINO_OK)
        return kinopy_raise(st, &error);
    Py_RETURN_NONE;
}

/* Formats that can be written, each as (name, suffix, help). */
PyObject *kinopy_formats(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    PyObject *list = PyList_New(0);
    const char *name, *suffix, *help;
    for (size_t i = 0; list && kino_writer_describe(i, &name, &suffix, &help); i++)
        list = add(list, Py_BuildValue("(sss)", name, suffix, help));
    return list;
}

PyObject *kinopy_event_columns(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    PyObject *list = PyList_New(0);
    kino_column column;
    for (size_t i = 0; list && kino_event_column(i, &column); i++)
        list = add(list, Py_BuildValue("(sszz)", column.name, kinopy_type_text(column.type),
                                       column.unit, column.help));
    return list;
}
