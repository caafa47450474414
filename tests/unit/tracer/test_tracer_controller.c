/* test_tracer_controller.c - every transition and timing rule of the controller, with a clock of
 * the test's own and a session that only writes down what it is asked to do. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tracer/control/controller.h"
#include "unit/test.h"

static const int64_t wall_0 = 1700000000000; /* ms */
enum { MS = 1000000 };

/* The world of a test. */
static struct {
    kino__controller c;
    int64_t wall_ms, mono_ms;
    char log[400]; /* what was called, in order */
    int wakes;
    bool is_full;
    const char *refusal;
    const char *failing;      /* the function that fails */
    int64_t steps_in_prepare; /* that the program makes meanwhile */
    bool cancel_in_prepare, cancel_in_process;
    kino_status cancel_status;
} w;
static kino_error err;

static kino_status called(const char *name, kino_error *e)
{
    size_t used = strlen(w.log);
    (void)snprintf(w.log + used, sizeof w.log - used, "%s ", name);
    if (w.failing && strcmp(w.failing, name) == 0)
        return kino__fail(e, KINO_IO, "%s failed", name);
    return KINO_OK;
}

static kino__now fake_now(void *context)
{
    (void)context;
    return (kino__now){w.wall_ms * MS, w.mono_ms * MS};
}

static void fake_wake(void *context)
{
    (void)context;
    w.wakes++;
}

static const char *fake_refusal(void *context, const kino__config *config)
{
    (void)context;
    (void)config;
    return w.refusal;
}

static kino_status fake_prepare(void *context, const kino__config *config, kino_error *e)
{
    (void)context;
    (void)config;
    for (; w.steps_in_prepare > 0; w.steps_in_prepare--)
        kino__controller_step(&w.c, w.c.step + 1);
    if (w.cancel_in_prepare)
        w.cancel_status = kino__controller_cancel(&w.c, NULL);
    return called("prepare", e);
}

static kino_status fake_start(void *context, kino_error *e)
{
    (void)context;
    return called("start", e);
}

static void fake_pause(void *context)
{
    (void)context;
    (void)called("pause", NULL);
}

static kino_status fake_stop(void *context, kino_error *e)
{
    (void)context;
    return called("stop", e);
}

static kino_status fake_process(void *context, const kino__config *config, kino_error *e)
{
    (void)context;
    (void)config;
    if (w.cancel_in_process)
        w.cancel_status = kino__controller_cancel(&w.c, &err);
    return called("process", e);
}

static void fake_discard(void *context)
{
    (void)context;
    (void)called("discard", NULL);
}

static bool fake_is_full(void *context)
{
    (void)context;
    return w.is_full;
}

static kino_status fake_snapshot(void *context, const kino__config *config, kino_error *e)
{
    (void)context;
    (void)config;
    return called("snapshot", e);
}

static kino_status fake_dump(void *context, const kino__config *config, kino_error *e)
{
    (void)context;
    (void)config;
    return called("dump", e);
}

static void begin(void)
{
    static const kino__controller_ops ops = {
        NULL,      fake_now,     fake_wake,    fake_refusal, fake_prepare,  fake_start, fake_pause,
        fake_stop, fake_process, fake_discard, fake_is_full, fake_snapshot, fake_dump};
    memset(&w, 0, sizeof w);
    w.wall_ms = wall_0;
    w.mono_ms = 5000;
    kino__controller_init(&w.c, &ops);
}

static void end(void)
{
    kino__controller_deinit(&w.c);
}

static kino_status request_from(kino__origin origin, const char *text)
{
    kino__config config;
    kino__config_context context = {"request", w.wall_ms, 4711, false, NULL, NULL};
    REQUIRE_EQ(kino__config_parse(kino__str_from(text), &context, &config, &err), KINO_OK);
    kino_status st = kino__controller_request(&w.c, &config, origin, &err);
    kino__config_deinit(&config);
    return st;
}

static kino_status request(const char *text)
{
    return request_from(KINO__ORIGIN_DAEMON, text);
}

