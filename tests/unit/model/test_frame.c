/* test_frame.c - rows, partners, steps and the cut of the table that device analyses share. */
#include <stdlib.h>

#include "model/frame/frame.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define STEP(number, from, length)                                                                 \
    {                                                                                              \
        .cat = "user_annotation", .name = "ProfilerStep#" number, .track = 1, .ts = from,          \
        .dur = length                                                                              \
    }
#define CALL(what, from, id)                                                                       \
    {                                                                                              \
        .cat = "cuda_runtime", .name = what, .track = 1, .ts = from, .dur = 1, .bind = id          \
    }
#define KERNEL(from, id)                                                                           \
    {                                                                                              \
        .cat = "kernel", .name = "gemm", .track = 7, .ts = from, .dur = 5, .bind = id,             \
        .args = "{\"stream\": 7}"                                                                  \
    }

/* The position of event i of the list, KINO_NO_ROW. */
static uint32_t at_of(const kino__frame *f, uint32_t number)
{
    return f->at_of_row[fixture_row(f->trace, number)];
}

/* The event of the list that this one is linked to, or one of KINO__LINK_. */
static int64_t link_of(const kino__frame *f, uint32_t number)
{
    int32_t link = f->link[at_of(f, number)];
    return link < 0 ? link : fixture_number(f->trace, f->row[link]);
}

TEST(a_partner_is_the_last_row_of_the_other_side)
{
    /* ids far apart: the last one is not in the array of dense ids */
    kino__trace *trace = FIXTURE(CALL("cudaGraphLaunch", 0, 5), KERNEL(10, 5), KERNEL(20, 5),
                                 CALL("cudaLaunchKernel", 2, 6), CALL("cuLaunchKernel", 3, 6),
                                 KERNEL(30, 6), CALL("cudaLaunchKernel", 4, 4000000000),
                                 KERNEL(40, 4000000000), KERNEL(50, 9), CALL("cudaMalloc", 6, 0));
    const kino__frame *f = kino__frame_of(trace, KINO__FRAME_DEFAULT, false, NULL);
    CHECK(f != NULL);
    CHECK_EQ(f->count, 10);
    const int64_t want[] = {2, 0, 0, 5, 5, 4, 7, 6, KINO__LINK_MISSING, KINO__LINK_NONE};
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(f->row[i], fixture_row(trace, i)); /* the file's order */
        CHECK_EQ(link_of(f, i), want[i]);
    }
    CHECK_EQ(f->stream[1], 7);
    CHECK_EQ(f->stream[0], -1);
    CHECK_EQ(f->correlation[7], 4000000000);
    kino__trace_free(trace);
}

/* steps    1: 0..100   2: 100..200   3: 200..300, which is cut off with what it launched */
static kino__trace *three_steps(void)
{
    return FIXTURE(STEP("1", 0, 100), CALL("cudaLaunchKernel", 10, 1), KERNEL(120, 1),
                   STEP("2", 100, 100), CALL("cudaLaunchKernel", 150, 2), KERNEL(210, 2),
                   STEP("3", 200, 100), CALL("cudaLaunchKernel", 210, 3), KERNEL(260, 3),
                   CALL("cuLaunchKernel", 220, 2));
}

TEST(a_narrow_frame_has_the_rows_of_a_wide_one)
{
    for (int has_last_step = 0; has_last_step < 2; has_last_step++) {
        kino__trace *trace = three_steps();
        trace->dur[0] = trace->dur[0] == 100 ? -5 : trace->dur[0]; /* damage counts as 0 */
        const kino__frame *wide = kino__frame_of(trace, KINO__FRAME_DEFAULT, has_last_step, NULL);
        kino__frame *narrow = kino__frame_new_narrow(trace, has_last_step, NULL);
        REQUIRE(wide && narrow);
        REQUIRE_EQ(narrow->count, wide->count);
        CHECK_EQ(narrow->is_cut, wide->is_cut);
        for (uint32_t at = 0; at < wide->count; at++) {
            CHECK_EQ(narrow->row[at], wide->row[at]);
            CHECK_EQ(narrow->flags[at], wide->flags[at]);
            CHECK_EQ(narrow->link[at], wide->link[at]);
            CHECK_EQ(kino__frame_start(narrow, at), wide->ts[at]);
            CHECK_EQ(kino__frame_length(narrow, at), wide->dur[at]);
            CHECK_EQ(kino__frame_start(wide, at), wide->ts[at]);
        }
        kino__frame_drop_links(narrow);
        kino__frame_free(narrow);
        kino__trace_free(trace);
    }
}

