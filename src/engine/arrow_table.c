/* arrow_table.c - a table of an answer as Arrow columns: its cells, row after row, are turned into
 * one array for each column.
 *
 * The type of a column is the definition's; where the cells do not keep that promise (and in
 * columns of SQL expressions, which have none), it is the narrowest that holds them all. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json_out.h"
#include "store/arrow_build.h"
#include "store/table.h"

/* What the cells of a column are. */
typedef enum cells {
    CELLS_NONE, /* all null */
    CELLS_INT,
    CELLS_NUMBER, /* some are real */
    CELLS_TEXT,   /* some are text */
} cells;

static cells look(const kino__table *table, size_t column)
{
    cells found = CELLS_NONE;
    size_t rows = kino__table_row_count(table);
    for (size_t row = 0; row < rows; row++) {
        kino_cell_kind kind = kino__table_at(table, row, column).kind;
        cells is = kind == KINO_CELL_TEXT    ? CELLS_TEXT
                   : kind == KINO_CELL_FLOAT ? CELLS_NUMBER
                   : kind == KINO_CELL_INT   ? CELLS_INT
                                             : CELLS_NONE;
        found = is > found ? is : found;
    }
    return found;
}

static cells promised(kino_type type)
{
    switch (type) {
    case KINO_TYPE_FLOAT:
    case KINO_TYPE_PERCENT:
        return CELLS_NUMBER;
    case KINO_TYPE_STRING:
    case KINO_TYPE_JSON:
        return CELLS_TEXT;
    case KINO_TYPE_ANY:
        return CELLS_NONE;
    default:
        return CELLS_INT;
    }
}

/* The type that holds all cells of a column. */
static kino_type type_of(const kino__table *table, size_t column)
{
    kino_type type = table->columns[column].type;
    cells promise = promised(type), found = look(table, column);
    if (type != KINO_TYPE_ANY && found <= promise)
        return type;
    return found == CELLS_TEXT || found == CELLS_NONE ? KINO_TYPE_STRING
           : found == CELLS_NUMBER                    ? KINO_TYPE_FLOAT
                                                      : KINO_TYPE_INT;
}

static const char *type_text(kino_type type)
{
    switch (type) {
#define KINO_TYPE_TEXT(name, text)                                                                 \
    case KINO_TYPE_##name:                                                                         \
        return text;
        KINO_TYPE_MAP(KINO_TYPE_TEXT)
#undef KINO_TYPE_TEXT
    }
    return "any";
}

static const char *format_of(kino_type type, int64_t origin_ns)
{
    switch (type) {
    case KINO_TYPE_FLOAT:
    case KINO_TYPE_PERCENT:
        return "g";
    case KINO_TYPE_STRING:
    case KINO_TYPE_JSON:
    case KINO_TYPE_ANY:
        return "u";
    case KINO_TYPE_BOOL:
        return "b";
    case KINO_TYPE_DURATION:
        return "tDn";
    case KINO_TYPE_TIME:
        return origin_ns == KINO_NO_TIME ? "tDn" : "tsn:";
    default:
        return "l";
    }
}

static const char *unit_of(const kino_column *column, kino_type type)
{
    if (type == KINO_TYPE_DURATION || type == KINO_TYPE_TIME)
        return "ns";
    if (column->unit)
        return column->unit;
    return type == KINO_TYPE_BYTES ? "bytes" : type == KINO_TYPE_PERCENT ? "percent" : NULL;
}

/* -- one column -- */

typedef struct reader {
    const kino__table *table;
    size_t column;
    kino_type type;
    int64_t origin_ns;
} reader;

static inline kino_cell cell_at(const reader *r, size_t row)
{
    return kino__table_at(r->table, row, r->column);
}

/* Marks the rows without a value; false when memory is out. */
static bool add_bitmap(const reader *r, kino__arrow_column *out)
{
    uint8_t *bits = kino__arrow_bitmap_new(out->length);
    if (!bits)
        return false;
    for (size_t i = 0; i < out->length; i++) {
        if (cell_at(r, i).kind != KINO_CELL_NULL)
            continue;
        bits[i / 8] &= (uint8_t) ~(1u << i % 8);
        out->null_count++;
    }
    out->buffers[0] = out->null_count ? bits : NULL;
    out->is_owned[0] = out->null_count > 0;
    if (!out->null_count)
        free(bits);
    return true;
}

/* A buffer of so many bytes as the values; NULL when memory is out. */
static void *add_values(kino__arrow_column *out, size_t size)
{
    void *values = calloc(size + 1, 1);
    out->buffers[1] = values;
    out->is_owned[1] = true;
    out->buffer_count = 2;
    return values;
}

static bool fill_ints(const reader *r, kino__arrow_column *out)
{
    int64_t *values = add_values(out, out->length * sizeof *values);
    int64_t shift = r->type == KINO_TYPE_TIME && r->origin_ns != KINO_NO_TIME ? r->origin_ns : 0;
    for (size_t i = 0; values && i < out->length; i++) {
        kino_cell cell = cell_at(r, i);
        if (cell.kind == KINO_CELL_INT) /* times of bad traces may be anything: they wrap */
            values[i] = (int64_t)((uint64_t)cell.value.integer + (uint64_t)shift);
    }
    return values != NULL;
}

