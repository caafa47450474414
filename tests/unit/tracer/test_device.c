/* The registry of device backends: how they come in, what sessions ask of them, what becomes of
 * those that fail. Buffers are in the test's own folder. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kino/device.h>
#include <kino/kino.h>

#include "base/json_out.h"
#include "tracer/device/device.h"
#include "unit/test.h"

/* A backend that writes down what it is asked. */
static struct {
    const kino_device_host *host;
    char log[256];
    kino_status probe_status, prepare_status, start_status;
    uint32_t device;
    uint64_t clock_offset;
    bool flushes_one; /* hands over an activity at the end */
    bool is_dump;     /* flushed in the middle, without time to wait */
} fake;

static void say(const char *word)
{
    size_t used = strlen(fake.log);
    snprintf(fake.log + used, sizeof fake.log - used, "%s ", word);
}

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void hand_over(uint64_t start, uint64_t end)
{
    kino_device_arg args[] = {
        {fake.host->key(fake.host, "bytes"), KINO_DEVICE_ARG_UINT, {.u = 4096}},
        {fake.host->key(fake.host, "grid"), KINO_DEVICE_ARG_JSON, {.text = "[1,2,3]"}},
    };
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.kind = KINO_DEVICE_KERNEL;
    activity.name = fake.host->name(fake.host, KINO_DEVICE_KERNEL, "fake_kernel");
    activity.device = fake.device;
    activity.stream = 7;
    activity.start = start;
    activity.end = end;
    activity.correlation = 42;
    activity.args = args;
    activity.arg_count = 2;
    fake.host->activity(fake.host, &activity);
}

static kino_status probe(void *context, kino_error *err)
{
    CHECK(context == &fake);
    say("probe");
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    info.name = "fake \"device\"";
    info.memory_bytes = 1 << 20;
    fake.device = fake.host->add_device(fake.host, &info);
    snprintf(err->message, sizeof err->message, "%s", fake.probe_status ? "no driver" : "");
    return fake.probe_status;
}

static kino_status prepare(void *context, const kino_device_request *request, kino_error *err)
{
    (void)context;
    say("prepare");
    CHECK_EQ(request->kinds, KINO_DEVICE_BIT(KINO_DEVICE_KERNEL));
    snprintf(err->message, sizeof err->message, "%s", fake.prepare_status ? "busy" : "");
    return fake.prepare_status;
}

static kino_status start(void *context, kino_error *err)
{
    (void)context;
    (void)err;
    say("start");
    return fake.start_status;
}

static void stop(void *context)
{
    (void)context;
    say("stop");
}

static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    say("flush");
    CHECK(fake.is_dump || deadline_ns > raw_ns());
    uint64_t device_now = raw_ns() + fake.clock_offset;
    if (fake.flushes_one)
        hand_over(device_now - 500000, device_now - 100000);
}

static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    CHECK_EQ(device, fake.device);
    *out = raw_ns() + fake.clock_offset;
    return true;
}

static kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = KINO_DEVICE_BIT(KINO_DEVICE_KERNEL),
    .name = "fake",
    .version = "3",
    .context = &fake,
    .probe = probe,
    .prepare = prepare,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
};

static const kino_device_backend *entry(const kino_device_host *host, kino_error *err)
{
    (void)err;
    fake.host = host;
    return &backend;
}

static const kino_device_backend *declines(const kino_device_host *host, kino_error *err)
{
    (void)host;
    snprintf(err->message, sizeof err->message, "wrong phase of the moon");
    return NULL;
}

static kino_device_state state_of(size_t index)
{
    kino_device_state state = {.size = sizeof state};
    CHECK_EQ(kino_device_get(index, &state), KINO_OK);
    return state;
}

static void prepare_session(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error err = {0};
    options.budget_bytes = 2 << 20;
    options.directory = test_tmp("");
    if (!CHECK_EQ(kino_prepare(&options, &err), KINO_OK))
        CHECK_STR(err.message, "");
}

static char *saved(void)
{
    size_t size;
    REQUIRE(kino_save(test_tmp("out.json"), NULL) == KINO_OK);
    char *text = test_read_file(test_tmp("out.json"), &size);
    CHECK(kino__json_is_valid((kino_str){text, size}));
    return text;
}

