/* Convolutions and their gradients: operations and bytes worked out by hand. */
#include "unit/cost/cost_ask.h"
#include "unit/test.h"

#define FLOATS "[\"float\", \"float\", \"float\"]"

TEST(a_convolution_counts_the_positions_of_its_result)
{
    /* 2 x 3 x 6 x 6, 6 filters of 3 x 4 x 4, padding 1: 5 x 5 positions */
    kino__cost c = test_cost(
        KINO__COST_DEFAULT, "aten::convolution", "[[2, 3, 6, 6], [6, 3, 4, 4], [6]]", FLOATS,
        "[\"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "
        "\"1\"]");
    CHECK_EQ(c.flops, 28800);
    CHECK_EQ(c.bytes_read, (2 * 3 * 36 + 6 * 3 * 16) * 4);
    CHECK_EQ(c.bytes_written, 2 * 6 * 25 * 4);
    CHECK_EQ(c.is_matrix, true);
}

TEST(stride_dilation_and_groups_count)
{
    /* (33 + 2 - (2 * 2 + 1)) / 2 + 1 = 16 */
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::conv2d", "[[4, 16, 33, 33], [8, 16, 3, 3]]",
                             "[\"float\", \"float\"]",
                             "[\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", \"[2, 2]\", \"1\"]");
    CHECK_EQ(c.flops, INT64_C(2) * 4 * 8 * 16 * 16 * 16 * 9);
    /* depthwise: 32 groups of one channel */
    c = test_cost(KINO__COST_DEFAULT, "aten::conv2d", "[[2, 32, 10, 10], [32, 1, 3, 3]]",
                  "[\"float\", \"float\"]",
                  "[\"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"32\"]");
    CHECK_EQ(c.flops, 2 * 2 * 32 * 100 * 9);
    /* in one dimension, without a batch */
    c = test_cost(KINO__COST_DEFAULT, "aten::conv1d", "[[80, 30], [5, 80, 3]]",
                  "[\"float\", \"float\"]", "[\"\", \"\", \"\", \"[1]\", \"[0]\", \"[1]\", \"1\"]");
    CHECK_EQ(c.flops, 2 * 28 * 5 * 80 * 3);
    /* in three */
    c = test_cost(KINO__COST_DEFAULT, "aten::conv3d", "[[1, 2, 4, 4, 4], [3, 2, 2, 2, 2]]",
                  "[\"float\", \"float\"]", "[\"\", \"\", \"\", \"[1]\", \"[0]\", \"[1]\", \"1\"]");
    CHECK_EQ(c.flops, 2 * 27 * 3 * 2 * 8);
}

TEST(a_transposed_convolution_counts_the_positions_of_its_input)
{
    /* w is [C, K / groups, kernel]; result (5 - 1) * 2 - 2 + 3 + 1 = 10 */
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::conv_transpose2d",
                             "[[2, 8, 5, 5], [8, 3, 3, 3]]", "[\"float\", \"float\"]",
                             "[\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"2\", \"[1, "
                             "1]\"]");
    CHECK_EQ(c.flops, 2 * 2 * 25 * 8 * 3 * 9);
    CHECK_EQ(c.bytes_written, 2 * 6 * 100 * 4);
}

static kino__cost backward(kino__cost_mode mode, const char *dims, const char *transposed,
                           const char *groups, const char *mask)
{
    char values[512];
    (void)snprintf(values, sizeof values,
                   "[\"\", \"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"%s\", \"[0, "
                   "0]\", \"%s\", \"%s\"]",
                   transposed, groups, mask);
    return test_cost(mode, "aten::convolution_backward", dims, FLOATS, values);
}

TEST(each_gradient_costs_as_much_as_the_convolution)
{
    const char *dims = "[[2, 6, 5, 5], [2, 3, 6, 6], [6, 3, 4, 4]]";
    kino__cost c = backward(KINO__COST_DEFAULT, dims, "False", "1", "[False, True, False]");
    CHECK_EQ(c.flops, 28800);
    CHECK_EQ(c.bytes_read, (2 * 6 * 25 + 2 * 3 * 36) * 4);
    CHECK_EQ(c.bytes_written, 6 * 3 * 16 * 4);
    c = backward(KINO__COST_DEFAULT, dims, "False", "1", "[True, True, True]");
    CHECK_EQ(c.flops, 2 * 28800);
    c = test_cost(KINO__COST_DEFAULT, "aten::convolution_backward", dims, FLOATS, NULL);
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "which gradients are computed was not recorded");
}

TEST(only_flop_counter_counts_all_groups_of_a_weight)
{
    const char *dims = "[[2, 64, 56, 56], [2, 32, 56, 56], [64, 8, 3, 3]]";
    int64_t one = INT64_C(2) * 2 * 56 * 56 * 64 * 8 * 9;
    kino__cost c = backward(KINO__COST_DEFAULT, dims, "False", "4", "[True, True, False]");
    CHECK_EQ(c.flops, 2 * one);
    c = backward(KINO__COST_FLOP_COUNTER, dims, "False", "4", "[True, True, False]");
    CHECK_EQ(c.flops, one + 4 * one);
    /* transposed: the positions of the input, [8, 3] with 2 groups */
    dims = "[[2, 6, 10, 10], [2, 8, 5, 5], [8, 3, 3, 3]]";
    one = 2 * 2 * 25 * 8 * 3 * 9;
    c = backward(KINO__COST_DEFAULT, dims, "True", "2", "[True, True, False]");
    CHECK_EQ(c.flops, 2 * one);
    c = backward(KINO__COST_FLOP_COUNTER, dims, "True", "2", "[True, True, False]");
    CHECK_EQ(c.flops, one + 2 * one);
}

TEST(a_convolution_without_values_is_unknown)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::cudnn_convolution",
                             "[[32, 3, 224, 224], [64, 3, 7, 7]]", "[\"float\", \"float\"]", NULL);
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "stride and padding were not recorded");
}
