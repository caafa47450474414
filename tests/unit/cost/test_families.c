/* Families other than products and convolutions: one call of each kind, worked out by hand. */
#include "cost/family.h"
#include "unit/cost/cost_ask.h"
#include "unit/test.h"

#define F1 "[\"float\"]"
#define F2 "[\"float\", \"float\"]"
#define F3 "[\"float\", \"float\", \"float\"]"
#define H3 "[\"c10::Half\", \"c10::Half\", \"c10::Half\"]"

typedef struct expectation {
    const char *op, *dims, *types, *values;
    int64_t flops, read, written;
} expectation;

static void check(const expectation *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const expectation *e = &all[i];
        kino__cost c = test_cost(KINO__COST_DEFAULT, e->op, e->dims, e->types, e->values);
        bool held = CHECK_EQ(c.flops, e->flops);
        held = CHECK_EQ(c.bytes_read, e->read) && held;
        held = CHECK_EQ(c.bytes_written, e->written) && held;
        bool is_known =
            e->flops != KINO_NO_INT && e->read != KINO_NO_INT && e->written != KINO_NO_INT;
        held = CHECK_EQ(c.reason == NULL, is_known) && held;
        if (!held)
            printf("  %s %s\n", e->op, c.reason ? c.reason : "");
    }
}

#define CHECK_ALL(cases) check(cases, sizeof(cases) / sizeof *(cases))

TEST(attention_is_two_products_and_five_backward)
{
    /* B 2, H 4, Sq 6, Sk 10, D 8: 48 x 10 scores */
    const char *qkv = "[[2, 4, 6, 8], [2, 4, 10, 8], [2, 4, 10, 8]]";
    int64_t scores = 2 * 4 * 6 * 10;
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::_scaled_dot_product_flash_attention", qkv,
                             H3, "[\"\", \"\", \"\", \"0.\", \"False\"]");
    CHECK_EQ(c.flops, 4 * scores * 8);
    CHECK_EQ(c.bytes_read, (2 * 4 * 6 * 8 + 2 * 2 * 4 * 10 * 8) * 2);
    CHECK_EQ(c.bytes_written, 2 * 4 * 6 * 8 * 2);
    CHECK_EQ(c.is_matrix, true);
    c = test_cost(KINO__COST_DEFAULT, "aten::_scaled_dot_product_flash_attention", qkv, H3,
                  "[\"\", \"\", \"\", \"0.\", \"True\"]");
    CHECK_EQ(c.flops, 2 * scores * 8);
    c = test_cost(KINO__COST_FLOP_COUNTER, "aten::_scaled_dot_product_flash_attention", qkv, H3,
                  "[\"\", \"\", \"\", \"0.\", \"True\"]");
    CHECK_EQ(c.flops, 4 * scores * 8);
    c = test_cost(KINO__COST_DEFAULT, "aten::_scaled_dot_product_efficient_attention_backward",
                  "[[2, 4, 6, 8], [2, 4, 6, 8], [2, 4, 10, 8], [2, 4, 10, 8]]",
                  "[\"float\", \"float\", \"float\", \"float\"]", NULL);
    CHECK_EQ(c.flops, 10 * scores * 8);
}

TEST(heads_that_share_keys_are_multiplied_each)
{
    /* 8 heads of queries, 2 of keys and values; values are narrower */
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::scaled_dot_product_attention",
                             "[[1, 8, 16, 64], [1, 2, 16, 64], [1, 2, 16, 32]]", F3,
                             "[\"\", \"\", \"\", \"\", \"0.\", \"False\", \"\", \"True\"]");
    CHECK_EQ(c.flops, 2 * 8 * 16 * 16 * (64 + 32));
    CHECK_EQ(c.bytes_read, (8 * 16 * 64 + 2 * 16 * 64 + 2 * 16 * 32) * 4);
    CHECK_EQ(c.bytes_written, 8 * 16 * 32 * 4);
}

TEST(packed_sequences_are_known_where_they_are_equal)
{
    const char *types = "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"int\", \"int\"]";
    const char *values = "[\"\", \"\", \"\", \"\", \"\", \"10\", \"10\", \"0.\", \"False\"]";
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::_flash_attention_forward",
                             "[[40, 3, 8], [40, 3, 8], [40, 3, 8], [5], [5]]", types, values);
    CHECK_EQ(c.flops, 4 * 4 * 3 * 10 * 10 * 8); /* 4 sequences of 10 */
    c = test_cost(KINO__COST_DEFAULT, "aten::_flash_attention_forward",
                  "[[37, 3, 8], [37, 3, 8], [37, 3, 8], [5], [5]]", types, values);
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "the lengths of the sequences were not recorded");
}

