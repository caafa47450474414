/* test_rules_settle.c - findings of one rank never count the same time twice, spans inside spans
 * are not added, waiting for a slow rank is not slow communication, and advice fits the program. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rule/settle.h"
#include "unit/rules_scene.h"
#include "unit/test.h"

/* -- who keeps the time */

static uint32_t rule_named(const char *name)
{
    const kino__rule_def *rule;
    for (uint32_t i = 0; (rule = kino__rule_at(i)); i++)
        if (strcmp(rule->name, name) == 0)
            return i;
    REQUIRE(false);
    return 0;
}

/* A finding of this rule that gains all of [start, end). */
static void add(kino__findings *all, const char *rule, int64_t start, int64_t end)
{
    all->rule = rule_named(rule);
    all->step_time = 1000;
    kino__finding *f = kino__finding_add(all, KINO__SEVERITY_HIGH, end - start);
    kino__finding_claim(all, f, (kino__interval){start, end});
}

/* "rule gain, rule gain" of what is left; empties the list. */
static const char *settled(kino__findings *all)
{
    static char text[256];
    size_t used = 0;
    text[0] = 0;
    REQUIRE(kino__findings_settle(all));
    for (size_t i = 0; i < all->items.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %lld", i ? ", " : "",
                                 kino__rule_at(all->items.items[i].rule)->name,
                                 (long long)all->items.items[i].gain);
    kino__vec_deinit(&all->items);
    *all = (kino__findings){0};
    return text;
}

TEST(of_two_findings_about_the_same_time_the_one_nearer_to_the_cause_stays)
{
    kino__findings all = {0};
    add(&all, "gpu-utilization", 0, 500);
    add(&all, "host-sync", 100, 500);
    CHECK_STR(settled(&all), "host-sync 400");
    add(&all, "host-sync", 100, 500);
    add(&all, "gpu-utilization", 0, 500); /* whoever spoke first */
    CHECK_STR(settled(&all), "host-sync 400");
}

TEST(a_finding_that_keeps_half_of_its_time_gains_that_half)
{
    kino__findings all = {0};
    add(&all, "gpu-utilization", 0, 500);
    add(&all, "host-sync", 250, 500);
    CHECK_STR(settled(&all), "gpu-utilization 250, host-sync 250");
    add(&all, "gpu-utilization", 0, 500);
    add(&all, "host-sync", 249, 500);
    CHECK_STR(settled(&all), "host-sync 251");
}

TEST(several_findings_together_explain_a_symptom)
{
    kino__findings all = {0};
    add(&all, "gpu-utilization", 0, 900);
    add(&all, "data-loading", 0, 300);
    add(&all, "launch-bound", 300, 600);
    CHECK_STR(settled(&all), "data-loading 300, launch-bound 300");
}

TEST(a_finding_gains_no_more_than_the_time_it_is_about)
{
    kino__findings all = {.rule = rule_named("host-sync"), .step_time = 1000};
    kino__finding *f = kino__finding_add(&all, KINO__SEVERITY_HIGH, 5000);
    kino__finding_claim(&all, f, (kino__interval){10, 20});
    kino__finding_claim(&all, f, (kino__interval){15, 30}); /* counts once */
    CHECK_STR(settled(&all), "host-sync 20");
}

TEST(findings_that_claim_nothing_stay_as_they_are)
{
    kino__findings all = {.rule = rule_named("memory-limit"), .step_time = 1000};
    (void)kino__finding_add(&all, KINO__SEVERITY_MEDIUM, KINO_NO_INT);
    add(&all, "host-sync", 0, 10);
    all.items.items[0].gain = 7;
    CHECK_STR(settled(&all), "memory-limit 7, host-sync 10");
}

/* -- spans inside spans */

/* An optimizer that calls another one: 300 us around 200 us of 120 small kernels. */
static scene *nested_optimizer(bool is_nested)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "Optimizer.step#Outer.step", 100000, 300000);
    if (is_nested)
        scene_host(s, "user_annotation", "Optimizer.step#Adam.step", 150000, 200000);
    for (int i = 0; i < 120; i++)
        scene_launch(s, "aten::add_", 150000 + i * 1600, 1000, "kernel", "add", 151000 + i * 1600,
                     100);
    return s;
}

