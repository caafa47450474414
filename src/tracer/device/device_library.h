/* device_library.h - a vendor's library in somebody else's process: found, its functions looked up,
 * and who else in the process is a tool of it. */
#ifndef KINO__TRACER_DEVICE_LIBRARY_H
#define KINO__TRACER_DEVICE_LIBRARY_H

#include <kino/base.h>

/* The library that the environment variable names; else one that the process has loaded; else the
 * first that the dynamic linker finds. `names` ends with NULL. NULL: KINO_NOT_FOUND when there is
 * none of them, another code and the reason when the one of the variable cannot be loaded. Never
 * closed. */
void *kino__library_open(const char *variable, const char *const *names, kino_error *err);

/* Stores the function's address through `out`, a pointer to a pointer to a function; NULL when the
 * library has no such function. */
bool kino__library_find(void *library, const char *name, void *out);

/* The file name of a loaded object other than libkino and `library` that exports the symbol: the
 * entry by which a tool is found. False: there is none. */
bool kino__library_other(const char *symbol, const void *own, void *library, char *out,
                         size_t size);

/* The file name of a loaded object other than libkino that is linked with a library whose name
 * begins so. False: there is none. */
bool kino__library_user(const char *name, const void *own, char *out, size_t size);

/* The readable name of a C++ symbol, by the C++ runtime of the process, or of the machine; a copy
 * of the name when it is none, too long, or there is no such runtime. The caller frees it; NULL
 * when memory is out. */
char *kino__library_demangle(const char *name);

#endif
