/* device_work.h - the device rows of a frame in order of time, and the time they cover: made once a
 * frame, for all analyses of device time. */
#ifndef KINO__ANALYSIS_DEVICE_WORK_H
#define KINO__ANALYSIS_DEVICE_WORK_H

#include "analysis/frame_params.h"

typedef struct kino__device_work {
    uint32_t *rows; /* positions of the device rows: by ts, then frame order */
    size_t count;
    /* Time covered, in units of the frame: by all of them, and by those of a type. HTA's unions:
     * intervals that touch merge; a zero-length one counts as an interval of its own, a negative
     * one is kept as it is. */
    kino__intervals all, of_type[KINO__KERNEL_TYPES];
} kino__device_work;

/* Of a frame made with the same has_last_step; kept with the trace. NULL when memory is out. Any
 * thread. */
const kino__device_work *kino__device_work_of(const kino__frame *f, bool has_last_step);

/* Times of a frame as ns; stays at the limits. */
static inline int64_t kino__frame_ns(const kino__frame *f, int64_t units)
{
    return kino__product(units, f->unit_ns);
}

/* "X not available: no device work was recorded", with the ranks where only some lack it (others:
 * how many traces have it). */
void kino__note_without_device(kino_result *result, const char *what, const int64_t *ranks,
                               size_t count, size_t others);

/* "N pieces of device work have no launch in the trace and are left out", unless there are none. */
void kino__note_unlaunched(kino_result *result, int64_t count);

#endif
