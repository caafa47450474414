/* run_catalog_scan.c - looks at the folders again and again, and notices files that are new,
 * changed or gone. Names and times only: a look costs a stat for each file. */
#include <errno.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/str.h"
#include "server/run_catalog_internal.h"
#include "server/wait_clock.h"

enum { SCAN_SHARE = 20 }; /* looking takes at most a 20th of the time */

static uint64_t listing_signature(const kino_catalog *listing)
{
    uint64_t signature = 0;
    const kino_catalog_run *run;
    for (size_t i = 0; (run = kino_catalog_run_at(listing, i)); i++) {
        const uint64_t parts[] = {signature, kino__hash_bytes(run->name, strlen(run->name)),
                                  kino__files_signature(run, 0)};
        signature = kino__hash_bytes(parts, sizeof parts);
    }
    return signature;
}

/* What the new listing means for an item. Files that are still being written change with every
 * look: a change counts when the next look sees the same. */
static void update_item(kino__catalog *catalog, const kino_catalog *listing, kino__item *item,
                        kino__garbage *garbage)
{
    const kino_catalog_run *run = kino__listing_find(listing, item->run);
    uint64_t signature = run ? kino__files_signature(run, item->span) : 0;
    bool is_settled = signature == item->seen;
    item->seen = signature;
    if (item->is_taken || signature == item->signature || !is_settled)
        return;
    item->signature = signature;
    if (item->loaded || item->state == KINO__ITEM_FAILED) {
        kino__item_detach(catalog, item, garbage);
        item->state = KINO__ITEM_IDLE;
        item->timeline_failed = false;
        catalog->changes++;
    }
}

/* Takes a new listing; gives the old one back. */
static kino_catalog *update(kino__catalog *catalog, kino_catalog *listing, kino__garbage *garbage)
{
    uint64_t signature = listing_signature(listing);
    for (kino__item *item = catalog->items; item; item = item->next)
        update_item(catalog, listing, item, garbage);
    if (signature != catalog->listing_signature)
        catalog->changes++;
    catalog->listing_signature = signature;
    kino_catalog *old = catalog->listing;
    catalog->listing = listing;
    return old;
}

/* Waits; false when the end has come. */
static bool wait_ms(kino__catalog *catalog, int64_t ms)
{
    struct timespec until = kino__after_ms(ms);
    int rc = 0;
    while (!catalog->is_ending && rc != ETIMEDOUT)
        rc = kino__mutex_wait_until(&catalog->lock, &catalog->pause, &until);
    return !catalog->is_ending;
}

void *kino__catalog_scan_thread(void *argument)
{
    kino__catalog *catalog = argument;
    const kino__catalog_options *options = &catalog->options;
    int64_t pause = options->scan_ms;
    kino__mutex_lock(&catalog->lock);
    catalog->listing_signature = listing_signature(catalog->listing);
    while (wait_ms(catalog, pause)) {
        kino_catalog *listing = NULL;
        kino__garbage garbage = {.count = 0};
        uint64_t before = catalog->changes;
        kino__mutex_unlock(&catalog->lock);
        int64_t start = kino__now_ms();
        /* A path that is gone for a moment changes nothing. */
        kino_status st = kino_catalog_new(options->paths, options->path_count, &listing, NULL);
        int64_t took = kino__now_ms() - start;
        pause = took * SCAN_SHARE > options->scan_ms ? took * SCAN_SHARE : options->scan_ms;
        kino__mutex_lock(&catalog->lock);
        if (st == KINO_OK)
            listing = update(catalog, listing, &garbage);
        bool has_changed = catalog->changes != before;
        kino__mutex_unlock(&catalog->lock);
        kino_catalog_free(listing);
        kino__garbage_free(&garbage);
        if (has_changed && options->changed)
            options->changed(options->context);
        kino__mutex_lock(&catalog->lock);
    }
    kino__mutex_unlock(&catalog->lock);
    return NULL;
}
