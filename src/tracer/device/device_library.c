/* device_library.c - vendors' libraries in the process. See device_library.h. */
#include "tracer/device/device_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { OBJECTS_MAX = 1024, NAME_MAX_BYTES = 512, MANGLED_MAX = 8192 };

void *kino__library_open(const char *variable, const char *const *names, kino_error *err)
{
    const char *path = secure_getenv(variable);
    void *library = NULL;
    kino__error_clear(err);
    if (path && *path) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library) {
            const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): of this thread */
            (void)kino__fail(err, KINO_UNAVAILABLE, "%s: %s", variable,
                             why ? why : "cannot be loaded");
        }
        return library;
    }
    for (size_t i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    for (size_t i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        (void)kino__fail(err, KINO_NOT_FOUND, "%s is not installed", names[0]);
    return library;
}

bool kino__library_find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void put_file_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strnlen(name, size - 1);
    memcpy(out, name, length);
    out[length] = '\0';
}

typedef struct objects {
    char (*names)[NAME_MAX_BYTES];
    size_t count;
} objects;

/* Only collects: the linker's lock is held. */
static int collect(struct dl_phdr_info *info, size_t size, void *context)
{
    objects *all = context;
    (void)size;
    size_t length = info->dlpi_name ? strnlen(info->dlpi_name, NAME_MAX_BYTES) : 0;
    if (length > 0 && length < NAME_MAX_BYTES && all->count < OBJECTS_MAX) {
        memcpy(all->names[all->count], info->dlpi_name, length + 1);
        all->count++;
    }
    return 0;
}

/* Does the object itself export the symbol, not one of those it needs? */
static bool exports(void *object, const char *symbol, const char *path, const void *own)
{
    Dl_info there, here;
    void *address = dlsym(object, symbol);
    if (!address || !dladdr(address, &there) || !there.dli_fname ||
        strcmp(there.dli_fname, path) != 0)
        return false;
    return !dladdr(own, &here) || here.dli_fbase != there.dli_fbase;
}

bool kino__library_other(const char *symbol, const void *own, void *library, char *out, size_t size)
{
    objects all = {calloc(OBJECTS_MAX, sizeof *all.names), 0};
    bool is_found = false;
    if (!all.names)
        return false;
    (void)dl_iterate_phdr(collect, &all);
    for (size_t i = 0; i < all.count && !is_found; i++) {
        void *object = dlopen(all.names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!object)
            continue;
        is_found = object != library && exports(object, symbol, all.names[i], own);
        if (is_found)
            put_file_name(all.names[i], out, size);
        (void)dlclose(object);
    }
    free(all.names);
    return is_found;
}

/* -- who is linked with a library */

typedef struct user_search {
    const char *wanted;
    const void *own;
    char *out;
    size_t size;
    bool is_found;
} user_search;

static bool contains(const struct dl_phdr_info *info, const void *address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (uintptr_t)address - start < p->p_memsz)
            return true;
    }
    return false;
}

/* The names that the object needs are in its string table, whose address the linker has made
 * absolute. */
static bool needs(const struct dl_phdr_info *info, const char *wanted)
{
    const ElfW(Dyn) *dynamic = NULL;
    const char *strings = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
            dynamic = (const void *)((uintptr_t)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB && d->d_un.d_ptr >= info->dlpi_addr)
            strings = (const char *)d->d_un.d_ptr; /* NOLINT(performance-no-int-to-ptr) */
    for (const ElfW(Dyn) *d = dynamic; strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && strncmp(strings + d->d_un.d_val, wanted, strlen(wanted)) == 0)
            return true;
    return false;
}

static int look_for_user(struct dl_phdr_info *info, size_t size, void *context)
{
    user_search *search = context;
    (void)size;
    if (!info->dlpi_name || !*info->dlpi_name || contains(info, search->own) ||
        !needs(info, search->wanted))
        return 0;
    put_file_name(info->dlpi_name, search->out, search->size);
    search->is_found = true;
    return 1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written by the search */
bool kino__library_user(const char *name, const void *own, char *out, size_t size)
{
    user_search search = {name, own, out, size, false};
    (void)dl_iterate_phdr(look_for_user, &search);
    return search.is_found;
}

char *kino__library_demangle(const char *name)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    char *readable = NULL;
    int status = 0;
    if (strncmp(name, "_Z", 2) == 0 && strnlen(name, MANGLED_MAX + 1) <= MANGLED_MAX) {
        void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
        bool is_found =
            kino__library_find(runtime ? runtime : RTLD_DEFAULT, "__cxa_demangle", &demangle);
        if (!is_found && !runtime) { /* a program in C */
            runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
            is_found = runtime && kino__library_find(runtime, "__cxa_demangle", &demangle);
        }
        if (is_found)
            readable = demangle(name, NULL, NULL, &status); /* with malloc, its contract says */
        if (runtime)
            (void)dlclose(runtime);
    }
    return readable ? readable : strdup(name);
}
