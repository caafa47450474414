/* demangle.h - names of C++ functions as people write them, by the C++ library where there is one.
 *
 * The library is loaded when it is first needed and not linked: a program that meets no C++ needs
 * none. */
#ifndef KINO__BASE_DEMANGLE_H
#define KINO__BASE_DEMANGLE_H

#include <kino/base.h>

typedef struct kino__demangler {
    void *library; /* NULL: there is none, names stay as they are */
    char *(*demangle)(const char *name, char *out, size_t *size, int *status);
} kino__demangler;

void kino__demangler_open(kino__demangler *demangler);
void kino__demangler_close(kino__demangler *demangler);

/* A new text that the caller frees; NULL: the name is not mangled, too long or unknown. */
char *kino__demangle(const kino__demangler *demangler, const char *name);

#endif
