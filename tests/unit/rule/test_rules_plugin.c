/* test_rules_plugin.c - the TensorBoard plugin's seven rules, just below and just above each of
 * their thresholds. A step takes 1 ms. */
#include <math.h>

#include "unit/rules_scene.h"
#include "unit/test.h"

static scene *loading(int64_t dur)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "enumerate(DataPipe)#Shuffler", 1000, dur);
    return s;
}

TEST(rule_data_loading_speaks_above_its_share)
{
    CHECK(!scene_says(loading(50000), "data-loading", NULL).is_said);
    said s = scene_says(loading(50001), "data-loading", NULL);
    CHECK(s.is_said && said_near(s.gain, 5.0001));
    CHECK(said_holds(s.seen, "5.0 % of the step time"));
    CHECK_STR(s.evidence, "[1]");
    CHECK(!scene_says(loading(300000), "data-loading", "data-loading.share=0.3").is_said);
    CHECK_STR(scene_says(loading(200001), "data-loading", NULL).severity, "high");
    CHECK_STR(scene_says(loading(200000), "data-loading", NULL).severity, "medium");
}

TEST(rule_data_loading_names_the_step_that_waits)
{
    scene *s = scene_new();
    for (int i = 0; i < 4; i++) {
        scene_step(s, i * SCENE_STEP, (i + 1) * SCENE_STEP);
        scene_host(s, "user_annotation", "enumerate(DataPipe)#Shuffler", i * SCENE_STEP,
                   i == 2 ? 700000 : 10000);
    }
    said a = scene_says(s, "data-loading", NULL);
    CHECK(a.is_said && said_holds(a.seen, "step 3 alone waits 700 µs"));
}

static scene *data_parallel(bool has_two)
{
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "DataParallel.forward", 100, 1000);
    scene_kernel(s, "gemm", 200, 900000, NULL);
    if (has_two) /* a process of its own for each device */
        scene_add(s, (fixture_event){.track = 9,
                                     .cat = "kernel",
                                     .name = "gemm",
                                     .ts = 200,
                                     .dur = 900000,
                                     .args = "{\"device\": 1}"});
    return s;
}

TEST(rule_data_parallel_wants_two_devices)
{
    CHECK(!scene_says(data_parallel(false), "data-parallel", NULL).is_said);
    said s = scene_says(data_parallel(true), "data-parallel", NULL);
    CHECK(s.is_said && isnan(s.gain));
    CHECK_STR(s.evidence, "[1]");
}

static scene *distributed(const char *collective, const char *devices)
{
    scene *s = scene_one_step();
    s->devices = devices;
    scene_host(s, "cpu_op", "DistributedDataParallel.forward", 100, 1000);
    scene_host(s, "cpu_op", collective, 2000, 1000);
    return s;
}

TEST(rule_nccl_backend_wants_a_device_that_nccl_serves)
{
    const char *below = "[{\"computeMajor\": 3, \"computeMinor\": 4}]";
    const char *above =
        "[{\"computeMajor\": 3, \"computeMinor\": 4}, {\"computeMajor\": 3, \"computeMinor\": 5}]";
    CHECK(!scene_says(distributed("gloo:all_reduce", below), "nccl-backend", NULL).is_said);
    CHECK(scene_says(distributed("gloo:all_reduce", above), "nccl-backend", NULL).is_said);
    CHECK(!scene_says(distributed("nccl:all_reduce", above), "nccl-backend", NULL).is_said);
    CHECK(!scene_says(distributed("gloo:all_reduce", NULL), "nccl-backend", NULL).is_said);
}

TEST(rule_nccl_backend_knows_nccl_by_its_kernels)
{
    scene *s = distributed("forward", "[{\"computeMajor\": 9, \"computeMinor\": 0}]");
    scene_kernel(s, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1000, 500, NULL);
    CHECK(!scene_says(s, "nccl-backend", NULL).is_said);
    s = distributed("forward", "[{\"computeMajor\": 9, \"computeMinor\": 0}]");
    scene_kernel(s, "gemm", 1000, 500, NULL);
    CHECK(scene_says(s, "nccl-backend", NULL).is_said);
}

