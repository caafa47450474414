/* Which of nested operators is charged. */
#include "cost/charge.h"
#include "unit/test.h"

enum {
    NONE = KINO__COST_NO_ROLE,
    COMPOSITE = KINO__COST_COMPOSITE,
    PRIMITIVE = KINO__COST_PRIMITIVE,
    REPLAY = KINO__COST_REPLAY,
    FREE = KINO__COST_FREE,
    TOP = KINO_NO_ROW,
};

static void check(const uint32_t (*tree)[3], size_t count)
{
    kino__charge_node nodes[16];
    for (size_t i = 0; i < count; i++)
        nodes[i] = (kino__charge_node){.parent = tree[i][0], .role = (kino__cost_role)tree[i][1]};
    kino__charge(nodes, count);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(nodes[i].charged, tree[i][2]);
}

TEST(the_outermost_primitive_is_charged)
{
    static const uint32_t tree[][3] = {
        {TOP, COMPOSITE, TOP}, /* aten::linear */
        {0, PRIMITIVE, 1},     /*   aten::addmm */
        {1, PRIMITIVE, 1},     /*     aten::copy_ */
        {2, NONE, 1},          /*       launch */
        {0, NONE, TOP},        /*   aten::t */
        {TOP, NONE, TOP},      /* AddmmBackward0 */
        {5, PRIMITIVE, 6},     /*   aten::mm */
        {5, PRIMITIVE, 7},     /*   aten::mm */
    };
    check(tree, sizeof tree / sizeof *tree);
}

TEST(a_composite_is_charged_where_nothing_below_it_is)
{
    static const uint32_t tree[][3] = {
        {TOP, NONE, TOP},    /* a module */
        {0, COMPOSITE, 1},   /*   aten::matmul */
        {1, COMPOSITE, 1},   /*     aten::einsum */
        {2, NONE, 1},        /*       work */
        {0, COMPOSITE, TOP}, /*   aten::lstm */
        {4, COMPOSITE, 5},   /*     aten::linear, alone */
        {4, PRIMITIVE, 6},   /*     aten::sigmoid */
    };
    check(tree, sizeof tree / sizeof *tree);
}

TEST(a_replay_is_charged_beside_what_it_calls)
{
    static const uint32_t tree[][3] = {
        {TOP, REPLAY, 0},                    /* CompiledFunction */
        {0, PRIMITIVE, 1},                   /*   aten::copy_ */
        {0, NONE, TOP},                      /*   something unknown */
        {TOP, PRIMITIVE, 3}, {3, REPLAY, 3}, /* within a charged one: part of it */
    };
    check(tree, sizeof tree / sizeof *tree);
}

TEST(operators_that_cost_nothing_do_not_stand_for_a_composite)
{
    static const uint32_t tree[][3] = {
        {TOP, COMPOSITE, 0},   /* aten::conv2d */
        {0, FREE, 0},          /*   aten::empty */
        {0, NONE, 0},          /*   a kernel's own operator */
        {TOP, COMPOSITE, TOP}, /* aten::linear */
        {3, FREE, 4},          /*   aten::t */
        {3, PRIMITIVE, 5},     /*   aten::addmm */
        {5, FREE, 5},          /*     aten::expand */
        {TOP, FREE, 7},        /* aten::detach */
        {7, FREE, 7},          /*   detach */
    };
    check(tree, sizeof tree / sizeof *tree);
}
