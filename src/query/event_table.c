/* event_table.c - the SQLite module of all tables whose rows are events: event, kernel, op, ...
 *
 * The work is elsewhere: event_plan.c talks to SQLite's planner, event_select.c finds rows,
 * event_order.c orders them.
 * What is left is one cursor and the value of each column, which must be cheap: it is called for
 * every cell. */
#include <stdlib.h>
#include <string.h>

#include "names/communication.h"
#include "query/event_plan.h"
#include "query/tables.h"

typedef struct arg_column {
    const char *key;
    kino__sql_type type;
} arg_column;

typedef struct event_table_def {
    const char *name;
    const kino__event_class *classes;
} event_table_def;

typedef struct event_table {
    sqlite3_vtab base;
    kino__query_context *context;
    const event_table_def *def;
    const arg_column *args;
    size_t arg_count;
    /* argument columns, trace by trace, NULL until asked for; pools of those that are texts */
    const void **arg_columns;
    const kino__string_pool **arg_pools;
} event_table;

typedef struct event_cursor {
    sqlite3_vtab_cursor base;
    kino__event_stream stream;
    int flags;                /* of the plan */
    kino__text_cursor *texts; /* one a trace, NULL until arguments are asked for */
    kino__buffer mended, scratch;
    kino_str *members; /* with reads_once: the argument columns' texts in members_row */
    const kino__trace *members_trace;
    uint32_t members_row;
} event_cursor;

/* ---- definitions ---- */

static bool is_memory_name(kino_str name)
{
    return kino__str_is(name, "[memory]") || kino__str_is(name, "[OutOfMemory]");
}

/* The span that has the metadata; where data moves on the host, the one that carries it out. */
static bool is_collective_op(kino_str name)
{
    kino__comm comm = kino__comm_of_span(name);
    return kino__str_is(name, "record_param_comms") ||
           (comm.kind == KINO__COMM_CARRIES && kino__comm_library_is_host(comm.library));
}

static bool is_collective_kernel(kino_str name)
{
    return kino__comm_of_kernel(name).kind == KINO__COMM_CARRIES;
}

#define KIND(name) KINO__KIND_BIT(KINO__KIND_##name)
static const kino__event_class rows_kernel[] = {{KIND(KERNEL), NULL}, {0, NULL}};
static const kino__event_class rows_memcpy[] = {{KIND(MEMCPY), NULL}, {0, NULL}};
static const kino__event_class rows_memset[] = {{KIND(MEMSET), NULL}, {0, NULL}};
static const kino__event_class rows_runtime[] = {{KIND(RUNTIME) | KIND(DRIVER), NULL}, {0, NULL}};
static const kino__event_class rows_op[] = {{KIND(OP), NULL}, {0, NULL}};
static const kino__event_class rows_python[] = {{KIND(PYTHON), NULL}, {0, NULL}};
static const kino__event_class rows_annotation[] = {{KIND(ANNOTATION) | KIND(GPU_ANNOTATION), NULL},
                                                    {0, NULL}};
/* before 2022 they have no category */
static const kino__event_class rows_memory_event[] = {{KIND(INSTANT) | KIND(OTHER), is_memory_name},
                                                      {0, NULL}};
static const kino__event_class rows_collective[] = {
    {KIND(OP) | KIND(ANNOTATION), is_collective_op},
    {KIND(KERNEL) | KIND(OTHER), is_collective_kernel},
    {0, NULL},
};
#undef KIND

enum {
#define EVENT_COLUMN(id, name, type)
#define EVENT_TABLE(name, rows) TABLE_##name,
#define EVENT_ARG(table, name, key, type)
#include "query/event_tables.def"
#undef EVENT_TABLE
    TABLE_COUNT,
};

#define rows_all NULL
static const event_table_def tables[] = {
#define EVENT_TABLE(name, rows) {#name, rows_##rows},
#include "query/event_tables.def"
#undef EVENT_TABLE
#undef EVENT_COLUMN
};
#undef rows_all

static const kino__sql_column columns[] = {
#define EVENT_TABLE(name, rows)
#define EVENT_COLUMN(id, name, type) {#name, KINO__SQL_##type, false},
#include "query/event_tables.def"
#undef EVENT_COLUMN
#undef EVENT_ARG
};

/* Argument columns of all tables, one table after the other; which table each is of; as SQL
 * columns. */
