/* collect_rows.c - rows of a query as a finished answer, for those who want to count, index or keep
 * them. */
#include "base/error.h"
#include "engine/kino_run.h"

kino_status kino_rows_collect(kino_run *run, kino_rows *rows, kino_result **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_result *result = kino__result_new("query");
    if (run)
        kino__run_describe(run, result);
    size_t count = kino_rows_column_count(rows);
    kino__table *table = kino__result_add_table(result, "result", kino_rows_columns(rows), count);
    kino__table_describe(table, 0, NULL, "no rows");
    const kino_cell *cells;
    kino_status st;
    while ((st = kino_rows_next(rows, &cells, err)) == KINO_OK && cells && result &&
           !result->failed)
        for (size_t i = 0; i < count; i++)
            kino__table_add(table, cells[i]);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}
