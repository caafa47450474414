/* Products of matrices: operations and bytes worked out by hand. */
#include "unit/cost/cost_ask.h"
#include "unit/test.h"

static kino__cost cost(const char *op, const char *dims, const char *types)
{
    return test_cost(KINO__COST_DEFAULT, op, dims, types, NULL);
}

TEST(a_product_costs_two_operations_for_each_multiplication)
{
    kino__cost c = cost("aten::mm", "[[4, 5], [5, 6]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, 2 * 4 * 5 * 6);
    CHECK_EQ(c.bytes_read, (4 * 5 + 5 * 6) * 4);
    CHECK_EQ(c.bytes_written, 4 * 6 * 4);
    CHECK_EQ(c.precision, KINO__DTYPE_FLOAT32);
    CHECK_EQ(c.is_matrix, true);
    CHECK_STR(c.family, "gemm");
    CHECK_EQ(c.reason == NULL, true);
    c = cost("aten::addmm", "[[6], [4, 5], [5, 6]]",
             "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]");
    CHECK_EQ(c.flops, 240);
    CHECK_EQ(kino__cost_bytes(&c), (20 + 30 + 24) * 2);
    c = cost("aten::baddbmm_", "[[3, 4, 6], [3, 4, 5], [3, 5, 6]]",
             "[\"double\", \"double\", \"double\"]");
    CHECK_EQ(c.flops, 3 * 240);
    c = cost("aten::_int_mm", "[[4, 5], [5, 6]]", "[\"signed char\", \"signed char\"]");
    CHECK_EQ(c.bytes_read, 50);
    CHECK_EQ(c.bytes_written, 24 * 4);
    c = cost("aten::dot", "[[7], [7]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, 14);
    CHECK_EQ(c.bytes_written, 4);
}

TEST(matmul_broadcasts_its_batches)
{
    kino__cost c = cost("aten::matmul", "[[2, 1, 4, 5], [3, 5, 6]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, 6 * 240);
    CHECK_EQ(c.bytes_read, (2 * 20 + 3 * 30) * 4);
    CHECK_EQ(c.bytes_written, 6 * 24 * 4);
    c = cost("aten::matmul", "[[8], [2, 3, 8, 4]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, 2 * 6 * 8 * 4);
    c = cost("aten::matmul", "[[2, 4, 5], [3, 5, 6]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "the inputs do not fit the operator");
}

TEST(linear_multiplies_all_rows)
{
    kino__cost c = cost("aten::linear", "[[2, 3, 8], [10, 8], [10]]",
                        "[\"c10::Half\", \"c10::Half\", \"c10::Half\"]");
    CHECK_EQ(c.flops, 2 * 6 * 8 * 10);
    CHECK_EQ(kino__cost_bytes(&c), (48 + 80 + 60) * 2);
}

TEST(complex_products_are_four_real_ones)
{
    kino__cost c =
        cost("aten::mm", "[[4, 5], [5, 6]]", "[\"c10::complex<float>\", \"c10::complex<float>\"]");
    CHECK_EQ(c.flops, 4 * 240);
    CHECK_EQ(c.bytes_written, 24 * 8);
}

TEST(unknown_is_never_zero)
{
    kino__cost c = cost("aten::mm", NULL, NULL);
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "shapes were not recorded");
    c = cost("aten::mm", "[[4, 5], [5, 6]]", NULL); /* as emit_nvtx gives it */
    CHECK_EQ(c.flops, 240);
    CHECK_EQ(kino__cost_bytes(&c), KINO_NO_INT);
    CHECK_EQ(c.reason != NULL, true);
    c = cost("my::own_operator", "[[4, 5]]", "[\"float\"]");
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "no family knows the operator");
    c = cost("aten::mm", "[[4, -5], [-5, 6]]", "[\"float\", \"float\"]");
    CHECK_STR(c.reason, "a size is negative");
    c = cost("aten::mm", "[[4611686018427387904, 3], [3, 1]]", "[\"float\", \"float\"]");
    CHECK_EQ(c.flops, KINO_NO_INT);
    CHECK_STR(c.reason, "too large to count");
}

TEST(einsum_multiplies_from_left_to_right)
{
    kino__cost c = test_cost(KINO__COST_DEFAULT, "aten::einsum", "[[], [[4, 5], [5, 6]], []]",
                             "[\"\", \"TensorList\", \"\"]", "[\"ij,jk->ik\", \"\", \"\"]");
    CHECK_EQ(c.flops, 240);
    c = test_cost(KINO__COST_DEFAULT, "aten::einsum", "[[], [[4, 5], [5, 6], [6, 7]], []]", NULL,
                  "[\"ij,jk,kl->il\", \"\", \"\"]");
    CHECK_EQ(c.flops, 240 + 2 * 4 * 6 * 7);
    c = test_cost(KINO__COST_DEFAULT, "aten::einsum", "[[], [[4], [6]], []]", NULL,
                  "[\"i,j->ij\", \"\", \"\"]");
    CHECK_EQ(c.flops, 24); /* nothing is summed */
    c = test_cost(KINO__COST_DEFAULT, "aten::einsum", "[[], [[4, 5], [5, 6]], []]", NULL,
                  "[\"ij,jk\", \"\", \"\"]");
    CHECK_EQ(c.flops, 240);
    c = test_cost(KINO__COST_DEFAULT, "aten::einsum", "[[], [[4, 5], [7, 6]], []]", NULL,
                  "[\"ij,jk->ik\", \"\", \"\"]");
    CHECK_EQ(c.flops, KINO_NO_INT);
    c = test_cost_of_range("{'mod': 'torch', 'op': 'einsum', 'args': [{'name': '', 'type': 'str', "
                           "'value': 'bij,bjk->bik'}, {'name': '', 'type': 'tensor', 'shape': (3, "
                           "4, 5), 'dtype': 'float32'}, {'name': '', 'type': 'tensor', 'shape': "
                           "(3, 5, 6), 'dtype': 'float32'}]}");
    CHECK_EQ(c.flops, 720);
    CHECK_EQ(kino__cost_bytes(&c), 3 * (20 + 30 + 24) * 4);
}
