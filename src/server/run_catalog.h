/* run_catalog.h - the runs that are served: what there is, what is loaded, who uses it.
 *
 *   listing (names only, scanned again and again)
 *      └─ item = (run, span)      idle -> loading -> ready | failed -> evicted -> loading ...
 *            └─ kino__loaded = one version of its files in memory: run and timeline, counted users
 *
 * Loading is done by threads of the catalogue's own when somebody asks for the first time. A loaded
 * run is shared by all who use it. When memory is over the limit the least recently used one that
 * nobody uses goes. Files that change make a new version: the old one lives until its last user is
 * done. Every function may be called by any thread. */
#ifndef KINO__SERVER_RUN_CATALOG_H
#define KINO__SERVER_RUN_CATALOG_H

#include <kino/engine.h>
#include <kino/timeline.h>

#include "base/json_out.h"

typedef struct kino__catalog kino__catalog;

typedef struct kino__catalog_options {
    const char *const *paths; /* outlive the catalogue */
    size_t path_count;
    unsigned jobs;
    uint64_t memory;    /* bytes that runs may hold */
    uint64_t expansion; /* kino_load_options.expansion */
    unsigned scan_ms;   /* how long to wait between looks at the folders; 0: never look again */
    void (*changed)(void *context); /* a state has changed; called without locks */
    void *context;
} kino__catalog_options;

/* One version of a run in memory. */
typedef struct kino__loaded {
    kino_run *run;
    kino_timeline *timeline; /* NULL unless it was asked for */
    uint64_t version;        /* of its files: other files, other number */
    /* the rest is the catalogue's */
    unsigned users;
    bool is_detached; /* its item has forgotten it */
    uint64_t bytes, used_at;
} kino__loaded;

typedef enum kino__use_state {
    KINO__USE_READY,
    KINO__USE_LOADING,
    KINO__USE_FAILED
} kino__use_state;

/* What one gets who asks for a run. */
typedef struct kino__use {
    kino__use_state state;
    kino__loaded *loaded; /* READY: until kino__catalog_release */
    double progress;      /* LOADING: 0 to 1 */
    char what[128];       /* LOADING: "reading rank-1.json" */
    kino_error error;     /* FAILED: why */
} kino__use;

KINO_NODISCARD kino_status kino__catalog_new(const kino__catalog_options *options,
                                             kino__catalog **out, kino_error *err);
/* Makes long work end soon; loads nothing any more. */
void kino__catalog_stop(kino__catalog *catalog);
/* Nobody uses anything of it any more. */
void kino__catalog_free(kino__catalog *catalog);

/* The run of this name (NULL: the only one), its span (NULL: the newest), with or without its
 * timeline. Starts to load what is not there. KINO_NOT_FOUND: no such run or span; KINO_ARGUMENT:
 * there are several. */
KINO_NODISCARD kino_status kino__catalog_use(kino__catalog *catalog, const char *run,
                                             const char *span, bool with_timeline, kino__use *out,
                                             kino_error *err);
void kino__catalog_release(kino__catalog *catalog, kino__loaded *loaded);

/* Another run will be used together with this one: neither is evicted to make room for the other.
 * Else two that do not fit would drive each other out for ever. */
void kino__catalog_pair(kino__catalog *catalog, const kino__loaded *loaded, const char *run,
                        const char *span);
/* Somebody looks at the run: once it is loaded its timeline is made, without hurry. */
void kino__catalog_prepare(kino__catalog *catalog, const char *run, const char *span);

/* Members "version" and "runs" of the list (docs/formats/http.md). */
void kino__catalog_list(kino__catalog *catalog, kino__json *json);
/* The entry of one run and span alone. */
KINO_NODISCARD kino_status kino__catalog_entry(kino__catalog *catalog, const char *run,
                                               const char *span, kino__json *json, kino_error *err);

/* How many runs there are, and a number that grows with every change of any state. */
size_t kino__catalog_count(kino__catalog *catalog);
uint64_t kino__catalog_changes(kino__catalog *catalog);

/* Bytes that runs hold. */
uint64_t kino__catalog_bytes(kino__catalog *catalog);
/* What caches hold counts with them: evicts when it is too much. */
void kino__catalog_add_others(kino__catalog *catalog, uint64_t bytes);

#endif
