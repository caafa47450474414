/* member_table.c - tables whose rows are the members of events' arguments: arg and counter.
 *
 * An event stream picks the events (one, when its id is given; those with phase C for counters);
 * the members of each are walked in its argument text. Nothing is kept, so a table of a hundred
 * million members costs no memory. */
#include <math.h>
#include <stdlib.h>

#include "query/event_order.h"
#include "query/tables.h"

enum { ARG_EVENT, ARG_KEY, ARG_VALUE, ARG_TYPE };
enum { COUNTER_TRACE, COUNTER_TRACK, COUNTER_NAME, COUNTER_TS, COUNTER_VALUE, COUNTER_EVENT };

typedef struct member_table_def {
    const char *name;
    const kino__sql_column *columns;
    size_t column_count;
    bool is_counter;
    int event_columns[6]; /* which column of its event a column is; -1: none */
} member_table_def;

static const kino__sql_column arg_columns[] = {
    {"event", KINO__SQL_INT, false},
    {"key", KINO__SQL_TEXT, false},
    {"value", KINO__SQL_ANY, false},
    {"type", KINO__SQL_TEXT, false},
};

static const kino__sql_column counter_columns[] = {
    {"trace", KINO__SQL_INT, false}, {"track", KINO__SQL_INT, false},
    {"name", KINO__SQL_TEXT, false}, {"ts", KINO__SQL_TIME, false},
    {"value", KINO__SQL_ANY, false}, {"event", KINO__SQL_INT, true},
};

static const member_table_def tables[] = {
    {"arg", arg_columns, 4, false, {KINO__EVENT_ID, -1, -1, -1, -1, -1}},
    {"counter",
     counter_columns,
     6,
     true,
     {KINO__EVENT_TRACE, KINO__EVENT_TRACK, -1, KINO__EVENT_TS, -1, KINO__EVENT_ID}},
};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

typedef struct member_module {
    kino__query_context *context;
    const member_table_def *def;
} member_module;

typedef struct member_table {
    sqlite3_vtab base;
    kino__query_context *context;
    const member_table_def *def;
} member_table;

typedef struct member_cursor {
    sqlite3_vtab_cursor base;
    const member_table_def *def;
    kino__event_stream stream;
    kino__text_cursor *texts; /* one a trace */
    kino__args_iter members;  /* of the current event */
    kino_str key, value;
    sqlite3_int64 rowid;
    kino__buffer scratch;
} member_cursor;

static const char *table_name(size_t index)
{
    return tables[index].name;
}

static kino__sql_columns table_columns(size_t index)
{
    return (kino__sql_columns){.own = tables[index].columns,
                               .own_count = tables[index].column_count};
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    (void)argc, (void)argv, (void)message;
    const member_module *module = aux;
    int rc = kino__table_declare(db, &kino__member_tables, (size_t)(module->def - tables));
    if (rc != SQLITE_OK)
        return rc;
    member_table *table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->context = module->context;
    table->def = module->def;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

/* ORDER BY the event's id: events are sorted before their members are read. */
static bool is_event_order(const member_table_def *def, const struct sqlite3_index_orderby *term)
{
    return !term->desc && term->iColumn >= 0 && def->event_columns[term->iColumn] == KINO__EVENT_ID;
}

/* The plan's text: for each condition the letter of the event's column and of the operator's bit.
 * Its number: 1 when rows come in order of the event's id. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const member_table *table = (const member_table *)vtab;
    char plan[2 * KINO__CONDITION_MAX + 1], *to = plan;
    double events = (double)table->context->event_count;
    double rows = table->def->is_counter ? events * 0.1 + 1 : events * 5 + 1;
    double search = table->def->is_counter ? events * 0.01 : 0;
    int taken = 0;
    for (int i = 0; i < info->nConstraint && taken < KINO__CONDITION_MAX; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        int column = c->iColumn < 0 ? -1 : table->def->event_columns[c->iColumn];
        bool is_range = c->op == SQLITE_INDEX_CONSTRAINT_GT ||
                        c->op == SQLITE_INDEX_CONSTRAINT_LE ||
                        c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_GE;
        if (!c->usable || column < 0 || !(is_range || c->op == SQLITE_INDEX_CONSTRAINT_EQ))
            continue;
        info->aConstraintUsage[i].argvIndex = ++taken;
        *to++ = (char)('A' + column);
        *to++ = (char)('0' + __builtin_ctz(c->op));
        rows *= is_range ? 0.3 : 0.1;
        if (!is_range && column == KINO__EVENT_ID) {
            rows = 8;
            search = 0;
        }
    }
    *to = '\0';
    info->idxNum = info->nOrderBy == 1 && is_event_order(table->def, &info->aOrderBy[0]);
    info->orderByConsumed = info->idxNum;
    info->idxStr = sqlite3_mprintf("%s", plan);
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)(rows < 1 ? 1 : rows);
    info->estimatedCost = 2 + search + 3 * rows; /* text is walked */
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    const member_table *table = (const member_table *)vtab;
    member_cursor *cursor = calloc(1, sizeof *cursor);
    kino__text_cursor *texts = calloc(table->context->trace_count + 1, sizeof *texts);
    if (!cursor || !texts || !kino__run_need(table->context->run, KINO__COLUMN_PLACE, NULL)) {
        free(cursor);
        free(texts);
        return SQLITE_NOMEM;
    }
    cursor->def = table->def;
    cursor->texts = texts;
    kino__event_stream_init(&cursor->stream, table->context);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    member_cursor *cursor = (member_cursor *)base;
    for (size_t i = 0; i < cursor->stream.context->trace_count; i++)
        kino__text_cursor_deinit(&cursor->texts[i]);
    free(cursor->texts);
    kino__event_stream_deinit(&cursor->stream);
    kino__buffer_deinit(&cursor->scratch);
    free(cursor);
    return SQLITE_OK;
}

