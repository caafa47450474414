/* save.c - the tables of a run as a database file of SQLite.
 *
 * A connection has the virtual tables as `main` and the file attached as `out`; each table is one
 * INSERT INTO out.x SELECT ... FROM main.x, so the file holds exactly what a query would see.
 *
 *   event                      a table; its key is the event's id, rows stand in order of it
 *   kernel, op, ...            a view: kernel_arg (id and the table's own columns) joined to event
 *   arg                        a view of arg_all, stored in order of the event: no index is needed
 *   track, flow, step, ...     a table; with hidden columns, a view of flow_all without them
 *
 * The file has no journal and is not synced here: it is written under a temporary name, and the
 * caller throws it away when anything fails. Indexes are made at the end, from sorted keys.
 *
 * Work is counted in instructions of SQLite's machine: a row costs one for each column and some
 * more. */
#include "query/save.h"

#include <string.h>

#include "base/error.h"
#include "query/tables.h"

enum {
    PROGRESS_STEPS = 5000,
    ROW_STEPS = 8,            /* of a row apart from its columns */
    INDEX_STEPS = 24,         /* of a row of an index, its share of the sort included */
    MEMBERS = 5,              /* of an event's arguments, roughly */
    APPLICATION = 0x4b696e6f, /* "Kino" */
    VERSION = 1,              /* of the tables */
};

static const char *const indexes[] = {
    "event_ts ON event(ts)",
    "event_name ON event(name)",
    "event_cat ON event(cat)",
    "event_track ON event(track, ts)",
    "event_correlation ON event(correlation) WHERE correlation IS NOT NULL",
    "event_external_id ON event(external_id) WHERE external_id IS NOT NULL",
    "event_parent ON event(parent) WHERE parent IS NOT NULL",
    "flow_from_event ON flow_all(from_event)",
    "flow_to_event ON flow_all(to_event)",
    "counter_name ON counter_all(name, ts)",
};
enum { INDEX_COUNT = sizeof indexes / sizeof *indexes };

typedef struct saver {
    sqlite3 *db;
    kino__query_context context;
    const char *label;
    kino__progress *progress;
    uint64_t left; /* steps that the current statement may still report */
    kino__buffer sql;
} saver;

/* ---- statements ---- */

static int check_progress(void *context)
{
    saver *s = context;
    uint64_t steps = s->left < PROGRESS_STEPS ? s->left : PROGRESS_STEPS;
    s->left -= steps;
    return !kino__progress_add(s->progress, steps);
}

static kino_status fail(const saver *s, int rc, kino_error *err)
{
    if (rc == SQLITE_NOMEM)
        return kino__fail_nomem(err);
    if (rc == SQLITE_INTERRUPT)
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return kino__fail_file(err, KINO_IO, "write", s->label, "%s", sqlite3_errmsg(s->db));
}

/* Runs the statement in s->sql, which is emptied. */
static kino_status run_sql(saver *s, kino_error *err)
{
    kino__buffer_add(&s->sql, (kino_str){"", 1}); /* terminator */
    if (s->sql.failed)
        return kino__fail_nomem(err);
    int rc = sqlite3_exec(s->db, s->sql.data, NULL, NULL, NULL);
    s->sql.size = 0;
    return rc == SQLITE_OK ? KINO_OK : fail(s, rc, err);
}

/* The same, as a part of the work that is shown. */
static kino_status run_work(saver *s, uint64_t steps, kino_error *err)
{
    s->left = steps;
    KINO_TRY(run_sql(s, err));
    steps = s->left;
    s->left = 0;
    if (!kino__progress_add(s->progress, steps))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return KINO_OK;
}

/* ---- columns ---- */

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

static bool has_hidden(const kino__sql_columns *columns)
{
    for (size_t i = 0; i < columns->own_count; i++) {
        if (columns->own[i].is_hidden)
            return true;
    }
    return false;
}

/* "name TYPE, name TYPE"; with_key: a column called id is the table's key. */
static void add_declarations(kino__buffer *out, const kino__sql_column *columns, size_t count,
                             bool with_key)
{
    for (size_t i = 0; i < count; i++) {
        bool is_key = with_key && strcmp(columns[i].name, "id") == 0;
        const char *type =
            is_key ? "INTEGER PRIMARY KEY" : kino__sql_type_declaration(columns[i].type);
        kino__buffer_printf(out, "%s\n    %s%s%s", i ? "," : "", columns[i].name, *type ? " " : "",
                            type);
    }
}

