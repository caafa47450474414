/* made_table.c - see the header. */
#include "unit/made_table.h"

#include <stdlib.h>

#include "unit/test.h"

typedef struct stored_rows {
    kino_cell *cells;
    size_t width;
    int *freed;
} stored_rows;

static kino_cell cell_at(const void *context, size_t row, size_t column)
{
    const stored_rows *s = context;
    return s->cells[row * s->width + column];
}

static void stored_free(void *context)
{
    stored_rows *s = context;
    if (s->freed)
        ++*s->freed;
    free(s->cells);
    free(s);
}

void make_on_demand(kino__table *table, int *freed)
{
    size_t rows = kino__table_row_count(table), size = table->cells.count * sizeof(kino_cell);
    stored_rows *s = malloc(sizeof *s);
    REQUIRE(s != NULL);
    *s = (stored_rows){malloc(size + 1), table->column_count, freed};
    REQUIRE(s->cells != NULL);
    if (size)
        memcpy(s->cells, table->cells.items, size);
    table->cells.count = 0;
    kino__table_set_maker(table, (kino__row_maker){cell_at, stored_free, s, rows});
    REQUIRE(table->maker.cell != NULL && table->cells.items == NULL);
}
