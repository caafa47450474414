/* arrow_events.h - events as Arrow columns: what kino_run_events and the writers of Arrow share: the columns, and one trace's rows
 * on their way into arrays. */
#ifndef KINO__QUERY_ARROW_EVENT_H
#define KINO__QUERY_ARROW_EVENT_H

#include "query/context.h"
#include "store/arrow_build.h"

/* Where the values of a column come from. */
typedef enum kino__event_way {
    KINO__WAY_INT, /* worked out row by row */
    KINO__WAY_TS,
    KINO__WAY_DUR,
    KINO__WAY_NAME,
    KINO__WAY_CATEGORY,
    KINO__WAY_PH,
    KINO__WAY_PID, /* labels that are numbers */
    KINO__WAY_TID,
    KINO__WAY_PROCESS, /* labels as text */
    KINO__WAY_THREAD,
} kino__event_way;

typedef struct kino__event_source {
    kino_column column; /* name, type, unit and help */
    kino__event_way way;
    kino__event_column sql; /* WAY_INT: which */
    unsigned needs;         /* KINO__COLUMN_ bits */
} kino__event_source;

/* The n-th one, NULL at the end. */
const kino__event_source *kino__event_source_at(size_t index);

/* Decided once for all traces, because a stream has one schema. */
typedef struct kino__event_forms {
    bool category_is_wide; /* ids beyond 16 bits with a sign */
    bool must_copy;        /* the columns may be released */
} kino__event_forms;
kino__event_forms kino__event_forms_of(const kino__run *run);

typedef struct kino__event_rows {
    kino__query_trace *qt;
    const kino__trace *trace;
    const uint32_t *rows; /* ascending; NULL: all of them */
    size_t count;
    kino__event_forms forms;
} kino__event_rows;

kino__arrow_field kino__event_field(const kino__event_source *source,
                                    const kino__event_forms *forms);

/* -- values: false when memory is out -- */

static inline uint32_t kino__event_row(const kino__event_rows *rows, size_t index)
{
    return rows->rows ? rows->rows[index] : (uint32_t)index;
}

/* Memory for values of this width as the column's own; NULL when there is none. */
void *kino__event_own(kino__arrow_column *out, size_t width);
/* The column of the store itself, or the chosen rows of it. */
KINO_NODISCARD bool kino__event_take(const kino__event_rows *rows, const void *from, size_t width,
                                     kino__arrow_column *out);
/* Values below `least` are none. */
KINO_NODISCARD bool kino__event_mark(kino__arrow_column *out, size_t width, int64_t least);
KINO_NODISCARD bool kino__event_fill_ints(const kino__event_rows *rows, kino__event_column column,
                                          kino__arrow_column *out);
/* pid or tid as numbers. */
KINO_NODISCARD bool kino__event_fill_labels(const kino__event_rows *rows, bool is_pid,
                                            kino__arrow_column *out);

/* -- texts -- */

KINO_NODISCARD kino_status kino__event_names(const kino__event_rows *rows, kino__arrow_column *out,
                                             kino_error *err);
KINO_NODISCARD kino_status kino__event_categories(const kino__event_rows *rows,
                                                  kino__arrow_column *out, kino_error *err);
KINO_NODISCARD kino_status kino__event_phases(const kino__event_rows *rows, kino__arrow_column *out,
                                              kino_error *err);
/* pid or tid as text. */
KINO_NODISCARD kino_status kino__event_labels(const kino__event_rows *rows, bool is_pid,
                                              kino__arrow_column *out, kino_error *err);

/* -- any of them: a batch for each trace -- */

enum { KINO__EVENT_COLUMNS_MOST = 64 };

typedef struct kino__event_arrow {
    const kino__run *run;
    const kino__event_source *sources[KINO__EVENT_COLUMNS_MOST];
    size_t source_count;
    kino__event_forms forms;
    kino__query_context context; /* where kino__event_needs_context */
    uint32_t **rows;             /* by trace; NULL: all of them */
    size_t *row_counts;
    const bool *cancel; /* polled, or NULL */
} kino__event_arrow;

/* Columns of the store that must be there, as bits; and is the query's context needed? */
unsigned kino__event_arrow_needs(const kino__event_arrow *stream, bool *has_context);

/* What is borrowed from the run is kept with the owner. */
KINO_NODISCARD kino_status kino__event_arrow_make(const kino__event_arrow *stream,
                                                  kino__arrow_owner *owner,
                                                  struct ArrowArrayStream *out, kino_error *err);

KINO_NODISCARD kino_status kino__event_column_make(const kino__event_rows *rows,
                                                   const kino__event_source *source,
                                                   kino__arrow_column *out, kino_error *err);

#endif