TEST(the_last_step_is_cut_off_with_its_work)
{
    kino__trace *trace = three_steps();
    const kino__frame *f = kino__frame_of(trace, KINO__FRAME_DEFAULT, false, NULL);
    /* device rows first, then the host's; a kernel stays with any of its calls */
    const uint32_t want[] = {2, 5, 0, 1, 3, 4};
    CHECK(f->is_cut);
    CHECK_EQ(f->count, 6);
    for (uint32_t at = 0; at < f->count; at++)
        CHECK_EQ(fixture_number(trace, f->row[at]), want[at]);
    CHECK_EQ(at_of(f, 8), KINO_NO_ROW);
    CHECK_EQ(link_of(f, 2), 1);
    CHECK_EQ(link_of(f, 4), 5);
    CHECK_EQ(link_of(f, 5), KINO__LINK_CUT); /* its last call is gone */
    CHECK_EQ(f->iteration[at_of(f, 2)], 1);  /* the step of the launch, not of the start */
    CHECK_EQ(f->iteration[at_of(f, 5)], 3);  /* of its last call */
    CHECK_EQ(f->iteration[at_of(f, 4)], 2);
    CHECK_EQ(f->steps.count, 2);
    CHECK_EQ(f->steps.items[1].number, 2);
    CHECK_EQ(f->steps.items[1].at, 4);
    const kino__frame *whole = kino__frame_of(trace, KINO__FRAME_DEFAULT, true, NULL);
    CHECK(!whole->is_cut);
    CHECK_EQ(whole->count, 10);
    CHECK_EQ(link_of(whole, 5), 9);
    kino__trace_free(trace);
}

TEST(hta_has_work_once_for_each_of_its_calls)
{
    kino__trace *trace = three_steps();
    const kino__frame *f = kino__frame_of(trace, KINO__FRAME_HTA_NS, true, NULL);
    const uint32_t want[] = {2, 5, 5, 8, 0, 1, 3, 4, 6, 7, 9};
    CHECK_EQ(f->count, 11);
    for (uint32_t at = 0; at < f->count; at++)
        CHECK_EQ(fixture_number(trace, f->row[at]), want[at]);
    CHECK_EQ(at_of(f, 5), 2);
    CHECK_EQ(f->link[7], 1); /* the first copy */
    CHECK_EQ(f->link[1], 10);
    CHECK_EQ(f->link[2], 10);
    kino__trace_free(trace);
}

#define DMA(from)                                                                                  \
    {                                                                                              \
        .cat = "mtia_ccp_events", .name = "dma_in", .track = 9, .ts = from, .dur = 5000            \
    }

TEST(memory_work_of_mtia_takes_its_stream_and_step_from_where_it_is)
{
    kino__trace *trace = FIXTURE(STEP("1", 0, 100000), STEP("2", 100000, 100000),
                                 {.cat = "mtia_runtime",
                                  .name = "runFunction - job_prep_and_submit_for_execution",
                                  .track = 1,
                                  .ts = 10000,
                                  .dur = 5000,
                                  .bind = 4},
                                 {.cat = "mtia_ccp_events",
                                  .name = "job_exe",
                                  .track = 8,
                                  .ts = 20000,
                                  .dur = 10000,
                                  .bind = 4,
                                  .args = "{\"stream\": 3}"},
                                 DMA(50000), DMA(100000), DMA(200000), DMA(300000));
    /* by default all of it, what is after the steps too, device work first */
    const kino__frame *all = kino__frame_of(trace, KINO__FRAME_DEFAULT, true, NULL);
    const int64_t all_steps[] = {1, 1, 2, -1, -1};
    CHECK_EQ(all->count, 8);
    for (uint32_t at = 0; at < 5; at++) {
        CHECK_EQ(at_of(all, 3 + at), at);
        CHECK(kino__frame_is_device(all, at));
        CHECK_EQ(all->stream[at], at ? 9 : 8);
        CHECK_EQ(all->iteration[at], all_steps[at]);
    }
    for (int mode = KINO__FRAME_HTA_NS; mode < KINO__FRAME_MODES; mode++) {
        const kino__frame *f = kino__frame_of(trace, (kino__frame_mode)mode, false, NULL);
        CHECK_EQ(f->device_kind, KINO__DEVICE_MTIA);
        /* in the file's order, without what is after the steps; a step has its end too */
        CHECK_EQ(f->count, 7);
        const int64_t steps[] = {1, 2, 2};
        for (uint32_t at = 0; at < f->count; at++) {
            CHECK_EQ(at_of(f, at), at);
            if (at < 4)
                continue;
            CHECK_EQ(f->stream[at], 9); /* its thread */
            CHECK(kino__frame_is_device(f, at));
            CHECK_EQ(f->iteration[at], steps[at - 4]);
        }
        CHECK_EQ(f->iteration[3], 1);
    }
    kino__trace_free(trace);
}

