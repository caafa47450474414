/* table.c - answers for the terminal: aligned columns, units, no more width than there is.
 *
 * A grid is laid out over the first rows (all rows of a result; 1000 of a stream, whose later rows
 * may then be wider than their column). When it is wider than the terminal, text columns are
 * shortened first ("aten::co…_bias"), and then columns are left out from the right and named below.
 *
 * Everything from a trace goes through kino__format_text: no escape sequence of a file reaches the
 * terminal. */
#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "render/render.h"
#include "render/report.h"
#include "render/units.h"

/* Texts are shortened to no less than this before a column is left out; what a query asked for is
 * shown longer. */
enum { LOOK_AHEAD = 1000, GAP = 2, LEAST_TEXT = 24, LEAST_EXACT = 12 };

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define RESET "\033[0m"

typedef struct grid_column {
    const kino_column *column;
    size_t index;   /* among the cells of a row */
    size_t width;   /* shown */
    bool is_right;  /* numbers */
    bool is_number; /* no text seen */
} grid_column;

/* A table being shown: formatted rows that wait for the widths to be known. */
typedef struct grid {
    kino__render *render;
    bool exact;
    unsigned indent;
    KINO__VEC(grid_column) columns;
    size_t left_out;          /* columns at the end that do not fit */
    KINO__VEC(kino_str) rows; /* formatted cells of the columns */
    kino__arena arena;
    kino__arena_mark start; /* to go back to once rows are written; its block is never given back */
    kino__buffer scratch;
} grid;

static void grid_init(grid *g, kino__render *render, unsigned indent, bool exact)
{
    *g = (grid){.render = render, .indent = indent, .exact = exact};
    kino__arena_init(&g->arena, NULL);
    (void)kino__arena_alloc(&g->arena, 1);
    g->start = kino__arena_get_mark(&g->arena);
}

static void grid_deinit(grid *g)
{
    kino__vec_deinit(&g->columns);
    kino__vec_deinit(&g->rows);
    kino__arena_deinit(&g->arena);
    kino__buffer_deinit(&g->scratch);
}

static void add_blanks(kino__buffer *out, size_t count)
{
    kino__buffer_printf(out, "%*s", (int)count, "");
}

static void add_styled(kino__render *render, const char *style, kino_str text)
{
    if (render->color)
        kino__buffer_add(&render->text, kino__str_from(style));
    kino__buffer_add(&render->text, text);
    if (render->color)
        kino__buffer_add(&render->text, KINO__STR(RESET));
}

static bool grid_add_column(grid *g, const kino_column *column, size_t index)
{
    grid_column *slot = kino__vec_add(&g->columns);
    if (slot)
        *slot = (grid_column){column, index, kino__text_width(kino__str_from(column->name)), false,
                              true};
    return slot != NULL;
}

/* Formats a row and widens the columns; false when memory is out. */
static bool grid_add_row(grid *g, const kino_cell *cells)
{
    for (size_t i = 0; i < g->columns.count; i++) {
        grid_column *c = &g->columns.items[i];
        const kino_cell *cell = &cells[c->index];
        g->scratch.size = 0;
        kino__format_cell(&g->scratch, c->column, cell, g->exact);
        kino_str *slot = kino__vec_add(&g->rows);
        if (g->scratch.failed || !slot)
            return false;
        *slot = kino__arena_copy(&g->arena, kino__buffer_str(&g->scratch));
        if (!slot->data)
            return false;
        size_t width = kino__text_width(*slot);
        c->width = width > c->width ? width : c->width;
        if (cell->kind != KINO_CELL_NULL && !kino__is_number(c->column, cell))
            c->is_number = false;
    }
    return true;
}

static size_t least_width(const grid *g, const grid_column *c)
{
    size_t least = g->exact ? LEAST_EXACT : LEAST_TEXT;
    return c->is_right || c->width < least ? c->width : least;
}

/* How wide the columns that are not left out are; shortened: at their least. */
static size_t total_width(const grid *g, bool shortened)
{
    size_t total = g->indent;
    for (size_t i = 0; i < g->columns.count - g->left_out; i++) {
        const grid_column *c = &g->columns.items[i];
        total += (shortened ? least_width(g, c) : c->width) + (i ? GAP : 0);
    }
    return total;
}

/* The widest text column that can give room, or NULL. */
static grid_column *widest_text(grid *g)
{
    grid_column *best = NULL;
    for (size_t i = 0; i < g->columns.count - g->left_out; i++) {
        grid_column *c = &g->columns.items[i];
        if (c->width > least_width(g, c) && (!best || c->width > best->width))
            best = c;
    }
    return best;
}

static void grid_fit(grid *g)
{
    for (size_t i = 0; i < g->columns.count; i++) {
        grid_column *c = &g->columns.items[i];
        kino_type type = c->column->type;
        c->is_right = c->is_number && type != KINO_TYPE_STRING && type != KINO_TYPE_JSON &&
                      type != KINO_TYPE_BOOL;
    }
    size_t width = g->render->width;
    if (width == 0)
        return;
    while (total_width(g, true) > width && g->columns.count - g->left_out > 1)
        g->left_out++;
    grid_column *c;
    while (total_width(g, false) > width && (c = widest_text(g)))
        c->width--;
}

