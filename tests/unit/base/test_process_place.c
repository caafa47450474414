/* test_process_place.c - ranks by the environment, roles by who started whom, sidecars. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kino/engine.h>

#include "base/process_place.h"
#include "engine/kino_run.h"
#include "unit/test.h"

static kino__process_place place_of(const char *text, size_t size)
{
    kino_str all = {text, size};
    return kino__process_place_find(kino__process_variable, &all);
}
#define PLACE(literal) place_of(literal, sizeof(literal))

TEST(process_place_is_by_the_variables_of_one_launcher)
{
    kino__process_place p = PLACE("HOME=/\0RANK=3\0WORLD_SIZE=8\0LOCAL_RANK=1\0SLURM_PROCID=0");
    CHECK_EQ(p.rank, 3);
    CHECK_EQ(p.world_size, 8);
    CHECK_EQ(p.local_rank, 1);
    p = PLACE("SLURM_PROCID=5\0SLURM_NTASKS=6\0SLURM_LOCALID=1\0SLURM_JOB_ID=77");
    CHECK_EQ(p.rank, 5);
    CHECK_EQ(p.world_size, 6);
    CHECK_EQ(p.job, "77");
    p = PLACE("OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=4\0PMIX_RANK=9");
    CHECK_EQ(p.rank, 2);
    CHECK_EQ(p.world_size, 4);
    CHECK_EQ(p.local_rank, -1);
    p = PLACE("FRANK=1\0RANK=x\0RANKS=2");
    CHECK_EQ(p.rank, -1);
    p = PLACE("RANK=3\0WORLD_SIZE=2"); /* these two do not belong together */
    CHECK_EQ(p.rank, 3);
    CHECK_EQ(p.world_size, -1);
    p = place_of("A=1\0RANK=1", 8); /* cut off: RANK=12 it may have been */
    CHECK_EQ(p.rank, -1);
}

static kino__process_node node(int64_t pid, int64_t parent, int64_t rank, int source)
{
    kino__process_node n = {.pid = pid, .parent = parent, .place = KINO__PROCESS_PLACE_INIT};
    n.place.rank = rank;
    n.place.source = source;
    return n;
}

TEST(process_roles_tell_launchers_and_helpers_from_ranks)
{
    /* shell -> torchrun -> rank 0 -> worker of its data loader; rank 1 by way of a script */
    kino__process_node n[] = {node(10, 1, -1, -1),  node(11, 10, -1, -1), node(12, 11, 0, 0),
                              node(13, 12, 0, 0),   node(14, 11, -1, -1), node(15, 14, 1, 0),
                              node(16, 15, -1, -1), node(20, 1, -1, -1)};
    REQUIRE(kino__process_roles(n, sizeof n / sizeof *n));
    CHECK_EQ(n[0].role, KINO__PROCESS_LAUNCHER);
    CHECK_EQ(n[1].role, KINO__PROCESS_LAUNCHER);
    CHECK_EQ(n[2].role, KINO__PROCESS_RANK);
    CHECK_EQ(n[3].role, KINO__PROCESS_HELPER);
    CHECK_EQ(n[4].role, KINO__PROCESS_LAUNCHER);
    CHECK_EQ(n[5].role, KINO__PROCESS_RANK);
    CHECK_EQ(n[6].role, KINO__PROCESS_HELPER);
    CHECK_EQ(n[7].role, KINO__PROCESS_UNKNOWN);
    /* A batch script of Slurm is task 0 itself; torchrun's ranks in it are others. */
    kino__process_node batch[] = {node(1, 0, 0, 4), node(2, 1, 0, 4), node(3, 2, 0, 0),
                                  node(4, 2, 1, 0)};
    REQUIRE(kino__process_roles(batch, 4));
    CHECK_EQ(batch[0].role, KINO__PROCESS_LAUNCHER);
    CHECK_EQ(batch[1].role, KINO__PROCESS_LAUNCHER);
    CHECK_EQ(batch[2].role, KINO__PROCESS_RANK);
    CHECK_EQ(batch[3].role, KINO__PROCESS_RANK);
    kino__process_node loop[] = {node(1, 2, 0, 0), node(2, 1, 1, 0)}; /* pids given again */
    CHECK(kino__process_roles(loop, 2));
}

/* -- sidecars */

static void put(const char *name, const char *text)
{
    test_write_file(test_tmp(name), text, strlen(text));
}

static kino_run *open_run(const char *name)
{
    kino_run *run = NULL;
    kino_error err;
    char path[512];
    snprintf(path, sizeof path, "%s", test_tmp(name));
    const char *paths[] = {path};
    if (kino_run_open(paths, 1, NULL, &run, &err) != KINO_OK)
        printf("%s\n", err.message);
    REQUIRE(run != NULL);
    return run;
}

#define TRACE(pid)                                                                                 \
    "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": " #pid                       \
    ", \"tid\": 1, \"ts\": 1, \"dur\": 2}]"

TEST(sidecar_gives_a_trace_its_rank)
{
    put("t_7.json", TRACE(7));
    put("t_7.json.kino-meta",
        "{\"kinoSidecar\": 1, \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, "
        "\"kino_process\": {\"role\": \"rank\", \"pid\": 7, \"job\": \"177\"}}");
    kino_run *run = open_run("t_7.json");
    const kino__trace *trace = run->run.traces.items[0];
    CHECK_EQ(trace->rank, 3);
    CHECK_EQ(trace->world_size, 8);
    CHECK_EQ(trace->role, KINO__PROCESS_RANK);
    CHECK(kino__trace_metadata(trace, "distributedInfo").size > 0);
    CHECK(kino__str_contains(kino__trace_metadata(trace, "kino_process"), KINO__STR("177")));
    CHECK(!kino_run_warning(run, 0));
    kino_run_free(run);
}

