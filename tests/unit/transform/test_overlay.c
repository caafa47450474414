/* test_overlay.c - runs with something drawn onto them: counters and critical paths of a trace made
 * by hand, with values worked out from it.
 *
 *   us      0    5   10   20 25 30   40    50          75   80  84
 *   host    mm ----------------------------|
 *                    L1 --|      L2 --|
 *   stream 7                 gemm --------------------|     copy-|      2.5 GB/s */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/engine.h>

#include "base/str.h"
#include "unit/test.h"

/* mm has a key that no column has, and no arguments. */
static const char trace_text[] =
    "{\"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"note\",\"pid\":1,\"tid\":2,\"ts\":0,"
    "\"dur\":3,\"args\":{}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":50,"
    "\"color\":\"red\"},\n"
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":5"
    ",\"s\":\"t\",\"args\":{\"Total Allocated\":1000,\"Bytes\":600,\"Device Type\":1,"
    "\"Device Id\":0}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":10,\"dur\":10,\"args\":{\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":1,\"tid\":1,"
    "\"ts\":30,\"dur\":10,\"args\":{\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":25,\"dur\":50,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\",\"pid\":0,"
    "\"tid\":7,\"ts\":80,\"dur\":4,\"args\":{\"device\":0,\"stream\":7,\"correlation\":2,"
    "\"memory bandwidth (GB/s)\":2.5}}\n"
    "]}\n";

static kino_run *open_text(const char *text)
{
    const char *path = test_tmp("trace.json");
    kino_run *run;
    kino_error err;
    test_write_file(path, text, strlen(text));
    REQUIRE_EQ(kino_run_open(&path, 1, NULL, &run, &err), KINO_OK);
    return run;
}

/* Rows as "a,1;b,2". Valid until the next call. */
static const char *ask(kino_run *run, const char *sql)
{
    static kino__buffer out;
    kino_rows *rows;
    kino_error err;
    const kino_cell *cells;
    out.size = 0;
    REQUIRE_EQ(kino_run_query(run, sql, NULL, &rows, &err), KINO_OK);
    while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells) {
        for (size_t c = 0; c < kino_rows_column_count(rows); c++) {
            kino__buffer_add(&out, kino__str_from(c ? "," : out.size ? ";" : ""));
            if (cells[c].kind == KINO_CELL_INT)
                kino__buffer_printf(&out, "%lld", (long long)cells[c].value.integer);
            else if (cells[c].kind == KINO_CELL_FLOAT)
                kino__buffer_printf(&out, "%g", cells[c].value.real);
            else if (cells[c].kind == KINO_CELL_TEXT)
                kino__buffer_add(&out, cells[c].value.text);
            else
                kino__buffer_add(&out, KINO__STR("-"));
        }
    }
    kino_rows_free(rows);
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    return out.data;
}

/* -- counters */

#define COUNTERS                                                                                   \
    "SELECT c.ts, c.value, t.pid, t.tid FROM counter c JOIN track t ON t.id = c.track WHERE "      \
    "c.name LIKE '"

static kino_run *add_counters(kino_run *run, const char *compat)
{
    kino_counter_options options = KINO_COUNTER_OPTIONS_INIT;
    kino_run *made;
    kino_error err;
    options.compat = compat;
    REQUIRE_EQ(kino_run_add_counters(run, &options, &made, &err), KINO_OK);
    return made;
}

TEST(counters_follow_from_launches_copies_and_allocations)
{
    kino_run *run = open_text(trace_text), *made = add_counters(run, NULL);
    CHECK_STR(ask(made, COUNTERS "Queue Length%' ORDER BY c.ts"),
              "10000,1,0,7;25000,0,0,7;30000,1,0,7;80000,0,0,7");
    CHECK_STR(ask(made, COUNTERS "Memcpy HtoD%' ORDER BY c.ts"), "80000,2.5,0,-;84000,0,0,-");
    CHECK_STR(ask(made, COUNTERS "GPU 0 Memory%'"), "5000,1000,0,-");
    CHECK_STR(ask(made, "SELECT count(*) > 0, max(value) <= 1 FROM counter "
                        "WHERE name = 'GPU 0 Utilization.GPU Utilization'"),
              "1,1");
    CHECK_STR(ask(made, "SELECT count(*) FROM event WHERE ph <> 'C'"), "7");
    CHECK(kino_run_warning(made, 0) == NULL);
    kino_run *again = add_counters(made, NULL); /* all are there */
    CHECK_STR(ask(again, "SELECT count(*) FROM counter WHERE name LIKE 'Queue%'"), "4");
    kino_run_free(again);
    kino_run_free(made);
    kino_run_free(run);
}

