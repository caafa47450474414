/* query.c - one SQL statement over a run: a private SQLite connection, fenced in, whose rows are
 * streamed. The fence (fence.h) is what it may do, and for how long. */
#include "query/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "query/fence.h"
#include "query/function_set.h"
#include "query/tables.h"
#include "store/table.h"

typedef struct query {
    kino_rows base;
    sqlite3 *db;
    sqlite3_stmt *statement;
    kino__query_context context;
    kino__function_set *functions; /* NULL: none were offered */
    kino__query_options options;
    kino__fence fence;
    bool is_done;
    kino_cell *cells;
    kino__buffer blobs; /* hex digits of the current row's blobs */
    kino__arena arena;
} query;

/* ---- errors ---- */

/* SQLite does not tell a limit from a machine without memory. */
static kino_status fail_memory(kino_error *err)
{
    int64_t limit = sqlite3_hard_heap_limit64(-1);
    if (limit <= 0)
        return kino__fail_nomem(err);
    return kino__fail(
        err, KINO_LIMIT,
        "the statement is too large or needs more memory than its limit of %lld bytes",
        (long long)limit);
}

/* What SQLite reports, with the byte of the statement it points at. */
static kino_status fail_sql(const query *q, int rc, kino_error *err)
{
    if (q->fence.stopped != KINO_OK)
        return kino__fence_fail(&q->fence, err);
    if (rc == SQLITE_NOMEM)
        return fail_memory(err);
    if (rc == SQLITE_TOOBIG && q->statement)
        return kino__fail(err, KINO_LIMIT, "a value is longer than the limit of %zu bytes",
                          q->fence.value_limit);
    if (rc == SQLITE_AUTH)
        return kino__fail(err, KINO_SQL, "only read-only statements are allowed: %s",
                          sqlite3_errmsg(q->db));
    int offset = sqlite3_error_offset(q->db);
    if (offset < 0)
        return kino__fail(err, KINO_SQL, "%s", sqlite3_errmsg(q->db));
    return kino__fail_at(err, KINO_SQL, (uint64_t)offset, "%s", sqlite3_errmsg(q->db));
}

/* ---- rows ---- */

/* Blobs have no cell of their own: they are given as hex digits. */
static kino_cell blob_cell(query *q, int column)
{
    const unsigned char *bytes = sqlite3_column_blob(q->statement, column);
    size_t size = (size_t)sqlite3_column_bytes(q->statement, column);
    if (size == 0)
        return kino__cell_text((kino_str){"", 0});
    size_t first = q->blobs.size;
    char *to = kino__buffer_reserve(&q->blobs, 2 * size);
    for (size_t i = 0; i < size && to; i++) {
        *to++ = "0123456789abcdef"[bytes[i] >> 4];
        *to++ = "0123456789abcdef"[bytes[i] & 15];
    }
    q->blobs.size += to ? 2 * size : 0;
    return kino__cell_text(
        (kino_str){(const char *)(uintptr_t)first, q->blobs.failed ? 0 : 2 * size});
}

/* What the cell of a column will take. */
static size_t row_bytes(query *q, int column)
{
    switch (sqlite3_column_type(q->statement, column)) {
    case SQLITE_TEXT:
        return (size_t)sqlite3_column_bytes(q->statement, column);
    case SQLITE_BLOB: /* a zeroblob has its bytes only when somebody asks for them */
        return 2 * (size_t)sqlite3_column_bytes(q->statement, column);
    default:
        return sizeof(kino_cell);
    }
}

static kino_cell column_cell(query *q, int column)
{
    switch (sqlite3_column_type(q->statement, column)) {
    case SQLITE_INTEGER:
        return kino__cell_int(sqlite3_column_int64(q->statement, column));
    case SQLITE_FLOAT:
        return kino__cell_real(sqlite3_column_double(q->statement, column));
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(q->statement, column);
        return kino__cell_text(
            (kino_str){text ? text : "", (size_t)sqlite3_column_bytes(q->statement, column)});
    }
    case SQLITE_BLOB:
        return blob_cell(q, column);
    default:
        return kino__cell_null();
    }
}

/* Blob cells hold offsets while the buffer may still move. */
static void settle_blobs(query *q)
{
    for (size_t i = 0; i < q->base.column_count; i++) {
        if (sqlite3_column_type(q->statement, (int)i) == SQLITE_BLOB && q->cells[i].value.text.size)
            q->cells[i].value.text.data = q->blobs.data + (uintptr_t)q->cells[i].value.text.data;
    }
}

