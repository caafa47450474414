/* run_catalog_load.c - the threads that load runs and build timelines, one piece of work at a time.
 * */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/vec.h"
#include "server/lane.h"
#include "server/run_catalog_internal.h"

enum { PREPARE_NICE = 10 };

static bool has_work(const kino__item *item)
{
    return !item->is_taken && (item->wants_run || item->wants_timeline);
}

static kino__item *find_work(kino__catalog *catalog)
{
    kino__item *item = catalog->items;
    while (item && !has_work(item))
        item = item->next;
    return item;
}

/* -- progress -- */

typedef struct report {
    kino__catalog *catalog;
    kino__item *item;
} report;

/* How far the whole is, from how far one file is: "reading 3/8 rank-3.json". */
static double whole_progress(const char *what, double part)
{
    const char *blank = strchr(what, ' ');
    char *slash = NULL, *rest = NULL;
    unsigned long index = blank ? strtoul(blank + 1, &slash, 10) : 0;
    unsigned long count = slash && *slash == '/' ? strtoul(slash + 1, &rest, 10) : 0;
    if (index < 1 || index > count || !rest || *rest != ' ')
        return part;
    return ((double)(index - 1) + part) / (double)count;
}

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    report *r = context;
    kino__item *item = r->item;
    double part = total ? (double)(done < total ? done : total) / (double)total : 0;
    kino__mutex_lock(&r->catalog->lock);
    item->progress = whole_progress(what ? what : "", part);
    (void)snprintf(item->what, sizeof item->what, "%s", what ? what : "working");
    bool go_on = !r->catalog->is_ending;
    kino__mutex_unlock(&r->catalog->lock);
    return go_on;
}

/* -- the work; called with the lock held, which they give back meanwhile -- */

static void fail_item(kino__item *item, const kino_error *why)
{
    item->error = *why;
    if (!item->error.message[0])
        (void)snprintf(item->error.message, sizeof item->error.message, "%s",
                       kino_status_text(why->code));
}

static void install(kino__catalog *catalog, kino__item *item, kino_run *run, uint64_t signature)
{
    kino__garbage garbage = {.count = 0};
    kino__loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) {
        kino__mutex_unlock(&catalog->lock);
        kino_run_free(run);
        kino__mutex_lock(&catalog->lock);
        item->state = KINO__ITEM_IDLE; /* whoever asks again tries again */
        return;
    }
    loaded->run = run;
    loaded->version = signature;
    loaded->bytes = kino_run_bytes(run);
    loaded->used_at = ++catalog->clock;
    catalog->bytes += loaded->bytes;
    kino__item_detach(catalog, item, &garbage);
    item->loaded = loaded;
    item->state = KINO__ITEM_READY;
    item->progress = 1;
    item->what[0] = 0;
    kino__catalog_trim(catalog, loaded, &garbage);
    kino__mutex_unlock(&catalog->lock);
    kino__garbage_free(&garbage);
    kino__mutex_lock(&catalog->lock);
}

/* The folder that was given to serve and has this run; NULL: a file was given. */
static const char *served_folder(const kino__catalog *catalog, const char *run)
{
    const char *best = NULL;
    for (size_t i = 0; i < catalog->options.path_count; i++) {
        const char *path = catalog->options.paths[i];
        size_t size = strlen(path);
        bool is_prefix = size && strncmp(run, path, size) == 0 &&
                         (run[size] == '/' || run[size] == 0 || path[size - 1] == '/');
        if (is_prefix && (!best || size > strlen(best)))
            best = path;
    }
    return best;
}

static void load_run(kino__catalog *catalog, kino__item *item)
{
    const kino_catalog_run *listed = kino__listing_find(catalog->listing, item->run);
    char span[16];
    kino_error err;
    kino_run *run = NULL;
    if (!listed) {
        item->wants_run = false;
        (void)kino__fail(&err, KINO_NOT_FOUND, "the files of run '%s' no longer exist", item->run);
        fail_item(item, &err);
        item->state = KINO__ITEM_FAILED;
        return;
    }
    char *path = strdup(listed->path); /* the listing may go while we read */
    uint64_t signature = item->signature = item->seen = kino__files_signature(listed, item->span);
    (void)snprintf(span, sizeof span, item->span ? "%u" : "newest", item->span);
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    report r = {catalog, item};
    options.jobs = catalog->options.jobs;
    options.expansion = catalog->options.expansion;
    options.progress = on_progress;
    options.progress_context = &r;
    options.span = listed->span_count > 1 ? span : NULL;
    options.inside = served_folder(catalog, listed->path);
    kino__mutex_unlock(&catalog->lock);
    kino_status st = path ? kino_run_open((const char *const *)&path, 1, &options, &run, &err)
                          : kino__fail_nomem(&err);
    free(path);
    kino__mutex_lock(&catalog->lock);
    item->wants_run = false; /* not before: whoever asked meanwhile has meant this load */
    if (st == KINO_OK) {
        install(catalog, item, run, signature);
        return;
    }
    fail_item(item, &err);
    item->wants_timeline = false;
    item->state = st == KINO_CANCELLED ? KINO__ITEM_IDLE : KINO__ITEM_FAILED;
}

