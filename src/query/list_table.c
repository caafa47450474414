/* list_table.c - the SQLite module of all list tables. Equality with the trace, the id or an event
 * narrows the walk. */
#include "query/list_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct list_module {
    kino__query_context *context;
    const kino__list_def *def;
} list_module;

/* Rows of a list by the event they name: first[event's row], then next[row]; KINO_NO_ROW ends. */
typedef struct event_index {
    uint32_t *first;
    uint32_t *next;
} event_index;

typedef struct list_table {
    sqlite3_vtab base;
    kino__query_context *context;
    const kino__list_def *def;
    event_index *indexes; /* two a trace */
} list_table;

typedef struct list_cursor {
    sqlite3_vtab_cursor base;
    kino__query_context *context;
    const kino__list_def *def;
    size_t trace, trace_end;
    size_t row, row_end;
    const uint32_t *chain; /* the next row of the same event; NULL: all rows */
    kino__buffer scratch;
} list_cursor;

static const char *table_name(size_t index)
{
    return kino__list_defs[index].name;
}

static kino__sql_columns table_columns(size_t index)
{
    const kino__list_def *def = &kino__list_defs[index];
    return (kino__sql_columns){.own = def->columns, .own_count = def->column_count};
}

static int disconnect(sqlite3_vtab *vtab)
{
    list_table *table = (list_table *)vtab;
    for (size_t i = 0; table->indexes && i < 2 * table->context->trace_count; i++) {
        free(table->indexes[i].first);
        free(table->indexes[i].next);
    }
    free(table->indexes);
    free(table);
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    (void)argc, (void)argv, (void)message;
    const list_module *module = aux;
    int rc = kino__table_declare(db, &kino__list_tables, (size_t)(module->def - kino__list_defs));
    if (rc != SQLITE_OK)
        return rc;
    list_table *table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->context = module->context;
    table->def = module->def;
    table->indexes = calloc(2 * module->context->trace_count + 1, sizeof *table->indexes);
    if (!table->indexes) {
        disconnect(&table->base);
        return SQLITE_NOMEM;
    }
    *out = &table->base;
    return SQLITE_OK;
}

/* What xFilter's argument is equal to; later ones are better. */
enum { PLAN_ALL, PLAN_TRACE, PLAN_FIRST_EVENT, PLAN_SECOND_EVENT, PLAN_ID };

static int plan_of(const kino__list_def *def, int column)
{
    if (column == def->id_column)
        return PLAN_ID;
    if (column == def->event_columns[0])
        return PLAN_FIRST_EVENT;
    if (column == def->event_columns[1])
        return PLAN_SECOND_EVENT;
    return column == def->trace_column ? PLAN_TRACE : PLAN_ALL;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const sqlite3_int64 rows[] = {
        [PLAN_TRACE] = 100, [PLAN_FIRST_EVENT] = 2, [PLAN_SECOND_EVENT] = 2, [PLAN_ID] = 1};
    const list_table *table = (const list_table *)vtab;
    int chosen = -1;
    info->idxNum = PLAN_ALL;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn < 0)
            continue;
        int plan = plan_of(table->def, c->iColumn);
        if (plan > info->idxNum) {
            info->idxNum = plan;
            chosen = i;
        }
    }
    if (chosen >= 0)
        info->aConstraintUsage[chosen].argvIndex =
            1; /* SQLite looks again: values may have another type */
    info->estimatedRows =
        chosen >= 0 ? rows[info->idxNum] : 100 * (sqlite3_int64)table->context->trace_count + 1;
    info->estimatedCost = (double)info->estimatedRows + 1;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    const list_table *table = (const list_table *)vtab;
    list_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->context = table->context;
    cursor->def = table->def;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    list_cursor *cursor = (list_cursor *)base;
    kino__buffer_deinit(&cursor->scratch);
    free(cursor);
    return SQLITE_OK;
}

static const kino__trace *current_trace(const list_cursor *cursor)
{
    return cursor->context->traces[cursor->trace].trace;
}

