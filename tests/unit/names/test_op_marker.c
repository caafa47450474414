/* test_op_marker.c - texts of emit_nvtx, old and new, and texts that are something else. */
#include <string.h>

#include "names/op_marker.h"
#include "unit/test.h"

static kino_str str(const char *text)
{
    return (kino_str){text, strlen(text)};
}

TEST(fields_of_an_ops_range_are_found_by_their_names)
{
    kino__op_marker op;
    REQUIRE(kino__op_marker_parse(
        str("aten::conv2d, seq = 12, op_id = 3107, sizes = [[1, 3, 32], [], [[2, 2], [3]]], "
            "input_op_ids = [(1,0), (2,0)]"),
        &op));
    CHECK_STR(op.name, "aten::conv2d");
    CHECK_EQ(op.sequence, 12);
    CHECK_EQ(op.op_id, 3107);
    CHECK_STR(op.sizes, "[[1, 3, 32], [], [[2, 2], [3]]]");
    CHECK(!op.is_backward);
    REQUIRE(kino__op_marker_parse(str("AddmmBackward0, seq = 9"), &op));
    CHECK_EQ(op.op_id, KINO_NO_INT);
    CHECK(op.is_backward);
    REQUIRE(kino__op_marker_parse(
        str("autograd::engine::evaluate_function: MulBackward1, seq = 3, op_id = 5"), &op));
    CHECK_STR(op.name, "autograd::engine::evaluate_function: MulBackward1");
    CHECK(op.is_backward);
    REQUIRE(kino__op_marker_parse(str("aten::view, op_id = 7"), &op));
    CHECK_EQ(op.sequence, KINO_NO_INT);
    REQUIRE(kino__op_marker_parse(str("aten::view, seq = -1, op_id = 7"), &op));
    CHECK_EQ(op.sequence, KINO_NO_INT);
    REQUIRE(kino__op_marker_parse(str("aten::relu"), &op));
    CHECK_STR(op.name, "aten::relu");
}

TEST(other_texts_are_no_ops)
{
    kino__op_marker op;
    CHECK(!kino__op_marker_parse(str(""), &op));
    CHECK(!kino__op_marker_parse(str("forward"), &op));
    CHECK(!kino__op_marker_parse(str("aten::relu and more"), &op));
    CHECK(!kino__op_marker_parse(str("{'mod': 'torch', 'op': 'x, seq = 3'}"), &op));
    CHECK(!kino__op_marker_parse(str("step, seq = none"), &op));
    CHECK(!kino__op_marker_parse(str(", seq = 3"), &op));
    CHECK(!kino__op_marker_parse(str("aten::mm, seq = 3, sizes = [[1, 2]"), &op));
    CHECK(!kino__op_marker_parse(str("aten::mm, seq = 3, sizes = [(1, 2)]"), &op));
    CHECK(!kino__op_marker_parse(str("aten::mm, seq = 3 and more"), &op));
    CHECK(!kino__op_marker_parse(str("aten::mm, seq = 99999999999999999999"), &op));
}

TEST(names_of_autograd_are_known_by_their_end)
{
    CHECK(kino__op_name_is_backward(str("AddmmBackward0")));
    CHECK(kino__op_name_is_backward(str("aten::convolution_backward")));
    CHECK(
        kino__op_name_is_backward(str("autograd::engine::evaluate_function: torch::autograd::X")));
    CHECK(!kino__op_name_is_backward(str("BackwardsCompatible")));
    CHECK(!kino__op_name_is_backward(str("")));
    kino_str name = kino__op_marker_name(str("MulBackward1, op_id = 3, seq = 4"));
    CHECK(name.size == 12 && memcmp(name.data, "MulBackward1", 12) == 0);
}
