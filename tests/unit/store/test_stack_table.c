/* test_stack_table.c - stacks as a tree of frames: made, written to a trace, read again, damaged. */
#include "store/derive.h"
#include "store/stack_table.h"
#include "unit/test.h"

static kino__trace *trace_with(const char *value)
{
    kino__trace *trace;
    if (kino__trace_new(&trace, NULL) != KINO_OK)
        return NULL;
    if (value)
        (void)kino__trace_add_metadata(trace, KINO__STR(KINO__STACK_KEY), kino__str_from(value));
    return trace;
}

TEST(stacks_share_their_beginning)
{
    kino__stack_builder b;
    kino__stack_builder_init(&b);
    uint32_t main = kino__stack_builder_frame(&b, KINO__STR("main"));
    uint32_t f = kino__stack_builder_frame(&b, KINO__STR("f")),
             g = kino__stack_builder_frame(&b, KINO__STR("g"));
    uint32_t in_f[] = {f, main}, in_g[] = {g, main}, twice[] = {f, f, main};
    CHECK_EQ(kino__stack_builder_add(&b, in_f, 2), 2);
    CHECK_EQ(kino__stack_builder_add(&b, in_g, 2), 3);
    CHECK_EQ(kino__stack_builder_add(&b, twice, 3), 4);
    CHECK_EQ(kino__stack_builder_add(&b, in_f, 2), 2);
    CHECK_EQ(kino__stack_builder_add(&b, in_f, 0), 0);
    CHECK_EQ(b.nodes.count, 4);
    CHECK(kino__stack_builder_is(&b, 2, in_f, 2) && !kino__stack_builder_is(&b, 2, in_g, 2));
    CHECK(!kino__stack_builder_is(&b, 2, in_f, 1) && !kino__stack_builder_is(&b, 4, twice + 1, 2));
    kino__stack_builder_deinit(&b);
}

TEST(a_trace_keeps_its_stacks)
{
    kino__stack_builder b;
    kino__trace *trace = trace_with(NULL);
    REQUIRE(trace != NULL);
    kino__stack_builder_init(&b);
    uint32_t outer = kino__stack_builder_frame(&b, KINO__STR("a \"quoted\" \\ file.py(3): main"));
    uint32_t inner = kino__stack_builder_frame(&b, KINO__STR("f"));
    uint32_t frames[] = {inner, outer};
    REQUIRE_EQ(kino__stack_builder_add(&b, frames, 2), 2);
    REQUIRE(kino__stack_builder_write(&b, trace));
    const kino__stack_table *table = kino__stack_table_of(trace);
    REQUIRE(table != NULL);
    CHECK_STR(kino__stack_table_frame(table, 2), "f");
    CHECK_EQ(kino__stack_table_caller(table, 2), 1);
    CHECK_STR(kino__stack_table_frame(table, 1), "a \"quoted\" \\ file.py(3): main");
    CHECK_EQ(kino__stack_table_caller(table, 1), 0);
    CHECK_EQ(kino__stack_table_node(table, 2), 2);
    CHECK_EQ(kino__stack_table_node(table, 3), 0);
    CHECK_EQ(kino__stack_table_node(table, KINO_NO_INT), 0);
    CHECK_STR(kino__stack_table_frame(table, 3), "");
    kino__trace_free(trace);
    kino__stack_builder_deinit(&b);
}

/* A caller that comes later would be a circle; a frame that is not there has no text. */
TEST(a_damaged_table_of_stacks_ends_where_the_damage_is)
{
    static const struct {
        const char *text;
        size_t nodes;
    } cases[] = {
        {"{\"frames\": [\"f\"], \"nodes\": [0,0, 1,0]}", 2},
        {"{\"frames\": [\"f\"], \"nodes\": [0,0, 2,0]}", 1},
        {"{\"frames\": [\"f\"], \"nodes\": [0,1]}", 0},
        {"{\"frames\": [\"f\"], \"nodes\": [0,0, 1]}", 1},
        {"{\"frames\": [\"f\", \"nodes\": [0,0]", 0},
        {"{\"nodes\": [0,0]}", 0},
        {"{\"frames\": [\"f\"], \"nodes\": [0,99999999999999999999]}", 0},
        {"[]", 0},
        {"{\"frames\": \"\\", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__trace *trace = trace_with(cases[i].text);
        REQUIRE(trace != NULL);
        const kino__stack_table *table = kino__stack_table_of(trace);
        REQUIRE(table != NULL);
        CHECK_EQ(table->nodes.count, cases[i].nodes);
        kino__trace_free(trace);
    }
}
