/* test_recorder_threads.c - many threads that live for a moment: more than there are segments in
 * the buffer, and more than there are slots in the table of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/kino.h>

#include "tracer/tracer.h"
#include "unit/test.h"
#include "wire/ring.h"

enum { MIB = 1 << 20, THREADS = 3000, SPANS = 3 };

static void start(kino_mode mode, uint64_t budget)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.mode = mode;
    options.budget_bytes = budget;
    options.directory = test_tmp("");
    REQUIRE(kino_prepare(&options, NULL) == KINO_OK);
    REQUIRE(kino_start(NULL) == KINO_OK);
}

static void *run(void *context)
{
    char name[32];
    (void)snprintf(name, sizeof name, "worker %d", *(const int *)context);
    kino_thread_name(name);
    for (int i = 0; i < SPANS; i++) {
        KINO_ZONE("short");
    }
    return NULL;
}

/* `together` threads at a time, one after the other. */
static void run_threads(int count, int together)
{
    pthread_t threads[8];
    int numbers[8];
    for (int i = 0; i < count; i += together) {
        for (int k = 0; k < together; k++) {
            numbers[k] = i + k;
            REQUIRE_EQ(pthread_create(&threads[k], NULL, run, &numbers[k]), 0);
        }
        for (int k = 0; k < together; k++)
            pthread_join(threads[k], NULL);
    }
}

typedef struct seen {
    uint32_t spans, names, lost;
    uint8_t has_name[THREADS];
    uint8_t per_owner[THREADS + 64];
} seen;

static void look_at_name(seen *s, const kino__ring_thread *thread)
{
    int number;
    /* NOLINTNEXTLINE(cert-err34-c): what does not fit is counted as lost */
    if (thread && sscanf(thread->name, "worker %d", &number) == 1 && number >= 0 &&
        number < THREADS)
        s->names += !s->has_name[number]++;
    else
        s->lost++;
}

static void add_all(kino__ring_image *image)
{
    const kino__capture *c = kino__tracer_get()->capture;
    kino_error err;
    REQUIRE_EQ(kino__ring_add_meta(image, (kino_str){c->meta_map, (size_t)c->meta_bytes}, &err),
               KINO_OK);
    kino__ring_add_texts(image, (kino_str){c->texts, (size_t)c->texts_bytes});
    for (uint32_t i = 0; i < c->next_segment; i++)
        kino__ring_add_segment(image, (kino_str){(const char *)kino__capture_segment(c, i),
                                                 KINO_IMPL_V1_SEGMENT_SIZE});
    REQUIRE_EQ(kino__ring_finish(image, &err), KINO_OK);
    CHECK_EQ(image->damaged, 0);
}

/* Numbers of owners go on after `before`: they are never used again. */
static void count_pieces(const kino__ring_image *image, uint32_t before, seen *s)
{
    for (size_t i = 0; i < image->pieces.count; i++) {
        const kino__ring_piece *piece = &image->pieces.items[i];
        for (uint32_t k = piece->first; k < piece->count; k++) {
            s->spans += piece->records[k].kind == KINO_IMPL_V1_SPAN;
            s->per_owner[(piece->header.stamp >> 16) - before]++;
        }
        if (piece->ended)
            look_at_name(s, &image->ended.items[piece->ended - 1]);
    }
}

/* 7 segments of 8190 records each have room for what 3000 threads write, if all is used. Not under
 * TSan: once in some 25 runs two of its threads find no segment there. */
TEST(recorder_loses_nothing_of_threads_that_live_for_a_moment)
{
    static seen s;
    for (int together = 1; together <= 4; together += 3) {
        kino__ring_image image = {0};
        kino_session_state state = {.size = sizeof state};
        memset(&s, 0, sizeof s);
        start(KINO_MODE_CAPTURE, 2 * MIB);
        uint32_t owners = kino__tracer_get()->next_owner;
        run_threads(THREADS, together);
        REQUIRE(kino_stop(NULL) == KINO_OK);
        kino_session_get(&state);
        CHECK_EQ(state.dropped, 0);
        add_all(&image);
        count_pieces(&image, owners, &s);
        CHECK_EQ(s.spans, THREADS * SPANS);
        CHECK_EQ(s.names, THREADS);
        CHECK_EQ(s.lost, 0);
        for (int i = 1; i <= THREADS; i++)
            CHECK_EQ(s.per_owner[i], SPANS);
        kino__ring_image_deinit(&image);
        REQUIRE(kino_save(test_tmp("out.kino"), NULL) == KINO_OK);
        kino_discard();
    }
}

static kino_span passed;

static void *begin_only(void *unused)
{
    (void)unused;
    passed = kino_begin("passed on", "test");
    return NULL;
}

static void *end_only(void *unused)
{
    (void)unused;
    kino_end(passed);
    return NULL;
}

static void run_one(void *(*work)(void *))
{
    pthread_t thread;
    REQUIRE_EQ(pthread_create(&thread, NULL, work, NULL), 0);
    pthread_join(thread, NULL);
}

static bool is_passed_on(void *context, const kino__ring_event *event)
{
    if (event->phase == 'X' && event->dur_ns != KINO_NO_TIME && !event->is_open)
        *(int *)context += 1;
    return true;
}

/* Whoever goes on in the segment of the thread that began a span may end it, and so may others. */
TEST_THREADS(recorder_ends_spans_of_threads_whose_segment_is_used_again)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        kino__ring_image image = {0};
        int ended = 0;
        start(KINO_MODE_CAPTURE, 2 * MIB);
        if (elsewhere)
            kino_instant("a segment of our own", "test");
        run_one(begin_only);
        if (elsewhere)
            kino_end(passed); /* on a thread that has another segment */
        else
            run_one(end_only);
        REQUIRE(kino_stop(NULL) == KINO_OK);
        add_all(&image);
        (void)kino__ring_each(&image, is_passed_on, &ended);
        CHECK_EQ(image.open_count, 0);
        CHECK(ended >= 1);
        kino__ring_image_deinit(&image);
        kino_discard();
    }
}
