/* run_catalog_internal.h - the body of the catalogue, for run_catalog*.c only.
 *
 * One lock guards everything but what is marked constant. It is held for lookups and state changes,
 * never while something is read, built or freed. */
#ifndef KINO__SERVER_RUN_CATALOG_INTERNAL_H
#define KINO__SERVER_RUN_CATALOG_INTERNAL_H

#include <pthread.h>

#include "base/lock.h"
#include "server/run_catalog.h"

enum { KINO__LOADER_THREADS = 2 };

typedef enum kino__item_state {
    KINO__ITEM_IDLE,
    KINO__ITEM_LOADING,
    KINO__ITEM_READY,
    KINO__ITEM_FAILED,
    KINO__ITEM_EVICTED
} kino__item_state;

/* A run and span that somebody has asked for; stays for good, also when its files are gone. */
typedef struct kino__item kino__item;
struct kino__item {
    kino__item *next;
    char *run;     /* its name; constant */
    uint32_t span; /* number, 0: the newest of each worker; constant */
    kino__item_state state;
    uint64_t signature; /* of its files as the listing has them; 0: they are gone */
    uint64_t seen;      /* the signature of the last scan: a change counts when it stays */
    kino__loaded *loaded;
    kino__item *with; /* compared with this one last: neither goes for the other; or NULL */
    /* work for loader threads */
    bool wants_run, wants_timeline;
    bool is_taken; /* a thread works on it */
    /* work that nobody waits for yet: the timeline, and what details of events need */
    bool wants_timeline_ahead, wants_details_ahead;
    /* how far that is */
    double progress;
    char what[128];
    kino_error error; /* FAILED */
    bool timeline_failed;
};

struct kino__catalog {
    kino__catalog_options options; /* constant */
    kino__mutex lock;
    pthread_cond_t work;  /* for loaders and the preparer: something to do, or the end */
    pthread_cond_t pause; /* for the scanner: the end */
    bool is_ending;
    kino_catalog *listing;
    uint64_t listing_signature;
    kino__item *items;
    uint64_t changes;
    uint64_t clock;  /* counts uses: the age of a loaded run */
    uint64_t bytes;  /* of all loaded runs, also detached ones */
    uint64_t others; /* what caches hold */
    pthread_t loaders[KINO__LOADER_THREADS], preparer, scanner;
    unsigned loader_count;
    bool has_preparer, has_scanner;
};

/* A loaded run and who frees it: chained while the lock is held, freed afterwards. */
typedef struct kino__garbage {
    kino__loaded *items[32];
    size_t count;
} kino__garbage;

/* With the lock held: takes a version away from its item; it goes when nobody uses it. */
void kino__item_detach(kino__catalog *catalog, kino__item *item, kino__garbage *garbage);
/* With the lock held: evicts until memory is below the limit; `keep` stays. */
void kino__catalog_trim(kino__catalog *catalog, const kino__loaded *keep, kino__garbage *garbage);
/* Without the lock. */
void kino__garbage_free(kino__garbage *garbage);

/* The signature of the files of a run's span; 0 is never one. */
uint64_t kino__files_signature(const kino_catalog_run *run, uint32_t span);
/* Does a file belong to this span (0: the newest of each worker)? */
bool kino__file_is_of(const kino_catalog_run *run, const kino_catalog_file *file, uint32_t span);
/* With the lock held: the run and the number of the span that texts name (NULL: the only one, the
 * newest). */
KINO_NODISCARD kino_status kino__catalog_find(const kino__catalog *catalog, const char *run_name,
                                              const char *span_text, const kino_catalog_run **run,
                                              uint32_t *span, kino_error *err);
/* By name in a listing, or NULL. */
const kino_catalog_run *kino__listing_find(const kino_catalog *listing, const char *name);

/* Bodies of the threads; the argument is the catalogue. */
void *kino__catalog_load_thread(void *catalog);
void *kino__catalog_prepare_thread(void *catalog);
void *kino__catalog_scan_thread(void *catalog);

#endif