/* Goes on to a trace that has a row, when this one has no more. */
static int settle(list_cursor *cursor)
{
    while (cursor->row >= cursor->row_end && ++cursor->trace < cursor->trace_end) {
        cursor->row = 0;
        if (!cursor->def->count(current_trace(cursor), &cursor->row_end))
            return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

/* Rows first..end of one trace. */
static int start_at(list_cursor *cursor, uint64_t trace, size_t first, size_t end)
{
    cursor->trace = cursor->trace_end = cursor->context->trace_count;
    if (trace >= cursor->trace_end)
        return SQLITE_OK;
    cursor->trace = (size_t)trace;
    cursor->trace_end = (size_t)trace + 1;
    cursor->row = first;
    if (!cursor->def->count(current_trace(cursor), &cursor->row_end))
        return SQLITE_NOMEM;
    cursor->row_end = end < cursor->row_end ? end : cursor->row_end;
    return settle(cursor);
}

static bool make_index(const kino__list_def *def, const kino__trace *trace, int column,
                       event_index *index)
{
    size_t count;
    if (!def->count(trace, &count))
        return false;
    index->first = malloc(((size_t)trace->event_count + 1) * sizeof *index->first);
    index->next = malloc((count + 1) * sizeof *index->next);
    if (!index->first || !index->next)
        return false;
    memset(index->first, 0xff,
           ((size_t)trace->event_count + 1) * sizeof *index->first); /* KINO_NO_ROW */
    while (count-- > 0) { /* backward, so that chains go forward */
        uint32_t event = def->event_row(trace, count, column);
        index->next[count] = event == KINO_NO_ROW ? KINO_NO_ROW : index->first[event];
        if (event != KINO_NO_ROW)
            index->first[event] = (uint32_t)count;
    }
    return true;
}

/* Rows that name one event. */
static int start_by_event(list_cursor *cursor, int which, int64_t id)
{
    list_table *table = (list_table *)cursor->base.pVtab;
    kino__query_trace *qt;
    uint32_t event;
    cursor->trace = cursor->trace_end = cursor->context->trace_count;
    if (!kino__query_find_event(cursor->context, id, &qt, &event))
        return SQLITE_OK;
    event_index *index = &table->indexes[2 * (size_t)qt->trace->index + (size_t)which];
    if (!index->next &&
        !make_index(cursor->def, qt->trace, cursor->def->event_columns[which], index))
        return SQLITE_NOMEM;
    if (index->first[event] == KINO_NO_ROW)
        return SQLITE_OK;
    cursor->trace = qt->trace->index;
    cursor->trace_end = cursor->trace + 1;
    cursor->row = index->first[event];
    cursor->row_end = KINO_NO_ROW;
    cursor->chain = index->next;
    return SQLITE_OK;
}

static int start(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                 sqlite3_value **argv)
{
    (void)text;
    list_cursor *cursor = (list_cursor *)base;
    cursor->row = cursor->row_end = 0;
    cursor->chain = NULL;
    if (argc == 1 && sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
        int64_t value = sqlite3_value_int64(argv[0]);
        if (plan == PLAN_ID)
            return start_at(cursor, (uint64_t)value >> 32, (uint32_t)value,
                            (size_t)(uint32_t)value + 1);
        if (plan == PLAN_TRACE)
            return start_at(cursor, (uint64_t)value, 0, SIZE_MAX);
        if (plan != PLAN_ALL)
            return start_by_event(cursor, plan - PLAN_FIRST_EVENT, value);
    }
    cursor->trace = 0;
    cursor->trace_end = cursor->context->trace_count;
    if (cursor->trace_end == 0)
        return SQLITE_OK;
    if (!cursor->def->count(current_trace(cursor), &cursor->row_end))
        return SQLITE_NOMEM;
    return settle(cursor);
}

static int next(sqlite3_vtab_cursor *base)
{
    list_cursor *cursor = (list_cursor *)base;
    cursor->row = cursor->chain ? cursor->chain[cursor->row] : cursor->row + 1;
    return settle(cursor);
}

static int eof(sqlite3_vtab_cursor *base)
{
    const list_cursor *cursor = (const list_cursor *)base;
    return cursor->trace >= cursor->trace_end;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const list_cursor *cursor = (const list_cursor *)base;
    *out = (sqlite3_int64)((uint64_t)cursor->trace << 32 | cursor->row);
    return SQLITE_OK;
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
    list_cursor *cursor = (list_cursor *)base;
    if (index == cursor->def->id_column)
        sqlite3_result_int64(result, (sqlite3_int64)((uint64_t)cursor->trace << 32 | cursor->row));
    else if (index == cursor->def->trace_column)
        sqlite3_result_int64(result, (sqlite3_int64)cursor->trace);
    else
        cursor->def->value(current_trace(cursor), cursor->row, index, result, &cursor->scratch);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = start,
    .xNext = next,
    .xEof = eof,
    .xColumn = column_value,
    .xRowid = rowid,
};

static int table_add(sqlite3 *db, kino__query_context *context, size_t index)
{
    list_module *aux = malloc(sizeof *aux);
    if (!aux)
        return SQLITE_NOMEM;
    *aux = (list_module){context, &kino__list_defs[index]};
    return sqlite3_create_module_v2(db, kino__list_defs[index].name, &module, aux, free);
}

const kino__table_family kino__list_tables = {KINO__LIST_COUNT, table_name, table_columns,
                                              table_add};
