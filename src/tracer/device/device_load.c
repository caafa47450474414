/* device_load.c - adding backends: those of backends.def, plug-ins of KINO_PLUGINS and those that
 * register themselves.
 *
 * Plug-ins are other people's code: everything that can be checked is, and a plug-in that is not
 * usable becomes an entry with the reason, so that trace and program can say it. Plug-ins are never
 * unloaded: their code may be on any thread's stack. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tracer/device/device.h"

enum { PATH_MAX_BYTES = 4096 };

#define BACKEND(name)                                                                              \
    const kino_device_backend *kino__##name##_entry(const kino_device_host *host, kino_error *err);
#include "tracer/backend/backends.def"
#undef BACKEND

static const struct {
    const char *name;
    kino_device_entry entry;
} built_in[] = {
#define BACKEND(name) {#name, kino__##name##_entry},
#include "tracer/backend/backends.def"
#undef BACKEND
};

static void copy_text(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

static bool is_name(const char *name)
{
    size_t size = strnlen(name, 64);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return size > 0 && size < 64;
}

/* Takes the backend's description over; fields it does not know are 0. */
static kino_status take_over(const kino__devices *all, kino__backend *b,
                             const kino_device_backend *def, kino_error *err)
{
    if (def->size < offsetof(kino_device_backend, probe))
        return kino__fail(err, KINO_FORMAT, "its description has an invalid size (%u bytes)",
                          def->size);
    memcpy(&b->def, def, def->size < sizeof b->def ? def->size : sizeof b->def);
    if (!def->name || !is_name(def->name))
        return kino__fail(err, KINO_FORMAT,
                          "invalid name (expected: letters, digits, '_' and '-')");
    for (size_t i = 0; i < all->backend_count; i++)
        if (all->backends[i] != b && strcmp(all->backends[i]->name, def->name) == 0)
            return kino__fail(err, KINO_ARGUMENT, "backend '%s' is already registered", def->name);
    copy_text(b->name, sizeof b->name, def->name);
    copy_text(b->version, sizeof b->version, def->version ? def->version : "");
    return KINO_OK;
}

/* Its devices stay if it fails: numbers are never given twice. */
static kino_status open_backend(kino__devices *all, kino__backend *b, kino_device_entry entry,
                                kino_error *err)
{
    kino_error reason = {0};
    const kino_device_backend *def = entry(&b->host, &reason);
    reason.message[sizeof reason.message - 1] = '\0';
    if (!def && b->is_built_in)
        return kino__fail(err, reason.code ? reason.code : KINO_UNAVAILABLE, "%s", reason.message);
    if (!def)
        return kino__fail(err, KINO_UNAVAILABLE, "it declined: %s",
                          reason.message[0] ? reason.message : "no reason given");
    KINO_TRY(take_over(all, b, def, err));
    kino_status st = b->def.probe ? b->def.probe(b->def.context, &reason) : KINO_OK;
    reason.message[sizeof reason.message - 1] = '\0';
    if (st != KINO_OK)
        return kino__fail(err, st, "no device: %s",
                          reason.message[0] ? reason.message : kino_status_text(st));
    return KINO_OK;
}

/* `b` is in the list; its part of the error is said, or everything is in order. */
static kino_status finish_add(kino__devices *all, kino__backend *b, const char *label,
                              kino_status st, const kino_error *reason, kino_error *err)
{
    if (st == KINO_OK) {
        b->phase = KINO_DEVICE_IDLE;
        if (b->def.push && b->def.pop)
            kino__external_add(all, b);
        return st;
    }
    copy_text(b->name, sizeof b->name, label);
    copy_text(b->error, sizeof b->error, reason->message);
    return kino__fail(err, st, "'%s': %s", label, reason->message);
}

kino_status kino__devices_add(kino__devices *all, const char *label, kino_device_entry entry,
                              kino_error *err)
{
    kino_error reason = {0};
    if (all->backend_count == KINO__DEVICE_BACKENDS)
        return kino__fail(err, KINO_LIMIT, "'%s': too many backends (limit: %d)", label,
                          KINO__DEVICE_BACKENDS);
    kino__backend *b = calloc(1, sizeof *b);
    if (!b)
        return kino__fail_nomem(err);
    all->backends[all->backend_count++] = b; /* before its probe, which may register others */
    b->all = all;
    b->phase = KINO_DEVICE_FAILED;
    copy_text(b->name, sizeof b->name, label);
    kino__device_host_init(b);
    kino_status st = entry ? open_backend(all, b, entry, &reason) : KINO_UNAVAILABLE;
    if (!entry && err) /* the caller's reason */
        reason = *err;
    return finish_add(all, b, label, st, &reason, err);
}

static bool is_known(const kino__devices *all, const char *name)
{
    for (size_t i = 0; i < all->backend_count; i++)
        if (strcmp(all->backends[i]->name, name) == 0)
            return true;
    return false;
}

/* One whose runtime is not here leaves no trace: the struct waits for the next time, because the
 * entry may have kept its address. */
static void add_built_in(kino__devices *all, size_t number)
{
    kino_error reason = {0};
    if (all->backend_count == KINO__DEVICE_BACKENDS)
        return;
    kino__backend *b = all->spare[number] ? all->spare[number] : calloc(1, sizeof *b);
    if (!b)
        return;
    all->spare[number] = NULL;
    all->backends[all->backend_count++] = b;
    b->all = all;
    b->is_built_in = true;
    b->phase = KINO_DEVICE_FAILED;
    copy_text(b->name, sizeof b->name, built_in[number].name);
    kino__device_host_init(b);
    kino_status st = open_backend(all, b, built_in[number].entry, &reason);
    if (st == KINO_NOT_FOUND && all->backends[all->backend_count - 1] == b) {
        all->backends[--all->backend_count] = NULL;
        all->spare[number] = b;
        return;
    }
    (void)finish_add(all, b, built_in[number].name, st, &reason, NULL);
}

void kino__devices_look(kino__devices *all)
{
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (!is_known(all, built_in[i].name))
            add_built_in(all, i);
}

static kino_device_entry find_entry(const char *path, kino_error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): of this thread */
        (void)kino__fail(err, KINO_IO, "cannot be loaded: %s", why ? why : "unknown reason");
        return NULL;
    }
    void *symbol = dlsym(library, KINO_DEVICE_ENTRY);
    kino_device_entry entry = NULL;
    if (!symbol)
        (void)kino__fail(err, KINO_FORMAT,
                         "is not a plug-in for this version: it does not export '" KINO_DEVICE_ENTRY
                         "'");
    else
        memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

void kino__devices_load(kino__devices *all, const char *list)
{
    char path[PATH_MAX_BYTES];
    for (const char *at = list; *at;) {
        size_t size = strcspn(at, ":");
        kino_error err = {0};
        if (size >= sizeof path) {
            copy_text(path, sizeof path, at);
            (void)kino__fail(&err, KINO_LIMIT, "the path is too long");
            (void)kino__devices_add(all, path, NULL, &err);
        } else if (size > 0) {
            memcpy(path, at, size);
            path[size] = '\0';
            kino_device_entry entry = find_entry(path, &err);
            (void)kino__devices_add(all, path, entry, &err);
        }
        at += size + (at[size] == ':');
    }
}
