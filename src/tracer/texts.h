/* texts.h - names, call sites and metadata, numbered for the whole life of the process.
 *
 * Names are in a log in private memory in the format of the `texts` file (so forked children have it
 * too), with a hash table over it that is read without a lock: they are never changed or removed. Of
 * metadata the last value of each key is kept, so that sessions without number need no more memory.
 * A session's file gets the log and the values when it is prepared, and what comes later as it
 * comes. */
#ifndef KINO__TRACER_TEXTS_H
#define KINO__TRACER_TEXTS_H

#include "base/str.h"
#include "tracer/capture.h"

enum {
    KINO__TEXTS_KEYS = 256,          /* of metadata */
    KINO__TEXTS_SLOTS = 1 << 17,     /* of the hash table */
    KINO__TEXTS_NAMES_MAX = 1 << 16, /* half of them */
};

typedef struct kino__texts {
    uint32_t lock; /* spin; for everything but reading the table */
    char *log;     /* of names and devices; NULL: not made yet */
    uint64_t log_bytes, used;
    uint32_t *table; /* atomic: offset in the log / 8 + 1, or 0 */
    uint32_t name_count;
    struct {
        char *key, *json; /* owned */
        size_t key_size, json_size;
        bool is_default;
    } keys[KINO__TEXTS_KEYS];
    uint32_t key_count;
    kino__capture *capture; /* whose file is kept up to date, or NULL */
} kino__texts;

/* The number of a name, found or made. KINO__TEXT_LOST when there is no room; *busy (when asked
 * for) then says that it may be there next time. Any thread. */
uint32_t kino__texts_name(kino__texts *texts, const kino__ring_text *head, const kino_str parts[4],
                          bool *busy);
uint32_t kino__texts_find(kino__texts *texts, const char *name, const char *category);
/* The number of a call site, and into it. */
uint32_t kino__texts_site(kino__texts *texts, kino_impl_v1_site *site);

/* A default gives way to what somebody set. */
KINO_NODISCARD kino_status kino__texts_metadata(kino__texts *texts, kino_str key, kino_str json,
                                                bool is_default, kino_error *err);
/* Takes a value back: traces from now on do not have the key. A default leaves alone what somebody
 * set. */
void kino__texts_forget(kino__texts *texts, kino_str key, bool is_default);
KINO_NODISCARD kino_status kino__texts_device(kino__texts *texts, kino_str json, kino_error *err);

/* Copies all of it into the capture's file and keeps that up to date from now on; NULL: of none. */
void kino__texts_attach(kino__texts *texts, kino__capture *capture);

#endif