TEST(a_device_backend_is_asked_in_order)
{
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe ");
    CHECK_EQ(state_of(0).phase, KINO_DEVICE_IDLE);
    prepare_session();
    CHECK_EQ(state_of(0).phase, KINO_DEVICE_PREPARED);
    CHECK(!fake.host->is_recording(fake.host));
    REQUIRE(kino_start(NULL) == KINO_OK);
    CHECK_EQ(state_of(0).phase, KINO_DEVICE_RECORDING);
    CHECK(fake.host->is_recording(fake.host));
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare start stop flush ");
    kino_device_state state = state_of(0);
    CHECK_STR((const char *)state.name, "fake");
    CHECK_STR((const char *)state.version, "3");
    CHECK_EQ(state.devices, 1);
    state.size = 4;
    CHECK_EQ(kino_device_get(0, &state), KINO_ARGUMENT);
    state.size = sizeof state;
    CHECK_EQ(kino_device_get(1, &state), KINO_NOT_FOUND);
    CHECK_EQ(kino_device_register("fake", declines, NULL), KINO_OK); /* it is there */
}

TEST(a_device_backend_that_comes_while_recording_takes_part_at_once)
{
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare start ");
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare start stop flush ");
}

TEST(a_prepared_session_that_is_given_up_stops_device_backends)
{
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    prepare_session();
    CHECK_STR(fake.log, "probe prepare stop prepare ");
    kino_discard(); /* at once, not when the next one is prepared */
    CHECK_STR(fake.log, "probe prepare stop prepare stop ");
}

