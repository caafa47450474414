/* test_tracer_clients.c - clients and loggers: coming, going, and what they are told. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/control/clients.h"
#include "tracer/control/loggers.h"
#include "unit/test.h"

static kino__clients clients;
static kino_error err;
static char log_text[400];
static kino_client_request seen;
static uint32_t own_number;

static void note(const char *text)
{
    size_t used = strlen(log_text);
    (void)snprintf(log_text + used, sizeof log_text - used, "%s ", text);
}

static kino_status on_prepare(void *context, const kino_client_request *request, kino_error *e)
{
    seen = *request;
    note(context);
    note("prepare");
    return strcmp(context, "bad") == 0 ? kino__fail(e, KINO_IO, "no memory on the device")
                                       : KINO_OK;
}

static void on_start(void *context)
{
    CHECK(kino__clients_is_inside());
    note(context);
    note("start");
}

static void on_step(void *context, uint64_t step)
{
    char text[40];
    (void)snprintf(text, sizeof text, "step%d", (int)step);
    note(context);
    note(text);
}

static void on_stop(void *context, bool is_cancelled)
{
    note(context);
    note(is_cancelled ? "cancel" : "stop");
}

static kino_status on_snapshot(void *context, const char *path, int64_t ms, kino_error *e)
{
    (void)e;
    note(context);
    note(path);
    CHECK_EQ(ms, 77);
    return KINO_OK;
}

static uint32_t add(const char *name)
{
    kino_client client = KINO_CLIENT_INIT;
    uint32_t number;
    client.name = name;
    client.context = (void *)(uintptr_t)name;
    client.prepare = on_prepare;
    client.start = on_start;
    client.step = on_step;
    client.stop = on_stop;
    REQUIRE_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_OK);
    return number;
}

static kino_status prepare(const char *text)
{
    kino__config config;
    kino__config_context context = {"request", 0, 1, false, NULL, NULL};
    REQUIRE_EQ(kino__config_parse(kino__str_from(text), &context, &config, &err), KINO_OK);
    log_text[0] = '\0';
    kino_status st = kino__clients_prepare(&clients, &config, &err);
    kino__config_deinit(&config);
    seen.trace_id = seen.custom_config = NULL; /* were valid during the call */
    return st;
}

TEST(clients_are_called_in_order)
{
    kino__clients_init(&clients);
    uint32_t a = add("a"), b = add("b");
    CHECK(a != b && a && b);
    REQUIRE_EQ(
        prepare("PROFILE_WITH_STACK=y\nPROFILE_REPORT_INPUT_SHAPES=y\nACTIVITY_TYPES=cpu_op"),
        KINO_OK);
    CHECK_EQ(seen.flags, KINO_CLIENT_STACK | KINO_CLIENT_SHAPES);
    CHECK_EQ(seen.activity_types, 1);
    CHECK_EQ(seen.duration_ms, 500);
    CHECK_EQ(seen.iterations, 0);
    CHECK(kino__clients_have_stop(&clients));
    kino__clients_start(&clients);
    kino__clients_step(&clients, 4);
    uint32_t late = add("c"); /* joins with the next trace */
    kino__clients_step(&clients, 5);
    kino__clients_stop(&clients, false);
    kino__clients_stop(&clients, true); /* once */
    CHECK_STR(log_text,
              "a prepare b prepare a start b start a step4 b step4 a step5 b step5 a stop "
              "b stop ");
    CHECK(!kino__clients_have_stop(&clients));
    kino__clients_remove(&clients, a);
    kino__clients_remove(&clients, a);
    kino__clients_remove(&clients, 0);
    REQUIRE_EQ(prepare("PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=3\n"
                       "PROFILE_WITH_FLOPS=y\nPROFILE_WITH_MODULES=y\nPROFILE_PROFILE_MEMORY=y"),
               KINO_OK);
    CHECK_EQ(seen.flags, KINO_CLIENT_FLOPS | KINO_CLIENT_MODULES | KINO_CLIENT_MEMORY);
    CHECK_EQ(seen.duration_ms, 0);
    CHECK_EQ(seen.iterations, 3);
    kino__clients_remove(&clients, late);
    kino__clients_stop(&clients, true);
    CHECK_STR(log_text, "b prepare c prepare b cancel ");
}

TEST(clients_that_fail_end_the_request)
{
    kino__clients_init(&clients);
    (void)add("a");
    (void)add("bad");
    (void)add("c");
    CHECK_EQ(prepare(""), KINO_IO);
    CHECK_STR(err.message, "bad: no memory on the device");
    kino__clients_stop(&clients, true);
    CHECK_STR(log_text, "a prepare bad prepare a cancel "); /* only who was prepared */
}

