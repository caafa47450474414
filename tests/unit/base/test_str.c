/* test_str.c - string views and byte buffers. */
#include <inttypes.h>

#include "base/str.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

static const kino_str nothing = {NULL, 0};

TEST(str_prefix_and_suffix)
{
    CHECK(kino__str_starts_with(KINO__STR("ProfilerStep#3"), KINO__STR("ProfilerStep#")));
    CHECK(!kino__str_starts_with(KINO__STR("Profiler"), KINO__STR("ProfilerStep#")));
    CHECK(!kino__str_starts_with(KINO__STR("profilerStep#"), KINO__STR("ProfilerStep#")));
    CHECK(kino__str_ends_with(KINO__STR("a.json.gz"), KINO__STR(".gz")));
    CHECK(!kino__str_ends_with(KINO__STR("a.json"), KINO__STR(".gz")));
    CHECK(!kino__str_ends_with(KINO__STR("gz"), KINO__STR(".gz")));
}

TEST(str_views_without_bytes_are_equal_and_compare)
{
    CHECK(kino__str_equal(nothing, KINO__STR("")));
    CHECK(kino__str_is(nothing, ""));
    CHECK(!kino__str_is(nothing, "x"));
    CHECK_EQ(kino__str_compare(nothing, KINO__STR("")), 0);
    CHECK(kino__str_compare(nothing, KINO__STR("a")) < 0);
    CHECK(kino__str_starts_with(KINO__STR("a"), nothing));
    CHECK(kino__str_starts_with(nothing, nothing));
    CHECK(kino__str_ends_with(nothing, nothing));
    CHECK(!kino__str_ends_with(nothing, KINO__STR("a")));
}

TEST(str_compare_is_byte_order_with_the_shorter_first)
{
    const kino_str sorted[] = {KINO__STR(""),     KINO__STR("A"),   KINO__STR("B"),
                               KINO__STR("a"),    KINO__STR("a\0"), KINO__STR("aa"),
                               KINO__STR("\xc3"), KINO__STR("\xff")};
    for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
        for (size_t k = 0; k < sizeof sorted / sizeof *sorted; k++) {
            int order = kino__str_compare(sorted[i], sorted[k]);
            CHECK_EQ((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

TEST(str_to_int_takes_whole_decimals_only)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"007", 7},
                {"-42", -42},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(kino__str_to_int(kino__str_from(good[i].text), &value));
        CHECK_EQ(value, good[i].value);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x10",
                                      "9223372036854775808",
                                      "1e3",
                                      "--1",
                                      "-9223372036854775809",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = 5;
        CHECK(!kino__str_to_int(kino__str_from(bad[i]), &value));
        CHECK_EQ(value, 0);
    }
    CHECK(!kino__str_to_int(nothing, &value));
    CHECK(kino__str_to_int((kino_str){"123456", 3}, &value)); /* a view ends where it says */
    CHECK_EQ(value, 123);
}

TEST(hash_depends_on_every_byte_and_the_length)
{
    char bytes[100] = {0};
    uint64_t seen[101];
    for (size_t size = 0; size <= 100; size++) { /* zeros of different length */
        seen[size] = kino__hash_bytes(bytes, size);
        for (size_t k = 0; k < size; k++)
            CHECK(seen[k] != seen[size]);
    }
    for (size_t size = 1; size <= 100; size++)
        for (size_t at = 0; at < size; at++) {
            bytes[at] = 1;
            CHECK(kino__hash_bytes(bytes, size) != seen[size]);
            bytes[at] = 0;
        }
}

TEST(hash_does_not_depend_on_the_address)
{
    char room[64];
    uint64_t first = kino__hash_bytes("aten::convolution_backward", 26);
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(room + shift, "aten::convolution_backward", 26);
        CHECK_EQ(kino__hash_bytes(room + shift, 26), first);
    }
}

TEST(buffer_holds_what_was_added)
{
    kino__buffer buffer = {0};
    kino__buffer_add(&buffer, nothing);
    CHECK_EQ(buffer.size, 0);
    kino__buffer_add(&buffer, KINO__STR("ab"));
    kino__buffer_printf(&buffer, "%d-%s", 17, "c");
    CHECK_STR(kino__buffer_str(&buffer), "ab17-c");
    for (int i = 0; i < 10000; i++)
        kino__buffer_printf(&buffer, "%04d", i);
    CHECK_EQ(buffer.size, 40006);
    CHECK_STR(((kino_str){buffer.data + 6 + 4 * 1234, 4}), "1234");
    CHECK(!buffer.failed);
    kino__buffer_deinit(&buffer);
    CHECK_EQ(buffer.size, 0);
}

TEST(buffer_failure_sticks_and_keeps_what_was_there)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 1);
    kino__buffer buffer = {.allocator = &failing.allocator};
    kino__buffer_add(&buffer, KINO__STR("first"));
    for (int i = 0; i < 100; i++)
        kino__buffer_add(&buffer, KINO__STR("0123456789"));
    CHECK(buffer.failed);
    size_t size = buffer.size;
    CHECK(kino__str_starts_with(kino__buffer_str(&buffer), KINO__STR("first")));
    kino__buffer_add(&buffer, KINO__STR("!"));
    kino__buffer_printf(&buffer, "%d", 1);
    CHECK_EQ(kino__buffer_reserve(&buffer, 1), (char *)NULL);
    CHECK_EQ(buffer.size, size);
    kino__buffer_deinit(&buffer);
    CHECK_EQ(failing.held_bytes, 0);
}

TEST(buffer_refuses_sizes_that_overflow)
{
    kino__buffer buffer = {0};
    kino__buffer_add(&buffer, KINO__STR("x"));
    CHECK_EQ(kino__buffer_reserve(&buffer, SIZE_MAX), (char *)NULL);
    CHECK(buffer.failed);
    kino__buffer_deinit(&buffer);
}
