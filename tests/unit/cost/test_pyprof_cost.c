/* PyProf's view of single kernels, worked out by hand: directions, sub indices, names of kernels. */
#include "cost/pyprof_cost.h"
#include "unit/test.h"

typedef struct question {
    const char *marker, *kernel;
    kino__op_direction direction;
    uint32_t sub;
} question;

static void ask(question q, bool is_compat, kino__pyprof_cost *out)
{
    kino__cost_model *model;
    kino__op_call call = {0};
    bool is_one = false;
    REQUIRE(kino__cost_model_new(KINO__COST_DEFAULT, NULL, &model, NULL) == KINO_OK);
    REQUIRE(kino__op_call_read_pyprof(&call, kino__str_from(q.marker), &is_one) && is_one);
    kino__pyprof_kernel kernel = {kino__str_from(q.kernel), q.direction, q.sub, {1, 1, 1}};
    REQUIRE(kino__pyprof_cost_of(&call, &kernel, model, is_compat, out));
    kino__op_call_deinit(&call);
    kino__cost_model_free(model);
}

static void check(question q, bool is_compat, const char *params, int64_t flops, int64_t bytes)
{
    kino__pyprof_cost cost = {0};
    ask(q, is_compat, &cost);
    CHECK_STR(kino__buffer_str(&cost.params), params);
    CHECK_EQ(cost.flops, flops);
    CHECK_EQ(cost.bytes, bytes);
    kino__pyprof_cost_deinit(&cost);
}

#define TENSOR(shape, type)                                                                        \
    "{'name': '', 'type': 'tensor', 'shape': " shape ", 'dtype': '" type "'}, "
#define LINEAR                                                                                     \
    "{'mod': 'torch.nn.functional', 'op': 'linear', 'args': [" TENSOR("(2, 3, 8)", "float16")      \
        TENSOR("(10, 8)", "float16") "]}"

TEST(linear_has_a_product_for_each_direction)
{
    int64_t flops = 2 * 10 * 6 * 8, right = (60 + 80 + 48) * 2;
    question q = {LINEAR, "volta_h884gemm_64x64_nn", KINO__OP_FORWARD, 0};
    check(q, true, "M=10,N=(2,3),K=8,fp16,", flops, 60 + 80 + 48 * 2);
    check(q, false, "M=10,N=(2,3),K=8,fp16,", flops, right);
    q.direction = KINO__OP_BACKWARD;
    check(q, false, "M=8,N=(2,3),K=10,fp16,", flops, right);
    q.sub = 1;
    check(q, false, "M=8,N=10,K=(2,3),fp16,", flops, right);
    q = (question){LINEAR, "splitKreduce_kernel", KINO__OP_FORWARD, 1};
    check(q, true, "M=10,N=(2,3),K=8,fp16,", flops, 60 + 80 + 48 * 2); /* counted twice */
    check(q, false, "M=10,N=(2,3),K=8,fp16,", 0, 0);
}

TEST(a_cell_has_two_products_and_pointwise_work)
{
    const char *marker =
        "{'mod': 'LSTMCell', 'op': 'forward', 'args': [" TENSOR("(32, 64)", "float32")
            TENSOR("(32, 128)", "float32") "]}";
    question q = {marker, "volta_sgemm_32x32_tn", KINO__OP_FORWARD, 0};
    check(q, true, "gemm=layer,M=512,N=32,K=64,fp32,", 2 * 512 * 32 * 64,
          (512 * 64 + 64 * 32 + 512 * 32) * 4);
    q = (question){marker, "fused_lstm_cell", KINO__OP_FORWARD, 5};
    check(q, true, "cell=LSTMCell,X=64,H=128,B=32,fp32,", 0, (2 * 512 * 32 + 3 * 128 * 32) * 4);
    q = (question){marker, "elementwise_kernel", KINO__OP_BACKWARD, 0};
    check(q, true, "cell=LSTMCell,X=64,H=128,B=32,fp32,", 0, 0);
}

TEST(what_pyprof_misspells_or_refuses_is_put_right)
{
    question q = {"{'mod': 'torch', 'op': 'expm1', 'args': [" TENSOR("(10,)", "float32") "]}",
                  "elementwise_kernel", KINO__OP_FORWARD, 0};
    check(q, true, "T=[(10,)],['float32']", 0, 0); /* exp1m, as it is written there */
    check(q, false, "[10]fp32", 200, 80);
    q.marker = "{'mod': 'Tensor', 'op': 'mul_', 'args': [" TENSOR("(10,)", "float32")
        TENSOR("(10,)", "float32") "]}";
    q.direction = KINO__OP_BACKWARD;
    check(q, true, "[10]fp32;[10]fp32", KINO_NO_INT, KINO_NO_INT);
    check(q, false, "[10]fp32;[10]fp32", 10, 120);
}

TEST(kernels_have_short_names)
{
    static const char *const cases[][2] = {
        {"void at::native::elementwise_kernel<128, 4>(int)", "elementwise_kernel"},
        {"volta_sgemm_64x32_nn", "volta_sgemm_64x32_nn"},
        {"void (anonymous namespace)::softmax_warp_forward<float>(float*)", "softmax_warp_forward"},
        {"void cudnn::detail::implicit_convolve_sgemm<float>(int)",
         "cudnn::detail::implicit_convolve_sgemm"},
        {"void my kernel(int)", "my_kernel"},
        {"", ""},
    };
    kino__buffer room = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(kino__pyprof_short_name(kino__str_from(cases[i][0]), &room), cases[i][1]);
    kino__buffer_deinit(&room);
}