TEST(an_optimizer_inside_another_is_not_counted_twice)
{
    const char *rule = "single-tensor-optimizer";
    said plain = scene_says(nested_optimizer(false), rule, NULL);
    said nested = scene_says(nested_optimizer(true), rule, NULL);
    CHECK(plain.is_said && nested.is_said);
    CHECK(said_holds(nested.seen, "Optimizer.step takes 300 µs (30.0 % of the step time)"));
    CHECK_STR(nested.seen, plain.seen);
    CHECK(fabs(nested.gain - plain.gain) < 1e-9);
}

/* -- ranks */

static scene *rank_of(int64_t number, int64_t loader, int64_t own, int64_t communication)
{
    scene *s = scene_new();
    int64_t length = loader + own + communication;
    s->rank = number;
    for (int64_t at = 0; at < 3 * length; at += length) {
        scene_step(s, at, at + length);
        if (loader)
            scene_host(s, "user_annotation",
                       "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, loader);
        scene_kernel(s, "gemm", at + loader, own, NULL);
        scene_kernel(s, "ncclDevKernel_AllReduce", at + loader + own, communication, NULL);
    }
    return s;
}

TEST(waiting_for_a_slow_rank_is_not_slow_communication)
{
    scene *ranks[] = {rank_of(0, 0, 1000000, 310000), rank_of(1, 0, 1300000, 10000),
                      rank_of(2, 0, 1000000, 310000)};
    CHECK_STR(scenes_rules(ranks, 3, NULL), "straggler");
}

/* The same, computing in ten pointwise kernels that could be one. */
static scene *rank_of_pointwise(int64_t number, int64_t own, int64_t communication)
{
    scene *s = scene_new();
    s->rank = number;
    scene_step(s, 0, own + communication);
    for (int64_t i = 0; i < 10; i++)
        scene_launch(s, "aten::add", i * own / 10, 100, "kernel",
                     "void at::native::vectorized_elementwise_kernel<4, at::native::add>",
                     i * own / 10, own / 10);
    scene_kernel(s, "ncclDevKernel_AllReduce", own, communication, NULL);
    return s;
}

TEST(slow_rank_comes_before_what_kernels_could_be)
{
    scene *ranks[] = {rank_of_pointwise(0, 1000000, 310000), rank_of_pointwise(1, 1300000, 10000),
                      rank_of_pointwise(2, 1000000, 310000)};
    const char *rules = scenes_rules(ranks, 3, NULL);
    CHECK(strncmp(rules, "straggler", 9) == 0 && said_holds(rules, "pointwise-kernels"));
}

TEST(communication_beside_the_waiting_is_still_told)
{
    scene *ranks[] = {rank_of(0, 0, 1000000, 600000), rank_of(1, 0, 1200000, 400000),
                      rank_of(2, 0, 1000000, 600000)};
    CHECK_STR(scenes_rules(ranks, 3, NULL), "straggler communication");
    scene *again[] = {rank_of(0, 0, 1000000, 600000), rank_of(1, 0, 1200000, 400000),
                      rank_of(2, 0, 1000000, 600000)};
    said s = scenes_say(again, 3, "communication", NULL);
    CHECK(s.is_said && fabs(s.gain - 25) < 1e-6); /* 400000 of 1600000, on every rank */
    CHECK_STR(s.ranks, "[0, 1, 2]");
}

/* What communication could bring is an upper bound: a loader that takes nearly as much is first. */
TEST(a_cause_comes_before_a_kind_of_work_that_brings_little_more)
{
    scene *close = rank_of(0, 100000, 790000, 110000);
    CHECK(strncmp(scenes_rules(&close, 1, NULL), "data-loading communication", 26) == 0);
    scene *apart = rank_of(0, 100000, 740000, 160000);
    CHECK(strncmp(scenes_rules(&apart, 1, NULL), "communication data-loading", 26) == 0);
}

TEST(a_loader_that_is_slow_on_one_rank_is_that_ranks)
{
    scene *ranks[] = {rank_of(0, 0, 1000000, 310000), rank_of(1, 300000, 1000000, 10000),
                      rank_of(2, 0, 1000000, 310000)};
    CHECK_STR(scenes_rules(ranks, 3, NULL), "straggler");
    scene *again[] = {rank_of(0, 0, 1000000, 310000), rank_of(1, 300000, 1000000, 10000),
                      rank_of(2, 0, 1000000, 310000)};
    said s = scenes_say(again, 3, "straggler", NULL);
    CHECK(said_holds(s.title, "rank 1 is the slowest") &&
          said_holds(s.seen, "its data loader takes 300 µs"));
}

TEST(numbers_of_one_rank_are_said_to_be_its)
{
    scene *ranks[] = {rank_of(0, 200000, 800000, 0), rank_of(1, 250000, 750000, 0)};
    said s = scenes_say(ranks, 2, "data-loading", NULL);
    CHECK(s.is_said &&
          said_holds(s.seen, "rank 1 (the largest of 2 ranks): 25.0 % of the step time"));
    scene *alone = rank_of(0, 200000, 800000, 0);
    s = scene_says(alone, "data-loading", NULL);
    CHECK(s.is_said && said_holds(s.seen, "20.0 % of the step time") &&
          !said_holds(s.seen, "rank"));
}

/* -- advice that fits */

/* 40 small kernels, each launched by a call of this name, with gaps between them. */
static scene *launches(const char *call, const char *op)
{
    scene *s = scene_new();
    scene_step(s, 0, 40 * 50000);
    for (int i = 0; i < 40; i++) {
        int64_t id = s->next++;
        if (op)
            scene_host(s, "cpu_op", op, i * 50000, 3000);
        scene_add(s, (fixture_event){.track = 1,
                                     .cat = "cuda_runtime",
                                     .name = call,
                                     .ts = i * 50000 + 1000,
                                     .dur = 1000,
                                     .bind = id,
                                     .external = id});
        scene_add(s, (fixture_event){.track = 7,
                                     .cat = "kernel",
                                     .name = "work",
                                     .ts = i * 50000 + 3000,
                                     .dur = 20000,
                                     .bind = id,
                                     .external = id,
                                     .args = "{\"device\": 0}"});
    }
    return s;
}

TEST(advice_about_launches_fits_the_program)
{
    const char *rule = "launch-bound";
    said torch = scene_says(launches("cudaLaunchKernel", "aten::add"), rule, NULL);
    CHECK(torch.is_said && said_holds(torch.advice, "torch.compile") &&
          said_holds(torch.advice, "CUDA graphs") && !said_holds(torch.advice, "optimizer"));
    said trains = scene_says(
        launches("cudaLaunchKernel", "autograd::engine::evaluate_function: AddBackward0"), rule,
        NULL);
    CHECK(trains.is_said && said_holds(trains.advice, "a fused optimizer"));
}

/* The step of the scene is PyTorch's: without it the program is one of its own. */
static scene *own_program(const char *call)
{
    scene *s = launches(call, NULL);
    s->events.items[0].name = "main loop";
    s->events.items[0].cat = "cpu_op";
    return s;
}

TEST(advice_for_programs_of_their_own_names_no_framework)
{
    static const char *const calls[] = {"cudaLaunchKernel", "hipLaunchKernel",
                                        "clEnqueueNDRangeKernel",
                                        "zeCommandListAppendLaunchKernel"};
    static const char *const words[] = {"cudaGraphLaunch", "hipGraphLaunch",
                                        "cl_khr_command_buffer", "enqueue"};
    for (int i = 0; i < 4; i++) {
        said s = scene_says(own_program(calls[i]), "launch-bound", NULL);
        CHECK(s.is_said && said_holds(s.advice, words[i]) && !said_holds(s.advice, "torch"));
        CHECK(i == 0 || !said_holds(s.advice, "CUDA"));
        CHECK(!scene_says(own_program(calls[i]), "missing-information", NULL).is_said);
    }
}

TEST(a_loader_without_a_device_needs_no_pinned_memory)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
               0, 300000);
    scene_host(s, "cpu_op", "aten::mm", 300000, 700000);
    said cpu = scene_says(s, "data-loading", NULL);
    CHECK(cpu.is_said && said_holds(cpu.advice, "num_workers") &&
          !said_holds(cpu.advice, "pin_memory"));
    said gpu = scene_says(rank_of(0, 300000, 700000, 0), "data-loading", NULL);
    CHECK(gpu.is_said && said_holds(gpu.advice, "pin_memory=True"));
}

