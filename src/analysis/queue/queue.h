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
    uint32_t first;     /* HTA modes: position of the first event of the file, or KINO_NO_ROW */
    uint64_t doubled;   /* HTA modes: launches that share a correlation; HTA itself fails then */
    int64_t unlaunched; /* DEFAULT: device work that is in no queue, as nothing here launched it */
} kino__queue;

KINO_NODISCARD bool kino__queue_make(const kino__frame *f, kino__queue *out);
void kino__queue_deinit(kino__queue *queue);

/* What analyses of queues say beside their rows. */
typedef struct kino__queue_facts {
    uint64_t doubled;
    int64_t unlaunched;
    bool has_points, is_cut;
} kino__queue_facts;

/* The queues of a trace in the frame that the parameters ask for, and the facts about them. NULL
 * when memory is out, else the caller deinits the queues. */
const kino__frame *kino__queue_asked(const kino__analysis *a, const kino__trace *trace,
                                     size_t last_step_param, kino__queue *out,
                                     kino__queue_facts *facts);
void kino__queue_facts_merge(kino__queue_facts *into, const kino__queue_facts *from);
/* what: is not there without points, as in "queue lengths". */
void kino__queue_facts_note(const kino__queue_facts *facts, const char *what, kino_result *result);

/* Position of the call that launched the work of a point. HTA takes the number of the first event,
 * 0, for "no partner": work that it launched has no link. */
static inline uint32_t kino__queue_launch(const kino__queue *queue, const kino__frame *f,
                                          const kino__queue_point *point)
{
    return f->link[point->work] >= 0 ? (uint32_t)f->link[point->work] : queue->first;
}

#endif
