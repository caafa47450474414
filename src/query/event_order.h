/* event_order.h - events in the order that a query's ORDER BY or GROUP BY wants, so that SQLite
 * need not sort.
 *
 *   selection (by trace, track, start)
 *     --> as it is                     nothing asked, or trace / track / ts
 *     --> merge of the tracks by ts    ORDER BY ts: no copy, the first row is there at once
 *     --> sorted lists, one a trace    other columns: stable sorts, last term first, then a merge
 *
 * Texts are ordered by rank: distinct texts are sorted once, rows only see numbers. */
#ifndef KINO__QUERY_EVENT_ORDER_H
#define KINO__QUERY_EVENT_ORDER_H

#include "query/event_select.h"

enum { KINO__ORDER_MAX = 6 };

typedef struct kino__order_term {
    kino__event_column column;
    bool is_descending;
} kino__order_term;

typedef struct kino__event_order {
    kino__order_term terms[KINO__ORDER_MAX];
    size_t count;
    bool is_grouping; /* equal rows must be neighbours, whatever the order of the groups */
} kino__event_order;

/* Can rows be delivered in order of this column? */
bool kino__event_order_takes(kino__query_context *context, kino__event_column column);

/* A run of rows during a merge. */
typedef struct kino__merge_run {
    kino__segment segment;
    int64_t key;    /* of the current row: the first term */
    uint32_t place; /* among the runs; equal rows come in this order */
} kino__merge_run;

/* Rows in order, one after the other; `qt` and `row` are the current one while is_end is false. */
typedef struct kino__event_stream {
    kino__query_trace *qt;
    uint32_t row;
    bool is_end;
    uint32_t at, end;     /* in the current segment */
    const uint32_t *rows; /* its list, or NULL */
    size_t next_segment;
    kino__selection selection;
    kino__query_context *context;
    kino__event_order order;
    bool is_backward;
    kino__merge_run *heap; /* NULL: segments one after the other */
    size_t heap_count;
} kino__event_stream;

void kino__event_stream_init(kino__event_stream *stream, kino__query_context *context);
void kino__event_stream_deinit(kino__event_stream *stream);

/* Stands on the first row that passes, or is_end; false when memory is out. Can be started again.
 * */
KINO_NODISCARD bool kino__event_stream_start(kino__event_stream *stream,
                                             const kino__event_filter *filter,
                                             const kino__event_order *order);

/* The step that is not just "the next row of this segment". */
void kino__event_stream_turn(kino__event_stream *stream);

static inline void kino__event_stream_next(kino__event_stream *stream)
{
    if (++stream->at < stream->end) {
        stream->row = stream->rows ? stream->rows[stream->at] : stream->at;
        return;
    }
    kino__event_stream_turn(stream);
}

#endif
