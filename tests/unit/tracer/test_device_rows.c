/* What backends can say beyond plain activities: rows beside streams, numbers of functions,
 * arguments kept once, memory, counters, problems. Buffers are in the test's own folder. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

#include "base/json_out.h"
#include "unit/test.h"

/* Its clock is the host's; it writes down what functions it hears of. */
static struct {
    const kino_device_host *host;
    uint32_t device;
    char log[512];
} fake;

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void say(const char *word, uint32_t kind, uint64_t id, const char *name)
{
    size_t used = strlen(fake.log);
    snprintf(fake.log + used, sizeof fake.log - used, "%s%s %llu%s%s; ", word,
             kind == KINO_DEVICE_ANNOTATION ? " annotation" : "", (unsigned long long)id,
             *name ? " " : "", name);
}

static void push(void *context, uint32_t kind, uint64_t id, const char *name)
{
    (void)context;
    say("push", kind, id, name);
}

static void pop(void *context, uint32_t kind)
{
    (void)context;
    say("pop", kind, 0, "");
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
    options.budget_bytes = 2 << 20;
    options.directory = test_tmp("");
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK && kino_start(NULL) == KINO_OK);
}

static char *end(void)
{
    size_t size;
    REQUIRE(kino_stop(NULL) == KINO_OK);
    REQUIRE(kino_save(test_tmp("out.json"), NULL) == KINO_OK);
    char *text = test_read_file(test_tmp("out.json"), &size);
    CHECK(kino__json_is_valid((kino_str){text, size}));
    return text;
}

/* The line of the trace that has the text; CHECKs that the other one is in it, too. */
static void check_line(const char *trace, const char *has, const char *wanted)
{
    const char *at = strstr(trace, has);
    REQUIRE(at != NULL);
    while (at > trace && at[-1] != '\n')
        at--;
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    if (!CHECK(strstr(line, wanted) != NULL))
        CHECK_STR(line, wanted);
}

static void hand_over(const char *name, uint32_t device, uint32_t flags, uint64_t correlation)
{
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    a.kind = KINO_DEVICE_SYNC;
    a.name = fake.host->name(fake.host, KINO_DEVICE_SYNC, name);
    a.device = device;
    a.stream = 7;
    a.start = raw_ns() - 2000;
    a.end = a.start + 1000;
    a.correlation = correlation;
    a.flags = flags;
    a.clock_of = fake.device;
    fake.host->activity(fake.host, &a);
}

TEST(device_rows_beside_streams_have_their_numbers_and_names)
{
    begin();
    hand_over("of a stream", 0, KINO_DEVICE_ROW_SYNC, 0);
    hand_over("of a device", 0, KINO_DEVICE_ROW_WHOLE, 0);
    hand_over("own doing", KINO_DEVICE_HOST,
              KINO_DEVICE_ROW_OVERHEAD | KINO_DEVICE_CLOCK_OF | KINO_DEVICE_ARGS_WHOLE, 0);
    char *text = end();
    check_line(text, "\"of a stream\"", "\"pid\": 0, \"tid\": 1000007,");
    check_line(text, "stream 7 (sync)", "\"pid\": 0, \"tid\": 1000007,");
    check_line(text, "\"of a device\"", "\"pid\": 0, \"tid\": 1,");
    check_line(text, "\"Device 0\"", "\"pid\": 0, \"tid\": 1,");
    check_line(text, "\"own doing\"", "\"pid\": -1, \"tid\": ");
    check_line(text, "CUPTI Overhead", "\"pid\": -1, \"tid\": 0,");
    check_line(text, "\"own doing\"", "\"dur\": 1.000}"); /* no arguments at all */
    free(text);
}

TEST(device_arrows_start_at_calls_unless_they_should_end_there)
{
    begin();
    hand_over("launch", KINO_DEVICE_HOST, KINO_DEVICE_CLOCK_OF, 11);
    hand_over("other call", KINO_DEVICE_HOST, KINO_DEVICE_CLOCK_OF | KINO_DEVICE_FLOW_END, 12);
    hand_over("work", 0, 0, 13);
    hand_over("work without", 0, KINO_DEVICE_NO_FLOW, 14);
    char *text = end();
    check_line(text, "\"id\": 11", "\"ph\": \"s\"");
    check_line(text, "\"id\": 12", "\"ph\": \"f\"");
    check_line(text, "\"id\": 13", "\"ph\": \"f\"");
    CHECK(strstr(text, "\"id\": 14") == NULL);
    check_line(text, "\"work without\"", "\"correlation\":14");
    free(text);
}

TEST(a_device_activity_of_an_older_header_is_taken)
{
    kino_device_activity old = KINO_DEVICE_ACTIVITY_INIT;
    begin();
    old.size = offsetof(kino_device_activity, external);
    old.external = 99; /* not there, as far as the size says */
    old.kind = KINO_DEVICE_KERNEL;
    old.name = fake.host->name(fake.host, KINO_DEVICE_KERNEL, "old");
    old.start = raw_ns() - 2000;
    old.end = old.start + 1000;
    fake.host->activity(fake.host, &old);
    old.size = 8; /* too little for anything */
    fake.host->activity(fake.host, &old);
    char *text = end();
    CHECK(strstr(text, "\"old\"") != NULL);
    CHECK(strstr(text, "External id") == NULL);
    kino_device_state state = {.size = sizeof state};
    REQUIRE(kino_device_get(0, &state) == KINO_OK);
    CHECK_EQ(state.activities, 1);
    CHECK_EQ(state.lost, 1);
    free(text);
}