static void grid_add_cell(grid *g, const grid_column *c, kino_str text, bool is_last)
{
    kino__buffer *out = &g->render->text;
    size_t width = kino__text_width(text);
    size_t blanks = width < c->width ? c->width - width : 0;
    if (c->is_right)
        add_blanks(out, blanks);
    if (g->render->width)
        kino__format_shortened(out, text, c->width);
    else
        kino__buffer_add(out, text);
    if (!is_last)
        add_blanks(out, (c->is_right ? 0 : blanks) + GAP);
}

static void grid_write_line(grid *g, const kino_str *texts)
{
    size_t count = g->columns.count - g->left_out;
    add_blanks(&g->render->text, g->indent);
    for (size_t i = 0; i < count; i++)
        grid_add_cell(g, &g->columns.items[i], texts[i], i + 1 == count);
    kino__buffer_add(&g->render->text, KINO__STR("\n"));
}

static void grid_write_header(grid *g)
{
    kino__buffer *out = &g->render->text;
    size_t count = g->columns.count - g->left_out;
    if (g->render->color)
        kino__buffer_add(out, KINO__STR(DIM));
    add_blanks(out, g->indent);
    for (size_t i = 0; i < count; i++)
        grid_add_cell(g, &g->columns.items[i], kino__str_from(g->columns.items[i].column->name),
                      i + 1 == count);
    kino__buffer_add(out, KINO__STR("\n"));
    add_blanks(out, g->indent);
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n < g->columns.items[i].width; n++)
            kino__buffer_add(out, KINO__STR("─"));
        if (i + 1 < count)
            add_blanks(out, GAP);
    }
    if (g->render->color)
        kino__buffer_add(out, KINO__STR(RESET));
    kino__buffer_add(out, KINO__STR("\n"));
}

/* Writes the rows gathered so far and forgets them. */
static void grid_write_rows(grid *g)
{
    for (size_t i = 0; i + g->columns.count <= g->rows.count; i += g->columns.count)
        grid_write_line(g, &g->rows.items[i]);
    g->rows.count = 0;
    kino__arena_rewind(&g->arena, g->start);
}

static void grid_write_left_out(grid *g)
{
    if (g->left_out == 0)
        return;
    kino__buffer *out = &g->scratch;
    out->size = 0;
    add_blanks(out, g->indent);
    kino__buffer_add(out, KINO__STR("(too narrow for:"));
    for (size_t i = g->columns.count - g->left_out; i < g->columns.count; i++)
        kino__buffer_printf(out, "%s %s", i + g->left_out > g->columns.count ? "," : "",
                            g->columns.items[i].column->name);
    kino__buffer_add(out, KINO__STR(")"));
    if (g->render->color)
        kino__buffer_add(&g->render->text, KINO__STR(DIM));
    kino__format_shortened(&g->render->text, kino__buffer_str(out), g->render->width);
    if (g->render->color)
        kino__buffer_add(&g->render->text, KINO__STR(RESET));
    kino__buffer_add(&g->render->text, KINO__STR("\n"));
}

static void write_more(kino__render *render, unsigned indent, uint64_t more)
{
    char count[64] = "";
    if (more != UINT64_MAX)
        (void)snprintf(count, sizeof count, "%" PRIu64 " ", more);
    char line[128];
    int size = snprintf(line, sizeof line, "%*s... %smore row%s (--limit 0 shows all)", (int)indent,
                        "", count, more == 1 ? "" : "s");
    add_styled(render, DIM, (kino_str){line, (size_t)size});
    kino__buffer_add(&render->text, KINO__STR("\n"));
}

/* -- results -- */

static void write_folded_line(kino__render *render, const kino__table *table, size_t column,
                              size_t width)
{
    kino__buffer *out = &render->text;
    const kino_column *c = &table->columns[column];
    const kino_cell cell = kino__table_at(table, 0, column);
    add_blanks(out, 2);
    if (render->color)
        kino__buffer_add(out, KINO__STR(DIM));
    for (const char *letter = c->name; *letter; letter++)
        kino__buffer_add(out, *letter == '_' ? KINO__STR(" ") : (kino_str){letter, 1});
    if (render->color)
        kino__buffer_add(out, KINO__STR(RESET));
    add_blanks(out, width - strlen(c->name) + GAP);
    if (cell.kind == KINO_CELL_NULL)
        add_styled(render, DIM, KINO__STR("not available"));
    else
        kino__format_cell(out, c, &cell, false);
    kino__buffer_add(out, KINO__STR("\n"));
}

