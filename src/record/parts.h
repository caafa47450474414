/* parts.h - what recorded processes left in the work folder: buffers of recordings, and lines in
 * the log of processes (wire/injection.h). */
#ifndef KINO__RECORD_PARTS_H
#define KINO__RECORD_PARTS_H

#include <kino/base.h>

#include "base/arena.h"
#include "base/process_place.h"
#include "base/vec.h"
#include "record/perf.h"

/* The buffers of one recording: a process has one for each program that it became by exec. */
typedef struct kino__record_part {
    int64_t pid;
    const char *path; /* the folder of the buffers */
    const char *name; /* of the program */
    int64_t start_raw_ns;
    bool is_empty; /* no thread has recorded anything */
} kino__record_part;

/* A process that was seen; 0: not known. */
typedef struct kino__seen {
    int64_t pid, parent;
    int64_t start_raw_ns, end_raw_ns;
    const char *command;             /* of its last exec; "" */
    bool is_paused;                  /* by itself: nothing of it is recorded */
    uint32_t pauses;                 /* so many, with the one that lasts */
    int64_t pause_raw_ns, paused_ns; /* begin of the last one; so long were those that ended */
    bool has_place; /* it told where its launcher put it; else its parent's holds */
    kino__process_place place;
    kino__process_role role; /* by kino__parts_find_roles */
} kino__seen;

typedef struct kino__parts {
    KINO__VEC(kino__record_part) items; /* by start */
    KINO__VEC(kino__seen) seen;         /* in the order of their first lines */
    KINO__VEC(kino__perf_own) own;      /* by thread and time */
    KINO__VEC(const char *) notes;
    kino__arena arena;
} kino__parts;

/* Reads all of a work folder. The recordings' clocks are set to one offset between
 * CLOCK_MONOTONIC_RAW and CLOCK_REALTIME, which processes measured at different times. What makes
 * no sense is left out. KINO_NO_INT: they stay as they are, nothing is changed. Must be
 * deinitialised also after a failure. */
KINO_NODISCARD kino_status kino__parts_read(kino__parts *out, const char *folder,
                                            int64_t real_minus_raw, kino_error *err);
void kino__parts_deinit(kino__parts *parts);

/* Which processes are ranks, which started them, which were started by them: once, behind the last
 * line. (Part of kino__parts_read.) False: memory is out. */
KINO_NODISCARD bool kino__parts_find_roles(kino__parts *parts);
/* The rank that a process is; -1: none, or only started by one. */
int64_t kino__parts_rank(const kino__parts *parts, int64_t pid);
/* The text of a sidecar about a process; nothing when it was not seen, or told nothing. */
void kino__parts_about(const kino__parts *parts, int64_t pid, kino__buffer *out);

/* One line of the log. Exposed for tests. False: it makes no sense. */
bool kino__parts_read_line(kino__parts *parts, kino_str line);

#endif
