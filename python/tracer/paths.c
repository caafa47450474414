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

bool pytracer_paths_open(pytracer_paths *paths)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    Py_ssize_t count = path && PyList_Check(path) ? PyList_GET_SIZE(path) : 0;
    paths->count = 0;
    paths->prefixes = calloc((size_t)count + 1, sizeof *paths->prefixes);
    if (!paths->prefixes)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(path, i);
        const char *entry = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
        char *prefix = entry ? prefix_of(entry) : NULL;
        if (prefix)
            paths->prefixes[paths->count++] = prefix;
        PyErr_Clear(); /* a path that is no text is no prefix */
    }
    return true;
}

void pytracer_paths_close(pytracer_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->prefixes[i]);
    free(paths->prefixes);
    *paths = (pytracer_paths){0};
}

const char *pytracer_path_short(const pytracer_paths *paths, const char *path)
{
    size_t longest = 0;
    for (size_t i = 0; i < paths->count; i++) {
        size_t size = strlen(paths->prefixes[i]);
        if (size > longest && strncmp(path, paths->prefixes[i], size) == 0)
            longest = size;
    }
    return path + longest;
}
