/* test_select.c - some traces of a run as a run: numbers, ids and clock stay, SQL is refused. */
#include <stdlib.h>

#include <kino/engine.h>

#include "base/str.h"
#include "unit/test.h"

static kino_run *open_two(void)
{
    static const char first[] =
        "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"a\"}]";
    static const char second[] =
        "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2,\"name\":\"b\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":2,\"name\":\"c\"}]";
    const char *paths[] = {test_tmp("rank-0.json"), test_tmp("rank-1.json")};
    kino_run *run;
    kino_error err;
    test_write_file(paths[0], first, sizeof first - 1);
    test_write_file(paths[1], second, sizeof second - 1);
    REQUIRE_EQ(kino_run_open(paths, 2, NULL, &run, &err), KINO_OK);
    return run;
}

TEST(traces_of_a_run_are_told_one_by_one)
{
    kino_run *run = open_two();
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    REQUIRE(kino_run_trace(run, 1, &info));
    CHECK_EQ(info.trace, 1);
    CHECK_EQ(info.rank, 1);
    CHECK_EQ(info.events, 2);
    CHECK_EQ(info.worker.size, 0);
    CHECK(kino__str_ends_with(info.path, KINO__STR("rank-1.json")));
    CHECK(!kino_run_trace(run, 2, &info));
    CHECK_EQ(kino_run_origin(run), KINO_NO_TIME); /* no clock is known */
    CHECK(kino_run_bytes(run) > 3 * 44);
    kino_run_free(run);
}

TEST(selection_has_the_chosen_traces_once_and_in_order)
{
    kino_run *run = open_two(), *some;
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    kino_error err;
    const uint32_t second[] = {1}, twice[] = {1, 0, 1};
    REQUIRE_EQ(kino_run_select(run, second, 1, &some, &err), KINO_OK);
    REQUIRE(kino_run_trace(some, 0, &info));
    CHECK_EQ(info.trace, 1); /* the number is still the run's */
    CHECK_EQ(info.events, 2);
    CHECK(!kino_run_trace(some, 1, &info));
    kino_result *result;
    REQUIRE_EQ(kino_run_info(some, &result, &err), KINO_OK);
    CHECK_EQ(kino_result_row_count(result, 0), 1);
    kino_result_free(result);
    kino_run_free(some);
    REQUIRE_EQ(kino_run_select(run, twice, 3, &some, &err), KINO_OK);
    CHECK(kino_run_trace(some, 1, &info));
    CHECK_EQ(info.trace, 1);
    CHECK(!kino_run_trace(some, 2, &info));
    kino_run_free(some); /* the run still has its traces */
    CHECK(kino_run_trace(run, 1, &info));
    kino_run_free(run);
}

TEST(selection_refuses_what_it_cannot_do)
{
    kino_run *run = open_two(), *some;
    kino_rows *rows;
    kino_error err;
    const uint32_t numbers[] = {0, 2};
    CHECK_EQ(kino_run_select(run, numbers, 2, &some, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "the run has no trace 2: its traces are 0 to 1");
    CHECK(some == NULL);
    CHECK_EQ(kino_run_select(run, numbers, 0, &some, &err), KINO_ARGUMENT);
    REQUIRE_EQ(kino_run_select(run, numbers, 1, &some, &err), KINO_OK);
    CHECK_EQ(kino_run_query(some, "SELECT 1", NULL, &rows, &err), KINO_ARGUMENT);
    CHECK(rows == NULL);
    kino_run_free(some);
    kino_run_free(run);
}