#define EVENT_COLUMN(id, name, type)
#define EVENT_ARG(table, name, key, type) {key, KINO__SQL_##type},
static const arg_column all_args[] = {
#include "query/event_tables.def"
};
#undef EVENT_ARG
#define EVENT_ARG(table, name, key, type) TABLE_##table,
static const uint8_t arg_tables[] = {
#include "query/event_tables.def"
};
#undef EVENT_ARG
#define EVENT_ARG(table, name, key, type) {#name, KINO__SQL_##type, false},
static const kino__sql_column arg_sql_columns[] = {
#include "query/event_tables.def"
};
#undef EVENT_ARG
#undef EVENT_COLUMN
#undef EVENT_TABLE

/* The argument columns of one table: first and number. */
static void table_args(size_t table, size_t *first, size_t *count)
{
    *first = *count = 0;
    for (size_t i = 0; i < sizeof arg_tables; i++) {
        if (arg_tables[i] != table)
            continue;
        if (*count == 0)
            *first = i;
        ++*count;
    }
}

static const char *table_name(size_t index)
{
    return tables[index].name;
}

static kino__sql_columns table_columns(size_t index)
{
    size_t first, count;
    table_args(index, &first, &count);
    return (kino__sql_columns){columns, KINO__EVENT_COLUMN_COUNT, arg_sql_columns + first, count};
}

/* ---- connection ---- */

typedef struct event_module {
    kino__query_context *context;
    size_t table;
} event_module;

static int disconnect(sqlite3_vtab *vtab)
{
    event_table *table = (event_table *)vtab;
    free(table->arg_columns);
    free(table->arg_pools);
    free(table);
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    (void)argc, (void)argv, (void)message;
    const event_module *module = aux;
    int rc = kino__table_declare(db, &kino__event_tables, module->table);
    event_table *table = rc == SQLITE_OK ? calloc(1, sizeof *table) : NULL;
    if (!table)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    size_t first;
    table_args(module->table, &first, &table->arg_count);
    size_t cells = table->arg_count * module->context->trace_count;
    table->context = module->context;
    table->def = &tables[module->table];
    table->args = all_args + first;
    table->arg_columns = calloc(cells + 1, sizeof *table->arg_columns);
    table->arg_pools = calloc(cells + 1, sizeof *table->arg_pools);
    if (!table->arg_columns || !table->arg_pools) {
        disconnect(&table->base);
        return SQLITE_NOMEM;
    }
    *out = &table->base;
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const event_table *table = (const event_table *)vtab;
    return kino__event_plan_choose(table->context, table->def->classes != NULL, info);
}

/* ---- cursors ---- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    event_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    kino__event_stream_init(&cursor->stream, ((event_table *)vtab)->context);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    event_cursor *cursor = (event_cursor *)base;
    size_t count = cursor->stream.context->trace_count;
    for (size_t i = 0; cursor->texts && i < count; i++)
        kino__text_cursor_deinit(&cursor->texts[i]);
    free(cursor->texts);
    free(cursor->members);
    kino__buffer_deinit(&cursor->mended);
    kino__buffer_deinit(&cursor->scratch);
    kino__event_stream_deinit(&cursor->stream);
    free(cursor);
    return SQLITE_OK;
}

static int start(sqlite3_vtab_cursor *base, int flags, const char *plan, int argc,
                 sqlite3_value **argv)
{
    event_cursor *cursor = (event_cursor *)base;
    event_table *table = (event_table *)base->pVtab;
    cursor->flags = flags;
    cursor->members_trace = NULL;
    kino__event_filter filter = {.classes = table->def->classes, .fence = table->context->fence};
    kino__event_order order = {.count = 0};
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    bool done = kino__event_plan_read(plan, flags, argc, argv, &arena, &filter, &order) &&
                kino__event_stream_start(&cursor->stream, &filter, &order);
    kino__arena_deinit(&arena);
    return done ? SQLITE_OK : SQLITE_NOMEM;
}

/* Rows in another order than memory miss the cache in every column: ask for them some rows ahead.
 * Always inlined: gcc takes a function that only prefetches for one without effect, and drops the
 * call. */
