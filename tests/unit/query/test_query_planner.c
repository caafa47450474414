/* test_query_planner.c - the event table against an ordinary SQLite table with the same rows:
 * whatever conditions are decided and orders are delivered by us, the answers must be SQLite's
 * own. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { EVENTS = 400 };

static const char *pick(fixture_random *random, const char *const *list, uint32_t count)
{
    return list[fixture_random_below(random, count)];
}

/* A trace of events that share few names, categories and times, with every kind of gap. */
static kino__trace *random_trace(fixture_random *random)
{
    static const char *const names[] = {"a",      "b", "A", "ab", "gemm_1",
                                        "gemm_2", "5", "",  NULL, "nccl_x"};
    static const char *const cats[] = {"kernel", "cpu_op",     "python_function",
                                       "mine",   "gpu_memcpy", NULL};
    static const char phases[] = {'X', 'X', 'X', 'i', 'C', 's', 'M'};
    static const char *const args[] = {NULL, "{\"device\": 1, \"stream\": 9}", "{\"x\": 1}"};
    static fixture_event events[EVENTS];
    for (size_t i = 0; i < EVENTS; i++) {
        uint32_t track = fixture_random_below(random, 6);
        events[i] = (fixture_event){
            .track = track,
            .ph = phases[fixture_random_below(random, sizeof phases)],
            .cat = pick(random, cats, track == 5 ? 1 : 6),
            .name = pick(random, names, 10),
            .ts = fixture_random_below(random, 300),
            .dur = fixture_random_below(random, 20),
            .bind = fixture_random_below(random, 60),
            .external = fixture_random_below(random, 3)
                            ? 0
                            : (int64_t)fixture_random_below(random, 9) << 32,
            .args = pick(random, args, 3),
        };
        if (fixture_random_below(random, 20) == 0)
            events[i].ts = KINO_NO_TIME;
    }
    return fixture_new(events, EVENTS);
}

static void require_ok(sqlite3 *db, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(db));
    REQUIRE(rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW);
}

