/* test_rules_own.c - the rules that are our own, just below and just above each of their
 * thresholds. Where nothing else is said a step takes 1 ms. */
#include <math.h>
#include <stdio.h>

#include "unit/rules_scene.h"
#include "unit/test.h"

/* -- launch-bound */

/* Kernels with a gap behind each; they fill the step. */
static scene *kernels_with_gaps(int count, int64_t kernel, int64_t gap)
{
    scene *s = scene_new();
    scene_step(s, 0, count * (kernel + gap));
    for (int i = 0; i < count; i++)
        scene_kernel(s, "add", i * (kernel + gap), kernel, NULL);
    return s;
}

TEST(rule_launch_bound_speaks_above_its_share)
{
    CHECK(!scene_says(kernels_with_gaps(40, 34000, 6000), "launch-bound", NULL).is_said);
    said s = scene_says(kernels_with_gaps(40, 34000, 6001), "launch-bound", NULL);
    CHECK(s.is_said);
    CHECK(said_near(s.gain, 100.0 * 5001 / 40001)); /* 1 us stays of each gap */
}

TEST(rule_launch_bound_is_about_small_kernels_and_short_gaps)
{
    const char *rule = "launch-bound";
    CHECK(scene_says(kernels_with_gaps(20, 50000, 30000), rule, NULL).is_said);
    CHECK(scene_says(kernels_with_gaps(3, 50000, 30000), rule, NULL).is_said);
    CHECK(!scene_says(kernels_with_gaps(2, 50000, 30000), rule, NULL).is_said);
    CHECK(!scene_says(kernels_with_gaps(20, 50001, 30000), rule, NULL).is_said);
    CHECK(scene_says(kernels_with_gaps(20, 50000, 99999), rule, NULL).is_said);
    CHECK(!scene_says(kernels_with_gaps(20, 50000, 100000), rule, NULL).is_said);
}

TEST(rule_launch_bound_leaves_out_kernels_of_collectives)
{
    scene *s = kernels_with_gaps(5, 20000, 30000);
    scene_add(s, (fixture_event){.track = 8,
                                 .cat = "kernel",
                                 .name = "ncclDevKernel_AllReduce",
                                 .ts = 225000,
                                 .dur = 250000,
                                 .args = "{\"device\": 0}"});
    said found = scene_says(s, "launch-bound", NULL);
    CHECK(found.is_said && said_holds(found.seen, "5 kernels per step of 20.0 µs"));
}

TEST(rule_launch_bound_leaves_out_gaps_of_the_data_loader)
{
    scene *s = kernels_with_gaps(40, 34000, 8000);
    scene_host(s, "user_annotation",
               "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 40 * 42000);
    CHECK(!scene_says(s, "launch-bound", NULL).is_said);
}

/* -- exposed-collective */

/* A collective of `dur` from 100000 on, of which computation hides the first part. */
static scene *collective(int64_t dur, int64_t hidden)
{
    scene *s = scene_one_step();
    scene_launch(s, "nccl:all_reduce", 90000, 100, "kernel", "ncclDevKernel_AllReduce", 100000,
                 dur);
    if (hidden)
        scene_add(s, (fixture_event){.track = 8,
                                     .cat = "kernel",
                                     .name = "gemm",
                                     .ts = 100000,
                                     .dur = hidden,
                                     .args = "{\"device\": 0}"});
    return s;
}

TEST(rule_exposed_collective_speaks_above_its_share)
{
    const char *rule = "exposed-collective";
    CHECK(!scene_says(collective(30000, 0), rule, NULL).is_said);
    said s = scene_says(collective(30001, 0), rule, NULL);
    CHECK(s.is_said && said_near(s.gain, 3.0001));
    CHECK(said_holds(s.seen, "nccl:all_reduce"));
    CHECK(!scene_says(collective(60000, 30000), rule, NULL).is_said);
    CHECK(scene_says(collective(60000, 29999), rule, NULL).is_said);
}

TEST(rule_exposed_collective_leaves_it_to_communication_where_that_speaks)
{
    CHECK(!scene_says(collective(150000, 0), "exposed-collective", NULL).is_said);
    said s = scene_says(collective(150000, 0), "communication", NULL);
    CHECK(s.is_said && said_holds(s.seen, "nccl:all_reduce"));
}

TEST(rule_communication_does_not_speak_of_gradients_where_experts_are_exchanged)
{
    scene *ours[2] = {scene_one_step(), scene_one_step()};
    const char *const names[] = {"nccl:all_reduce", "nccl:all_to_all"};
    for (int i = 0; i < 2; i++) {
        scene_launch(ours[i], names[i], 90000, 100, "kernel",
                     i ? "ncclDevKernel_SendRecv" : "ncclDevKernel_AllReduce", 100000, 300000);
        scene_host(ours[i], "user_annotation", "Optimizer.step#SGD.step", 900000, 1000);
        said s = scene_says(ours[i], "communication", NULL);
        CHECK(s.is_said && said_holds(s.advice, "gradient") == (i == 0));
        CHECK(said_holds(s.advice, "experts") == (i == 1));
    }
}

TEST(rule_communication_and_its_collective_have_one_share_that_is_hidden)
{
    /* On the CPU operators hide it: gloo's thread is another one. */
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "aten::mm", 100000, 100000);
    scene_add(s, (fixture_event){.track = 2,
                                 .cat = "user_annotation",
                                 .name = "gloo:all_reduce",
                                 .ts = 100000,
                                 .dur = 400000});
    said found = scene_says(s, "communication", NULL);
    CHECK(found.is_said && said_near(found.gain, 30.0));
    CHECK(said_holds(found.seen, "25.0 % of all communication overlaps with computation") &&
          said_holds(found.seen, "400 µs on average, 25.0 % of it hidden"));
}