/* Runs at a time behind the begin; how many ms later it wants to run again, or -1. */
static int64_t run_at(int64_t ms)
{
    w.wall_ms = wall_0 + ms;
    w.mono_ms = 5000 + ms;
    int64_t deadline = kino__controller_run(&w.c);
    return deadline == KINO__CONTROLLER_NEVER ? -1 : deadline / MS - w.mono_ms;
}

static void steps_to(int64_t number)
{
    while (w.c.step < number)
        kino__controller_step(&w.c, w.c.step + 1);
}

TEST(controller_sleeps_without_a_request)
{
    begin();
    CHECK_EQ(run_at(0), -1);
    CHECK(kino__controller_is_free(&w.c));
    steps_to(3);
    CHECK_EQ(w.wakes, 0);
    CHECK_STR(w.log, "");
    end();
}

/* The defaults: start 7 s after the request, 5 s of warm-up, 0.5 s of trace. */
TEST(controller_timed_request)
{
    begin();
    REQUIRE_EQ(request("ACTIVITIES_LOG_FILE=/tmp/t.json"), KINO_OK);
    CHECK_EQ(w.wakes, 1);
    CHECK(!kino__controller_is_free(&w.c));
    CHECK_EQ(run_at(0), 1000);
    CHECK_EQ(run_at(999), 1000);
    CHECK_STR(w.log, ""); /* now + 1 s < start - warm-up */
    CHECK_EQ(w.c.state, KINO__CONTROL_WAIT);
    CHECK_EQ(run_at(1000), 1000);
    CHECK_STR(w.log, "prepare ");
    CHECK_EQ(w.c.state, KINO__CONTROL_WARMUP);
    CHECK_EQ(run_at(6500), 500); /* woken early at the start */
    CHECK_EQ(run_at(6999), 1);
    CHECK_STR(w.log, "prepare ");
    CHECK_EQ(run_at(7000), 500);
    CHECK_STR(w.log, "prepare start ");
    CHECK_EQ(w.c.state, KINO__CONTROL_COLLECT);
    CHECK_EQ(run_at(7499), 1);
    CHECK_EQ(w.c.state, KINO__CONTROL_COLLECT);
    CHECK_EQ(run_at(7500), -1);
    CHECK_STR(w.log, "prepare start stop process ");
    CHECK_EQ(w.c.state, KINO__CONTROL_WAIT);
    CHECK_EQ(w.c.done_count, 1);
    CHECK_EQ(w.c.last.id, 1);
    CHECK_EQ(w.c.last.status, KINO_OK);
    CHECK_STR(w.c.last.url, "file:///tmp/t_4711.json");
    CHECK_STR(w.c.last.message, "");
    CHECK(kino__controller_is_free(&w.c));
    end();
}

TEST(controller_checks_the_buffers_every_second)
{
    begin();
    REQUIRE_EQ(request("ACTIVITIES_DURATION_SECS=10"), KINO_OK);
    (void)run_at(1000);
    (void)run_at(7000);
    CHECK_EQ(run_at(8000), 1000);
    w.is_full = true;
    CHECK_EQ(run_at(9000), -1);
    CHECK_STR(w.log, "prepare start stop process ");
    CHECK_EQ(w.c.last.status, KINO_OK);
    CHECK_STR(w.c.last.message, "stopped early: buffers full");
    end();
}

