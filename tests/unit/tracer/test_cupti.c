/* Parts of the CUPTI backend that need no CUPTI: occupancy, which recording a wait waits for. All
 * that goes through CUPTI's interface is in tests/integration/test_cupti.py. */
#include <limits.h>
#include <string.h>

#include "tracer/backend/cupti/cupti_internal.h"
#include "unit/test.h"

static const kino__cuda_limits hopper = {
    .major = 9,
    .threads_per_block = 1024,
    .threads_per_sm = 2048,
    .registers_per_block = 65536,
    .warp_size = 32,
    .shared_per_block = 49152,
    .sm_count = 132,
    .registers_per_sm = 65536,
    .shared_per_block_optin = 232448,
    .shared_per_sm = 233472,
    .shared_reserved = 1024,
};
enum { WARPS = 1, REGISTERS = 2, SHARED = 4, BLOCKS = 8 };

static kino__occupancy of(int32_t threads, int32_t registers, int32_t shared)
{
    kino__cuda_launch launch = {threads, registers, shared, 0};
    return kino__cuda_occupancy(&hopper, &launch);
}

TEST(occupancy_is_limited_by_what_runs_out_first)
{
    /* 32 warps a block, 64 an SM: 2 blocks; 24 registers: 65536 / (768 * 32) = 2.67, but a quarter
     * of the file has room for 16384 / 768 = 21 warps, 84 in all: 2 blocks */
    kino__occupancy o = of(1024, 24, 0);
    CHECK_EQ(o.active_blocks, 2);
    CHECK_EQ(o.limit_warps, 2);
    CHECK_EQ(o.limit_registers, 2);
    CHECK_EQ(o.factors, WARPS | REGISTERS);
    /* one warp a block: 64 would fit, 32 blocks is the limit */
    o = of(32, 16, 0);
    CHECK_EQ(o.active_blocks, 32);
    CHECK_EQ(o.factors, BLOCKS);
    /* 40000 + 1024 bytes become 41088, a multiple of 128: 5 of them in 233472 */
    o = of(128, 16, 40000);
    CHECK_EQ(o.active_blocks, 5);
    CHECK_EQ(o.shared_per_block, 41088);
    CHECK_EQ(o.factors, SHARED);
    /* 128 registers: 4096 a warp, 4 warps in each quarter, 16 in all: 4 blocks of 4 warps */
    o = of(128, 128, 0);
    CHECK_EQ(o.active_blocks, 4);
    CHECK_EQ(o.registers_per_block, 16384);
    CHECK_EQ(o.factors, REGISTERS);
}

TEST(occupancy_of_what_cannot_run_is_zero_and_of_what_is_unknown_missing)
{
    CHECK_EQ(of(1025, 32, 0).active_blocks, 0);
    CHECK_EQ(of(1024, 255, 0).active_blocks, 0);
    CHECK_EQ(of(32, 32, 50000).active_blocks, 0);
    CHECK(of(32, 0, 0).is_known);
    CHECK_EQ(of(32, 0, 0).limit_registers, INT_MAX);
    CHECK(!of(0, 32, 0).is_known);
    kino__cuda_launch launch = {256, 32, 0, 0};
    kino__cuda_limits future = hopper;
    future.major = 13;
    CHECK(!kino__cuda_occupancy(&future, &launch).is_known);
    kino__cuda_limits incomplete = hopper;
    incomplete.threads_per_sm = 0;
    CHECK(!kino__cuda_occupancy(&incomplete, &launch).is_known);
}

TEST(a_wait_is_for_the_last_recording_before_it)
{
    REQUIRE(kino__cupti_relations_begin());
    CHECK(kino__cupti_event_source(1, 5, 100) == NULL);
    /* context, event, correlation, stream; in no order */
    kino__cupti_event_recorded((kino__cupti_recording){1, 5, 30, 9});
    kino__cupti_event_recorded((kino__cupti_recording){1, 5, 10, 7});
    kino__cupti_event_recorded((kino__cupti_recording){2, 5, 25, 1});
    kino__cupti_event_recorded((kino__cupti_recording){1, 6, 26, 2});
    CHECK(kino__cupti_event_source(1, 5, 9) == NULL);
    CHECK_EQ(kino__cupti_event_source(1, 5, 10)->stream, 7);
    CHECK_EQ(kino__cupti_event_source(1, 5, 29)->stream, 7);
    CHECK_EQ(kino__cupti_event_source(1, 5, 31)->stream, 9);
    CHECK_EQ(kino__cupti_event_source(2, 5, 31)->stream, 1);
    CHECK(kino__cupti_event_source(3, 5, 31) == NULL);
}

TEST(the_last_recordings_of_events_survive_when_there_are_many)
{
    REQUIRE(kino__cupti_relations_begin());
    for (uint32_t i = 1; i <= 200000; i++) /* two events in turn */
        kino__cupti_event_recorded((kino__cupti_recording){1, i % 2, i, i % 7});
    CHECK_EQ(kino__cupti_event_source(1, 0, 300000)->correlation, 200000);
    CHECK_EQ(kino__cupti_event_source(1, 1, 300000)->correlation, 199999);
    CHECK_EQ(kino__cupti_event_source(1, 1, 199998)->correlation, 199997);
}

TEST(what_is_known_of_a_call_is_found_by_its_number_until_another_takes_the_place)
{
    enum { WINDOW = 1 << 17 };
    REQUIRE(kino__cupti_relations_begin());
    kino__cupti_relation_make(5)->external[0] = 77;
    kino__cupti_relation_make(5)->thread = 8;
    CHECK_EQ(kino__cupti_relation_of(5)->external[0], 77);
    CHECK_EQ(kino__cupti_relation_of(5)->thread, 8);
    CHECK_EQ(kino__cupti_relation_of(6)->external[0], 0);
    CHECK_EQ(kino__cupti_relation_of(0)->external[0], 0);
    kino__cupti_relation_make(5 + WINDOW)->external[0] = 78;
    CHECK_EQ(kino__cupti_relation_of(5)->external[0], 0);
    CHECK_EQ(kino__cupti_relation_of(5 + WINDOW)->thread, 0);
}
