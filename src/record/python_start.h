/* python_start.h - how Python programs under `kino record` find the Python package of Kino.
 *
 * Python imports a module `sitecustomize` as it starts, from the first folder of its path that has
 * one. The one written here stands in the work folder, in front of PYTHONPATH; it removes that
 * folder from the path, imports the program's own sitecustomize, and lets the package (of that
 * Python, where it is installed) do the rest: python/kino/_recorded.py. */
#ifndef KINO__RECORD_PYTHON_START_H
#define KINO__RECORD_PYTHON_START_H

#include <kino/base.h>

/* A list of "operators", "shapes", "memory", "functions", "samples", separated by commas, or "off".
 * False: `wrong` (of `size` bytes) is the word that is not one of them. */
bool kino__python_check(const char *list, char *wrong, size_t size);

/* Creates `work`/python with the hook in it; its path is copied to `out`. */
KINO_NODISCARD kino_status kino__python_start_write(const char *work, char *out, size_t size,
                                                    kino_error *err);

#endif