static void bind_cell(sqlite3_stmt *insert, int index, const kino_cell *cell)
{
    if (cell->kind == KINO_CELL_INT)
        sqlite3_bind_int64(insert, index, cell->value.integer);
    else if (cell->kind == KINO_CELL_FLOAT)
        sqlite3_bind_double(insert, index, cell->value.real);
    else if (cell->kind == KINO_CELL_TEXT)
        sqlite3_bind_text(insert, index, cell->value.text.data, (int)cell->value.text.size,
                          SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(insert, index);
}

/* The statement that describes a table. */
static void create_table(sqlite3 *db, const char *name)
{
    kino_rows *rows;
    const kino_cell *cells;
    REQUIRE(kino__query_schema(&rows, NULL) == KINO_OK);
    while (kino_rows_next(rows, &cells, NULL) == KINO_OK && cells) {
        if (!kino__str_is(cells[0].value.text, name))
            continue;
        char *sql =
            sqlite3_mprintf("%.*s", (int)cells[1].value.text.size, cells[1].value.text.data);
        require_ok(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
        sqlite3_free(sql);
    }
    kino_rows_free(rows);
}

/* Copies a table of the run into an ordinary one of the same declaration. */
static void copy_table(const kino__run *run, sqlite3 *db, const char *name)
{
    create_table(db, name);
    char *select = sqlite3_mprintf("SELECT * FROM %s", name);
    kino_rows *rows;
    const kino_cell *cells;
    REQUIRE(kino__query_open(run, select, NULL, &rows, NULL) == KINO_OK);
    kino__buffer sql = {0};
    kino__buffer_printf(&sql, "INSERT INTO %s VALUES (?", name);
    for (size_t i = 1; i < kino_rows_column_count(rows); i++)
        kino__buffer_add(&sql, KINO__STR(",?"));
    kino__buffer_add(&sql, (kino_str){")", 2});
    sqlite3_stmt *insert;
    require_ok(db, sqlite3_prepare_v2(db, sql.data, -1, &insert, NULL));
    while (kino_rows_next(rows, &cells, NULL) == KINO_OK && cells) {
        for (size_t i = 0; i < kino_rows_column_count(rows); i++)
            bind_cell(insert, (int)i + 1, &cells[i]);
        require_ok(db, sqlite3_step(insert));
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_free(select);
    kino__buffer_deinit(&sql);
    kino_rows_free(rows);
}

/* Rows as lines; the kind of each cell shows. */
static void ours(const kino__run *run, const char *sql, kino__buffer *out)
{
    kino_rows *rows;
    kino_error err = {0};
    const kino_cell *cells;
    out->size = 0;
    if (kino__query_open(run, sql, NULL, &rows, &err) != KINO_OK)
        fprintf(stderr, "%s: %s\n", sql, err.message);
    REQUIRE(rows != NULL);
    while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells) {
        for (size_t i = 0; i < kino_rows_column_count(rows); i++) {
            if (cells[i].kind == KINO_CELL_INT)
                kino__buffer_printf(out, "|%lld", (long long)cells[i].value.integer);
            else if (cells[i].kind == KINO_CELL_FLOAT)
                kino__buffer_printf(out, "|%.17g", cells[i].value.real);
            else if (cells[i].kind == KINO_CELL_TEXT)
                kino__buffer_printf(out, "|'%.*s'", KINO__STR_ARG(cells[i].value.text));
            else
                kino__buffer_printf(out, "|NULL");
        }
        kino__buffer_printf(out, "\n");
    }
    CHECK_EQ(err.message, "");
    kino__buffer_add(out, (kino_str){"", 1});
    kino_rows_free(rows);
}

static void theirs(sqlite3 *db, const char *sql, kino__buffer *out)
{
    sqlite3_stmt *statement;
    out->size = 0;
    require_ok(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            int type = sqlite3_column_type(statement, i);
            if (type == SQLITE_INTEGER)
                kino__buffer_printf(out, "|%lld", (long long)sqlite3_column_int64(statement, i));
            else if (type == SQLITE_FLOAT)
                kino__buffer_printf(out, "|%.17g", sqlite3_column_double(statement, i));
            else if (type == SQLITE_TEXT)
                kino__buffer_printf(out, "|'%s'", (const char *)sqlite3_column_text(statement, i));
            else
                kino__buffer_printf(out, "|NULL");
        }
        kino__buffer_printf(out, "\n");
    }
    kino__buffer_add(out, (kino_str){"", 1});
    sqlite3_finalize(statement);
}

typedef struct both {
    kino__run run;
    sqlite3 *db;
    kino__buffer ours, theirs;
} both;

static void open_both(both *b, int trace_count, uint64_t seed, bool has_text_labels)
{
    fixture_random random = {seed};
    *b = (both){.db = NULL};
    kino__run_init(&b->run);
    for (int i = 0; i < trace_count; i++) {
        kino__trace *trace = random_trace(&random);
        trace->rank = i == 1 ? KINO_NO_INT : 10 - i;
        kino_strid text = kino__string_pool_add(&trace->strings, KINO__STR("Spans"));
        trace->tracks.items[1].pid = (kino__label){KINO__LABEL_TEXT, text, 0};
        trace->tracks.items[2].tid = (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
        for (uint32_t row = 0; has_text_labels && row < trace->event_count; row += 3)
            trace->flags[row] |= KINO__FLAG_PID_TEXT;
        REQUIRE(kino__run_add_take(&b->run, trace, NULL) == KINO_OK);
    }
    require_ok(b->db, sqlite3_open(":memory:", &b->db));
    copy_table(&b->run, b->db, "event");
    copy_table(&b->run, b->db, "kernel");
}

static void close_both(both *b)
{
    kino__buffer_deinit(&b->ours);
    kino__buffer_deinit(&b->theirs);
    sqlite3_close(b->db);
    kino__run_deinit(&b->run);
}

static bool check_same(both *b, const char *sql)
{
    ours(&b->run, sql, &b->ours);
    theirs(b->db, sql, &b->theirs);
    if (strcmp(b->ours.data, b->theirs.data) == 0)
        return true;
    fprintf(stderr, "%s\n", sql);
    return CHECK_STR((const char *)b->ours.data, (const char *)b->theirs.data);
}

static const char *const conditions[] = {
    "name = 'a'",
    "name = 'no such'",
    "name = ''",
    "name = 5",
    "name = '5'",
    "name = 'A' COLLATE NOCASE",
    "name > 'ab'",
    "name <= 'b'",
    "name != 'a'",
    "name IS NULL",
    "name IS NOT NULL",
    "name IS 'b'",
    "name IS NOT 'b'",
    "name LIKE 'GEMM%'",
    "name LIKE 'g_mm\\_1' ESCAPE '\\'",
    "name GLOB 'g*'",
    "name NOT LIKE '%m%'",
    "name IN ('a', 'b', 'zz')",
    "name IN (5, 'a')",
    "name IN (SELECT 'gemm_1')",
    "name IN (NULL, 'a')",
    "name NOT IN ('a')",
    "name BETWEEN 'a' AND 'b'",
    "name = NULL",
    "cat = 'kernel'",
    "cat = 'mine'",
    "cat IS NULL",
    "cat != 'kernel'",
    "cat IN ('kernel', 'mine')",
    "cat LIKE '%e%'",
    "cat > 'gpu'",
    "ph = 'X'",
    "ph IN ('i', 's')",
    "ph != 'X'",
    "ph > 'Z'",
    "ts > 100",
    "ts >= 100",
    "ts < 50",
    "ts <= 50",
    "ts = 77",
    "ts = 77.0",
    "ts = 77.5",
    "ts > 77.5",
    "ts < 77.5",
    "ts >= 77.5",
    "ts > '100'",
    "ts = '77'",
    "ts < 'x'",
    "ts IS NULL",
    "ts IS NOT NULL",
    "ts > NULL",
    "ts IS 77",
    "ts BETWEEN 40 AND 60",
    "ts > 9223372036854775807",
    "ts >= -9223372036854775808",
    "ts < -9223372036854775808",
    "ts > -1e300",
    "ts < 1e300",
    "ts IN (1, 77, 120)",
    "dur > 10",
    "dur = 3",
    "dur IS NULL",
    "dur <= 2.5",
    "dur < '7'",
    "dur = NULL",
    "pid = 1",
    "pid = '1'",
    "pid = 'Spans'",
    "pid IS NULL",
    "pid > 0",
    "pid < 'Z'",
    "pid >= 'Spans'",
    "tid = 3",
    "tid IS NULL",
    "tid IN (1, 4)",
    "tid = 3.0",
    "track = 4294967298",
    "track > 4294967298",
    "track < 3",
    "track IN (1, 8589934593)",
    "trace = 1",
    "trace > 0",
    "trace IN (0, 2)",
    "rank = 10",
    "rank IS NULL",
    "rank < 10",
    "id = 17",
    "id = 4294967300",
    "id > 4294967400",
    "id IN (3, 4294967299, -5, 8589934592)",
    "correlation = 7",
    "correlation IN (7, 8)",
    "correlation > 50",
    "correlation IS NULL",
    "external_id = 8589934592",
    "external_id IS NULL",
    "external_id > 8589934592",
    "parent = 20",
    "parent IS NULL",
    "parent > 4294967296",
    "depth = 0",
    "depth > 1",
    "depth IS NULL",
    "step IS NULL",
    "device = 1",
    "device IS NULL",
    "stream = 9",
    "stream < 9",
    "ts + 1 > 100",
    "length(name) > 1",
    "args IS NULL",
};
enum { CONDITION_COUNT = sizeof conditions / sizeof *conditions };

static const char *const keys[] = {"name",   "cat",         "ph",     "ts",          "dur",
                                   "pid",    "tid",         "track",  "trace",       "rank",
                                   "id",     "depth",       "parent", "correlation", "device",
                                   "stream", "external_id", "step",   "args"};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

TEST(query_conditions_agree_with_an_ordinary_table)
{
    both b;
    open_both(&b, 3, 1, true);
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        char sql[400];
        snprintf(sql, sizeof sql, "SELECT id FROM event WHERE %s ORDER BY id", conditions[i]);
        check_same(&b, sql);
        snprintf(sql, sizeof sql, "SELECT count(*), sum(id) FROM kernel WHERE NOT (%s)",
                 conditions[i]);
        check_same(&b, sql);
    }
    close_both(&b);
}

TEST(query_orders_agree_with_an_ordinary_table)
{
    for (int labels = 0; labels < 2; labels++) {
        both b;
        open_both(&b, labels ? 1 : 3, 2, labels);
        for (size_t i = 0; i < KEY_COUNT; i++) {
            for (size_t k = 0; k < KEY_COUNT; k++) {
                char sql[400];
                snprintf(sql, sizeof sql, "SELECT %s, %s FROM event ORDER BY %s %s, %s %s", keys[i],
                         keys[k], keys[i], k & 1 ? "DESC" : "", keys[k], i & 1 ? "DESC" : "");
                if (!check_same(&b, sql))
                    break;
            }
        }
        close_both(&b);
    }
}

/* A random query of each form, with conditions from the list in it. */
static void make_query(fixture_random *random, char *sql, size_t size)
{
    static const char *const forms[] = {
        "SELECT %s AS k, %s AS m FROM %s WHERE %s %s %s AND %s ORDER BY k DESC, m",
        "SELECT DISTINCT %s AS k, %s AS m FROM %s WHERE %s %s %s AND %s ORDER BY k DESC, m",
        "SELECT DISTINCT %s AS k, %s AS m FROM %s WHERE %s %s %s AND %s ORDER BY m, k",
        "SELECT %s AS k, %s AS m, count(*) FROM %s WHERE %s %s %s AND %s GROUP BY k, m ORDER BY k, "
        "m DESC",
        "SELECT %s AS k, min(%s), count(*), sum(dur) FROM %s WHERE %s %s %s AND %s GROUP BY k "
        "ORDER BY k DESC",
        "SELECT %s AS k, max(%s), count(*), sum(dur) FROM %s WHERE %s %s %s AND %s GROUP BY k "
        "ORDER BY 3, k",
        "SELECT count(DISTINCT %s), min(%s) FROM %s WHERE %s %s %s AND %s",
        "SELECT max(%s), count(%s) FROM %s WHERE %s %s %s AND %s",
    };
    const char *form = pick(random, forms, sizeof forms / sizeof *forms);
    const char *k = pick(random, keys, KEY_COUNT), *m = pick(random, keys, KEY_COUNT);
    const char *x = pick(random, conditions, CONDITION_COUNT),
               *y = pick(random, conditions, CONDITION_COUNT);
    const char *z =
        fixture_random_below(random, 2) ? "1" : pick(random, conditions, CONDITION_COUNT);
    const char *table = fixture_random_below(random, 4) ? "event" : "kernel";
    snprintf(sql, size, form, k, m, table, x, fixture_random_below(random, 2) ? "AND" : "OR", y, z);
}

TEST(query_mixtures_agree_with_an_ordinary_table)
{
    for (int trace_count = 1; trace_count <= 3; trace_count += 2) {
        both b;
        open_both(&b, trace_count, 3, false);
        fixture_random random = {4};
        for (int i = 0; i < 1500; i++) {
            char sql[800];
            make_query(&random, sql, sizeof sql);
            if (!check_same(&b, sql))
                break;
        }
        close_both(&b);
    }
}

TEST(query_joins_agree_with_an_ordinary_table)
{
    static const char *const joins[] = {
        "SELECT count(*), sum(p.id) FROM event e JOIN event p ON p.id = e.parent",
        "SELECT e.id, p.id FROM event e LEFT JOIN event p ON p.id = e.parent AND p.cat = 'kernel' "
        "ORDER BY 1, 2",
        "SELECT count(*), sum(a.id + 3 * b.id) FROM event a JOIN event b ON a.correlation = "
        "b.correlation",
        "SELECT count(*) FROM event a JOIN event b ON a.correlation = b.correlation AND a.trace = "
        "b.trace",
        "SELECT count(*) FROM kernel a JOIN event b ON a.external_id = b.external_id WHERE a.name "
        "= b.name",
        "SELECT count(*) FROM event a JOIN event b ON a.name = b.name WHERE a.trace = 0 AND "
        "b.trace = 2",
        "SELECT count(*) FROM event a JOIN event b ON a.parent = b.parent",
        "SELECT count(*) FROM event a JOIN event b ON b.ts BETWEEN a.ts AND a.ts + a.dur AND "
        "b.track = a.track",
        "SELECT e.id, (SELECT count(*) FROM event c WHERE c.parent = e.id) AS n FROM event e ORDER "
        "BY n DESC, 1 LIMIT 9",
        "SELECT id FROM event WHERE id IN (SELECT parent FROM event WHERE name = 'a') ORDER BY id",
        "SELECT a.pid, count(*) FROM event a JOIN event b ON a.pid = b.tid GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM event a JOIN event b ON a.name = b.correlation",
        "SELECT cat, name, n FROM (SELECT cat, name, count(*) AS n FROM event GROUP BY cat, name) "
        "WHERE n > 3 ORDER BY 1, 2",
        "SELECT name, row_number() OVER (PARTITION BY cat ORDER BY id) FROM event ORDER BY id "
        "LIMIT 20",
        "SELECT name FROM event WHERE cat = 'kernel' UNION SELECT cat FROM event ORDER BY 1",
    };
    both b;
    open_both(&b, 3, 5, true);
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        check_same(&b, joins[i]);
    close_both(&b);
}
