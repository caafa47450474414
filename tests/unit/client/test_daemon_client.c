/* test_daemon_client.c - the asking side of the daemon: times as people write them, file names as
 * libkineto makes them, what fits a filter and why nothing does, and answers made outside of the
 * engine. Calls over sockets are in tests/integration (test_daemon_torch, test_trigger_dynolog). */
#include <kino/engine.h>

#include "base/json_in.h"
#include "cli/daemon_options.h"
#include "client/client_request.h"
#include "client/client_why.h"
#include "unit/test.h"

TEST(durations_need_a_unit)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {{"500ms", 500},  {"2s", 2000},  {"1.5s", 1500}, {"1m", 60000}, {"2min", 120000},
                 {"1h", 3600000}, {"0s", 0},     {"0.4ms", 0},   {"0.5ms", 1},  {"5", -1},
                 {"", -1},        {"s", -1},     {"-1s", -1},    {"+1s", -1},   {"1 s", -1},
                 {"1sec", -1},    {"nan s", -1}, {"1e30s", -1},  {"inf", -1},   {" 1s", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = -1;
        bool is_good = kino__parse_duration(cases[i].text, &ms);
        CHECK_EQ(is_good ? ms : -1, cases[i].ms);
    }
}

TEST(start_times_are_absolute_or_ahead)
{
    const int64_t now = INT64_C(1700000000123);
    int64_t ms = 0;
    CHECK(kino__parse_start("+30s", now, &ms));
    CHECK_EQ(ms, now + 30000);
    CHECK(kino__parse_start("@1700000100.5", now, &ms));
    CHECK_EQ(ms, INT64_C(1700000100500));
    CHECK(kino__parse_start("2023-11-14T22:13:20Z", now, &ms)); /* date -u -d @1700000000 */
    CHECK_EQ(ms, INT64_C(1700000000000));
    CHECK(kino__parse_start("2023-11-14T22:14Z", now, &ms));
    CHECK_EQ(ms, INT64_C(1700000040000));
    CHECK(kino__parse_start("12:30:00", now, &ms)); /* today, wherever that is */
    CHECK(ms > now - 86400000 * INT64_C(2) && ms < now + 86400000 * INT64_C(2));
    CHECK_EQ(ms % 1000, 0);
    static const char *const bad[] = {"",   "soon", "+",          "+5",       "@",
                                      "@x", "@1x",  "2023-11-14", "25:00:00x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!kino__parse_start(bad[i], now, &ms));
}

static bool path_is(const char *path, const char *want)
{
    kino__buffer out = {0};
    kino__on_demand_path(&out, path, 4711);
    bool is_same = kino__str_is(kino__buffer_str(&out), want);
    kino__buffer_deinit(&out);
    return is_same;
}

TEST(file_names_have_the_pid_where_libkineto_puts_it)
{
    CHECK(path_is("/tmp/t.json", "/tmp/t_4711.json"));
    CHECK(path_is("/tmp/t.pt.trace.json", "/tmp/t_4711.pt.trace.json"));
    CHECK(path_is("/tmp/a.json/t.json", "/tmp/a_4711.json/t.json")); /* the first one */
    CHECK(path_is("/tmp/t.json.gz", "/tmp/t_4711.json.gz"));
    CHECK(path_is("/tmp/t.kino", "/tmp/t.kino"));
}

static const char answer_text[] =
    "{\"processes\":["
    "{\"pid\":10,\"job\":0,\"command\":\"/usr/bin/python3 train.py --x\"},"
    "{\"pid\":11,\"job\":17,\"command\":\"trainer\"},"
    "{\"pid\":12,\"job\":17,\"command\":\"trainer\"}],\"others\":2}";

/* How many processes of the answer fit, and in *why what is said when none does. */
static size_t fitting(const char *text, const kino__process_filter *filter, kino__buffer *why)
{
    kino__arena arena;
    const kino__json_in *root = NULL;
    size_t count = 0;
    kino__arena_init(&arena, NULL);
    REQUIRE(kino__json_in_parse(kino__str_from(text), NULL, &arena, &root, NULL) == KINO_OK);
    const kino__json_in *one = kino__json_in_get_array(root, "processes");
    for (; one; one = one->next)
        count += kino__process_fits(one, filter);
    kino__explain_nothing(root, filter, why);
    kino__buffer_add(why, (kino_str){"", 1});
    kino__arena_deinit(&arena);
    return count;
}

TEST(filters_combine_and_names_mean_program_or_command)
{
    static const int64_t pids[] = {10, 12};
    kino__buffer why = {0};
    const kino__process_filter any = {.job = KINO_NO_INT};
    CHECK_EQ(fitting(answer_text, &any, &why), 3);
    const kino__process_filter by_pid = {.pids = pids, .pid_count = 2, .job = KINO_NO_INT};
    CHECK_EQ(fitting(answer_text, &by_pid, &why), 2);
    const kino__process_filter both = {.pids = pids, .pid_count = 2, .job = 17};
    CHECK_EQ(fitting(answer_text, &both, &why), 1);
    const kino__process_filter program = {.job = KINO_NO_INT, .name = "python*"};
    CHECK_EQ(fitting(answer_text, &program, &why), 1);
    const kino__process_filter command = {.job = KINO_NO_INT, .name = "*train.py*"};
    CHECK_EQ(fitting(answer_text, &command, &why), 1);
    const kino__process_filter exact = {.job = KINO_NO_INT, .name = "train"};
    CHECK_EQ(fitting(answer_text, &exact, &why), 0);
    kino__buffer_deinit(&why);
}

TEST(nothing_is_explained)
{
    kino__buffer why = {0};
    const kino__process_filter job = {.job = 5};
    CHECK_EQ(fitting(answer_text, &job, &why), 0);
    CHECK_STR(
        why.data,
        "no process of job 5; registered jobs: 0, 17 (0: outside Slurm); 2 more of other users");
    why.size = 0;
    const kino__process_filter name = {.job = KINO_NO_INT, .name = "x*"};
    CHECK_EQ(fitting(answer_text, &name, &why), 0);
    CHECK_STR(why.data, "no name or command line matches 'x*'; registered processes: "
                        "'/usr/bin/python3 train.py --x', 'trainer'; 2 more of other users");
    why.size = 0;
    const int64_t nobody = 999999999;
    const kino__process_filter pid = {.pids = &nobody, .pid_count = 1, .job = KINO_NO_INT};
    CHECK_EQ(fitting("{\"processes\":[]}", &pid, &why), 0);
    CHECK_STR(why.data, "no such process: 999999999");
    kino__buffer_deinit(&why);
}

static bool gather(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

TEST(answers_made_outside_are_rendered_like_others)
{
    static const kino_column columns[] = {{"pid", KINO_TYPE_INT, NULL, NULL},
                                          {"path", KINO_TYPE_STRING, NULL, NULL}};
    const kino_cell cells[] = {
        {.kind = KINO_CELL_INT, .value.integer = 7},
        {.kind = KINO_CELL_TEXT, .value.text = KINO__STR("/tmp/a,b")},
        {.kind = KINO_CELL_INT, .value.integer = 8},
        {.kind = KINO_CELL_NULL},
    };
    kino_table_data data = KINO_TABLE_DATA_INIT;
    data.name = "traces";
    data.columns = columns;
    data.column_count = 2;
    data.cells = cells;
    data.row_count = 2;
    const kino_table_data *tables[] = {&data};
    const char *const notes[] = {"a note", NULL};
    kino_result *result = NULL;
    kino_error err;
    REQUIRE(kino_result_make("made", tables, 1, notes, &result, &err) == KINO_OK);
    CHECK_EQ(kino_result_row_count(result, 0), 2);
    kino_render_options render = KINO_RENDER_OPTIONS_INIT;
    kino__buffer out = {0};
    render.format = "csv";
    CHECK(kino_render_result(result, &render, gather, &out, &err) == KINO_OK);
    kino__buffer_add(&out, (kino_str){"", 1});
    CHECK_STR(out.data, "pid,path\n7,\"/tmp/a,b\"\n8,\n");
    kino__buffer_deinit(&out);
    kino_result_free(result);
}
