/* The operators of a trace: who is charged, and what traces without values take from other
 * events. */
#include "cost/trace_costs.h"
#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)             .cat = "cpu_op", .args = "{" __VA_ARGS__ "}"
#define DIMS(text)          "\"Input Dims\": " text
#define TYPES(text)         ", \"Input type\": " text
#define SEQUENCE(n, thread) "\"Sequence number\": " #n ", \"Fwd thread id\": " #thread ", "

typedef struct scene {
    kino__trace *trace;
    kino__cost_model *model;
    kino__trace_costs costs;
} scene;

static void open_scene(scene *s, kino__trace *trace)
{
    s->trace = trace;
    REQUIRE(kino__cost_model_new(KINO__COST_DEFAULT, NULL, &s->model, NULL) == KINO_OK);
    REQUIRE(kino__trace_costs_init(&s->costs, trace, s->model, NULL) == KINO_OK);
}

static void close_scene(scene *s)
{
    kino__trace_costs_deinit(&s->costs);
    kino__cost_model_free(s->model);
    kino__trace_free(s->trace);
}

static uint32_t op_of(const scene *s, uint32_t number)
{
    return s->costs.op_of_row[fixture_row(s->trace, number)];
}

static int64_t flops_of(const scene *s, uint32_t number)
{
    return kino__trace_cost(&s->costs, op_of(s, number))->flops;
}

/* The number of the event that is charged for an event; -1: none. */
static int64_t charged_for(const scene *s, uint32_t number)
{
    uint32_t op = op_of(s, number);
    uint32_t charged = op == KINO_NO_ROW ? KINO_NO_ROW : s->costs.ops.items[op].charged;
    return charged == KINO_NO_ROW ? -1 : fixture_number(s->trace, s->costs.ops.items[charged].row);
}

#define MM DIMS("[[4, 5], [5, 6]]") TYPES("[\"float\", \"float\"]")

TEST(operators_of_a_trace_are_charged_once)
{
    scene s;
    open_scene(&s, FIXTURE({.name = "aten::linear",
                            .ts = 0,
                            .dur = 100,
                            OP(DIMS("[[4, 5], [6, 5]]") TYPES("[\"float\", \"float\"]"))},
                           {.name = "aten::mm", .ts = 10, .dur = 50, OP(MM)},
                           {.name = "cudaLaunchKernel", .ts = 20, .dur = 5, .cat = "cuda_runtime"},
                           {.name = "MmBackward0", .ts = 200, .dur = 100, OP()},
                           {.name = "aten::mm", .ts = 210, .dur = 20, OP(MM)},
                           {.name = "aten::mm", .ts = 240, .dur = 20, OP(MM)},
                           {.name = "my::kernel", .ts = 400, .dur = 10, OP(MM)}));
    static const int64_t want[] = {-1, 1, 1, -1, 4, 5, -1};
    for (uint32_t i = 0; i < 7; i++)
        CHECK_EQ(charged_for(&s, i), want[i]);
    CHECK_EQ(flops_of(&s, 1), 240);
    CHECK_EQ(s.costs.ops.items[op_of(&s, 1)].cost, s.costs.ops.items[op_of(&s, 5)].cost);
    CHECK_EQ(s.costs.ops.items[op_of(&s, 4)].direction, KINO__OP_BACKWARD);
    CHECK_EQ(s.costs.ops.items[op_of(&s, 1)].direction, KINO__OP_FORWARD);
    close_scene(&s);
}

TEST(ranges_of_pyprof_are_operators)
{
    scene s;
    open_scene(
        &s, FIXTURE({.name = "{'mod': 'torch', 'op': 'mm', 'args': [{'name': '', 'type': 'tensor', "
                             "'shape': (4, 5), 'dtype': 'float16'}, {'name': '', 'type': 'tensor', "
                             "'shape': (5, 6), 'dtype': 'float16'}]}",
                     .ts = 0,
                     .dur = 100,
                     .cat = "user_annotation"},
                    {.name = "cudaLaunchKernel", .ts = 20, .dur = 5, .cat = "cuda_runtime"},
                    {.name = "epoch 1", .ts = 200, .dur = 5, .cat = "user_annotation"}));
    CHECK_EQ(charged_for(&s, 1), 0);
    CHECK_EQ(flops_of(&s, 0), 240);
    CHECK_EQ(charged_for(&s, 2), -1);
    close_scene(&s);
}

