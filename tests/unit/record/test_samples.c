/* test_samples.c - records made by hand become traces: threads, children, waiting, faults, losses.
 * Modules are files that do not exist, so functions are named after them. Traces are looked at as
 * the JSON that is written of them, blanks left out. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/perf_internal.h"
#include "unit/perf_bytes.h"
#include "unit/test.h"

enum { MS = 1000000 };

static kino__perf *perf;
static perf_bytes b;
static kino_error err;
static char folder[512];

static void begin(void)
{
    perf = calloc(1, sizeof *perf);
    REQUIRE(perf != NULL);
    kino__arena_init(&perf->arena, NULL);
    (void)snprintf(folder, sizeof folder, "%s", test_tmp("."));
    perf->folder = strdup(folder);
    perf->epoll = -1;
    perf->period_ns = MS;
    perf->options.switches = true;
    kino__perf_cpu *cpu = kino__vec_add(&perf->cpus);
    REQUIRE(cpu != NULL && perf->folder != NULL);
    *cpu = (kino__perf_cpu){.spool = -1};
    for (int i = 0; i < KINO__PERF_KINDS; i++)
        cpu->fds[i] = -1;
    for (int i = 0; i < 4; i++) {
        kino__perf_event *event = kino__vec_add(&perf->events);
        REQUIRE(event != NULL);
        *event = perf_events[i];
    }
    b = (perf_bytes){.pid = 70, .tid = 70};
    perf_comm(&b, "prog", true);
    perf_map(&b, 0x1000, 0x1000, 0, "/gone/main");
    perf_map(&b, 0x5000, 0x1000, 0, "/gone/lib");
}

static void run(void)
{
    kino__perf_output output = {.real_minus_raw = 5000};
    char path[600];
    REQUIRE(!b.out.failed && kino__perf_spool_path(perf, &perf->cpus.items[0], path, sizeof path));
    test_write_file(path, b.out.data, b.out.size);
    if (!CHECK_EQ(kino__samples_build(perf, &output, &err), KINO_OK))
        CHECK_STR(err.message, "");
}

static void end(void)
{
    kino__perf_close(perf);
    kino__buffer_deinit(&b.out);
}

static void sample(uint64_t ms, bool in_lib)
{
    static const uint64_t deep[] = {(uint64_t)PERF_CONTEXT_USER, 0x5100, 0x1100};
    static const uint64_t flat[] = {(uint64_t)PERF_CONTEXT_USER, 0x1200};
    b.time = ms * MS;
    perf_sample(&b, PERF_CLOCK_ID, in_lib ? 0x5100 : 0x1200, MS, in_lib ? deep : flat,
                in_lib ? 3 : 2);
}

static void switch_at(uint64_t ms, bool out)
{
    b.time = ms * MS;
    perf_switch(&b, out, false);
}

/* The trace of the n-th process as JSON without blanks between members; the caller frees. */
static char *json_of(size_t process)
{
    size_t size, kept = 0;
    char path[700];
    kino_run *made = NULL;
    (void)snprintf(path, sizeof path, "%s/%zu.json", folder, process);
    REQUIRE(process < perf->processes.count);
    if (access(path, F_OK) != 0) { /* a builder makes one run */
        kino_builder *trace = perf->processes.items[process].trace;
        REQUIRE_EQ(kino_run_build(&trace, 1, NULL, &made, &err), KINO_OK);
        REQUIRE_EQ(kino_run_write(made, path, NULL, &err), KINO_OK);
        kino_run_free(made);
    }
    char *json = test_read_file(path, &size);
    for (size_t i = 0; i < size; i++)
        if (json[i] != '\n' && !(json[i] == ' ' && (!i || strchr(":,{}[\n ", json[i - 1]))))
            json[kept++] = json[i];
    json[kept] = '\0';
    return json;
}

/* How often a text stands in the trace of a process. */
static int count_of(size_t process, const char *text)
{
    int count = 0;
    char *json = json_of(process);
    for (const char *at = json; (at = strstr(at, text)) != NULL; at++)
        count++;
    free(json);
    return count;
}

