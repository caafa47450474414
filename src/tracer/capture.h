/* capture.h - the buffers of a session: a private folder with three mapped files.
 *
 * All of the byte budget is allocated when it is opened, so that nothing can fail (or raise SIGBUS)
 * while recording, and touched, so that no page has to be mapped then. Where nobody chose the
 * moment (a library that was put into a program) a thread touches all but the begin as soon as
 * something is recorded: a page that it has not come to yet costs its first writer a microsecond or
 * two, and no more. The struct and its
 * addresses stay valid for ever (tracer.h). */
#ifndef KINO__TRACER_CAPTURE_H
#define KINO__TRACER_CAPTURE_H

#include <pthread.h>

#include <kino/kino.h>

#include "wire/ring_format.h"

typedef struct kino__capture {
    struct kino__capture *older; /* released ones, kept for their addresses */
    uint32_t session;
    kino_mode mode;
    uint64_t budget;
    char directory[512]; /* "" when the files are gone */
    /* mapped */
    char *buffer, *meta_map, *texts;
    uint64_t buffer_bytes, meta_bytes, texts_bytes;
    kino__ring_meta *meta;
    kino__ring_thread *threads;
    kino__ring_anchor *anchors; /* both banks */
    /* shared by the threads that record */
    uint32_t segment_count;
    uint32_t next_segment;          /* atomic: the first that was never used */
    uint32_t list_lock;             /* spin; guards the list */
    uint32_t hungry;                /* atomic: flight recorder: threads that found no segment */
    uint32_t free_first, free_last; /* segments that may be taken, oldest first; + 1 */
    uint32_t free_count;            /* of them; written under the lock */
    uint32_t left_first;            /* capture: segments with room, of threads that ended; + 1 */
    uint32_t slots[KINO__RING_THREADS]; /* atomic: 1 when the slot is taken */
    uint32_t next_slot;                 /* atomic */
    /* anchors: under the tracer's clock_lock */
    uint64_t last_anchor_ns, anchor_interval_ns;
    pthread_mutex_t touch_lock; /* of the following */
    bool is_settled;            /* no page is touched any more */
    bool is_touched;            /* they are being touched, or were */
    bool is_guest;              /* in a program that knows nothing of it: no thread stays there */
} kino__capture;

/* Nothing is left behind on failure. is_soon: the caller must not wait for all pages;
 * kino__capture_touch has them come. */
KINO_NODISCARD kino_status kino__capture_open(const kino_session_options *options, uint32_t session,
                                              bool is_soon, kino__capture **out, kino_error *err);
/* A thread touches the pages of a capture that was opened `soon`, and ends. Once something is sure
 * to be recorded: a thread in a program that has none forbids it what only such programs may. */
void kino__capture_touch(kino__capture *capture);
/* It is full enough: pages that were not needed yet stay as they are. */
void kino__capture_settle(kino__capture *capture);
/* Removes the files; plain memory takes their place. */
void kino__capture_release(kino__capture *capture);
/* In a forked child: the files are the parent's. Async-signal-safe. */
void kino__capture_abandon(kino__capture *capture);

static inline kino_impl_v1_segment *kino__capture_segment(const kino__capture *c, uint32_t index)
{
    return (kino_impl_v1_segment *)(void *)(c->buffer + (size_t)index * KINO_IMPL_V1_SEGMENT_SIZE);
}

#endif
