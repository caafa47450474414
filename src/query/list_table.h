/* list_table.h - short lists that each trace has, as SQL tables: track, flow, step, device, ...
 *
 * A new table: columns, a count and a value function in list_tables.c, and its line in
 * kino__list_defs. */
#ifndef KINO__QUERY_LIST_TABLE_H
#define KINO__QUERY_LIST_TABLE_H

#include "query/tables.h"

typedef struct kino__list_def {
    const char *name;
    const kino__sql_column *columns;
    size_t column_count;
    int trace_column; /* the one that has the number of the trace, or -1 */
    int id_column;    /* the one that has trace << 32 | row, or -1 */
    /* Columns that have ids of events, and the event's row for a row of the list (or KINO_NO_ROW):
     * equality with them is looked up. -1 and NULL where there is none. */
    int event_columns[2];
    uint32_t (*event_row)(const kino__trace *trace, size_t row, int column);
    /* Rows that one trace has; false when memory is out. */
    bool (*count)(const kino__trace *trace, size_t *count);
    void (*value)(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                  kino__buffer *scratch);
} kino__list_def;

enum { KINO__LIST_COUNT = 7 };
extern const kino__list_def kino__list_defs[KINO__LIST_COUNT];

#endif
