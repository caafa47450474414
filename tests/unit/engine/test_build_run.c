/* test_build_run.c - runs made by the public builder, seen through queries, writers and analyses;
 * all expected values follow from what was added. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kino/builder.h>

#include "unit/test.h"

static kino_error err;

static kino_builder *begin(int64_t base_ns)
{
    kino_builder *b = NULL;
    kino_builder_options options = KINO_BUILDER_OPTIONS_INIT;
    options.base_ns = base_ns;
    options.name = "made";
    REQUIRE_EQ(kino_builder_new(&options, &b, &err), KINO_OK);
    return b;
}

static kino_run *build(kino_builder *b)
{
    kino_run *run = NULL;
    if (!CHECK_EQ(kino_run_build(&b, 1, NULL, &run, &err), KINO_OK))
        CHECK_STR(err.message, "");
    REQUIRE(run != NULL);
    kino_builder_free(b);
    return run;
}

static kino_builder_event span(kino_builder *b, uint32_t track, const char *name, int64_t start,
                               int64_t dur)
{
    kino_builder_event e = KINO_BUILDER_EVENT_INIT;
    e.track = track;
    e.name = kino_builder_text(b, name);
    e.category = kino_builder_text(b, "cpu_op");
    e.ts_ns = start;
    e.dur_ns = dur;
    return e;
}

static uint32_t thread_of(kino_builder *b, int64_t tid)
{
    return kino_builder_track(b, kino_label_number(7), kino_label_number(tid));
}

/* All cells of the answer: rows by '|', columns by ','. */
static void check_query(kino_run *run, const char *sql, const char *want)
{
    char got[2048] = "";
    size_t size = 0;
    kino_rows *rows = NULL;
    const kino_cell *cells;
    if (!CHECK_EQ(kino_run_query(run, sql, NULL, &rows, &err), KINO_OK)) {
        CHECK_STR(err.message, "");
        return;
    }
    while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells) {
        for (size_t i = 0; i < kino_rows_column_count(rows); i++) {
            const char *separator = i ? "," : size ? "|" : "";
            const kino_cell *c = &cells[i];
            if (c->kind == KINO_CELL_TEXT)
                size += (size_t)snprintf(got + size, sizeof got - size, "%s%.*s", separator,
                                         (int)c->value.text.size, c->value.text.data);
            else if (c->kind == KINO_CELL_INT)
                size += (size_t)snprintf(got + size, sizeof got - size, "%s%lld", separator,
                                         (long long)c->value.integer);
            else if (c->kind == KINO_CELL_FLOAT)
                size += (size_t)snprintf(got + size, sizeof got - size, "%s%g", separator,
                                         c->value.real);
            else
                size += (size_t)snprintf(got + size, sizeof got - size, "%s-", separator);
        }
    }
    kino_rows_free(rows);
    CHECK_STR(got, want);
}

TEST(built_spans_nest_and_are_sorted)
{
    kino_builder *b = begin(0);
    uint32_t t = thread_of(b, 1);
    kino_builder_event inner = span(b, t, "inner", 1200, 100);
    kino_builder_event outer = span(b, t, "outer", 1000, 500);
    kino_builder_event twin = span(b, t, "twin", 1200, 100);
    REQUIRE_EQ(kino_builder_add(b, &inner), KINO_OK);
    REQUIRE_EQ(kino_builder_add(b, &outer), KINO_OK);
    REQUIRE_EQ(kino_builder_add(b, &twin), KINO_OK);
    CHECK_EQ(kino_builder_count(b), 3);
    kino_run *run = build(b);
    check_query(run, "SELECT name, cat, ts, dur, depth, pid, tid FROM event",
                "outer,cpu_op,0,500,0,7,1|inner,cpu_op,200,100,1,7,1|twin,cpu_op,200,100,2,7,1");
    check_query(run, "SELECT c.name, p.name FROM event c JOIN event p ON c.parent = p.id",
                "inner,outer|twin,inner");
    CHECK_EQ(kino_run_origin(run), KINO_NO_TIME);
    kino_run_free(run);
}

