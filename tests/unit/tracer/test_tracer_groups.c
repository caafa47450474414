/* distributedInfo from process groups: operators of collectives say what they are about, kernels
 * make it count. The expected objects are written by hand from the keys that Kineto has. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

#include "base/json_out.h"
#include "tracer/device/device_groups.h"
#include "unit/test.h"

static struct {
    const kino_device_host *host;
    uint32_t device;
    uint64_t last; /* number of the function that began last */
} fake;

static void push(void *context, uint32_t kind, uint64_t id, const char *name)
{
    (void)context;
    (void)kind;
    (void)name;
    fake.last = id;
}

static void pop(void *context, uint32_t kind)
{
    (void)context;
    (void)kind;
}

static kino_status probe(void *context, kino_error *err)
{
    (void)context;
    (void)err;
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    info.clock = KINO_DEVICE_CLOCK_RAW;
    info.name = "fake";
    fake.device = fake.host->add_device(fake.host, &info);
    return KINO_OK;
}

static kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = UINT32_MAX,
    .name = "fake",
    .version = "1",
    .probe = probe,
    .push = push,
    .pop = pop,
};

static const kino_device_backend *entry(const kino_device_host *host, kino_error *err)
{
    (void)err;
    fake.host = host;
    return &backend;
}

static void begin(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    options.budget_bytes = 2 << 20;
    options.directory = test_tmp("");
    spans.with_inputs = true;
    REQUIRE(kino_record_spans_set(&spans, NULL) == KINO_OK);
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK && kino_start(NULL) == KINO_OK);
}

/* An activity that belongs to the function that began last. */
static void work(uint32_t kind)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.kind = kind;
    activity.name = fake.host->name(fake.host, kind, "work");
    activity.device = fake.device;
    activity.start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    activity.end = activity.start + 10;
    activity.external = fake.last;
    fake.host->activity(fake.host, &activity);
}

enum { NO_WORK = 99 };

/* An operator that says these things of its group (NULL, -1: it does not), and work of it. */
static void run_operator(const char *operator_, const char *name, const char *description,
                         const char *ranks, int64_t size, int64_t rank, uint32_t kind)
{
    kino_record_value inputs[5];
    kino_record_function fn;
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    const char *const texts[][2] = {{"Process Group Name", name},
                                    {"Process Group Description", description},
                                    {"Process Group Ranks", ranks}};
    uint32_t count = 0;
    for (int i = 0; i < 3; i++)
        if (texts[i][1]) {
            inputs[count] = kino_value_text(texts[i][1]);
            inputs[count++].key = texts[i][0];
        }
    inputs[count] = kino_value_int(size);
    inputs[count].key = "Group size";
    count += size >= 0;
    if (rank >= 0) {
        inputs[count] = kino_value_int(rank);
        inputs[count++].key = "Rank";
    }
    details.name = operator_;
    details.inputs = inputs;
    details.input_count = count;
    fake.last = 0;
    if (kino_record_open(&fn, KINO_SCOPE_FUNCTION))
        kino_record_start(&fn, &details);
    CHECK(fake.last != 0);
    if (kind != NO_WORK)
        work(kind);
    kino_record_end(&fn);
}

static void collective(const char *name, const char *description, const char *ranks, int64_t size,
                       int64_t rank, uint32_t kind)
{
    run_operator("record_param_comms", name, description, ranks, size, rank, kind);
}

/* The value of the key in the trace, or "". */
static void check_saved(const char *wanted)
{
    static const char key[] = "\"distributedInfo\": ";
    size_t size;
    char *text = test_read_file(test_tmp("out.json"), &size), found[1024] = "";
    REQUIRE(kino__json_is_valid((kino_str){text, size}));
    const char *at = strstr(text, key);
    if (at)
        snprintf(found, sizeof found, "%.*s", (int)strcspn(at, "\n"), at + sizeof key - 1);
    if (found[0])
        found[strcspn(found, "\n")] = '\0';
    size_t length = strlen(found);
    if (length && found[length - 1] == ',')
        found[length - 1] = '\0';
    CHECK_STR((const char *)found, wanted);
    free(text);
}

static void check_info(const char *wanted)
{
    REQUIRE(kino_stop(NULL) == KINO_OK);
    REQUIRE(kino_save(test_tmp("out.json"), NULL) == KINO_OK);
    check_saved(wanted);
}

