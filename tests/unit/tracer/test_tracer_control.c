/* test_tracer_control.c - requests to the real recorder, through the public functions: traces
 * appear where they were asked for, clients and loggers take part, and nothing disturbs the
 * program's own sessions. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kino/control.h>
#include <kino/kino.h>

#include "base/str.h"
#include "unit/test.h"

static kino_error err;
static kino_control_state state = {.size = sizeof state};
static char path[300]; /* of the last request's trace */

/* Asks for a trace of a name in the test's folder; `text` without the path. */
static kino_status request(const char *name, const char *text)
{
    char config[1000], base[300];
    (void)snprintf(base, sizeof base, "%s", test_tmp(name));
    (void)snprintf(config, sizeof config,
                   "KINO_BUDGET_MB=4\nKINO_WARMUP_MSECS=0\nACTIVITIES_LOG_FILE=%s.json\n%s", base,
                   text);
    (void)snprintf(path, sizeof path, "%.250s_%d.json", base, (int)getpid());
    return kino_request(config, &err);
}

static bool exists(const char *name)
{
    struct stat info;
    return stat(name, &info) == 0;
}

/* How often a text is in the last trace. */
static int count_of(const char *text)
{
    size_t size;
    int count = 0;
    char *all = test_read_file(path, &size);
    for (const char *at = all; (at = strstr(at, text)); at += strlen(text))
        count++;
    free(all);
    return count;
}

static void work_until_idle(int64_t most_ms)
{
    for (int64_t i = 0; i < most_ms; i++) {
        kino_control_get(&state);
        if (!state.has_request)
            return;
        {
            KINO_ZONE("some work");
            (void)usleep(1000);
        }
        (void)kino_step();
    }
}

TEST_THREADS(control_takes_a_timed_trace)
{
    REQUIRE_EQ(request("t", "KINO_START_DELAY_MSECS=20\nACTIVITIES_DURATION_MSECS=50\n"
                            "REQUEST_TRACE_ID=the id\nNO_SUCH_KEY=1"),
               KINO_OK);
    work_until_idle(10000);
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    CHECK(exists(path));
    CHECK(count_of("\"name\": \"some work\"") > 0);
    CHECK_EQ(count_of("\"trace_id\": \"the id\""), 1);
    kino_control_get(&state);
    CHECK_EQ(state.done, 1);
    CHECK_EQ(state.phase, KINO_CONTROL_WAIT);
    CHECK_EQ(state.last_request, 1);
    CHECK_EQ(state.last_origin, KINO_REQUEST_PROGRAM);
    CHECK_STR(state.last_url + strlen("file://"), path);
    CHECK_EQ(state.warnings, 1);
    char warnings[100];
    CHECK_EQ(kino_control_warnings(warnings, sizeof warnings),
             strlen("line 7: unknown key 'NO_SUCH_KEY'\n"));
    CHECK_STR(warnings, "line 7: unknown key 'NO_SUCH_KEY'\n");
    char few[5];
    CHECK_EQ(kino_control_warnings(few, sizeof few), strlen(warnings));
    CHECK_STR(few, "line");
    kino_session_state session = {.size = sizeof session};
    kino_session_get(&session);
    CHECK_EQ(session.phase, KINO_SESSION_IDLE); /* nothing is left */
}

TEST_THREADS(control_takes_exactly_the_steps_asked_for)
{
    for (int i = 0; i < 4; i++)
        (void)kino_step();
    REQUIRE_EQ(request("i", "PROFILE_START_ITERATION=40\nACTIVITIES_ITERATIONS=3"), KINO_OK);
    kino_control_get(&state);
    CHECK_EQ(state.start_step, 40);
    work_until_idle(10000);
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    kino_control_get(&state);
    if (state.last_message[0] == '\0') { /* was prepared in time */
        CHECK_EQ(count_of("\"name\": \"ProfilerStep#40\""), 1);
        CHECK_EQ(count_of("\"name\": \"ProfilerStep#41\""), 1);
        CHECK_EQ(count_of("\"name\": \"ProfilerStep#42\""), 1);
        CHECK_EQ(count_of("\"name\": \"some work\""), 3);
    }
    CHECK_EQ(count_of("\"name\": \"ProfilerStep#"), 3);
}