TEST(rule_of_several_ranks_says_whose_numbers_it_has_where_the_gain_is_not_known)
{
    scene *ranks[] = {scene_one_step(), scene_one_step()};
    for (int r = 0; r < 2; r++) {
        ranks[r]->rank = r;
        scene_host(ranks[r], "user_annotation", "Optimizer.step#SGD.step", 100, 900000);
        for (int i = 0; i < 200; i++)
            scene_host(ranks[r], "cpu_op", "aten::add_", 200 + 4000 * i, 3000);
    }
    said found = scenes_say(ranks, 2, "single-tensor-optimizer", NULL);
    CHECK(found.is_said && said_holds(found.seen, "rank 0 (one of 2 ranks): Optimizer.step takes"));
}

/* -- straggler */

/* A step in which a rank computes, then communicates until it ends. */
static void add_step(scene *s, int64_t *at, int64_t own, int64_t communication)
{
    scene_step(s, *at, *at + own + communication);
    scene_kernel(s, "gemm", *at, own, NULL);
    scene_kernel(s, "ncclDevKernel_AllReduce", *at + own, communication, NULL);
    *at += own + communication;
}

static scene *rank_with(int steps, int64_t number, int64_t own, int64_t communication)
{
    scene *s = scene_new();
    int64_t at = 0;
    s->rank = number;
    for (int i = 0; i < steps; i++)
        add_step(s, &at, own, communication);
    return s;
}

static scene *rank(int64_t number, int64_t own, int64_t communication)
{
    return rank_with(6, number, own, communication);
}

static said three_ranks(int64_t slow, int64_t communication)
{
    scene *ranks[] = {rank(0, 1000000, communication), rank(1, slow, 10),
                      rank(2, 1000000, communication)};
    return scenes_say(ranks, 3, "straggler", NULL);
}

/* Of two, nobody can say that the others are alike: the whole share counts. */
static said two_ranks(int64_t slow, int64_t communication)
{
    scene *ranks[] = {rank(0, 1000000, communication), rank(1, slow, 10)};
    return scenes_say(ranks, 2, "straggler", NULL);
}

TEST(rule_straggler_speaks_above_its_share)
{
    /* 5 % of a step of 1000010 + x are x at 52632.1 */
    CHECK(!two_ranks(1052632, 52642).is_said);
    said s = two_ranks(1052633, 52643);
    CHECK(s.is_said);
    CHECK(said_near(s.gain, 100.0 * 52633 / 1052643));
    CHECK_STR(s.ranks, "[1]");
    CHECK(said_holds(s.title, "rank 1 is the slowest") && said_holds(s.seen, "its kernels take"));
}

TEST(rule_straggler_gains_no_more_than_the_others_wait)
{
    CHECK(said_near(three_ranks(1200000, 150010).gain, 100.0 * 150000 / 1200010));
    CHECK(!three_ranks(1200000, 20000).is_said); /* nobody waits for it */
}

