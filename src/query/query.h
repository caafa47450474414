/* query.h - SQL over a run: the columns as SQLite virtual tables, read-only, interruptible.
 *
 *   kino__query_open(run, "SELECT name, sum(dur) FROM kernel GROUP BY name", NULL, &rows, &err);
 *   while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells) ...
 *   kino_rows_free(rows);
 *
 * The tables are described in docs/internals/query.md and by kino__query_schema. */
#ifndef KINO__QUERY_QUERY_H
#define KINO__QUERY_QUERY_H

#include <kino/base.h>
#include <kino/table.h>

#include "query/table_function.h"
#include "store/run.h"

#define KINO__QUERY_MEMORY ((uint64_t)1 << 30)

typedef struct kino__query_options {
    unsigned timeout_ms; /* of the whole query, from open on; 0 = none */
    const volatile bool
        *cancel; /* polled, may be set by a signal handler or another thread; or NULL */
    const kino__table_functions *functions; /* more tables, computed when asked; or NULL */
    uint64_t memory; /* 0 = KINO__QUERY_MEMORY: a value may have 1/64 of it, a row 1/4 */
    const kino_cell *parameters; /* of the statement, in their order; copied */
    size_t parameter_count;
} kino__query_options;

/* Prepares exactly one read-only statement; its rows are worked out as they are asked for. The run
 * must outlive the rows; both the SQL text and the options are copied (the cancel flag must stay).
 * Options may be NULL.
 * Fails with KINO_SQL (offset: byte of the statement to blame, where SQLite tells), in
 * kino_rows_next also with KINO_CANCELLED ("interrupted"), KINO_LIMIT ("time limit of N s
 * reached", and when a value, a row or the memory of SQLite is beyond its limit). Any thread; the
 * rows belong to one. */
KINO_NODISCARD kino_status kino__query_open(const kino__run *run, const char *sql,
                                            const kino__query_options *options, kino_rows **out,
                                            kino_error *err);

/* One row for each table: name, and the CREATE statement that describes it. */
KINO_NODISCARD kino_status kino__query_schema(kino_rows **out, kino_error *err);
/* The same with the table functions (copied; aliases left out) behind. */
KINO_NODISCARD kino_status kino__query_schema_all(const kino__table_functions *functions,
                                                  kino_rows **out, kino_error *err);

/* The memory that SQLite may have in this process, all statements together; 0 = any. False when
 * this SQLite has no such limit. */
bool kino__query_limit_memory(uint64_t bytes);

#endif
