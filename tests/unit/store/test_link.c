/* test_link.c - links as lazily made columns: threads that meet, memory that runs out. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/args.h"
#include "store/link.h"
#include "unit/failing_allocator.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* A trace in which every link has something to do. */
static kino__trace *busy_trace(uint32_t rounds)
{
    static const fixture_event pattern[] = {
        {.cat = "user_annotation", .name = "ProfilerStep#4", .ts = 0, .dur = 90, .external = 1},
        {.cat = "python_function",
         .name = "nn.Module: A_0",
         .ts = 1,
         .dur = 80,
         .args = "{\"Python id\": 1, \"Python parent id\": null}"},
        {.cat = "cpu_op",
         .name = "aten::mm",
         .ts = 2,
         .dur = 20,
         .external = 5,
         .args = "{\"Sequence number\": 3, \"Fwd thread id\": 0}"},
        {.cat = "cuda_runtime", .name = "cudaLaunchKernel", .ts = 3, .dur = 5, .bind = 9},
        {.ph = 's', .cat = "ac2g", .name = "ac2g", .ts = 3, .bind = 9},
        {.cat = "kernel", .name = "gemm", .track = 7, .ts = 30, .dur = 60},
        {.ph = 'f', .cat = "ac2g", .name = "ac2g", .track = 7, .ts = 30, .bind = 9, .bp = true},
        {.cat = "kernel", .name = "gemm", .track = 7, .ts = 70, .dur = 60, .bind = 9},
        {.cat = "cpu_op",
         .name = "MmBackward",
         .track = 1,
         .ts = 50,
         .dur = 20,
         .args = "{\"Sequence number\": 3, \"Fwd thread id\": 1}"},
    };
    enum { COUNT = sizeof pattern / sizeof pattern[0] };
    fixture_event *events = calloc(rounds, sizeof pattern);
    REQUIRE(events != NULL);
    for (uint32_t r = 0; r < rounds; r++)
        for (uint32_t i = 0; i < COUNT; i++) {
            events[r * COUNT + i] = pattern[i];
            events[r * COUNT + i].ts += r * 100;
        }
    kino__trace *trace = fixture_new(events, rounds * COUNT);
    free(events);
    return trace;
}

typedef struct all_links {
    const void *made[10];
} all_links;

static void use_all(const kino__trace *trace, all_links *out)
{
    const kino__string_pool *pool;
    out->made[0] = kino__link_module(trace);
    out->made[1] = kino__link_forward(trace);
    out->made[2] = kino__link_steps(trace);
    out->made[3] = kino__link_op(trace);
    out->made[4] = kino__link_launch(trace);
    out->made[5] = kino__link_flows(trace);
    out->made[6] = kino__link_nesting(trace);
    out->made[7] = kino__link_python_parent(trace);
    out->made[8] = kino__args_double_column(trace, "Fwd thread id");
    out->made[9] = kino__args_string_column(trace, "Sequence number", &pool);
}

typedef struct thread_job {
    const kino__trace *trace;
    pthread_barrier_t *barrier;
    all_links links;
    uint64_t sum;
} thread_job;

static void *thread_main(void *argument)
{
    thread_job *job = argument;
    pthread_barrier_wait(job->barrier);
    use_all(job->trace, &job->links);
    /* Reading what another thread made is what a missing release would show. */
    const kino__nesting *nesting = job->links.made[6];
    const uint32_t *op = job->links.made[3];
    for (uint32_t row = 0; nesting && op && row < job->trace->event_count; row++)
        job->sum += nesting->depth[row] + (uint64_t)op[row];
    return NULL;
}

TEST_THREADS(threads_that_ask_at_once_get_the_same_links)
{
    enum { THREADS = 4 };
    for (int round = 0; round < 20; round++) {
        kino__trace *trace = busy_trace(50);
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        thread_job jobs[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            jobs[i] = (thread_job){.trace = trace, .barrier = &barrier};
            REQUIRE(pthread_create(&threads[i], NULL, thread_main, &jobs[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(jobs[i].sum, jobs[0].sum);
            for (int k = 0; k < 10; k++) {
                CHECK(jobs[i].links.made[k] != NULL);
                CHECK_EQ(jobs[i].links.made[k], jobs[0].links.made[k]);
            }
        }
        pthread_barrier_destroy(&barrier);
        kino__trace_free(trace);
    }
}

TEST(links_are_made_once_and_stay)
{
    kino__trace *trace = busy_trace(3);
    all_links first, second;
    use_all(trace, &first);
    use_all(trace, &second);
    for (int k = 0; k < 10; k++)
        CHECK_EQ(first.made[k], second.made[k]);
    kino__trace_free(trace);
}

TEST(links_without_memory_are_null_and_are_made_when_there_is_some)
{
    kino__trace *trace = busy_trace(3);
    all_links want;
    kino__trace *whole = busy_trace(3);
    use_all(whole, &want);
    failing_allocator failing;
    bool is_done = false;
    size_t n = 0;
    for (; !is_done && n < 2000; n++) {
        failing_allocator_init(&failing, n);
        trace->arena.allocator = &failing.allocator;
        all_links got;
        use_all(trace, &got);
        is_done = failing.failures == 0;
        for (int k = 0; k < 10; k++)
            CHECK(got.made[k] != NULL || !is_done);
        if (got.made[3])
            CHECK(memcmp(got.made[3], want.made[3], trace->event_count * sizeof(uint32_t)) == 0);
        failing.successes_left = SIZE_MAX; /* a failure does not stick */
        use_all(trace, &got);
        for (int k = 0; k < 10; k++)
            CHECK(got.made[k] != NULL);
        kino__links_free(trace->links);
        kino__arg_columns_free(trace->arg_columns);
        trace->links = NULL;
        trace->arg_columns = NULL;
        CHECK_EQ(failing.held_bytes, 0);
    }
    CHECK(is_done);
    CHECK(n > 30); /* it did walk */
    trace->arena.allocator = NULL;
    kino__trace_free(trace);
    kino__trace_free(whole);
}
