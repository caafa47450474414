/* table.h - the inside of kino_rows and kino_result: how answers are made.
 *
 * kino_rows is a small vtable: whoever produces rows (a query, a finished table) puts this struct
 * first in its own and fills it in; the public functions of <kino/table.h> only forward.
 *
 * kino_result is filled by a builder whose failure sticks, so that makers need no check per cell:
 *
 *   kino_result *r = kino__result_new("info");
 *   kino__table *t = kino__result_add_table(r, "devices", columns, COUNT);
 *   KINO__TABLE_ADD(t, 0, name);               cells from left to right, row after row
 *   return kino__result_finish(r, out, err);   takes r: *out is it, or it is freed and err says why
 *
 * A table of millions of rows need not hold them: kino__table_set_maker gives it a function that
 * makes a cell whenever it is read. Readers use kino__table_cell and kino__table_row, which work
 * for both kinds.
 *
 * All texts are copied into the result's arena. A builder belongs to one thread; a finished result
 * never changes and may be read by any. Every builder function takes NULL (a failed _new, a failed
 * add_table) and then does nothing. */
#ifndef KINO__STORE_TABLE_H
#define KINO__STORE_TABLE_H

#include <math.h>

#include <kino/table.h>

#include "base/arena.h"
#include "base/each.h"
#include "base/hint.h"
#include "base/vec.h"

struct kino_rows {
    size_t column_count;
    const kino_column *columns; /* valid as long as the rows */
    /* The next row in *cells, NULL at the end (and at every call after it). Texts and cells are
     * valid until the next call. The type of a column is a promise about its cells: INT, BOOL,
     * DURATION, TIME and BYTES hold KINO_CELL_INT, FLOAT and PERCENT hold KINO_CELL_FLOAT, STRING
     * and JSON hold KINO_CELL_TEXT, ANY holds anything; every column may hold KINO_CELL_NULL.
     * Renderers still go by the cell when both disagree. */
    kino_status (*next)(kino_rows *rows, const kino_cell **cells, kino_error *err);
    void (*free)(kino_rows *rows); /* frees the whole producer */
};

static inline kino_cell kino__cell_null(void)
{
    return (kino_cell){.kind = KINO_CELL_NULL};
}

static inline kino_cell kino__cell_int(int64_t value)
{
    return (kino_cell){.kind = KINO_CELL_INT, .value.integer = value};
}

static inline kino_cell kino__cell_real(double value)
{
    return (kino_cell){.kind = KINO_CELL_FLOAT, .value.real = value};
}

static inline kino_cell kino__cell_text(kino_str value)
{
    return (kino_cell){.kind = KINO_CELL_TEXT, .value.text = value};
}

/* How the terminal shows a table; other formats do not care. */
enum {
    /* Columns with one value in all rows become lines above the table ("format: chrome-json"). */
    KINO__TABLE_FOLD = 1,
    /* Left out where people read it (terminal, Markdown), there for programs. */
    KINO__TABLE_QUIET = 2,
};

/* Numbers that belong together: ids of events, ranks. */
typedef struct kino__id_list {
    const int64_t *ids;
    size_t count;
} kino__id_list;

/* A cell of type JSON that is one: programs read the numbers instead of the text. */
typedef struct kino__listed_cell {
    size_t cell;
    kino__id_list list;
} kino__listed_cell;

/* Rows that are made when they are read. */
typedef struct kino__row_maker {
    /* Any thread; a text must live as long as the result. NULL: the table has stored cells. */
    kino_cell (*cell)(const void *context, size_t row, size_t column);
    void (*free)(void *context); /* together with the result */
    void *context;
    size_t row_count;
} kino__row_maker;

/* A made table has at most so many columns: who reads a row has room for it. */
enum { KINO__MADE_COLUMNS = 24 };

typedef struct kino__table {
    kino_result *result;
    const char *name;
    const char *title;      /* for people; NULL: the name */
    const char *empty_text; /* what a table without rows says to people; NULL: it is left out */
    unsigned flags;
    size_t column_count;
    const kino_column *columns;
    uint64_t
        optional;    /* bit i: people need not hear that column i has no value, or 0, in all rows */
    uint64_t hidden; /* bit i: people need not see column i */
    KINO__VEC(kino_cell) cells;         /* row after row */
    KINO__VEC(kino__listed_cell) lists; /* in the order of cells */
    kino__row_maker maker;              /* instead of cells */
} kino__table;

typedef struct kino__param {
    const char *name;
    kino_cell value;
    kino_type type; /* ANY: the cell says it */
} kino__param;

/* What an answer was computed from. */
typedef struct kino__input {
    const char *path;
    const int64_t *ranks;
    size_t rank_count;
    uint64_t events;
    uint64_t skipped;
    int64_t origin_ns; /* of every TIME cell; KINO_NO_TIME when the clock is unknown */
} kino__input;

struct kino_result {
    const char *name;
    kino__input input;
    bool has_input;
    KINO__VEC(kino__note) notes;
    KINO__VEC(kino__param) params;
    KINO__VEC(kino__table *) tables;
    kino__arena arena;
    bool failed; /* memory was out somewhere */
};

/* NULL when memory is out: go on, kino__result_finish reports it. */
kino_result *kino__result_new(const char *name);