/* "prefix.name, prefix.name" */
static void add_names(kino__buffer *out, const char *prefix, const kino__sql_column *columns,
                      size_t count, bool with_hidden)
{
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (columns[i].is_hidden && !with_hidden)
            continue;
        kino__buffer_printf(out, "%s%s%s", is_first ? "" : ", ", prefix, columns[i].name);
        is_first = false;
    }
}

/* ---- tables ---- */

static uint64_t row_steps(uint64_t rows, size_t columns)
{
    return rows * (columns + ROW_STEPS);
}

static kino_status save_events(saver *s, const kino__sql_columns *columns, kino_error *err)
{
    kino__buffer_printf(&s->sql, "CREATE TABLE out.event(");
    add_declarations(&s->sql, columns->shared, columns->shared_count, true);
    kino__buffer_printf(&s->sql, "\n)");
    KINO_TRY(run_sql(s, err));
    kino__buffer_printf(&s->sql, "INSERT INTO out.event SELECT * FROM main.event ORDER BY id");
    return run_work(s, row_steps(s->context.event_count, columns->shared_count), err);
}

/* The events of a kind: their own columns by id, and the view that has both. */
static kino_status save_kind(saver *s, const char *name, const kino__sql_columns *columns,
                             kino_error *err)
{
    kino__buffer_printf(&s->sql, "CREATE TABLE out.%s_arg(\n    id INTEGER PRIMARY KEY,", name);
    add_declarations(&s->sql, columns->own, columns->own_count, false);
    kino__buffer_printf(&s->sql, "\n)");
    KINO_TRY(run_sql(s, err));
    kino__buffer_printf(&s->sql, "INSERT INTO out.%s_arg SELECT id, ", name);
    add_names(&s->sql, "", columns->own, columns->own_count, true);
    kino__buffer_printf(&s->sql, " FROM main.%s ORDER BY id", name);
    KINO_TRY(run_work(s, row_steps(s->context.event_count / 4, columns->own_count), err));
    kino__buffer_printf(&s->sql, "CREATE VIEW out.%s AS SELECT ", name);
    add_names(&s->sql, "e.", columns->shared, columns->shared_count, true);
    kino__buffer_printf(&s->sql, ", ");
    add_names(&s->sql, "a.", columns->own, columns->own_count, true);
    kino__buffer_printf(&s->sql, " FROM %s_arg a JOIN event e ON e.id = a.id", name);
    return run_sql(s, err);
}

/* Members stand by their event, so that they are found without an index. */
static kino_status save_args(saver *s, const kino__sql_columns *columns, kino_error *err)
{
    kino__buffer_printf(&s->sql, "CREATE TABLE out.arg_all(\n    number INT,");
    add_declarations(&s->sql, columns->own, columns->own_count, false);
    kino__buffer_printf(&s->sql, ",\n    PRIMARY KEY(event, number)\n) WITHOUT ROWID");
    KINO_TRY(run_sql(s, err));
    kino__buffer_printf(&s->sql,
                        "INSERT INTO out.arg_all SELECT rowid, * FROM main.arg ORDER BY event");
    KINO_TRY(run_work(s, row_steps(s->context.event_count * MEMBERS, columns->own_count), err));
    kino__buffer_printf(&s->sql, "CREATE VIEW out.arg AS SELECT ");
    add_names(&s->sql, "", columns->own, columns->own_count, false);
    kino__buffer_printf(&s->sql, " FROM arg_all");
    return run_sql(s, err);
}

/* A table as it is; columns that `*` must not show are in <name>_all only. */
static kino_status save_list(saver *s, const char *name, const kino__sql_columns *columns,
                             kino_error *err)
{
    static const char *const with_key[] = {"trace", "track", "string", NULL};
    const char *suffix = has_hidden(columns) ? "_all" : "";
    kino__buffer_printf(&s->sql, "CREATE TABLE out.%s%s(", name, suffix);
    add_declarations(&s->sql, columns->own, columns->own_count, is_listed(name, with_key));
    kino__buffer_printf(&s->sql, "\n)");
    KINO_TRY(run_sql(s, err));
    kino__buffer_printf(&s->sql, "INSERT INTO out.%s%s SELECT ", name, suffix);
    add_names(&s->sql, "", columns->own, columns->own_count, true);
    kino__buffer_printf(&s->sql, " FROM main.%s", name);
    KINO_TRY(run_sql(s, err));
    if (!*suffix)
        return KINO_OK;
    kino__buffer_printf(&s->sql, "CREATE VIEW out.%s AS SELECT ", name);
    add_names(&s->sql, "", columns->own, columns->own_count, false);
    kino__buffer_printf(&s->sql, " FROM %s_all", name);
    return run_sql(s, err);
}

