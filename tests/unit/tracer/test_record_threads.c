/* Record functions on several threads: whose callbacks run where, what is carried over, what
 * happens when threads end or the process forks, and that all of it may happen at once. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kino/record_function.h>

#include "unit/test.h"

typedef struct tally {
    int starts, ends, released; /* atomic */
    int late;                   /* calls after the release, atomic */
} tally;

static void *on_start(const kino_record_function *fn, void *user)
{
    tally *t = user;
    (void)fn;
    __atomic_add_fetch(&t->starts, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&t->released, __ATOMIC_RELAXED))
        __atomic_add_fetch(&t->late, 1, __ATOMIC_RELAXED);
    return t;
}

static void on_end(const kino_record_function *fn, void *context, void *user)
{
    tally *t = user;
    (void)fn;
    if (context != user || __atomic_load_n(&t->released, __ATOMIC_RELAXED))
        __atomic_add_fetch(&t->late, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&t->ends, 1, __ATOMIC_RELAXED);
}

static void on_release(void *user)
{
    __atomic_add_fetch(&((tally *)user)->released, 1, __ATOMIC_RELAXED);
}

static kino_record_callback callback_of(tally *t)
{
    kino_record_callback callback = KINO_RECORD_CALLBACK_INIT;
    callback.start = on_start;
    callback.end = on_end;
    callback.release = on_release;
    callback.user = t;
    return callback;
}

static uint64_t add(tally *t, bool is_global)
{
    kino_record_callback callback = callback_of(t);
    uint64_t handle;
    REQUIRE_EQ(is_global ? kino_record_add_global(&callback, &handle, NULL)
                         : kino_record_add_local(&callback, &handle, NULL),
               KINO_OK);
    return handle;
}

static void run_one(void)
{
    KINO_RECORD_FUNCTION("op");
}

static void in_thread(void *(*run)(void *), void *context)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, context) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* -- whose callbacks */

static void *run_in_thread(void *context)
{
    (void)context;
    run_one();
    return NULL;
}

TEST_THREADS(record_callbacks_of_a_thread_stay_there_and_global_ones_do_not)
{
    tally global = {0}, local = {0};
    add(&global, true);
    add(&local, false);
    in_thread(run_in_thread, NULL);
    CHECK_EQ(global.starts, 1);
    CHECK_EQ(local.starts, 0);
    run_one();
    CHECK_EQ(global.starts, 2);
    CHECK_EQ(local.starts, 1);
}

typedef struct meeting {
    pthread_barrier_t barrier;
    uint64_t handle;
    kino_status status;
} meeting;

static void *run_twice(void *context)
{
    meeting *m = context;
    run_one(); /* the thread is known from here on */
    pthread_barrier_wait(&m->barrier);
    pthread_barrier_wait(&m->barrier);
    run_one();
    pthread_barrier_wait(&m->barrier);
    pthread_barrier_wait(&m->barrier);
    run_one();
    m->status = kino_record_remove(m->handle, NULL);
    return NULL;
}

TEST_THREADS(record_callbacks_reach_threads_that_were_there_before)
{
    meeting m = {0};
    tally global = {0}, local = {0};
    pthread_t thread;
    pthread_barrier_init(&m.barrier, NULL, 2);
    REQUIRE(pthread_create(&thread, NULL, run_twice, &m) == 0);
    pthread_barrier_wait(&m.barrier);
    uint64_t handle = add(&global, true);
    m.handle = add(&local, false);
    pthread_barrier_wait(&m.barrier);
    pthread_barrier_wait(&m.barrier);
    CHECK_EQ(global.starts, 1);
    CHECK_EQ(kino_record_remove(handle, NULL), KINO_OK);
    CHECK_EQ(global.released, 1); /* at once: no thread has to be waited for */
    pthread_barrier_wait(&m.barrier);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_EQ(global.starts, 1);
    CHECK_EQ(m.status, KINO_NOT_FOUND); /* ours is not the other thread's to remove */
}

/* -- numbers */

static void *note_numbers(void *context)
{
    int64_t *numbers = context;
    numbers[0] = (int64_t)kino_record_thread();
    numbers[1] = kino_sequence_next();
    numbers[2] = (int64_t)kino_record_thread();
    return NULL;
}

TEST_THREADS(record_threads_are_counted_and_have_their_own_sequence)
{
    int64_t second[3], third[3];
    CHECK_EQ(kino_record_thread(), 1);
    CHECK_EQ(kino_sequence_next(), 0);
    CHECK_EQ(kino_sequence_next(), 1);
    in_thread(note_numbers, second);
    in_thread(note_numbers, third);
    CHECK_EQ(second[0], 2);
    CHECK_EQ(second[1], 0);
    CHECK_EQ(second[2], 2);
    CHECK_EQ(third[0], 3); /* numbers of threads that ended are not used again */
    CHECK_EQ(kino_sequence_peek(), 2);
}

/* -- carrying over */

typedef struct carried {
    kino_record_state *state;
    bool was_enabled;
    uint32_t before, during, after;
} carried;

static void *run_carried(void *context)
{
    carried *c = context;
    kino_record_state *mine = kino_record_state_capture();
    c->before = kino_record_count_local();
    kino_record_state_install(c->state);
    c->was_enabled = kino_record_is_enabled();
    c->during = kino_record_count_local();
    run_one();
    kino_record_state_install(mine);
    c->after = kino_record_count_local();
    run_one();
    kino_record_state_free(mine);
    return NULL;
}

