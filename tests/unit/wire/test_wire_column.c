/* test_wire_column.c - integer columns as bytes: known bytes, everything that goes in comes out,
 * and damaged bytes do no harm. */
#include <stdlib.h>

#include "base/str.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/column.h"

enum { NONE = -77, HEAD_SIZE = 24 };

static bool encode(const int64_t *items, size_t count, bool has_missing, int64_t missing,
                   kino__column_method method, kino__buffer *out)
{
    kino__column_scratch scratch = {0};
    kino__column_values values = {items, count, has_missing, missing};
    out->size = 0;
    bool ok = kino__column_encode(&values, method, &scratch, out);
    kino__column_scratch_deinit(&scratch);
    return ok;
}

/* Decodes from a block of exactly the size, so that ASan sees a byte too many read or written. */
static bool decode(kino_str bytes, size_t count, int64_t missing, void *out, unsigned width)
{
    char *exact = malloc(bytes.size ? bytes.size : 1);
    REQUIRE(exact != NULL);
    memcpy(exact, bytes.data, bytes.size);
    bool ok = kino__column_decode((kino_str){exact, bytes.size}, count, missing, out, width);
    free(exact);
    return ok;
}

/* Every method that takes the values gives them back; the number of methods that did. */
static unsigned check_ways(const int64_t *items, size_t count, bool has_missing, int64_t missing)
{
    kino__buffer coded = {0};
    int64_t *back = malloc((count ? count : 1) * sizeof *back);
    REQUIRE(back != NULL);
    unsigned ways = 0;
    for (int m = 0; m < KINO__METHOD_COUNT; m++) {
        if (!encode(items, count, has_missing, missing, (kino__column_method)m, &coded))
            continue;
        ways++;
        memset(back, 0x5a, count * sizeof *back);
        REQUIRE(decode(kino__buffer_str(&coded), count, missing, back, 8));
        for (size_t i = 0; i < count; i++)
            REQUIRE_EQ(back[i], items[i]);
    }
    free(back);
    kino__buffer_deinit(&coded);
    return ways;
}

static void check_bytes(kino__column_method method, const char *want, size_t size)
{
    static const int64_t items[] = {5, 7, NONE, 5};
    kino__buffer coded = {0};
    REQUIRE(encode(items, 4, true, NONE, method, &coded));
    REQUIRE_EQ(coded.size, size);
    CHECK(memcmp(coded.data, want, size) == 0);
    kino__buffer_deinit(&coded);
}

/* Written down by hand from docs/formats/kino.md. */
TEST(column_bytes_are_those_of_the_document)
{
    /* method, width, has missing, 0; values; base; exceptions; table; bitmap; plane; table */
    static const char plain[] = "\0\1\1\0"
                                "\3\0\0\0"
                                "\5\0\0\0\0\0\0\0"
                                "\0\0\0\0"
                                "\0\0\0\0"
                                "\x0b"
                                "\0\2\0";
    check_bytes(KINO__METHOD_PLAIN, plain, sizeof plain - 1);
    /* differences 0, 2, -2 as zigzag */
    static const char delta[] = "\1\1\1\0"
                                "\3\0\0\0"
                                "\5\0\0\0\0\0\0\0"
                                "\0\0\0\0"
                                "\0\0\0\0"
                                "\x0b"
                                "\0\4\3";
    check_bytes(KINO__METHOD_DELTA, delta, sizeof delta - 1);
    static const char table[] = "\2\1\1\0"
                                "\3\0\0\0"
                                "\0\0\0\0\0\0\0\0"
                                "\0\0\0\0"
                                "\2\0\0\0"
                                "\x0b"
                                "\0\1\0"
                                "\5\0\0\0\0\0\0\0"
                                "\7\0\0\0\0\0\0\0";
    check_bytes(KINO__METHOD_TABLE, table, sizeof table - 1);
}

TEST(column_exceptions_keep_the_planes_narrow)
{
    enum { COUNT = 512 }; /* at most one in 256 is an exception */
    int64_t items[COUNT] = {0};
    items[3] = INT64_MAX;
    items[500] = 258;
    kino__buffer coded = {0};
    REQUIRE(encode(items, COUNT, false, 0, KINO__METHOD_PLAIN, &coded));
    /* no plane at all, two exceptions of 4 + 8 bytes */
    REQUIRE_EQ(coded.size, HEAD_SIZE + 2 * 12);
    CHECK_EQ(coded.data[1], 0);
    CHECK_EQ(kino__get_le(coded.data + 16, 4), 2u);
    CHECK_EQ(kino__get_le(coded.data + HEAD_SIZE, 4), 3u);
    CHECK_EQ(kino__get_le(coded.data + HEAD_SIZE + 4, 8), (uint64_t)INT64_MAX);
    CHECK_EQ(kino__get_le(coded.data + HEAD_SIZE + 12, 4), 500u);
    kino__buffer_deinit(&coded);
    CHECK_EQ(check_ways(items, COUNT, false, 0), 3u);
}

TEST(column_holds_every_width_and_the_extremes)
{
    int64_t items[3000];
    for (unsigned width = 0; width <= 8; width++) {
        uint64_t mask = width == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1;
        for (size_t i = 0; i < 3000; i++)
            items[i] = (int64_t)((i * 0x9e3779b97f4a7c15u) & mask);
        CHECK(check_ways(items, 3000, false, 0) >= 2);
        CHECK(check_ways(items, 1, false, 0) >= 2);
        CHECK(check_ways(items, 0, false, 0) >= 2);
        /* half of the largest needs as many bytes as the largest */
        kino__buffer coded = {0};
        for (size_t i = 0; i < 8; i++)
            items[i] = i % 2 ? (int64_t)(mask >> 1) : 0;
        REQUIRE(encode(items, 8, false, 0, KINO__METHOD_PLAIN, &coded));
        CHECK_EQ((unsigned char)coded.data[1], width);
        kino__buffer_deinit(&coded);
    }
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, INT64_MIN, 1, INT64_MAX, -1};
    CHECK_EQ(check_ways(extremes, 8, false, 0), 3u);
    CHECK_EQ(check_ways(extremes, 8, true, INT64_MIN), 3u);
    CHECK_EQ(check_ways(extremes, 8, true, -1), 3u);
    static const int64_t nothing[] = {NONE, NONE, NONE};
    CHECK_EQ(check_ways(nothing, 3, true, NONE), 3u);
}