TEST(a_device_backend_that_fails_is_left_out_and_the_trace_says_why)
{
    kino_error err = {0};
    CHECK_EQ(kino_device_register("other", declines, &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "'other': it declined: wrong phase of the moon");
    CHECK_EQ(kino_device_register("other", entry, &err), KINO_UNAVAILABLE); /* not asked again */
    fake.prepare_status = KINO_UNAVAILABLE;
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    CHECK_STR((const char *)state_of(1).error, "cannot prepare: busy");
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare ");
    char *text = saved();
    CHECK(strstr(text, "wrong phase of the moon") != NULL);
    CHECK(strstr(text, "cannot prepare: busy") != NULL);
    free(text);
    fake.prepare_status = KINO_OK; /* the next session tries again */
    fake.start_status = KINO_IO;
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    CHECK_STR((const char *)state_of(1).error, "cannot start: reading or writing failed");
    CHECK(!fake.host->is_recording(fake.host));
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare prepare start stop ");
}

TEST(a_device_backend_without_a_device_is_never_asked_again)
{
    kino_error err = {0};
    fake.probe_status = KINO_NOT_FOUND;
    CHECK_EQ(kino_device_register("fake", entry, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "'fake': no device: no driver");
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe ");
    CHECK_EQ(state_of(0).phase, KINO_DEVICE_FAILED);
}

TEST(a_device_backend_of_another_size_works_or_says_why_not)
{
    kino_error err = {0};
    backend.size = 3;
    CHECK_EQ(kino_device_register("a", entry, &err), KINO_FORMAT);
    CHECK_STR(err.message, "'a': its description has an invalid size (3 bytes)");
    backend.size = sizeof backend;
    backend.name = "blank space";
    CHECK_EQ(kino_device_register("b", entry, &err), KINO_FORMAT);
    CHECK_STR(err.message, "'b': invalid name (expected: letters, digits, '_' and '-')");
    backend.name = "old";
    backend.size = offsetof(kino_device_backend, stop); /* knows nothing behind start */
    REQUIRE(kino_device_register("old", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare start ");
    CHECK_EQ(kino_device_register("old2", entry, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "'old2': backend 'old' is already registered");
    CHECK_EQ(kino_device_register(NULL, entry, &err), KINO_ARGUMENT);
}

TEST(device_plugins_that_cannot_be_loaded_are_listed_with_the_reason)
{
    setenv("KINO_PLUGINS", ":/nowhere/x.so::libm.so.6:", 1);
    prepare_session();
    CHECK_STR((const char *)state_of(0).name, "/nowhere/x.so");
    CHECK(strstr(state_of(0).error, "cannot be loaded: /nowhere/x.so: ") != NULL);
    CHECK_STR((const char *)state_of(1).name, "libm.so.6");
    CHECK_STR((const char *)state_of(1).error,
              "is not a plug-in for this version: it does not export 'kino_device_plugin_v1'");
    kino_device_state state = {.size = sizeof state};
    CHECK_EQ(kino_device_get(2, &state), KINO_NOT_FOUND);
    prepare_session(); /* looked at once only */
    CHECK_EQ(kino_device_get(2, &state), KINO_NOT_FOUND);
}

TEST(a_device_plugin_list_without_end_is_cut)
{
    kino__devices *all = kino__devices_get(kino__tracer_get());
    char *list = malloc(100000);
    REQUIRE(all && list);
    memset(list, 'x', 99999);
    list[99999] = '\0';
    pthread_mutex_lock(&all->lock);
    kino__devices_load(all, list);
    for (int i = 0; i < 100; i++)
        kino__devices_load(all, "/nowhere/a:/nowhere/b");
    pthread_mutex_unlock(&all->lock);
    CHECK_EQ(all->backend_count, KINO__DEVICE_BACKENDS);
    CHECK_STR((const char *)state_of(0).error, "the path is too long");
    free(list);
}

/* The device's clock is an hour ahead of the host's; its activity ends 100 us before the stop. */
TEST(a_device_activity_is_on_the_hosts_time_with_row_arguments_and_flow)
{
    fake.clock_offset = 3600u * 1000000000u;
    fake.flushes_one = true;
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    uint64_t call = fake.host->call_begin(
        fake.host, fake.host->name(fake.host, KINO_DEVICE_RUNTIME, "fakeLaunch"), 42);
    CHECK(call != 0);
    kino_device_arg arg = {fake.host->key(fake.host, "error"), KINO_DEVICE_ARG_INT, {.i = -5}};
    fake.host->call_arg(fake.host, call, &arg);
    fake.host->call_end(fake.host, call);
    usleep(2000);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_EQ(state_of(0).activities, 1);
    CHECK_EQ(state_of(0).lost, 0);
    char *text = saved();
    const char *kernel = strstr(text, "\"fake_kernel\"");
    const char *launch = strstr(text, "\"fakeLaunch\"");
    const char *window = strstr(text, "Record Window End");
    REQUIRE(kernel && launch && window);
    CHECK(strstr(kernel, "\"grid\": [1,2,3]") || strstr(kernel, "\"grid\":[1,2,3]"));
    CHECK(strstr(text, "fake \\\"device\\\"") != NULL);
    double launch_us = strtod(strstr(launch, "\"ts\"") + 5, NULL);
    double kernel_us = strtod(strstr(kernel, "\"ts\"") + 5, NULL);
    double end_us = strtod(strstr(window, "\"ts\"") + 5, NULL);
    CHECK(kernel_us > launch_us);
    CHECK(end_us - kernel_us > 0 && end_us - kernel_us < 20000); /* an hour would show */
    free(text);
}

TEST(a_dump_has_what_devices_did_so_far)
{
    fake.flushes_one = fake.is_dump = true;
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    REQUIRE(kino_dump(test_tmp("dump.json"), 0, NULL) == KINO_OK);
    CHECK_STR(fake.log, "probe prepare start flush ");
    size_t size;
    char *text = test_read_file(test_tmp("dump.json"), &size);
    CHECK(strstr(text, "fake_kernel") != NULL);
    free(text);
    CHECK(fake.host->is_recording(fake.host));
}

TEST(device_activities_that_make_no_sense_are_counted_as_lost)
{
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    uint64_t at = raw_ns();
    hand_over(0, 5);                       /* no start */
    hand_over(at, at - 1);                 /* ends before it begins */
    hand_over(UINT64_MAX - 1, UINT64_MAX); /* no time of any clock */
    fake.device = 63;                      /* there is no such device */
    hand_over(at, at);
    fake.device = 0;
    hand_over(at - 100, at);
    kino_device_activity small = {.size = 4, .name = 1, .start = 1, .end = 2};
    fake.host->activity(fake.host, &small);
    fake.host->lost(fake.host, 10);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_EQ(state_of(0).activities, 1);
    CHECK_EQ(state_of(0).lost, 15);
}

TEST(a_device_backend_is_idle_in_a_forked_child)
{
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    prepare_session();
    REQUIRE(kino_start(NULL) == KINO_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool ok = state_of(0).phase == KINO_DEVICE_IDLE && !fake.host->is_recording(fake.host) &&
                  fake.host->call_begin(fake.host, 1, 1) == 0;
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    CHECK(fake.host->is_recording(fake.host));
}

static void *make_work(void *unused)
{
    uint32_t name = fake.host->name(fake.host, KINO_DEVICE_RUNTIME, "call");
    for (int i = 0; i < 2000; i++) {
        uint64_t number = fake.host->correlations(fake.host, 1);
        uint64_t call = fake.host->call_begin(fake.host, name, number);
        uint64_t before = fake.host->stamp(fake.host);
        uint64_t at = raw_ns();
        fake.host->clock_bound(fake.host, fake.device, at, before, fake.host->stamp(fake.host));
        hand_over(at, at + 10);
        fake.host->counter(fake.host, fake.device, name, at, 1.5);
        fake.host->call_end(fake.host, call);
    }
    return unused;
}

TEST_THREADS(device_work_comes_from_many_threads_while_sessions_come_and_go)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    REQUIRE(kino_device_register("fake", entry, NULL) == KINO_OK);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, make_work, NULL) == 0);
    for (int i = 0; i < 10; i++) {
        prepare_session();
        REQUIRE(kino_start(NULL) == KINO_OK);
        usleep(3000);
        REQUIRE(kino_stop(NULL) == KINO_OK);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(state_of(0).lost, 0);
}
