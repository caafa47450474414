/* run_catalog.c - who uses which run: finding, counting users, evicting. Loading and scanning are
 * in run_catalog_load.c and run_catalog_scan.c, the list as JSON in run_catalog_list.c. */
#include "server/run_catalog.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/map.h"
#include "server/run_catalog_internal.h"

/* -- versions in memory -- */

static void loaded_free(kino__loaded *loaded)
{
    kino_timeline_free(loaded->timeline);
    kino_run_free(loaded->run);
    free(loaded);
}

void kino__garbage_free(kino__garbage *garbage)
{
    if (garbage->count == 0)
        return;
    for (size_t i = 0; i < garbage->count; i++)
        loaded_free(garbage->items[i]);
    garbage->count = 0;
    (void)malloc_trim(0); /* what it held in small pieces goes back to the machine as well */
}

static bool throw_away(kino__catalog *catalog, kino__loaded *loaded, kino__garbage *garbage)
{
    if (garbage->count == sizeof garbage->items / sizeof *garbage->items)
        return false;
    catalog->bytes -= loaded->bytes;
    garbage->items[garbage->count++] = loaded;
    return true;
}

void kino__item_detach(kino__catalog *catalog, kino__item *item, kino__garbage *garbage)
{
    kino__loaded *loaded = item->loaded;
    item->loaded = NULL;
    if (!loaded)
        return;
    loaded->is_detached = true;
    if (loaded->users == 0 && !throw_away(catalog, loaded, garbage)) {
        catalog->bytes -= loaded->bytes; /* so many at once: this one is freed under the lock */
        loaded_free(loaded);
    }
}

static bool is_kept(const kino__item *item, const kino__loaded *keep)
{
    return keep && (item->loaded == keep || (item->with && item->with->loaded == keep));
}

/* The least recently used one that nobody uses, or NULL. */
static kino__item *oldest_idle(kino__catalog *catalog, const kino__loaded *keep)
{
    kino__item *oldest = NULL;
    for (kino__item *item = catalog->items; item; item = item->next) {
        const kino__loaded *loaded = item->loaded;
        if (!loaded || is_kept(item, keep) || loaded->users || item->is_taken)
            continue;
        if (!oldest || loaded->used_at < oldest->loaded->used_at)
            oldest = item;
    }
    return oldest;
}

void kino__catalog_trim(kino__catalog *catalog, const kino__loaded *keep, kino__garbage *garbage)
{
    while (catalog->bytes + catalog->others > catalog->options.memory) {
        kino__item *item = oldest_idle(catalog, keep);
        if (!item)
            return;
        kino__item_detach(catalog, item, garbage);
        item->state = KINO__ITEM_EVICTED;
        catalog->changes++;
    }
}

/* -- finding -- */

const kino_catalog_run *kino__listing_find(const kino_catalog *listing, const char *name)
{
    const kino_catalog_run *run;
    for (size_t i = 0; (run = kino_catalog_run_at(listing, i)); i++)
        if (strcmp(run->name, name) == 0)
            return run;
    return NULL;
}

bool kino__file_is_of(const kino_catalog_run *run, const kino_catalog_file *file, uint32_t span)
{
    if (file->span_number == 0 || run->span_count < 2)
        return true;
    return span ? file->span_number == span : file->is_newest;
}

uint64_t kino__files_signature(const kino_catalog_run *run, uint32_t span)
{
    uint64_t signature = 1;
    for (size_t i = 0; i < run->file_count; i++) {
        const kino_catalog_file *file = &run->files[i];
        if (span && file->span_number && file->span_number != span)
            continue;
        const uint64_t parts[] = {signature, kino__hash_bytes(file->name, strlen(file->name)),
                                  file->bytes, (uint64_t)file->changed_ns, file->inode};
        signature = kino__hash_bytes(parts, sizeof parts);
    }
    return signature ? signature : 1;
}

/* Do all workers have as many spans as there are? Then the last one is the newest of each. */
static bool spans_are_even(const kino_catalog_run *run)
{
    for (size_t i = 0; i < run->file_count; i++)
        if (run->files[i].span_number && run->files[i].is_newest &&
            run->files[i].span_number != run->span_count)
            return false;
    return true;
}

/* "2" as a number, 0 for the newest; the last one is the newest where that is the same. */
static kino_status find_span(const kino_catalog_run *run, const char *text, uint32_t *out,
                             kino_error *err)
{
    int64_t number = 0;
    *out = 0;
    if (!text || strcmp(text, "newest") == 0)
        return KINO_OK;
    if (!kino__str_to_int(kino__str_from(text), &number) || number < 1 ||
        number > (int64_t)run->span_count)
        return kino__fail(err, KINO_NOT_FOUND, "run '%s' has no recording '%.40s'%s", run->name,
                          text, run->span_count ? "" : ": its files are not numbered");
    if (run->span_count > 1 && !(number == (int64_t)run->span_count && spans_are_even(run)))
        *out = (uint32_t)number;
    return KINO_OK;
}