static void remove_myself(void *context)
{
    (void)context;
    note("gone");
    kino__clients_remove(&clients, own_number);
}

TEST(clients_may_remove_themselves)
{
    kino_client client = KINO_CLIENT_INIT;
    kino__clients_init(&clients);
    client.start = remove_myself;
    REQUIRE_EQ(kino__clients_add(&clients, &client, &own_number, &err), KINO_OK);
    REQUIRE_EQ(prepare(""), KINO_OK);
    kino__clients_start(&clients);
    kino__clients_start(&clients);
    kino__clients_stop(&clients, false);
    CHECK_STR(log_text, "gone ");
    CHECK(!kino__clients_is_inside());
}

TEST(clients_have_an_end)
{
    kino_client client = KINO_CLIENT_INIT;
    uint32_t number = 0, first = 0;
    kino__clients_init(&clients);
    for (int i = 0; i < KINO__CLIENTS_MAX; i++) {
        REQUIRE_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_OK);
        first = first ? first : number;
    }
    CHECK_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_LIMIT);
    CHECK_STR(err.message, "too many clients (limit: 16)");
    CHECK_EQ(number, 0);
    kino__clients_remove(&clients, first);
    CHECK_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_OK);
    CHECK(number != first); /* numbers are not used again */
    client.size = 4;
    CHECK_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_ARGUMENT);
}

TEST(clients_take_snapshots)
{
    kino_client client = KINO_CLIENT_INIT;
    uint32_t number;
    kino__clients_init(&clients);
    (void)add("a");
    CHECK(!kino__clients_have_snapshot(&clients));
    CHECK_EQ(kino__clients_snapshot(&clients, "/x", 77, &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "no client supports memory snapshots");
    client.context = (void *)(uintptr_t) "m";
    client.snapshot = on_snapshot;
    REQUIRE_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_OK);
    CHECK(kino__clients_have_snapshot(&clients));
    log_text[0] = '\0';
    CHECK_EQ(kino__clients_snapshot(&clients, "/x", 77, &err), KINO_OK);
    CHECK_STR(log_text, "m /x ");
}

/* Steps on two threads while the client is stopped and removed: no callback runs afterwards. */
static struct {
    uint32_t is_over, calls, late_calls, has_ended;
} race;

static void on_race_step(void *context, uint64_t step)
{
    (void)context;
    (void)step;
    (void)__atomic_fetch_add(&race.calls, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&race.is_over, __ATOMIC_ACQUIRE))
        (void)__atomic_fetch_add(&race.late_calls, 1, __ATOMIC_RELAXED);
}

static void *make_steps(void *context)
{
    (void)context;
    while (!__atomic_load_n(&race.has_ended, __ATOMIC_RELAXED))
        kino__clients_step(&clients, 1);
    return NULL;
}