TEST(narrow_products_count_in_their_own_type)
{
    kino__cost c = test_cost(
        KINO__COST_DEFAULT, "aten::_scaled_mm", "[[16, 32], [32, 8], [], [], [], [], []]",
        "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", \"float\", \"float\", \"\", \"\", "
        "\"Scalar\"]",
        "[\"\", \"\", \"\", \"\", \"\", \"\", \"15\"]");
    CHECK_EQ(c.flops, 2 * 16 * 32 * 8);
    CHECK_EQ(c.bytes_read, 16 * 32 + 32 * 8 + 2 * 4);
    CHECK_EQ(c.bytes_written, 16 * 8 * 2); /* 15 is bfloat16 */
    CHECK_EQ(c.precision, KINO__DTYPE_FLOAT8_E4M3);
    c = test_cost(KINO__COST_DEFAULT, "aten::_scaled_mm", "[[16, 32], [32, 8]]",
                  "[\"c10::Float4_e2m1fn_x2\", \"c10::Float4_e2m1fn_x2\"]", NULL);
    CHECK_EQ(c.flops, 2 * 16 * 64 * 8); /* two in each element */
    c = test_cost(KINO__COST_DEFAULT, "aten::_weight_int4pack_mm", "[[4, 64], [64]]",
                  "[\"c10::BFloat16\", \"int\"]", NULL);
    CHECK_EQ(c.flops, 2 * 4 * 64 * 8); /* 64 words of 8 values: 8 rows of 64 */
    c = test_cost(KINO__COST_DEFAULT, "aten::_grouped_mm", "[[100, 16], [4, 16, 8], [4]]",
                  "[\"c10::BFloat16\", \"c10::BFloat16\", \"int\"]", NULL);
    CHECK_EQ(c.flops, 2 * 100 * 16 * 8);
    CHECK_EQ(c.bytes_written, 100 * 8 * 2);
}

TEST(elements_are_weighted_by_what_is_computed)
{
    static const expectation cases[] = {
        {"aten::add", "[[8, 1, 6, 1], [7, 1, 5]]", F2, NULL, 1680, (48 + 35) * 4, 1680 * 4},
        {"aten::add_", "[[10], []]", "[\"float\", \"Scalar\"]", "[\"\", \"1\"]", 10, 40, 40},
        {"aten::exp", "[[10]]", F1, NULL, 200, 40, 40},
        {"aten::addcmul_", "[[10], [10], [10]]", F3, NULL, 30, 120, 40},
        {"aten::gt", "[[10], [10]]", F2, NULL, 10, 80, 10},
        {"aten::mul", "[[], [10]]", "[\"double\", \"float\"]", NULL, 10, 48, 40},
        {"aten::where", "[[10], [10], [10]]", "[\"bool\", \"float\", \"float\"]", NULL, 10, 90, 40},
        {"aten::relu_", "[[10]]", F1, NULL, 10, 40, 40},
        {"aten::threshold_backward", "[[10], [10]]", F2, NULL, 10, 80, 40},
        {"aten::gelu", "[[10]]", F1, NULL, 240, 40, 40},
        {"aten::glu", "[[4, 10]]", F1, NULL, 440, 160, 80},
        {"aten::_softmax", "[[2, 5]]", F1, NULL, 400, 80, 40},
        {"aten::_log_softmax_backward_data", "[[2, 5], [2, 5]]", F2, NULL, 210, 160, 40},
        {"aten::native_batch_norm", "[[2, 5]]", F1, NULL, 80, 120, 40},
        {"aten::native_layer_norm", "[[2, 5]]", F1, NULL, 80, 40, 40},
        {"aten::native_layer_norm_backward", "[[2, 5]]", F1, NULL, 80, 80, 40},
        {"aten::native_dropout", "[[10]]", F1, NULL, 50, 40, 50},
        {"aten::add", "[[2], [3]]", F2, NULL, KINO_NO_INT, KINO_NO_INT, KINO_NO_INT},
        {"aten::add", "[[10], [10]]", NULL, NULL, 10, KINO_NO_INT, KINO_NO_INT},
    };
    CHECK_ALL(cases);
}

