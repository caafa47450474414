/* kino/table.h - the form of every answer: typed columns and rows.
 *
 * kino_rows is a stream of rows (a query's result, or a table read from the front); kino_result is
 * a finished answer of one or more tables with what it was computed from. Renderers take both. */
#ifndef KINO_TABLE_H
#define KINO_TABLE_H

#include <kino/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text in JSON */
#define KINO_TYPE_MAP(X)                                                                           \
    X(INT, "int")                                                                                  \
    X(FLOAT, "float")                                                                              \
    X(STRING, "string")                                                                            \
    X(BOOL, "bool")                                                                                \
    X(DURATION, "duration") /* integer ns */                                                       \
    X(TIME, "time")         /* integer ns since the run's origin */                                \
    X(BYTES, "bytes")                                                                              \
    X(PERCENT, "percent") /* 0 to 100, float */                                                    \
    X(JSON, "json")       /* JSON text */                                                          \
    X(ANY, "any")         /* SQL expressions: each cell says what it is */

typedef enum kino_type {
#define KINO_TYPE_ENUM(name, text) KINO_TYPE_##name,
    KINO_TYPE_MAP(KINO_TYPE_ENUM)
#undef KINO_TYPE_ENUM
} kino_type;

/* Units of columns that refer to events of the run: an id (of JSON: a list of ids), or the name that
 * the events a row stands for have. The web UI makes links into the timeline of them. */
#define KINO_UNIT_EVENT      "event"
#define KINO_UNIT_EVENT_NAME "event name"

typedef struct kino_column {
    const char *name;
    kino_type type;
    const char *unit; /* NULL where the type says it all */
    const char *help; /* one line, or NULL */
} kino_column;

typedef enum kino_cell_kind {
    KINO_CELL_NULL,
    KINO_CELL_INT,
    KINO_CELL_FLOAT,
    KINO_CELL_TEXT
} kino_cell_kind;

typedef struct kino_cell {
    kino_cell_kind kind;
    union {
        int64_t integer; /* INT, BOOL, DURATION, TIME, BYTES */
        double real;     /* FLOAT, PERCENT */
        kino_str text;   /* STRING, JSON */
    } value;
} kino_cell;

/* A stream of rows. One thread at a time. */
typedef struct kino_rows kino_rows;

KINO_API size_t kino_rows_column_count(const kino_rows *rows);
KINO_API const kino_column *kino_rows_columns(const kino_rows *rows);
/* The next row in *cells (column_count of them, valid until the next call), or NULL at the end. */
KINO_API KINO_NODISCARD kino_status kino_rows_next(kino_rows *rows, const kino_cell **cells,
                                                   kino_error *err);
KINO_API void kino_rows_free(kino_rows *rows);

/* A finished answer. Any thread may read it. */
typedef struct kino_result kino_result;

KINO_API const char *kino_result_name(const kino_result *result);
KINO_API size_t kino_result_table_count(const kino_result *result);
KINO_API const char *kino_result_table_name(const kino_result *result, size_t table);
KINO_API size_t kino_result_row_count(const kino_result *result, size_t table);
/* Its n-th note (why a value is missing, what was left out), NULL at the end. */
KINO_API const char *kino_result_note(const kino_result *result, size_t index);
/* What can be done about it; false: it has no hint. */
KINO_API bool kino_result_note_hint(const kino_result *result, size_t index, kino_hint *hint);
/* The name and value of its n-th parameter; false at the end. Owned by the result. */
KINO_API bool kino_result_param(const kino_result *result, size_t index, const char **name,
                                kino_cell *value);
/* What its times count from: ns since 1970, KINO_NO_TIME: unknown. */
KINO_API int64_t kino_result_origin(const kino_result *result);
/* A new stream over one table; the result must outlive it. */
KINO_API KINO_NODISCARD kino_status kino_result_rows(const kino_result *result, size_t table,
                                                     kino_rows **out, kino_error *err);
KINO_API void kino_result_free(kino_result *result);

/* A table that was not filled by the engine. */
typedef struct kino_table_data {
    uint32_t size; /* KINO_TABLE_DATA_INIT */
    uint32_t column_count;
    const char *name;
    const char *title;      /* for people; NULL: the name */
    const char *empty_text; /* what it says to people without rows; NULL: it is left out then */
    const kino_column *columns;
    const kino_cell *cells; /* row after row */
    size_t row_count;
    uint64_t hidden; /* bit i: people need not see column i */
    bool fold;       /* people see columns with one value in all rows as lines above the table */
} kino_table_data;
#define KINO_TABLE_DATA_INIT                                                                       \
    {                                                                                              \
        sizeof(kino_table_data), 0, NULL, NULL, NULL, NULL, NULL, 0, 0, false                      \
    }

/* An answer of one's own, to be rendered like any other. Everything is copied, except for `title` and
 * `empty_text`, which must be constant. Notes end with NULL, or are NULL. */
KINO_API KINO_NODISCARD kino_status kino_result_make(const char *name,
                                                     const kino_table_data *const *tables,
                                                     size_t table_count, const char *const *notes,
                                                     kino_result **out, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