TEST(built_arguments_are_typed)
{
    kino_builder *b = begin(0);
    kino_builder_event e = span(b, thread_of(b, 1), "f", 0, 1);
    kino_builder_arg_text(b, kino_builder_text(b, "module"), kino_builder_text(b, "a\"b\n"));
    e.args = kino_builder_share_args(b);
    REQUIRE(e.args != 0);
    kino_builder_arg_int(b, kino_builder_text(b, "int"), INT64_MIN);
    kino_builder_arg_uint(b, kino_builder_text(b, "uint"), UINT64_MAX);
    kino_builder_arg_double(b, kino_builder_text(b, "half"), 0.5);
    kino_builder_arg_double(b, kino_builder_text(b, "nan"), (double)NAN);
    kino_builder_arg_bool(b, kino_builder_text(b, "yes"), true);
    kino_builder_arg_null(b, kino_builder_text(b, "none"));
    kino_builder_arg_json(b, kino_builder_text(b, "list"), (kino_str){"[1, {\"a\": 2}]", 13});
    kino_builder_arg_json(b, kino_builder_text(b, "bad"), (kino_str){"[1,", 3});
    REQUIRE_EQ(kino_builder_add(b, &e), KINO_OK);
    e.ts_ns = 5;
    REQUIRE_EQ(kino_builder_add(b, &e), KINO_OK); /* only what is shared */
    e.args = 0;
    e.ts_ns = 9;
    REQUIRE_EQ(kino_builder_add(b, &e), KINO_OK);
    kino_run *run = build(b);
    check_query(
        run, "SELECT args FROM event ORDER BY ts",
        "{\"module\": \"a\\\"b\\n\", \"int\": -9223372036854775808, \"uint\": "
        "18446744073709551615, \"half\": 0.5, \"nan\": null, \"yes\": true, \"none\": null, "
        "\"list\": [1, {\"a\": 2}], \"bad\": \"[1,\"}|{\"module\": \"a\\\"b\\n\"}|-");
    kino_run_free(run);
}

TEST(built_launches_are_linked_by_correlation)
{
    kino_builder *b = begin(0);
    kino_strid key = kino_builder_text(b, "correlation");
    kino_builder_event call = span(b, thread_of(b, 1), "cudaLaunchKernel", 10, 5);
    call.category = kino_builder_text(b, "cuda_runtime");
    kino_builder_arg_int(b, key, 77);
    REQUIRE_EQ(kino_builder_add(b, &call), KINO_OK);
    kino_builder_event kernel =
        span(b, kino_builder_track(b, kino_label_number(0), kino_label_number(20)), "gemm", 30, 8);
    kernel.category = kino_builder_text(b, "kernel");
    kino_builder_arg_int(b, key, 77);
    kernel.args = kino_builder_share_args(b);
    REQUIRE_EQ(kino_builder_add(b, &kernel), KINO_OK);
    kino_run *run = build(b);
    check_query(run, "SELECT name, correlation, device, stream FROM event WHERE cat = 'kernel'",
                "gemm,77,0,20");
    check_query(run, "SELECT r.name, k.name FROM runtime r JOIN kernel k USING (correlation)",
                "cudaLaunchKernel,gemm");
    kino_run_free(run);
}