static void build_timeline(kino__catalog *catalog, kino__item *item)
{
    kino__loaded *loaded = item->loaded;
    item->wants_timeline = false;
    if (!loaded || loaded->timeline)
        return;
    kino_timeline *timeline = NULL;
    kino_timeline_options options = KINO_TIMELINE_OPTIONS_INIT;
    kino_error err;
    report r = {catalog, item};
    options.jobs = catalog->options.jobs;
    options.progress = on_progress;
    options.progress_context = &r;
    loaded->users++; /* it cannot go meanwhile */
    kino__mutex_unlock(&catalog->lock);
    kino_status st = kino_timeline_new(loaded->run, &options, &timeline, &err);
    kino__mutex_lock(&catalog->lock);
    if (st == KINO_OK) {
        loaded->timeline = timeline;
        item->wants_details_ahead = true;
        pthread_cond_broadcast(&catalog->work);
    } else if (st != KINO_CANCELLED) {
        item->timeline_failed = true;
        fail_item(item, &err);
    }
    item->progress = 1;
    item->what[0] = 0;
    kino__mutex_unlock(&catalog->lock);
    kino__catalog_release(catalog, loaded);
    kino__mutex_lock(&catalog->lock);
}

/* Works on an item alone; others see what has changed. */
static void work_on(kino__catalog *catalog, kino__item *item)
{
    item->is_taken = true;
    if (item->wants_run)
        load_run(catalog, item);
    else
        build_timeline(catalog, item);
    item->is_taken = false;
    catalog->changes++;
    pthread_cond_broadcast(&catalog->work); /* the next step may be another thread's */
    kino__mutex_unlock(&catalog->lock);
    if (catalog->options.changed)
        catalog->options.changed(catalog->options.context);
    kino__mutex_lock(&catalog->lock);
}

void *kino__catalog_load_thread(void *argument)
{
    kino__catalog *catalog = argument;
    kino__mutex_lock(&catalog->lock);
    while (!catalog->is_ending) {
        kino__item *item = find_work(catalog);
        if (item)
            work_on(catalog, item);
        else
            kino__mutex_wait(&catalog->lock, &catalog->work);
    }
    kino__mutex_unlock(&catalog->lock);
    return NULL;
}

/* -- ahead of the first question -- */

static kino__item *find_work_ahead(kino__catalog *catalog)
{
    kino__item *item = catalog->items;
    while (item && (item->is_taken || item->wants_run || !item->loaded ||
                    !(item->wants_timeline_ahead || item->wants_details_ahead)))
        item = item->next;
    return item;
}

/* Nobody is kept waiting by this: the item is free meanwhile. */
static void prepare_details(kino__catalog *catalog, kino__item *item)
{
    kino__loaded *loaded = item->loaded;
    item->wants_details_ahead = false;
    if (!loaded->timeline)
        return;
    loaded->users++;
    kino__mutex_unlock(&catalog->lock);
    (void)!kino_timeline_prepare(loaded->timeline, NULL); /* whoever asks tries again */
    kino__catalog_release(catalog, loaded);
    kino__mutex_lock(&catalog->lock);
}

void *kino__catalog_prepare_thread(void *argument)
{
    kino__catalog *catalog = argument;
    kino__thread_lower_priority(PREPARE_NICE);
    kino__mutex_lock(&catalog->lock);
    while (!catalog->is_ending) {
        kino__item *item = find_work_ahead(catalog);
        if (!item) {
            kino__mutex_wait(&catalog->lock, &catalog->work);
        } else if (item->wants_timeline_ahead) {
            item->wants_timeline_ahead = false;
            if (!item->loaded->timeline)
                work_on(catalog, item);
        } else {
            prepare_details(catalog, item);
        }
    }
    kino__mutex_unlock(&catalog->lock);
    return NULL;
}
