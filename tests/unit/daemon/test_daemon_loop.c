/* test_daemon_loop.c - the loop: descriptors, timers, and removing things while it turns. */
#include <fcntl.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "unit/test.h"

typedef struct scene {
    kino__loop *loop;
    int pipes[2][2];
    kino__loop_watch *watches[2];
    kino__loop_timer *timer;
    int reads, fires;
} scene;

static void set_up(scene *s)
{
    kino_error err;
    *s = (scene){0};
    REQUIRE(kino__loop_new(&s->loop, &err) == KINO_OK);
    for (int i = 0; i < 2; i++)
        REQUIRE(pipe2(s->pipes[i], O_CLOEXEC | O_NONBLOCK) == 0);
}

static void tear_down(scene *s)
{
    kino__loop_free(s->loop);
    for (int i = 0; i < 4; i++)
        (void)close(s->pipes[i / 2][i % 2]);
}

static void turn(scene *s)
{
    kino_error err;
    REQUIRE(kino__loop_turn(s->loop, 0, &err) == KINO_OK);
}

static void count_read(void *context, uint32_t events)
{
    scene *s = context;
    CHECK(events & EPOLLIN);
    s->reads++;
}

TEST(loop_calls_for_a_descriptor_as_long_as_it_is_ready)
{
    scene s;
    char byte;
    kino_error err;
    set_up(&s);
    REQUIRE(kino__loop_add_fd(s.loop, s.pipes[0][0], EPOLLIN, count_read, &s, &s.watches[0],
                              &err) == KINO_OK);
    turn(&s);
    CHECK_EQ(s.reads, 0);
    CHECK_EQ(write(s.pipes[0][1], "x", 1), 1);
    turn(&s);
    turn(&s);
    CHECK_EQ(s.reads, 2);
    CHECK_EQ(read(s.pipes[0][0], &byte, 1), 1);
    turn(&s);
    CHECK_EQ(s.reads, 2);
    CHECK_EQ(write(s.pipes[0][1], "x", 1), 1);
    kino__loop_set_events(s.loop, s.watches[0], 0);
    turn(&s);
    CHECK_EQ(s.reads, 2);
    kino__loop_set_events(s.loop, s.watches[0], EPOLLIN);
    turn(&s);
    CHECK_EQ(s.reads, 3);
    kino__loop_remove_fd(s.loop, s.watches[0]);
    turn(&s);
    CHECK_EQ(s.reads, 3);
    tear_down(&s);
}

/* Whoever comes first removes both. */
static void remove_both(void *context, uint32_t events)
{
    scene *s = context;
    (void)events;
    s->reads++;
    kino__loop_remove_fd(s->loop, s->watches[0]);
    kino__loop_remove_fd(s->loop, s->watches[1]);
    kino__loop_remove_fd(s->loop, s->watches[1]); /* again: nothing */
}

TEST(loop_does_not_call_what_was_removed_in_the_same_round)
{
    scene s;
    kino_error err;
    set_up(&s);
    for (int i = 0; i < 2; i++) {
        REQUIRE(kino__loop_add_fd(s.loop, s.pipes[i][0], EPOLLIN, remove_both, &s, &s.watches[i],
                                  &err) == KINO_OK);
        CHECK_EQ(write(s.pipes[i][1], "x", 1), 1);
    }
    turn(&s);
    turn(&s);
    CHECK_EQ(s.reads, 1);
    tear_down(&s);
}

static void count_fire(void *context, int64_t now_ns)
{
    scene *s = context;
    CHECK_EQ(now_ns, kino__loop_now(s->loop));
    s->fires++;
}

static void fire_once(void *context, int64_t now_ns)
{
    scene *s = context;
    count_fire(context, now_ns);
    kino__loop_remove_timer(s->loop, s->timer);
}

TEST(loop_fires_timers_until_they_rest_or_go)
{
    scene s;
    kino_error err;
    set_up(&s);
    REQUIRE(kino__loop_add_timer(s.loop, 0, count_fire, &s, &s.timer, &err) == KINO_OK);
    turn(&s);
    CHECK_EQ(s.fires, 0);
    kino__loop_set_timer(s.loop, s.timer, 1000000);
    for (int i = 0; i < 3; i++)
        REQUIRE(kino__loop_turn(s.loop, 1000, &err) == KINO_OK);
    CHECK_EQ(s.fires, 3);
    usleep(5000);
    turn(&s);
    turn(&s);
    CHECK_EQ(s.fires, 4); /* what was missed is not made up for */
    kino__loop_set_timer(s.loop, s.timer, 0);
    usleep(2000);
    turn(&s);
    CHECK_EQ(s.fires, 4);
    kino__loop_remove_timer(s.loop, s.timer);
    REQUIRE(kino__loop_add_timer(s.loop, 1000000, fire_once, &s, &s.timer, &err) == KINO_OK);
    for (int i = 0; i < 3; i++) {
        usleep(2000);
        turn(&s);
    }
    CHECK_EQ(s.fires, 5);
    tear_down(&s);
}

static void stop(void *context, int64_t now_ns)
{
    scene *s = context;
    (void)now_ns;
    kino__loop_stop(s->loop);
}

TEST(loop_runs_until_it_is_stopped)
{
    scene s;
    kino_error err;
    set_up(&s);
    REQUIRE(kino__loop_add_timer(s.loop, 1000000, stop, &s, NULL, &err) == KINO_OK);
    CHECK(kino__loop_run(s.loop, &err) == KINO_OK);
    tear_down(&s);
}