static kino_status save_table(saver *s, const kino__table_family *family, size_t index,
                              kino_error *err)
{
    const char *name = family->name(index);
    kino__sql_columns columns = family->columns(index);
    if (family == &kino__event_tables)
        return columns.own_count ? save_kind(s, name, &columns, err)
                                 : save_events(s, &columns, err);
    return strcmp(name, "arg") == 0 ? save_args(s, &columns, err)
                                    : save_list(s, name, &columns, err);
}

/* The steps that save_table will report. */
static uint64_t table_work(const saver *s, const kino__table_family *family, size_t index)
{
    kino__sql_columns columns = family->columns(index);
    uint64_t events = s->context.event_count;
    if (family == &kino__event_tables)
        return columns.own_count ? row_steps(events / 4, columns.own_count)
                                 : row_steps(events, columns.shared_count);
    return strcmp(family->name(index), "arg") == 0 ? row_steps(events * MEMBERS, columns.own_count)
                                                   : 0;
}

/* ---- the file ---- */

static kino_status attach(saver *s, const char *path, kino_error *err)
{
    static const char setup[] =
        "PRAGMA out.page_size = 8192;"
        "PRAGMA out.journal_mode = OFF;"
        "PRAGMA out.synchronous = OFF;"
        "PRAGMA out.locking_mode = EXCLUSIVE;"
        "PRAGMA out.cache_size = -131072;" /* 128 MB; also what is sorted at a time */
        "PRAGMA analysis_limit = 1000;";
    /* without SQLITE_OPEN_MEMORY, which would hold for the attached file as well */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(":memory:", &s->db, flags, NULL);
    if (rc != SQLITE_OK)
        return s->db ? fail(s, rc, err) : kino__fail_nomem(err);
    rc = kino__tables_add(s->db, &s->context);
    /* "./" keeps a name such as file:x a name. */
    kino__buffer_printf(&s->sql, "%s%s%c", path[0] == '/' ? "" : "./", path, '\0');
    sqlite3_stmt *statement = NULL;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(s->db, "ATTACH ? AS out", -1, &statement, NULL);
    if (rc == SQLITE_OK && !s->sql.failed) {
        sqlite3_bind_text(statement, 1, s->sql.data, -1, SQLITE_STATIC);
        rc = sqlite3_step(statement);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    sqlite3_finalize(statement);
    s->sql.size = 0;
    if (rc != SQLITE_OK)
        return fail(s, rc, err);
    kino__buffer_printf(&s->sql, "%s PRAGMA out.application_id = %d; PRAGMA out.user_version = %d",
                        setup, APPLICATION, VERSION);
    return run_sql(s, err);
}

static kino_status save_all(saver *s, kino_error *err)
{
    uint64_t total = INDEX_COUNT * s->context.event_count * INDEX_STEPS;
    for (size_t f = 0; f < KINO__FAMILY_COUNT; f++) {
        for (size_t i = 0; i < kino__table_families[f]->count; i++)
            total += table_work(s, kino__table_families[f], i);
    }
    kino__progress_stage(s->progress, "writing", total);
    kino__buffer_printf(&s->sql, "BEGIN");
    KINO_TRY(run_sql(s, err));
    for (size_t f = 0; f < KINO__FAMILY_COUNT; f++) {
        for (size_t i = 0; i < kino__table_families[f]->count; i++)
            KINO_TRY(save_table(s, kino__table_families[f], i, err));
    }
    for (size_t i = 0; i < INDEX_COUNT; i++) {
        kino__buffer_printf(&s->sql, "CREATE INDEX out.%s", indexes[i]);
        KINO_TRY(run_work(s, s->context.event_count * INDEX_STEPS, err));
    }
    kino__buffer_printf(&s->sql, "ANALYZE out; COMMIT");
    return run_sql(s, err);
}

kino_status kino__query_save(const kino__run *run, const char *path, const char *label,
                             kino__progress *progress, kino_error *err)
{
    saver s = {.label = label, .progress = progress};
    if (!kino__query_context_init(&s.context, run))
        return kino__fail_nomem(err);
    s.context.reads_once = true;
    kino_status st = attach(&s, path, err);
    if (st == KINO_OK) {
        sqlite3_progress_handler(s.db, PROGRESS_STEPS, check_progress, &s);
        st = save_all(&s, err);
    }
    if (sqlite3_close(s.db) != SQLITE_OK && st == KINO_OK)
        st = kino__fail_file(err, KINO_IO, "close", label, NULL);
    kino__query_context_deinit(&s.context);
    kino__buffer_deinit(&s.sql);
    return st;
}
