/* test_what_if.c - steps after a change, on programs made by hand. */
#include <stdio.h>

#include "analysis/what_if/what_if_edits.h"
#include "analysis/what_if/what_if_facts.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { STEPS = 2, PER_STEP = 7, US = 1000 };
#define ARGS                                                                                       \
    "{\"Collective name\": \"allreduce\", \"In msg nelems\": 8, \"dtype\": \"Float\", \"Process "  \
    "Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\"}"

static kino__trace *of_rank(kino__trace *trace, int64_t rank)
{
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

/* A step of 1000 us: loader 100, a launch at 110 whose kernel runs from 115 for `kernel`, a launch
 * of a collective at 130 that waits for the kernel, 0.8 later, and ends at 900; the host waits for
 * it until 910, and rests until 1000. */
static kino__trace *make_rank(int64_t rank, int64_t kernel)
{
    static const char *const names[] = {"ProfilerStep#1", "ProfilerStep#2"};
    fixture_event events[STEPS * PER_STEP];
    for (int64_t s = 0; s < STEPS; s++) {
        fixture_event *e = &events[s * PER_STEP];
        int64_t at = (10000 + s * 1000) * US, start = at + (115 + kernel) * US + 800;
        e[0] = (fixture_event){
            .cat = "user_annotation", .name = names[s], .track = 1, .ts = at, .dur = 1000 * US};
        e[1] =
            (fixture_event){.cat = "user_annotation",
                            .name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            .track = 1,
                            .ts = at,
                            .dur = 100 * US};
        e[2] = (fixture_event){.cat = "cuda_runtime",
                               .name = "cudaLaunchKernel",
                               .track = 1,
                               .ts = at + 110 * US,
                               .dur = 10 * US,
                               .bind = 10 * s + 1};
        e[3] = (fixture_event){.cat = "kernel",
                               .name = "gemm",
                               .track = 7,
                               .ts = at + 115 * US,
                               .dur = kernel * US,
                               .bind = 10 * s + 1};
        e[4] = (fixture_event){.cat = "cuda_runtime",
                               .name = "cudaLaunchKernel",
                               .track = 1,
                               .ts = at + 130 * US,
                               .dur = 10 * US,
                               .bind = 10 * s + 2};
        e[5] = (fixture_event){.cat = "kernel",
                               .name = "ncclDevKernel_AllReduce",
                               .track = 20,
                               .ts = start,
                               .dur = at + 900 * US - start,
                               .bind = 10 * s + 2,
                               .args = ARGS};
        e[6] = (fixture_event){.cat = "cuda_runtime",
                               .name = "cudaDeviceSynchronize",
                               .track = 1,
                               .ts = at + 150 * US,
                               .dur = 760 * US};
    }
    return of_rank(fixture_new(events, STEPS * PER_STEP), rank);
}

static void check_edit(const char *edits, const char *want)
{
    char params[80];
    (void)snprintf(params, sizeof params, "%s%s", *edits ? "edits=" : "", edits);
    kino__trace *traces[] = {make_rank(0, 300), make_rank(1, 500)};
    kino_result *result = analysis_result("what-if", params, traces, 2);
    CHECK_STR(analysis_rows(result, "what_if", "step_time,predicted"), want);
    kino_result_free(result);
    kino__trace_free(traces[0]);
    kino__trace_free(traces[1]);
}

/* Rank 1's kernel ends at 615, so the collective transfers from 615.8 to 900: 284.2. */
TEST(a_step_without_edits_takes_what_it_took)
{
    check_edit("", "1000000,1000000");
}

TEST(a_collective_that_is_free_saves_its_transfer)
{
    check_edit("collective:all", "1000000,715800");
}

TEST(a_loader_that_is_hidden_saves_its_time)
{
    check_edit("loader", "1000000,900000");
}

/* 500 become 250 on rank 1, so rank 1 still is the last: 250 less. */
TEST(a_faster_kernel_saves_what_the_slowest_rank_saves)
{
    check_edit("kernel:gemm=2", "1000000,750000");
}

/* Rank 1's kernel takes 300 as well. */
TEST(a_rank_like_the_others_saves_its_excess)
{
    check_edit("rank:1", "1000000,800000");
    check_edit("rank:1;loader", "1000000,700000");
}

TEST(edits_that_are_none_are_refused)
{
    static const char *const wrong[] = {"kernel gemm", "kernel =2",     "kernel gemm=0",
                                        "collective",  "rank x",        "faster",
                                        "loader now",  "loader;rank 1x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kino__edits edits;
        kino_error err;
        CHECK_EQ(kino__edits_read(kino__str_from(wrong[i]), &edits, &err), KINO_ARGUMENT);
        CHECK(strstr(err.message, "invalid edit") != NULL);
    }
    kino__edits edits;
    REQUIRE_EQ(kino__edits_read(KINO__STR(" kernel a=b=1.5 ; ; rank 3;"), &edits, NULL), KINO_OK);
    REQUIRE_EQ(edits.count, 2);
    CHECK(kino__str_is(edits.items[0].pattern, "a=b"));
    CHECK(edits.items[0].factor == 1.5);
    CHECK_EQ(edits.items[1].rank, 3);
}

/* Does a program of one rank with one call come through its bytes? */
static bool is_taken(kino__replay_rank rank, int64_t gap)
{
    kino__replay_facts facts = {0}, loaded = {0};
    kino__buffer bytes = {0};
    kino__pack out = {.out = &bytes};
    kino__replay_rank *r = kino__vec_add(&facts.ranks);
    kino__replay_item *item = kino__vec_add(&facts.items);
    REQUIRE(r && item);
    rank.item_count = 1;
    *r = rank;
    *item = (kino__replay_item){
        .type = KINO__REPLAY_LAUNCH, .name = KINO_NO_STRING, .kind = KINO_NO_STRING, .gap = gap};
    kino__replay_facts_pack(&out, &facts);
    REQUIRE(!bytes.failed);
    kino__pack in = {.at = bytes.data, .end = bytes.data + bytes.size};
    kino__replay_facts_pack(&in, &loaded);
    bool is_taken = !in.is_damaged && !in.is_out_of_memory && in.at == in.end;
    kino__replay_facts_deinit(&facts);
    kino__replay_facts_deinit(&loaded);
    kino__buffer_deinit(&bytes);
    return is_taken;
}

/* What the host may be ahead says which launch it waits for: that one must be there. */
TEST(a_partial_whose_queue_is_no_number_of_launches_is_refused)
{
    CHECK(is_taken((kino__replay_rank){.queue = KINO_NO_INT}, 0));
    CHECK(is_taken((kino__replay_rank){.queue = 1}, 0));
    CHECK(!is_taken((kino__replay_rank){.queue = 0}, 0));
    CHECK(!is_taken((kino__replay_rank){.queue = -1}, 0));
    CHECK(!is_taken((kino__replay_rank){.queue = INT64_MIN + 1}, 0));
}

/* Recordings of hours, with pauses of hours; what cannot be added up is none. */
TEST(a_partial_of_hours_is_taken)
{
    const int64_t hour = 3600 * INT64_C(1000000000);
    CHECK(is_taken((kino__replay_rank){.queue = KINO_NO_INT, .span = 10 * hour}, 5 * hour));
    CHECK(!is_taken((kino__replay_rank){.queue = KINO_NO_INT}, INT64_MAX));
    CHECK(!is_taken((kino__replay_rank){.queue = KINO_NO_INT, .span = -1}, 0));
}
