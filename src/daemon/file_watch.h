/* file_watch.h - hears from the kernel (inotify) that a file may have been written.
 *
 *   kino__file_watches_open(&watches, loop, heard, context, err);
 *   kino__file_watch_add(&watches, &watch, folder_fd, "trace.json", item);    one for each file
 *   ... heard(context, item) ...                    a file of that name has appeared or was closed
 *   kino__file_watch_remove(&watches, &watch);
 *
 * A hint, never a proof: the file is looked at afterwards. heard may come for another file (hashes
 * are equal), and comes for all when the kernel's queue overflows. What is read in one turn is
 * bounded; a folder in which a lot happens is heard again after kino__file_watches_resume only.
 * Where a folder cannot be watched, add says so. */
#ifndef KINO__DAEMON_FILE_WATCH_H
#define KINO__DAEMON_FILE_WATCH_H

#include "daemon/loop.h"

typedef struct kino__file_watch {
    struct kino__file_watch *next; /* of the same hash */
    uint64_t key;
    int folder; /* inotify's number of it; 0: not watched */
    void *item; /* of who waits for the file */
} kino__file_watch;

typedef void kino__file_watch_fn(void *context, void *item);

typedef struct kino__watched_folder kino__watched_folder;

enum { KINO__FILE_WATCH_BUCKETS = 4096 };

typedef struct kino__file_watches {
    kino__loop *loop;
    kino__loop_watch *watch;
    kino__file_watch_fn *heard;
    void *context;
    int fd; /* -1: there is no inotify here */
    bool is_paused;
    size_t count;
    kino__file_watch **buckets;
    kino__watched_folder **folders;
} kino__file_watches;

/* Without inotify it is open as well, and watches nothing. */
KINO_NODISCARD kino_status kino__file_watches_open(kino__file_watches *watches, kino__loop *loop,
                                                   kino__file_watch_fn *heard, void *context,
                                                   kino_error *err);
void kino__file_watches_close(kino__file_watches *watches);

/* The folder is a descriptor (O_PATH will do); it is watched with the rights of now. false: it
 * cannot be. */
bool kino__file_watch_add(kino__file_watches *watches, kino__file_watch *watch, int folder,
                          const char *name, void *item);
/* Of a zeroed one, too. */
void kino__file_watch_remove(kino__file_watches *watches, kino__file_watch *watch);

/* Takes what has happened so far, a bounded number of events. */
void kino__file_watches_read(kino__file_watches *watches);
/* Listens again after a turn with more than that. */
void kino__file_watches_resume(kino__file_watches *watches);

#endif