/* Rank 1 needs 200000 more in each step; rank 0 saves a checkpoint in the fourth of six. */
static scene *beside_a_checkpoint(int64_t number)
{
    scene *s = scene_new();
    int64_t at = 0;
    s->rank = number;
    for (int i = 0; i < 6; i++) {
        int64_t own = number == 1 ? 1200000 : number == 0 && i == 3 ? 4000000 : 1000000;
        add_step(s, &at, own, (i == 3 ? 4100000 : 1300000) - own);
    }
    return s;
}

TEST(rule_straggler_gain_is_that_of_the_usual_step)
{
    scene *ranks[] = {beside_a_checkpoint(0), beside_a_checkpoint(1), beside_a_checkpoint(2)};
    said s = scenes_say(ranks, 3, "straggler", NULL);
    CHECK(s.is_said && said_near(s.gain, 100.0 * 6 * 200000 / (5 * 1300000 + 4100000)));
    scene *again[] = {beside_a_checkpoint(0), beside_a_checkpoint(1), beside_a_checkpoint(2)};
    const char *rules = scenes_rules(again, 3, NULL);
    CHECK(strncmp(rules, "straggler", 9) == 0 && said_holds(rules, "slow-steps"));
}

TEST(rule_straggler_names_all_slow_ranks)
{
    scene *ranks[] = {rank_with(3, 0, 1000000, 300010), rank_with(3, 1, 1200000, 100010),
                      rank_with(3, 2, 1300000, 10), rank_with(3, 3, 1000000, 300010)};
    said s = scenes_say(ranks, 4, "straggler", NULL);
    CHECK(s.is_said && said_holds(s.title, "ranks 1 and 2 are the slowest"));
    CHECK(said_near(s.gain, 100.0 * 300000 / 1300010)); /* down to the slowest of the others */
}

TEST(rule_straggler_needs_communication)
{
    scene *ranks[] = {scene_one_step(), scene_one_step()};
    scene_host(ranks[0], "cpu_op", "aten::add", 0, 900000);
    scene_host(ranks[1], "cpu_op", "aten::add", 0, 100000);
    scene_step(ranks[0], SCENE_STEP, 3 * SCENE_STEP);
    CHECK(!scenes_say(ranks, 2, "straggler", NULL).is_said);
}

/* RCCL has one kernel for all that it does; the calls say what. */
static said stages_with(const char *call)
{
    scene *ranks[] = {rank(0, 1000000, 300010), rank(1, 1300000, 10), rank(2, 1000000, 300010)};
    for (int i = 0; i < 3; i++) {
        scene_kernel(ranks[i], "ncclDevKernel_Generic_4", i == 1 ? 1300000 : 1000000, 10, NULL);
        scene_host(ranks[i], "cpu_op", call, 100, 50);
    }
    return scenes_say(ranks, 3, "straggler", NULL);
}

TEST(rule_straggler_knows_a_pipeline_by_its_calls)
{
    CHECK(stages_with("c10d::allreduce_").is_said);
    CHECK(!stages_with("c10d::send").is_said);
    CHECK(!stages_with("c10d::recv_").is_said);
}

TEST(rule_straggler_does_not_take_sampled_functions_for_calls)
{
    scene *ranks[] = {rank(0, 1000000, 300010), rank(1, 1300000, 10), rank(2, 1000000, 300010)};
    for (int i = 0; i < 3; i++) {
        scene_host(ranks[i], "cpu_op", "c10d::allreduce_", 100, 50);
        scene_host(ranks[i], "off_cpu", "c10d::recv_", 1000, 500);
    }
    CHECK(scenes_say(ranks, 3, "straggler", NULL).is_said);
}

/* -- host-sync */

/* A blocking call that ends with the kernel it waits for, and nothing on the device for `gap`. */
static scene *sync_point(int64_t blocked, int64_t gap)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 500000, NULL);
    scene_host(s, "python_function", "train.py(12): step", 100, 900000);
    scene_host(s, "python_function", "<built-in method item of Tensor object>", 200, 800000);
    scene_host(s, "cpu_op", "aten::item", 500000 - blocked - 100, blocked + 200);
    scene_host(s, "cuda_runtime", "cudaStreamSynchronize", 500000 - blocked, blocked);
    scene_kernel(s, "gemm", 500000 + gap, 500000 - gap, NULL);
    return s;
}