TEST(a_convolution_takes_its_result_from_the_gradient)
{
    scene s;
    open_scene(
        &s,
        FIXTURE(
            {.name = "aten::convolution",
             .ts = 0,
             .dur = 100,
             OP(SEQUENCE(5, 0) DIMS("[[2, 3, 6, 6], [6, 3, 4, 4]]")
                    TYPES("[\"float\", \"float\"]"))},
            {.name = "aten::cudnn_convolution",
             .ts = 10,
             .dur = 50,
             OP(SEQUENCE(5, 0) DIMS("[[2, 3, 6, 6], [6, 3, 4, 4]]")
                    TYPES("[\"float\", \"float\"]"))},
            {.name = "CudnnConvolutionBackward",
             .track = 1,
             .ts = 200,
             .dur = 100,
             OP(SEQUENCE(5, 1) DIMS("[[2, 6, 5, 5]]") TYPES("[\"float\"]"))},
            {.name = "aten::cudnn_convolution_backward",
             .track = 1,
             .ts = 210,
             .dur = 80,
             OP(DIMS("[[2, 3, 6, 6], [2, 6, 5, 5], [6, 3, 4, 4]]")
                    TYPES("[\"float\", \"float\", \"float\"]"))},
            {.name = "aten::cudnn_convolution_backward_input",
             .track = 1,
             .ts = 220,
             .dur = 20,
             OP(DIMS("[[], [2, 6, 5, 5], [6, 3, 4, 4]]") TYPES("[\"\", \"float\", \"float\"]"))},
            {.name = "aten::cudnn_convolution_backward_weight",
             .track = 1,
             .ts = 250,
             .dur = 20,
             OP(DIMS("[[], [2, 6, 5, 5], [2, 3, 6, 6]]") TYPES("[\"\", \"float\", \"float\"]"))}));
    CHECK_EQ(charged_for(&s, 1), 0);
    CHECK_EQ(flops_of(&s, 0), 28800);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 0))->bytes_written, 2 * 6 * 25 * 4);
    CHECK_EQ(charged_for(&s, 4), 4);
    CHECK_EQ(charged_for(&s, 5), 5);
    CHECK_EQ(flops_of(&s, 4), 28800);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 4))->bytes_written, 2 * 3 * 36 * 4);
    CHECK_EQ(flops_of(&s, 5), 28800);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 5))->bytes_written, 6 * 3 * 16 * 4);
    close_scene(&s);
}

TEST(an_annotation_has_the_message_of_a_collective)
{
    scene s;
    open_scene(&s, FIXTURE({.name = "record_param_comms", .ts = 0, .dur = 100, OP()},
                           {.name = "nccl:all_to_all",
                            .ts = 10,
                            .dur = 50,
                            .cat = "user_annotation",
                            .args = "{" DIMS("[[8, 16]]") TYPES("[\"float\"]") "}"},
                           {.name = "cudaLaunchKernel", .ts = 20, .dur = 5, .cat = "cuda_runtime"},
                           {.name = "record_param_comms", .ts = 200, .dur = 100, OP()}));
    CHECK_EQ(charged_for(&s, 2), 0);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 0))->bytes_read, 8 * 16 * 4);
    CHECK_EQ(flops_of(&s, 3), KINO_NO_INT);
    close_scene(&s);
}

/* Parameters [6, 5] with a bias, and activations of a batch of 4. */
#define GRAPH DIMS("[[6, 5], [6], [4, 5], [4, 7]]") TYPES("[\"float\", \"float\", \"float\"]")

TEST(a_graph_that_is_replayed_is_charged_to_who_replays_it)
{
    scene s;
    open_scene(
        &s,
        FIXTURE({.name = "CompiledFunction", .ts = 0, .dur = 100, OP(SEQUENCE(7, 0) GRAPH)},
                {.name = "aten::copy_",
                 .ts = 10,
                 .dur = 10,
                 OP(DIMS("[[4], [4]]") TYPES("[\"float\", \"float\"]"))},
                {.name = "cudaGraphLaunch", .ts = 40, .dur = 5, .cat = "cuda_runtime"},
                {.name = "CompiledFunctionBackward",
                 .track = 1,
                 .ts = 200,
                 .dur = 100,
                 OP(SEQUENCE(7, 1) DIMS("[[]]"))},
                {.name = "cudaGraphLaunch", .track = 1, .ts = 240, .dur = 5, .cat = "cuda_runtime"},
                {.name = "CompiledFunction", .ts = 400, .dur = 100, OP(GRAPH)},
                {.name = "aten::mm", .ts = 410, .dur = 10, OP(MM)}));
    CHECK_EQ(charged_for(&s, 2), 0);
    CHECK_EQ(charged_for(&s, 1), 1);
    CHECK_EQ(flops_of(&s, 0), 2 * 4 * 30);
    CHECK_EQ(charged_for(&s, 4), 3);
    CHECK_EQ(flops_of(&s, 3), 2 * 2 * 4 * 30);
    CHECK_EQ(charged_for(&s, 5), -1); /* it calls others, which are charged */
    CHECK_EQ(charged_for(&s, 6), 6);
    close_scene(&s);
}

/* Two tables in one: 40 indices in 2 x 5 bags; the result has a width of 24. */
#define LOOKUP                                                                                     \
    DIMS("[[0], [600], [0], [0, 0], [2], [2], [3], [], [], [3], [], [40], [11]]")                  \
    TYPES("[\"float\", \"float\", \"float\", \"float\", \"int\", \"long\", \"int\", \"\", \"\", "  \
          "\"long\", \"\", \"long\", \"long\"]")

TEST(lookups_are_paired_with_their_gradients)
{
    scene s;
    open_scene(&s, FIXTURE({.name = "fbgemm::split_embedding_codegen_lookup_sgd_function",
                            .ts = 0,
                            .dur = 100,
                            OP(LOOKUP)},
                           {.name = "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>",
                            .track = 1,
                            .ts = 200,
                            .dur = 100,
                            OP(DIMS("[[5, 24]]") TYPES("[\"float\"]"))},
                           {.name = "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>",
                            .track = 1,
                            .ts = 400,
                            .dur = 100,
                            OP(DIMS("[[9, 24]]") TYPES("[\"float\"]"))}));
    int64_t rows = 40 * 24 / 2;
    CHECK_EQ(flops_of(&s, 0), rows);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 0))->bytes_written, 5 * 24 * 4);
    CHECK_EQ(flops_of(&s, 1), rows);
    CHECK_EQ(kino__trace_cost(&s.costs, op_of(&s, 1))->bytes_written, rows * 4);
    CHECK_EQ(flops_of(&s, 2), KINO_NO_INT); /* of another batch */
    close_scene(&s);
}
