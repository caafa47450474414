/* leftovers.h - what a `kino record` that was killed left behind: its two folders.
 *
 * The folders of a recording that runs are locked (flock), as long as its process is there, so it
 * does not matter which number the process has and in which container it is.
 *
 *   KINO_DIR, /dev/shm, /tmp   kino-record-XXXXXX    buffers, log; "samples": link to the other
 *   TMPDIR, /tmp               kino-samples-XXXXXX   samples */
#ifndef KINO__RECORD_LEFTOVERS_H
#define KINO__RECORD_LEFTOVERS_H

#include "base/arena.h"
#include "base/vec.h"

#define KINO__RECORD_WORK    "kino-record-"
#define KINO__RECORD_SAMPLES "kino-samples-"
#define KINO__RECORD_LINK    "samples"

typedef struct kino__leftover {
    const char *work;    /* or NULL: only samples are there */
    const char *samples; /* or NULL */
    size_t recordings;   /* buffers in the work folder */
    int64_t running;     /* a process that still writes to them; 0: none */
} kino__leftover;

typedef struct kino__leftovers {
    KINO__VEC(kino__leftover) items; /* by path */
    kino__arena arena;
} kino__leftovers;

/* Locks a folder of ours; -1: it cannot be locked there. The lock lasts until it is closed. */
int kino__leftovers_lock(const char *folder);

/* Looks into the folders for those of this user that nobody holds. Those that are a moment old only
 * are left out: their owner may be about to lock them. Without memory some are missing. */
void kino__leftovers_find(kino__leftovers *out, const char *const *folders, size_t count);
void kino__leftovers_deinit(kino__leftovers *leftovers);

/* What to do about one, as a sentence in `out`. */
void kino__leftovers_describe(const kino__leftover *leftover, char *out, size_t size);

#endif