/* -- kernels that could be fewer */

/* Kernels back to back, all of them busy: `count` pointwise ones in a row, then one product. */
static scene *pointwise(int count, int64_t each, int64_t product)
{
    scene *s = scene_new();
    int64_t at = 0;
    scene_step(s, 0, count * each + product);
    for (int i = 0; i < count; i++, at += each)
        scene_launch(s, i % 3 ? "aten::mul" : "aten::add", at, 100, "kernel",
                     "void at::native::vectorized_elementwise_kernel<4, at::native::add>", at + 100,
                     each - 100);
    scene_launch(s, "aten::mm", at, 100, "kernel", "sm90_xmma_gemm_bf16", at + 100, product - 100);
    return s;
}

/* Kernels of a multiplication of 4 MiB by 4 MiB, each right behind the one before: what the first
 * two write, the next ones read. */
TEST(rule_pointwise_kernels_says_the_bytes_between_kernels)
{
    static const char dims[] = "{\"Input type\": [\"float\", \"float\"], "
                               "\"Input Dims\": [[1024, 1024], [1024, 1024]]}";
    for (int is_known = 0; is_known < 2; is_known++) {
        scene *s = scene_one_step();
        for (int i = 0; i < 3; i++) {
            fixture_event *op =
                scene_launch(s, "aten::mul", 100 + i * 100, 50, "kernel",
                             "void at::native::vectorized_elementwise_kernel<4, at::native::mul>",
                             100000 + i * 100000, 100000);
            if (is_known)
                op->args = dims;
        }
        said got = scene_says(s, "pointwise-kernels", NULL);
        CHECK(got.is_said);
        /* 2 x (4 MiB written, 4 MiB read) */
        CHECK_EQ(said_holds(got.seen, "16.8 MB less"), is_known != 0);
        CHECK_EQ(said_holds(got.seen, "less"), is_known != 0);
    }
}

