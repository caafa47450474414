/* Calls of operators from each source; the literals of Python; NVTX ranges. */
#include "cost/marker.h"
#include "cost/op_call.h"
#include "cost/python_literal.h"
#include "unit/test.h"

/* -- literals -- */

static kino_status parse(const char *text, kino__arena *arena, const kino__py_value **out,
                         kino_error *err)
{
    kino__arena_init(arena, NULL);
    return kino__py_parse(kino__str_from(text), arena, out, err);
}

TEST(a_python_literal_becomes_a_tree)
{
    kino__arena arena;
    const kino__py_value *root;
    REQUIRE(parse("{'a': [1, -2.5e-3, (3,), ()], \"b\": {'c': None, 'd': True}, 'e': 'x\\'y'}",
                  &arena, &root, NULL) == KINO_OK);
    CHECK_EQ(root->kind, KINO__PY_DICT);
    CHECK_EQ(root->count, 3u);
    const kino__py_value *list = kino__py_member(root, "a");
    REQUIRE(list && list->count == 4);
    CHECK_EQ(list->first->integer, 1);
    CHECK_EQ(list->first->next->kind, KINO__PY_REAL);
    CHECK_STR(list->first->next->source, "-2.5e-3");
    CHECK_EQ(list->first->next->next->kind, KINO__PY_TUPLE);
    CHECK_STR(list->first->next->next->source, "(3,)");
    CHECK_EQ(list->first->next->next->next->count, 0u);
    CHECK_EQ(kino__py_member(kino__py_member(root, "b"), "d")->is_true, true);
    CHECK_STR(kino__py_text(root, "e"), "x'y");
    CHECK_EQ(kino__py_member(root, "none") == NULL, true);
    kino__arena_deinit(&arena);
}

TEST(escapes_of_python_strings_are_resolved)
{
    kino__arena arena;
    const kino__py_value *root;
    REQUIRE(parse("'\\x41\\u20ac\\n\\101\\q\\\\'", &arena, &root, NULL) == KINO_OK);
    CHECK_STR(root->text, "A\xe2\x82\xac\nA\\q\\");
    kino__arena_deinit(&arena);
}

TEST(what_is_no_literal_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        uint64_t at;
    } cases[] = {
        {"", 0},       {"[1,,2]", 3}, {"{'a' 1}", 5},  {"__import__('os')", 0}, {"[1", 2},
        {"'open", 5},  {"1 2", 2},    {"{[1]: 2}", 4}, {"{'a': }", 6},          {"1e", 2},
        {"'\\x4'", 4}, {"(1 2)", 3},  {"1_000", 1},    {"f'{x}'", 0},           {"[1]]", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__arena arena;
        const kino__py_value *root;
        kino_error err;
        CHECK_EQ(parse(cases[i].text, &arena, &root, &err), KINO_FORMAT);
        if (!CHECK_EQ(err.offset, cases[i].at))
            printf("  %s: %s\n", cases[i].text, err.message);
        kino__arena_deinit(&arena);
    }
}

TEST(deep_literals_end_at_a_limit)
{
    char text[200];
    memset(text, '[', sizeof text);
    text[sizeof text - 1] = '\0';
    kino__arena arena;
    const kino__py_value *root;
    kino_error err;
    CHECK_EQ(parse(text, &arena, &root, &err), KINO_FORMAT);
    CHECK_EQ(err.offset, (uint64_t)KINO__PY_DEPTH_MAX);
    kino__arena_deinit(&arena);
}

/* -- ranges -- */

TEST(ranges_fall_into_kinds)
{
    static const struct {
        const char *text;
        kino__marker_kind kind, compat;
    } cases[] = {
        {"{'mod': 'torch', 'op': 'mm', 'args': [{'name': '', 'type': 'int', 'value': 3}]}",
         KINO__MARKER_ARGUMENTS, KINO__MARKER_ARGUMENTS},
        {"{'mod': 'torch', 'op': 'empty', 'args': []}", KINO__MARKER_ARGUMENTS, KINO__MARKER_OTHER},
        {"model options: args type", KINO__MARKER_OTHER, KINO__MARKER_ARGUMENTS},
        {"layer:conv1", KINO__MARKER_LAYER, KINO__MARKER_LAYER},
        {"{'traceMarker': ['/a/layer:b.py:3']}", KINO__MARKER_TRACE, KINO__MARKER_LAYER},
        {"{'mod': 'Linear', 'strRepr': 'in=3'}", KINO__MARKER_MODULE, KINO__MARKER_MODULE},
        {"aten::mm, seq = 3", KINO__MARKER_SEQUENCE, KINO__MARKER_SEQUENCE},
        {"aten::mm, op_id = 3", KINO__MARKER_OTHER, KINO__MARKER_OTHER},
        {"CheckpointFunctionBackward, seq = 3", KINO__MARKER_DROPPED, KINO__MARKER_DROPPED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(kino__marker_kind_of(kino__str_from(cases[i].text), false), cases[i].kind);
        CHECK_EQ(kino__marker_kind_of(kino__str_from(cases[i].text), true), cases[i].compat);
    }
}

TEST(backward_ranges_are_recognised)
{
    CHECK_EQ(kino__marker_is_backward(KINO__STR("AddmmBackward0, seq = 3"), true), true);
    CHECK_EQ(kino__marker_is_backward(KINO__STR("MulBackward1, seq = 3"), true), false);
    CHECK_EQ(kino__marker_is_backward(KINO__STR("MulBackward1, seq = 3"), false), true);
    CHECK_EQ(kino__marker_is_backward(KINO__STR("AddmmBackward0"), false), true);
    CHECK_EQ(kino__marker_is_backward(
                 KINO__STR("autograd::engine::evaluate_function: MulBackward0"), false),
             true);
    CHECK_EQ(kino__marker_is_backward(KINO__STR("BackwardsCompatible, seq = 3"), false), false);
}

TEST(markers_say_layer_frames_and_module)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    CHECK_STR(kino__marker_layer(KINO__STR("layer:conv1:x")), "conv1");
    CHECK_STR(kino__marker_layer(KINO__STR("layer")), "");
    kino__str_list frames = {0};
    REQUIRE(kino__marker_frames(
        KINO__STR("{'traceMarker': ['/a/train.py:60', '/x/torch/nn/modules/conv.py:3', 'n.py:4']}"),
        &arena, &frames));
    CHECK_EQ(frames.count, 2u);
    CHECK_STR(frames.items[1], "n.py:4");
    kino__vec_deinit(&frames);
    kino_str module, representation;
    CHECK_EQ(kino__marker_module(KINO__STR("{'mod': 'Linear', 'strRepr': 'a'}"), &arena, &module,
                                 &representation),
             true);
    CHECK_STR(module, "Linear");
    kino__arena_deinit(&arena);
}

