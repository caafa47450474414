/* The pages of buffers: all allocated when a session is prepared, mapped then or by a thread that
 * goes on behind. Counted in page faults of the calling thread, which do not depend on how busy the
 * machine is. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <kino/kino.h>

#include "tracer/alone.h"
#include "tracer/tracer.h"
#include "unit/test.h"

enum { BUDGET = 64 << 20, PAGES = BUDGET / 4096, TRIES = 2000 };

static long faults(void)
{
    struct rusage usage;
    REQUIRE(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_minflt;
}

static kino_session_options options_for(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.budget_bytes = BUDGET;
    options.directory = test_tmp("");
    return options;
}

/* kB of a line of /proc/self/status, or of the mapping of the file `buffer` in smaps. */
static long kilobytes(const char *path, const char *behind, const char *key)
{
    char line[512];
    long found = -1;
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    bool is_there = !behind;
    while (found < 0 && fgets(line, sizeof line, file)) {
        is_there |= behind && strstr(line, behind);
        if (is_there && strncmp(line, key, strlen(key)) == 0)
            found = strtol(line + strlen(key), NULL, 10);
    }
    fclose(file);
    return found;
}

static long mapped_kilobytes(void)
{
    return kilobytes("/proc/self/smaps", "/buffer", "Rss:");
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void wait_for_all_pages(const kino__capture *c)
{
    long all = (long)(c->buffer_bytes / 1024);
    for (int i = 0; i < TRIES && mapped_kilobytes() < all; i++)
        pause_ms(10);
    CHECK_EQ(mapped_kilobytes(), all);
}

/* Few of them by the caller; for the next session they are there. */
TEST_THREADS(prepare_has_all_pages_of_the_buffers_mapped)
{
    kino_session_options options = options_for();
    long before = faults();
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK);
    CHECK(faults() - before < PAGES / 4);
    wait_for_all_pages(kino__tracer_get()->capture);
    REQUIRE(kino_start(NULL) == KINO_OK);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK);
    const kino__capture *c = kino__tracer_get()->capture;
    CHECK_EQ(mapped_kilobytes(), (long)(c->buffer_bytes / 1024));
    kino_discard();
}

TEST(prepare_maps_all_pages_of_small_buffers)
{
    kino_session_options options = options_for();
    options.budget_bytes = 4 << 20;
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK);
    const kino__capture *c = kino__tracer_get()->capture;
    CHECK_EQ(mapped_kilobytes(), (long)(c->buffer_bytes / 1024));
    kino_discard();
}

/* The caller maps a fraction of the pages; the others come without it. The file is whole at once:
 * a page that is written before the thread came to it cannot be missing. */
TEST_THREADS(prepare_of_an_injected_library_leaves_most_pages_to_a_thread)
{
    kino_session_options options = options_for();
    long before = faults();
    REQUIRE(kino__session_prepare(&options, true, NULL) == KINO_OK);
    CHECK(faults() - before < PAGES / 4);
    kino__capture *c = kino__tracer_get()->capture;
    char path[600];
    struct stat info;
    snprintf(path, sizeof path, "%s/buffer", c->directory);
    REQUIRE(stat(path, &info) == 0);
    CHECK_EQ((uint64_t)info.st_blocks * 512, c->buffer_bytes);
    REQUIRE(kino_start(NULL) == KINO_OK);
    CHECK(!kino__has_own_threads()); /* nothing is recorded yet: programs may have one thread */
    kino__capture_touch(c);
    for (int i = 0; i < 100000; i++) /* meanwhile it is written */
        kino_instant("tick", "test");
    wait_for_all_pages(c);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    REQUIRE(kino_save(test_tmp("out.kino"), NULL) == KINO_OK);
    kino_session_state state = {.size = sizeof state};
    kino_session_get(&state);
    CHECK_EQ(state.dropped, 0);
    kino_discard();
}

/* Memory that takes the place of the files must not be filled by a thread that is late. */
TEST_THREADS(buffers_that_are_given_up_are_not_filled)
{
    kino_session_options options = options_for();
    long before = kilobytes("/proc/self/status", NULL, "RssAnon:");
    for (int i = 0; i < 10; i++) {
        REQUIRE(kino__session_prepare(&options, true, NULL) == KINO_OK);
        REQUIRE(kino_start(NULL) == KINO_OK);
        kino__capture_touch(kino__tracer_get()->capture);
        kino_discard();
    }
    pause_ms(50);
    CHECK(kilobytes("/proc/self/status", NULL, "RssAnon:") - before < BUDGET / 1024 / 2);
}
