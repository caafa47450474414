/* demangle.c - __cxa_demangle of the C++ library. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <string.h>

enum { MANGLED_MOST = 8192 }; /* as Kineto: its work may grow faster than the name */

void kino__demangler_open(kino__demangler *demangler)
{
    *demangler = (kino__demangler){.library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL)};
    if (demangler->library)
        *(void **)&demangler->demangle = dlsym(demangler->library, "__cxa_demangle");
}

void kino__demangler_close(kino__demangler *demangler)
{
    if (demangler->library)
        (void)dlclose(demangler->library);
    *demangler = (kino__demangler){0};
}

char *kino__demangle(const kino__demangler *demangler, const char *name)
{
    int status = 0;
    if (!demangler->demangle || strncmp(name, "_Z", 2) != 0 ||
        strnlen(name, MANGLED_MOST + 1) > MANGLED_MOST)
        return NULL;
    return demangler->demangle(name, NULL, NULL, &status);
}