TEST(rule_host_sync_speaks_above_its_share)
{
    CHECK(!scene_says(sync_point(300000, 10000), "host-sync", NULL).is_said);
    said s = scene_says(sync_point(300000, 10001), "host-sync", NULL);
    CHECK(s.is_said && said_near(s.gain, 1.0001));
    CHECK(
        said_holds(s.seen, "cudaStreamSynchronize in aten::item at train.py(12): step, 1.0 times"));
    CHECK_STR(s.evidence, "[5]");
}

TEST(rule_host_sync_leaves_out_collectives_of_the_host)
{
    scene *s = sync_point(300000, 200000);
    scene_host(s, "user_annotation", "gloo:all_reduce", 500000, 199000);
    CHECK(!scene_says(s, "host-sync", NULL).is_said);
    s = sync_point(300000, 200000);
    scene_host(s, "user_annotation", "gloo:all_reduce", 550000, 150000);
    CHECK(said_near(scene_says(s, "host-sync", NULL).gain, 5.0));
}

TEST(rule_host_sync_gains_no_more_than_the_call_blocks)
{
    CHECK(said_near(scene_says(sync_point(20000, 50000), "host-sync", NULL).gain, 2.0));
    CHECK(!scene_says(sync_point(10000, 50000), "host-sync", NULL).is_said);
}