static kino_status find_run(const kino__catalog *catalog, const char *name,
                            const kino_catalog_run **out, kino_error *err)
{
    *out = NULL;
    *out = name ? kino__listing_find(catalog->listing, name)
                : kino_catalog_run_at(catalog->listing, 0);
    if (!*out && name)
        (void)kino__fail(err, KINO_NOT_FOUND, "no such run: '%.100s'", name);
    else if (!*out)
        (void)kino__fail(err, KINO_NOT_FOUND, "no runs yet");
    if (!*out)
        return KINO_NOT_FOUND;
    if (!name && kino_catalog_run_at(catalog->listing, 1))
        return kino__fail_hint(err, KINO_ARGUMENT, kino__hint(KINO_HINT_OPTION, "run", ""),
                               "several runs: select one with parameter '" KINO__HERE "'");
    return KINO_OK;
}

/* The item, made when it is new; NULL when memory is out. */
static kino__item *item_of(kino__catalog *catalog, const kino_catalog_run *run, uint32_t span)
{
    kino__item *item = catalog->items;
    while (item && (item->span != span || strcmp(item->run, run->name) != 0))
        item = item->next;
    if (item)
        return item;
    item = calloc(1, sizeof *item);
    if (item)
        item->run = strdup(run->name);
    if (!item || !item->run) {
        free(item);
        return NULL;
    }
    item->span = span;
    item->signature = item->seen = kino__files_signature(run, span);
    item->next = catalog->items;
    catalog->items = item;
    return item;
}

kino_status kino__catalog_find(const kino__catalog *catalog, const char *run_name,
                               const char *span_text, const kino_catalog_run **run, uint32_t *span,
                               kino_error *err)
{
    KINO_TRY(find_run(catalog, run_name, run, err));
    return find_span(*run, span_text, span, err);
}

static kino_status find_item(kino__catalog *catalog, const char *run_name, const char *span_text,
                             kino__item **out, kino_error *err)
{
    const kino_catalog_run *run;
    uint32_t span;
    KINO_TRY(kino__catalog_find(catalog, run_name, span_text, &run, &span, err));
    *out = item_of(catalog, run, span);
    return *out ? KINO_OK : kino__fail_nomem(err);
}

/* -- using -- */

/* Asks the loaders for what is missing; true when nothing is. */
static bool is_there(kino__catalog *catalog, kino__item *item, bool with_timeline)
{
    bool needs_timeline = with_timeline && !(item->loaded && item->loaded->timeline);
    if (item->loaded && !needs_timeline)
        return true;
    if (!item->loaded && !item->wants_run) {
        item->wants_run = true;
        item->state = KINO__ITEM_LOADING;
        item->progress = 0;
        (void)snprintf(item->what, sizeof item->what, "waiting");
        catalog->changes++;
    }
    if (needs_timeline && !item->wants_timeline) {
        item->wants_timeline = true;
        if (item->loaded) {
            item->progress = 0;
            (void)snprintf(item->what, sizeof item->what, "building the timeline");
        }
    }
    pthread_cond_broadcast(&catalog->work);
    return false;
}

static void use_item(kino__catalog *catalog, kino__item *item, bool with_timeline, kino__use *out)
{
    bool failed = item->state == KINO__ITEM_FAILED || (with_timeline && item->timeline_failed);
    if (failed) {
        out->state = KINO__USE_FAILED;
        out->error = item->error;
    } else if (is_there(catalog, item, with_timeline)) {
        out->state = KINO__USE_READY;
        out->loaded = item->loaded;
        item->loaded->users++;
        item->loaded->used_at = ++catalog->clock;
    } else {
        out->state = KINO__USE_LOADING;
        out->progress = item->progress;
        memcpy(out->what, item->what, sizeof out->what);
    }
}

kino_status kino__catalog_use(kino__catalog *catalog, const char *run, const char *span,
                              bool with_timeline, kino__use *out, kino_error *err)
{
    kino__item *item;
    *out = (kino__use){0};
    kino__mutex_lock(&catalog->lock);
    kino_status st = find_item(catalog, run, span, &item, err);
    if (st == KINO_OK)
        use_item(catalog, item, with_timeline, out);
    kino__mutex_unlock(&catalog->lock);
    return st;
}

void kino__catalog_pair(kino__catalog *catalog, const kino__loaded *loaded, const char *run,
                        const char *span)
{
    kino__item *other;
    kino__mutex_lock(&catalog->lock);
    kino__item *item = catalog->items;
    while (item && item->loaded != loaded)
        item = item->next;
    if (item && find_item(catalog, run, span, &other, NULL) == KINO_OK && other != item) {
        item->with = other;
        other->with = item;
    }
    kino__mutex_unlock(&catalog->lock);
}

void kino__catalog_prepare(kino__catalog *catalog, const char *run, const char *span)
{
    kino__item *item;
    kino__mutex_lock(&catalog->lock);
    if (find_item(catalog, run, span, &item, NULL) == KINO_OK &&
        !(item->loaded && item->loaded->timeline) && !item->timeline_failed) {
        item->wants_timeline_ahead = true;
        pthread_cond_broadcast(&catalog->work);
    }
    kino__mutex_unlock(&catalog->lock);
}