/* -- against the definition, on traces of chance */

enum { EVENTS = 120, IDS = 12 };

static void make_random(fixture_random *random, fixture_event *events)
{
    static const char *const steps[] = {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"};
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t what = fixture_random_below(random, 10);
        events[i] = (fixture_event){.ts = fixture_random_below(random, 300),
                                    .dur = 1 + fixture_random_below(random, 30),
                                    .bind = fixture_random_below(random, IDS)};
        if (i < 3)
            events[i] = (fixture_event){
                .cat = "user_annotation", .name = steps[i], .track = 1, .ts = 100 * i, .dur = 100};
        else if (what < 4)
            events[i].cat = "cuda_runtime", events[i].name = "cudaLaunchKernel",
            events[i].track = 1 + what % 2;
        else if (what < 8)
            events[i].cat = "kernel", events[i].name = "gemm", events[i].track = 7 + what % 2;
        else if (what < 9)
            events[i].cat = "cpu_op", events[i].name = "aten::mm", events[i].track = 1,
            events[i].bind = 0;
        else
            events[i].ph = 'i', events[i].cat = "cpu_op", events[i].name = "mark",
            events[i].track = 1;
        if (events[i].bind == 1)
            events[i].bind = 3000000000; /* one that is far from the others */
    }
}

static bool is_kernel(const fixture_event *e)
{
    return e->cat[0] == 'k';
}

/* The host's rows before the last step, kernels with such a row, and by their own time kernels
 * that no row of the host launched. */
static bool stays(const fixture_event *events, uint32_t i)
{
    bool has_call = false;
    if (events[i].ph == 'i')
        return false;
    for (uint32_t k = 0; k < EVENTS && is_kernel(&events[i]); k++) {
        bool is_call = events[k].bind && events[k].bind == events[i].bind &&
                       !is_kernel(&events[k]) && events[k].ph != 'i';
        has_call |= is_call;
        if (is_call && events[k].ts < 200)
            return true;
    }
    return !has_call && events[i].ts < 200;
}

/* The last one of the other side, EVENTS: none. */
static uint32_t partner(const fixture_event *events, uint32_t i)
{
    uint32_t found = EVENTS;
    for (uint32_t k = 0; k < EVENTS && events[i].bind; k++)
        if (events[k].bind == events[i].bind && events[k].ph != 'i' &&
            is_kernel(&events[k]) != is_kernel(&events[i]))
            found = k;
    return found;
}

static void check_random(const fixture_event *events, const kino__frame *f)
{
    uint32_t count = 0;
    for (int side = 1; side >= 0; side--) {
        for (uint32_t i = 0; i < EVENTS; i++) {
            if (!stays(events, i) || is_kernel(&events[i]) != side)
                continue;
            uint32_t at = count++, other = partner(events, i);
            CHECK_EQ(fixture_number(f->trace, f->row[at]), i);
            CHECK_EQ(at_of(f, i), at);
            CHECK_EQ(f->ts[at], events[i].ts);
            CHECK_EQ(link_of(f, i), events[i].bind == 0     ? KINO__LINK_NONE
                                    : other == EVENTS       ? KINO__LINK_MISSING
                                    : !stays(events, other) ? KINO__LINK_CUT
                                                            : (int64_t)other);
            const fixture_event *of = side && other != EVENTS ? &events[other] : &events[i];
            CHECK_EQ(f->iteration[at], of->ts / 100 + 1);
        }
    }
    CHECK_EQ(f->count, count);
}

TEST_THREADS(frames_of_random_traces_are_what_the_definition_says)
{
    fixture_random random = {11};
    kino_error err;
    kino__pool *pool = NULL;
    CHECK_EQ(kino__pool_new(3, &pool, &err), KINO_OK);
    for (int round = 0; round < 40; round++) {
        fixture_event events[EVENTS];
        make_random(&random, events);
        kino__trace *trace = fixture_new(events, EVENTS);
        const kino__frame *f = kino__frame_of(trace, KINO__FRAME_DEFAULT, false, pool);
        CHECK(f != NULL);
        check_random(events, f);
        kino__trace_free(trace);
    }
    kino__pool_free(pool);
}
