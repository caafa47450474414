/* event_internal.h - the event that is asked about; for event.c and links.c. */
#ifndef KINO__TIMELINE_EVENT_INTERNAL_H
#define KINO__TIMELINE_EVENT_INTERNAL_H

#include "timeline/timeline_internal.h"

typedef struct kino__tl_subject {
    const kino__timeline *timeline;
    const kino__trace *trace;
    uint32_t row;
    const kino__track *source;
    const kino__tl_track *track; /* NULL: it is not drawn */
    kino__tl_place place;
    uint32_t launch; /* of device work: the call; KINO_NO_ROW: not known, or something else */
} kino__tl_subject;

/* near.c: what store/link_launch.c and store/link_op.c say, for one row. False when memory is out;
 * KINO_NO_ROW: none. */
KINO_NODISCARD bool kino__tl_launch_of(const kino__trace *trace, uint32_t row, uint32_t *call);
KINO_NODISCARD bool kino__tl_op_of(const kino__tl_subject *subject, uint32_t *op);
/* Calls visit for the work that a call launched, or that belongs to an op. */
typedef void (*kino__tl_visit_row)(void *context, uint32_t row);
KINO_NODISCARD bool kino__tl_work_of(const kino__trace *trace, uint32_t row,
                                     kino__tl_visit_row visit, void *context);

/* The innermost span around a row of any kind that is of one of the kinds, or KINO_NO_ROW. */
KINO_NODISCARD bool kino__tl_around(const kino__timeline *timeline, const kino__trace *trace,
                                    uint32_t row, uint32_t kinds, kino_str prefix, uint32_t *out);

/* links.c: the table links. False when memory is out. */
KINO_NODISCARD bool kino__tl_add_links(kino_result *result, const kino__tl_subject *subject);

/* Splits "file(line): function"; false when the name has another form. */
bool kino__tl_source_line(kino_str name, kino_str *file, int64_t *line);

#endif