TEST(samples_become_nested_spans_of_a_track)
{
    begin();
    sample(1, true);
    sample(2, true);
    sample(3, false);
    run();
    REQUIRE_EQ(perf->processes.count, 1);
    CHECK_EQ(perf->processes.items[0].pid, 70);
    CHECK_STR(perf->processes.items[0].name, "prog");
    CHECK_EQ(perf->processes.items[0].samples, 3);
    CHECK_EQ(perf->processes.items[0].start_ns, 0);
    CHECK_EQ(perf->processes.items[0].end_ns, 3 * MS);
    /* The clock of the file: 5 us above that of the records. */
    CHECK_EQ(count_of(0,
                      "{\"ph\":\"X\",\"cat\":\"cpu_sample\",\"name\":\"[main]\",\"pid\":70,\"tid\":"
                      "\"70 samples\",\"ts\":5.000,\"dur\":3000.000,\"args\":{\"module\":\"main\","
                      "\"samples\":3}}"),
             1);
    CHECK_EQ(count_of(0,
                      "\"name\":\"[lib]\",\"pid\":70,\"tid\":\"70 samples\",\"ts\":5.000,\"dur\":"
                      "2000.000,\"args\":{\"module\":\"lib\",\"samples\":2}}"),
             1);
    CHECK_EQ(count_of(0, "cpu_sample"), 2);
    CHECK_EQ(count_of(0, "\"kino_loss\":{}"), 1);
    end();
}

TEST(samples_leave_out_the_time_of_waiting)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x5200, 0x1100};
    begin();
    sample(1, false);
    b.time = 2 * MS - 10;
    perf_sample(&b, PERF_SWITCH_ID, 0x5200, 1, chain, 3);
    switch_at(2, true);
    switch_at(7, false);
    sample(8, false);
    run();
    /* The millisecond before the wait and the one behind it have the second sample's frames. */
    CHECK_EQ(count_of(0, "\"ts\":5.000,\"dur\":1000.000"), 1);
    CHECK_EQ(count_of(0, "\"ts\":7005.000,\"dur\":1000.000"), 1);
    CHECK_EQ(count_of(0, "\"cat\":\"off_cpu\",\"name\":\"[lib]\",\"pid\":70,\"tid\":\"70 "
                         "off-CPU\",\"ts\":2005.000,\"dur\":5000.000,\"args\":{\"module\":\"lib\","
                         "\"state\":\"blocked\"}}"),
             1);
    CHECK_EQ(count_of(0, "\"cat\":\"off_cpu\",\"name\":\"[main]\""), 1);
    end();
}

TEST(samples_of_a_wait_without_stack)
{
    begin();
    b.time = 2 * MS;
    perf_switch(&b, true, true);
    switch_at(3, false);
    switch_at(4, true); /* and never comes back: until the last record */
    b.tid = 71;
    perf_task(&b, PERF_RECORD_FORK, 70, 71, 70, 70);
    b.time = 9 * MS;
    perf_comm(&b, "other", false);
    run();
    CHECK_EQ(
        count_of(0,
                 "\"name\":\"preempted\",\"pid\":70,\"tid\":\"70 "
                 "off-CPU\",\"ts\":2005.000,\"dur\":1000.000,\"args\":{\"state\":\"preempted\"}}"),
        1);
    CHECK_EQ(
        count_of(0, "\"name\":\"blocked\",\"pid\":70,\"tid\":\"70 "
                    "off-CPU\",\"ts\":4005.000,\"dur\":5000.000,\"args\":{\"state\":\"blocked\"}}"),
        1);
    end();
}

TEST(samples_of_children_have_traces_of_their_own)
{
    begin();
    sample(1, false);
    b.time = 2 * MS;
    perf_task(&b, PERF_RECORD_FORK, 80, 80, 70, 70);
    b.pid = b.tid = 80;
    sample(3, true); /* the parent's modules */
    b.time = 4 * MS;
    perf_comm(&b, "child", true); /* exec: they are gone */
    sample(5, true);
    b.time = 6 * MS;
    perf_task(&b, PERF_RECORD_EXIT, 80, 80, 70, 70);
    b.pid = b.tid = 70;
    b.time = 7 * MS;
    perf_task(&b, PERF_RECORD_FORK, 80, 80, 70, 70); /* the number again, another process */
    b.pid = b.tid = 80;
    sample(8, false);
    run();
    REQUIRE_EQ(perf->processes.count, 3);
    CHECK_STR(perf->processes.items[1].name, "child");
    CHECK_EQ(perf->processes.items[1].samples, 2);
    CHECK_EQ(perf->processes.items[2].pid, 80);
    CHECK_EQ(count_of(1, "\"name\":\"[lib]\""), 1);
    CHECK_EQ(count_of(1, "\"name\":\"[unknown]\""), 1);
    CHECK_EQ(count_of(2, "\"name\":\"[main]\""), 1);
    CHECK_EQ(count_of(0, "cpu_sample"), 1);
    end();
}