void kino__catalog_release(kino__catalog *catalog, kino__loaded *loaded)
{
    kino__garbage garbage = {.count = 0};
    if (!loaded)
        return;
    /* Analyses leave models of the traces behind, so it may have grown. */
    uint64_t bytes = kino_run_bytes(loaded->run);
    kino__mutex_lock(&catalog->lock);
    if (loaded->timeline)
        bytes += kino_timeline_bytes(loaded->timeline);
    catalog->bytes += bytes - loaded->bytes;
    loaded->bytes = bytes;
    loaded->users--;
    if (loaded->users == 0 && loaded->is_detached)
        (void)throw_away(catalog, loaded, &garbage);
    kino__catalog_trim(catalog, loaded, &garbage);
    kino__mutex_unlock(&catalog->lock);
    kino__garbage_free(&garbage);
}

void kino__catalog_add_others(kino__catalog *catalog, uint64_t bytes)
{
    kino__garbage garbage = {.count = 0};
    kino__mutex_lock(&catalog->lock);
    catalog->others = bytes;
    kino__catalog_trim(catalog, NULL, &garbage);
    kino__mutex_unlock(&catalog->lock);
    kino__garbage_free(&garbage);
}

uint64_t kino__catalog_bytes(kino__catalog *catalog)
{
    kino__mutex_lock(&catalog->lock);
    uint64_t bytes = catalog->bytes;
    kino__mutex_unlock(&catalog->lock);
    return bytes;
}

size_t kino__catalog_count(kino__catalog *catalog)
{
    size_t count = 0;
    kino__mutex_lock(&catalog->lock);
    while (kino_catalog_run_at(catalog->listing, count))
        count++;
    kino__mutex_unlock(&catalog->lock);
    return count;
}

uint64_t kino__catalog_changes(kino__catalog *catalog)
{
    kino__mutex_lock(&catalog->lock);
    uint64_t changes = catalog->changes;
    kino__mutex_unlock(&catalog->lock);
    return changes;
}

/* -- life -- */

kino_status kino__catalog_new(const kino__catalog_options *options, kino__catalog **out,
                              kino_error *err)
{
    *out = NULL;
    kino__catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return kino__fail_nomem(err);
    catalog->options = *options;
    catalog->changes = 1;
    kino__mutex_init(&catalog->lock, KINO__LOCK_CATALOG);
    pthread_cond_init(&catalog->work, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&catalog->pause, &monotonic);
    pthread_condattr_destroy(&monotonic);
    kino_status st = kino_catalog_new(options->paths, options->path_count, &catalog->listing, err);
    for (unsigned i = 0; i < KINO__LOADER_THREADS && st == KINO_OK; i++) {
        if (pthread_create(&catalog->loaders[i], NULL, kino__catalog_load_thread, catalog) != 0)
            st = kino__fail(err, KINO_NOMEM, "cannot start a thread");
        else
            catalog->loader_count++;
    }
    if (st == KINO_OK) {
        catalog->has_preparer =
            pthread_create(&catalog->preparer, NULL, kino__catalog_prepare_thread, catalog) == 0;
        if (!catalog->has_preparer)
            st = kino__fail(err, KINO_NOMEM, "cannot start a thread");
    }
    if (st == KINO_OK && options->scan_ms) {
        catalog->has_scanner =
            pthread_create(&catalog->scanner, NULL, kino__catalog_scan_thread, catalog) == 0;
        if (!catalog->has_scanner)
            st = kino__fail(err, KINO_NOMEM, "cannot start a thread");
    }
    if (st == KINO_OK)
        *out = catalog;
    else
        kino__catalog_free(catalog);
    return st;
}

void kino__catalog_stop(kino__catalog *catalog)
{
    kino__mutex_lock(&catalog->lock);
    catalog->is_ending = true;
    pthread_cond_broadcast(&catalog->work);
    pthread_cond_broadcast(&catalog->pause);
    kino__mutex_unlock(&catalog->lock);
}

void kino__catalog_free(kino__catalog *catalog)
{
    if (!catalog)
        return;
    kino__catalog_stop(catalog);
    for (unsigned i = 0; i < catalog->loader_count; i++)
        pthread_join(catalog->loaders[i], NULL);
    if (catalog->has_preparer)
        pthread_join(catalog->preparer, NULL);
    if (catalog->has_scanner)
        pthread_join(catalog->scanner, NULL);
    for (kino__item *item = catalog->items, *next; item; item = next) {
        next = item->next;
        if (item->loaded)
            loaded_free(item->loaded);
        free(item->run);
        free(item);
    }
    kino_catalog_free(catalog->listing);
    kino__mutex_destroy(&catalog->lock);
    pthread_cond_destroy(&catalog->work);
    pthread_cond_destroy(&catalog->pause);
    free(catalog);
}
