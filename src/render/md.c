/* md.c - answers as Markdown tables, for issues and pages. Units as on the terminal; every table
 * has its heading. */
#include "base/error.h"
#include "render/render.h"
#include "render/report.h"
#include "render/units.h"

/* Text inside a cell: a bar would end it, and a backslash, backtick, star, underscore or angle
 * would mean something. */
void kino__md_add_text(kino__buffer *out, kino_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] && strchr("|\\`*_<>[]", text.data[i]))
            kino__buffer_add(out, KINO__STR("\\"));
        kino__buffer_add(out, (kino_str){text.data + i, 1});
    }
}

static void add_row(kino__render *render, kino__buffer *scratch, const kino_column *columns,
                    size_t count, uint64_t hidden, const kino_cell *cells, bool exact)
{
    kino__buffer *out = &render->text;
    kino__buffer_add(out, KINO__STR("|"));
    for (size_t i = 0; i < count; i++) {
        if (i < 64 && (hidden >> i & 1))
            continue;
        scratch->size = 0;
        kino__format_cell(scratch, &columns[i], &cells[i], exact);
        kino__buffer_add(out, KINO__STR(" "));
        kino__md_add_text(out, kino__buffer_str(scratch));
        kino__buffer_add(out, KINO__STR(" |"));
    }
    kino__buffer_add(out, KINO__STR("\n"));
}

static void add_header(kino__render *render, const kino_column *columns, size_t count,
                       uint64_t hidden)
{
    kino__buffer *out = &render->text;
    for (int line = 0; line < 2; line++) {
        kino__buffer_add(out, KINO__STR("|"));
        for (size_t i = 0; i < count; i++) {
            const kino_cell none = kino__cell_null();
            if (i < 64 && (hidden >> i & 1))
                continue;
            if (line == 1) {
                bool is_right = kino__is_number(&columns[i], &none);
                kino__buffer_add(out, is_right ? KINO__STR("---:|") : KINO__STR("---|"));
                continue;
            }
            kino__buffer_add(out, KINO__STR(" "));
            kino__md_add_text(out, kino__str_from(columns[i].name));
            kino__buffer_add(out, KINO__STR(" |"));
        }
        kino__buffer_add(out, KINO__STR("\n"));
    }
}

static kino_status add_rows(kino__render *render, kino_rows *rows, uint64_t hidden, bool exact,
                            kino_error *err)
{
    size_t count = kino_rows_column_count(rows);
    const kino_column *columns = kino_rows_columns(rows);
    add_header(render, columns, count, hidden);
    kino__buffer scratch = {0};
    kino_status st = KINO_OK;
    const kino_cell *cells = NULL;
    for (uint64_t n = 0; st == KINO_OK; n++) {
        st = kino_rows_next(rows, &cells, err);
        if (st != KINO_OK || !cells || (render->limit && n == render->limit))
            break;
        add_row(render, &scratch, columns, count, hidden, cells, exact);
        st = scratch.failed ? kino__fail_nomem(err) : kino__render_flush(render, false, err);
    }
    kino__buffer_deinit(&scratch);
    if (st == KINO_OK && cells)
        kino__buffer_add(&render->text, KINO__STR("\n*... more rows (--limit 0 shows all)*\n"));
    return st;
}

/* The columns of a table that people need not see, as bits. */
static uint64_t hidden_columns(const kino__table *table)
{
    uint64_t hidden = 0;
    for (size_t i = 0; i < table->column_count && i < 64; i++)
        if (!kino__column_is_for_people(table, i))
            hidden |= 1ull << i;
    return hidden;
}

/* A table of one row that is meant to be read downwards. */
static kino_status add_record(kino__render *render, const kino__table *table, kino_error *err)
{
    kino__buffer *out = &render->text;
    kino__buffer scratch = {0};
    kino__buffer_add(out, KINO__STR("| | |\n|---|---|\n"));
    for (size_t i = 0; i < table->column_count; i++) {
        kino_cell cell = kino__table_at(table, 0, i);
        if (!kino__column_is_for_people(table, i))
            continue;
        bool is_null = cell.kind == KINO_CELL_NULL;
        scratch.size = 0;
        kino__format_cell(&scratch, &table->columns[i], &cell, false);
        kino__buffer_add(out, KINO__STR("| "));
        kino__md_add_text(out, kino__str_from(table->columns[i].name));
        kino__buffer_add(out, KINO__STR(" | "));
        kino__md_add_text(out, is_null ? KINO__STR("not available") : kino__buffer_str(&scratch));
        kino__buffer_add(out, KINO__STR(" |\n"));
    }
    bool failed = scratch.failed;
    kino__buffer_deinit(&scratch);
    return failed ? kino__fail_nomem(err) : kino__render_flush(render, false, err);
}

kino_status kino__render_md_table(kino__render *render, const kino__table *table, kino_error *err)
{
    kino__buffer scratch = {0};
    kino__row_room room;
    uint64_t hidden = hidden_columns(table), rows = kino__table_row_count(table);
    add_header(render, table->columns, table->column_count, hidden);
    for (uint64_t i = 0; i < rows && (!render->limit || i < render->limit); i++)
        add_row(render, &scratch, table->columns, table->column_count, hidden,
                kino__table_row(table, i, &room), false);
    bool failed = scratch.failed;
    kino__buffer_deinit(&scratch);
    return failed ? kino__fail_nomem(err) : kino__render_flush(render, false, err);
}

static kino_status render_result(kino__render *render, const kino_result *result, kino_error *err)
{
    kino__buffer *out = &render->text;
    bool is_first = true;
    for (size_t i = 0; i < result->tables.count; i++) {
        const kino__table *table = result->tables.items[i];
        if (!kino__table_is_shown(table))
            continue;
        kino__buffer_printf(out, "%s## %s\n\n", is_first ? "" : "\n",
                            table->title ? table->title : table->name);
        is_first = false;
        if (kino__table_row_count(table) == 0) {
            kino__buffer_printf(out, "%s\n", table->empty_text);
            continue;
        }
        if ((table->flags & KINO__TABLE_FOLD) && kino__table_row_count(table) == 1) {
            KINO_TRY(add_record(render, table, err));
            continue;
        }
        kino_rows *rows;
        KINO_TRY(kino_result_rows(result, i, &rows, err));
        kino_status st = add_rows(render, rows, hidden_columns(table), false, err);
        kino_rows_free(rows);
        KINO_TRY(st);
    }
    for (size_t i = 0; i < result->notes.count; i++) {
        kino__buffer_add(out, i ? KINO__STR("- ") : KINO__STR("\n## Notes\n\n- "));
        kino__md_add_text(out, kino__render_note(render, &result->notes.items[i]));
        kino__buffer_add(out, KINO__STR("\n"));
    }
    return KINO_OK;
}

static kino_status render_rows(kino__render *render, const kino_result *frame, kino_rows *rows,
                               kino_error *err)
{
    (void)frame;
    return add_rows(render, rows, 0, true, err);
}

const kino__renderer_def kino__renderer_md = {
    .name = "md",
    .help = "Markdown tables",
    .result = render_result,
    .rows = render_rows,
};
