/* csv.c - one table as CSV (RFC 4180 with a plain line feed): a header, then rows; nothing is
 * rounded. A missing value is an empty field, an empty text is "". */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/json_out.h"
#include "render/render.h"

static void add_text(kino__buffer *out, kino_str text)
{
    bool plain = text.size > 0;
    for (size_t i = 0; i < text.size && plain; i++)
        plain = text.data[i] && !strchr(",\"\r\n", text.data[i]);
    if (plain && text.data[0] != ' ' && text.data[text.size - 1] != ' ') {
        kino__buffer_add(out, text);
        return;
    }
    kino__buffer_add(out, KINO__STR("\""));
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"')
            kino__buffer_add(out, KINO__STR("\""));
        kino__buffer_add(out, (kino_str){text.data + i, 1});
    }
    kino__buffer_add(out, KINO__STR("\""));
}

static void add_cell(kino__buffer *out, kino_type type, const kino_cell *cell)
{
    char text[32];
    switch (cell->kind) {
    case KINO_CELL_NULL:
        break;
    case KINO_CELL_INT:
        if (type == KINO_TYPE_BOOL)
            kino__buffer_add(out, cell->value.integer ? KINO__STR("true") : KINO__STR("false"));
        else
            kino__buffer_printf(out, "%" PRId64, cell->value.integer);
        break;
    case KINO_CELL_FLOAT:
        if (isfinite(cell->value.real)) {
            size_t size = kino__double_to_text(cell->value.real, text);
            kino__buffer_add(out, (kino_str){text, size});
        }
        break;
    case KINO_CELL_TEXT:
        add_text(out, cell->value.text);
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
        add_text(&render->text, kino__str_from(columns[i].name));
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
