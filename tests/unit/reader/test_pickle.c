/* test_pickle.c - pickles of plain data as values: by hand, cut off anywhere, and hostile. */
#include <stdlib.h>
#include <string.h>

#include "reader/pickle.h"
#include "unit/test.h"

#define BYTES(text) ((kino_str){(text), sizeof(text) - 1})

/* pickle.dumps({"a": [1, -2, 300, 70000], "b": ("x", None, True, 1.5)}, 2), written out. */
#define PLAIN                                                                                      \
    "\x80\x02}q\x00(X\x01\x00\x00\x00"                                                             \
    "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM\x2c\x01J\x70\x11\x01\x00"                                \
    "eX\x01\x00\x00\x00"                                                                           \
    "bq\x03(X\x01\x00\x00\x00xq\x04N\x88G\x3f\xf8\x00\x00\x00\x00\x00\x00tq\x05u."

static kino_status parse(kino_str bytes, kino__value_tree *tree, kino__value *root, uint64_t *cut)
{
    *tree = (kino__value_tree){0};
    return kino__pickle_parse(bytes, NULL, tree, root, cut, NULL);
}

static kino__value item(const kino__value_tree *tree, kino__value list, size_t index)
{
    kino__value_iter it = kino__value_iterate(tree, list);
    kino__value value = KINO__NO_VALUE;
    for (size_t i = 0; i <= index; i++)
        if (!kino__value_next(&it, &value))
            return KINO__NO_VALUE;
    return value;
}

TEST(a_pickle_of_plain_data_becomes_values)
{
    kino__value_tree tree;
    kino__value root;
    uint64_t cut;
    REQUIRE_EQ(parse(BYTES(PLAIN), &tree, &root, &cut), KINO_OK);
    CHECK(cut == KINO__PICKLE_COMPLETE);
    kino__value a = kino__value_get(&tree, root, "a"), b = kino__value_get(&tree, root, "b");
    double real = 0;
    CHECK_EQ(kino__value_count(&tree, a), 4);
    CHECK_EQ(kino__value_int(&tree, item(&tree, a, 1)), -2);
    CHECK_EQ(kino__value_int(&tree, item(&tree, a, 2)), 300);
    CHECK_EQ(kino__value_int(&tree, item(&tree, a, 3)), 70000);
    CHECK_STR(kino__value_text(&tree, item(&tree, b, 0)), "x");
    CHECK_EQ(kino__value_type_of(&tree, item(&tree, b, 1)), KINO__VALUE_NONE);
    CHECK(kino__value_is_true(&tree, item(&tree, b, 2)));
    CHECK(kino__value_real(&tree, item(&tree, b, 3), &real) && real == 1.5);
    CHECK_EQ(kino__value_get(&tree, root, "c"), KINO__NO_VALUE);
    CHECK_EQ(kino__value_int(&tree, b), KINO_NO_INT);
    kino__value_tree_deinit(&tree);
}

TEST(a_shared_object_of_a_pickle_stays_one_value)
{
    kino__value_tree tree;
    kino__value root;
    uint64_t cut;
    /* x = ["s"]; [x, x]: protocol 4, MEMOIZE and BINGET */
    REQUIRE_EQ(parse(BYTES("\x80\x04]\x94(]\x94\x8c\x01s\x94"
                           "ah\x01"
                           "e."),
                     &tree, &root, &cut),
               KINO_OK);
    CHECK_EQ(kino__value_count(&tree, root), 2);
    CHECK_EQ(item(&tree, root, 0), item(&tree, root, 1));
    CHECK_STR(kino__value_text(&tree, item(&tree, item(&tree, root, 1), 0)), "s");
    kino__value_tree_deinit(&tree);
}

/* A list that holds itself 30 times over and again has as few values as opcodes. */
TEST(sharing_does_not_multiply_the_values_of_a_pickle)
{
    kino__value_tree tree;
    kino__value root;
    uint64_t cut;
    char bytes[1024] = "\x80\x02]q";
    size_t size = 4;
    bytes[size++] = 0;
    for (unsigned i = 1; i < 60; i++) { /* [before, before] of each */
        char more[] = {']', 'q', (char)i, '(', 'h', (char)(i - 1), 'h', (char)(i - 1), 'e'};
        memcpy(bytes + size, more, sizeof more);
        size += sizeof more;
    }
    bytes[size++] = 'h';
    bytes[size++] = 59;
    bytes[size++] = '.';
    REQUIRE_EQ(parse((kino_str){bytes, size}, &tree, &root, &cut), KINO_OK);
    CHECK_EQ(tree.nodes.count, 60);
    kino__value_tree_deinit(&tree);
}

TEST(opcodes_that_import_or_call_are_refused)
{
    static const kino_str hostile[] = {
        BYTES("\x80\x02"
              "cos\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03."),
        BYTES("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93."),
        BYTES("\x80\x02NR."),
        BYTES("\x80\x02(ios\nsystem\n."),
        BYTES("\x80\x02}}b."),
        BYTES("\x80\x02P1\n."),
        BYTES("\x80\x05\x97."),
        BYTES("\x80\x02\x82\x01."),
        BYTES("\x80\x02e."), /* no mark */
        BYTES("\x80\x02h\x07."),
        BYTES("\x80\x02K\x01K\x02"
              "a."),                                                    /* append to a number */
        BYTES("\x80\x02\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01."), /* 72 bits */
        BYTES("\x80\x02Nr\xff\xff\xff\xff."),                           /* a memo of 16 GiB */
        BYTES("\x80\x02."),
        BYTES("\x80\x02(K\x01(0.")};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        kino__value_tree tree = {0};
        kino__value root;
        uint64_t cut;
        kino_error err;
        CHECK_EQ(kino__pickle_parse(hostile[i], NULL, &tree, &root, &cut, &err), KINO_FORMAT);
        kino__value_tree_deinit(&tree);
    }
}