TEST(rule_pointwise_kernels_speaks_above_its_shares)
{
    const char *rule = "pointwise-kernels";
    said s = scene_says(pointwise(10, 50000, 500000), rule, NULL);
    CHECK(s.is_said && said_holds(s.seen, "50.0 % of the kernel time") &&
          said_holds(s.seen, "aten::mul"));
    CHECK(said_holds(s.seen, "9 of them directly follow another"));
    CHECK(said_holds(s.advice, "torch.compile") && said_holds(s.advice, "inference_mode"));
    CHECK(fabs(s.gain - 45) < 1); /* of ten equal ones nine */
    CHECK(!scene_says(pointwise(10, 50000, 1600000), rule, NULL).is_said);
    CHECK(scene_says(pointwise(10, 50000, 1400000), rule, NULL).is_said);
    CHECK(!scene_says(pointwise(1, 500000, 500000), rule, NULL).is_said); /* nothing to fuse */
}

/* The same with a copy of `copy` behind each but the last of three pointwise kernels. */
static scene *mixed(int64_t each, int64_t copy, int64_t product)
{
    scene *s = scene_new();
    int64_t at = 0;
    scene_step(s, 0, 3 * each + 2 * copy + product);
    for (int i = 0; i < 3; i++) {
        scene_launch(s, "aten::mul", at, 100, "kernel",
                     "void at::native::vectorized_elementwise_kernel<4, at::native::add>", at + 100,
                     each - 100);
        at += each;
        if (i < 2)
            scene_launch(
                s, "aten::contiguous", at, 100, "kernel",
                "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>",
                at + 100, copy - 100);
        at += i < 2 ? copy : 0;
    }
    scene_launch(s, "aten::mm", at, 100, "kernel", "sm90_xmma_gemm_bf16", at + 100, product - 100);
    return s;
}

