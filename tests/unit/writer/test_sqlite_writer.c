/* test_sqlite_writer.c - a run made by hand, the database it must become, and what can go wrong. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "unit/fixture.h"
#include "unit/test.h"
#include "writer/writer.h"

/* Names without a folder are in the test's own. */
static void enter_folder(void)
{
    REQUIRE_EQ(chdir(test_tmp("")), 0);
}

/* Takes the trace. */
static kino_status save(kino__trace *trace, const char *path, kino__progress *progress,
                        kino_error *err)
{
    kino__run run;
    kino__run_init(&run);
    REQUIRE_EQ(kino__run_add_take(&run, trace, NULL), KINO_OK);
    kino__write_context context = {.progress = progress, .label = "the target"};
    kino_status st = kino__writer_sqlite.write_file(&run, path, &context, err);
    kino__run_deinit(&run);
    return st;
}

static kino__trace *small_trace(void)
{
    return FIXTURE(
        {.cat = "cpu_op",
         .name = "aten::mm",
         .ts = 10,
         .dur = 30,
         .external = 5,
         .args = "{\"Sequence number\": 7, \"Input Dims\": [[2, 3], []], \"x\": true}"},
        {.cat = "cuda_runtime", .name = "cudaLaunchKernel", .ts = 15, .dur = 5, .bind = 90},
        {.cat = "kernel",
         .name = "gemm",
         .track = 7,
         .ts = 25,
         .dur = 6,
         .bind = 90,
         .args = "{\"registers per thread\": \"12\", \"blocks per SM\": 0.5, "
                 "\"grid\": [1, 1, 1], \"grid\": [4,1,1], \"queued\": \"none\"}"});
}

/* All rows of a query as text: columns by '|', rows by a new line, NULL as "-". */
static void check_rows(sqlite3 *db, const char *sql, const char *want)
{
    char text[2000];
    size_t used = 0;
    sqlite3_stmt *statement = NULL;
    if (!CHECK_EQ(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK))
        printf("    %s\n", sqlite3_errmsg(db));
    text[0] = '\0';
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement) && used < sizeof text; i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     i ? "|" : (used ? "\n" : ""), value ? value : "-");
        }
    }
    sqlite3_finalize(statement);
    CHECK_STR(text, want);
}

TEST(sqlite_file_has_the_tables_of_a_query)
{
    enter_folder();
    kino_error err = {0};
    REQUIRE_EQ(save(small_trace(), "out", NULL, &err), KINO_OK);
    sqlite3 *db = NULL;
    REQUIRE_EQ(sqlite3_open_v2("out", &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    check_rows(db, "PRAGMA integrity_check", "ok");
    check_rows(db, "SELECT id, cat, name, ts, dur, parent, correlation, external_id FROM event",
               "0|cpu_op|aten::mm|10|30|-|-|5\n"
               "1|cuda_runtime|cudaLaunchKernel|15|5|0|90|-\n"
               "2|kernel|gemm|25|6|-|90|-");
    check_rows(db, "SELECT id, sequence_number, input_dims, fwd_thread FROM op",
               "0|7|[[2, 3], []]|-");
    /* an integer in quotes is one, of doubled keys the last counts, text is no integer */
    check_rows(db, "SELECT id, registers, blocks_per_sm, grid, queued, typeof(queued) FROM kernel",
               "2|12|0.5|[4,1,1]|-|null");
    check_rows(db, "SELECT event, key, value, type FROM arg WHERE event = 0",
               "0|Sequence number|7|int\n0|Input Dims|[[2, 3], []]|json\n0|x|1|bool");
    check_rows(db, "SELECT r.id, k.id FROM runtime r JOIN kernel k USING (correlation)", "1|2");
    check_rows(db, "PRAGMA user_version", "1");
    sqlite3_close(db);
}

TEST(sqlite_file_of_a_trace_without_events_has_empty_tables)
{
    enter_folder();
    kino_error err = {0};
    REQUIRE_EQ(save(fixture_new(NULL, 0), "out", NULL, &err), KINO_OK);
    sqlite3 *db = NULL;
    REQUIRE_EQ(sqlite3_open_v2("out", &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    check_rows(db,
               "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM collective), "
               "(SELECT count(*) FROM arg), (SELECT count(*) FROM trace)",
               "0|0|0|1");
    sqlite3_close(db);
}

TEST(sqlite_name_that_looks_like_an_address_is_a_name)
{
    enter_folder();
    kino_error err = {0};
    REQUIRE_EQ(save(small_trace(), "file:out?mode=memory", NULL, &err), KINO_OK);
    CHECK_EQ(access("file:out?mode=memory", R_OK), 0);
}

static bool refuse(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)what, (void)done, (void)total;
    ++*(int *)context;
    return false;
}

TEST(sqlite_writing_can_be_cancelled)
{
    enter_folder();
    kino_error err = {0};
    int calls = 0;
    kino__progress progress;
    kino__progress_init(&progress, refuse, &calls);
    CHECK_EQ(save(small_trace(), "out", &progress, &err), KINO_CANCELLED);
    CHECK_STR(err.message, "interrupted");
    CHECK(calls > 0);
}

TEST(sqlite_target_that_cannot_be_made_is_named)
{
    enter_folder();
    kino_error err = {0};
    CHECK_EQ(save(small_trace(), "missing/out", NULL, &err), KINO_IO);
    CHECK(strncmp(err.message, "cannot write 'the target': ", 27) == 0);
    FILE *file = fopen("broken", "we");
    REQUIRE(file != NULL);
    CHECK(fputs("this is no database and longer than the header of one, which has 100 bytes; so "
                "SQLite must refuse it",
                file) >= 0);
    REQUIRE_EQ(fclose(file), 0);
    CHECK_EQ(save(small_trace(), "broken", NULL, &err), KINO_IO);
    CHECK_STR(err.message, "cannot write 'the target': file is not a database");
}