static scene *communicating(int64_t dur)
{
    scene *s = scene_one_step();
    scene_kernel(s, "ncclDevKernel_AllReduce", 1000, dur, NULL);
    return s;
}

TEST(rule_communication_speaks_above_its_share)
{
    CHECK(!scene_says(communicating(100000), "communication", NULL).is_said);
    said s = scene_says(communicating(100001), "communication", NULL);
    CHECK(s.is_said && said_near(s.gain, 10.0001));
}

static scene *busy(int64_t dur)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, dur, NULL);
    return s;
}

TEST(rule_gpu_utilization_speaks_below_its_share)
{
    const char *alone = "idle-gaps.share=1"; /* which would explain it */
    CHECK(!scene_says(busy(500000), "gpu-utilization", alone).is_said);
    said s = scene_says(busy(499999), "gpu-utilization", alone);
    CHECK(s.is_said);
    CHECK(fabs(s.gain - 25) < 0.001); /* half of the idle half */
    CHECK(said_holds(s.seen, "device 0: kernels run 50.0 % of the time"));
    CHECK(!scene_says(scene_one_step(), "gpu-utilization", NULL).is_said); /* no device, no rule */
}

TEST(rule_gpu_utilization_does_not_blame_the_host_for_work_that_waits_on_the_device)
{
    scene *s = scene_one_step();
    for (int i = 0; i < 4; i++) /* each waits 200 us for something that was not recorded */
        scene_launch(s, "aten::mm", 100 + 1000 * i, 50, "kernel", "gemm", 200000 + 250000 * i,
                     50000);
    said found = scene_says(s, "gpu-utilization", NULL);
    CHECK(found.is_said && isnan(found.gain));
    CHECK(said_holds(found.seen, "it had work that was launched already"));
    CHECK(!said_holds(found.advice, "launch less") && said_holds(found.advice, "timeline"));
}

static scene *product(const char *devices, const char *op, const char *kernel)
{
    scene *s = scene_one_step();
    s->devices = devices;
    scene_launch(s, op, 100, 50, "kernel", kernel, 1000, 600000);
    return s;
}

TEST(rule_mixed_precision_wants_tensor_cores_and_eligible_operators)
{
    const char *volta = "[{\"computeMajor\": 7}]", *pascal = "[{\"computeMajor\": 6}]";
    said s = scene_says(product(volta, "aten::mm", "sgemm"), "mixed-precision", NULL);
    CHECK(s.is_said && said_holds(s.seen, "100 %"));
    CHECK(said_near(s.gain, 18)); /* half of 60 %, and the device is busy for 60 % of the time */
    s = scene_says(product(volta, "aten::mm", "sgemm"), "mixed-precision",
                   "mixed-precision.speedup=4");
    CHECK(said_near(s.gain, 27));
    CHECK(!scene_says(product(pascal, "aten::mm", "sgemm"), "mixed-precision", NULL).is_said);
    CHECK(!scene_says(product(volta, "aten::add", "add"), "mixed-precision", NULL).is_said);
    CHECK(!scene_says(product(volta, "aten::mm", "h884gemm"), "mixed-precision", NULL).is_said);
}

static scene *memory(const char *args)
{
    scene *s = scene_one_step();
    s->devices = "[{\"totalGlobalMem\": 1000}]";
    fixture_event *event = scene_host(s, "cpu_instant_event", "[memory]", 100, 0);
    event->ph = 'i';
    event->args = args;
    return s;
}

TEST(rule_memory_limit_speaks_above_its_share)
{
    CHECK(!scene_says(memory("{\"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 900}"),
                      "memory-limit", NULL)
               .is_said);
    said s = scene_says(memory("{\"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 901}"),
                        "memory-limit", NULL);
    CHECK(s.is_said && isnan(s.gain));
    CHECK(said_holds(s.seen, "90.1 % of"));
}

TEST(rule_memory_limit_counts_host_memory_as_the_plugin_does_in_compat_mode_only)
{
    const char *args = "{\"Device Type\": 0, \"Device Id\": -1, \"Total Allocated\": 999}";
    CHECK(!scene_says(memory(args), "memory-limit", NULL).is_said);
    scene *s = memory(args);
    CHECK_STR(scenes_rules(&s, 1, "tensorboard"), "memory-limit");
}
