/* test_profile.c - the shared model of a trace on traces made by hand: trees, launches, steps, the
 * parts of a step; each rule, and each defect of the TensorBoard plugin in both modes. Times of the
 * lists are ns. */
#include <inttypes.h>
#include <math.h>

#include "model/profile/profile.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(label, start, length, ...)                                                              \
    {                                                                                              \
        .cat = "cpu_op", .name = label, .track = 1, .ts = start, .dur = length, __VA_ARGS__        \
    }
#define STEP(number, start, length)                                                                \
    {                                                                                              \
        .cat = "user_annotation", .name = "ProfilerStep#" #number, .track = 1, .ts = start,        \
        .dur = length                                                                              \
    }
#define CALL(correlation, start, length, ...)                                                      \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, .ts = start, .dur = length, \
        .bind = correlation, __VA_ARGS__                                                           \
    }
#define KERNEL(correlation, start, length) NAMED_KERNEL("k", correlation, start, length)
#define NAMED_KERNEL(label, correlation, start, length)                                            \
    {                                                                                              \
        .cat = "kernel", .name = label, .track = 7, .ts = start, .dur = length,                    \
        .bind = correlation, .args = "{\"device\": 0}"                                             \
    }
#define MODULE(label, start, length)                                                               \
    {                                                                                              \
        .cat = "python_function", .name = "nn.Module: " label, .track = 1, .ts = start,            \
        .dur = length, .args = "{\"Python module id\": 0}"                                         \
    }
#define FLOW(phase, on, at, number)                                                                \
    {                                                                                              \
        .ph = phase, .cat = "fwdbwd", .name = "fwdbwd", .track = on, .ts = at, .bind = number      \
    }
#define ENGINE "autograd::engine::evaluate_function: "
#define BACK(label, start, length)                                                                 \
    {                                                                                              \
        .cat = "cpu_op", .name = label, .track = 2, .ts = start, .dur = length                     \
    }

enum { DEFAULT, COMPAT };

static kino__buffer text; /* freed by each test's end: the next call empties it */

static void add_node(const kino__profile *p, uint32_t index)
{
    const kino__node *n = &p->nodes.items[index];
    kino_str name = n->class == KINO__NODE_ROOT ? KINO__STR("root") : kino__node_name(p, n);
    if (name.size > strlen(ENGINE) && memcmp(name.data, ENGINE, strlen(ENGINE)) == 0)
        name = (kino_str){name.data + strlen(ENGINE), name.size - strlen(ENGINE)};
    if (n->class == KINO__NODE_MODULE || n->class == KINO__NODE_BACKWARD)
        name = (kino_str){name.data + strlen("nn.Module: "), name.size - strlen("nn.Module: ")};
    kino__buffer_add(&text, name);
    kino__buffer_add(&text, kino__str_from(n->class == KINO__NODE_BACKWARD ? "'" : ""));
    int64_t device = kino__node_sums_of(p, n).device_total;
    if (device)
        kino__buffer_printf(&text, ":%" PRId64, device);
}

/* "root(a:5(b:5) c) root(...)": names with their device time, children in brackets; a mark ' is the
 * backward pass of a module. Valid until the next call. */
static const char *trees(kino__trace *trace, int mode)
{
    const kino__profile *p = kino__profile_of(trace, mode == COMPAT, NULL);
    REQUIRE(p != NULL);
    text.size = 0;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, last = root;
        for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
            bool is_below = n != root && last == p->nodes.items[n].parent;
            for (; n != root && last != p->nodes.items[n].parent;
                 last = p->nodes.items[last].parent)
                if (last != root && p->nodes.items[last].first_child != KINO__NO_NODE)
                    kino__buffer_add(&text, KINO__STR(")"));
            kino__buffer_add(&text, kino__str_from(is_below ? "(" : t || n != root ? " " : ""));
            add_node(p, n);
            last = n;
        }
        for (;; last = p->nodes.items[last].parent) {
            if (p->nodes.items[last].first_child != KINO__NO_NODE)
                kino__buffer_add(&text, KINO__STR(")"));
            if (last == root)
                break;
        }
    }
    kino__buffer_add(&text, (kino_str){"", 1});
    return text.data;
}

