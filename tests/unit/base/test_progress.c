/* test_progress.c - reports are monotonic, few, one at a time, and can stop the work. */
#include "base/progress.h"
#include "base/thread.h"
#include "unit/test.h"

typedef struct listener {
    atomic_int inside;
    int overlaps;
    unsigned reports;
    uint64_t last, cancel_at;
    const char *what;
    uint64_t total;
} listener;

static bool listen(void *context, const char *what, uint64_t done, uint64_t total)
{
    listener *l = context;
    l->overlaps += atomic_fetch_add(&l->inside, 1) != 0;
    l->reports++;
    l->what = what;
    l->total = total;
    l->last = done;
    atomic_fetch_sub(&l->inside, 1);
    return done < l->cancel_at;
}

TEST(progress_reports_some_hundred_times_whatever_the_steps)
{
    listener l = {.cancel_at = UINT64_MAX};
    kino__progress progress;
    kino__progress_init(&progress, listen, &l);
    kino__progress_stage(&progress, "reading", 1000000);
    CHECK_EQ(l.reports, 1); /* at the start, so that a bar can be drawn */
    CHECK_STR(l.what, "reading");
    CHECK_EQ(l.total, 1000000);
    uint64_t before = 0;
    for (int i = 0; i < 1000000; i++) {
        CHECK(kino__progress_add(&progress, 1));
        CHECK(l.last >= before);
        before = l.last;
    }
    CHECK(l.reports > 100 && l.reports < 400);
    CHECK(l.last > 990000);
    kino__progress_stage(&progress, "linking", 0);
    CHECK_STR(l.what, "linking");
    CHECK_EQ(l.last, 0);
}

TEST(progress_hears_that_it_should_stop)
{
    listener l = {.cancel_at = 500};
    kino__progress progress;
    kino__progress_init(&progress, listen, &l);
    kino__progress_stage(&progress, "reading", 1000);
    CHECK(!kino__progress_is_cancelled(&progress));
    uint64_t done = 0;
    while (done < 1000 && kino__progress_add(&progress, 10))
        done += 10;
    CHECK(done >= 480 && done <= 510);
    CHECK(kino__progress_is_cancelled(&progress));
    unsigned reports = l.reports;
    CHECK(!kino__progress_add(&progress, 0)); /* and it stays stopped */
    CHECK(l.reports <= reports + 1);
}

TEST(progress_that_nobody_listens_to_never_stops)
{
    kino__progress progress;
    kino__progress_init(&progress, NULL, NULL);
    kino__progress_stage(&progress, "reading", 10);
    CHECK(kino__progress_add(&progress, 100));
    kino__progress_stage(NULL, "reading", 10);
    CHECK(kino__progress_add(NULL, 1));
    CHECK(!kino__progress_is_cancelled(NULL));
}

static void add_one(void *context, unsigned worker, size_t index)
{
    (void)worker, (void)index;
    (void)kino__progress_add(context, 1);
}

TEST_THREADS(progress_of_many_threads_reports_from_one_at_a_time)
{
    listener l = {.cancel_at = UINT64_MAX};
    kino__progress progress;
    kino__progress_init(&progress, listen, &l);
    kino__pool *pool;
    REQUIRE(kino__pool_new(4, &pool, NULL) == KINO_OK);
    kino__progress_stage(&progress, "reading", 20000);
    kino__pool_run(pool, 20000, add_one, &progress);
    kino__pool_free(pool);
    CHECK_EQ(l.overlaps, 0);
    CHECK(l.reports > 2);
    CHECK_EQ(atomic_load(&progress.done), 20000);
}