static void clear_environment(void)
{
    static const char *const names[] = {"RANK",        "WORLD_SIZE",           "LOCAL_RANK",
                                        "PMI_RANK",    "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

TEST(distributed_info_is_told_by_kernels_of_collectives)
{
    clear_environment();
    begin();
    collective("7", "mesh_tp", "[2, 3]", 2, 0, KINO_DEVICE_KERNEL);
    collective("0", "default_pg", "[0, 1, 2, 3]", 4, 3, KINO_DEVICE_KERNEL);
    collective("7", "mesh_tp", "[2, 3]", 2, 0, KINO_DEVICE_KERNEL);           /* again */
    collective("8", "no kernel of it", "[0]", 1, 0, NO_WORK);                 /* does not count */
    collective("9", "a copy, no kernel", "[0]", 1, 0, KINO_DEVICE_MEMCPY);    /* does not count */
    run_operator("aten::mm", "10", "other", "[0]", 1, 0, KINO_DEVICE_KERNEL); /* no collective */
    collective(NULL, "no name", "[0]", 1, 0, KINO_DEVICE_KERNEL);
    check_info("{\"backend\":\"nccl\",\"rank\":3,\"world_size\":4,\"pg_count\":2,\"pg_config\":["
               "{\"pg_name\":\"7\",\"pg_desc\":\"mesh_tp\",\"backend_config\":\"cuda:nccl\","
               "\"pg_size\":2,\"ranks\":\"[2, 3]\"},"
               "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"backend_config\":\"cuda:nccl\","
               "\"pg_size\":4,\"ranks\":\"[0, 1, 2, 3]\"}],\"nccl_version\":\"unknown\"}");
}

TEST(distributed_info_of_hccl_has_no_version)
{
    clear_environment();
    begin();
    collective("0", "default_pg", "[0, 1]", 2, 1, KINO_DEVICE_MTIA_CCP);
    check_info("{\"backend\":\"hccl\",\"rank\":1,\"world_size\":2,\"pg_count\":1,\"pg_config\":["
               "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"backend_config\":\"mtia:hccl\","
               "\"pg_size\":2,\"ranks\":\"[0, 1]\"}],\"nccl_version\":\"\"}");
}

/* The environment's rank where the operator has none; its own object without a default group. */
TEST(distributed_info_takes_from_the_environment_what_collectives_do_not_say)
{
    clear_environment();
    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_RANK", "1", 1);
    begin();
    collective("1", "mesh_dp", "[1, 5]", 2, 1, KINO_DEVICE_KERNEL);
    check_info("{\"rank\": 5, \"world_size\": 8, \"local_rank\": 1}");
    begin();
    collective("0", "default_pg", NULL, -1, -1, KINO_DEVICE_KERNEL);
    check_info("{\"backend\":\"nccl\",\"rank\":5,\"world_size\":8,\"local_rank\":1,\"pg_count\":1,"
               "\"pg_config\":[{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\","
               "\"backend_config\":\"cuda:nccl\"}],\"nccl_version\":\"unknown\"}");
    begin(); /* groups of an earlier session are not this one's */
    check_info("{\"rank\": 5, \"world_size\": 8, \"local_rank\": 1}");
}

TEST(distributed_info_is_absent_without_a_default_group_and_without_a_rank)
{
    clear_environment();
    begin();
    collective("1", "mesh_dp", "[1, 5]", 2, 1, KINO_DEVICE_KERNEL);
    check_info("");
    begin();
    collective("0", "default_pg", "[0]", 1, 0, KINO_DEVICE_KERNEL);
    collective("0", "default_pg", "[0]", 1, 0, KINO_DEVICE_KERNEL);
    check_info("{\"backend\":\"nccl\",\"rank\":0,\"world_size\":1,\"pg_count\":1,\"pg_config\":["
               "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"backend_config\":\"cuda:nccl\","
               "\"pg_size\":1,\"ranks\":\"[0]\"}],\"nccl_version\":\"unknown\"}");
    begin();
    check_info("");
}

TEST(distributed_info_that_the_program_set_stays_and_a_dump_has_it_too)
{
    clear_environment();
    begin();
    collective("0", "default_pg", "[0]", 1, 0, KINO_DEVICE_KERNEL);
    REQUIRE(kino_dump(test_tmp("out.json"), 0, NULL) == KINO_OK);
    check_saved("{\"backend\":\"nccl\",\"rank\":0,\"world_size\":1,\"pg_count\":1,\"pg_config\":["
                "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"backend_config\":\"cuda:nccl\","
                "\"pg_size\":1,\"ranks\":\"[0]\"}],\"nccl_version\":\"unknown\"}");
    REQUIRE(kino_metadata("distributedInfo", "{\"rank\": 77}", NULL) == KINO_OK);
    check_info("{\"rank\": 77}");
    begin();
    check_info("{\"rank\": 77}"); /* nor is it forgotten with the groups */
}

/* More groups than there is room for: those that fit are told, and nothing breaks. */
TEST(distributed_info_has_room_for_many_groups)
{
    clear_environment();
    begin();
    collective("0", "default_pg", "[0]", 1, 0, KINO_DEVICE_KERNEL);
    for (int i = 1; i < KINO__GROUPS + 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        collective(name, "x", NULL, -1, -1, KINO_DEVICE_KERNEL);
    }
    size_t size;
    REQUIRE(kino_stop(NULL) == KINO_OK);
    REQUIRE(kino_save(test_tmp("out.json"), NULL) == KINO_OK);
    char *text = test_read_file(test_tmp("out.json"), &size), wanted[32];
    REQUIRE(kino__json_is_valid((kino_str){text, size}));
    snprintf(wanted, sizeof wanted, "\"pg_count\":%d,", KINO__GROUPS);
    CHECK(strstr(text, wanted) != NULL);
    free(text);
}
