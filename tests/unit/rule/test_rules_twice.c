/* test_rules_twice.c - no finding counts a moment twice.
 *
 * For each rule that adds up time a scene in which it speaks; then the same scene with everything
 * done twice at once (a second thread and second streams), and with every span of the host inside
 * another of its name. Neither covers more time than the plain one: shares and gains stay. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/rules_scene.h"
#include "unit/test.h"

enum { SECOND_THREAD = 2, MORE_STREAMS = 10, MORE_IDS = 1000000 };

#define AMPERE "[{\"id\": 0, \"computeMajor\": 8, \"computeMinor\": 0}]"
#define FP32   "{\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[8, 8], [8, 8]]}"
#define ODD    "{\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[3, 8, 8], [3, 8, 9]]}"
#define LOADER "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

/* -- scenes in which one rule speaks */

static scene *loading(void)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", LOADER, 100000, 300000);
    return s;
}

static scene *short_loading(void)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", LOADER, 100000, 30000);
    return s;
}

static scene *filling(void)
{
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "aten::zeros", 100, 50);
    scene_host(s, "cpu_op", "aten::zero_", 110, 20);
    scene_host(s, "cpu_op", "aten::to", 200, 300000);
    scene_host(s, "cpu_op", "aten::_to_copy", 210, 299980);
    scene_launch(s, "aten::copy_", 220, 299960, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
                 200000, 300000);
    return s;
}

static scene *indexing(void)
{
    scene *s = scene_one_step();
    for (int i = 0; i < 20; i++) {
        scene_host(s, "cpu_op", "aten::select", i * 20000, 8000);
        scene_host(s, "cpu_op", "aten::mul", i * 20000 + 10000, 8000);
    }
    return s;
}

static scene *product(const char *args)
{
    scene *s = scene_one_step();
    s->devices = AMPERE;
    scene_launch(s, "aten::mm", 100, 50, "kernel", "ampere_sgemm", 1000, 400000)->args = args;
    scene_kernel(s, "ampere_h16816gemm", 500000, 100, NULL); /* uses tensor cores */
    return s;
}

static scene *fp32_product(void)
{
    return product(FP32);
}

static scene *odd_product(void)
{
    return product(ODD);
}

static scene *optimizing(void)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "Optimizer.step#SGD.step", 100000, 300000);
    for (int i = 0; i < 120; i++)
        scene_launch(s, "aten::add_", 150000 + i * 1600, 1000, "kernel", "add", 151000 + i * 1600,
                     100);
    return s;
}

static scene *zeroing(void)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 1000, 300000);
    scene_launch(s, "aten::zero_", 1100, 200000, "kernel", "fill", 150000, 300000);
    return s;
}

static scene *biased(void)
{
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "aten::conv2d", 1000, 300)->args =
        "{\"Input Dims\": [[8, 3, 32, 32], [64, 3, 3, 3], [64], [], []]}";
    scene_launch(s, "aten::add_", 1100, 100, "kernel", "add", 2000, 400000);
    scene_host(s, "cpu_op", "aten::batch_norm", 1400, 300);
    return s;
}

static scene *copying(void)
{
    scene *s = scene_one_step();
    scene_launch(s, "aten::_to_copy", 0, 100, "kernel", "at::native::direct_copy_kernel_cuda", 100,
                 300000);
    scene_launch(s, "aten::mm", 400000, 100, "kernel", "gemm", 400100, 300000);
    return s;
}

static scene *pointwise(void)
{
    scene *s = scene_one_step();
    for (int i = 0; i < 10; i++)
        scene_launch(s, "aten::mul", i * 50000, 100, "kernel",
                     "at::native::vectorized_elementwise_kernel", i * 50000 + 100, 40000);
    scene_launch(s, "aten::mm", 600000, 100, "kernel", "gemm", 600100, 300000);
    return s;
}

static scene *communicating(void)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 500000, NULL);
    scene_kernel(s, "ncclDevKernel_AllReduce", 500000, 400000, NULL);
    return s;
}