TEST_THREADS(record_state_of_a_thread_can_be_carried_to_another)
{
    tally t = {0};
    uint64_t handle = add(&t, false);
    carried c = {.state = kino_record_state_capture()};
    REQUIRE(c.state != NULL);
    CHECK_EQ(kino_record_remove(handle, NULL), KINO_OK); /* what was captured has it still */
    run_one();
    CHECK_EQ(t.starts, 0);
    in_thread(run_carried, &c);
    CHECK_EQ(t.starts, 1);
    CHECK_EQ(t.ends, 1);
    CHECK(c.was_enabled);
    CHECK_EQ(c.before, 0);
    CHECK_EQ(c.during, 1);
    CHECK_EQ(c.after, 0);
    CHECK_EQ(t.released, 0);
    kino_record_state_free(c.state);
    CHECK_EQ(t.released, 1);
}

TEST_THREADS(record_state_carries_the_guard_too)
{
    tally t = {0};
    add(&t, true);
    add(&t, false);
    kino_record_enable(false);
    carried c = {.state = kino_record_state_capture()};
    kino_record_enable(true);
    in_thread(run_carried, &c);
    CHECK(!c.was_enabled);
    CHECK_EQ(t.starts, 1); /* the global one, when the thread's own state was back */
    kino_record_state_free(c.state);
    kino_record_state_install(NULL); /* nothing */
    CHECK_EQ(kino_record_count_local(), 1);
}

/* -- ends elsewhere */

static void *end_it(void *context)
{
    kino_record_end(context);
    return NULL;
}

TEST_THREADS(record_function_may_end_on_another_thread)
{
    tally t = {0};
    uint64_t handle = add(&t, false);
    kino_record_function fn;
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.is_async = true;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_start(&fn, &details);
    CHECK_EQ(kino_record_remove(handle, NULL), KINO_OK);
    CHECK_EQ(t.released, 0);
    in_thread(end_it, &fn);
    CHECK_EQ(t.ends, 1);
    CHECK_EQ(t.late, 0);
    CHECK_EQ(t.released, 1);
}

static void *add_and_exit(void *context)
{
    add(context, false);
    run_one();
    return NULL;
}

TEST_THREADS(record_callbacks_of_a_thread_are_released_when_it_exits)
{
    tally t = {0};
    in_thread(add_and_exit, &t);
    CHECK_EQ(t.ends, 1);
    CHECK_EQ(t.released, 1);
}

TEST(record_callbacks_go_on_in_a_forked_child)
{
    tally t = {0};
    uint64_t handle = add(&t, true);
    run_one();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        run_one();
        in_thread(run_in_thread, NULL);
        bool held = t.starts == 3 && t.ends == 3 && kino_record_remove(handle, NULL) == KINO_OK &&
                    t.released == 1;
        run_one();
        _exit(held && t.starts == 3 ? 0 : 1);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_one();
    CHECK_EQ(t.starts, 2);
}

/* -- all at once */

enum { RUNNERS = 4, CHANGERS = 2, ROUNDS = 300, CALLBACKS = 16 };

typedef struct storm {
    tally tallies[CHANGERS][CALLBACKS];
    int is_over;   /* atomic */
    int next;      /* atomic: which changer am I */
    uint64_t done; /* functions that were run, atomic */
} storm;

static void *run_many(void *context)
{
    storm *s = context;
    uint64_t count = 0;
    while (!__atomic_load_n(&s->is_over, __ATOMIC_ACQUIRE)) {
        KINO_RECORD_FUNCTION("outer");
        for (int i = 0; i < 4; i++) {
            KINO_RECORD_USER("inner");
            count++;
        }
        if (count % 64 == 0) {
            bool before = kino_record_enable(false);
            run_one();
            kino_record_enable(before);
        }
    }
    __atomic_add_fetch(&s->done, count, __ATOMIC_RELAXED);
    return NULL;
}

static void *change_many(void *context)
{
    storm *s = context;
    tally *mine = s->tallies[__atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED)];
    for (int round = 0; round < ROUNDS; round++) {
        tally *t = &mine[round % CALLBACKS];
        kino_record_callback callback = callback_of(t);
        uint64_t handle;
        while (__atomic_load_n(&t->released, __ATOMIC_ACQUIRE) < round / CALLBACKS)
            sched_yield(); /* a function of an earlier round runs still */
        __atomic_store_n(&t->released, 0, __ATOMIC_RELAXED);
        callback.probability = round % 3 ? 1 : 0.3;
        callback.needs = round % 2 ? KINO_RECORD_IDS : 0;
        if (kino_record_add_global(&callback, &handle, NULL) != KINO_OK)
            abort();
        run_one();
        (void)kino_record_set_enabled(handle, round % 5 != 0, NULL);
        if (kino_record_remove(handle, NULL) != KINO_OK)
            abort();
        while (!__atomic_load_n(&t->released, __ATOMIC_ACQUIRE))
            sched_yield();
        __atomic_store_n(&t->released, round / CALLBACKS + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

TEST_THREADS(record_functions_and_changes_of_callbacks_do_not_disturb_each_other)
{
    static storm s;
    pthread_t threads[RUNNERS + CHANGERS];
    for (int i = 0; i < RUNNERS + CHANGERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, i < RUNNERS ? run_many : change_many, &s) == 0);
    for (int i = RUNNERS; i < RUNNERS + CHANGERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    __atomic_store_n(&s.is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < RUNNERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    int calls = 0;
    for (int changer = 0; changer < CHANGERS; changer++)
        for (int i = 0; i < CALLBACKS; i++) {
            const tally *t = &s.tallies[changer][i];
            CHECK_EQ(t->starts, t->ends); /* each start has its end */
            CHECK_EQ(t->late, 0);         /* and nothing is called behind the release */
            calls += t->starts;
        }
    CHECK(calls > 0);
    CHECK(s.done > 0);
    CHECK_EQ(kino_record_count_global(), 0);
}
