/* own_tables.h - tables that a command fills itself, row after row, and shows together: those of
 * kino trigger, kino status, kino doctor and kino peaks. */
#ifndef KINO__CLI_OWN_TABLES_H
#define KINO__CLI_OWN_TABLES_H

#include "base/vec.h"
#include "cli/cli.h"

typedef struct kino__cells {
    KINO__VEC(kino_cell) items;
    bool failed;
} kino__cells;

void kino__cells_add_int(kino__cells *cells, int64_t value);     /* KINO_NO_INT: null */
void kino__cells_add_real(kino__cells *cells, double value);     /* NaN: null */
void kino__cells_add_text(kino__cells *cells, const char *text); /* NULL: null; borrowed */

enum { KINO__OWN_TABLES = 3 };

/* All zero at first. */
typedef struct kino__own_tables {
    kino_table_data data[KINO__OWN_TABLES];
    kino__cells cells[KINO__OWN_TABLES];
    size_t count;
} kino__own_tables;

/* One more table; the caller adds its cells, and sets what else is special about it in its data.
 * The columns are borrowed. */
kino__cells *kino__own_tables_add(kino__own_tables *tables, const char *name, const char *title,
                                  const kino_column *columns, uint32_t count);
kino_table_data *kino__own_tables_last(kino__own_tables *tables);
/* Hides those of the columns (bits) of the last table that are null in each of its rows. */
void kino__own_tables_hide_nulls(kino__own_tables *tables, uint64_t columns);

/* Shows them as the answer `name`, with notes (ends with NULL; or NULL). Returns the exit code,
 * everything reported. */
int kino__own_tables_show(kino__own_tables *tables, const char *name, const char *const *notes,
                          const kino__common_options *options);
void kino__own_tables_deinit(kino__own_tables *tables);

#endif