static scene *waiting(void)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 500000, NULL);
    scene_host(s, "cuda_runtime", "cudaStreamSynchronize", 200000, 300000);
    scene_kernel(s, "gemm", 600000, 400000, NULL);
    return s;
}

static scene *pageable(void)
{
    scene *s = scene_one_step();
    scene_add(s, (fixture_event){.track = 8,
                                 .cat = "gpu_memcpy",
                                 .name = "Memcpy HtoD (Pageable -> Device)",
                                 .ts = 1000,
                                 .dur = 400000});
    return s;
}

static scene *copying_pinned(void)
{
    scene *s = scene_one_step();
    scene_add(s, (fixture_event){.track = 8,
                                 .cat = "gpu_memcpy",
                                 .name = "Memcpy DtoH (Device -> Pinned)",
                                 .ts = 1000,
                                 .dur = 400000});
    return s;
}

static scene *allocating(void)
{
    scene *s = scene_one_step();
    scene_step(s, SCENE_STEP, 2 * SCENE_STEP);
    scene_host(s, "cuda_runtime", "cudaMalloc", SCENE_STEP + 1000, 600000);
    return s;
}

static scene *few_blocks(void)
{
    scene *s = scene_one_step();
    scene_kernel(s, "gemm", 0, 600000, "{\"device\": 0, \"blocks per SM\": 0.25}");
    return s;
}

static scene *starving(void)
{
    scene *s = scene_one_step();
    for (int i = 0; i < 100; i++)
        scene_launch(s, "aten::add", i * 10000, 9000, "kernel", "k", i * 10000 + 8000, 1500);
    return s;
}

static scene *pausing(void)
{
    scene *s = scene_one_step();
    scene_launch(s, "aten::mm", 0, 100, "kernel", "gemm", 200, 300000);
    scene_launch(s, "aten::mm", 699000, 100, "kernel", "gemm", 700000, 300000);
    return s;
}

static const struct {
    const char *rule;
    scene *(*make)(void);
} cases[] = {
    {"data-loading", loading},
    {"synchronous-loader", short_loading},
    {"extra-copy", filling},
    {"loop-indexing", indexing},
    {"fp32-matmul", fp32_product},
    {"matmul-alignment", odd_product},
    {"single-tensor-optimizer", optimizing},
    {"zeroed-gradients", zeroing},
    {"conv-bias", biased},
    {"casts-and-copies", copying},
    {"pointwise-kernels", pointwise},
    {"communication", communicating},
    {"host-sync", waiting},
    {"pageable-copy", pageable},
    {"exposed-copy", copying_pinned},
    {"allocator-churn", allocating},
    {"low-occupancy", few_blocks},
    {"launch-bound", starving},
    {"idle-gaps", pausing},
};

/* -- twice */

static bool is_step(const fixture_event *e)
{
    return strncmp(e->name, "ProfilerStep#", 13) == 0;
}

static scene *at_once(scene *s)
{
    size_t count = s->events.count;
    for (size_t i = 0; i < count; i++) {
        fixture_event e = s->events.items[i];
        e.track = e.track == 1 ? SECOND_THREAD : e.track + MORE_STREAMS;
        e.bind += e.bind ? MORE_IDS : 0;
        e.external += e.external ? MORE_IDS : 0;
        if (!is_step(&e))
            scene_add(s, e);
    }
    return s;
}

/* The outer one is the old one, and what was launched belongs to the inner one. */
static scene *nested(scene *s)
{
    size_t count = s->events.count;
    for (size_t i = 0; i < count; i++) {
        fixture_event e = s->events.items[i];
        bool is_launch = e.bind != 0;
        if (e.track != 1 || is_step(&e) || is_launch)
            continue;
        s->events.items[i].external = 0;
        e.ts += 2;
        e.dur -= 4;
        scene_add(s, e);
    }
    return s;
}

