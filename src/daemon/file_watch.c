/* file_watch.c - see file_watch.h.
 *
 * Watches are found by a hash of the folder's number and the name; a folder that several files are
 * awaited in is watched once. */
#include "daemon/file_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"

enum {
    EVENTS_BYTES = 16 << 10, /* in one turn */
    /* Written and closed, renamed to, or linked to: however a writer finishes a file. */
    MASK = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR,
};

struct kino__watched_folder {
    kino__watched_folder *next;
    int number;
    size_t count; /* files that are awaited in it */
};

static kino__file_watch **bucket_of(kino__file_watches *w, uint64_t key)
{
    return &w->buckets[key % KINO__FILE_WATCH_BUCKETS];
}

static kino__watched_folder **folder_of(kino__file_watches *w, int number)
{
    kino__watched_folder **link =
        &w->folders[kino__hash_u64((uint64_t)number) % KINO__FILE_WATCH_BUCKETS];
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

static uint64_t key_of(int number, kino_str name)
{
    return kino__hash_bytes(name.data, name.size) ^ kino__hash_u64((uint64_t)number);
}

/* -- what has happened */

static void hear_name(kino__file_watches *w, uint64_t key)
{
    for (kino__file_watch *watch = *bucket_of(w, key); watch; watch = watch->next)
        if (watch->key == key)
            w->heard(w->context, watch->item);
}

/* All, or those of a folder that is not watched any more (it was removed): they are told once, and
 * are then for who looks from time to time. */
static void hear_all(kino__file_watches *w, int lost)
{
    for (size_t i = 0; i < KINO__FILE_WATCH_BUCKETS; i++)
        for (kino__file_watch *watch = w->buckets[i], *next; watch; watch = next) {
            next = watch->next;
            if (lost && watch->folder != lost)
                continue;
            w->heard(w->context, watch->item);
            if (lost)
                kino__file_watch_remove(w, watch);
        }
}

static void hear(kino__file_watches *w, const struct inotify_event *event, const char *name)
{
    if (event->mask & IN_Q_OVERFLOW)
        hear_all(w, 0);
    else if (event->mask & IN_IGNORED)
        hear_all(w, event->wd);
    else if (event->len)
        hear_name(w, key_of(event->wd, (kino_str){name, strnlen(name, event->len)}));
}

void kino__file_watches_read(kino__file_watches *w)
{
    char bytes[EVENTS_BYTES];
    ssize_t size = w->fd >= 0 ? read(w->fd, bytes, sizeof bytes) : -1;
    for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= size;) {
        struct inotify_event event;
        memcpy(&event, bytes + at, sizeof event);
        at += (ssize_t)sizeof event;
        if (event.len > (size_t)(size - at))
            break;
        hear(w, &event, bytes + at);
        at += (ssize_t)event.len;
    }
    if (size > EVENTS_BYTES / 2 && !w->is_paused) {
        w->is_paused = true;
        kino__loop_set_events(w->loop, w->watch, 0);
    }
}

void kino__file_watches_resume(kino__file_watches *w)
{
    if (!w->is_paused)
        return;
    w->is_paused = false;
    kino__loop_set_events(w->loop, w->watch, EPOLLIN);
}

static void ready(void *context, uint32_t events)
{
    (void)events;
    kino__file_watches_read(context);
}

/* -- adding and removing */

bool kino__file_watch_add(kino__file_watches *w, kino__file_watch *watch, int folder,
                          const char *name, void *item)
{
    char path[32];
    *watch = (kino__file_watch){.item = item};
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
    int number = w->fd >= 0 ? inotify_add_watch(w->fd, path, MASK) : -1;
    if (number <= 0)
        return false;
    kino__watched_folder **link = folder_of(w, number);
    if (!*link && (*link = calloc(1, sizeof **link)))
        (*link)->number = number;
    if (!*link) {
        (void)inotify_rm_watch(w->fd, number);
        return false;
    }
    (*link)->count++;
    w->count++;
    watch->folder = number;
    watch->key = key_of(number, kino__str_from(name));
    kino__file_watch **bucket = bucket_of(w, watch->key);
    watch->next = *bucket;
    *bucket = watch;
    return true;
}

void kino__file_watch_remove(kino__file_watches *w, kino__file_watch *watch)
{
    if (!watch->folder)
        return;
    kino__file_watch **link = bucket_of(w, watch->key);
    while (*link && *link != watch)
        link = &(*link)->next;
    if (*link)
        *link = watch->next;
    kino__watched_folder **place = folder_of(w, watch->folder), *folder = *place;
    if (folder && --folder->count == 0) {
        *place = folder->next;
        (void)inotify_rm_watch(w->fd, folder->number);
        free(folder);
    }
    w->count--;
    *watch = (kino__file_watch){0};
}

/* -- opening and closing */

kino_status kino__file_watches_open(kino__file_watches *w, kino__loop *loop,
                                    kino__file_watch_fn *heard, void *context, kino_error *err)
{
    *w = (kino__file_watches){.loop = loop, .heard = heard, .context = context, .fd = -1};
    w->buckets = calloc(KINO__FILE_WATCH_BUCKETS, sizeof *w->buckets);
    w->folders = calloc(KINO__FILE_WATCH_BUCKETS, sizeof *w->folders);
    if (!w->buckets || !w->folders) {
        kino__file_watches_close(w);
        return kino__fail_nomem(err);
    }
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        return KINO_OK;
    kino_status st = kino__loop_add_fd(loop, w->fd, EPOLLIN, ready, w, &w->watch, err);
    if (st != KINO_OK)
        kino__file_watches_close(w);
    return st;
}

void kino__file_watches_close(kino__file_watches *w)
{
    for (size_t i = 0; w->folders && i < KINO__FILE_WATCH_BUCKETS; i++)
        while (w->folders[i]) {
            kino__watched_folder *folder = w->folders[i];
            w->folders[i] = folder->next;
            free(folder);
        }
    free(w->buckets);
    free(w->folders);
    if (w->watch)
        kino__loop_remove_fd(w->loop, w->watch);
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (kino__file_watches){.fd = -1};
}