TEST(reductions_know_their_results)
{
    static const expectation cases[] = {
        {"aten::sum", "[[4, 5], []]", "[\"float\", \"\"]", NULL, 20, 80, 4},
        {"aten::sum", "[[4, 5], [], [], []]", F1, "[\"\", \"[0]\", \"False\", \"\"]", 20, 80, 20},
        {"aten::sum", "[[4, 5], [], [], []]", F1, NULL, 20, 80, KINO_NO_INT},
        {"aten::mean", "[[4, 5], [], [], []]", F1, "[\"\", \"[-1]\", \"False\", \"\"]", 24, 80, 16},
        {"aten::max", "[[4, 5], [], []]", F1, "[\"\", \"1\", \"False\"]", 20, 80, 4 * 12},
        {"aten::max", "[[4, 5], [4, 5]]", F2, NULL, 20, 160, 80},
        {"aten::argmax", "[[4, 5], [], []]", F1, "[\"\", \"1\", \"False\"]", 20, 80, 4 * 8},
        {"aten::linalg_vector_norm", "[[20], [], [], [], []]", F1,
         "[\"\", \"2\", \"[]\", \"False\", \"\"]", 41, 80, 4},
        {"aten::cumsum", "[[20], []]", F1, "[\"\", \"0\"]", 20, 80, 80},
        {"aten::topk", "[[4, 5], [], []]", F1, "[\"\", \"2\", \"-1\"]", 20, 80, 8 * 12},
        {"aten::sort", "[[2, 8], []]", F1, NULL, 48, 64, 16 * 12},
    };
    CHECK_ALL(cases);
}

TEST(moving_computes_nothing)
{
    static const expectation cases[] = {
        {"aten::copy_", "[[10], [10]]", "[\"c10::Half\", \"float\"]", NULL, 0, 40, 20},
        {"aten::cat", "[[[2, 3], [4, 3]], []]", "[\"float\", \"\"]", NULL, 0, 72, 72},
        {"aten::fill_", "[[10], []]", "[\"double\", \"Scalar\"]", NULL, 0, 0, 80},
        {"aten::view", "[[10], []]", F1, NULL, 0, 0, 0},
        {"aten::constant_pad_nd", "[[2, 3], []]", F1, "[\"\", \"[1, 2]\"]", 0, 24, 48},
        {"aten::embedding", "[[100, 8], [6]]", "[\"float\", \"long int\"]", NULL, 0, 48 + 192, 192},
        {"aten::embedding_dense_backward", "[[6, 8], [6]]", "[\"float\", \"long int\"]", NULL, 0,
         384, 192},
        {"aten::_embedding_bag", "[[100, 8], [6], [2]]", "[\"float\", \"long int\", \"long int\"]",
         NULL, 48, 48 + 192, 64},
        {"aten::gather", "[[10, 5], [], [10, 2]]", "[\"float\", \"\", \"long int\"]", NULL, 0,
         20 * 4 + 160, 80},
        {"aten::index_select", "[[10, 5], [], [3]]", "[\"float\", \"\", \"long int\"]",
         "[\"\", \"0\", \"\"]", 0, 60 + 24, 60},
        {"aten::index", "[[10, 5], [[3]]]", "[\"float\", \"\"]", NULL, 0, 24 + 60, 60},
        {"aten::nonzero", "[[4, 5]]", F1, NULL, 0, 80, 20 * 2 * 8},
    };
    CHECK_ALL(cases);
}

TEST(pools_compare_all_of_their_window)
{
    static const expectation cases[] = {
        /* (8 - 2) / 2 + 1 = 4: 2 x 16 results with places */
        {"aten::max_pool2d_with_indices", "[[1, 2, 8, 8], [], [], [], [], []]", F1,
         "[\"\", \"[2, 2]\", \"[]\", \"[0, 0]\", \"[1, 1]\", \"False\"]", 32 * 4, 128 * 4, 32 * 12},
        /* 7 wide: 3 windows, 4 with the incomplete one */
        {"aten::avg_pool2d", "[[1, 1, 7, 8], [], [], [], []]", F1,
         "[\"\", \"[2, 2]\", \"[2, 2]\", \"[0, 0]\", \"True\"]", 16 * 4, 56 * 4, 16 * 4},
        {"aten::max_pool2d_with_indices", "[[1, 2, 8, 8]]", F1, NULL, KINO_NO_INT, KINO_NO_INT,
         KINO_NO_INT},
        {"aten::_adaptive_avg_pool2d", "[[1, 2, 8, 8], []]", F1, "[\"\", \"[1, 1]\"]", 128, 512, 8},
        {"aten::upsample_bilinear2d", "[[1, 2, 4, 4], []]", F1, "[\"\", \"[8, 8]\"]", 8 * 128, 128,
         512},
    };
    CHECK_ALL(cases);
}

