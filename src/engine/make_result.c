/* make_result.c - answers that are made outside of the engine: the state of this machine, of a
 * daemon. They get the same renderings as every other answer. */
#include "base/error.h"
#include "base/sized.h"
#include "store/table.h"

static void add_table(kino_result *result, const kino_table_data *given)
{
    kino_table_data data = KINO_TABLE_DATA_INIT;
    KINO__TAKE_OPTIONS(data, given);
    kino__table *table = kino__result_add_table(result, data.name, data.columns, data.column_count);
    kino__table_describe(table, data.fold ? KINO__TABLE_FOLD : 0, data.title, data.empty_text);
    if (table)
        table->hidden = data.hidden;
    for (size_t i = 0; i < data.row_count * data.column_count; i++)
        kino__table_add(table, data.cells[i]);
}

kino_status kino_result_make(const char *name, const kino_table_data *const *tables,
                             size_t table_count, const char *const *notes, kino_result **out,
                             kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_result *result = kino__result_new(name);
    for (size_t i = 0; i < table_count; i++)
        add_table(result, tables[i]);
    for (size_t i = 0; notes && notes[i]; i++)
        kino__result_note(result, "%s", notes[i]);
    return kino__result_finish(result, out, err);
}