static kino_status read_cells(query *q, kino_error *err)
{
    size_t bytes = 0;
    q->blobs.size = 0;
    for (size_t i = 0; i < q->base.column_count; i++) {
        bytes += row_bytes(q, (int)i); /* before it is made */
        if (bytes > q->fence.row_limit)
            return kino__fail(err, KINO_LIMIT, "a row is longer than the limit of %zu bytes",
                              q->fence.row_limit);
        q->cells[i] = column_cell(q, (int)i);
    }
    return q->blobs.failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status next_row(kino_rows *rows, const kino_cell **cells, kino_error *err)
{
    query *q = (query *)rows;
    *cells = NULL;
    if (q->is_done)
        return KINO_OK;
    if (!kino__fence_go_on(&q->fence)) {
        q->is_done = true;
        return kino__fence_fail(&q->fence, err);
    }
    int rc = sqlite3_step(q->statement);
    if (rc != SQLITE_ROW || q->fence.stopped != KINO_OK) {
        q->is_done = true;
        return rc == SQLITE_DONE && q->fence.stopped == KINO_OK ? KINO_OK : fail_sql(q, rc, err);
    }
    kino_status st = read_cells(q, err);
    if (st != KINO_OK) {
        q->is_done = true;
        return st;
    }
    if (q->blobs.size)
        settle_blobs(q);
    *cells = q->cells;
    return KINO_OK;
}

static void free_query(kino_rows *rows)
{
    query *q = (query *)rows;
    sqlite3_finalize(q->statement);
    sqlite3_close(q->db);
    kino__fence_deinit(&q->fence);
    kino__function_set_free(q->functions);
    kino__query_context_deinit(&q->context);
    kino__buffer_deinit(&q->blobs);
    kino__arena_deinit(&q->arena);
    free(q);
}

/* ---- opening ---- */

/* For functions that compute for a while. */
static bool may_go_on(void *fence)
{
    return kino__fence_go_on(fence);
}

static kino_status open_database(query *q, kino_error *err)
{
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(":memory:", &q->db, flags, NULL);
    if (rc != SQLITE_OK)
        return q->db ? fail_sql(q, rc, err) : kino__fail_nomem(err);
    rc = kino__tables_add(q->db, &q->context);
    if (rc == SQLITE_OK && q->options.functions) {
        q->functions = kino__function_set_new(q->options.functions, may_go_on, &q->fence);
        rc = q->functions ? kino__function_set_add(q->functions, q->db) : SQLITE_NOMEM;
    }
    if (rc == SQLITE_OK)
        rc = kino__fence_put(&q->fence, q->db);
    return rc == SQLITE_OK ? KINO_OK : fail_sql(q, rc, err);
}

/* Nothing but blanks, comments and semicolons may follow the statement. */
static kino_status check_tail(query *q, const char *sql, const char *tail, kino_error *err)
{
    while (*tail) {
        sqlite3_stmt *more = NULL;
        const char *start = tail;
        int rc = sqlite3_prepare_v2(q->db, start, -1, &more, &tail);
        sqlite3_finalize(more);
        if (rc != SQLITE_OK || more)
            return kino__fail_at(err, KINO_SQL, (uint64_t)(start - sql),
                                 "more than one SQL statement");
        if (tail == start)
            break;
    }
    return KINO_OK;
}

static int bind_parameter(sqlite3_stmt *statement, int index, const kino_cell *value)
{
    switch (value->kind) {
    case KINO_CELL_INT:
        return sqlite3_bind_int64(statement, index, value->value.integer);
    case KINO_CELL_FLOAT:
        return sqlite3_bind_double(statement, index, value->value.real);
    case KINO_CELL_TEXT:
        return sqlite3_bind_text64(statement, index, value->value.text.data, value->value.text.size,
                                   SQLITE_TRANSIENT, SQLITE_UTF8);
    default:
        return sqlite3_bind_null(statement, index);
    }
}

static kino_status bind_parameters(query *q, kino_error *err)
{
    size_t wanted = (size_t)sqlite3_bind_parameter_count(q->statement);
    size_t given = q->options.parameter_count;
    if (wanted && !given)
        return kino__fail(err, KINO_SQL, "parameters such as '?' have no value here");
    if (wanted != given)
        return kino__fail(err, KINO_SQL, "the statement has %zu parameter%s, %zu given", wanted,
                          wanted == 1 ? "" : "s", given);
    for (size_t i = 0; i < given; i++) {
        int rc = bind_parameter(q->statement, (int)i + 1, &q->options.parameters[i]);
        if (rc != SQLITE_OK)
            return fail_sql(q, rc, err);
    }
    return KINO_OK;
}

static kino_status prepare(query *q, const char *sql, kino_error *err)
{
    const char *tail = NULL;
    int rc = sqlite3_prepare_v2(q->db, sql, -1, &q->statement, &tail);
    if (rc != SQLITE_OK)
        return fail_sql(q, rc, err);
    if (!q->statement)
        return kino__fail(err, KINO_SQL, "no SQL statement");
    if (!sqlite3_stmt_readonly(q->statement))
        return kino__fail(err, KINO_SQL, "only read-only statements are allowed");
    KINO_TRY(bind_parameters(q, err));
    return check_tail(q, sql, tail, err);
}

static kino_status describe_columns(query *q, kino_error *err)
{
    size_t count = (size_t)sqlite3_column_count(q->statement);
    kino_column *columns = kino__arena_alloc(&q->arena, (count + 1) * sizeof *columns);
    q->cells = kino__arena_alloc(&q->arena, (count + 1) * sizeof *q->cells);
    if (!columns || !q->cells)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(q->statement, (int)i);
        kino_str copy = kino__arena_copy(&q->arena, kino__str_from(name));
        if (!name || !copy.data)
            return kino__fail_nomem(err);
        columns[i] =
            (kino_column){.name = copy.data,
                          .type = kino__sql_type_of(sqlite3_column_decltype(q->statement, (int)i))};
    }
    q->base.column_count = count;
    q->base.columns = columns;
    return KINO_OK;
}

