/* test_server_lane.c - threads that work on requests: order, those that must not overlap, the end
 * of the queue. */
#include <stdatomic.h>
#include <unistd.h>

#include "server/lane.h"
#include "unit/test.h"

enum { COUNT = 200 };

/* What the work of a test sees; one lane a test, and each test is a process. */
static struct {
    atomic_int running[3], overlaps, done;
    pthread_mutex_t gate; /* held: work waits */
    uint64_t order[COUNT];
} seen;

static void work(kino__http_request *request)
{
    uint64_t number = request->exclusive;
    pthread_mutex_lock(&seen.gate);
    pthread_mutex_unlock(&seen.gate);
    if (atomic_fetch_add(&seen.running[number], 1) > 0 && number)
        atomic_fetch_add(&seen.overlaps, 1);
    usleep(200);
    atomic_fetch_sub(&seen.running[number], 1);
    seen.order[atomic_fetch_add(&seen.done, 1)] = request->changes;
}

static void begin(kino__lane *lane, unsigned threads, size_t most)
{
    kino_error err;
    pthread_mutex_init(&seen.gate, NULL);
    REQUIRE_EQ(kino__lane_start(lane, threads, most, 0, work, &err), KINO_OK);
}

TEST_THREADS(lane_works_on_one_at_a_time_where_that_is_asked_for)
{
    static kino__http_request requests[COUNT];
    kino__lane lane;
    begin(&lane, 4, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        requests[i].exclusive = i % 3; /* 0: as many as there are threads */
        REQUIRE(kino__lane_add(&lane, &requests[i]));
    }
    kino__lane_end(&lane); /* works off what is queued */
    CHECK_EQ(atomic_load(&seen.done), COUNT);
    CHECK_EQ(atomic_load(&seen.overlaps), 0);
}

TEST_THREADS(lane_keeps_the_order)
{
    static kino__http_request requests[50];
    kino__lane lane;
    begin(&lane, 1, 50);
    for (uint64_t i = 0; i < 50; i++) {
        requests[i].changes = i;
        requests[i].exclusive = i % 2;
        REQUIRE(kino__lane_add(&lane, &requests[i]));
    }
    kino__lane_end(&lane);
    for (uint64_t i = 0; i < 50; i++)
        CHECK_EQ(seen.order[i], i);
}

TEST_THREADS(lane_refuses_when_it_is_full_or_ending)
{
    static kino__http_request requests[6];
    kino__lane lane;
    begin(&lane, 1, 3);
    pthread_mutex_lock(&seen.gate);
    REQUIRE(kino__lane_add(&lane, &requests[0]));
    for (int i = 0; i < 1000; i++) { /* until its thread has taken it */
        kino__mutex_lock(&lane.lock);
        size_t waiting = lane.count;
        kino__mutex_unlock(&lane.lock);
        if (waiting == 0)
            break;
        usleep(1000);
    }
    for (int i = 1; i < 4; i++)
        CHECK(kino__lane_add(&lane, &requests[i]));
    CHECK(!kino__lane_add(&lane, &requests[4]));
    pthread_mutex_unlock(&seen.gate);
    kino__lane_end(&lane);
    CHECK_EQ(atomic_load(&seen.done), 4);
}