TEST(samples_of_page_faults_count_up)
{
    begin();
    b.time = MS;
    perf_sample(&b, PERF_FAULT_ID, 0x5100, 0, NULL, 0);
    b.time = 2 * MS;
    perf_sample(&b, PERF_FAULT_ID, 0x1100, 0, NULL, 0);
    run();
    CHECK_EQ(
        count_of(
            0,
            "\"name\":\"page fault\",\"pid\":70,\"tid\":\"70 samples\",\"s\":\"t\",\"ts\":1005.000,"
            "\"args\":{\"module\":\"lib\",\"function\":\"[lib]\",\"address\":"
            "\"0xabc000\",\"faults\":10}}"),
        1);
    CHECK_EQ(count_of(0, "\"ts\":2005.000,\"args\":{\"faults\":20}}"), 1);
    end();
}

TEST(samples_after_a_loss_do_not_pretend)
{
    begin();
    sample(1, false);
    b.time = 2 * MS;
    perf_lost(&b, 9);
    sample(6, false);
    run();
    CHECK_EQ(perf->processes.items[0].lost, 9);
    CHECK_EQ(count_of(0, "\"ts\":5.000,\"dur\":1000.000"), 1);
    CHECK_EQ(count_of(0, "\"ts\":5005.000,\"dur\":1000.000"), 1);
    CHECK_EQ(count_of(0, "\"kino_loss\":{\"buffer_full\":9}"), 1);
    REQUIRE(kino__perf_note(perf, 0) != NULL);
    CHECK_STR(kino__perf_note(perf, 0), "9 sample records dropped: buffer full");
    end();
}

TEST(samples_do_not_bridge_a_pause)
{
    begin();
    sample(1, false);
    sample(4, false); /* recording was off from 1.5 to 3.2 */
    kino__perf_time *pause = kino__vec_add(&perf->pauses);
    REQUIRE(pause != NULL);
    *pause = (kino__perf_time){MS + MS / 2, 3 * MS + MS / 5};
    run();
    CHECK_EQ(count_of(0, "\"ts\":5.000,\"dur\":1000.000"), 1);
    CHECK_EQ(count_of(0, "\"ts\":3005.000,\"dur\":1000.000"), 1);
    end();
}

TEST(samples_of_damaged_records_are_counted)
{
    begin();
    sample(1, false);
    perf_sample(&b, 99, 1, 1, NULL, 0); /* nobody's counter */
    kino__buffer_add(&b.out, KINO__STR("rubbish at the end"));
    run();
    CHECK_EQ(perf->processes.items[0].samples, 1);
    CHECK_EQ(count_of(0, "\"kino_loss\":{\"damaged\":2}"), 1);
    end();
}

TEST(samples_of_nothing_are_no_traces)
{
    begin();
    b.out.size = 0;
    run();
    CHECK_EQ(perf->processes.count, 0);
    end();
}

TEST(samples_count_stacks_that_end_too_early)
{
    static const uint64_t whole[] = {(uint64_t)PERF_CONTEXT_USER, 0x1200, 0x9100};
    begin();
    perf_map(&b, 0x9000, 0x1000, 0, "/gone/libc.so.6");
    sample(1, true);  /* ends in main */
    sample(2, false); /* in main, too */
    b.time = 3 * MS;  /* main called by the C library: all is there */
    perf_sample(&b, PERF_CLOCK_ID, 0x1200, MS, whole, 3);
    run();
    CHECK_EQ(count_of(0, "\"samples\":3,\"broken\":2,\"broken_in\":\"main\"}"), 1);
    end();
}
