/* test_json_in.c - the strict reader of small JSON. */
#include "base/json_in.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

static const kino__json_in *parse(kino__arena *arena, const char *text, kino_error *err)
{
    const kino__json_in *root;
    return kino__json_in_parse(kino__str_from(text), NULL, arena, &root, err) == KINO_OK ? root
                                                                                         : NULL;
}

TEST(json_in_reads_every_kind_of_value)
{
    kino__arena arena;
    kino_error err;
    kino_str text = {"", 0};
    int64_t number = 0;
    double real = 0;
    bool truth = false;
    kino__arena_init(&arena, NULL);
    const kino__json_in *root =
        parse(&arena,
              " {\"a\": 12, \"b\":-0.5e1 ,\"c\":\"x\\n\\u00e9\\ud83d\\ude00\","
              "\"d\":[true,false,null],\"e\":{}}\n",
              &err);
    REQUIRE(root != NULL);
    CHECK_EQ(root->count, 5);
    CHECK(kino__json_in_get_int(root, "a", &number));
    CHECK_EQ(number, 12);
    CHECK(kino__json_in_get_double(root, "b", &real));
    CHECK_EQ(real, -5.0);
    CHECK(!kino__json_in_get_int(root, "b", &number));
    CHECK(kino__json_in_get_text(root, "c", &text));
    CHECK_EQ(text, "x\n\xc3\xa9\xf0\x9f\x98\x80");
    CHECK_EQ(kino__json_in_int(root, "a"), 12);
    CHECK_EQ(kino__json_in_int(root, "b"), KINO_NO_INT);
    CHECK_STR(kino__json_in_string(root, "c"), "x\n\xc3\xa9\xf0\x9f\x98\x80");
    CHECK(!kino__json_in_string(root, "a") && !kino__json_in_string(NULL, "c"));
    const kino__json_in *item = kino__json_in_get_array(root, "d");
    REQUIRE(item && item->next && item->next->next);
    CHECK(item->kind == KINO__JSON_IN_BOOL && item->is_true);
    CHECK(item->next->kind == KINO__JSON_IN_BOOL && !item->next->is_true);
    CHECK(item->next->next->kind == KINO__JSON_IN_NULL && !item->next->next->next);
    CHECK(kino__json_in_member(root, "e")->kind == KINO__JSON_IN_OBJECT);
    CHECK(kino__json_in_member(root, "f") == NULL && kino__json_in_member(NULL, "a") == NULL);
    CHECK(!kino__json_in_get_bool(root, "a", &truth) && !kino__json_in_get_array(root, "a"));
    kino__arena_deinit(&arena);
}

TEST(json_in_keeps_integers_exact)
{
    kino__arena arena;
    kino_error err;
    int64_t number = 0;
    kino__arena_init(&arena, NULL);
    CHECK(kino__json_in_get_int(parse(&arena, "{\"a\":9223372036854775807}", &err), "a", &number));
    CHECK_EQ(number, INT64_MAX);
    const kino__json_in *large = parse(&arena, "9223372036854775808", &err);
    REQUIRE(large != NULL);
    CHECK(!large->is_int);
    CHECK_EQ(large->number, 9223372036854775808.0);
    kino__arena_deinit(&arena);
}

TEST(json_in_refuses_what_is_not_json_and_says_where)
{
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {{"", 0},
                 {"  ", 2},
                 {"{", 1},
                 {"[1", 2},
                 {"[1,]", 3},
                 {"[,1]", 1},
                 {"{\"a\"}", 4},
                 {"{\"a\":}", 5},
                 {"{a:1}", 1},
                 {"01", 2},
                 {"1.", 2},
                 {"1e", 2},
                 {"-", 1},
                 {"+1", 0},
                 {"nul", 0},
                 {"1 2", 2},
                 {"\"a", 2},
                 {"\"\\x\"", 1},
                 {"\"\\u12\"", 1},
                 {"\"\t\"", 1},
                 {"\"\xff\"", 1},
                 {"[1 2]", 3},
                 {"]", 0},
                 {"[}", 1},
                 {"\"\\u0000\"", 1},
                 {"\"\\ud800\"", 1},
                 {"\"\\ud83d.ude00\"", 1},
                 {"{\"a\":1,\"a\":2}", 10},
                 {"NaN", 0},
                 {"{\"a\":1,}", 7},
                 {"// x\n1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__arena arena;
        kino_error err;
        kino__arena_init(&arena, NULL);
        CHECK(parse(&arena, cases[i].text, &err) == NULL);
        CHECK_EQ(err.code, KINO_FORMAT);
        CHECK_EQ(err.offset, cases[i].offset);
        kino__arena_deinit(&arena);
    }
}

TEST(json_in_holds_its_limits)
{
    kino__arena arena;
    kino_error err;
    const kino__json_in *root;
    const kino__json_in_limits limits = {.size = 10, .depth = 2};
    kino__arena_init(&arena, NULL);
    CHECK(kino__json_in_parse(KINO__STR("[[1]]"), &limits, &arena, &root, &err) == KINO_OK);
    CHECK(kino__json_in_parse(KINO__STR("[[[]]]"), &limits, &arena, &root, &err) == KINO_FORMAT);
    CHECK(kino__json_in_parse(KINO__STR("[1,2,3,4,5]"), &limits, &arena, &root, &err) ==
          KINO_FORMAT);
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("{\"x\":0"));
    for (int i = 1; i < KINO__JSON_IN_MEMBERS_MAX; i++)
        kino__buffer_printf(&text, ",\"%d\":0", i);
    kino__buffer_add(&text, KINO__STR("}"));
    CHECK(kino__json_in_parse(kino__buffer_str(&text), NULL, &arena, &root, &err) == KINO_OK);
    text.size--;
    kino__buffer_add(&text, KINO__STR(",\"y\":0}"));
    CHECK(kino__json_in_parse(kino__buffer_str(&text), NULL, &arena, &root, &err) == KINO_FORMAT);
    kino__buffer_deinit(&text);
    kino__arena_deinit(&arena);
}

TEST(json_in_survives_each_failing_allocation)
{
    for (size_t successes = 0;; successes++) {
        failing_allocator failing;
        kino__arena arena;
        kino_error err;
        const kino__json_in *root;
        failing_allocator_init(&failing, successes);
        kino__arena_init(&arena, &failing.allocator);
        kino_status st =
            kino__json_in_parse(KINO__STR("{\"a\":[\"b\",2]}"), NULL, &arena, &root, &err);
        kino__arena_deinit(&arena);
        CHECK_EQ(failing.held_bytes, 0);
        if (st == KINO_OK)
            break;
        CHECK_EQ(st, KINO_NOMEM);
        CHECK(root == NULL);
        REQUIRE(successes < 10);
    }
}

/* Two bytes of text are a value of some 100 bytes: their number is limited apart from the text. */
TEST(json_in_has_a_limit_of_values)
{
    const kino__json_in_limits limits = {.values = 5};
    kino__arena arena;
    kino_error err;
    const kino__json_in *root;
    kino__arena_init(&arena, NULL);
    CHECK_EQ(kino__json_in_parse(KINO__STR("[0,[],{\"a\":1}]"), &limits, &arena, &root, &err),
             KINO_OK);
    CHECK_EQ(kino__json_in_parse(KINO__STR("[0,0,0,0,0]"), &limits, &arena, &root, &err),
             KINO_FORMAT);
    CHECK(root == NULL && strstr(err.message, "too many values") != NULL);
    kino__arena_deinit(&arena);
}
