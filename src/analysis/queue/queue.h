/* queue.h - how much work waits on each stream: one up when a call puts it there, one down when it
 * starts to run. For queue-length, queue-blocked, counters and the critical path. */
#ifndef KINO__ANALYSIS_QUEUE_H
#define KINO__ANALYSIS_QUEUE_H

#include "analysis/frame_params.h"

typedef struct kino__queue_point {
    int64_t stream, ts;
    int64_t length; /* of the stream's queue after this point */
    uint32_t at;    /* position in the frame: the launch, or the work that starts */
    uint32_t work;  /* position of the work */
} kino__queue_point;

typedef struct kino__queue {
    KINO__VEC(kino__queue_point) points; /* by stream, then time; a launch before a start */
    uint64_t doubled;   /* HTA modes: launches that share a correlation; HTA itself fails then */
    int64_t unlaunched; /* DEFAULT: device work that is in no queue, as nothing here launched it */
} kino__queue;

KINO_NODISCARD bool kino__queue_make(const kino__frame *f, kino__queue *out);
void kino__queue_deinit(kino__queue *queue);

#endif