__attribute__((always_inline)) static inline void fetch_ahead(const kino__event_stream *stream,
                                                              int flags)
{
    enum { AHEAD = 16 };
    if (!stream->rows || stream->end - stream->at <= AHEAD)
        return;
    const kino__trace *trace = stream->qt->trace;
    uint32_t row = stream->rows[stream->at + AHEAD];
    if (flags & KINO__PLAN_READS_NAME)
        __builtin_prefetch(&trace->name[row]);
    if (flags & KINO__PLAN_READS_TS)
        __builtin_prefetch(&trace->ts[row]);
    if (flags & KINO__PLAN_READS_DUR)
        __builtin_prefetch(&trace->dur[row]);
    if (flags & KINO__PLAN_READS_CAT)
        __builtin_prefetch(&trace->category[row]);
}

static int next(sqlite3_vtab_cursor *base)
{
    event_cursor *cursor = (event_cursor *)base;
    kino__event_stream_next(&cursor->stream);
    fetch_ahead(&cursor->stream, cursor->flags);
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    return ((event_cursor *)base)->stream.is_end;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const kino__event_stream *stream = &((event_cursor *)base)->stream;
    *out = kino__trace_event_id(stream->qt->trace, stream->row);
    return SQLITE_OK;
}

/* ---- values ---- */

/* The arguments of the current row as written; false when memory is out. */
static bool args_text(event_cursor *cursor, kino_str *out)
{
    size_t count = cursor->stream.context->trace_count;
    const kino__trace *trace = cursor->stream.qt->trace;
    if (!cursor->texts && !(cursor->texts = calloc(count, sizeof *cursor->texts)))
        return false;
    kino__text_cursor *texts = &cursor->texts[trace->index];
    if (!texts->text && trace->text) {
        if (!kino__trace_need(trace, KINO__COLUMN_PLACE, NULL))
            return false;
        kino__text_cursor_init(texts, trace->text);
    }
    *out = kino__args_text(trace, cursor->stream.row, texts);
    return true;
}