TEST(controller_explicit_start_time)
{
    begin();
    REQUIRE_EQ(request("PROFILE_START_TIME=1700000005000"), KINO_OK); /* just enough */
    CHECK_EQ(run_at(0), 1000);
    CHECK_STR(w.log, "prepare ");
    (void)run_at(5000);
    CHECK_STR(w.log, "prepare start ");
    end();
    begin();
    CHECK_EQ(request("PROFILE_START_TIME=1700000004999"), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the start is in 4999 ms, but the warm-up takes 5000 ms");
    CHECK_EQ(request("PROFILE_START_TIME=1699999999999\nACTIVITIES_WARMUP_PERIOD_SECS=0"),
             KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the start time is 1 ms in the past");
    CHECK_EQ(w.c.refused_count, 2);
    CHECK_EQ(w.c.last.id, 0);
    CHECK_STR(w.c.last.message, err.message);
    CHECK_EQ(w.c.last.status, KINO_UNAVAILABLE);
    CHECK_EQ(run_at(0), -1);
    CHECK_STR(w.log, "");
    end();
}

TEST(controller_says_when_it_was_late)
{
    begin();
    REQUIRE_EQ(request("KINO_START_DELAY_MSECS=0\nKINO_WARMUP_MSECS=0"), KINO_OK);
    (void)run_at(101);
    CHECK_STR(w.log, "prepare start ");
    (void)run_at(601); /* 500 ms all the same */
    CHECK_STR(w.log, "prepare start stop process ");
    CHECK_EQ(w.c.last.status, KINO_OK);
    CHECK_STR(w.c.last.message, "started 101 ms late: preparation took longer than expected");
    end();
}

TEST(controller_now_means_now)
{
    begin();
    REQUIRE_EQ(request("KINO_START_DELAY_MSECS=0\nKINO_WARMUP_MSECS=0"), KINO_OK);
    w.wall_ms++; /* the thread takes a moment */
    CHECK_EQ(run_at(3), 500);
    CHECK_STR(w.log, "prepare start ");
    end();
}

TEST(controller_clock_that_is_set_while_waiting)
{
    begin();
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    (void)run_at(500);
    CHECK_STR(w.log, "");
    CHECK_EQ(run_at(60000), -1); /* a minute later: not without warm-up */
    CHECK_STR(w.log, "");
    CHECK_EQ(w.c.last.status, KINO_UNAVAILABLE);
    CHECK_STR(w.c.last.message, "the start time is 53000 ms in the past");
    CHECK_EQ(w.c.failed_count, 1);
    end();
    begin();
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    (void)run_at(1000);
    (void)run_at(7000);
    CHECK_STR(w.log, "prepare start ");
    w.wall_ms -= 3600000; /* the length of a trace is not a matter of the wall clock */
    w.mono_ms += 100;
    CHECK_EQ(kino__controller_run(&w.c), KINO__CONTROLLER_NEVER);
    CHECK_STR(w.log, "prepare start stop process ");
    end();
}

TEST(controller_takes_one_request_at_a_time)
{
    begin();
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    CHECK_EQ(request(""), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "busy with request 1 (waiting)");
    (void)run_at(1000);
    CHECK_EQ(request(""), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "busy with request 1 (warming up)");
    (void)run_at(7000);
    CHECK_EQ(request(""), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "busy with request 1 (collecting)");
    (void)run_at(7100);
    CHECK_EQ(w.c.refused_count, 3);
    CHECK_EQ(w.c.done_count, 1);
    CHECK_EQ(w.c.last.id, 1);
    CHECK_EQ(request(""), KINO_OK);
    CHECK_EQ(w.c.request_count, 2);
    end();
}

TEST(controller_leaves_the_program_alone)
{
    begin();
    w.refusal = "the program records a session of its own";
    CHECK_EQ(request(""), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the program records a session of its own");
    end();
}

TEST(controller_failures)
{
    static const char *const failing[] = {"prepare", "start", "stop", "process"};
    static const char *const logs[] = {"prepare ", "prepare start discard ",
                                       "prepare start stop discard ",
                                       "prepare start stop process "};
    for (int i = 0; i < 4; i++) {
        begin();
        w.failing = failing[i];
        REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
        (void)run_at(1000);
        (void)run_at(7000);
        CHECK_EQ(run_at(7100), -1);
        CHECK_STR(w.log, logs[i]);
        CHECK_EQ(w.c.last.status, KINO_IO);
        CHECK_EQ(w.c.failed_count, 1);
        CHECK_EQ(w.c.done_count, 0);
        CHECK_EQ(w.c.state, KINO__CONTROL_WAIT);
        char want[40];
        (void)snprintf(want, sizeof want, "%s failed", failing[i]);
        CHECK_STR(w.c.last.message, want);
        w.failing = NULL;
        CHECK_EQ(request(""), KINO_OK); /* and the next one may come */
        end();
    }
}

TEST(controller_cancels_in_each_state)
{
    begin();
    CHECK_EQ(kino__controller_cancel(&w.c, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "no request");
    /* waiting: at once */
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    CHECK_EQ(kino__controller_cancel(&w.c, &err), KINO_OK);
    CHECK(kino__controller_is_free(&w.c));
    CHECK_STR(w.log, "");
    CHECK_EQ(w.c.last.status, KINO_CANCELLED);
    CHECK_EQ(w.c.cancelled_count, 1);
    end();
    /* warming up, collecting: the running thread gives it up */
    for (int i = 0; i < 2; i++) {
        begin();
        REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
        (void)run_at(1000);
        if (i)
            (void)run_at(7000);
        w.wakes = 0;
        CHECK_EQ(kino__controller_cancel(&w.c, &err), KINO_OK);
        CHECK_EQ(w.wakes, 1);
        CHECK_EQ(run_at(7050), -1);
        CHECK_STR(w.log, i ? "prepare start discard " : "prepare discard ");
        CHECK_EQ(w.c.last.status, KINO_CANCELLED);
        CHECK_STR(w.c.last.message, "cancelled");
        CHECK_EQ(w.c.state, KINO__CONTROL_WAIT);
        CHECK_EQ(request(""), KINO_OK);
        end();
    }
    /* while it is being prepared */
    begin();
    w.cancel_in_prepare = true;
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    CHECK_EQ(run_at(1000), -1);
    CHECK_EQ(w.cancel_status, KINO_OK);
    CHECK_STR(w.log, "prepare discard ");
    CHECK_EQ(w.c.cancelled_count, 1);
    end();
    /* while it is being written: too late */
    begin();
    w.cancel_in_process = true;
    REQUIRE_EQ(request("ACTIVITIES_DURATION_MSECS=100"), KINO_OK);
    (void)run_at(1000);
    (void)run_at(7000);
    CHECK_EQ(run_at(7100), -1);
    CHECK_EQ(w.cancel_status, KINO_UNAVAILABLE);
    CHECK_STR(err.message, "too late: the trace is being written");
    CHECK_EQ(w.c.done_count, 1);
    CHECK_EQ(w.c.cancelled_count, 0);
    end();
}

TEST(controller_iterations)
{
    begin();
    steps_to(40);
    REQUIRE_EQ(request("PROFILE_START_ITERATION=100\nACTIVITIES_ITERATIONS=3\n"
                       "ACTIVITIES_WARMUP_ITERATIONS=2"),
               KINO_OK);
    CHECK_EQ(run_at(0), 1000);
    steps_to(81); /* 100 - 2 - 16 = 82 */
    (void)run_at(1);
    CHECK_STR(w.log, "");
    w.wakes = 0;
    steps_to(82);
    CHECK_EQ(w.wakes, 1);
    CHECK_STR(w.log, ""); /* preparing is not the program's job */
    CHECK_EQ(run_at(2), 1000);
    CHECK_STR(w.log, "prepare ");
    CHECK_EQ(w.c.state, KINO__CONTROL_WARMUP);
    steps_to(99);
    (void)run_at(3);
    CHECK_STR(w.log, "prepare ");
    steps_to(100);
    CHECK_STR(w.log, "prepare start "); /* by the step itself */
    CHECK_EQ(w.c.state, KINO__CONTROL_COLLECT);
    steps_to(102);
    CHECK_EQ(run_at(100000), 1000); /* time does not matter */
    CHECK_STR(w.log, "prepare start ");
    w.wakes = 0;
    steps_to(103);
    CHECK_STR(w.log, "prepare start pause ");
    CHECK_EQ(w.wakes, 1);
    steps_to(104);
    CHECK_STR(w.log, "prepare start pause "); /* once */
    CHECK_EQ(run_at(100001), -1);
    CHECK_STR(w.log, "prepare start pause stop process ");
    CHECK_EQ(w.c.last.status, KINO_OK);
    CHECK_STR(w.c.last.message, "");
    w.wakes = 0;
    steps_to(110);
    CHECK_EQ(w.wakes, 0);
    end();
}

/* The next boundary is the next step; the multiple leaves room for the warm-up. */
TEST(controller_start_iteration_in_the_past)
{
    static const struct {
        int now, start, warmup, roundup, want;
    } cases[] = {
        {49, 0, 0, 20, 60},                        /* the next multiple */
        {49, 0, 0, 0, 50},                         /* none asked for: the next step */
        {49, 0, 5, 0, 55},                         /* and the warm-up */
        {49, 0, 10, 20, 60},                       /* 50 + 10 */
        {49, 0, 11, 20, 80},                       /* 61 */
        {59, 0, 0, 20, 60},                        /* 60 is still to come */
        {60, 0, 0, 20, 80},                        /* 60 has begun */
        {49, 50, 0, 20, 50},                       /* not past: as asked, multiple or not */
        {49, 77, 0, 20, 77},   {49, 52, 5, 0, 55}, /* the warm-up of 52 would be past */
        {1, 0, 0, 1000, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        begin();
        steps_to(cases[i].now);
        (void)snprintf(text, sizeof text,
                       "PROFILE_START_ITERATION=%d\nACTIVITIES_ITERATIONS=1\n"
                       "ACTIVITIES_WARMUP_ITERATIONS=%d\nPROFILE_START_ITERATION_ROUNDUP=%d",
                       cases[i].start, cases[i].warmup, cases[i].roundup);
        REQUIRE_EQ(request(text), KINO_OK);
        while (w.c.step < 2000 && !strstr(w.log, "start")) {
            (void)run_at(0);
            kino__controller_step(&w.c, w.c.step + 1);
        }
        CHECK_EQ(w.c.step, cases[i].want);
        CHECK_STR(w.c.note, "");
        (void)run_at(0);
        kino__controller_step(&w.c, w.c.step + 1);
        (void)run_at(0);
        CHECK_STR(w.log, "prepare start pause stop process ");
        end();
    }
}

TEST(controller_start_that_was_missed_is_planned_again)
{
    begin();
    steps_to(10);
    w.steps_in_prepare = 5; /* 11 to 15 */
    REQUIRE_EQ(request("PROFILE_START_ITERATION=12\nACTIVITIES_ITERATIONS=2\n"
                       "PROFILE_START_ITERATION_ROUNDUP=10"),
               KINO_OK);
    (void)run_at(0);
    CHECK_STR(w.log, "prepare ");
    steps_to(19);
    CHECK_STR(w.log, "prepare ");
    steps_to(20);
    CHECK_STR(w.log, "prepare start ");
    steps_to(22);
    (void)run_at(0);
    CHECK_STR(w.log, "prepare start pause stop process ");
    CHECK_STR(w.c.last.message,
              "started at step 20 instead of 12, which ended before the buffers were ready");
    end();
}

TEST(controller_does_not_turn_steps_into_time)
{
    const char *text = "PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=1";
    begin();
    CHECK_EQ(request(text), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "the program has not reported a step yet (kino_step)");
    CHECK_EQ(request_from(KINO__ORIGIN_SIGNAL, text), KINO_UNAVAILABLE);
    CHECK_EQ(request_from(KINO__ORIGIN_FILE, text), KINO_UNAVAILABLE);
    /* who asks at the start, or from inside, means the steps to come */
    CHECK_EQ(request_from(KINO__ORIGIN_START, text), KINO_OK);
    (void)run_at(3600000);
    CHECK_STR(w.log, "prepare ");
    steps_to(1);
    CHECK_STR(w.log, "prepare start ");
    end();
    begin();
    CHECK_EQ(request_from(KINO__ORIGIN_PROGRAM, text), KINO_OK);
    end();
}

TEST(controller_steps_may_jump)
{
    begin();
    steps_to(10);
    REQUIRE_EQ(request("PROFILE_START_ITERATION=20\nACTIVITIES_ITERATIONS=5"), KINO_OK);
    (void)run_at(0);
    kino__controller_step(&w.c, 23); /* 20 to 22 were not reported */
    CHECK_STR(w.log, "prepare start ");
    CHECK_EQ(w.c.end_step, 28);
    kino__controller_step(&w.c, 22); /* one that was overtaken */
    CHECK_STR(w.log, "prepare start ");
    kino__controller_step(&w.c, 50);
    CHECK_STR(w.log, "prepare start pause ");
    end();
}

TEST(controller_cancels_an_iteration_request_in_each_state)
{
    static const char *const logs[] = {"", "prepare discard ", "prepare start discard "};
    for (int i = 0; i < 3; i++) {
        begin();
        steps_to(1);
        REQUIRE_EQ(request("PROFILE_START_ITERATION=50\nACTIVITIES_ITERATIONS=9"), KINO_OK);
        steps_to(i == 0 ? 5 : 40);
        (void)run_at(0);
        steps_to(i == 2 ? 50 : 0);
        CHECK_EQ(kino__controller_cancel(&w.c, &err), KINO_OK);
        steps_to(w.c.step + 1); /* a step does not carry out what takes long */
        CHECK_EQ(w.c.has_request, i != 0);
        CHECK_EQ(run_at(1), -1);
        CHECK_STR(w.log, logs[i]);
        CHECK_EQ(w.c.cancelled_count, 1);
        steps_to(70);
        CHECK_STR(w.log, logs[i]);
        end();
    }
}

TEST(controller_ends_with_the_program)
{
    static const char *const logs[] = {"", "prepare discard ", "prepare start stop process "};
    for (int i = 0; i < 3; i++) {
        begin();
        REQUIRE_EQ(request("ACTIVITIES_DURATION_SECS=100"), KINO_OK);
        (void)run_at(i == 0 ? 0 : 1000);
        (void)run_at(i == 2 ? 7000 : 1000 * (i > 0));
        w.wakes = 0;
        kino__controller_end(&w.c);
        CHECK_EQ(w.wakes, 1);
        CHECK_EQ(run_at(8000), -1);
        CHECK_STR(w.log, logs[i]);
        CHECK_EQ(w.c.last.status, i == 2 ? KINO_OK : KINO_CANCELLED);
        CHECK_STR(w.c.last.message,
                  i == 2 ? "stopped early: the program ended" : "canceled: the program ended");
        CHECK_EQ(request(""), KINO_UNAVAILABLE);
        CHECK_STR(err.message, "the program is exiting");
        end();
    }
}

TEST(controller_gives_way_only_with_what_it_has)
{
    begin();
    kino__controller_preempt(&w.c); /* nothing to give up */
    REQUIRE_EQ(request(""), KINO_OK);
    kino__controller_preempt(&w.c); /* its time has not come */
    CHECK(w.c.has_request);
    w.refusal = "the program records a session of its own";
    (void)run_at(1000);
    CHECK_STR(w.log, "prepare "); /* which looks again whether it may */
    end();
}

TEST(controller_snapshots_and_dumps_are_taken_at_once)
{
    begin();
    REQUIRE_EQ(request("PROFILE_MEMORY=y"), KINO_OK);
    CHECK_EQ(run_at(0), -1);
    CHECK_STR(w.log, "snapshot ");
    CHECK_EQ(w.c.last.status, KINO_OK);
    CHECK_STR(w.c.last.url, "file:///tmp/memory_snapshot_4711.pickle");
    REQUIRE_EQ(request("KINO_DUMP=y"), KINO_OK);
    w.failing = "dump";
    CHECK_EQ(run_at(0), -1);
    CHECK_STR(w.log, "snapshot dump ");
    CHECK_EQ(w.c.last.status, KINO_IO);
    CHECK_EQ(w.c.last.id, 2);
    end();
}