static bool fill_reals(const reader *r, kino__arrow_column *out)
{
    double *values = add_values(out, out->length * sizeof *values);
    for (size_t i = 0; values && i < out->length; i++) {
        kino_cell cell = cell_at(r, i);
        values[i] = cell.kind == KINO_CELL_FLOAT ? cell.value.real
                    : cell.kind == KINO_CELL_INT ? (double)cell.value.integer
                                                 : 0;
    }
    return values != NULL;
}

static bool fill_bools(const reader *r, kino__arrow_column *out)
{
    uint8_t *bits = add_values(out, out->length / 8 + 1);
    for (size_t i = 0; bits && i < out->length; i++) {
        kino_cell cell = cell_at(r, i);
        if (cell.kind == KINO_CELL_INT && cell.value.integer)
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return bits != NULL;
}

/* Numbers among texts are written as SQL and JSON write them. */
static void add_text(kino__arrow_texts *texts, const kino_cell *cell, kino__buffer *scratch)
{
    scratch->size = 0;
    char real[32];
    if (cell->kind == KINO_CELL_TEXT) {
        kino__arrow_texts_add(texts, cell->value.text);
        return;
    }
    if (cell->kind == KINO_CELL_INT)
        kino__buffer_printf(scratch, "%lld", (long long)cell->value.integer);
    else if (cell->kind == KINO_CELL_FLOAT)
        kino__buffer_add(scratch, (kino_str){real, kino__double_to_text(cell->value.real, real)});
    kino__arrow_texts_add(texts, kino__buffer_str(scratch));
}

static kino_status fill_texts(const reader *r, kino__arrow_column *out, kino_error *err)
{
    kino__arrow_texts texts;
    kino__buffer scratch = {0};
    if (!kino__arrow_texts_init(&texts, out->length))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < out->length; i++) {
        kino_cell cell = cell_at(r, i);
        add_text(&texts, &cell, &scratch);
    }
    texts.bytes.failed |= scratch.failed;
    kino__buffer_deinit(&scratch);
    kino_status st = kino__arrow_texts_finish(&texts, out, err);
    kino__arrow_texts_deinit(&texts);
    return st;
}

static kino_status make_column(const reader *r, kino__arrow_column *out, kino_error *err)
{
    *out = (kino__arrow_column){.length = kino__table_row_count(r->table)};
    bool ok = add_bitmap(r, out);
    if (!ok)
        return kino__fail_nomem(err);
    switch (r->type) {
    case KINO_TYPE_STRING:
    case KINO_TYPE_JSON:
    case KINO_TYPE_ANY:
        return fill_texts(r, out, err);
    case KINO_TYPE_FLOAT:
    case KINO_TYPE_PERCENT:
        ok = fill_reals(r, out);
        break;
    case KINO_TYPE_BOOL:
        ok = fill_bools(r, out);
        break;
    default:
        ok = fill_ints(r, out);
        break;
    }
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- the table -- */

kino_status kino_result_arrow_schema(const kino_result *result, size_t table,
                                     struct ArrowSchema *out, kino_error *err)
{
    *out = (struct ArrowSchema){0};
    kino__error_clear(err);
    if (table >= result->tables.count)
        return kino__fail(err, KINO_NOT_FOUND, "result '%s' has no table %zu", result->name, table);
    const kino__table *t = result->tables.items[table];
    int64_t origin_ns = result->input.origin_ns;
    kino__arrow_field *fields = calloc(t->column_count + 1, sizeof *fields);
    for (size_t i = 0; fields && i < t->column_count; i++) {
        kino_type type = type_of(t, i);
        fields[i] = (kino__arrow_field){.format = format_of(type, origin_ns),
                                        .name = t->columns[i].name,
                                        .type = type_text(t->columns[i].type),
                                        .unit = unit_of(&t->columns[i], type),
                                        .help = t->columns[i].help};
    }
    kino__arrow_about about = {t->name, origin_ns};
    bool ok = fields && kino__arrow_schema_make(out, fields, t->column_count, &about);
    free(fields);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status make_batch(const kino_result *result, const kino__table *t,
                              struct ArrowArray *out, kino_error *err)
{
    kino__arrow_column *columns = calloc(t->column_count + 1, sizeof *columns);
    kino_status st = columns ? KINO_OK : kino__fail_nomem(err);
    for (size_t i = 0; st == KINO_OK && i < t->column_count; i++) {
        reader r = {t, i, type_of(t, i), result->input.origin_ns};
        st = make_column(&r, &columns[i], err);
    }
    if (st == KINO_OK &&
        !kino__arrow_batch_make(out, columns, t->column_count, kino__table_row_count(t), NULL))
        st = kino__fail_nomem(err);
    for (size_t i = 0; columns && i < t->column_count; i++)
        kino__arrow_column_deinit(&columns[i]);
    free(columns);
    return st;
}

kino_status kino_result_arrow(const kino_result *result, size_t table, struct ArrowArrayStream *out,
                              kino_error *err)
{
    *out = (struct ArrowArrayStream){0};
    struct ArrowSchema schema;
    KINO_TRY(kino_result_arrow_schema(result, table, &schema, err));
    struct ArrowArray *batch = calloc(1, sizeof *batch);
    kino_status st =
        batch ? make_batch(result, result->tables.items[table], batch, err) : kino__fail_nomem(err);
    if (st != KINO_OK) {
        free(batch);
        schema.release(&schema);
        return st;
    }
    return kino__arrow_stream_make(out, &schema, batch, 1) ? KINO_OK : kino__fail_nomem(err);
}