TEST(sidecar_counts_less_than_the_trace_and_nothing_when_it_does_not_fit)
{
    put("own.json", "{\"distributedInfo\": {\"rank\": 1}, \"traceEvents\": " TRACE(7) "}");
    put("own.json.kino-meta", "{\"kinoSidecar\": 1, \"distributedInfo\": {\"rank\": 3}}");
    kino_run *run = open_run("own.json");
    CHECK_EQ(run->run.traces.items[0]->rank, 1);
    kino_run_free(run);
    static const char *const bad[] = {
        "{\"kinoSidecar\": 1, \"distributedInfo\": {\"rank\": 3}, \"kino_process\": {\"pid\": 8}}",
        "{\"kinoSidecar\": 2, \"distributedInfo\": {\"rank\": 3}}", "{", "[]", ""};
    put("t_7.json", TRACE(7));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("t_7.json.kino-meta", bad[i]);
        run = open_run("t_7.json");
        CHECK_EQ(run->run.traces.items[0]->rank, KINO_NO_INT);
        CHECK(kino_run_warning(run, 0) && strstr(kino_run_warning(run, 0), "ignored: "));
        kino_run_free(run);
    }
    /* Neither a link nor a pipe is followed or waited for. */
    char link_path[512];
    snprintf(link_path, sizeof link_path, "%s", test_tmp("t_7.json.kino-meta"));
    REQUIRE(unlink(link_path) == 0);
    put("elsewhere", "{\"kinoSidecar\": 1, \"distributedInfo\": {\"rank\": 3}}");
    REQUIRE(symlink(test_tmp("elsewhere"), link_path) == 0);
    run = open_run("t_7.json");
    CHECK_EQ(run->run.traces.items[0]->rank, KINO_NO_INT);
    kino_run_free(run);
    REQUIRE(unlink(link_path) == 0);
    REQUIRE(mkfifo(link_path, 0600) == 0);
    run = open_run("t_7.json");
    CHECK_EQ(run->run.traces.items[0]->rank, KINO_NO_INT);
    kino_run_free(run);
}

TEST(sidecar_is_written_as_it_is_read)
{
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    place.rank = 2;
    place.world_size = 4;
    place.local_rank = 0;
    const kino__process_about about = {.place = &place,
                                       .role = KINO__PROCESS_RANK,
                                       .pid = 7,
                                       .iterations = 3,
                                       .host = "node \"1\""};
    kino__buffer text = {0}, path = {0};
    kino__process_about_write(&about, &text);
    kino__buffer_add(&text, (kino_str){"", 1});
    kino__sidecar_path("x/t.json.gz", &path);
    CHECK_EQ(path.data, "x/t.json.kino-meta");
    put("t.json", TRACE(7));
    put("t.json.kino-meta", text.data);
    kino_run *run = open_run("t.json");
    const kino__trace *trace = run->run.traces.items[0];
    CHECK_EQ(trace->rank, 2);
    CHECK_EQ(trace->world_size, 4);
    CHECK(kino__str_is(trace->host, "node \"1\""));
    CHECK(trace->begins_with_step);
    kino_run_free(run);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&path);
}

TEST(sidecar_of_a_helper_keeps_whose_it_is)
{
    put("t_9.json", TRACE(9));
    put("t_9.json.kino-meta", "{\"kinoSidecar\": 1, \"kino_process\": "
                              "{\"role\": \"helper\", \"pid\": 9, \"of_rank\": 2}}");
    kino_run *run = open_run("t_9.json");
    const kino__trace *trace = run->run.traces.items[0];
    CHECK_EQ(trace->rank, KINO_NO_INT);
    CHECK(kino__str_contains(kino__trace_metadata(trace, "kino_process"),
                             KINO__STR("\"of_rank\":2")));
    kino_run_free(run);
}

TEST(processes_that_are_no_ranks_stay_out_of_analyses)
{
    REQUIRE(mkdir(test_tmp("d"), 0777) == 0);
    put("d/t_5.json", TRACE(5));
    put("d/t_5.json.kino-meta",
        "{\"kinoSidecar\": 1, \"kino_process\": {\"role\": \"launcher\", \"pid\": 5}}");
    put("d/t_7.json", TRACE(7));
    put("d/t_7.json.kino-meta", "{\"kinoSidecar\": 1, \"distributedInfo\": {\"rank\": 0}}");
    put("d/worker-1.json", TRACE(9)); /* by its name a rank, but it is a helper */
    put("d/worker-1.json.kino-meta",
        "{\"kinoSidecar\": 1, \"kino_process\": {\"role\": \"helper\", \"pid\": 9}}");
    put("d/x.json", TRACE(11)); /* neither rank nor steps */
    kino_run *run = open_run("d");
    CHECK_EQ(run->run.traces.count, 4);
    const kino__run *ranks = kino__run_of_ranks(&run->run);
    REQUIRE(ranks->traces.count == 1);
    CHECK_EQ(ranks->traces.items[0]->rank, 0);
    const char *note = run->notes.count ? run->notes.items[0].text : "";
    CHECK(strstr(note, "3 processes are not counted as ranks: "));
    CHECK(strstr(note, "launcher 't_5.json'") && strstr(note, "helper 'worker-1.json'"));
    kino_run_free(run);
    REQUIRE(unlink(test_tmp("d/t_7.json")) == 0);
    run = open_run("d"); /* nobody is certain to be a rank: all are looked at */
    CHECK(kino__run_of_ranks(&run->run) == &run->run);
    kino_run_free(run);
}
