/* environment.c - the variables by which runtimes find a tool's library. */
#include "record/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "wire/injection.h"

/* -- variables */

static size_t find(const kino__environment *e, const char *name)
{
    size_t size = strlen(name), at = 0;
    while (at < e->items.count &&
           !(strncmp(e->items.items[at], name, size) == 0 && e->items.items[at][size] == '='))
        at++;
    return at;
}

static const char *value_of(const kino__environment *e, const char *name)
{
    size_t at = find(e, name);
    return at < e->items.count ? e->items.items[at] + strlen(name) + 1 : NULL;
}

/* NULL when memory is out. */
static char **set(kino__environment *e, const char *name, const char *value)
{
    kino_str text = kino__arena_format(&e->arena, "%s=%s", name, value);
    size_t at = find(e, name);
    char **slot = at < e->items.count ? &e->items.items[at] : kino__vec_add(&e->items);
    if (!slot || !text.data)
        return NULL;
    *slot = (char *)(uintptr_t)text.data;
    return slot;
}

static bool set_number(kino__environment *e, const char *name, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    return set(e, name, text) != NULL;
}

/* -- libraries */

/* "ours:theirs" or "theirs:ours", with a colon at the end where the reader drops the last entry. */
static bool set_list(kino__environment *e, const char *name, const char *library, bool is_last,
                     bool has_end)
{
    const char *before = value_of(e, name), *end = has_end ? ":" : "";
    kino_str list;
    if (!before || !*before)
        list = kino__arena_format(&e->arena, "%s%s", library, end);
    else if (is_last)
        list = kino__arena_format(&e->arena, "%s:%s", before, library);
    else
        list = kino__arena_format(&e->arena, "%s:%s%s", library, before, end);
    return list.data && set(e, name, list.data);
}

/* Only one library can be there. */
static bool set_single(kino__environment *e, const char *name, const char *library)
{
    const char *before = value_of(e, name);
    if (before && *before && strcmp(before, library) != 0) {
        const char **replaced = kino__vec_add(&e->replaced);
        if (!replaced)
            return false;
        *replaced = name;
    }
    return set(e, name, library);
}

static bool add_library(kino__environment *e, const kino__injection *injection)
{
    const char *library = injection->library;
    bool ok = set_list(e, "LD_PRELOAD", library, true, false);
    if (injection->ranges)
        ok = ok && set_single(e, "NVTX_INJECTION64_PATH", library) &&
             set_single(e, "INTEL_LIBITTNOTIFY64", library);
    if (injection->devices)
        ok = ok && set_single(e, "CUDA_INJECTION64_PATH", library) &&
             set_list(e, "ROCP_TOOL_LIBRARIES", library, false, true) &&
             set_list(e, "OPENCL_LAYERS", library, false, false);
    if (injection->python)
        ok = ok && set_list(e, "PYTHONPATH", injection->python_folder, false, false) &&
             set(e, KINO__INJECT_PYTHON, injection->python);
    return ok;
}

static bool add_all(kino__environment *e, char *const *from, const kino__injection *injection)
{
    for (; from && *from; from++) {
        char **slot = kino__vec_add(&e->items);
        if (!slot)
            return false;
        *slot = *from;
    }
    bool ok = true;
    if (injection->library) {
        ok = add_library(e, injection) && set(e, KINO__INJECT_FOLDER, injection->folder) &&
             set_number(e, KINO__INJECT_BUDGET, injection->budget) &&
             set(e, KINO__INJECT_MODE, injection->is_flight ? "flight" : "capture") &&
             set_number(e, KINO__INJECT_FROM, injection->from_ns) &&
             set_number(e, KINO__INJECT_UNTIL, injection->until_ns) &&
             set_number(e, KINO__INJECT_FILTERS, kino__seccomp_filters()) &&
             set(e, KINO__INJECT_MAIN, "00000000000");
    }
    char **end = ok ? kino__vec_add(&e->items) : NULL;
    if (!end)
        return false;
    *end = NULL;
    e->items.count--;
    size_t at = find(e, KINO__INJECT_MAIN);
    e->main = injection->library && at < e->items.count ? &e->items.items[at] : NULL;
    return true;
}

kino_status kino__environment_init(kino__environment *out, char *const *from,
                                   const kino__injection *injection, kino_error *err)
{
    *out = (kino__environment){0};
    kino__arena_init(&out->arena, NULL);
    return add_all(out, from, injection) ? KINO_OK : kino__fail_nomem(err);
}

void kino__environment_deinit(kino__environment *environment)
{
    kino__vec_deinit(&environment->items);
    kino__vec_deinit(&environment->replaced);
    kino__arena_deinit(&environment->arena);
}

/* -- where the library is */

#ifndef KINO_LIBRARY_FOLDER /* from the folder of the program to that of the libraries */
#    define KINO_LIBRARY_FOLDER "../lib"
#endif

static bool is_there(char *out, size_t size, const char *folder, const char *relative)
{
    int length =
        snprintf(out, size, "%s/%s%slibkino_inject.so", folder, relative, *relative ? "/" : "");
    return length > 0 && (size_t)length < size && access(out, R_OK) == 0;
}

kino_status kino__injection_library(char *out, size_t size, kino_error *err)
{
    char folder[PATH_MAX], found[PATH_MAX + 64], real[PATH_MAX];
    const char *given = getenv("KINO_INJECT_LIBRARY"); /* NOLINT(concurrency-mt-unsafe) */
    if (given && *given) {
        (void)snprintf(found, sizeof found, "%s", given);
    } else {
        ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
        folder[length > 0 ? length : 0] = '\0';
        char *slash = strrchr(folder, '/');
        if (slash)
            *slash = '\0';
        if (!is_there(found, sizeof found, folder, "") &&
            !is_there(found, sizeof found, folder, KINO_LIBRARY_FOLDER) &&
            !is_there(found, sizeof found, folder, "../lib"))
            return kino__fail(err, KINO_NOT_FOUND,
                              "libkino_inject.so not found beside the kino program or in '%s/%s'",
                              folder, KINO_LIBRARY_FOLDER);
    }
    if (!realpath(found, real))
        return kino__fail_errno(err, errno, "cannot read '%s'", found);
    if (strlen(real) >= size || strpbrk(real, " :"))
        return kino__fail(
            err, KINO_UNAVAILABLE,
            "cannot inject '%s': the dynamic loader does not support a space or colon in the path",
            real);
    memcpy(out, real, strlen(real) + 1);
    return KINO_OK;
}
