/* event_filter.h - the conditions of a WHERE clause on events, and what they say about a value, a
 * track, a row.
 *
 * A condition whose value has a type that SQL would convert first is left to SQLite: we then let
 * too much pass, never too little. */
#ifndef KINO__QUERY_EVENT_FILTER_H
#define KINO__QUERY_EVENT_FILTER_H

#include "query/context.h"

typedef struct kino__query_value {
    int type; /* SQLITE_INTEGER (also whole floats), _FLOAT, _TEXT, _BLOB, _NULL */
    int64_t integer;
    double real;
    kino_str text;
} kino__query_value;

kino__query_value kino__query_value_of(sqlite3_value *value);

typedef struct kino__event_condition {
    kino__event_column column;
    int op; /* SQLITE_INDEX_CONSTRAINT_... */
    kino__query_value value;
    const kino_str *list; /* text column IN (list), sorted; NULL otherwise */
    size_t list_count;
    kino__fence *fence; /* for patterns; NULL: nobody waits */
} kino__event_condition;

/* Puts the list of an IN into the order it is searched in. */
void kino__event_list_sort(kino_str *list, size_t count);

/* Which events a table has: those of any of its classes. */
typedef struct kino__event_class {
    uint32_t kinds;                  /* KINO__KIND_BITs; 0 ends the list */
    bool (*has_name)(kino_str name); /* NULL: any name */
} kino__event_class;
enum { KINO__EVENT_CLASS_MAX = 4 };

enum { KINO__CONDITION_MAX = 24 };

typedef struct kino__event_filter {
    const kino__event_class *classes; /* NULL: all events */
    kino__fence *fence;               /* of the statement; NULL: nobody waits */
    kino__event_condition conditions[KINO__CONDITION_MAX];
    size_t count;
} kino__event_filter;

/* Can (and should) conditions of this kind be decided here? */
bool kino__event_filter_takes(kino__event_column column, int op);

/* ---- decisions; a value that SQL would convert first always passes ---- */

bool kino__is_text_column(kino__event_column column);  /* ph, cat, name: few distinct values */
bool kino__is_track_column(kino__event_column column); /* the same for all events of a track */

/* An integer, KINO_NO_INT for NULL. */
bool kino__condition_int_passes(const kino__event_condition *c, int64_t value);

/* All conditions on one text column. */
bool kino__filter_text_passes(const kino__event_filter *filter, kino__event_column column,
                              bool is_null, kino_str text);
bool kino__filter_category_passes(const kino__event_filter *filter, const kino__trace *trace,
                                  uint16_t category);
bool kino__filter_phase_passes(const kino__event_filter *filter, uint8_t phase);

/* Bits of the table's classes that an event with this category, or with this name, may belong to:
 * it is in the table when both have a bit in common. */
uint8_t kino__filter_category_classes(const kino__event_filter *filter, uint16_t category);
uint8_t kino__filter_name_classes(const kino__event_filter *filter, kino_str name);

/* Conditions on whole traces, on whole tracks, and everything on one row of a trace that passes. */
bool kino__filter_trace_passes(const kino__event_filter *filter, const kino__query_trace *qt);
bool kino__filter_track_passes(const kino__event_filter *filter, kino__query_trace *qt,
                               uint32_t track);
bool kino__filter_row_passes(const kino__event_filter *filter, kino__query_trace *qt, uint32_t row);

/* The times [low, high] that the conditions on ts leave; NULL is INT64_MIN. */
void kino__filter_ts_bounds(const kino__event_filter *filter, int64_t *low, int64_t *high);

#endif