TEST(arguments_that_device_activities_share_are_kept_once)
{
    begin();
    uint32_t members = fake.host->key(fake.host, "{\"grid\": [8, 1, 1], \"regs\": 32}");
    uint32_t nothing = fake.host->key(fake.host, "{ }"),
             wrong = fake.host->key(fake.host, "{\"a\"");
    kino_device_arg args[] = {
        {0, KINO_DEVICE_ARG_MEMBERS, {.u = nothing}},
        {0, KINO_DEVICE_ARG_MEMBERS, {.u = members}},
        {0, KINO_DEVICE_ARG_MEMBERS, {.u = wrong}},
        {fake.host->key(fake.host, "bytes"), KINO_DEVICE_ARG_UINT, {.u = 5}},
    };
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    a.kind = KINO_DEVICE_KERNEL;
    a.name = fake.host->name(fake.host, KINO_DEVICE_KERNEL, "k");
    a.start = raw_ns() - 2000;
    a.end = a.start + 1000;
    a.external = 77;
    a.correlation = 5;
    a.flags = KINO_DEVICE_ARGS_WHOLE | KINO_DEVICE_NO_FLOW;
    a.args = args;
    a.arg_count = 4;
    fake.host->activity(fake.host, &a);
    char *text = end();
    check_line(text, "\"name\": \"k\"",
               "{\"External id\":77,\"grid\": [8, 1, 1], \"regs\": 32,\"bytes\":5}");
    free(text);
}

TEST(memory_and_counters_of_devices_have_their_rows)
{
    begin();
    kino_device_memory event = {.size = sizeof event,
                                .device = fake.device,
                                .device_type = 1,
                                .thread = 4711,
                                .time = raw_ns() - 1000,
                                .address = 0x7000,
                                .bytes = -256};
    fake.host->memory(fake.host, &event);
    uint32_t name = fake.host->name(fake.host, KINO_DEVICE_COUNTERS, "sm__cycles");
    fake.host->counter(fake.host, fake.device, name, raw_ns() - 1000, 812.5);
    char *text = end();
    check_line(text, "[memory]", "\"tid\": 4711,");
    check_line(text, "[memory]",
               "{\"Device Type\":1,\"Device Id\":0,\"Addr\":28672,\"Bytes\":-256}");
    check_line(text, "sm__cycles", "\"pid\": \"GPU 0 Counters\", \"tid\": 0,");
    check_line(text, "sm__cycles", "{\"\":812.5}");
    free(text);
}

TEST(a_problem_of_a_device_backend_is_said_and_the_rest_goes_on)
{
    begin();
    fake.host->problem(fake.host, "the second \"engine\" is off");
    fake.host->problem(fake.host, "and so is the third"); /* the first one stays */
    kino_device_state state = {.size = sizeof state};
    REQUIRE(kino_device_get(0, &state) == KINO_OK);
    CHECK_EQ(state.phase, KINO_DEVICE_RECORDING);
    CHECK_STR((const char *)state.error, "the second \"engine\" is off");
    char *text = end();
    CHECK(strstr(text, "\"error\":\"the second \\\"engine\\\" is off\"") != NULL);
    free(text);
}

static void open_function(kino_record_function *fn, kino_record_scope scope, const char *name)
{
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = name;
    if (kino_record_open(fn, scope)) /* else nobody listens: nothing is recorded */
        kino_record_start(fn, &details);
}

TEST(device_backends_hear_of_functions_while_they_record)
{
    kino_record_function before, outer, inner, behind;
    kino_record_spans_enable(true);
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    open_function(&before, KINO_SCOPE_FUNCTION, "before"); /* nothing is recorded yet */
    begin();
    open_function(&outer, KINO_SCOPE_USER, "step");
    open_function(&inner, KINO_SCOPE_FUNCTION, "aten::mm");
    kino_record_end(&inner);
    kino_record_end(&before);
    CHECK_STR(fake.log, "push annotation 1 step; push 2 aten::mm; pop 0; ");
    char *text = end();
    fake.log[0] = '\0';
    kino_record_end(&outer); /* the pair is kept though the session is over */
    open_function(&behind, KINO_SCOPE_FUNCTION, "behind");
    kino_record_end(&behind);
    CHECK_STR(fake.log, "pop annotation 0; ");
    check_line(text, "\"aten::mm\"", "\"args\": {\"External id\":2}");
    check_line(text, "\"step\"", "\"External id\":1");
    free(text);
}

static void *end_elsewhere(void *fn)
{
    kino_record_end(fn);
    return NULL;
}

TEST_THREADS(a_function_that_ends_on_another_thread_does_not_confuse_device_backends)
{
    kino_record_function outer, lost;
    pthread_t thread;
    kino_record_spans_enable(true);
    begin();
    open_function(&outer, KINO_SCOPE_FUNCTION, "outer");
    open_function(&lost, KINO_SCOPE_FUNCTION, "lost");
    REQUIRE(pthread_create(&thread, NULL, end_elsewhere, &lost) == 0);
    pthread_join(thread, NULL);
    CHECK_STR(fake.log, "push 1 outer; push 2 lost; ");
    kino_record_end(&outer); /* takes what is above it along */
    CHECK_STR(fake.log, "push 1 outer; push 2 lost; pop 0; pop 0; ");
    free(end());
}
