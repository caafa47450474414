/* own_tables.c - see own_tables.h. */
#include "cli/own_tables.h"

#include <math.h>

#include "base/error.h"

static void add_cell(kino__cells *cells, kino_cell cell)
{
    kino_cell *slot = kino__vec_add(&cells->items);
    if (slot)
        *slot = cell;
    else
        cells->failed = true;
}

void kino__cells_add_int(kino__cells *cells, int64_t value)
{
    kino_cell cell = {.kind = KINO_CELL_NULL};
    if (value != KINO_NO_INT)
        cell = (kino_cell){.kind = KINO_CELL_INT, .value.integer = value};
    add_cell(cells, cell);
}

void kino__cells_add_real(kino__cells *cells, double value)
{
    kino_cell cell = {.kind = KINO_CELL_NULL};
    if (!isnan(value))
        cell = (kino_cell){.kind = KINO_CELL_FLOAT, .value.real = value};
    add_cell(cells, cell);
}

void kino__cells_add_text(kino__cells *cells, const char *text)
{
    kino_cell cell = {.kind = KINO_CELL_NULL};
    if (text)
        cell = (kino_cell){.kind = KINO_CELL_TEXT, .value.text = kino__str_from(text)};
    add_cell(cells, cell);
}

kino__cells *kino__own_tables_add(kino__own_tables *tables, const char *name, const char *title,
                                  const kino_column *columns, uint32_t count)
{
    kino_table_data *table = &tables->data[tables->count];
    *table = (kino_table_data)KINO_TABLE_DATA_INIT;
    table->name = name;
    table->title = title;
    table->columns = columns;
    table->column_count = count;
    return &tables->cells[tables->count++];
}

kino_table_data *kino__own_tables_last(kino__own_tables *tables)
{
    return &tables->data[tables->count - 1];
}

void kino__own_tables_hide_nulls(kino__own_tables *tables, uint64_t columns)
{
    kino_table_data *table = kino__own_tables_last(tables);
    const kino__cells *cells = &tables->cells[tables->count - 1];
    for (size_t i = 0; i < cells->items.count; i++)
        if (cells->items.items[i].kind != KINO_CELL_NULL)
            columns &= ~(UINT64_C(1) << i % table->column_count);
    table->hidden |= columns;
}

int kino__own_tables_show(kino__own_tables *tables, const char *name, const char *const *notes,
                          const kino__common_options *options)
{
    const kino_table_data *list[KINO__OWN_TABLES];
    kino_result *result = NULL;
    kino_error err;
    bool failed = false;
    for (size_t i = 0; i < tables->count; i++) {
        const kino__cells *cells = &tables->cells[i];
        kino_table_data *table = &tables->data[i];
        table->cells = cells->items.items;
        table->row_count = cells->items.count / table->column_count;
        failed |= cells->failed;
        list[i] = table;
    }
    kino_status st = failed ? kino__fail_nomem(&err)
                            : kino_result_make(name, list, tables->count, notes, &result, &err);
    int code = st == KINO_OK ? kino__show_result(options, result)
                             : kino__report_error(&err, KINO__EXIT_FAILED);
    kino_result_free(result);
    return code;
}

void kino__own_tables_deinit(kino__own_tables *tables)
{
    for (size_t i = 0; i < KINO__OWN_TABLES; i++)
        kino__vec_deinit(&tables->cells[i].items);
}