/* Ends building: takes the result; *out is it on success, NULL on failure. */
KINO_NODISCARD kino_status kino__result_finish(kino_result *result, kino_result **out,
                                               kino_error *err);

/* A copy of *input is kept, path and ranks too. */
void kino__result_set_input(kino_result *result, const kino__input *input);
/* One line for people and the JSON "notes": why a value is missing, what was left out. */
void kino__result_note(kino_result *result, const char *format, ...) KINO_PRINTF(2, 3);
/* With a hint, whose words stand at KINO__HERE. */
void kino__result_note_hinted(kino_result *result, kino_hint hint, const char *format, ...)
    KINO_PRINTF(3, 4);
/* "WHAT not available" and the text, such as ": no device work was recorded". */
void kino__result_lacks(kino_result *result, const char *what, const char *format, ...)
    KINO_PRINTF(3, 4);
/* One that was made elsewhere; the text is copied. */
void kino__result_add_note(kino_result *result, const kino__note *note);
void kino__result_param(kino_result *result, const char *name, kino_cell value);
void kino__result_param_typed(kino_result *result, const char *name, kino_type type,
                              kino_cell value);

/* Columns are copied, names, units and helps too. The table belongs to the result. */
kino__table *kino__result_add_table(kino_result *result, const char *name,
                                    const kino_column *columns, size_t column_count);
/* Constant texts; see kino__table. */
void kino__table_describe(kino__table *table, unsigned flags, const char *title,
                          const char *empty_text);

void kino__table_add(kino__table *table, kino_cell cell); /* text is copied */
void kino__table_add_null(kino__table *table);
void kino__table_add_int(kino__table *table, int64_t value); /* KINO_NO_INT becomes null */
void kino__table_add_real(kino__table *table, double value); /* NaN and infinities become null */
void kino__table_add_text(kino__table *table, kino_str value);
/* Several cells by the types of the values: double is a real, kino_str a text, the rest integers. */
#define KINO__TABLE_ADD(table, ...) KINO__EACH(KINO__TABLE_ADD_ONE, table, __VA_ARGS__)
#define KINO__TABLE_ADD_ONE(table, value)                                                          \
    _Generic((value), double                                                                       \
             : kino__table_add_real, kino_str                                                      \
             : kino__table_add_text, default                                                       \
             : kino__table_add_int)(table, value)
void kino__table_add_format(kino__table *table, const char *format, ...) KINO_PRINTF(2, 3);

/* Takes the context, also when table is NULL; the table must be empty. */
void kino__table_set_maker(kino__table *table, kino__row_maker maker);

void kino__table_clear(kino__table *table); /* no rows */
/* "[1, 2]", and the numbers for kino__table_ids; they are copied. */
void kino__table_add_ids(kino__table *table, const int64_t *ids, size_t count);

static inline size_t kino__table_row_count(const kino__table *table)
{
    if (table->maker.cell)
        return table->maker.row_count;
    return table->column_count ? table->cells.count / table->column_count : 0;
}

/* -- reading: by row and column, which are named by enums (analysis/columns.h) -- */

/* Of a row and column that are there. */
static inline kino_cell kino__table_at(const kino__table *table, size_t row, size_t column)
{
    return table->maker.cell ? table->maker.cell(table->maker.context, row, column)
                             : table->cells.items[row * table->column_count + column];
}

/* Null where there is no such row or column. */
static inline kino_cell kino__table_cell(const kino__table *table, size_t row, size_t column)
{
    return column < table->column_count && row < kino__table_row_count(table)
               ? kino__table_at(table, row, column)
               : kino__cell_null();
}

/* The cells of a row that is there: the stored ones, or made ones in *room. */
typedef struct kino__row_room {
    kino_cell cells[KINO__MADE_COLUMNS];
} kino__row_room;

static inline const kino_cell *kino__table_row(const kino__table *table, size_t row,
                                               kino__row_room *room)
{
    if (!table->maker.cell)
        return &table->cells.items[row * table->column_count];
    for (size_t i = 0; i < table->column_count; i++)
        room->cells[i] = table->maker.cell(table->maker.context, row, i);
    return room->cells;
}

/* KINO_NO_INT, NaN, nothing: null, or another type. */
static inline int64_t kino__table_int(const kino__table *table, size_t row, size_t column)
{
    kino_cell cell = kino__table_cell(table, row, column);
    return cell.kind == KINO_CELL_INT ? cell.value.integer : KINO_NO_INT;
}

static inline double kino__table_real(const kino__table *table, size_t row, size_t column)
{
    kino_cell cell = kino__table_cell(table, row, column);
    return cell.kind == KINO_CELL_FLOAT ? cell.value.real : (double)NAN;
}

static inline kino_str kino__table_text(const kino__table *table, size_t row, size_t column)
{
    kino_cell cell = kino__table_cell(table, row, column);
    return cell.kind == KINO_CELL_TEXT ? cell.value.text : (kino_str){"", 0};
}

kino__id_list kino__table_ids(const kino__table *table, size_t row, size_t column);

/* Does it belong into what people read? Not the quiet ones, nor empty ones with nothing to say. */
static inline bool kino__table_is_shown(const kino__table *table)
{
    bool has_text = kino__table_row_count(table) > 0 || table->empty_text;
    return has_text && !(table->flags & KINO__TABLE_QUIET);
}

#endif
