/* test_protobuf.c - messages by hand, as the specification encodes them. */
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "wire/protobuf.h"

#define BYTES(literal) ((kino_str){literal, sizeof(literal) - 1})

TEST(proto_reads_the_example_of_its_specification)
{
    /* { 1: 150, 2: "testing", 3: { 1: 150 } } */
    kino__proto m = kino__proto_start(BYTES("\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"));
    kino__proto_field f;
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(f.number, 1);
    CHECK_EQ(kino__proto_uint(&f), 150);
    CHECK_EQ(kino__proto_text(&f).size, 0);
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(f.number, 2);
    CHECK(kino__str_is(kino__proto_text(&f), "testing"));
    CHECK_EQ(kino__proto_uint(&f), 0);
    REQUIRE(kino__proto_next(&m, &f));
    kino__proto inner = kino__proto_start(kino__proto_text(&f));
    REQUIRE(kino__proto_next(&inner, &f));
    CHECK_EQ(kino__proto_uint(&f), 150);
    CHECK(!kino__proto_next(&inner, &f) && !inner.why);
    CHECK(!kino__proto_next(&m, &f) && !m.why);
}

TEST(proto_reads_numbers_of_all_types)
{
    /* 1: -1, 2: fixed64 1.5, 3: fixed32 0.5f, 536870911: 7 */
    kino__proto m = kino__proto_start(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                            "\x11\x00\x00\x00\x00\x00\x00\xf8\x3f"
                                            "\x1d\x00\x00\x00\x3f"
                                            "\xf8\xff\xff\xff\x0f\x07"));
    kino__proto_field f;
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(kino__proto_int(&f), -1);
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(kino__proto_real(&f), 1.5);
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(kino__proto_real(&f), 0.5);
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(f.number, 536870911);
    CHECK_EQ(kino__proto_uint(&f), 7);
}

TEST(proto_accepts_tags_and_lengths_that_are_longer_than_needed)
{
    kino__proto m = kino__proto_start(BYTES("\x88\x80\x00\x05\x92\x00\x81\x80\x00x"));
    kino__proto_field f;
    REQUIRE(kino__proto_next(&m, &f));
    CHECK_EQ(f.number, 1);
    CHECK_EQ(kino__proto_uint(&f), 5);
    REQUIRE(kino__proto_next(&m, &f));
    CHECK(kino__str_is(kino__proto_text(&f), "x"));
}

TEST(proto_stops_where_bytes_are_not_a_message_and_says_why)
{
    static const struct {
        kino_str bytes;
        size_t at;
        const char *why;
    } cases[] = {
        {{"\x08\x01\x80", 3}, 2, "a tag is cut off"},
        {{"\x08\x80", 2}, 0, "a number is cut off or longer than ten bytes"},
        {{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12},
         0,
         "a number is cut off or longer than ten bytes"},
        {{"\x08\x01\x12\x05"
          "abc",
          7},
         2,
         "a length reaches beyond the end"},
        {{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
         0,
         "a length reaches beyond the end"},
        {{"\x12\x80", 2}, 0, "a length is cut off or longer than ten bytes"},
        {{"\x11\x01\x02", 3}, 0, "a number is cut off"},
        {{"\x15\x01\x02", 3}, 0, "a number is cut off"},
        {{"\x00\x01", 2}, 0, "a field has no valid number"},
        {{"\x0b\x0c", 2}, 0, "a field has an unknown type"},
        {{"\x0e", 1}, 0, "a field has an unknown type"},
        {{"\x80\x80\x80\x80\x10\x01", 6}, 0, "a field has no valid number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy = malloc(cases[i].bytes.size); /* so that reading beyond it is seen */
        REQUIRE(copy != NULL);
        memcpy(copy, cases[i].bytes.data, cases[i].bytes.size);
        kino__proto m = kino__proto_start((kino_str){copy, cases[i].bytes.size});
        kino__proto_field f;
        while (kino__proto_next(&m, &f))
            ;
        CHECK_EQ(kino__proto_offset(&m), cases[i].at);
        CHECK(m.why && strcmp(m.why, cases[i].why) == 0);
        free(copy);
    }
}

TEST(proto_reads_repeated_numbers_packed_or_not)
{
    /* 1: packed varints 1, 300; 1: 7; 2: packed fixed64 of 1, and three bytes too many */
    kino__proto m = kino__proto_start(BYTES("\x0a\x03\x01\xac\x02\x08\x07"
                                            "\x12\x0b\x01\x00\x00\x00\x00\x00\x00\x00zzz"));
    static const uint64_t expected[] = {1, 300, 7, 1};
    size_t count = 0;
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        kino__proto_type type = f.number == 1 ? KINO__PROTO_VARINT : KINO__PROTO_FIXED64;
        kino__proto_numbers numbers = kino__proto_numbers_of(&f, type);
        uint64_t value;
        while (kino__proto_numbers_next(&numbers, &value)) {
            REQUIRE(count < 4);
            CHECK_EQ(value, expected[count++]);
        }
    }
    CHECK_EQ(count, 4);
}

TEST(proto_writes_what_the_specification_says)
{
    kino__buffer out = {0};
    kino__proto_put_uint(&out, 1, 150);
    kino__proto_put_text(&out, 2, KINO__STR("testing"));
    size_t inner = kino__proto_begin(&out, 3);
    kino__proto_put_int(&out, 1, 150);
    kino__proto_end(&out, inner);
    kino__proto_put_real(&out, 4, 1.5);
    CHECK(kino__str_equal(kino__buffer_str(&out),
                          BYTES("\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"
                                "\x21\x00\x00\x00\x00\x00\x00\xf8\x3f")));
    kino__buffer_deinit(&out);
}

TEST(proto_writes_messages_inside_messages_of_any_size)
{
    for (size_t size = 0; size < 70000; size = size * 3 + 1) {
        kino__buffer out = {0}, text = {0};
        for (size_t i = 0; i < size; i++)
            kino__buffer_add(&text, (kino_str){&"abcdefg"[i % 7], 1});
        size_t outer = kino__proto_begin(&out, 1), inner = kino__proto_begin(&out, 2);
        kino__proto_put_text(&out, 3, kino__buffer_str(&text));
        kino__proto_end(&out, inner);
        kino__proto_put_int(&out, 4, -5);
        kino__proto_end(&out, outer);
        kino__proto m = kino__proto_start(kino__buffer_str(&out));
        kino__proto_field f, last;
        REQUIRE(kino__proto_next(&m, &f) && f.number == 1);
        CHECK_EQ(kino__proto_offset(&m), out.size);
        m = kino__proto_start(kino__proto_text(&f));
        REQUIRE(kino__proto_next(&m, &f) && f.number == 2);
        REQUIRE(kino__proto_next(&m, &last) && last.number == 4);
        CHECK_EQ(kino__proto_int(&last), -5);
        m = kino__proto_start(kino__proto_text(&f));
        REQUIRE(kino__proto_next(&m, &f) && f.number == 3);
        CHECK(kino__str_equal(kino__proto_text(&f), kino__buffer_str(&text)));
        kino__buffer_deinit(&out);
        kino__buffer_deinit(&text);
    }
}