TEST(a_refused_pickle_names_the_opcode_and_the_byte)
{
    kino__value_tree tree = {0};
    kino__value root;
    uint64_t cut;
    kino_error err;
    REQUIRE_EQ(kino__pickle_parse(BYTES("\x80\x02NR."), NULL, &tree, &root, &cut, &err),
               KINO_FORMAT);
    CHECK(strstr(err.message, "REDUCE calls") && strstr(err.message, "byte 3"));
    kino__value_tree_deinit(&tree);
}

/* Whatever is cut off, what came before is there: lists and dictionaries that were not finished,
 * too. */
TEST(a_pickle_cut_off_anywhere_keeps_what_came_before)
{
    kino_str whole = BYTES(PLAIN);
    for (size_t size = 3; size < whole.size; size++) {
        kino__value_tree tree;
        kino__value root;
        uint64_t cut;
        char *copy = malloc(size); /* reading beyond it is seen by the sanitizer */
        REQUIRE(copy != NULL);
        memcpy(copy, whole.data, size);
        REQUIRE_EQ(parse((kino_str){copy, size}, &tree, &root, &cut), KINO_OK);
        CHECK(cut <= size);
        CHECK_EQ(kino__value_type_of(&tree, root), KINO__VALUE_DICT);
        /* behind APPENDS, at byte 36, the list is complete even if the dictionary is not */
        if (size > 36)
            CHECK_EQ(kino__value_count(&tree, kino__value_get(&tree, root, "a")), 4);
        kino__value_tree_deinit(&tree);
        free(copy);
    }
}

/* -- a visitor that takes dictionaries */

typedef struct taker {
    size_t seen;
    kino__value values[8]; /* of the key "v", as they were seen */
} taker;

static bool take_those_with_v(void *context, kino__value_tree *tree, const kino__value *items,
                              size_t count, int64_t *number)
{
    taker *t = context;
    if (count != 2 || !kino__str_is(kino__value_text(tree, items[0]), "v"))
        return false;
    *number = (int64_t)(100 + t->seen);
    if (kino__value_type_of(tree, items[1]) == KINO__VALUE_LIST)
        kino__value_take(tree, items[1], 7);
    t->values[t->seen++ % 8] = items[1];
    return true;
}

/* pickle.dumps([{"v": 5}, {"v": [6]}, {"w": 7}, {"v": 8}], 4) and references to the first and to
 * the list of the second, behind each other. */
#define DICTIONARIES                                                                               \
    "\x80\x04]\x94(}\x94\x8c\x01v\x94K\x05s}\x94h\x02]\x94K\x06"                                   \
    "as}\x94\x8c\x01w\x94K\x07s}\x94h\x02K\x08sh\x01h\x04"                                         \
    "e."

TEST(a_visitor_takes_dictionaries_and_their_lists)
{
    kino__value_tree tree = {0};
    kino__value root;
    uint64_t cut;
    taker t = {0};
    kino__pickle_visitor visitor = {.take = take_those_with_v, .context = &t};
    REQUIRE_EQ(kino__pickle_parse(BYTES(DICTIONARIES), &visitor, &tree, &root, &cut, NULL),
               KINO_OK);
    REQUIRE_EQ(t.seen, 3);
    REQUIRE_EQ(kino__value_count(&tree, root), 6);
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 0)), 100);
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 1)), 101);
    kino__value plain = item(&tree, root, 2);
    CHECK_EQ(kino__value_int(&tree, kino__value_get(&tree, plain, "w")), 7);
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 3)), 102);
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 4)), 100); /* by the memo */
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 5)), 7);
    kino__value_tree_deinit(&tree);
}

/* A thousand dictionaries {"v": n, ...} leave one value each, not the numbers they held. */
TEST(what_a_visitor_takes_leaves_the_tree)
{
    kino__buffer bytes = {0};
    kino__buffer_add(&bytes, BYTES("\x80\x04]\x94(}\x94\x8c\x01v\x94K\x05s"));
    for (int i = 0; i < 1000; i++)
        kino__buffer_add(&bytes, BYTES("}\x94h\x02M\x39\x30s"));
    kino__buffer_add(&bytes, BYTES("e."));
    kino__value_tree tree = {0};
    kino__value root;
    uint64_t cut;
    taker t = {0};
    kino__pickle_visitor visitor = {.take = take_those_with_v, .context = &t};
    REQUIRE_EQ(kino__pickle_parse(kino__buffer_str(&bytes), &visitor, &tree, &root, &cut, NULL),
               KINO_OK);
    CHECK_EQ(t.seen, 1001);
    CHECK_EQ(kino__value_count(&tree, root), 1001);
    CHECK_EQ(kino__value_taken(&tree, item(&tree, root, 1000)), 1100);
    CHECK_EQ(tree.nodes.count, 1004); /* the list, 1001 dictionaries, "v", and 5 beside "v" */
    kino__value_tree_deinit(&tree);
    kino__buffer_deinit(&bytes);
}
