/* Inputs of operators as profilers write them: lists side by side, lists of tensors, damage. */
#include "store/op_inputs.h"
#include "unit/test.h"

static const char recorded[] =
    "{\"Sequence number\": 3, \"Input type\": [\"c10::BFloat16\", \"TensorList\", \"Scalar\", "
    "\"\", \"float\"], \"Input Dims\": [[8, 1024], [[3], [4, 4]], [], [], []], "
    "\"Input Strides\": [[1024, 1], [[1], [4, 1]], [], [], []], "
    "\"Concrete Inputs\": [\"\", \"\", \"1.5\", \"[2, 3]\", \"\"]}";

TEST(inputs_of_an_operator_are_told_apart)
{
    kino__op_inputs inputs = {0};
    REQUIRE(kino__op_inputs_read(&inputs, kino__str_from(recorded)));
    CHECK_EQ(inputs.argument_count, 5u);
    CHECK_EQ(inputs.items.count, 6u); /* the list has two */
    const kino__op_input *first = kino__op_inputs_at(&inputs, 0);
    CHECK_EQ(first->dtype, KINO__DTYPE_BFLOAT16);
    CHECK_EQ(first->is_tensor, true);
    CHECK_EQ(first->size_count, 2u);
    CHECK_EQ(kino__op_input_sizes(&inputs, first)[1], 1024);
    CHECK_EQ(kino__op_input_strides(&inputs, first)[0], 1024);
    CHECK_EQ(kino__op_input_elements(&inputs, first), 8192);
    const kino__op_input *list = kino__op_inputs_at(&inputs, 1);
    CHECK_EQ(list->is_listed && list[1].is_listed && list[1].argument == 1, true);
    CHECK_EQ(kino__op_input_elements(&inputs, &list[1]), 16);
    CHECK_EQ(kino__op_input_strides(&inputs, &list[1])[0], 4);
    const kino__op_input *scalar = kino__op_inputs_at(&inputs, 2);
    CHECK_EQ(scalar->is_tensor, false);
    CHECK_STR(scalar->value, "1.5");
    CHECK_STR(kino__op_inputs_at(&inputs, 3)->value, "[2, 3]");
    const kino__op_input *zero_dimensional = kino__op_inputs_at(&inputs, 4);
    CHECK_EQ(zero_dimensional->is_tensor, true);
    CHECK_EQ(kino__op_input_elements(&inputs, zero_dimensional), 1);
    CHECK_EQ(kino__op_inputs_at(&inputs, 5) == NULL, true);
    kino__op_inputs_deinit(&inputs);
}

static int64_t bytes_of(const char *args)
{
    kino__op_inputs inputs = {0};
    REQUIRE(kino__op_inputs_read(&inputs, kino__str_from(args)));
    int64_t bytes = kino__op_inputs_bytes(&inputs);
    kino__op_inputs_deinit(&inputs);
    return bytes;
}

TEST(bytes_of_inputs_are_summed_or_unknown)
{
    CHECK_EQ(
        bytes_of("{\"Input Dims\": [[2, 3], [5]], \"Input type\": [\"float\", \"c10::Half\"]}"),
        2 * 3 * 4 + 5 * 2);
    CHECK_EQ(bytes_of("{\"Input dims\": [[[2], [3]]], \"Input type\": [\"double\"]}"), 5 * 8);
    CHECK_EQ(bytes_of("{\"Input Dims\": [[2, 3]], \"Input type\": [\"unheard of\"]}"), KINO_NO_INT);
    CHECK_EQ(bytes_of("{\"Input Dims\": [[2], []], \"Input type\": [\"int\", \"Scalar\"]}"), 8);
    CHECK_EQ(bytes_of("{\"Input type\": [\"int\"]}"), KINO_NO_INT); /* shapes were not recorded */
    CHECK_EQ(bytes_of("{}"), KINO_NO_INT);
    CHECK_EQ(bytes_of("{\"Input Dims\": [[4611686018427387904, 4]], \"Input type\": [\"float\"]}"),
             INT64_MAX);
}

TEST(damaged_inputs_are_read_as_far_as_they_go)
{
    static const char *const texts[] = {
        "{\"Input Dims\": [[1, ", "{\"Input Dims\": [[[[",
        "{\"Input Dims\": 7}",    "{\"Input Dims\": [\"a\\\\\", [2]]}",
        "{\"Input type\": [\"fl", "{\"Input Dims\": [,,]}"};
    kino__op_inputs inputs = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_EQ(kino__op_inputs_read(&inputs, kino__str_from(texts[i])), true);
    REQUIRE(kino__op_inputs_read(&inputs, kino__str_from(texts[3])));
    CHECK_EQ(inputs.argument_count, 2u); /* the quote behind two backslashes ends the text */
    CHECK_EQ(kino__op_input_elements(&inputs, kino__op_inputs_at(&inputs, 1)), 2);
    kino__op_inputs_deinit(&inputs);
}

TEST(every_element_type_has_a_size_and_a_name)
{
    for (int d = 1; d < KINO__DTYPES; d++) {
        CHECK_EQ(kino__dtype_bits((kino__dtype)d) > 0, true);
        CHECK_EQ(kino__dtype_name((kino__dtype)d) != NULL, true);
    }
    CHECK_EQ(kino__dtype_bytes(KINO__DTYPE_NONE), 0u);
    CHECK_EQ(kino__dtype_of(KINO__STR("c10::Float8_e4m3fn")), KINO__DTYPE_FLOAT8_E4M3);
    CHECK_EQ(kino__dtype_of(KINO__STR("TensorList")), KINO__DTYPE_NONE);
}