/* "5 [100, 300) K20 C30 O150; ...": steps with their parts that are not 0. */
static const char *steps(kino__trace *trace, int mode)
{
    static const char *const marks[] = {"K", "copy", "set", "comm", "R", "load", "C", "O"};
    const kino__profile *p = kino__profile_of(trace, mode == COMPAT, NULL);
    REQUIRE(p != NULL);
    text.size = 0;
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *s = &p->steps.items[i];
        kino__buffer_printf(&text, "%s%.*s [%" PRId64 ", %" PRId64 ")", i ? "; " : "",
                            (int)s->name.size, s->name.data, s->start, s->end);
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            if (s->cost[r])
                kino__buffer_printf(&text, " %s%" PRId64, marks[r], s->cost[r]);
    }
    kino__buffer_add(&text, (kino_str){"", 1});
    return text.data;
}

static void check_trees(kino__trace *trace, const char *by_default, const char *by_plugin)
{
    CHECK_STR(trees(trace, DEFAULT), by_default);
    CHECK_STR(trees(trace, COMPAT), by_plugin);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

static void check_steps(kino__trace *trace, const char *by_default, const char *by_plugin)
{
    CHECK_STR(steps(trace, DEFAULT), by_default);
    CHECK_STR(steps(trace, COMPAT), by_plugin);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

/* -- trees -- */

TEST(profile_nests_by_time_longer_first_and_puts_what_crosses_beside)
{
    check_trees(FIXTURE(OP("a", 0, 100), OP("b", 0, 40), OP("c", 40, 60),
                        OP("crosses", 90, 20), /* behind a's end */
                        OP("d", 100, 50),      /* starts where a ends: beside it */
                        OP("e", 100, 50),      /* the same interval: below the first */
                        OP("f", 150, 0)),
                "root(a(b c) crosses d(e) f)", "root(a(b c) d(e) f)");
}

TEST(profile_folds_an_operator_around_nothing_but_itself)
{
    /* The outer call's own launch is lost; three levels become one; two children are no fold. */
    const char *want = "root:8(mm:8(x) mm(mm mm))";
    check_trees(FIXTURE(OP("mm", 0, 100, .external = 1), OP("mm", 10, 80, .external = 2),
                        OP("mm", 20, 60, .external = 3), OP("x", 30, 10),
                        CALL(1, 2, 3, .external = 1), CALL(3, 50, 3, .external = 3),
                        KERNEL(1, 200, 5), KERNEL(3, 210, 8), OP("mm", 100, 90), OP("mm", 100, 20),
                        OP("mm", 130, 20)),
                want, want);
}

TEST(profile_gives_launches_to_the_first_operator_with_their_external_id)
{
    /* The call stands in b by time, but carries the id of a; its two kernels count both. */
    const char *want = "root:12(a:12(b))";
    check_trees(FIXTURE(OP("a", 0, 100, .external = 4), OP("b", 10, 50, .external = 5),
                        CALL(9, 20, 5, .external = 4), KERNEL(9, 200, 5), KERNEL(9, 210, 7)),
                want, want);
}

TEST(profile_places_launches_without_an_id_by_time)
{
    /* D13: the plugin gives them to the first module. */
    check_trees(FIXTURE(MODULE("M", 0, 100), OP("a", 10, 20, .external = 1), MODULE("N", 200, 100),
                        OP("b", 210, 20, .external = 2), CALL(1, 215, 5), KERNEL(1, 400, 6)),
                "root:6(M(a) N:6(b:6))", "root:6(M:6(a) N(b))");
}

TEST(profile_counts_launches_of_the_driver)
{
    /* D2, and D3: the plugin knows no launch of the kernel, and puts it on the root. */
    check_trees(FIXTURE(STEP(1, 0, 100), OP("mm", 10, 50, .external = 1),
                        {.cat = "cuda_driver",
                         .name = "cuLaunchKernelEx",
                         .track = 1,
                         .ts = 20,
                         .dur = 5,
                         .bind = 3,
                         .external = 1},
                        KERNEL(3, 200, 9)),
                "root:9(ProfilerStep#1:9(mm:9))", "root:9(ProfilerStep#1(mm))");
}

TEST(profile_leaves_annotations_of_the_device_out)
{
    /* D1: the plugin takes the stream for a thread, and its annotation for a step. */
    kino__trace *trace = FIXTURE(
        STEP(1, 0, 100), OP("a", 10, 20),
        {.cat = "gpu_user_annotation", .name = "ProfilerStep#1", .track = 7, .ts = 40, .dur = 30});
    CHECK_STR(trees(trace, DEFAULT), "root(ProfilerStep#1(a))");
    CHECK_STR(steps(trace, DEFAULT), "1 [0, 100) C20 O80");
    CHECK_STR(trees(trace, COMPAT), "root(ProfilerStep#1(a)) root(ProfilerStep#1)");
    CHECK_STR(steps(trace, COMPAT), "1 [0, 100) C20 O80; 1 [40, 70) O30");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

/* -- backward passes -- */

/* Net ( Lin ( linear ) relu ), their backward spans, and a loss outside of the module. */
#define TRAINING(...)                                                                              \
    STEP(1, 0, 1000), MODULE("Net", 10, 190), MODULE("Lin", 20, 80), OP("linear", 30, 60),         \
        OP("relu", 120, 40), OP("loss", 220, 30), OP("opt", 900, 50), FLOW('s', 1, 30, 1),         \
        FLOW('s', 1, 120, 2), FLOW('s', 1, 220, 3), BACK(ENGINE "Loss", 300, 50),                  \
        BACK("LossBackward", 310, 20), BACK(ENGINE "Relu", 400, 50),                               \
        BACK("ReluBackward", 410, 20), BACK(ENGINE "Addmm", 500, 50),                              \
        BACK("AddmmBackward", 510, 20), BACK(ENGINE "torch::autograd::AccumulateGrad", 560, 20),   \
        FLOW('f', 2, 310, 3), FLOW('f', 2, 410, 2), FLOW('f', 2, 510, 1), __VA_ARGS__

TEST(profile_hands_backward_spans_to_modules)
{
    /* Net.backward is [400, 580), so it stands between loss and opt. The span of the loss belongs
     * to no module: the plugin loses it, and with it the thread. */
    check_trees(FIXTURE(TRAINING()),
                "root(ProfilerStep#1(Net(Lin(linear) relu) loss Net'(Relu(ReluBackward) "
                "Lin'(Addmm(AddmmBackward) torch::autograd::AccumulateGrad)) opt)) "
                "root(Loss(LossBackward))",
                "root(ProfilerStep#1(Net(Lin(linear) relu) loss Net'(Relu(ReluBackward) "
                "Lin'(Addmm(AddmmBackward) torch::autograd::AccumulateGrad)) opt))");
}

TEST(profile_adds_a_backward_group_once)
{
    /* D23: "inner" starts with relu, so the plugin adds the group of relu twice. */
    check_trees(FIXTURE(TRAINING(OP("inner", 120, 10))),
                "root(ProfilerStep#1(Net(Lin(linear) relu(inner)) loss Net'(Relu(ReluBackward) "
                "Lin'(Addmm(AddmmBackward) torch::autograd::AccumulateGrad)) opt)) "
                "root(Loss(LossBackward))",
                "root(ProfilerStep#1(Net(Lin(linear) relu(inner)) loss Net'(Relu(ReluBackward) "
                "Relu(ReluBackward) Lin'(Addmm(AddmmBackward) torch::autograd::AccumulateGrad)) "
                "opt))");
}

TEST(profile_takes_the_first_of_two_flows_that_reach_one_backward_span)
{
    /* D14: the plugin ends here. "linear" comes first in the file, so Lin gets it. */
    const char *want = "root(Net(Lin(linear) relu) Net'(Lin'(Addmm(B))) late)";
    check_trees(FIXTURE(MODULE("Net", 10, 190), MODULE("Lin", 20, 80), OP("linear", 30, 60),
                        OP("relu", 120, 40), FLOW('s', 1, 30, 1), FLOW('s', 1, 120, 2),
                        BACK(ENGINE "Addmm", 250, 40), BACK("B", 260, 20), FLOW('f', 2, 260, 1),
                        FLOW('f', 2, 260, 2), OP("late", 300, 10)),
                want, want);
}

TEST(profile_without_modules_leaves_the_backward_thread_as_it_is)
{
    const char *want = "root(mm) root(Mm(MmBackward))";
    check_trees(FIXTURE(OP("mm", 0, 100), FLOW('s', 1, 0, 1), BACK(ENGINE "Mm", 200, 50),
                        BACK("MmBackward", 210, 20), FLOW('f', 2, 210, 1)),
                want, want);
}

TEST(profile_keeps_a_backward_pass_that_is_later_than_its_thread)
{
    /* The main thread ends at 200: the plugin finds no place for [250, 290), and loses it. */
    check_trees(FIXTURE(MODULE("Net", 10, 190), OP("relu", 120, 40), FLOW('s', 1, 120, 1),
                        BACK(ENGINE "Relu", 250, 40), BACK("B", 260, 20), FLOW('f', 2, 260, 1)),
                "root(Net(relu) Net'(Relu(B)))", "root(Net(relu))");
}

/* -- steps -- */

TEST(profile_gives_a_moment_to_the_first_role_that_is_at_work)
{
    /*  0        10      20     30      40      50      60       70       80      90     100
     *  [cpu ------------------------------------------------------------------- ]        other
     *           kernel--------                                                           10-30
     *                   copy---------                                                    30-40
     *                          set----------                                             (40-50)
     *                                 gloo -----------                                   40-60
     *                                         call -----------                           60-70
     *                                                 loader ----------                  70-80
     * The plugin lets copies and sets come before communication: (40-50) is the set's, there. */
    check_steps(
        FIXTURE(OP("cpu", 0, 90), OP("late", 100, 0), KERNEL(0, 10, 20),
                {.cat = "gpu_memcpy", .name = "c", .track = 7, .ts = 20, .dur = 20},
                {.cat = "gpu_memset", .name = "s", .track = 7, .ts = 30, .dur = 20},
                OP("gloo:all_reduce", 40, 20, .external = 3),
                {.cat = "cuda_runtime", .name = "cudaSync", .track = 3, .ts = 50, .dur = 20},
                {.cat = "cpu_op",
                 .name = "enumerate(DataLoader)#X.__next__",
                 .track = 4,
                 .ts = 60,
                 .dur = 20}),
        "0 [0, 100) K20 copy10 comm20 R10 load10 C20 O10",
        "0 [0, 100) K20 copy10 set10 comm10 R10 load10 C20 O10");
}

TEST(profile_counts_operators_beside_a_collective_of_their_thread)
{
    /*  0      20      40     50     70     80     100
     *  A --------------                                   waits in the collective from 20 on
     *         gloo --------------------------             asynchronous
     *                        B -----                      runs beside it
     * The plugin takes communication first. */
    check_steps(FIXTURE(OP("A", 0, 40), OP("gloo:all_reduce", 20, 60, .external = 3),
                        OP("B", 50, 20), OP("late", 100, 0)),
                "0 [0, 100) comm40 C40 O20", "0 [0, 100) comm60 C20 O20");
}

TEST(profile_counts_a_loader_that_only_python_functions_show)
{
    fixture_event frame = {.cat = "python_function",
                           .name = "torch/utils/data/dataloader.py(701): __next__",
                           .track = 1,
                           .ts = 10,
                           .dur = 50};
    fixture_event other = frame;
    other.name = "train.py(3): __next__";
    check_steps(FIXTURE(OP("A", 0, 10), frame, OP("late", 100, 0)), "0 [0, 100) load50 C10 O40",
                "0 [0, 100) C10 O90");
    check_steps(FIXTURE(OP("A", 0, 10), other, OP("late", 100, 0)), "0 [0, 100) C10 O90",
                "0 [0, 100) C10 O90");
}

TEST(profile_extends_steps_to_the_end_of_their_device_work)
{
    /* Work of before pushes the first start to 120; work of step 1 ends at 380, in step 2. */
    const char *want = "1 [120, 380) K250 R5 C5; 2 [380, 600) K210 R5 C5";
    check_steps(FIXTURE(STEP(1, 100, 200), STEP(2, 300, 200), OP("w", 115, 15), OP("v", 580, 0),
                        KERNEL(0, 50, 70), CALL(1, 120, 5), KERNEL(1, 130, 250), OP("x", 380, 10),
                        CALL(2, 380, 5), KERNEL(2, 390, 210)),
                want, want);
}

TEST(profile_begins_the_first_step_with_its_host_where_its_own_work_keeps_the_device_busy)
{
    /* The copy ends 1 ns after the kernel behind it starts: times that were rounded. That the
     * kernel waited in the queue has a reason, so nothing of before the recording ran. */
    fixture_event copy = {
        .cat = "gpu_memcpy", .name = "copy", .track = 7, .ts = 400000, .dur = 500001, .bind = 1};
    fixture_event call = {.cat = "cuda_runtime",
                          .name = "cudaMemcpyAsync",
                          .track = 1,
                          .ts = 399000,
                          .dur = 500,
                          .bind = 1};
    kino__trace *trace =
        FIXTURE(STEP(1, 0, 1000000), call, copy, CALL(2, 399600, 100), KERNEL(2, 900000, 100000));
    CHECK_STR(steps(trace, DEFAULT), "1 [0, 1000000) K100000 copy500000 R600 O399400");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

/* Two steps; the second launches `count` kernels of the first's five. */
static kino__trace *tail_new(uint32_t count)
{
    fixture_event events[12] = {STEP(1, 0, 100), STEP(2, 100, 100)};
    size_t n = 2;
    for (uint32_t i = 0; i < 5; i++)
        events[n++] = (fixture_event)KERNEL(1, 10 + i, 1);
    events[n++] = (fixture_event)CALL(1, 5, 2);
    for (uint32_t i = 0; i < count; i++)
        events[n++] = (fixture_event)KERNEL(2, 110 + i, 1);
    if (count)
        events[n++] = (fixture_event)CALL(2, 105, 2);
    REQUIRE(n <= sizeof events / sizeof *events);
    return fixture_new(events, n);
}

TEST(profile_keeps_a_last_step_that_the_plugin_drops_below_80_percent_of_the_work)
{
    check_steps(tail_new(3), "1 [0, 100) K5 R2 O93; 2 [100, 200) K3 R2 O95",
                "1 [0, 100) K5 R2 O93");
    kino__trace *trace =
        FIXTURE(STEP(1, 0, 100), STEP(2, 100, 100), CALL(1, 5, 2), KERNEL(1, 10, 1));
    check_steps(trace, "1 [0, 100) K1 R2 O97; 2 [100, 200) O100",
                "1 [0, 100) K1 R2 O97"); /* launched nothing */
    /* Exactly 80 % stays. */
    fixture_event all[16] = {STEP(1, 0, 100), STEP(2, 100, 100), CALL(1, 5, 2), CALL(2, 105, 2)};
    for (uint32_t i = 0; i < 9; i++)
        all[4 + i] =
            i < 5 ? (fixture_event)KERNEL(1, 10 + i, 1) : (fixture_event)KERNEL(2, 110 + i, 1);
    const char *want = "1 [0, 100) K5 R2 O93; 2 [100, 200) K4 R2 O94";
    check_steps(fixture_new(all, 13), want, want);
}

TEST(profile_keeps_the_parts_within_a_step_that_is_full)
{
    /* D4: the kernel fills the step, so the plugin begins anew with the copy: 100 + 40 of 100. */
    check_steps(FIXTURE(STEP(1, 0, 100), KERNEL(0, 0, 100),
                        {.cat = "gpu_memcpy", .name = "c", .track = 8, .ts = 20, .dur = 40}),
                "1 [0, 100) K100", "1 [0, 100) K100 copy40 O60");
}

TEST(profile_of_a_trace_without_steps_is_one_step)
{
    check_steps(FIXTURE(OP("a", 10, 20), OP("b", 50, 30)), "0 [10, 80) C50 O20",
                "0 [10, 80) C50 O20");
}

TEST(profile_of_odd_traces_has_no_steps_or_one)
{
    /* D5: nothing at all, and nothing on the host, which the plugin cannot do. */
    kino__trace *empty = fixture_new(NULL, 0);
    check_steps(empty, "", "");
    kino__trace *kernels = FIXTURE(KERNEL(0, 10, 30), KERNEL(0, 60, 10));
    const kino__profile *p = kino__profile_of(kernels, false, NULL);
    REQUIRE_EQ(p->metrics.count, 1);
    CHECK_EQ(p->metrics.items[0].utilization, 40.0 / 60);
    CHECK(isnan(p->metrics.items[0].sm_efficiency));
    check_steps(kernels, "0 [10, 70) K40 O20", "");
    kino__trace *point = FIXTURE(OP("a", 10, 0), KERNEL(0, 10, 5));
    CHECK(kino__profile_of(point, false, NULL) != NULL);
    CHECK(kino__profile_of(point, true, NULL) != NULL);
    kino__trace_free(point);
}

TEST(profile_puts_a_backward_pass_into_what_it_overlaps)
{
    /* [150, 190) overlaps Net and relu, though it is inside neither. */
    const char *want = "root(Net(relu(Net'(Relu(B)))))";
    check_trees(FIXTURE(MODULE("Net", 10, 170), OP("relu", 120, 40), FLOW('s', 1, 120, 1),
                        BACK(ENGINE "Relu", 150, 40), BACK("B", 160, 20), FLOW('f', 2, 160, 1)),
                want, want);
}

/* -- devices -- */

TEST(profile_measures_devices_within_the_steps)
{
    /* Window [0, 120), the step with its device work, though nothing says who launched it. Busy:
     * [10, 40) and [90, 120): 60. Blocks: 0.5 in [10, 20), 1.1 cut to 1 in [20, 30), 0.6 in
     * [30, 40), 0.25 in [90, 120): (5 + 10 + 6 + 7.5) / 120. Occupancy:
     * (20 * 40 + 20 * 80 + 30 * 10) / 70. */
    kino__trace *trace = FIXTURE(
        STEP(1, 0, 100),
        {.cat = "kernel",
         .name = "a",
         .track = 7,
         .ts = 10,
         .dur = 20,
         .args = "{\"device\": 3, \"blocks per SM\": 0.5, \"est. achieved occupancy %\": 40}"},
        {.cat = "kernel",
         .name = "b",
         .track = 8,
         .ts = 20,
         .dur = 20,
         .args = "{\"device\": 3, \"blocks per SM\": 0.6, \"est. achieved occupancy %\": 80}"},
        {.cat = "kernel",
         .name = "c",
         .track = 7,
         .ts = 90,
         .dur = 30,
         .args = "{\"device\": 3, \"blocks per SM\": 0.25, \"est. achieved occupancy %\": 10}"});
    const kino__profile *p = kino__profile_of(trace, false, NULL);
    REQUIRE(p != NULL);
    REQUIRE_EQ(p->metrics.count, 1);
    const kino__device_metrics *m = &p->metrics.items[0];
    CHECK_EQ(m->device, 3);
    CHECK_EQ(m->utilization, 0.5);
    CHECK(fabs(m->sm_efficiency - 28.5 / 120) < 1e-12);
    CHECK(fabs(m->occupancy_percent - 2700.0 / 70) < 1e-12);
    kino__sm_pieces pieces = {0};
    REQUIRE(kino__profile_sm_pieces(p, 3, &pieces));
    REQUIRE_EQ(pieces.count, 4);
    CHECK_EQ(pieces.items[1].start, 20);
    CHECK_EQ(pieces.items[1].end, 30);
    CHECK_EQ(pieces.items[1].value, KINO__SM_SCALE);
    CHECK_EQ(pieces.items[3].end, 120);
    kino__vec_deinit(&pieces);
    kino__trace_free(trace);
}

TEST(profile_counts_tensor_cores_of_operators)
{
    /* hmma of mm (30), plain of add (10), and a kernel that no operator launched. linear is
     * eligible by name, but mm below it is the lowest: 30 of 40. */
    kino__trace *trace =
        FIXTURE(STEP(1, 0, 100), OP("aten::linear", 0, 50), OP("aten::mm", 10, 30, .external = 1),
                OP("aten::add", 60, 20, .external = 2), CALL(1, 15, 2, .external = 1),
                CALL(2, 65, 2, .external = 2), NAMED_KERNEL("x_hmma_y", 1, 20, 30),
                KERNEL(2, 70, 10), NAMED_KERNEL("volta_s884gemm", 0, 85, 10));
    const kino__profile *p = kino__profile_of(trace, false, NULL);
    REQUIRE(p != NULL);
    REQUIRE_EQ(p->metrics.count, 1);
    CHECK_EQ(p->metrics.items[0].tensor_time, 30);
    CHECK_EQ(p->metrics.items[0].operator_time, 40);
    CHECK_EQ(p->metrics.items[0].tensor_ratio, 0.75);
    CHECK_EQ(p->tensor_used_ratio, 0.8);
    CHECK_EQ(p->tensor_eligible_ratio, 0.75);
    kino__trace_free(trace);
}
