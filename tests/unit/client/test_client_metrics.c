/* test_client_metrics.c - the history of a daemon becomes counters, whatever the daemon sends. */
#include "client/client_metrics.h"
#include "unit/test.h"

static kino_run *run_of(const char *history)
{
    kino__arena arena;
    const kino__json_in *root;
    kino_run *run = NULL;
    kino_error err;
    kino__arena_init(&arena, NULL);
    REQUIRE_EQ(kino__json_in_parse(kino__str_from(history), NULL, &arena, &root, &err), KINO_OK);
    CHECK_EQ(kino__metrics_history_run(root, &run, &err), KINO_OK);
    kino__arena_deinit(&arena);
    return run;
}

/* One text of each counter event: its time since the run's origin, name and value. */
static void check_events(const char *history, const char *expected)
{
    kino_run *run = run_of(history);
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_error err;
    kino__buffer seen = {0};
    REQUIRE_EQ(kino_run_query(run,
                              "SELECT e.ts || ' ' || e.name || ' ' || e.args FROM event e "
                              "WHERE e.ph = 'C' ORDER BY e.name, e.ts",
                              NULL, &rows, &err),
               KINO_OK);
    while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells)
        kino__buffer_printf(&seen, "%.*s\n", (int)cells[0].value.text.size,
                            cells[0].value.text.data);
    kino__buffer_add(&seen, (kino_str){"", 1});
    CHECK_STR(seen.data, expected);
    kino_rows_free(rows);
    kino_run_free(run);
    kino__buffer_deinit(&seen);
}

TEST(client_metrics_become_counters_named_by_class_first_label_and_key)
{
    check_events("{\"pid\":7,\"times_ns\":[1000,2000,3000],\"columns\":["
                 "{\"class\":\"disk\",\"labels\":{\"device\":\"sda\",\"x\":\"y\"},\"key\":"
                 "\"read_bytes_per_second\",\"digits\":3,\"values\":[null,512000,1]},"
                 "{\"class\":\"cpu\",\"labels\":{},\"key\":\"running\",\"digits\":0,"
                 "\"values\":[4,5,6]}]}",
                 "0 cpu running {\"value\": 4}\n1000 cpu running {\"value\": 5}\n"
                 "2000 cpu running {\"value\": 6}\n"
                 "1000 disk sda read_bytes_per_second {\"value\": 512}\n"
                 "2000 disk sda read_bytes_per_second {\"value\": 0.001}\n");
}

TEST(client_metrics_leave_out_what_the_format_does_not_know)
{
    static const char wrong_columns[] =
        "{\"pid\":7,\"times_ns\":[1],\"columns\":[{\"class\":1,\"key\":\"k\",\"digits\":0,"
        "\"values\":[1]},{\"class\":\"c\",\"key\":\"k\",\"digits\":19,\"values\":[1]},"
        "{\"class\":\"c\",\"key\":\"k\",\"digits\":-1,\"values\":[1]},"
        "{\"class\":\"c\",\"key\":\"k\",\"digits\":0,\"values\":[1.5,2]}]}";
    static const char absurd_times[] =
        "{\"pid\":7,\"times_ns\":[-9000000000000000000,9000000000000000000],\"columns\":["
        "{\"class\":\"c\",\"labels\":[],\"key\":\"k\",\"digits\":0,\"values\":[null,2]}]}";
    static const char *const odd[] = {"{}", "{\"pid\":7,\"times_ns\":[],\"columns\":[]}",
                                      "{\"times_ns\":[\"x\"],\"columns\":[1,[],{}]}", wrong_columns,
                                      absurd_times};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        check_events(odd[i], "");
    /* A clock that was set back: the sample before the first one is left out. */
    check_events("{\"pid\":7,\"times_ns\":[5000,4000,6000],\"columns\":[{\"class\":\"c\","
                 "\"key\":\"k\",\"digits\":0,\"values\":[1,2,3]}]}",
                 "0 c k {\"value\": 1}\n1000 c k {\"value\": 3}\n");
}