static int result_args(event_cursor *cursor, sqlite3_context *result)
{
    kino_str text;
    if (!args_text(cursor, &text))
        return SQLITE_NOMEM;
    if (text.size && !kino__args_mend(&text, &cursor->mended, &cursor->scratch))
        return SQLITE_NOMEM;
    if (text.size)
        sqlite3_result_text64(result, text.data, text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
}

/* Makes the argument column of the cursor's trace; false when memory is out. */
static bool load_arg(event_table *table, const kino__trace *trace, size_t arg, size_t cell)
{
    const char *key = table->args[arg].key;
    switch (table->args[arg].type) {
    case KINO__SQL_REAL:
    case KINO__SQL_PERCENT:
        table->arg_columns[cell] = kino__args_double_column(trace, key);
        break;
    case KINO__SQL_TEXT:
    case KINO__SQL_JSON:
    case KINO__SQL_ANY:
        table->arg_columns[cell] = kino__args_string_column(trace, key, &table->arg_pools[cell]);
        break;
    default:
        table->arg_columns[cell] = kino__args_int_column(trace, key);
        break;
    }
    return table->arg_columns[cell] != NULL;
}

/* The texts of all argument columns of the current row, in one walk over its members; of doubled
 * keys the last one counts. */
static bool read_members(event_cursor *cursor, const event_table *table)
{
    kino_str text, key, value;
    if (!cursor->members && !(cursor->members = calloc(table->arg_count, sizeof *cursor->members)))
        return false;
    if (!args_text(cursor, &text))
        return false;
    memset(cursor->members, 0, table->arg_count * sizeof *cursor->members);
    kino__args_iter members = kino__args_iter_start(text);
    while (kino__args_iter_next(&members, &key, &value)) {
        for (size_t i = 0; i < table->arg_count; i++) {
            if (kino__str_is(key, table->args[i].key))
                cursor->members[i] = value;
        }
    }
    cursor->members_trace = cursor->stream.qt->trace;
    cursor->members_row = cursor->stream.row;
    return true;
}

/* As result_arg, without a column: what a column would hold (store/args_columns.c). */
static int result_member(event_cursor *cursor, const event_table *table, size_t arg,
                         sqlite3_context *result)
{
    int64_t integer;
    double real;
    bool is_read = cursor->members_trace == cursor->stream.qt->trace &&
                   cursor->members_row == cursor->stream.row;
    if (!is_read && !read_members(cursor, table))
        return SQLITE_NOMEM;
    kino_str value = cursor->members[arg];
    if (!value.size)
        return SQLITE_OK;
    switch (table->args[arg].type) {
    case KINO__SQL_REAL:
    case KINO__SQL_PERCENT:
        if (kino__json_to_double(value, &real))
            sqlite3_result_double(result, real);
        break;
    case KINO__SQL_TEXT:
    case KINO__SQL_JSON:
    case KINO__SQL_ANY:
        if (value.data[0] == '"') {
            cursor->scratch.size = 0;
            kino__json_unescape(value, &cursor->scratch);
            value = kino__buffer_str(&cursor->scratch);
        }
        sqlite3_result_text64(result, value.data ? value.data : "", value.size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        return cursor->scratch.failed ? SQLITE_NOMEM : SQLITE_OK;
    default:
        if (kino__json_to_int(value, &integer))
            kino__result_int(result, integer);
        break;
    }
    return SQLITE_OK;
}

static int result_arg(event_table *table, const kino__event_stream *stream, size_t arg,
                      sqlite3_context *result)
{
    const kino__trace *trace = stream->qt->trace;
    size_t cell = trace->index * table->arg_count + arg;
    if (!table->arg_columns[cell] && !load_arg(table, trace, arg, cell))
        return SQLITE_NOMEM;
    const void *column = table->arg_columns[cell];
    switch (table->args[arg].type) {
    case KINO__SQL_REAL:
    case KINO__SQL_PERCENT:
        sqlite3_result_double(result,
                              ((const double *)column)[stream->row]); /* NaN is NULL in SQL */
        break;
    case KINO__SQL_TEXT:
    case KINO__SQL_JSON:
    case KINO__SQL_ANY: {
        kino_strid id = ((const kino_strid *)column)[stream->row];
        if (id != KINO_NO_STRING)
            kino__result_text(result, kino__string_pool_text(table->arg_pools[cell], id));
        break;
    }
    default:
        kino__result_int(result, ((const int64_t *)column)[stream->row]);
        break;
    }
    return SQLITE_OK;
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
    event_cursor *cursor = (event_cursor *)base;
    const kino__event_stream *stream = &cursor->stream;
    kino__query_trace *qt = stream->qt;
    const kino__trace *trace = qt->trace;
    uint32_t row = stream->row;
    const kino__track *track;
    switch (index) {
    case KINO__EVENT_NAME:
        if (trace->name[row] != KINO_NO_STRING)
            kino__result_text(result, trace->strings.texts.items[trace->name[row]]);
        return SQLITE_OK;
    case KINO__EVENT_DUR:
        kino__result_int(result, trace->dur[row]);
        return SQLITE_OK;
    case KINO__EVENT_TS:
        kino__result_int(result, trace->ts[row]);
        return SQLITE_OK;
    case KINO__EVENT_CAT:
        if (trace->category[row] != KINO__CATEGORY_NONE)
            kino__result_text(result, kino__trace_category_text(trace, trace->category[row]));
        return SQLITE_OK;
    case KINO__EVENT_PH:
        if (trace->phase[row])
            kino__result_text(result, (kino_str){(const char *)&trace->phase[row], 1});
        return SQLITE_OK;
    case KINO__EVENT_PID:
        track = &trace->tracks.items[kino__query_track(qt, row)];
        kino__result_label(result, trace, &track->pid, trace->flags[row] & KINO__FLAG_PID_TEXT);
        return SQLITE_OK;
    case KINO__EVENT_TID:
        track = &trace->tracks.items[kino__query_track(qt, row)];
        kino__result_label(result, trace, &track->tid, trace->flags[row] & KINO__FLAG_TID_TEXT);
        return SQLITE_OK;
    case KINO__EVENT_ARGS:
        return result_args(cursor, result);
    default:
        if (index >= KINO__EVENT_COLUMN_COUNT && stream->context->reads_once)
            return result_member(cursor, (event_table *)base->pVtab,
                                 (size_t)index - KINO__EVENT_COLUMN_COUNT, result);
        if (index >= KINO__EVENT_COLUMN_COUNT)
            return result_arg((event_table *)base->pVtab, stream,
                              (size_t)index - KINO__EVENT_COLUMN_COUNT, result);
        kino__result_int(result, kino__query_int(qt, (kino__event_column)index, row));
        return qt->failed ? SQLITE_NOMEM : SQLITE_OK;
    }
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xConnect = connect, /* and no xCreate: the table is there by its name */
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
    event_module *aux = malloc(sizeof *aux);
    if (!aux)
        return SQLITE_NOMEM;
    *aux = (event_module){context, index};
    return sqlite3_create_module_v2(db, tables[index].name, &module, aux, free);
}

const kino__table_family kino__event_tables = {TABLE_COUNT, table_name, table_columns, table_add};