TEST(rule_host_sync_does_not_count_data_loading)
{
    scene *s = sync_point(300000, 50000);
    scene_host(s, "user_annotation",
               "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 500200, 49000);
    CHECK(!scene_says(s, "host-sync", NULL).is_said);
}

/* -- pageable-copy */

static scene *copy(const char *name, int64_t dur, int64_t hidden)
{
    scene *s = scene_one_step();
    scene_add(
        s, (fixture_event){.track = 8, .cat = "gpu_memcpy", .name = name, .ts = 1000, .dur = dur});
    if (hidden)
        scene_kernel(s, "gemm", 1000, hidden, NULL);
    return s;
}

TEST(rule_pageable_copy_speaks_above_its_share)
{
    const char *name = "Memcpy HtoD (Pageable -> Device)", *rule = "pageable-copy";
    CHECK(!scene_says(copy(name, 5000, 0), rule, NULL).is_said);
    said s = scene_says(copy(name, 5001, 0), rule, NULL);
    CHECK(s.is_said && said_near(s.gain, 0.5001));
    CHECK(!scene_says(copy(name, 9000, 4000), rule, NULL).is_said);
    CHECK(scene_says(copy(name, 9000, 3999), rule, NULL).is_said);
    CHECK(!scene_says(copy("Memcpy HtoD (Pinned -> Device)", 90000, 0), rule, NULL).is_said);
}

/* -- exposed-copy */

TEST(rule_exposed_copy_speaks_of_pinned_memory_above_its_share)
{
    const char *name = "Memcpy DtoH (Device -> Pinned)", *rule = "exposed-copy";
    CHECK(!scene_says(copy(name, 50000, 0), rule, NULL).is_said);
    said s = scene_says(copy(name, 50001, 0), rule, NULL);
    CHECK(s.is_said && said_near(s.gain, 5.0001));
    CHECK(!scene_says(copy(name, 90000, 40000), rule, NULL).is_said);
    CHECK(!scene_says(copy("Memcpy HtoD (Pageable -> Device)", 90000, 0), rule, NULL).is_said);
    CHECK(!scene_says(copy("Memcpy DtoD (Device -> Device)", 90000, 0), rule, NULL).is_said);
}

/* Kernels take a tenth of the step, copies four tenths or eight. */
TEST(rule_gpu_utilization_does_not_call_a_device_idle_that_copies)
{
    for (int i = 0; i < 2; i++) {
        scene *s = copy("Memcpy HtoD (Pinned -> Device)", i ? 800000 : 300000, 0);
        scene_kernel(s, "gemm", 850000, 100000, NULL);
        CHECK_EQ(scene_says(s, "gpu-utilization", "idle-gaps.share=1").is_said, i == 0);
    }
}

/* -- steps that nobody marked */

TEST(findings_speak_of_the_recorded_time_where_no_steps_are_marked)
{
    scene *s = scene_new();
    scene_kernel(s, "gemm", 0, 1000, NULL);
    scene_add(s, (fixture_event){.track = 8,
                                 .cat = "gpu_memcpy",
                                 .name = "Memcpy HtoD (Pageable -> Device)",
                                 .ts = 2000,
                                 .dur = 7000});
    scene_kernel(s, "gemm", 9000, 1000, NULL);
    said found = scene_says(s, "pageable-copy", NULL);
    CHECK(found.is_said && said_holds(found.seen, "of the recorded time"));
    CHECK(!said_holds(found.seen, "step"));
    found = scene_says(copy("Memcpy HtoD (Pageable -> Device)", 90000, 0), "pageable-copy", NULL);
    CHECK(said_holds(found.seen, "copies per step") && said_holds(found.seen, "of the step time"));
}

/* -- allocator-churn */

static scene *allocations(int64_t first, int64_t second)
{
    scene *s = scene_one_step();
    scene_step(s, SCENE_STEP, 2 * SCENE_STEP);
    scene_host(s, "cuda_runtime", "cudaMalloc", 1000, first);
    scene_host(s, "cuda_runtime", "cudaFree", SCENE_STEP + 1000, second);
    return s;
}

TEST(rule_allocator_churn_speaks_above_its_share_behind_the_first_step)
{
    CHECK(!scene_says(allocations(500000, 10000), "allocator-churn", NULL).is_said);
    said s = scene_says(allocations(0, 10001), "allocator-churn", NULL);
    CHECK(s.is_said && said_near(s.gain, 100.0 * 10001 / (2 * SCENE_STEP)));
    CHECK(said_holds(s.seen, "cudaFree of 10.0 µs"));
}

/* -- low-occupancy */

static scene *kernel(const char *name, int64_t dur, const char *args)
{
    scene *s = scene_one_step();
    scene_kernel(s, name, 0, dur, args);
    return s;
}

#define FEW    "{\"device\": 0, \"blocks per SM\": 0.25, \"est. achieved occupancy %\": 3}"
#define ENOUGH "{\"device\": 0, \"blocks per SM\": 1, \"est. achieved occupancy %\": 15}"
#define LOW    "{\"device\": 0, \"blocks per SM\": 1, \"est. achieved occupancy %\": 14.9}"

TEST(rule_low_occupancy_speaks_of_few_blocks_above_its_share)
{
    CHECK(!scene_says(kernel("add", 300000, FEW), "low-occupancy", NULL).is_said);
    CHECK(scene_says(kernel("add", 300001, FEW), "low-occupancy", NULL).is_said);
    said s = scene_says(kernel("add", 500000, FEW), "low-occupancy", NULL);
    CHECK(said_near(s.gain,
                    18.75)); /* three quarters of 50 %, and the device is busy for half of it */
    CHECK(!scene_says(kernel("add", 900000, ENOUGH), "low-occupancy", NULL).is_said);
}

TEST(rule_low_occupancy_speaks_of_occupancy_without_tensor_cores)
{
    CHECK(!scene_says(kernel("add", 300000, LOW), "low-occupancy", NULL).is_said);
    said s = scene_says(kernel("add", 300001, LOW), "low-occupancy", NULL);
    CHECK(s.is_said && isnan(s.gain));
    CHECK(!scene_says(kernel("h16816gemm", 900000, LOW), "low-occupancy", NULL).is_said);
    CHECK(
        !scene_says(kernel("ncclDevKernel_AllReduce", 900000, LOW), "low-occupancy", NULL).is_said);
    CHECK(!scene_says(kernel("add", 900000, LOW), "low-occupancy", "low-occupancy.occupancy=14")
               .is_said);
}

/* -- idle-gaps */

static scene *gaps(int64_t first, int64_t second)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 300000, NULL);
    scene_host(s, "cpu_op", "aten::nonzero", 300000, first);
    scene_kernel(s, "gemm", 300000 + first, 600000 - first, NULL);
    scene_kernel(s, "gemm", 900000 + second, SCENE_STEP - 900000 - second, NULL);
    return s;
}

TEST(rule_idle_gaps_speaks_above_its_share)
{
    CHECK(!scene_says(gaps(100000, 0), "idle-gaps", NULL).is_said);
    said s = scene_says(gaps(100001, 0), "idle-gaps", NULL);
    CHECK(s.is_said && said_near(s.gain, 10.0001));
    CHECK(said_holds(s.seen, "100 % in operators") &&
          said_holds(s.seen, "while the host is in aten::nonzero"));
}

