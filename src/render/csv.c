/* csv.c - one table as CSV (base/csv_out.h): a header, then rows; nothing is rounded. */
#include "base/csv_out.h"
#include "base/error.h"
#include "render/render.h"

static void add_cell(kino__buffer *out, kino_type type, const kino_cell *cell)
{
    switch (cell->kind) {
    case KINO_CELL_NULL:
        break;
    case KINO_CELL_INT:
        if (type == KINO_TYPE_BOOL)
            kino__buffer_add(out, cell->value.integer ? KINO__STR("true") : KINO__STR("false"));
        else
            kino__csv_add_int(out, cell->value.integer);
        break;
    case KINO_CELL_FLOAT:
        kino__csv_add_double(out, cell->value.real);
        break;
    case KINO_CELL_TEXT:
        kino__csv_add_text(out, cell->value.text);
        break;
    }
}

static kino_status add_rows(kino__render *render, kino_rows *rows, kino_error *err)
{
    size_t count = kino_rows_column_count(rows);
    const kino_column *columns = kino_rows_columns(rows);
    for (size_t i = 0; i < count; i++) {
        if (i)
            kino__buffer_add(&render->text, KINO__STR(","));
        kino__csv_add_text(&render->text, kino__str_from(columns[i].name));
    }
    kino__buffer_add(&render->text, KINO__STR("\n"));
    for (uint64_t n = 0; render->limit == 0 || n < render->limit; n++) {
        const kino_cell *cells;
        KINO_TRY(kino_rows_next(rows, &cells, err));
        if (!cells)
            break;
        for (size_t i = 0; i < count; i++) {
            if (i)
                kino__buffer_add(&render->text, KINO__STR(","));
            add_cell(&render->text, columns[i].type, &cells[i]);
        }
        kino__buffer_add(&render->text, KINO__STR("\n"));
        KINO_TRY(kino__render_flush(render, false, err));
    }
    return KINO_OK;
}

static kino_status render_result(kino__render *render, const kino_result *result, kino_error *err)
{
    size_t table = 0;
    while (render->table && table < result->tables.count &&
           strcmp(result->tables.items[table]->name, render->table) != 0)
        table++;
    if (render->table && table == result->tables.count)
        return kino__fail(err, KINO_NOT_FOUND, "'%s' has no table '%s'", result->name,
                          render->table);
    if (result->tables.count == 0)
        return KINO_OK;
    kino_rows *rows;
    KINO_TRY(kino_result_rows(result, table, &rows, err));
    kino_status st = add_rows(render, rows, err);
    kino_rows_free(rows);
    return st;
}

static kino_status render_rows(kino__render *render, const kino_result *frame, kino_rows *rows,
                               kino_error *err)
{
    (void)frame;
    return add_rows(render, rows, err);
}

const kino__renderer_def kino__renderer_csv = {
    .name = "csv",
    .help = "one table, exact values",
    .result = render_result,
    .rows = render_rows,
};
