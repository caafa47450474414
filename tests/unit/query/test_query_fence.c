/* test_query_fence.c - what a statement may not do, and that the functions which are guarded for it
 * answer as SQLite's own do. */
#include <sqlite3.h>
#include <string.h>

#include "query/query.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* The first value of the first row, as text; "error" when there is none. */
static void ask_plain(sqlite3 *db, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *statement = NULL;
    const char *text = "error";
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(statement, 0);
    (void)snprintf(out, size, "%s", text);
    sqlite3_finalize(statement);
}

static kino_status ask_within(const kino__run *run, const char *sql, uint64_t memory, char *out,
                              size_t size)
{
    kino__query_options options = {.memory = memory};
    kino_error err = {0};
    kino_rows *rows;
    const kino_cell *cells = NULL;
    kino_status st = kino__query_open(run, sql, &options, &rows, &err);
    if (st == KINO_OK)
        st = kino_rows_next(rows, &cells, &err);
    (void)snprintf(out, size, "%.*s", cells ? (int)cells->value.text.size : 5,
                   cells ? cells->value.text.data : "error");
    if (st == KINO_LIMIT)
        (void)snprintf(out, size, "%s", err.message);
    kino_rows_free(rows);
    return st;
}

static void open_one(kino__run *run)
{
    kino__run_init(run);
    REQUIRE(kino__run_add_take(run, FIXTURE({.name = "aten::mm"}), NULL) == KINO_OK);
}

/* Each is put into typeof(x)||':'||coalesce(quote(x),'') so that type and bytes count. */
static const char *const calls[] = {
    "instr('hello','l')",
    "instr('hello','')",
    "instr('','')",
    "instr('','a')",
    "instr(NULL,'a')",
    "instr('a',NULL)",
    "instr('häuser','u')",
    "instr('häuser','ä')",
    "instr('日本語','語')",
    "instr(x'0001ff',x'ff')",
    "instr(x'0001ff',x'')",
    "instr(x'c3a4','ä')",
    "instr('ä',x'a4')",
    "instr(12345,34)",
    "instr('aaab','aab')",
    "instr(x'e4b8a4a4','x')",
    "replace('hello','l','LL')",
    "replace('hello','','x')",
    "replace('hello','hello','')",
    "replace(NULL,'a','b')",
    "replace('a',NULL,'b')",
    "replace('a','a',NULL)",
    "replace(1234,23,'x')",
    "replace('aaaa','aa','a')",
    "replace(x'616263','b','-')",
    "replace('','a','b')",
    "'Hello' LIKE 'h%'",
    "'Hello' LIKE 'h_llo'",
    "'Hello' LIKE ''",
    "'' LIKE '%'",
    "NULL LIKE '%'",
    "'a' LIKE NULL",
    "'ä' LIKE '_'",
    "'Ä' LIKE 'ä'",
    "12 LIKE '1%'",
    "x'61' LIKE 'a'",
    "'a%b' LIKE 'a\\%b' ESCAPE '\\'",
    "'axb' LIKE 'a\\%b' ESCAPE '\\'",
    "'a_b' LIKE 'a__b' ESCAPE '_'",
    "'a' LIKE 'a' ESCAPE 'ab'",
    "'a' LIKE 'a' ESCAPE NULL",
    "'abc' GLOB 'a*'",
    "'abc' GLOB 'A*'",
    "'abc' GLOB 'a[a-c]?'",
    "'abc' GLOB '[^a]*'",
    "'a' GLOB '['",
    "trim('xxaxx','x')",
    "ltrim('xyxa','yx')",
    "rtrim('aä','ä')",
    "trim(NULL,'x')",
    "trim('x',NULL)",
    "trim('xax','')",
    "trim('  a ')",
    "printf('%d|%5s|%-5s|%.2f|%x|%c|%%|%q',7,'ab','cd',1.5,255,'xyz','it''s')",
    "printf('%*d|%.*c',5,42,3,'z')",
    "printf()",
    "printf(NULL)",
    "printf('%s')",
    "printf('%')",
    "printf('%,d',1234567)",
    "printf('%lld %ld',1,2)",
    "format('%08.3f',3.14159)",
    "printf('%-*d|',-6,7)",
    "json_patch('{\"a\":1}','{\"b\":2,\"a\":null}')",
    "json_patch(NULL,'{}')",
    "json_patch('[1]','x')",
    "json_array(json_patch('{}','{\"b\":2}'))",
};