TEST(control_refuses_with_a_reason)
{
    CHECK_EQ(kino_request_wait(&err), KINO_NOT_FOUND);
    CHECK_EQ(kino_cancel(&err), KINO_NOT_FOUND);
    CHECK_EQ(kino_request("ACTIVITIES_DURATION_MSECS=x", &err), KINO_FORMAT);
    CHECK_STR(err.message, "request, line 1: ACTIVITIES_DURATION_MSECS: invalid number 'x' "
                           "(expected: 0 to 2147483647)");
    kino_control_get(&state);
    CHECK_EQ(state.refused, 1);
    CHECK_STR(state.last_message, err.message);
    CHECK_EQ(kino_request_wait(NULL), KINO_FORMAT);
    CHECK_EQ(kino_request("ACTIVITIES_ITERATIONS=1", &err), KINO_FORMAT);
    CHECK_EQ(kino_request("PROFILE_MEMORY=y", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "no client supports memory snapshots");
    CHECK_EQ(kino_request("KINO_DUMP=y", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "nothing to dump: no recording in progress");
    CHECK_EQ(kino_request("ACTIVITIES_LOG_FILE=store://x\nKINO_START_DELAY_MSECS=0\n"
                          "KINO_WARMUP_MSECS=0",
                          &err),
             KINO_OK);
    CHECK_EQ(kino_request_wait(&err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "'store://x': no logger is registered for store://");
    REQUIRE_EQ(kino_prepare(NULL, &err), KINO_OK);
    CHECK_EQ(kino_request("", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the program is recording a session of its own");
    REQUIRE_EQ(kino_start(&err), KINO_OK);
    REQUIRE_EQ(kino_stop(&err), KINO_OK);
    CHECK_EQ(kino_request("", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the program has an unsaved session of its own");
    REQUIRE_EQ(kino_save(test_tmp("own.json"), &err), KINO_OK);
    REQUIRE_EQ(kino_request("", &err), KINO_OK);
    CHECK_EQ(kino_request("", &err), KINO_UNAVAILABLE);
    CHECK(strstr(err.message, "busy with request 2") != NULL);
    CHECK_EQ(kino_cancel(&err), KINO_OK);
    CHECK_EQ(kino_request_wait(&err), KINO_CANCELLED);
    CHECK_STR(err.message, "cancelled");
}

static bool wait_for_phase(kino_control_phase phase)
{
    for (int i = 0; i < 10000; i++) {
        kino_control_get(&state);
        if (state.phase == phase)
            return true;
        (void)usleep(1000);
    }
    return false;
}

TEST_THREADS(control_cancels_what_is_being_collected)
{
    REQUIRE_EQ(request("c", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_SECS=1000"), KINO_OK);
    REQUIRE(wait_for_phase(KINO_CONTROL_COLLECT));
    CHECK(kino_is_recording());
    CHECK_EQ(kino_cancel(&err), KINO_OK);
    CHECK_EQ(kino_request_wait(&err), KINO_CANCELLED);
    CHECK(!kino_is_recording());
    CHECK(!exists(path));
    kino_control_get(&state);
    CHECK_EQ(state.cancelled, 1);
}

/* The program's own session wins over one that somebody asked for. */
TEST_THREADS(control_gives_way_to_the_program)
{
    REQUIRE_EQ(request("c", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_SECS=1000"), KINO_OK);
    REQUIRE(wait_for_phase(KINO_CONTROL_COLLECT));
    REQUIRE_EQ(kino_prepare(NULL, &err), KINO_OK);
    kino_control_get(&state);
    CHECK(!state.has_request);
    CHECK_EQ(state.last_status, KINO_CANCELLED);
    CHECK_STR(state.last_message, "canceled: the program is recording a session of its own");
    REQUIRE_EQ(kino_start(&err), KINO_OK);
    REQUIRE_EQ(kino_stop(&err), KINO_OK);
    kino_discard();
    CHECK(!exists(path));
}

TEST_THREADS(control_ends_early_when_the_buffers_are_full)
{
    REQUIRE_EQ(request("f", "KINO_START_DELAY_MSECS=0\nKINO_BUDGET_MB=2\n"
                            "ACTIVITIES_DURATION_SECS=20"),
               KINO_OK);
    REQUIRE(wait_for_phase(KINO_CONTROL_COLLECT));
    for (int i = 0; i < 3000000 && kino_is_recording(); i++) {
        KINO_ZONE("flood");
        if (i % 100000 == 0)
            (void)usleep(20000);
    }
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    kino_control_get(&state);
    CHECK_STR(state.last_message, "stopped early: buffers full");
    CHECK(exists(path));
}

/* -- clients and loggers */

static struct {
    uint32_t prepared, started, stopped, cancelled, steps;
    uint32_t flags;
    bool was_recording;
} client;

static kino_status on_prepare(void *context, const kino_client_request *r, kino_error *e)
{
    (void)context;
    (void)e;
    client.prepared++;
    client.flags = r->flags;
    return kino_request_wait(NULL) == KINO_UNAVAILABLE ? KINO_OK : KINO_FORMAT; /* cannot wait */
}

static void on_start(void *context)
{
    (void)context;
    client.started++;
}

static void on_step(void *context, uint64_t step)
{
    (void)context;
    (void)step;
    (void)__atomic_fetch_add(&client.steps, 1, __ATOMIC_RELAXED);
}

static void on_stop(void *context, bool is_cancelled)
{
    (void)context;
    client.was_recording = kino_is_recording();
    kino_instant("kept back", "cpu_instant_event");
    *(is_cancelled ? &client.cancelled : &client.stopped) += 1;
}

static kino_status on_save(void *context, const char *url, const char *file, kino_error *e)
{
    (void)e;
    char *out = context;
    CHECK(exists(file));
    (void)snprintf(out, 100, "%s", url);
    return KINO_OK;
}

TEST_THREADS(control_calls_clients)
{
    kino_client def = KINO_CLIENT_INIT;
    uint32_t number;
    def.name = "test";
    def.prepare = on_prepare;
    def.start = on_start;
    def.step = on_step;
    def.stop = on_stop;
    REQUIRE_EQ(kino_client_add(&def, &number, &err), KINO_OK);
    REQUIRE_EQ(request("k", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_MSECS=50\n"
                            "PROFILE_WITH_STACK=true"),
               KINO_OK);
    work_until_idle(10000);
    REQUIRE_EQ(kino_request_wait(&err), KINO_OK);
    CHECK_EQ(client.prepared, 1);
    CHECK_EQ(client.flags, KINO_CLIENT_STACK);
    CHECK_EQ(client.started, 1);
    CHECK_EQ(client.stopped, 1);
    CHECK(client.was_recording); /* so that it can hand in what it has kept back */
    CHECK_EQ(count_of("\"name\": \"kept back\""), 1);
    CHECK(client.steps > 0);
    CHECK_EQ(client.cancelled, 0);
    kino_client_remove(number);
    REQUIRE_EQ(request("k2", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_MSECS=10"), KINO_OK);
    REQUIRE_EQ(kino_request_wait(&err), KINO_OK);
    CHECK_EQ(client.prepared, 1);
}

static kino_status refuse(void *context, const char *url, const char *file, kino_error *error)
{
    (void)context;
    (void)url;
    (void)file;
    (void)snprintf(error->message, sizeof error->message, "the store is full");
    return KINO_LIMIT;
}

TEST_THREADS(control_sends_traces_to_loggers)
{
    char where[100] = "";
    kino_logger logger = KINO_LOGGER_INIT;
    logger.protocol = "store";
    logger.context = where;
    logger.save = on_save;
    REQUIRE_EQ(kino_logger_set(&logger, &err), KINO_OK);
    REQUIRE_EQ(kino_request("KINO_BUDGET_MB=4\nKINO_WARMUP_MSECS=0\nKINO_START_DELAY_MSECS=0\n"
                            "ACTIVITIES_DURATION_MSECS=10\nACTIVITIES_LOG_FILE=store://b/t.kino",
                            &err),
               KINO_OK);
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    char want[100];
    (void)snprintf(want, sizeof want, "store://b/t_%d.kino", (int)getpid());
    CHECK_STR(where, want);
    REQUIRE_EQ(kino_prepare(NULL, &err), KINO_OK);
    REQUIRE_EQ(kino_start(&err), KINO_OK);
    REQUIRE_EQ(kino_stop(&err), KINO_OK);
    CHECK_EQ(kino_save("store://b/own.json", &err), KINO_OK);
    CHECK_STR(where, "store://b/own.json");
    CHECK_EQ(kino_save("other://x", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "'other://x': no logger is registered for other://");
    /* the same on another thread; what was recorded may be given up at once */
    CHECK_EQ(kino_save_async("other://x", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "'other://x': no logger is registered for other://");
    CHECK_EQ(kino_save_async("STORE://b/later.json", &err), KINO_OK);
    kino_discard();
    CHECK_EQ(kino_wait(&err), KINO_OK);
    CHECK_STR(where, "STORE://b/later.json");
    CHECK_EQ(kino_save_async("store://b/none.json", &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "nothing to save: no session was stopped");
    logger.save = refuse;
    REQUIRE_EQ(kino_logger_set(&logger, &err), KINO_OK);
    REQUIRE_EQ(kino_prepare(NULL, &err), KINO_OK);
    REQUIRE_EQ(kino_start(&err), KINO_OK);
    REQUIRE_EQ(kino_stop(&err), KINO_OK);
    CHECK_EQ(kino_save_async("store://full", &err), KINO_OK);
    CHECK_EQ(kino_wait(&err), KINO_LIMIT);
    CHECK_STR(err.message, "the store is full");
    CHECK_EQ(kino_wait(&err), KINO_OK); /* told once */
    kino_discard();
}

TEST_THREADS(control_dumps_the_flight_recorder)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.mode = KINO_MODE_FLIGHT;
    options.budget_bytes = 4u << 20;
    REQUIRE_EQ(kino_prepare(&options, &err), KINO_OK);
    REQUIRE_EQ(kino_start(&err), KINO_OK);
    {
        KINO_ZONE("in flight");
    }
    CHECK_EQ(request("d", ""), KINO_UNAVAILABLE);
    REQUIRE_EQ(request("d", "KINO_DUMP=y"), KINO_OK);
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    CHECK_EQ(count_of("\"name\": \"in flight\""), 1);
    CHECK(kino_is_recording()); /* goes on */
    kino_discard();
}

/* -- outside */

TEST_THREADS(control_listens_to_a_signal)
{
    kino_control_options options = KINO_CONTROL_OPTIONS_INIT;
    char config[200], base[200];
    (void)snprintf(base, sizeof base, "%s", test_tmp("s.json"));
    (void)snprintf(config, sizeof config, "%s", test_tmp("k.conf"));
    kino__buffer text = {0};
    kino__buffer_printf(&text,
                        "KINO_BUDGET_MB=4\nKINO_WARMUP_MSECS=0\nKINO_START_DELAY_MSECS=0\n"
                        "ACTIVITIES_DURATION_MSECS=20\nACTIVITIES_LOG_FILE=%s\n",
                        base);
    test_write_file(config, text.data, text.size);
    kino__buffer_deinit(&text);
    options.signal = SIGSEGV;
    CHECK_EQ(kino_control_start(&options, &err), KINO_ARGUMENT);
    options.signal = SIGUSR2;
    options.config = config;
    REQUIRE_EQ(kino_control_start(&options, &err), KINO_OK);
    CHECK_EQ(kino_control_start(&options, &err), KINO_UNAVAILABLE);
    kino_control_get(&state);
    CHECK(state.is_listening && !state.has_daemon);
    CHECK_EQ(state.signal, SIGUSR2);
    CHECK_EQ(state.request, 0); /* not before the signal */
    REQUIRE_EQ(kill(getpid(), SIGUSR2), 0);
    for (int i = 0; i < 5000 && state.done == 0; i++) {
        (void)usleep(1000);
        kino_control_get(&state);
    }
    CHECK_EQ(state.done, 1);
    CHECK_EQ(state.last_origin, KINO_REQUEST_SIGNAL);
    CHECK(exists(state.last_url + strlen("file://")));
    kino_control_stop();
    kino_control_get(&state);
    CHECK(!state.is_listening);
}

TEST(control_in_a_forked_child)
{
    kino_control_options options = KINO_CONTROL_OPTIONS_INIT;
    options.signal = SIGUSR2;
    REQUIRE_EQ(kino_control_start(&options, &err), KINO_OK);
    REQUIRE_EQ(request("p", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_MSECS=200"), KINO_OK);
    REQUIRE(wait_for_phase(KINO_CONTROL_COLLECT));
    pid_t child = fork();
    if (child == 0) {
        kino_control_get(&state);
        bool is_clean = !state.has_request && !state.is_listening && state.done == 0;
        (void)raise(SIGUSR2); /* neither deadly nor the parent's business */
        bool works =
            request("q", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_MSECS=20") == KINO_OK &&
            kino_request_wait(&err) == KINO_OK && exists(path);
        _exit(is_clean && works ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    (void)waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    CHECK_EQ(kino_request_wait(&err), KINO_OK);
    CHECK(exists(path));
    kino_control_get(&state);
    CHECK_EQ(state.request, 1); /* the child's signal asked for nothing here */
}

TEST(control_writes_the_trace_when_the_program_ends)
{
    (void)snprintf(path, sizeof path, "%s", test_tmp("e"));
    pid_t child = fork();
    if (child == 0) {
        bool works =
            request("e", "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_SECS=1000") == KINO_OK &&
            wait_for_phase(KINO_CONTROL_COLLECT);
        {
            KINO_ZONE("last work");
        }
        exit(works ? 0 : 1); /* NOLINT(concurrency-mt-unsafe): the point of it */
    }
    REQUIRE(child > 0);
    int status = -1;
    (void)waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    (void)snprintf(path, sizeof path, "%.200s_%d.json", test_tmp("e"), (int)child);
    REQUIRE(exists(path));
    CHECK_EQ(count_of("\"name\": \"last work\""), 1);
}

/* -- everything at once */

static uint32_t stress_ends;

static void *step_and_work(void *context)
{
    (void)context;
    while (!__atomic_load_n(&stress_ends, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 20; i++) {
            KINO_ZONE("zone");
            KINO_COUNTER_INT("i", i);
        }
        (void)kino_step();
        (void)usleep(200);
    }
    return NULL;
}

static void *ask_and_cancel(void *context)
{
    unsigned turn = (unsigned)(uintptr_t)context;
    while (!__atomic_load_n(&stress_ends, __ATOMIC_RELAXED)) {
        char config[400];
        kino_error own;
        kino_control_state look = {.size = sizeof look};
        bool by_steps = turn++ % 2;
        (void)snprintf(config, sizeof config,
                       "KINO_BUDGET_MB=2\nKINO_WARMUP_MSECS=0\nACTIVITIES_LOG_FILE=%s\n%s",
                       "/dev/null/nowhere.json",
                       by_steps ? "PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=3"
                                : "KINO_START_DELAY_MSECS=0\nACTIVITIES_DURATION_MSECS=3");
        (void)kino_request(config, &own);
        kino_control_get(&look);
        (void)usleep(1000 * (turn % 7));
        if (turn % 3 == 0)
            (void)kino_cancel(&own);
        if (turn % 5 == 0) {
            kino_client def = KINO_CLIENT_INIT;
            uint32_t number;
            def.step = on_step;
            if (kino_client_add(&def, &number, &own) == KINO_OK) {
                (void)usleep(3000);
                kino_client_remove(number);
            }
        }
    }
    return NULL;
}

TEST_THREADS(control_survives_everything_at_once)
{
    pthread_t threads[6];
    for (uintptr_t i = 0; i < 6; i++)
        REQUIRE_EQ(
            pthread_create(&threads[i], NULL, i < 4 ? step_and_work : ask_and_cancel, (void *)i),
            0);
    (void)usleep(1500000);
    __atomic_store_n(&stress_ends, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    (void)kino_cancel(NULL);
    (void)kino_request_wait(NULL);
    kino_control_get(&state);
    CHECK(!state.has_request);
    CHECK(!kino_is_recording());
    CHECK(state.request > 3);
    CHECK(state.cancelled > 0);
    CHECK_EQ(state.request, state.done + state.failed + state.cancelled); /* none was forgotten */
}