TEST(built_flows_counters_and_names_are_written_and_read_again)
{
    const char *path = test_tmp("built.json");
    kino_builder *b = begin(INT64_C(1700000000000000000));
    uint32_t t = thread_of(b, 1), u = thread_of(b, 2);
    kino_builder_event e = span(b, t, "a", 1001, 10), s = e, f = e, c = e, i = e;
    s.phase = 's';
    s.id = UINT64_C(1) << 40;
    f.phase = 'f';
    f.id = s.id;
    f.track = u;
    f.ts_ns = 1011;
    c.phase = 'C';
    c.name = kino_builder_text(b, "load");
    c.category = KINO_NO_STRING;
    i.phase = 'i';
    i.scope = 'p';
    REQUIRE_EQ(kino_builder_add(b, &e), KINO_OK);
    REQUIRE_EQ(kino_builder_add(b, &s), KINO_OK);
    REQUIRE_EQ(kino_builder_add(b, &f), KINO_OK);
    kino_builder_arg_double(b, kino_builder_text(b, "cpu"), 0.25);
    REQUIRE_EQ(kino_builder_add(b, &c), KINO_OK);
    REQUIRE_EQ(kino_builder_add(b, &i), KINO_OK);
    REQUIRE_EQ(kino_builder_name_process(b, kino_label_number(7), kino_builder_text(b, "prog")),
               KINO_OK);
    REQUIRE_EQ(kino_builder_name_thread(b, u, kino_builder_text(b, "w\xff")), KINO_OK);
    REQUIRE_EQ(kino_builder_sort_thread(b, u, -3), KINO_OK);
    kino_builder_metadata(b, "host_name", (kino_str){"\"box\"", 5});
    kino_run *run = build(b);
    CHECK_EQ(kino_run_origin(run), INT64_C(1700000000000001001));
    REQUIRE_EQ(kino_run_write(run, path, NULL, &err), KINO_OK);
    kino_run *read = NULL;
    REQUIRE_EQ(kino_run_open(&path, 1, NULL, &read, &err), KINO_OK);
    kino_run *both[] = {run, read};
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(kino_run_origin(both[k]), INT64_C(1700000000000001001));
        check_query(both[k], "SELECT ph, name, ts, dur, tid FROM event WHERE ph <> 'M' ORDER BY id",
                    "X,a,0,10,1|s,a,0,-,1|f,a,10,-,2|C,load,0,-,1|i,a,0,-,1");
        check_query(both[k], "SELECT args FROM event WHERE ph = 'C'", "{\"cpu\": 0.25}");
        check_query(both[k], "SELECT count(*) FROM flow", "1");
        check_query(both[k], "SELECT process, name FROM track WHERE tid = 2", "prog,w\xef\xbf\xbd");
    }
    kino_run_free(read);
    kino_run_free(run);
}

TEST(built_samples_share_spans)
{
    kino_builder *b = begin(0);
    uint32_t t = thread_of(b, 1);
    kino_strid cat = kino_builder_text(b, "cpu_sample"), main_ = kino_builder_text(b, "main");
    kino_strid one[] = {main_, kino_builder_text(b, "f")};
    kino_strid two[] = {main_, kino_builder_text(b, "g")};
    CHECK_EQ(kino_builder_sample(b, t, cat, 0, 10, one, 2), KINO_OK);
    CHECK_EQ(kino_builder_sample(b, t, cat, 10, 20, one, 2), KINO_OK);
    CHECK_EQ(kino_builder_sample(b, t, cat, 20, 30, two, 2), KINO_OK);
    CHECK_EQ(kino_builder_sample(b, t, cat, 25, 40, two, 2), KINO_ARGUMENT);
    CHECK_EQ(kino_builder_sample(b, t, cat, 50, 60, two, 1), KINO_OK); /* a gap before */
    CHECK_EQ(kino_builder_sample(b, t, cat, 60, 60, two, 1), KINO_ARGUMENT);
    CHECK_EQ(kino_builder_sample(b, t + 1, cat, 60, 70, two, 1), KINO_ARGUMENT);
    kino_run *run = build(b);
    check_query(run, "SELECT name, ts, dur, depth FROM event",
                "main,0,30,0|f,0,20,1|g,20,10,1|main,50,10,0");
    kino_run_free(run);
}

TEST(built_events_that_make_no_sense_are_refused)
{
    kino_builder *b = begin(0);
    uint32_t t = thread_of(b, 1);
    const int64_t most = (INT64_C(1) << 62) - 1;
    kino_builder_event good = span(b, t, "x", 5, 5), e;
    static const int64_t starts[] = {INT64_MAX, KINO_NO_TIME, INT64_C(1) << 62,
                                     -(INT64_C(1) << 62)};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        e = good;
        e.ts_ns = starts[i];
        CHECK_EQ(kino_builder_add(b, &e), KINO_ARGUMENT);
    }