TEST(counters_of_hta_are_two_kinds_and_stand_on_the_process)
{
    kino_run *run = open_text(trace_text), *made = add_counters(run, "hta");
    CHECK_STR(ask(made, COUNTERS "Queue Length%' ORDER BY c.ts"),
              "10000,1,0,-;25000,0,0,-;30000,1,0,-;80000,0,0,-");
    CHECK_STR(ask(made, "SELECT count(*) FROM event WHERE ph = 'C'"), "6");
    kino_run_free(made);
    kino_run_free(run);
}

TEST(counters_that_cannot_be_made_are_told)
{
    kino_run *run = open_text("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,"
                              "\"tid\":1,\"ts\":1,\"dur\":1}]");
    kino_run *made = add_counters(run, NULL);
    const char *warning = kino_run_warning(made, 0);
    CHECK(warning && strstr(warning, "no counters"));
    CHECK_STR(ask(made, "SELECT count(*) FROM event"), "1");
    kino_run_free(made);
    kino_counter_options options = KINO_COUNTER_OPTIONS_INIT;
    kino_error err;
    options.compat = "tensorboard";
    CHECK_EQ(kino_run_add_counters(run, &options, &made, &err), KINO_ARGUMENT);
    CHECK(made == NULL);
    kino_run_free(run);
}

/* -- the critical path: mm until L1 (10), L1 until gemm (15), gemm (50), until copy (5), copy (4):
 * 84 us, longer than the host's 50 */

static kino_run *draw_path(kino_run *run, bool all_events, bool all_edges, const char *compat)
{
    const kino_param params[] = {{"annotation", ""}, {"compat", compat}};
    kino_critical_overlay_options options = KINO_CRITICAL_OVERLAY_OPTIONS_INIT;
    kino_run *made;
    kino_error err;
    options.params = params;
    options.param_count = compat ? 2 : 1;
    options.all_events = all_events;
    options.all_edges = all_edges;
    REQUIRE_EQ(kino_run_overlay_critical_path(run, &options, &made, &err), KINO_OK);
    return made;
}

#define NAMES "SELECT group_concat(name) FROM (SELECT name FROM event WHERE ph = 'X' "
#define FLOWS                                                                                      \
    "SELECT ph, ts, json_extract(args, '$.weight'), json_extract(args, '$.type') FROM event "      \
    "WHERE cat = 'critical_path' ORDER BY id"

TEST(events_on_the_critical_path_are_marked_and_others_left_out)
{
    kino_run *run = open_text(trace_text), *made = draw_path(run, false, false, NULL);
    CHECK_STR(ask(made, NAMES "AND json_extract(args, '$.critical') = 1 ORDER BY id)"),
              "mm,cudaLaunchKernel,gemm,Memcpy HtoD (Pageable -> Device)");
    /* annotations stay, and what is no span */
    CHECK_STR(ask(made, "SELECT name FROM event WHERE ph <> 's' AND ph <> 'f' AND "
                        "json_extract(args, '$.critical') IS NULL ORDER BY id"),
              "note;[memory]");
    CHECK_STR(ask(made, FLOWS), "s,10000,15,critical_path_kernel_launch_delay;"
                                "f,25000,15,critical_path_kernel_launch_delay");
    kino_run_free(made);
    kino_run_free(run);
}

TEST(all_edges_of_the_graph_have_arrows_when_asked_for)
{
    kino_run *run = open_text(trace_text), *made = draw_path(run, false, true, NULL);
    CHECK_STR(ask(made, NAMES "ORDER BY id)"), "note,mm,cudaLaunchKernel,cudaMemcpyAsync,gemm,"
                                               "Memcpy HtoD (Pageable -> Device)");
    /* the path: mm, L1 to gemm, gemm, gemm to copy, copy */
    CHECK_STR(ask(made, "SELECT ts, json_extract(args, '$.weight') FROM event WHERE ph = 's' AND "
                        "cat = 'critical_path' AND json_extract(args, '$.critical') ORDER BY ts"),
              "0,10;10000,15;25000,50;74999,5;80000,4"); /* within gemm, one ns before its end */
    kino_run_free(made);
    kino_run_free(run);
}

