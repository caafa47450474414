/* table.c - result tables in memory, and the public face of row streams. */
#include "store/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/str.h"

size_t kino_rows_column_count(const kino_rows *rows)
{
    return rows->column_count;
}

const kino_column *kino_rows_columns(const kino_rows *rows)
{
    return rows->columns;
}

kino_status kino_rows_next(kino_rows *rows, const kino_cell **cells, kino_error *err)
{
    *cells = NULL;
    kino__error_clear(err);
    return rows->next(rows, cells, err);
}

void kino_rows_free(kino_rows *rows)
{
    if (rows)
        rows->free(rows);
}

/* -- reading a finished table from the front -- */

typedef struct table_rows {
    kino_rows rows;
    const kino__table *table;
    size_t at, count; /* rows */
    kino__row_room room;
} table_rows;

static kino_status table_next(kino_rows *rows, const kino_cell **cells, kino_error *err)
{
    (void)err;
    table_rows *self = (table_rows *)rows;
    if (self->at < self->count)
        *cells = kino__table_row(self->table, self->at++, &self->room);
    return KINO_OK;
}

static void table_rows_free(kino_rows *rows)
{
    free(rows);
}

kino_status kino_result_rows(const kino_result *result, size_t table, kino_rows **out,
                             kino_error *err)
{
    *out = NULL;
    if (table >= result->tables.count)
        return kino__fail(err, KINO_NOT_FOUND, "result '%s' has no table %zu", result->name, table);
    table_rows *self = malloc(sizeof *self);
    if (!self)
        return kino__fail_nomem(err);
    const kino__table *t = result->tables.items[table];
    *self = (table_rows){.rows = {t->column_count, t->columns, table_next, table_rows_free},
                         .table = t,
                         .count = kino__table_row_count(t)};
    *out = &self->rows;
    return KINO_OK;
}

const char *kino_result_name(const kino_result *result)
{
    return result->name;
}

size_t kino_result_table_count(const kino_result *result)
{
    return result->tables.count;
}

const char *kino_result_table_name(const kino_result *result, size_t table)
{
    return table < result->tables.count ? result->tables.items[table]->name : NULL;
}

size_t kino_result_row_count(const kino_result *result, size_t table)
{
    return table < result->tables.count ? kino__table_row_count(result->tables.items[table]) : 0;
}

const char *kino_result_note(const kino_result *result, size_t index)
{
    return index < result->notes.count ? result->notes.items[index].text : NULL;
}

bool kino_result_note_hint(const kino_result *result, size_t index, kino_hint *hint)
{
    bool has_hint = index < result->notes.count && result->notes.items[index].hint.code;
    if (has_hint)
        *hint = result->notes.items[index].hint;
    return has_hint;
}

bool kino_result_param(const kino_result *result, size_t index, const char **name, kino_cell *value)
{
    if (index >= result->params.count)
        return false;
    *name = result->params.items[index].name;
    *value = result->params.items[index].value;
    return true;
}

int64_t kino_result_origin(const kino_result *result)
{
    return result->input.origin_ns;
}

void kino__table_clear(kino__table *table)
{
    kino__vec_deinit(&table->cells);
    kino__vec_deinit(&table->lists);
    if (table->maker.cell)
        table->maker.free(table->maker.context);
    table->maker = (kino__row_maker){0};
}

void kino_result_free(kino_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->tables.count; i++)
        kino__table_clear(result->tables.items[i]); /* the table itself is in the arena */
    kino__vec_deinit(&result->tables);
    kino__vec_deinit(&result->notes);
    kino__vec_deinit(&result->params);
    kino__arena_deinit(&result->arena);
    free(result);
}

/* -- building -- */

/* A terminated copy in the arena; "" and failed when memory is out, NULL for NULL. */
static const char *keep(kino_result *result, const char *text)
{
    if (!text)
        return NULL;
    kino_str copy = kino__arena_copy(&result->arena, kino__str_from(text));
    if (!copy.data)
        result->failed = true;
    return copy.data ? copy.data : "";
}

kino_result *kino__result_new(const char *name)
{
    kino_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    kino__arena_init(&result->arena, NULL);
    result->input.origin_ns = KINO_NO_TIME;
    result->name = keep(result, name);
    return result;
}

