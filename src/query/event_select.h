/* event_select.h - from the conditions of a WHERE clause to rows of events, without SQLite looking
 * at each.
 *
 *   conditions on      are decided            so that
 *   trace pid tid ...  once a track           whole ranges of rows drop out
 *   ts                 by binary search       a track's rows are sorted by start
 *   cat name ph        once a distinct text   a scan reads one byte of a table for each row
 *   id correlation ... by a lookup            a join does not scan
 *   other integers     row by row
 *
 * The answer is a list of segments: ranges of rows, or lists of rows, in order of trace, track and
 * start. */
#ifndef KINO__QUERY_EVENT_SELECT_H
#define KINO__QUERY_EVENT_SELECT_H

#include "query/event_filter.h"

/* Rows at..end of the list, or these rows themselves when there is no list. */
typedef struct kino__segment {
    kino__query_trace *qt;
    const uint32_t *rows;
    uint32_t at, end;
} kino__segment;

typedef struct kino__selection {
    KINO__VEC(kino__segment) segments;
    KINO__VEC(uint32_t *) owned; /* row lists */
} kino__selection;

void kino__selection_clear(kino__selection *selection);
void kino__selection_deinit(kino__selection *selection);

/* A new list that the selection owns, not initialised; NULL when memory is out. */
uint32_t *kino__selection_list(kino__selection *selection, size_t count);

/* Adds a segment, unless it is empty; its list lives at least as long as the selection. */
KINO_NODISCARD bool kino__selection_add(kino__selection *selection, kino__query_trace *qt,
                                        const uint32_t *rows, uint32_t at, uint32_t end);

/* Fills an empty selection; false when memory is out. */
KINO_NODISCARD bool kino__selection_fill(kino__query_context *context,
                                         const kino__event_filter *filter,
                                         kino__selection *selection);

#endif
