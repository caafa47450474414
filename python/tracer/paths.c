/* paths.c - file names without the longest matching prefix of sys.path, as PyTorch's traces have
 * them: torch/nn/modules/linear.py. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pytracer.h"

/* The entry as an absolute folder that ends with one slash; "" is where the program is. */
static char *prefix_of(const char *entry)
{
    char here[PATH_MAX];
    size_t size = strlen(entry);
    while (size && entry[size - 1] == '/')
        size--;
    if (entry[0] == '/')
        return size ? pytracer_text("%.*s/", (int)size, entry) : NULL;
    if (!getcwd(here, sizeof here))
        return NULL;
    return size ? pytracer_text("%s/%.*s/", here, (int)size, entry) : pytracer_text("%s/", here);
}

bool pytracer_paths_open(void)
{
    pytracer *tracer = &pytracer_state;
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    Py_ssize_t count = path && PyList_Check(path) ? PyList_GET_SIZE(path) : 0;
    tracer->prefixes = calloc((size_t)count + 1, sizeof *tracer->prefixes);
    if (!tracer->prefixes)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(path, i);
        const char *entry = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
        char *prefix = entry ? prefix_of(entry) : NULL;
        if (prefix)
            tracer->prefixes[tracer->prefix_count++] = prefix;
        PyErr_Clear(); /* a path that is no text is no prefix */
    }
    return true;
}

void pytracer_paths_close(void)
{
    pytracer *tracer = &pytracer_state;
    for (size_t i = 0; i < tracer->prefix_count; i++)
        free(tracer->prefixes[i]);
    free(tracer->prefixes);
    tracer->prefixes = NULL;
    tracer->prefix_count = 0;
}

const char *pytracer_path_short(const char *path)
{
    const pytracer *tracer = &pytracer_state;
    size_t longest = 0;
    for (size_t i = 0; i < tracer->prefix_count; i++) {
        size_t size = strlen(tracer->prefixes[i]);
        if (size > longest && strncmp(path, tracer->prefixes[i], size) == 0)
            longest = size;
    }
    return path + longest;
}