TEST(rule_idle_gaps_counts_long_gaps_only)
{
    CHECK(!scene_says(gaps(99999, 99999), "idle-gaps", NULL).is_said);
    CHECK(scene_says(gaps(99999, 99999), "idle-gaps", "idle-gaps.gap_us=99").is_said);
}

TEST(rule_gpu_utilization_leaves_it_to_idle_gaps_where_they_explain_it)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 300000, NULL);
    CHECK_STR(scenes_rules(&s, 1, NULL), "idle-gaps");
}

/* -- slow-steps and warm-up */

static scene *steps(const int64_t *lengths, size_t count)
{
    scene *s = scene_new();
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        scene_step(s, at, at + lengths[i]);
        scene_host(s, "cpu_op", "aten::add", at, lengths[i]);
        at += lengths[i];
    }
    return s;
}

#define STEPS(...)                                                                                 \
    steps((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

TEST(rule_slow_steps_speaks_above_its_factor)
{
    CHECK(!scene_says(STEPS(1000, 1000, 1000, 1000, 1500), "slow-steps", NULL).is_said);
    said s = scene_says(STEPS(1000, 1000, 1000, 1000, 1501), "slow-steps", NULL);
    CHECK(s.is_said && said_near(s.gain, 100.0 * 501 / 5501));
    CHECK(said_holds(s.seen, "step 5 takes 1.50 µs") && said_holds(s.seen, "in CPU Exec"));
}

TEST(rule_slow_steps_wants_steps_to_compare_with)
{
    CHECK(!scene_says(STEPS(1000, 1000, 1000, 9000), "slow-steps", NULL).is_said);
    CHECK(scene_says(STEPS(1000, 1000, 1000, 9000), "slow-steps", "slow-steps.steps=3").is_said);
    CHECK(!scene_says(STEPS(9000, 1000, 1000, 1000, 1000), "slow-steps", NULL).is_said);
}

TEST(rule_warm_up_speaks_above_its_factor)
{
    CHECK(!scene_says(STEPS(1500, 1000, 1000), "warm-up", NULL).is_said);
    said s = scene_says(STEPS(1501, 1000, 1000), "warm-up", NULL);
    CHECK(s.is_said && isnan(s.gain));
    CHECK_STR(s.severity, "info");
    CHECK(!scene_says(STEPS(9000, 1000), "warm-up", NULL).is_said); /* one other is not enough */
    CHECK(!scene_says(STEPS(1000, 1000, 9000), "warm-up", NULL).is_said);
}

/* Four steps; in the first one the device waits for a million before it begins. */
TEST(rule_warm_up_takes_its_idle_time_from_advice_for_every_step)
{
    scene *s = scene_new();
    for (int64_t i = 0, at = 0; i < 4; i++) {
        int64_t idle = i == 0 ? 1000000 : 0;
        scene_step(s, at, at + idle + 1000000);
        if (idle)
            scene_host(s, "cpu_op", "aten::empty", at, idle);
        scene_kernel(s, "gemm", at + idle, 1000000, NULL);
        at += idle + 1000000;
    }
    const char *rules = scenes_rules(&s, 1, NULL);
    CHECK(said_holds(rules, "warm-up") && !said_holds(rules, "idle-gaps"));
}

/* -- missing-information */

TEST(rule_missing_information_lists_what_is_not_there)
{
    scene *s = scene_new();
    scene_host(s, "cpu_op", "aten::add", 0, 100);
    said a = scene_says(s, "missing-information", NULL);
    CHECK(a.is_said);
    CHECK_STR(a.seen, "not recorded: steps, input shapes, Python stacks, memory");
    CHECK_STR(a.severity, "info");
}

TEST(rule_missing_information_is_silent_when_all_is_there)
{
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "aten::add", 200, 100)->args = "{\"Input Dims\": [[2]]}";
    scene_host(s, "python_function", "nn.Module: Linear_0", 100, 500);
    scene_host(s, "python_function", "train.py(1): main", 50, 700);
    fixture_event *memory = scene_host(s, "cpu_instant_event", "[memory]", 210, 0);
    memory->ph = 'i';
    CHECK(!scene_says(s, "missing-information", NULL).is_said);
}

TEST(rule_missing_information_is_about_operators)
{
    scene *s = scene_new();
    scene_kernel(s, "gemm", 0, 100, NULL);
    CHECK(!scene_says(s, "missing-information", NULL).is_said);
}