/* Columns with one value for all rows, as lines; the others go into the grid. */
static bool fold(grid *g, const kino__table *table)
{
    size_t width = 0, rows = kino__table_row_count(table), start = g->render->text.size;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && width && rows > 1)
            kino__buffer_printf(&g->render->text, "  the same for all %zu:\n", rows);
        for (size_t i = 0; i < table->column_count; i++) {
            bool is_folded =
                (table->flags & KINO__TABLE_FOLD) && kino__column_is_constant(table, i);
            if (!kino__column_is_for_people(table, i))
                continue;
            size_t length = strlen(table->columns[i].name);
            if (pass == 0 && is_folded)
                width = length > width ? length : width;
            else if (pass == 1 && is_folded)
                write_folded_line(g->render, table, i, width);
            else if (pass == 1 && !grid_add_column(g, &table->columns[i], i))
                return false;
        }
    }
    if (g->columns.count && g->render->text.size > start)
        kino__buffer_add(&g->render->text, KINO__STR("\n"));
    return true;
}

static bool write_grid(grid *g, const kino__table *table, bool tells_more)
{
    size_t rows = kino__table_row_count(table);
    kino__row_room room;
    if (!fold(g, table))
        return false;
    if (g->columns.count == 0)
        return true;
    uint64_t shown = g->render->limit && g->render->limit < rows ? g->render->limit : rows;
    for (size_t i = 0; i < shown; i++)
        if (!grid_add_row(g, kino__table_row(table, i, &room)))
            return false;
    grid_fit(g);
    grid_write_header(g);
    grid_write_rows(g);
    if (shown < rows && tells_more)
        write_more(g->render, g->indent, rows - shown);
    grid_write_left_out(g);
    return !g->scratch.failed;
}

kino_status kino__render_grid(kino__render *render, const kino__table *table, kino_error *err)
{
    grid g;
    grid_init(&g, render, 2, false);
    bool good = kino__table_row_count(table) == 0 || write_grid(&g, table, false);
    grid_deinit(&g);
    return good ? KINO_OK : kino__fail_nomem(err);
}

static kino_status write_table(kino__render *render, const kino__table *table, kino_error *err)
{
    kino__buffer *out = &render->text;
    add_styled(render, BOLD, kino__str_from(table->title ? table->title : table->name));
    kino__buffer_add(out, KINO__STR("\n"));
    if (kino__table_row_count(table) == 0) {
        kino__buffer_printf(out, "  %s\n", table->empty_text);
        return KINO_OK;
    }
    grid g;
    grid_init(&g, render, 2, false);
    bool good = write_grid(&g, table, true);
    grid_deinit(&g);
    return good ? kino__render_flush(render, false, err) : kino__fail_nomem(err);
}

static kino_status render_result(kino__render *render, const kino_result *result, kino_error *err)
{
    bool is_first = true;
    for (size_t i = 0; i < result->tables.count; i++) {
        const kino__table *table = result->tables.items[i];
        if (!kino__table_is_shown(table))
            continue;
        if (!is_first)
            kino__buffer_add(&render->text, KINO__STR("\n"));
        is_first = false;
        KINO_TRY(write_table(render, table, err));
    }
    if (result->notes.count) {
        kino__buffer_add(&render->text, KINO__STR("\n"));
        add_styled(render, BOLD, KINO__STR("Notes"));
        kino__buffer_add(&render->text, KINO__STR("\n"));
    }
    for (size_t i = 0; i < result->notes.count; i++) {
        add_blanks(&render->text, 2);
        kino__format_text(&render->text, kino__render_note(render, &result->notes.items[i]));
        kino__buffer_add(&render->text, KINO__STR("\n"));
    }
    return KINO_OK;
}

/* -- queries -- */

static kino_status write_stream(grid *g, kino_rows *rows, kino_error *err)
{
    uint64_t limit = g->render->limit ? g->render->limit : UINT64_MAX;
    bool is_laid_out = false;
    kino_status st = KINO_OK;
    for (uint64_t n = 0;; n++) {
        const kino_cell *cells;
        st = kino_rows_next(rows, &cells, err);
        bool is_end = st != KINO_OK || !cells || n == limit;
        if (!is_end && !grid_add_row(g, cells))
            return kino__fail_nomem(err);
        if (is_end || is_laid_out || n + 1 == LOOK_AHEAD) {
            if (!is_laid_out) {
                grid_fit(g);
                grid_write_header(g);
            }
            is_laid_out = true;
            grid_write_rows(g);
        }
        if (is_end && st == KINO_OK && cells)
            write_more(g->render, 0, UINT64_MAX);
        if (is_end)
            break;
        KINO_TRY(kino__render_flush(g->render, false, err));
    }
    grid_write_left_out(g);
    return st;
}

static kino_status render_rows(kino__render *render, const kino_result *frame, kino_rows *rows,
                               kino_error *err)
{
    (void)frame;
    grid g;
    grid_init(&g, render, 0, true);
    bool good = true;
    for (size_t i = 0; i < kino_rows_column_count(rows) && good; i++)
        good = grid_add_column(&g, &kino_rows_columns(rows)[i], i);
    kino_status st = good ? write_stream(&g, rows, err) : kino__fail_nomem(err);
    grid_deinit(&g);
    return st;
}

const kino__renderer_def kino__renderer_table = {
    .name = "table",
    .help = "aligned columns for people",
    .result = render_result,
    .rows = render_rows,
};