TEST(recurrent_layers_multiply_their_weights_at_each_step)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::mkldnn_rnn_layer",
                             "[[5, 2, 8], [64, 8], [64, 16], [64], [64], [2, 16], [2, 16]]",
                             "[\"float\", \"float\", \"float\", \"float\", \"float\", \"float\", "
                             "\"float\"]",
                             NULL);
    int64_t weights = 64 * 8 + 64 * 16;
    CHECK_EQ(c.flops, 2 * 10 * weights);
    CHECK_EQ(c.bytes_read, (80 + weights) * 4);
    CHECK_EQ(c.bytes_written, 10 * 16 * 4);
    c = test_cost(KINO__COST_DEFAULT, "aten::_cudnn_rnn_backward",
                  "[[5, 2, 8], [[64, 8], [64, 16], [64], [64]]]", "[\"float\", \"TensorList\"]",
                  NULL);
    CHECK_EQ(c.flops, 2 * 2 * 10 * weights);
    c = test_cost(KINO__COST_DEFAULT, "aten::_cudnn_rnn", "[[5, 2, 8], []]", F1, NULL);
    CHECK_STR(c.reason, "the sizes of the weights were not recorded");
}

TEST(steps_of_optimizers_count_all_parameters)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::_fused_sgd_",
                             "[[[8, 8], [8]], [[8, 8], [8]], [[8, 8], [8]]]",
                             "[\"TensorList\", \"TensorList\", \"TensorList\"]", NULL);
    CHECK_EQ(c.flops, 4 * 72);
    CHECK_EQ(kino__cost_bytes(&c), KINO_NO_INT); /* lists have no recorded type */
    c = test_cost(KINO__COST_DEFAULT, "aten::_foreach_addcdiv_", "[[[8, 8]], [[8, 8]], [[8, 8]]]",
                  "[\"float\", \"float\", \"float\"]", NULL);
    CHECK_EQ(c.flops, 3 * 64);
    CHECK_EQ(c.bytes_read, 3 * 256);
    CHECK_EQ(c.bytes_written, 256);
}

TEST(fused_kernels_are_known_by_their_names)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "triton_poi_fused_add_gelu_3",
                             "[[4, 5], [4, 5], [4, 5]]", F3, NULL);
    CHECK_EQ(c.flops, (1 + 24) * 20);
    CHECK_EQ(c.bytes_read, 160);
    CHECK_EQ(c.bytes_written, 80);
    c = test_cost(KINO__COST_DEFAULT, "triton_tem_fused_addmm_relu_1", "[[4, 5], [5, 6], [4, 6]]",
                  F3, NULL);
    CHECK_EQ(c.flops, 2 * 4 * 5 * 6 + 30); /* and one for each of the largest's elements */
    CHECK_EQ(c.is_matrix, true);
    c = test_cost(KINO__COST_DEFAULT, "triton_per_fused__softmax_2", "[[4, 5], [4, 5]]", F2, NULL);
    CHECK_EQ(c.flops, 40 * 20);
}

TEST(collectives_move_their_message)
{
    kino__op_call call = {0};
    kino__cost_model *model;
    REQUIRE(kino__cost_model_new(KINO__COST_DEFAULT, NULL, &model, NULL) == KINO_OK);
    REQUIRE(kino__op_call_read_kineto(
        &call, KINO__STR("record_param_comms"),
        KINO__STR("{\"In msg nelems\": 100, \"Out msg nelems\": 800, \"dtype\": \"BFloat16\"}")));
    kino__cost c = kino__cost_of(model, &call);
    CHECK_EQ(c.flops, 0);
    CHECK_EQ(c.bytes_read, 200);
    CHECK_EQ(c.bytes_written, 1600);
    kino__op_call_deinit(&call);
    kino__cost_model_free(model);
}

TEST(sparse_products_are_known_where_their_sizes_say_it)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::_sparse_semi_structured_mm",
                             "[[16, 24], [16, 4], [32, 8]]",
                             "[\"c10::Half\", \"short int\", \"c10::Half\"]", NULL);
    CHECK_EQ(c.flops, 16 * 8 * 32);
    c = test_cost(KINO__COST_DEFAULT, "aten::_sparse_mm", "[[4, 4], [4, 4]]", F2, NULL);
    CHECK_EQ(c.flops, KINO_NO_INT);
}

TEST(no_operator_is_in_two_families)
{
    static const kino__cost_family *const families[] = {
#define FAMILY(name) &kino__cost_family_##name,
#include "cost/families.def"
#undef FAMILY
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const kino__cost_op *op = families[f]->ops; op->name; op++) {
            const char *family;
            kino_str name = kino__str_from(op->name);
            if (!CHECK(kino__cost_op_find(name, &family) == op) ||
                !CHECK_STR(kino__op_bare_name(name), op->name))
                printf("  %s in %s\n", op->name, families[f]->name);
        }
    }
}