kino_status kino__query_open(const kino__run *run, const char *sql,
                             const kino__query_options *options, kino_rows **out, kino_error *err)
{
    *out = NULL;
    query *q = calloc(1, sizeof *q);
    if (!q)
        return kino__fail_nomem(err);
    kino__arena_init(&q->arena, NULL);
    q->base.next = next_row;
    q->base.free = free_query;
    if (options)
        q->options = *options;
    kino__fence_init(&q->fence, q->options.timeout_ms, q->options.cancel, q->options.memory);
    kino_status status = KINO_OK;
    if (!kino__query_context_init(&q->context, run))
        status = kino__fail_nomem(err);
    q->context.fence = &q->fence;
    if (status == KINO_OK)
        status = open_database(q, err);
    if (status == KINO_OK)
        status = prepare(q, sql, err);
    if (status == KINO_OK)
        status = describe_columns(q, err);
    if (status != KINO_OK) {
        free_query(&q->base);
        return status;
    }
    *out = &q->base;
    return KINO_OK;
}

/* ---- the schema as rows ---- */

typedef struct schema {
    kino_rows base;
    size_t family, index;
    kino__table_functions functions; /* describe is NULL: none */
    kino__table_function function;
    kino_cell cells[2];
    kino__buffer text;
} schema;

static kino_status give_table(schema *s, const char *name, const kino_cell **cells, kino_error *err)
{
    if (s->text.failed)
        return kino__fail_nomem(err);
    s->cells[0] = kino__cell_text(kino__str_from(name));
    s->cells[1] = kino__cell_text(kino__buffer_str(&s->text));
    *cells = s->cells;
    return KINO_OK;
}

static kino_status next_function(schema *s, const kino_cell **cells, kino_error *err)
{
    s->text.size = 0;
    while (s->functions.describe &&
           s->functions.describe(s->functions.context, s->index++, &s->function)) {
        if (s->function.is_alias)
            continue;
        kino__function_describe(&s->functions, &s->function, &s->text);
        return give_table(s, s->function.name, cells, err);
    }
    return KINO_OK;
}

static kino_status next_table(kino_rows *rows, const kino_cell **cells, kino_error *err)
{
    schema *s = (schema *)rows;
    *cells = NULL;
    while (s->family < KINO__FAMILY_COUNT && s->index >= kino__table_families[s->family]->count) {
        s->family++;
        s->index = 0;
    }
    if (s->family >= KINO__FAMILY_COUNT)
        return next_function(s, cells, err);
    const kino__table_family *family = kino__table_families[s->family];
    s->text.size = 0;
    kino__sql_describe(family, s->index, &s->text);
    return give_table(s, family->name(s->index++), cells, err);
}

static void free_schema(kino_rows *rows)
{
    schema *s = (schema *)rows;
    kino__buffer_deinit(&s->text);
    free(s);
}

kino_status kino__query_schema(kino_rows **out, kino_error *err)
{
    return kino__query_schema_all(NULL, out, err);
}

kino_status kino__query_schema_all(const kino__table_functions *functions, kino_rows **out,
                                   kino_error *err)
{
    static const kino_column columns[] = {{"name", KINO_TYPE_STRING, NULL, "table"},
                                          {"sql", KINO_TYPE_STRING, NULL, "its columns"}};
    *out = NULL;
    schema *s = calloc(1, sizeof *s);
    if (!s)
        return kino__fail_nomem(err);
    s->base =
        (kino_rows){.column_count = 2, .columns = columns, .next = next_table, .free = free_schema};
    if (functions)
        s->functions = *functions;
    *out = &s->base;
    return KINO_OK;
}