kino_status kino__result_finish(kino_result *result, kino_result **out, kino_error *err)
{
    *out = NULL;
    if (!result || result->failed) {
        kino_result_free(result);
        return kino__fail_nomem(err);
    }
    *out = result;
    return KINO_OK;
}

void kino__result_set_input(kino_result *result, const kino__input *input)
{
    if (!result)
        return;
    result->input = *input;
    result->has_input = true;
    result->input.path = keep(result, input->path ? input->path : "");
    result->input.ranks = NULL;
    result->input.rank_count = 0;
    if (input->rank_count == 0)
        return;
    int64_t *ranks = kino__arena_alloc(&result->arena, input->rank_count * sizeof *ranks);
    if (!ranks) {
        result->failed = true;
        return;
    }
    memcpy(ranks, input->ranks, input->rank_count * sizeof *ranks);
    result->input.ranks = ranks;
    result->input.rank_count = input->rank_count;
}

/* printf into the arena; data is NULL (and the result failed) when memory is out. */
static kino_str keep_format(kino_result *result, kino_hint *hint, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = kino__hint_vformat(NULL, 0, hint, format, again);
    va_end(again);
    char *text = size < 0 ? NULL : kino__arena_alloc(&result->arena, (size_t)size + 1);
    if (!text) {
        result->failed = true;
        return (kino_str){NULL, 0};
    }
    (void)kino__hint_vformat(text, (size_t)size + 1, hint, format, args);
    return (kino_str){text, (size_t)size};
}

static void note(kino_result *result, kino_hint hint, const char *format, va_list args)
{
    kino_str text = keep_format(result, &hint, format, args);
    kino__note *slot = text.data ? kino__vec_add(&result->notes) : NULL;
    if (slot)
        *slot = (kino__note){text.data, hint, 0};
    else
        result->failed = true;
}

void kino__result_note(kino_result *result, const char *format, ...)
{
    if (!result)
        return;
    va_list args;
    va_start(args, format);
    note(result, KINO__NO_HINT, format, args);
    va_end(args);
}

void kino__result_note_hinted(kino_result *result, kino_hint hint, const char *format, ...)
{
    if (!result)
        return;
    va_list args;
    va_start(args, format);
    note(result, hint, format, args);
    va_end(args);
}

void kino__result_lacks(kino_result *result, const char *what, const char *format, ...)
{
    if (!result)
        return;
    kino_hint hint = kino__hint(KINO_HINT_LACKS, what, "");
    va_list args;
    va_start(args, format);
    kino_str rest = keep_format(result, &hint, format, args);
    va_end(args);
    if (rest.data)
        kino__result_note_hinted(result, hint, "%s not available%s", what, rest.data);
}

void kino__result_add_note(kino_result *result, const kino__note *made)
{
    kino__note *slot = result ? kino__vec_add(&result->notes) : NULL;
    if (slot)
        *slot = (kino__note){keep(result, made->text), made->hint, 0};
    else if (result)
        result->failed = true;
}

/* The cell with its text copied into the arena. */
static kino_cell keep_cell(kino_result *result, kino_cell cell)
{
    if (cell.kind != KINO_CELL_TEXT)
        return cell;
    cell.value.text = kino__arena_copy(&result->arena, cell.value.text);
    if (cell.value.text.data)
        return cell;
    result->failed = true;
    return kino__cell_null();
}

void kino__result_param(kino_result *result, const char *name, kino_cell value)
{
    kino__result_param_typed(result, name, KINO_TYPE_ANY, value);
}

void kino__result_param_typed(kino_result *result, const char *name, kino_type type,
                              kino_cell value)
{
    if (!result)
        return;
    kino__param *slot = kino__vec_add(&result->params);
    if (slot)
        *slot = (kino__param){keep(result, name), keep_cell(result, value), type};
    else
        result->failed = true;
}

static const kino_column *keep_columns(kino_result *result, const kino_column *columns,
                                       size_t count)
{
    size_t size;
    kino_column *copy = NULL;
    if (kino__mul_size(count, sizeof *copy, &size))
        copy = kino__arena_alloc(&result->arena, size);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = (kino_column){keep(result, columns[i].name), columns[i].type,
                                keep(result, columns[i].unit), keep(result, columns[i].help)};
    return copy;
}