TEST_THREADS(clients_are_quiet_once_removed)
{
    kino__clients_init(&clients);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(pthread_create(&threads[i], NULL, make_steps, NULL), 0);
    for (int i = 0; i < 50; i++) {
        kino_client client = KINO_CLIENT_INIT;
        uint32_t number;
        client.step = on_race_step;
        __atomic_store_n(&race.is_over, 0, __ATOMIC_RELEASE);
        REQUIRE_EQ(kino__clients_add(&clients, &client, &number, &err), KINO_OK);
        REQUIRE_EQ(prepare(""), KINO_OK);
        uint32_t calls = __atomic_load_n(&race.calls, __ATOMIC_RELAXED);
        for (int n = 0; n < 1000 && __atomic_load_n(&race.calls, __ATOMIC_RELAXED) == calls; n++)
            (void)usleep(100);
        if (i % 2)
            kino__clients_stop(&clients, false);
        kino__clients_remove(&clients, number);
        __atomic_store_n(&race.is_over, 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&race.has_ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(race.calls > 0);
    CHECK_EQ(race.late_calls, 0);
}

/* -- loggers */

static kino__loggers loggers;
static char saved_url[200], saved_file[600], saved_text[40];

static kino_status write_hello(void *context, const char *path, kino_error *e)
{
    (void)context;
    (void)e;
    note(path);
    test_write_file(path, "hello", 5);
    return KINO_OK;
}

static kino_status write_nothing(void *context, const char *path, kino_error *e)
{
    (void)context;
    (void)path;
    return kino__fail(e, KINO_IO, "the disk is full");
}

static kino_status on_save(void *context, const char *url, const char *file, kino_error *e)
{
    (void)e;
    size_t size;
    char *text = test_read_file(file, &size);
    note(context);
    (void)snprintf(saved_url, sizeof saved_url, "%s", url);
    (void)snprintf(saved_file, sizeof saved_file, "%s", file);
    (void)snprintf(saved_text, sizeof saved_text, "%s", text);
    free(text);
    return KINO_OK;
}

static kino_status set(const char *protocol, const char *context)
{
    kino_logger logger = KINO_LOGGER_INIT;
    logger.protocol = protocol;
    logger.context = (void *)(uintptr_t)context;
    logger.save = context ? on_save : NULL;
    return kino__loggers_set(&loggers, &logger, &err);
}

static kino_status save(const char *url)
{
    log_text[0] = '\0';
    return kino__loggers_save(&loggers, url, write_hello, NULL, &err);
}

TEST(loggers_by_protocol)
{
    struct stat info;
    char path[300], url[320];
    kino__loggers_init(&loggers);
    (void)snprintf(path, sizeof path, "%s", test_tmp("t.json"));
    (void)snprintf(url, sizeof url, "file://%s", path);
    REQUIRE_EQ(save(url), KINO_OK);
    CHECK_EQ(stat(path, &info), 0);
    REQUIRE_EQ(save(path), KINO_OK); /* a bare path is a file */
    CHECK_EQ(save("store://bucket/t.json"), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "'store://bucket/t.json': no logger is registered for store://");
    CHECK_STR(log_text, ""); /* before anything is written */
    CHECK_EQ(kino__loggers_check(&loggers, "store://x", &err), KINO_UNAVAILABLE);
    REQUIRE_EQ(set("store", "first"), KINO_OK);
    CHECK_EQ(kino__loggers_check(&loggers, "store://x", &err), KINO_OK);
    REQUIRE_EQ(save("STORE://bucket/t.kino"), KINO_OK);
    CHECK_STR(saved_url, "STORE://bucket/t.kino");
    CHECK(kino__str_ends_with(kino__str_from(saved_file), KINO__STR("/trace.kino")));
    CHECK_STR(saved_text, "hello");
    CHECK_EQ(stat(saved_file, &info), -1); /* nothing is left of it */
    *strrchr(saved_file, '/') = '\0';
    CHECK_EQ(stat(saved_file, &info), -1);
    REQUIRE_EQ(set("store", "second"), KINO_OK); /* replaces */
    REQUIRE_EQ(save("store://bucket/t.json"), KINO_OK);
    CHECK(strstr(log_text, "second") != NULL);
    CHECK(kino__str_ends_with(kino__str_from(saved_file), KINO__STR("/trace.json")));
    CHECK_EQ(kino__loggers_save(&loggers, "store://x", write_nothing, NULL, &err), KINO_IO);
    CHECK_STR(err.message, "the disk is full");
    REQUIRE_EQ(set("store", NULL), KINO_OK);
    CHECK_EQ(save("store://bucket/t.json"), KINO_UNAVAILABLE);
    CHECK_EQ(set("store", NULL), KINO_OK); /* nothing to remove */
}

TEST(loggers_refuse_what_is_no_protocol)
{
    kino__loggers_init(&loggers);
    CHECK_EQ(set("file", "x"), KINO_ARGUMENT);
    CHECK_STR(err.message, "file:// is built in");
    CHECK_EQ(set("", "x"), KINO_ARGUMENT);
    CHECK_EQ(set("S3", "x"), KINO_ARGUMENT);
    CHECK_EQ(set("a b", "x"), KINO_ARGUMENT);
    CHECK_EQ(set("s3", "x"), KINO_OK);
    CHECK_EQ(set("x-y.z+1", "x"), KINO_OK);
    char name[16];
    for (int i = 2; i < KINO__LOGGERS_MAX; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        CHECK_EQ(set(name, "x"), KINO_OK);
    }
    CHECK_EQ(set("more", "x"), KINO_LIMIT);
    CHECK_EQ(set("s3", "y"), KINO_OK);
    CHECK_STR(kino__loggers_file_path("/a/b"), "/a/b");
    CHECK_STR(kino__loggers_file_path("FILE:///a/b"), "/a/b");
    CHECK_STR(kino__loggers_file_path("a b://c"), "a b://c"); /* a strange path, no URL */
    CHECK(kino__loggers_file_path("s3://c") == NULL);
}