TEST(column_too_varied_for_a_table_says_so)
{
    int64_t items[100];
    kino__buffer coded = {0};
    for (size_t i = 0; i < 100; i++)
        items[i] = (int64_t)i;
    CHECK(!encode(items, 100, false, 0, KINO__METHOD_TABLE, &coded));
    CHECK(!coded.failed);
    kino__buffer_deinit(&coded);
}

/* Numbers as traces have them: few distinct ones, rising, small, wild; with gaps. */
static int64_t random_value(fixture_random *random, unsigned pattern, int64_t before)
{
    switch (pattern) {
    case 0:
        return (int64_t)fixture_random_below(random, 5) * 1000003;
    case 1:
        return (int64_t)((uint64_t)before + fixture_random_below(random, 90000));
    case 2:
        return (int64_t)fixture_random_below(random, 300) - 150;
    case 3:
        return fixture_random_below(random, 400) ? 3 : INT64_MAX - 3;
    default:
        return (int64_t)((uint64_t)fixture_random_below(random, UINT32_MAX) << 32 |
                         fixture_random_below(random, UINT32_MAX));
    }
}

TEST(column_gives_back_what_was_put_in)
{
    enum { MOST = 5000 };
    int64_t *items = malloc(MOST * sizeof *items);
    REQUIRE(items != NULL);
    fixture_random random = {42};
    for (unsigned round = 0; round < 150; round++) {
        size_t count = fixture_random_below(&random, round % 3 ? 200 : MOST);
        uint32_t gaps = fixture_random_below(&random, 4); /* of four values */
        int64_t value = 0;
        for (size_t i = 0; i < count; i++) {
            value = random_value(&random, round % 5, value);
            items[i] = fixture_random_below(&random, 4) < gaps ? NONE : value;
        }
        CHECK(check_ways(items, count, true, NONE) >= 2);
        CHECK(check_ways(items, count, false, 0) >= 2);
    }
    free(items);
}

TEST(column_fits_narrow_arrays_or_is_refused)
{
    static const int64_t items[] = {1, 255, NONE, 7}, larger[] = {1, 256, NONE, 7};
    kino__buffer coded = {0};
    uint8_t narrow[4];
    uint16_t middle[4];
    REQUIRE(encode(items, 4, true, NONE, KINO__METHOD_DELTA, &coded));
    REQUIRE(decode(kino__buffer_str(&coded), 4, 0, narrow, 1));
    CHECK_EQ(narrow[1], 255);
    CHECK_EQ(narrow[2], 0);
    REQUIRE(encode(larger, 4, true, NONE, KINO__METHOD_DELTA, &coded));
    CHECK(!decode(kino__buffer_str(&coded), 4, 0, narrow, 1));
    REQUIRE(decode(kino__buffer_str(&coded), 4, 0xffff, middle, 2));
    CHECK_EQ(middle[1], 256);
    CHECK_EQ(middle[2], 0xffff);
    static const int64_t negative[] = {-1, -1};
    uint32_t wide[2];
    REQUIRE(encode(negative, 2, false, 0, KINO__METHOD_PLAIN, &coded));
    CHECK(!decode(kino__buffer_str(&coded), 2, 0, wide, 4));
    kino__buffer_deinit(&coded);
}

/* Every cut is refused; every flipped bit is refused or gives some numbers, within bounds. */
static void damage(const int64_t *items, size_t count, kino__column_method method)
{
    kino__buffer coded = {0};
    REQUIRE(encode(items, count, true, NONE, method, &coded));
    int64_t *out = malloc(count * sizeof *out);
    REQUIRE(out != NULL);
    for (size_t size = 0; size < coded.size; size++)
        CHECK(!decode((kino_str){coded.data, size}, count, NONE, out, 8));
    kino__buffer_add(&coded, KINO__STR("x"));
    CHECK(!decode(kino__buffer_str(&coded), count, NONE, out, 8));
    coded.size--;
    CHECK(!decode(kino__buffer_str(&coded), count + 8, NONE, out, 8));
    for (size_t bit = 0; bit < coded.size * 8; bit++) {
        coded.data[bit / 8] = (char)(coded.data[bit / 8] ^ 1 << (bit % 8));
        (void)decode(kino__buffer_str(&coded), count, NONE, out, 8);
        coded.data[bit / 8] = (char)(coded.data[bit / 8] ^ 1 << (bit % 8));
    }
    CHECK(decode(kino__buffer_str(&coded), count, NONE, out, 8));
    free(out);
    kino__buffer_deinit(&coded);
}

TEST(column_of_damaged_bytes_stays_within_bounds)
{
    int64_t items[600];
    for (size_t i = 0; i < 600; i++)
        items[i] = i % 7 == 3 ? NONE : (int64_t)(i % 5);
    items[9] = 1 << 20;
    items[590] = INT64_MAX;
    for (int m = 0; m < KINO__METHOD_COUNT; m++) {
        damage(items, 600, (kino__column_method)m);
        damage(items, 20, (kino__column_method)m);
    }
}
