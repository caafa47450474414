/* test_query.c - SQL over traces made by hand: what each table has, what is refused, how a query
 * is stopped. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "query/query.h"
#include "unit/fixture.h"
#include "unit/test.h"

static void add_cell(kino__buffer *out, const kino_cell *cell)
{
    switch (cell->kind) {
    case KINO_CELL_NULL:
        kino__buffer_add(out, KINO__STR("-"));
        break;
    case KINO_CELL_INT:
        kino__buffer_printf(out, "%lld", (long long)cell->value.integer);
        break;
    case KINO_CELL_FLOAT:
        kino__buffer_printf(out, "%.6g", cell->value.real);
        break;
    case KINO_CELL_TEXT:
        kino__buffer_add(out, cell->value.text);
        break;
    }
}

/* The rows as "a,b;c,d"; "error: ..." when the query fails. Valid until the next call. */
static const char *ask(const kino__run *run, const char *sql)
{
    static kino__buffer out;
    kino_error err = {0};
    kino_rows *rows;
    const kino_cell *cells = NULL;
    out.size = 0;
    kino_status status = kino__query_open(run, sql, NULL, &rows, &err);
    while (status == KINO_OK && (status = kino_rows_next(rows, &cells, &err)) == KINO_OK && cells) {
        kino__buffer_add(&out, out.size ? KINO__STR(";") : KINO__STR(""));
        for (size_t i = 0; i < kino_rows_column_count(rows); i++) {
            kino__buffer_add(&out, i ? KINO__STR(",") : KINO__STR(""));
            add_cell(&out, &cells[i]);
        }
    }
    kino_rows_free(rows);
    if (status != KINO_OK) {
        out.size = 0;
        kino__buffer_printf(&out, "error: %s", err.message);
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    return out.data;
}

static void open_run(kino__run *run, kino__trace *first, kino__trace *second)
{
    kino__run_init(run);
    REQUIRE(kino__run_add_take(run, first, NULL) == KINO_OK);
    if (second)
        REQUIRE(kino__run_add_take(run, second, NULL) == KINO_OK);
}

/* The small example of the trace format's reference: an op, its launch, its kernel, a flow between
 * them, and so on.
 * Times in ns. Track 1 is the thread, 7 the stream, 9 the counters. */
static kino__trace *example(void)
{
    return FIXTURE(
        {.track = 1,
         .cat = "cpu_op",
         .name = "aten::mm",
         .ts = 10000,
         .dur = 30250,
         .external = 5,
         .args =
             "{\"External id\": 5, \"Record function id\": 12, \"Input Dims\": [[8, 8], [8, 8]], "
             "\"Sequence number\": 77, \"Fwd thread id\": 0}"},
        {.track = 1,
         .cat = "cuda_runtime",
         .name = "cudaLaunchKernel",
         .ts = 18000,
         .dur = 4100,
         .bind = 90,
         .external = 5,
         .args = "{\"External id\": 5, \"cbid\": 211, \"correlation\": 90}"},
        {.track = 1, .ph = 's', .cat = "ac2g", .name = "ac2g", .ts = 18000, .bind = 90},
        {.track = 7,
         .cat = "kernel",
         .name = "gemm",
         .ts = 24500,
         .dur = 6000,
         .bind = 90,
         .external = 5,
         .args =
             "{\"External id\": 5, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, "
             "\"correlation\": 90, \"registers per thread\": 32, \"shared memory\": 0, \"blocks "
             "per SM\": 2.5, "
             "\"grid\": [8, 1, 1], \"block\": [256, 1, 1], \"est. achieved occupancy %\": 25}"},
        {.track = 7, .ph = 'f', .cat = "ac2g", .name = "ac2g", .ts = 24500, .bind = 90, .bp = true},
        {.track = 1,
         .ph = 'i',
         .cat = "cpu_instant_event",
         .name = "[memory]",
         .ts = 12000,
         .args = "{\"Device Type\": 1, \"Device Id\": 0, \"Addr\": 4096, \"Bytes\": -256, "
                 "\"Total Allocated\": 256, \"Total Reserved\": 2097152}"},
        {.track = 9,
         .ph = 'C',
         .cat = "hardware_counters",
         .name = "sm__cycles",
         .ts = 25000,
         .args = "{\"\": 812.5}"},
        {.track = 9,
         .ph = 'C',
         .name = "memory",
         .ts = 26000,
         .args = "{\"used\": 3, \"free\": 5, \"unit\": \"x\"}"},
        {.track = 7,
         .cat = "gpu_memcpy",
         .name = "Memcpy HtoD",
         .ts = 40000,
         .dur = 100,
         .bind = 91,
         .args = "{\"bytes\": 1024, \"memory bandwidth (GB/s)\": 10.24}"},
        {.track = 1, .ph = 'i', .cat = "cpu_instant_event", .name = "other", .ts = 13000});
}

TEST(query_gives_an_events_columns)
{
    kino__run run;
    open_run(&run, example(), NULL);
    CHECK_STR(ask(&run, "SELECT id, trace, rank, ph, cat, name, ts, dur, pid, tid, track, "
                        "correlation, external_id, "
                        "device, stream FROM event WHERE name = 'gemm'"),
              "3,0,-,X,kernel,gemm,24500,6000,0,7,1,90,5,0,7");
    CHECK_STR(ask(&run, "SELECT id, depth, parent, step FROM event WHERE tid = 1 ORDER BY id"),
              "0,0,-,-;1,1,0,-;2,-,-,-;5,1,0,-;9,1,0,-");
    CHECK_STR(ask(&run, "SELECT args FROM event WHERE cat = 'hardware_counters'"), "{\"\": 812.5}");
    CHECK_STR(
        ask(&run, "SELECT args IS NULL, dur IS NULL, correlation IS NULL FROM event WHERE id = 2"),
        "1,1,1");
    kino__run_deinit(&run);
}

TEST(query_gives_typed_tables_their_events_and_arguments)
{
    kino__run run;
    open_run(&run, example(), NULL);
    CHECK_STR(ask(&run, "SELECT name, grid, block, registers, shared_memory, blocks_per_sm, "
                        "occupancy, context, "
                        "graph_id FROM kernel"),
              "gemm,[8, 1, 1],[256, 1, 1],32,0,2.5,25,1,-");
    CHECK_STR(ask(&run, "SELECT name, bytes, bandwidth_gb_s FROM memcpy"),
              "Memcpy HtoD,1024,10.24");
    CHECK_STR(ask(&run, "SELECT name, cbid FROM runtime"), "cudaLaunchKernel,211");
    CHECK_STR(ask(&run, "SELECT input_dims, sequence_number, fwd_thread, call_stack FROM op"),
              "[[8, 8], [8, 8]],77,0,-");
    CHECK_STR(ask(&run,
                  "SELECT id, bytes, addr, device_type, device_id, total_allocated, total_reserved "
                  "FROM memory_event"),
              "5,-256,4096,1,0,256,2097152");
    CHECK_STR(ask(&run, "SELECT count(*) FROM memset"), "0");
    kino__run_deinit(&run);
}

TEST(query_finds_collectives_on_both_sides)
{
    kino__run run;
    open_run(
        &run,
        FIXTURE({.cat = "cpu_op",
                 .name = "record_param_comms",
                 .ts = 1,
                 .dur = 5,
                 .args =
                     "{\"Collective name\": \"allreduce\", \"dtype\": \"Float\", \"In msg "
                     "nelems\": 10, "
                     "\"Group size\": 4, \"Process Group Ranks\": \"[0, 1, 2, 3]\", \"Rank\": 2}"},
                {.cat = "cpu_op", .name = "ncclNotAKernel", .ts = 2, .dur = 1},
                {.track = 7,
                 .cat = "kernel",
                 .name = "ncclDevKernel_AllReduce_Sum",
                 .ts = 8,
                 .dur = 9,
                 .args = "{\"Collective name\": \"allreduce\", \"Seq\": 3}"},
                {.track = 7, .cat = "kernel", .name = "record_param_comms", .ts = 20, .dur = 9}),
        NULL);
    CHECK_STR(ask(&run, "SELECT id, collective_name, dtype, in_msg_nelems, group_size, "
                        "process_group_ranks, group_rank, "
                        "seq FROM collective ORDER BY id"),
              "0,allreduce,Float,10,4,[0, 1, 2, 3],2,-;2,allreduce,-,-,-,-,-,3");
    kino__run_deinit(&run);
}

TEST(query_walks_arguments)
{
    kino__run run;
    open_run(&run,
             FIXTURE({.name = "a",
                      .args = "{\"i\": 1, \"f\": 2.5, \"s\": \"x\\\"y\", \"t\": true, \"n\": null, "
                              "\"l\": [1, 2]}"},
                     {.name = "b", .ts = 1}, {.name = "c", .ts = 2, .args = "{\"i\": 7}"}),
             NULL);
    CHECK_STR(
        ask(&run, "SELECT event, key, value, type FROM arg"),
        "0,i,1,int;0,f,2.5,float;0,s,x\"y,string;0,t,1,bool;0,n,-,null;0,l,[1, 2],json;2,i,7,int");
    CHECK_STR(
        ask(&run,
            "SELECT e.name, a.value FROM event e JOIN arg a ON a.event = e.id WHERE a.key = 'i'"),
        "a,1;c,7");
    CHECK_STR(ask(&run, "SELECT count(*) FROM arg WHERE event = 1"), "0");
    CHECK_STR(ask(&run, "SELECT j.key, j.value FROM event e, json_each(e.args) j WHERE e.id = 2"),
              "i,7");
    kino__run_deinit(&run);
}

TEST(query_gives_damaged_arguments_as_valid_json)
{
    kino__run run;
    open_run(&run,
             FIXTURE({.name = "a",
                      .args = "{\"x\": NaN, \"y\": \"tab\there\", \"z\": [1, 2], \"w\": 5,}"},
                     {.name = "b", .args = "{\"x\": 1}"}),
             NULL);
    CHECK_STR(ask(&run, "SELECT args FROM event WHERE name = 'b'"), "{\"x\": 1}");
    CHECK_STR(
        ask(&run,
            "SELECT json_valid(args), json_extract(args, '$.x'), json_extract(args, '$.y'), "
            "json_extract(args, '$.z[1]'), json_extract(args, '$.w') FROM event WHERE name = 'a'"),
        "1,-,tab\there,2,5");
    kino__run_deinit(&run);
}

TEST(query_gives_counters_one_row_a_series)
{
    kino__run run;
    open_run(&run, example(), NULL);
    CHECK_STR(ask(&run, "SELECT trace, track, name, ts, value FROM counter"),
              "0,2,sm__cycles,25000,812.5;0,2,memory.used,26000,3;0,2,memory.free,26000,5");
    CHECK_STR(ask(&run, "SELECT value FROM counter WHERE ts > 25000 AND name = 'memory.free'"),
              "5");
    kino__run_deinit(&run);
}

TEST(query_gives_tracks_flows_and_strings)
{
    kino__run run;
    open_run(&run, example(), NULL);
    CHECK_STR(ask(&run, "SELECT id, trace, pid, tid, kind, name, device, stream FROM track"),
              "0,0,1,1,host,-,-,-;1,0,0,7,device,-,0,7;2,0,1,9,other,-,-,-");
    CHECK_STR(ask(&run, "SELECT t.kind, count(*) FROM event e JOIN track t ON t.id = e.track GROUP "
                        "BY 1 ORDER BY 1"),
              "device,3;host,5;other,2");
    CHECK_STR(ask(&run, "SELECT f.id, f.cat, a.name, b.name, from_point, to_point FROM flow f "
                        "JOIN event a ON a.id = f.from_event JOIN event b ON b.id = f.to_event"),
              "90,ac2g,cudaLaunchKernel,gemm,2,4");
    CHECK_STR(ask(&run, "SELECT e.id, f.id FROM event e LEFT JOIN flow f ON f.to_event = e.id "
                        "ORDER BY e.id LIMIT 4"),
              "0,-;1,-;2,-;3,90");
    CHECK_STR(ask(&run, "SELECT to_event FROM flow WHERE from_event = 1"), "3");
    CHECK_STR(ask(&run, "SELECT to_event FROM flow WHERE from_event = '1'"), "3");
    CHECK_STR(ask(&run, "SELECT count(*) FROM flow WHERE from_event = 4294967297"), "0");
    CHECK_STR(ask(&run, "SELECT tid FROM track WHERE id = 1"), "7");
    CHECK_STR(ask(&run, "SELECT tid FROM track WHERE id = 3"), "");
    CHECK_STR(ask(&run, "SELECT count(*) FROM track WHERE trace = 1"), "0");
    CHECK_STR(ask(&run, "SELECT count(*) FROM string WHERE text = 'gemm'"), "1");
    kino__run_deinit(&run);
}

/* One launch of a graph has many kernels: every flow is found from either side. */
TEST(query_finds_all_flows_of_an_event)
{
    kino__run run;
    open_run(
        &run,
        FIXTURE(
            {.track = 1,
             .cat = "cuda_runtime",
             .name = "cudaGraphLaunch",
             .ts = 1,
             .dur = 5,
             .bind = 3},
            {.track = 1, .ph = 's', .cat = "ac2g", .name = "ac2g", .ts = 1, .bind = 3},
            {.track = 7, .cat = "kernel", .name = "a", .ts = 10, .dur = 5, .bind = 3},
            {.track = 7, .ph = 'f', .cat = "ac2g", .name = "ac2g", .ts = 10, .bind = 3, .bp = true},
            {.track = 7, .cat = "kernel", .name = "b", .ts = 20, .dur = 5, .bind = 3},
            {.track = 7,
             .ph = 'f',
             .cat = "ac2g",
             .name = "ac2g",
             .ts = 20,
             .bind = 3,
             .bp = true}),
        NULL);
    CHECK_STR(ask(&run, "SELECT to_event FROM flow WHERE from_event = 0"), "2;4");
    CHECK_STR(
        ask(&run,
            "SELECT k.name, f.from_event FROM kernel k LEFT JOIN flow f ON f.to_event = k.id"),
        "a,0;b,0");
    kino__run_deinit(&run);
}

TEST(query_gives_steps)
{
    kino__run run;
    open_run(
        &run,
        FIXTURE(
            {.track = 1, .cat = "user_annotation", .name = "ProfilerStep#3", .ts = 0, .dur = 100},
            {.track = 1, .cat = "cpu_op", .name = "a", .ts = 10, .dur = 5},
            {.track = 1, .cat = "user_annotation", .name = "ProfilerStep#4", .ts = 100, .dur = 50},
            {.track = 1, .cat = "cpu_op", .name = "b", .ts = 110, .dur = 5},
            {.track = 1, .cat = "cpu_op", .name = "c", .ts = 400, .dur = 5}),
        NULL);
    CHECK_STR(ask(&run, "SELECT trace, rank, number, ts, dur FROM step"),
              "0,-,3,0,100;0,-,4,100,50");
    CHECK_STR(ask(&run, "SELECT name, step FROM op ORDER BY ts"), "a,3;b,4;c,-");
    kino__run_deinit(&run);
}

static void set_metadata(kino__trace *trace, const char *key, const char *value)
{
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    REQUIRE(slot != NULL);
    *slot = (kino__metadata){kino__str_from(key), kino__str_from(value)};
}

TEST(query_gives_traces_devices_and_metadata)
{
    kino__run run;
    kino__trace *trace = FIXTURE({.name = "a"}, {.name = "b"});
    trace->rank = 3;
    trace->path = KINO__STR("run/a.json");
    trace->format = KINO__STR("chrome-json");
    set_metadata(trace, "schemaVersion", "1");
    set_metadata(trace, "host_name", "\"box\"");
    set_metadata(
        trace, "deviceProperties",
        "[{\"id\": 0, \"name\": \"A } B\", \"totalGlobalMem\": 1024, \"numSms\": 4}, {\"id\": 1, "
        "\"maxSharedMemoryPerMultiProcessor\": 65536}]");
    open_run(&run, trace, NULL);
    CHECK_STR(
        ask(&run,
            "SELECT id, rank, path, format, worker, clock, events, skipped, repaired FROM trace"),
        "0,3,run/a.json,chrome-json,-,unknown,2,0,0");
    CHECK_STR(
        ask(&run, "SELECT id, name, total_memory, sm_count, shared_memory_per_sm FROM device"),
        "0,A } B,1024,4,-;1,-,-,-,65536");
    CHECK_STR(ask(&run, "SELECT properties FROM device WHERE id = 1"),
              "{\"id\": 1, \"maxSharedMemoryPerMultiProcessor\": 65536}");
    CHECK_STR(ask(&run, "SELECT key, value, typeof(value) FROM metadata LIMIT 2"),
              "schemaVersion,1,integer;host_name,box,text");
    CHECK_STR(ask(&run, "SELECT DISTINCT rank FROM event"), "3");
    kino__run_deinit(&run);
}

TEST(query_spans_all_traces_of_a_run)
{
    kino__run run;
    open_run(&run, FIXTURE({.name = "b", .ts = 5, .dur = 1}, {.name = "a", .ts = 30, .dur = 2}),
             FIXTURE({.name = "c", .ts = 1, .dur = 4}, {.name = "a", .ts = 20, .dur = 8}));
    CHECK_STR(ask(&run, "SELECT trace, name FROM event ORDER BY ts"), "1,c;0,b;1,a;0,a");
    CHECK_STR(ask(&run, "SELECT trace, name FROM event ORDER BY ts DESC"), "0,a;1,a;0,b;1,c");
    CHECK_STR(ask(&run, "SELECT name, count(*), sum(dur) FROM event GROUP BY name ORDER BY name"),
              "a,2,10;b,1,1;c,1,4");
    CHECK_STR(ask(&run, "SELECT id, name FROM event WHERE id = 4294967297"), "4294967297,a");
    CHECK_STR(ask(&run, "SELECT id FROM event WHERE id = 8589934592"), "");
    CHECK_STR(ask(&run, "SELECT id FROM event WHERE id = -1"), "");
    CHECK_STR(ask(&run, "SELECT name FROM event WHERE rowid = 4294967296"), "c");
    CHECK_STR(ask(&run, "SELECT trace FROM event WHERE trace = 1 AND name = 'a'"), "1");
    kino__run_deinit(&run);
}

TEST(query_keeps_text_labels_as_text)
{
    kino__run run;
    kino__trace *trace =
        FIXTURE({.track = 1, .name = "a"}, {.track = 2, .name = "b"}, {.track = 3, .name = "c"});
    kino_strid spans = kino__string_pool_add(&trace->strings, KINO__STR("Spans"));
    trace->tracks.items[1].pid = (kino__label){KINO__LABEL_TEXT, spans, 0};
    trace->tracks.items[2].pid = (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
    trace->flags[0] |= KINO__FLAG_TID_TEXT;
    open_run(&run, trace, NULL);
    CHECK_STR(ask(&run, "SELECT name, pid, typeof(pid), tid, typeof(tid) FROM event"),
              "a,1,integer,1,text;b,Spans,text,2,integer;c,-,null,3,integer");
    CHECK_STR(ask(&run, "SELECT name FROM event WHERE tid = '1'"), "a");
    CHECK_STR(ask(&run, "SELECT name FROM event WHERE tid = 1"), "");
    CHECK_STR(ask(&run, "SELECT name FROM event WHERE pid = 'Spans'"), "b");
    CHECK_STR(ask(&run, "SELECT name FROM event WHERE pid IS NULL"), "c");
    kino__run_deinit(&run);
}

TEST(query_refuses_everything_but_reading)
{
    static const char *const refused[] = {
        "CREATE TABLE t(x)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "INSERT INTO event(id) VALUES (1)",
        "DELETE FROM event",
        "ATTACH 'x.db' AS x",
        "PRAGMA temp_store_directory = '/'",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "VACUUM INTO 'x.db'",
        "BEGIN",
        "UPDATE sqlite_master SET sql = 'x'",
        "SELECT 1; SELECT 2",
        "SELECT 1; garbage",
        "SELECT ?",
        "",
        "  -- nothing\n",
    };
    kino__run run;
    open_run(&run, FIXTURE({.name = "a"}), NULL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        kino_rows *rows;
        kino_error err = {0};
        if (!CHECK_EQ(kino__query_open(&run, refused[i], NULL, &rows, &err), KINO_SQL))
            fprintf(stderr, "not refused: %s\n", refused[i]);
        CHECK(err.message[0] != '\0');
        CHECK(rows == NULL);
        kino_rows_free(rows);
    }
    CHECK_STR(ask(&run, "SELECT 1; -- the end\n ; "), "1");
    CHECK_STR(ask(&run, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                        "3) SELECT i FROM n"),
              "1;2;3");
    CHECK_STR(ask(&run, "SELECT name FROM pragma_table_info('event') LIMIT 2"), "id;trace");
    kino__run_deinit(&run);
}

TEST(query_errors_say_where)
{
    kino__run run;
    kino_rows *rows;
    kino_error err = {0};
    open_run(&run, FIXTURE({.name = "a"}), NULL);
    CHECK_EQ(kino__query_open(&run, "SELECT name FORM event", NULL, &rows, &err), KINO_SQL);
    CHECK_EQ(err.offset, strlen("SELECT name FORM "));
    CHECK_STR(err.message, "near \"event\": syntax error");
    CHECK_EQ(kino__query_open(&run, "SELECT colour FROM event", NULL, &rows, &err), KINO_SQL);
    CHECK_EQ(err.offset, strlen("SELECT "));
    CHECK_EQ(kino__query_open(&run, "SELECT 1; SELECT 2", NULL, &rows, &err), KINO_SQL);
    CHECK_EQ(err.offset, strlen("SELECT 1;"));
    kino__run_deinit(&run);
}

#define ENDLESS                                                                                    \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

TEST(query_ends_at_its_time_limit)
{
    kino__run run;
    kino_rows *rows;
    kino_error err = {0};
    const kino_cell *cells;
    kino__query_options options = {.timeout_ms = 50};
    open_run(&run, FIXTURE({.name = "a"}), NULL);
    REQUIRE(kino__query_open(&run, ENDLESS, &options, &rows, &err) == KINO_OK);
    CHECK_EQ(kino_rows_next(rows, &cells, &err), KINO_LIMIT);
    CHECK_STR(err.message, "time limit of 0.05 s reached");
    CHECK(cells == NULL);
    CHECK_EQ(kino_rows_next(rows, &cells, &err), KINO_OK);
    CHECK(cells == NULL);
    kino_rows_free(rows);
    kino__run_deinit(&run);
}

TEST(query_can_be_interrupted)
{
    kino__run run;
    kino_rows *rows;
    kino_error err = {0};
    const kino_cell *cells;
    bool cancel = false;
    kino__query_options options = {.cancel = &cancel};
    open_run(&run, FIXTURE({.name = "a"}, {.name = "b"}), NULL);
    REQUIRE(kino__query_open(&run, "SELECT name FROM event", &options, &rows, &err) == KINO_OK);
    CHECK_EQ(kino_rows_next(rows, &cells, &err), KINO_OK);
    CHECK(cells != NULL);
    cancel = true;
    CHECK_EQ(kino_rows_next(rows, &cells, &err), KINO_CANCELLED);
    CHECK_STR(err.message, "interrupted");
    kino_rows_free(rows);
    kino__run_deinit(&run);
}

TEST(query_results_have_types)
{
    kino__run run;
    kino_rows *rows;
    open_run(&run, FIXTURE({.name = "a", .ts = 3, .dur = 4}), NULL);
    REQUIRE(kino__query_open(
                &run, "SELECT id, name, ts, dur AS d, pid, args, sum(dur), x'0aff' AS b FROM event",
                NULL, &rows, NULL) == KINO_OK);
    static const kino_type types[] = {KINO_TYPE_INT,      KINO_TYPE_STRING, KINO_TYPE_TIME,
                                      KINO_TYPE_DURATION, KINO_TYPE_ANY,    KINO_TYPE_JSON,
                                      KINO_TYPE_ANY,      KINO_TYPE_ANY};
    static const char *const names[] = {"id", "name", "ts", "d", "pid", "args", "sum(dur)", "b"};
    REQUIRE_EQ(kino_rows_column_count(rows), 8u);
    for (size_t i = 0; i < 8; i++) {
        CHECK_EQ(kino_rows_columns(rows)[i].type, types[i]);
        CHECK_STR(kino_rows_columns(rows)[i].name, names[i]);
    }
    const kino_cell *cells;
    REQUIRE(kino_rows_next(rows, &cells, NULL) == KINO_OK && cells);
    CHECK_EQ(cells[2].value.integer, 3);
    CHECK_STR(cells[7].value.text, KINO__STR("0aff"));
    kino_rows_free(rows);
    CHECK_STR(ask(&run, "SELECT x''"), "");
    CHECK_STR(ask(&run, "SELECT x'', x'01', x'', x'0203'"), ",01,,0203");
    CHECK_STR(ask(&run, "SELECT occupancy FROM kernel UNION ALL SELECT 1"), "1");
    kino__run_deinit(&run);
}

/* All tables of the contract, each with the columns the contract names, in this order. */
TEST(query_schema_has_the_documented_tables)
{
    static const struct {
        const char *table, *columns;
    } wanted[] = {
        {"event", "id,trace,rank,ph,cat,name,ts,dur,pid,tid,track,depth,parent,step,correlation,"
                  "external_id,device,"
                  "stream,args"},
        {"arg", "event,key,value,type"},
        {"track", "id,trace,rank,pid,tid,kind,name,device,stream"},
        {"flow", "id,trace,cat,from_event,to_event"},
        {"step", "trace,rank,number,ts,dur"},
        {"counter", "trace,track,name,ts,value"},
        {"metadata", "trace,key,value"},
        {"string", "id,text"},
        {"trace", "id,rank,path,format,worker,span,host,origin_ns,clock,events,skipped,repaired"},
    };
    kino__run run;
    open_run(&run, FIXTURE({.name = "a"}), NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')",
                 wanted[i].table);
        CHECK_STR(ask(&run, sql), wanted[i].columns);
    }
    static const char *const typed[] = {"kernel",       "memcpy",    "memset", "runtime",
                                        "op",           "python",    "device", "annotation",
                                        "memory_event", "collective"};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", typed[i]);
        CHECK_STR(ask(&run, sql), "0");
    }
    kino_rows *rows;
    const kino_cell *cells;
    size_t count = 0;
    REQUIRE(kino__query_schema(&rows, NULL) == KINO_OK);
    while (kino_rows_next(rows, &cells, NULL) == KINO_OK && cells) {
        char start[64];
        snprintf(start, sizeof start, "CREATE TABLE %.*s(", KINO__STR_ARG(cells[0].value.text));
        CHECK(kino__str_starts_with(cells[1].value.text, kino__str_from(start)));
        count++;
    }
    CHECK_EQ(count, 19u);
    kino_rows_free(rows);
    kino__run_deinit(&run);
}

TEST(query_of_a_run_without_events_is_empty)
{
    kino__run run;
    kino__run_init(&run);
    CHECK_STR(ask(&run, "SELECT name, sum(dur) FROM event GROUP BY name ORDER BY 2"), "");
    CHECK_STR(ask(&run, "SELECT count(*) FROM event ORDER BY ts"), "0");
    CHECK_STR(ask(&run, "SELECT count(*) FROM track"), "0");
    kino__trace *empty;
    REQUIRE(kino__trace_new(&empty, NULL) == KINO_OK);
    REQUIRE(kino__run_add_take(&run, empty, NULL) == KINO_OK);
    CHECK_STR(ask(&run, "SELECT id FROM event ORDER BY name, ts"), "");
    CHECK_STR(ask(&run, "SELECT count(*) FROM event WHERE id = 0"), "0");
    CHECK_STR(ask(&run, "SELECT events FROM trace"), "0");
    kino__run_deinit(&run);
}
