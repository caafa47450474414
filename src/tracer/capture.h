/* capture.h - the buffers of a session: a private folder with three mapped files.
 *
 * All of the byte budget is allocated when it is opened, so that nothing can fail (or raise SIGBUS)
 * while recording. Pages are mapped before they are needed: the first ones at once, the others by a
 * thread, which goes ahead of those that record. A page that it has not come to yet costs its first
 * writer a microsecond or two, and no more.
 *
 * The addresses stay valid for ever (tracer.h), and are used again: by the next session in the same
 * files, where only the thread that prepares it was in the last one; else by a later session of the
 * same size, once no thread is in an earlier one any more. Generations of segments go on then, so
 * that spans of an earlier session are known for what they are. */
#ifndef KINO__TRACER_CAPTURE_H
#define KINO__TRACER_CAPTURE_H

#include <pthread.h>

#include <kino/kino.h>

#include "wire/ring_format.h"

typedef struct kino__capture {
    struct kino__capture *older; /* released ones */
    /* Of all sessions that it is used for. */
    uint64_t budget;
    char *buffer, *meta_map, *texts; /* mapped */
    uint64_t buffer_bytes, meta_bytes, texts_bytes;
    kino__ring_meta *meta;
    kino__ring_thread *threads;
    kino__ring_anchor *anchors; /* both banks */
    uint32_t segment_count;
    uint32_t users;      /* atomic: threads that are in it, or are looking whether they may be */
    uint64_t generation; /* atomic: of earlier sessions' segments, at most */
    /* Of this session. */
    uint32_t session; /* atomic; 0: none, and no thread comes in */
    kino_mode mode;
    char directory[512]; /* "" when the files are gone */
    /* shared by the threads that record */
    uint32_t next_segment;          /* atomic: the first that was never used */
    uint32_t list_lock;             /* spin; guards the list */
    uint32_t hungry;                /* atomic: flight recorder: threads that found no segment */
    uint32_t free_first, free_last; /* segments that may be taken, oldest first; + 1 */
    uint32_t free_count;            /* of them; written under the lock */
    uint32_t left_first;            /* capture: segments with room, of threads that ended; + 1 */
    uint32_t slots[KINO__RING_THREADS]; /* atomic: 1 when the slot is taken */
    uint32_t next_slot;                 /* atomic */
    uint64_t texts_used;                /* under the lock of the texts */
    /* anchors: under the tracer's clock_lock */
    uint64_t last_anchor_ns, anchor_interval_ns;
    pthread_mutex_t touch_lock; /* of the following */
    bool is_settled;            /* no page is touched any more */
    bool is_touched;            /* they are being touched, or were */
    bool has_toucher;           /* a thread that is to be joined */
    pthread_t toucher;
    bool is_guest; /* in a program that knows nothing of it: no thread stays there */
} kino__capture;

/* Buffers at the addresses of one of `spares` that fits, which is taken out of the list, else at new
 * ones. Nothing is left behind on failure. is_soon: no thread of ours may begin now;
 * kino__capture_touch has the pages come. */
KINO_NODISCARD kino_status kino__capture_open(const kino_session_options *options, uint32_t session,
                                              bool is_soon, kino__capture **spares,
                                              kino__capture **out, kino_error *err);
/* The capture, which nobody reads any more, goes on as that of another session, in its files. False:
 * it cannot, for the options or because a thread is in it; it is to be released. */
bool kino__capture_renew(kino__capture *capture, const kino_session_options *options,
                         uint32_t session, bool is_soon);
/* A thread touches the pages of a capture that was opened `soon`, and ends. Once something is sure
 * to be recorded: a thread in a program that has none forbids it what only such programs may. */
void kino__capture_touch(kino__capture *capture);
/* It is full enough: pages that were not needed yet stay as they are. */
void kino__capture_settle(kino__capture *capture);
/* The same, and the thread that touched them is gone. */
void kino__capture_settle_now(kino__capture *capture);
/* Removes the files; plain memory takes their place. */
void kino__capture_release(kino__capture *capture);
/* A thread is in the session from now on; false: that is over. */
bool kino__capture_enter(kino__capture *capture, uint32_t session);
/* The thread writes nothing into it any more. */
void kino__capture_leave(kino__capture *capture);
/* In a forked child: the files are the parent's. Async-signal-safe. */
void kino__capture_abandon(kino__capture *capture);

static inline uint32_t kino__capture_session(const kino__capture *c)
{
    return __atomic_load_n(&c->session, __ATOMIC_RELAXED);
}

/* Generations have 16 bits and begin again. Is this one of the session, after all earlier ones'? */
static inline bool kino__capture_is_young(const kino__capture *c, uint64_t generation)
{
    return (int16_t)(generation - __atomic_load_n(&c->generation, __ATOMIC_RELAXED)) > 0;
}

static inline kino_impl_v1_segment *kino__capture_segment(const kino__capture *c, uint32_t index)
{
    return (kino_impl_v1_segment *)(void *)(c->buffer + (size_t)index * KINO_IMPL_V1_SEGMENT_SIZE);
}

#endif