TEST(arrows_of_hta_leave_device_work_a_microsecond_before_its_end)
{
    kino_run *run = open_text(trace_text), *made = draw_path(run, true, true, "hta");
    CHECK_STR(ask(made, "SELECT ts FROM event WHERE ph = 's' AND cat = 'critical_path' AND "
                        "json_extract(args, '$.type') = 'critical_path_kernel_kernel_delay'"),
              "74000");
    kino_run_free(made);
    kino_run_free(run);
}

static char *read_file(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    (void)fclose(file);
    return text;
}

TEST(marks_go_into_the_text_of_events_that_have_keys_without_a_column)
{
    kino_run *run = open_text(trace_text), *made = draw_path(run, true, false, NULL);
    const char *path = test_tmp("out.json");
    kino_error err;
    REQUIRE_EQ(kino_run_write(made, path, NULL, &err), KINO_OK);
    const char *text = read_file(path);
    CHECK(strstr(text, "\"color\":\"red\", \"args\": {\"critical\": 1}}") != NULL);
    CHECK(strstr(text, "{\"correlation\":1, \"critical\": 1}") != NULL);
    /* once more: nothing is marked twice */
    kino_run *again = draw_path(made, true, false, NULL);
    REQUIRE_EQ(kino_run_write(again, path, NULL, &err), KINO_OK);
    CHECK(strstr(read_file(path), "\"critical\": 1, \"critical\"") == NULL);
    kino_run_free(again);
    kino_run_free(made);
    kino_run_free(run);
}

TEST(a_region_that_no_trace_has_is_not_found)
{
    kino_run *run = open_text(trace_text), *made;
    const kino_param params[] = {{"annotation", "nothing like it"}};
    kino_critical_overlay_options options = KINO_CRITICAL_OVERLAY_OPTIONS_INIT;
    kino_error err;
    options.params = params;
    options.param_count = 1;
    CHECK_EQ(kino_run_overlay_critical_path(run, &options, &made, &err), KINO_NOT_FOUND);
    CHECK(made == NULL && strstr(err.message, "nothing like it"));
    kino_run_free(run);
}

/* -- kernel sequences: mm runs two, gemm and the copy */

static kino_status draw_sequences(kino_run *run, const char *op, const char *least, kino_run **out,
                                  kino_error *err)
{
    const kino_param params[] = {{"op", op}, {"min_pattern_len", least}};
    kino_sequence_overlay_options options = KINO_SEQUENCE_OVERLAY_OPTIONS_INIT;
    options.params = params;
    options.param_count = 2;
    return kino_run_overlay_kernel_sequences(run, &options, out, err);
}

TEST(all_events_of_a_call_have_the_sequence_it_runs)
{
    kino_run *run = open_text(trace_text), *made;
    kino_error err;
    REQUIRE_EQ(draw_sequences(run, "mm", "2", &made, &err), KINO_OK);
    CHECK_STR(ask(made, NAMES "AND json_extract(args, '$.Patterns') IS NOT NULL ORDER BY id)"),
              "mm,cudaLaunchKernel,cudaMemcpyAsync,gemm,Memcpy HtoD (Pageable -> Device)");
    CHECK_STR(ask(made, "SELECT DISTINCT json_extract(args, '$.Patterns') FROM event WHERE "
                        "json_extract(args, '$.Patterns') IS NOT NULL"),
              "{\"mm|gemm|Memcpy HtoD (Pageable -> Device)\":1}");
    CHECK_STR(ask(made, "SELECT count(*) FROM event"), "7");
    kino_run_free(made);
    kino_run_free(run);
}

TEST(sequences_that_nothing_runs_are_not_found)
{
    kino_run *run = open_text(trace_text), *made;
    kino_error err;
    CHECK_EQ(draw_sequences(run, "mm", "3", &made, &err), KINO_NOT_FOUND); /* has only two */
    CHECK(made == NULL && strstr(err.message, "no kernel sequences"));
    CHECK_EQ(draw_sequences(run, "nothing", "1", &made, &err), KINO_NOT_FOUND);
    CHECK_EQ(draw_sequences(run, "mm", "many", &made, &err), KINO_ARGUMENT);
    kino_run_free(run);
}