/* Every percentage of a text: "30.0 %, 2.5 %". */
static const char *shares_of(const char *text)
{
    static char found[2][256];
    static int turn;
    char *out = found[turn++ % 2];
    size_t used = 0;
    out[0] = 0;
    for (const char *at = strstr(text, " %"); at; at = strstr(at + 1, " %")) {
        const char *start = at;
        while (start > text && (start[-1] == '.' || (start[-1] >= '0' && start[-1] <= '9')))
            start--;
        used +=
            (size_t)snprintf(out + used, sizeof found[0] - used, "%.*s ", (int)(at - start), start);
    }
    return out;
}

static void check_same(const char *rule, const char *how, const said *plain, const said *twice)
{
    bool is_same =
        twice->is_said && strcmp(shares_of(twice->seen), shares_of(plain->seen)) == 0 &&
        (isnan(plain->gain) ? isnan(twice->gain) : fabs(twice->gain - plain->gain) < 0.05);
    if (!is_same)
        printf("%s %s: gain %g, was %g\n  %s\n  %s\n", rule, how, twice->gain, plain->gain,
               twice->seen, plain->seen);
    CHECK(is_same);
}

TEST(no_rule_counts_what_runs_at_once_twice)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said plain = scene_says(cases[i].make(), cases[i].rule, NULL);
        said twice = scene_says(at_once(cases[i].make()), cases[i].rule, NULL);
        if (!plain.is_said)
            printf("%s is silent\n", cases[i].rule);
        CHECK(plain.is_said);
        check_same(cases[i].rule, "at once", &plain, &twice);
    }
}

TEST(no_rule_counts_spans_inside_spans_twice)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said plain = scene_says(cases[i].make(), cases[i].rule, NULL);
        said twice = scene_says(nested(cases[i].make()), cases[i].rule, NULL);
        check_same(cases[i].rule, "nested", &plain, &twice);
    }
}

/* -- what else looks like more time than there is */

TEST(a_product_inside_a_product_of_another_name_is_one)
{
    scene *s = product(FP32);
    scene_host(s, "cpu_op", "aten::addmm", 90, 100)->args = FP32;
    said plain = scene_says(product(FP32), "fp32-matmul", NULL);
    said twice = scene_says(s, "fp32-matmul", NULL);
    CHECK(strstr(plain.seen, "1 FP32 products per step take 400 µs") != NULL);
    CHECK_STR(twice.seen, plain.seen);
    check_same("fp32-matmul", "in addmm", &plain, &twice);
}

/* The loader takes half of the recorded time, however many steps are around it. */
TEST(time_in_steps_inside_steps_counts_once)
{
    scene *s = scene_one_step();
    scene_step(s, 100000, 700000);
    scene_step(s, 900000, SCENE_STEP + 200000); /* crosses the end of the first one */
    scene_host(s, "user_annotation", LOADER, 100000, 600000);
    said a = scene_says(s, "data-loading", NULL);
    CHECK(strstr(a.seen, "50.0 % of the step time is spent in the data loader") != NULL);
    CHECK(fabs(a.gain - 50) < 1e-9);
}

/* Two steps of 100 us with 800 us between them, in which kernels run that belong to neither. */
static scene *between_steps(const char *kernel, const char *args)
{
    scene *s = scene_new();
    scene_step(s, 0, 100000);
    scene_step(s, 900000, SCENE_STEP);
    scene_host(s, "cpu_op", "aten::mul", 10, 20);
    for (int i = 0; i < 20; i++)
        scene_kernel(s, kernel, i * 50000, 50000, args);
    return s;
}

TEST(kernels_between_steps_are_no_part_of_them)
{
    static const struct {
        const char *rule, *kernel;
    } rules[] = {{"pointwise-kernels", "at::native::vectorized_elementwise_kernel"},
                 {"casts-and-copies", "at::native::direct_copy_kernel_cuda"},
                 {"low-occupancy", "gemm"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        said a =
            scene_says(between_steps(rules[i].kernel, "{\"device\": 0, \"blocks per SM\": 0.5}"),
                       rules[i].rule, NULL);
        CHECK(a.is_said && strstr(a.seen, "100.0 % of the step time") != NULL);
        CHECK(a.gain <= 100);
    }
}
