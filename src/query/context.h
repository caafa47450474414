/* context.h - what one query knows about its run: the traces, their lazy columns, lookups made on
 * the way.
 *
 * One context lives as long as one SQLite connection and belongs to its thread. Nothing is
 * computed before a query asks for it. Memory that runs out on the way sticks in the trace's
 * `failed`: check it after a loop. */
#ifndef KINO__QUERY_CONTEXT_H
#define KINO__QUERY_CONTEXT_H

#include <sqlite3.h>

#include "query/fence.h"
#include "store/args.h"
#include "store/link.h"
#include "store/run.h"

/* Columns that every event table has, in their SQL order; a table's own argument columns follow. */
typedef enum kino__event_column {
#define EVENT_COLUMN(id, name, type) KINO__EVENT_##id,
#define EVENT_TABLE(name, rows)
#define EVENT_ARG(table, name, key, type)
#include "query/event_tables.def"
#undef EVENT_COLUMN
#undef EVENT_TABLE
#undef EVENT_ARG
    KINO__EVENT_COLUMN_COUNT,
} kino__event_column;

/* Rows by value of one column: hash buckets as ranges of one row list.
 *   bucket   0     1     2          starts[bucket] .. starts[bucket + 1] in rows
 *   rows     4 9 | 2   | 7 8 11     ascending within a bucket */
typedef struct kino__query_index {
    uint32_t *starts;
    uint32_t *rows;
    unsigned shift; /* bucket = hash >> shift */
    unsigned uses;  /* lookups asked for before it was made */
} kino__query_index;

enum {
    KINO__INDEX_NAME,
    KINO__INDEX_CORRELATION,
    KINO__INDEX_EXTERNAL,
    KINO__INDEX_PARENT,
    KINO__INDEX_COUNT
};

typedef struct kino__query_trace {
    const kino__trace *trace;
    uint32_t track_hint; /* the last track found */
    bool failed;         /* memory was out while a column was made */
    /* borrowed from the trace, NULL until needed */
    const kino__nesting *nesting;
    const kino__steps *steps;
    const int64_t *device_arg, *stream_arg;
    /* made for this query */
    uint32_t *row_of_number; /* number_limit entries, KINO_NO_ROW where there is no event */
    size_t number_limit;
    unsigned number_uses;
    kino__query_index index[KINO__INDEX_COUNT];
    uint32_t *name_rank; /* order of the texts over all traces, from 1; NULL until needed */
    uint32_t *category_rank;
    uint32_t *pid_rank, *tid_rank; /* by track */
} kino__query_trace;

typedef struct kino__query_context {
    const kino__run *run;
    kino__fence *fence; /* NULL: nobody waits */
    kino__query_trace *traces;
    size_t trace_count;
    uint64_t event_count;
    uint64_t track_count;
    bool reads_once;     /* every cell is read once: argument columns are not worth making */
    int has_text_labels; /* some pid or tid is a number in quotes: 0 no, 1 yes, -1 not looked yet */
} kino__query_context;

bool kino__query_context_init(kino__query_context *context, const kino__run *run);
void kino__query_context_deinit(kino__query_context *context);

bool kino__query_has_text_labels(kino__query_context *context);

/* The track of a row; cheap when rows come in order. */
static inline uint32_t kino__query_track(kino__query_trace *qt, uint32_t row)
{
    const kino__track *hint = &qt->trace->tracks.items[qt->track_hint];
    if (row - hint->first >= hint->count)
        qt->track_hint = kino__trace_track_of(qt->trace, row);
    return qt->track_hint;
}

static inline int64_t kino__query_track_id(const kino__query_trace *qt, uint32_t track)
{
    return (int64_t)qt->trace->index << 32 | track;
}

/* The value of an integer column, KINO_NO_INT for NULL. Not for PH, CAT, NAME, PID, TID, ARGS.
 * Links and argument columns are made at the first call that needs them. */
int64_t kino__query_int(kino__query_trace *qt, kino__event_column column, uint32_t row);

/* The trace and row of an event id; false when there is none. */
bool kino__query_find_event(kino__query_context *context, int64_t id, kino__query_trace **qt,
                            uint32_t *row);

/* Candidates for `column = value`: a superset of the rows, ascending. NAME: value is the string's
 * number.
 * *rows is NULL when a scan is better (the column has no index, or it is not worth making yet). */
void kino__query_candidates(kino__query_trace *qt, kino__event_column column, int64_t value,
                            const uint32_t **rows, size_t *count);

#endif