TEST(query_guarded_functions_answer_as_sqlite_does)
{
    kino__run run;
    sqlite3 *db;
    char sql[512], want[512], got[512];
    open_one(&run);
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT typeof(x)||':'||coalesce(quote(x),'') FROM (SELECT %s AS x)",
                       calls[i]);
        ask_plain(db, sql, want, sizeof want);
        (void)ask_within(&run, sql, 0, got, sizeof got);
        char ours[1024], theirs[1024]; /* so that a failure says which call it was */
        (void)snprintf(ours, sizeof ours, "%s is %s", calls[i], got);
        (void)snprintf(theirs, sizeof theirs, "%s is %s", calls[i], want);
        CHECK_STR(ours, theirs);
    }
    sqlite3_close(db);
    kino__run_deinit(&run);
}

/* 64 MiB: a value may have 1 MiB, a row 16 MiB. */
static const struct {
    const char *sql, *message;
} refused[] = {
    {"SELECT zeroblob(1048577)", "a value is longer than the limit of 1048576 bytes"},
    {"SELECT hex(zeroblob(600000))", "a value is longer than the limit of 1048576 bytes"},
    {"SELECT printf('%.*c',2000000000,'x')", "a value is longer than the limit of 1048576 bytes"},
    {"SELECT printf('%2000000000d',1)", "a value is longer than the limit of 1048576 bytes"},
    {"SELECT printf('%.2000000000f',1)", "a value is longer than the limit of 1048576 bytes"},
    {"SELECT printf('%99999999999999999999d',1)",
     "a value is longer than the limit of 1048576 bytes"},
    {"SELECT replace(hex(zeroblob(400000)),'0','abc')",
     "a value is longer than the limit of 1048576 bytes"},
    {"SELECT zeroblob(1e6),zeroblob(1e6),zeroblob(1e6),zeroblob(1e6),zeroblob(1e6),zeroblob(1e6),"
     "zeroblob(1e6),zeroblob(1e6),zeroblob(1e6)",
     "a row is longer than the limit of 16777216 bytes"},
    {"SELECT hex(zeroblob(400000)) LIKE '%'||hex(zeroblob(20000))||'1'",
     "the pattern and the text of LIKE or GLOB are too long"},
    {"SELECT hex(zeroblob(400000)) GLOB '*'||hex(zeroblob(20000))||'1'",
     "the pattern and the text of LIKE or GLOB are too long"},
    {"SELECT name FROM event WHERE name LIKE hex(zeroblob(500000))||hex(zeroblob(1))", NULL},
};

TEST(query_refuses_values_and_rows_beyond_their_limits)
{
    kino__run run;
    char got[512];
    open_one(&run);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        kino_status st = ask_within(&run, refused[i].sql, 64 << 20, got, sizeof got);
        CHECK_EQ(st, refused[i].message ? KINO_LIMIT : KINO_OK);
        if (refused[i].message)
            CHECK_STR(got, refused[i].message);
    }
    kino__run_deinit(&run);
}

/* Quadratic work in SQLite's own: 10^12 steps and more. Here they end at once. */
TEST(query_searches_long_values_in_linear_time)
{
    kino__run run;
    char got[64];
    open_one(&run);
    CHECK_EQ(ask_within(&run,
                        "SELECT 'x'||instr(hex(zeroblob(4000000)),hex(zeroblob(2000000))||'1')", 0,
                        got, sizeof got),
             KINO_OK);
    CHECK_STR(got, "x0");
    CHECK_EQ(ask_within(&run,
                        "SELECT 'x'||length(replace(hex(zeroblob(4000000)),"
                        "hex(zeroblob(2000000))||'1','y'))",
                        0, got, sizeof got),
             KINO_OK);
    CHECK_STR(got, "x8000000");
    kino__run_deinit(&run);
}

TEST(query_counts_the_functions_of_a_statement)
{
    kino__run run;
    kino_rows *rows;
    kino_error err = {0};
    kino__buffer sql = {0};
    open_one(&run);
    kino__buffer_add(&sql, KINO__STR("SELECT 1 IN (0"));
    for (int i = 0; i < 2001; i++)
        kino__buffer_add(&sql, KINO__STR(",abs(1)"));
    kino__buffer_add(&sql, (kino_str){")", 2});
    CHECK_EQ(kino__query_open(&run, sql.data, NULL, &rows, &err), KINO_LIMIT);
    CHECK_STR(err.message, "the statement uses more than 2000 functions");
    kino__buffer_deinit(&sql);
    kino__run_deinit(&run);
}