kino__table *kino__result_add_table(kino_result *result, const char *name,
                                    const kino_column *columns, size_t column_count)
{
    if (!result)
        return NULL;
    const kino_column *kept = keep_columns(result, columns, column_count);
    kino__table *table = kept ? kino__arena_alloc(&result->arena, sizeof *table) : NULL;
    kino__table **slot = table ? kino__vec_add(&result->tables) : NULL;
    if (!slot) {
        result->failed = true;
        return NULL;
    }
    *table = (kino__table){.result = result,
                           .name = keep(result, name),
                           .column_count = column_count,
                           .columns = kept};
    *slot = table;
    return table;
}

void kino__table_describe(kino__table *table, unsigned flags, const char *title,
                          const char *empty_text)
{
    if (!table)
        return;
    table->flags = flags;
    table->title = keep(table->result, title);
    table->empty_text = keep(table->result, empty_text);
}

/* Without copying: the text is in the arena already. */
static void add_kept(kino__table *table, kino_cell cell)
{
    kino_cell *slot = kino__vec_add(&table->cells);
    if (slot)
        *slot = cell;
    else
        table->result->failed = true;
}

void kino__table_add(kino__table *table, kino_cell cell)
{
    if (table)
        add_kept(table, keep_cell(table->result, cell));
}

void kino__table_add_null(kino__table *table)
{
    kino__table_add(table, kino__cell_null());
}

void kino__table_add_int(kino__table *table, int64_t value)
{
    kino__table_add(table, value == KINO_NO_INT ? kino__cell_null() : kino__cell_int(value));
}

void kino__table_add_real(kino__table *table, double value)
{
    kino__table_add(table, isfinite(value) ? kino__cell_real(value) : kino__cell_null());
}

void kino__table_add_text(kino__table *table, kino_str value)
{
    kino__table_add(table, kino__cell_text(value));
}

void kino__table_add_format(kino__table *table, const char *format, ...)
{
    if (!table)
        return;
    va_list args;
    va_start(args, format);
    kino_hint none = KINO__NO_HINT;
    kino_str text = keep_format(table->result, &none, format, args);
    va_end(args);
    add_kept(table, text.data ? kino__cell_text(text) : kino__cell_null());
}

void kino__table_set_maker(kino__table *table, kino__row_maker maker)
{
    if (table && table->column_count <= KINO__MADE_COLUMNS && table->cells.count == 0) {
        kino__table_clear(table);
        table->maker = maker;
        return;
    }
    if (table)
        table->result->failed = true;
    maker.free(maker.context);
}

/* The numbers as the table keeps them, for the cell that comes next. */
static void keep_list(kino__table *table, const int64_t *ids, size_t count)
{
    int64_t *copy = kino__arena_alloc(&table->result->arena, count * sizeof *copy);
    kino__listed_cell *slot = copy ? kino__vec_add(&table->lists) : NULL;
    if (!slot) {
        table->result->failed = true;
        return;
    }
    memcpy(copy, ids, count * sizeof *copy);
    *slot = (kino__listed_cell){table->cells.count, {copy, count}};
}

void kino__table_add_ids(kino__table *table, const int64_t *ids, size_t count)
{
    kino__buffer text = {0};
    if (!table)
        return;
    kino__buffer_add(&text, KINO__STR("["));
    for (size_t i = 0; i < count; i++)
        kino__buffer_printf(&text, "%s%lld", i ? ", " : "", (long long)ids[i]);
    kino__buffer_add(&text, KINO__STR("]"));
    if (count)
        keep_list(table, ids, count);
    table->result->failed |= text.failed;
    kino__table_add_text(table, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

kino__id_list kino__table_ids(const kino__table *table, size_t row, size_t column)
{
    size_t cell = row * table->column_count + column, low = 0, high = table->lists.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table->lists.items[middle].cell < cell)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < table->lists.count && table->lists.items[low].cell == cell;
    return is_there ? table->lists.items[low].list : (kino__id_list){NULL, 0};
}
