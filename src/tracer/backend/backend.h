/* backend.h - small things that several backends do alike. */
#ifndef KINO__TRACER_BACKEND_BACKEND_H
#define KINO__TRACER_BACKEND_BACKEND_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <kino/device.h>

#include "base/clock.h"
#include "tracer/device/device_details.h"
#include "tracer/device/device_library.h"

static inline uint64_t kino__backend_clock_ns(clockid_t clock)
{
    return (uint64_t)kino__clock_ns(clock);
}

/* libkino's clock: what deadlines are on. */
static inline uint64_t kino__backend_now(void)
{
    return kino__backend_clock_ns(CLOCK_MONOTONIC_RAW);
}

/* A function of a vendor's library, and where its address goes in a table of pointers. */
typedef struct kino__backend_function {
    const char *name;
    bool is_needed;
    size_t offset;
} kino__backend_function;

/* Fills the table, with NULL for what the library does not have. The name of a function that is
 * missing and needed, or NULL. */
static inline const char *kino__backend_find(void *library, const kino__backend_function *list,
                                             size_t count, void *table)
{
    for (size_t i = 0; i < count; i++)
        if (!kino__library_find(library, list[i].name, (char *)table + list[i].offset) &&
            list[i].is_needed)
            return list[i].name;
    return NULL;
}

/* Memory for the process, all zero, that costs nothing before it is used. NULL: there is none. */
static inline void *kino__backend_map(size_t size)
{
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

/* A number in the trace's metadata. Without memory the trace lacks it, and nothing else. */
static inline void kino__backend_tell_number(const kino_device_host *host, const char *key,
                                             int64_t number)
{
    char json[32];
    (void)snprintf(json, sizeof json, "%lld", (long long)number);
    (void)!host->metadata(host, key, json, NULL);
}

/* The same for the name of a file or a version; one that would have to be escaped is left out. */
static inline void kino__backend_tell_text(const kino_device_host *host, const char *key,
                                           const char *text)
{
    char json[160];
    int size = snprintf(json, sizeof json, "\"%s\"", text);
    if ((size_t)size < sizeof json && !strpbrk(text, "\"\\"))
        (void)!host->metadata(host, key, json, NULL);
}

/* For those whose kernels say what the function around them says: their `describe`. */
static inline void kino__backend_describe(void *context, uint64_t id, const char *json)
{
    (void)context;
    kino__details_put(id, json);
}

#endif