static void read_members(member_cursor *cursor)
{
    const kino__trace *trace = cursor->stream.qt->trace;
    kino__text_cursor *texts = &cursor->texts[trace->index];
    if (!texts->text && trace->text)
        kino__text_cursor_init(texts, trace->text);
    cursor->members = kino__args_iter_start(kino__args_text(trace, cursor->stream.row, texts));
}

/* A counter's value is a number; other members of its arguments are not series. */
static bool is_row(const member_cursor *cursor)
{
    double number;
    return !cursor->def->is_counter || kino__json_to_double(cursor->value, &number);
}

static int next(sqlite3_vtab_cursor *base)
{
    member_cursor *cursor = (member_cursor *)base;
    cursor->rowid++;
    for (;;) {
        while (kino__args_iter_next(&cursor->members, &cursor->key, &cursor->value)) {
            if (is_row(cursor))
                return SQLITE_OK;
        }
        do {
            kino__event_stream_next(&cursor->stream);
            if (cursor->stream.is_end)
                return SQLITE_OK;
        } while (kino__trace_place(cursor->stream.qt->trace, cursor->stream.row) == 0);
        read_members(cursor);
    }
}

static int start(sqlite3_vtab_cursor *base, int by_event, const char *plan, int argc,
                 sqlite3_value **argv)
{
    member_cursor *cursor = (member_cursor *)base;
    kino__event_filter filter = {.count = 0};
    kino__event_order order = {.terms = {{KINO__EVENT_ID, false}}, .count = by_event ? 1 : 0};
    for (int i = 0; i < argc && i < KINO__CONDITION_MAX - 1; i++, plan += 2) {
        filter.conditions[filter.count++] =
            (kino__event_condition){.column = (kino__event_column)(plan[0] - 'A'),
                                    .op = 1 << (plan[1] - '0'),
                                    .value = kino__query_value_of(argv[i])};
    }
    if (cursor->def->is_counter) {
        filter.conditions[filter.count++] =
            (kino__event_condition){.column = KINO__EVENT_PH,
                                    .op = SQLITE_INDEX_CONSTRAINT_EQ,
                                    .value = {.type = SQLITE_TEXT, .text = {"C", 1}}};
    }
    cursor->rowid = 0;
    if (!kino__event_stream_start(&cursor->stream, &filter, &order))
        return SQLITE_NOMEM;
    if (cursor->stream.is_end)
        return SQLITE_OK;
    read_members(cursor);
    return next(base);
}

static int eof(sqlite3_vtab_cursor *base)
{
    return ((member_cursor *)base)->stream.is_end;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((member_cursor *)base)->rowid;
    return SQLITE_OK;
}

static int result_scratch(const member_cursor *cursor, sqlite3_context *result)
{
    if (cursor->scratch.failed)
        return SQLITE_NOMEM;
    sqlite3_result_text64(result, cursor->scratch.data ? cursor->scratch.data : "",
                          cursor->scratch.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
}

/* An event's own name for its only series, "name.key" where the key says something. */
static int result_counter_name(member_cursor *cursor, sqlite3_context *result)
{
    const kino__trace *trace = cursor->stream.qt->trace;
    kino_str name = kino__trace_string(trace, trace->name[cursor->stream.row]);
    cursor->scratch.size = 0;
    kino__buffer_add(&cursor->scratch, name);
    if (cursor->key.size && !kino__str_is(cursor->key, "value")) {
        kino__buffer_add(&cursor->scratch, KINO__STR("."));
        kino__json_unescape(cursor->key, &cursor->scratch);
    }
    return result_scratch(cursor, result);
}

static int result_key(member_cursor *cursor, sqlite3_context *result)
{
    cursor->scratch.size = 0;
    kino__json_unescape(cursor->key, &cursor->scratch);
    return result_scratch(cursor, result);
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
    member_cursor *cursor = (member_cursor *)base;
    int column = cursor->def->event_columns[index];
    if (column >= 0) {
        kino__result_int(result, kino__query_int(cursor->stream.qt, (kino__event_column)column,
                                                 cursor->stream.row));
    } else if (cursor->def->is_counter && index == COUNTER_NAME) {
        return result_counter_name(cursor, result);
    } else if (!cursor->def->is_counter && index == ARG_KEY) {
        return result_key(cursor, result);
    } else {
        const char *type = kino__result_json(result, cursor->value, &cursor->scratch);
        if (!cursor->def->is_counter && index == ARG_TYPE)
            sqlite3_result_text(result, type, -1, SQLITE_STATIC);
    }
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
    member_module *aux = malloc(sizeof *aux);
    if (!aux)
        return SQLITE_NOMEM;
    *aux = (member_module){context, &tables[index]};
    return sqlite3_create_module_v2(db, tables[index].name, &module, aux, free);
}

const kino__table_family kino__member_tables = {TABLE_COUNT, table_name, table_columns, table_add};