TEST(rule_pointwise_kernels_fuses_the_copies_among_them)
{
    said s = scene_says(mixed(100000, 100000, 500000), "pointwise-kernels", NULL);
    CHECK(s.is_said && said_holds(s.seen, "30.0 % of the kernel time"));
    CHECK(said_holds(s.seen, "including 2 copies"));
    CHECK(fabs(s.gain - 40) < 1); /* of a row of five equal ones four */
    CHECK(!scene_says(mixed(100000, 100000, 500000), "casts-and-copies", NULL).is_said);
}

TEST(rule_casts_and_copies_speaks_where_copies_are_the_most)
{
    said s = scene_says(mixed(100000, 200000, 300000), "casts-and-copies", NULL);
    CHECK(s.is_said && said_holds(s.seen, "mostly layout changes"));
    CHECK(fabs(s.gain - 40) < 1);
    s = scene_says(mixed(100000, 200000, 300000), "pointwise-kernels", NULL);
    CHECK(s.is_said && fabs(s.gain - 20) < 1); /* of three equal ones two */
}

/* A cast of `dur` and a product. */
static scene *cast(int64_t dur, int64_t product)
{
    scene *s = scene_new();
    scene_step(s, 0, dur + product);
    scene_launch(
        s, "aten::_to_copy", 0, 100, "kernel",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>", 100,
        dur - 100);
    scene_launch(s, "aten::mm", dur, 100, "kernel", "sm90_xmma_gemm_bf16", dur + 100,
                 product - 100);
    return s;
}

TEST(rule_casts_and_copies_speaks_above_its_shares)
{
    const char *rule = "casts-and-copies";
    said s = scene_says(cast(100000, 900000), rule, NULL);
    CHECK(s.is_said && said_holds(s.seen, "mostly casts") &&
          said_holds(s.advice, "torch.bfloat16"));
    CHECK(fabs(s.gain - 10) < 0.5);
    CHECK(!scene_says(cast(79000, 921000), rule, NULL).is_said);
    CHECK(scene_says(cast(82000, 918000), rule, NULL).is_said);
}

/* -- start-up */

static scene *first_call(int64_t dur)
{
    scene *s = scene_new();
    scene_host(s, "cpu_op", "aten::empty", 0, 1000000000);
    scene_host(s, "cuda_runtime", "cudaFree", 0, dur);
    scene_kernel(s, "add", 999000000, 1000000, NULL);
    return s;
}

TEST(rule_start_up_explains_a_device_that_is_idle)
{
    scene *s = first_call(800000000);
    CHECK_STR(scenes_rules(&s, 1, NULL), "start-up missing-information");
    CHECK(!scene_says(first_call(299000000), "start-up", NULL).is_said);
    said f = scene_says(first_call(301000000), "start-up", NULL);
    CHECK(f.is_said && said_holds(f.seen, "cudaFree") && isnan(f.gain));
}

/* -- work that is queued */

/* The kernel of the launch starts only half a step later. */
static scene *queued(int64_t launched)
{
    scene *s = scene_one_step();
    scene_launch(s, "aten::mm", launched, 1000, "kernel", "gemm", 600000, 390000);
    return s;
}

TEST(the_host_is_not_to_blame_while_work_is_queued)
{
    CHECK(!scene_says(queued(1000), "idle-gaps", NULL).is_said);
    said late = scene_says(queued(590000), "idle-gaps", NULL);
    CHECK(late.is_said && fabs(late.gain - 60) < 0.2);
}