#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        e = good;                                                                                  \
        e.member = (value);                                                                        \
        kino_builder_arg_int(b, good.name, 3);                                                     \
        CHECK_EQ(kino_builder_add(b, &e), KINO_ARGUMENT);                                          \
    } while (0)
    REFUSED(dur_ns, -1);
    REFUSED(dur_ns, INT64_MAX);
    REFUSED(dur_ns, most);
    REFUSED(track, 9);
    REFUSED(name, 12345);
    REFUSED(category, 12345);
    REFUSED(args, 1);
    REFUSED(phase, 'B');
    REFUSED(phase, '\0');
    CHECK_EQ(kino_builder_name_thread(b, t, 12345), KINO_ARGUMENT);
    CHECK_EQ(kino_builder_name_thread(b, 9, good.name), KINO_ARGUMENT);
    e = good;
    e.ts_ns = -most;
    CHECK_EQ(kino_builder_add(b, &e), KINO_OK);
    e.ts_ns = most - 5;
    CHECK_EQ(kino_builder_add(b, &e), KINO_OK);
    CHECK_EQ(kino_builder_count(b), 2);
    kino_run *run = build(b);
    /* the arguments of those that were refused went with them */
    check_query(run, "SELECT ts, dur, args FROM event", "0,5,-|9223372036854775801,5,-");
    kino_run_free(run);
}

TEST(built_options_and_runs_of_nothing)
{
    kino_builder *b = NULL;
    kino_run *run = NULL;
    kino_builder_options options = KINO_BUILDER_OPTIONS_INIT;
    options.base_ns = -1;
    CHECK_EQ(kino_builder_new(&options, &b, &err), KINO_ARGUMENT);
    CHECK(b == NULL);
    CHECK_EQ(kino_run_build(NULL, 0, NULL, &run, &err), KINO_ARGUMENT);
    b = begin(0);
    CHECK_EQ(kino_run_build(&b, 1, NULL, &run, &err), KINO_OK); /* an empty trace */
    check_query(run, "SELECT count(*) FROM event", "0");
    kino_run_free(run);
    /* a builder makes one run */
    CHECK_EQ(kino_run_build(&b, 1, NULL, &run, &err), KINO_NOMEM);
    CHECK(run == NULL);
    CHECK_EQ(kino_builder_text(b, "x"), KINO_NO_STRING);
    kino_builder_free(b);
    kino_builder_free(NULL);
}

static kino_run *rank_run(int64_t base, int rank, const char *name)
{
    char info[64];
    kino_builder *b = begin(base);
    kino_builder_event e = span(b, thread_of(b, rank), name, 100, 10);
    int size = snprintf(info, sizeof info, "{\"rank\": %d, \"world_size\": 2}", rank);
    kino_builder_metadata(b, "distributedInfo", (kino_str){info, (size_t)size});
    REQUIRE_EQ(kino_builder_add(b, &e), KINO_OK);
    return build(b);
}

TEST(runs_are_joined_in_order_of_ranks_on_one_clock)
{
    const int64_t base = INT64_C(1700000000000000000);
    kino_run *runs[] = {rank_run(base + 5000, 1, "late"), rank_run(base, 0, "early")};
    const char *names[] = {"second.json", NULL};
    kino_run *all = NULL, *merged = NULL;
    REQUIRE_EQ(kino_runs_join(runs, names, 2, &all, &err), KINO_OK);
    CHECK_EQ(kino_run_origin(all), base + 100);
    check_query(all, "SELECT trace, rank, name, ts FROM event", "0,0,early,0|1,1,late,5000");
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    REQUIRE(kino_run_trace(all, 1, &info));
    CHECK_STR(info.path, "second.json");
    REQUIRE_EQ(kino_run_merge(all, NULL, &merged, &err), KINO_OK);
    check_query(merged, "SELECT name, ts FROM event WHERE ph = 'X' ORDER BY ts",
                "early,0|late,5000");
    kino_run_free(merged);
    uint32_t first = 0;
    kino_run *some = NULL, *none = NULL;
    REQUIRE_EQ(kino_run_select(all, &first, 1, &some, &err), KINO_OK);
    CHECK_EQ(kino_runs_join(&some, NULL, 1, &none, &err), KINO_ARGUMENT); /* and frees it */
    CHECK(none == NULL);
    kino_run_free(all);
}