/* -- calls -- */

TEST(bare_names_are_without_namespace_overload_and_in_place_mark)
{
    static const char *const cases[][2] = {
        {"aten::add_.Tensor", "add"},
        {"__iadd__", "add"},
        {"__rpow__", "pow"},
        {"__invert__", "invert"},
        {"c10d::allreduce_", "allreduce"},
        {"mm", "mm"},
        {"__itruediv__", "truediv"},
        {"_softmax", "_softmax"},
        {"", ""},
        {"torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&f::g> >",
         "PermutePooledEmbsFunction"},
        {"nccl:all_reduce", "all_reduce"},
        {"__", "_"},
        {"aten::_foreach_add_", "_foreach_add"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(kino__op_bare_name(kino__str_from(cases[i][0])), cases[i][1]);
}

TEST(pyprof_arguments_become_inputs)
{
    kino__op_call call = {0};
    bool is_one;
    REQUIRE(kino__op_call_read_pyprof(
        &call,
        KINO__STR("{'mod': 'torch', 'op': 'conv1d', 'args': [{'name': '', 'type': 'tensor', "
                  "'shape': (4, 80, 30), 'dtype': 'float16'}, {'name': 'stride', 'type': 'tuple', "
                  "'value': (2, 1)}, {'name': '', 'type': 'NoneType', 'value': None}, {'name': "
                  "'bias', 'type': 'bool', 'value': True}]}"),
        &is_one));
    REQUIRE(is_one);
    CHECK_STR(call.name, "conv1d");
    CHECK_STR(call.module, "torch");
    CHECK_EQ(call.inputs.items.count, 4u);
    const kino__op_input *items = call.inputs.items.items;
    CHECK_EQ(items[0].is_tensor && items[0].dtype == KINO__DTYPE_FLOAT16, true);
    CHECK_EQ(kino__op_input_elements(&call.inputs, &items[0]), 4 * 80 * 30);
    CHECK_STR(items[1].keyword, "stride");
    int64_t values[3];
    uint32_t count;
    CHECK_EQ(kino__op_input_to_ints(&items[1], values, 3, &count), true);
    CHECK_EQ(count == 2 && values[0] == 2 && values[1] == 1, true);
    CHECK_STR(items[2].type, "NoneType");
    bool truth;
    CHECK_EQ(kino__op_input_to_bool(&items[3], &truth) && truth, true);
    REQUIRE(kino__op_call_read_pyprof(&call, KINO__STR("{'op': 3}"), &is_one));
    CHECK_EQ(is_one, false);
    kino__op_call_deinit(&call);
}

TEST(a_range_of_emit_nvtx_has_sizes_but_no_types)
{
    kino__op_call call = {0};
    REQUIRE(kino__op_call_read_range(&call, KINO__STR("aten::mm, seq = 7, sizes = [[4, 5], []]")));
    CHECK_EQ(call.source, KINO__OP_NVTX);
    CHECK_STR(call.name, "aten::mm");
    CHECK_EQ(call.sequence, 7);
    CHECK_EQ(call.inputs.items.count, 2u);
    CHECK_EQ(call.inputs.items.items[0].is_tensor, true);
    CHECK_EQ(call.inputs.items.items[1].is_tensor, false);
    kino__op_call_deinit(&call);
}

TEST(kineto_arguments_are_read_in_one_walk)
{
    kino__op_call call = {0};
    REQUIRE(kino__op_call_read_kineto(
        &call, KINO__STR("aten::mm"),
        KINO__STR("{\"Sequence number\": 5, \"Fwd thread id\": 1, \"Input Dims\": [[2, 3], [3]], "
                  "\"Input type\": [\"float\", \"c10::Half\"], \"In msg nelems\": 8, \"dtype\": "
                  "\"BFloat16\"}")));
    CHECK_EQ(call.sequence, 5);
    CHECK_EQ(call.forward_thread, 1);
    CHECK_EQ(call.message.elements_in, 8);
    CHECK_EQ(call.message.elements_out, KINO_NO_INT);
    CHECK_EQ(call.message.dtype, KINO__DTYPE_BFLOAT16);
    CHECK_EQ(call.inputs.items.count, 2u);
    CHECK_EQ(call.inputs.items.items[1].dtype, KINO__DTYPE_FLOAT16);
    kino__op_call_deinit(&call);
}
