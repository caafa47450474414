/* test_text.c - source texts: reading any place in any order gives the bytes of the original,
 * mapped or compressed. */
#include <stdlib.h>

#include "base/file.h"
#include "base/str.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"

/* 36 MB that compress well: the reader takes a restart point every 8 MiB. */
enum { LARGE = 36 << 20 };

static kino__buffer make_trace(size_t size)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (unsigned i = 0; text.size < size; i++)
        kino__buffer_printf(&text,
                            "%s{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":"
                            "1,\"args\":{\"pad\":\"%.*s\",\"v\":%u}}",
                            i ? "," : "", i, (int)(i % 977 * 4), "", i);
    kino__buffer_printf(&text, "]");
    return text;
}

static bool check_read(kino__text_cursor *cursor, const kino__buffer *text, uint64_t offset,
                       uint64_t size)
{
    uint64_t left = offset < text->size ? text->size - offset : 0;
    size_t want = (size_t)(size < left ? size : left);
    kino_str got = kino__text_read(cursor, offset, size);
    bool held = CHECK_EQ(got.size, want);
    held = held && CHECK(want == 0 || memcmp(got.data, text->data + offset, want) == 0);
    if (!held)
        (void)fprintf(stderr, "      [%llu, + %llu)\n", (unsigned long long)offset,
                      (unsigned long long)size);
    return held;
}

static void check_random_reads(const kino__trace *trace, const kino__buffer *text, int reads)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    CHECK_EQ(trace->text->size, text->size);
    fixture_random random = {5};
    check_read(&cursor, text, 0, 1);
    check_read(&cursor, text, text->size - 1, 1);
    check_read(&cursor, text, text->size - 1, 100);
    check_read(&cursor, text, text->size, 1);
    check_read(&cursor, text, text->size + 1000, 10);
    check_read(&cursor, text, 3, 0);
    uint64_t at = 0;
    for (int i = 0; i < reads; i++) {
        uint64_t size =
            fixture_random_below(&random, fixture_random_below(&random, 10) ? 2000 : 700000);
        switch (fixture_random_below(&random, 8)) {
        case 0:
            at = fixture_random_below(&random, (uint32_t)text->size); /* anywhere */
            break;
        case 1:
            at -= at < 3000 ? at : fixture_random_below(&random, 3000); /* a little back */
            break;
        default:
            at += fixture_random_below(&random, 300000); /* on */
        }
        if (!check_read(&cursor, text, at, size))
            break;
        if (at > text->size)
            at = 0;
    }
    kino__text_cursor_deinit(&cursor);
}

TEST(text_of_a_plain_file_is_read_anywhere)
{
    kino__buffer text = make_trace(1 << 20);
    kino__trace *trace = NULL;
    REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&text), KINO__SIMD_AUTO, 1, &trace, NULL),
               KINO_OK);
    check_random_reads(trace, &text, 500);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(text_of_a_gzip_file_is_read_anywhere_from_restart_points)
{
    kino__buffer text = make_trace(LARGE), packed = {0};
    chrome_compress(1, kino__buffer_str(&text), &packed);
    kino__trace *trace = NULL;
    REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, 2, &trace, NULL),
               KINO_OK);
    CHECK_LEDGER(trace, "");
    check_random_reads(trace, &text, 150);
    kino__trace_free(trace);
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&text);
}

TEST(text_of_a_zstd_file_is_read_anywhere)
{
    kino__buffer text = make_trace(3 << 20), packed = {0};
    chrome_compress(2, kino__buffer_str(&text), &packed);
    kino__trace *trace = NULL;
    REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, 1, &trace, NULL),
               KINO_OK);
    check_random_reads(trace, &text, 150);
    kino__trace_free(trace);
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&text);
}

/* Members at and around the restart points, whose states must be restored as well. */
TEST(restart_points_fall_on_member_boundaries)
{
    kino__buffer text = make_trace(18 << 20), packed = {0};
    for (size_t at = 0; at < text.size;) {
        size_t size = text.size - at < (1 << 20) ? text.size - at : 1 << 20;
        chrome_compress(1, (kino_str){text.data + at, size}, &packed);
        at += size;
    }
    kino__trace *trace = NULL;
    REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, 1, &trace, NULL),
               KINO_OK);
    CHECK_LEDGER(trace, "");
    check_random_reads(trace, &text, 60);
    kino__trace_free(trace);
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&text);
}

TEST(two_cursors_do_not_disturb_each_other)
{
    kino__buffer text = make_trace(2 << 20), packed = {0};
    chrome_compress(1, kino__buffer_str(&text), &packed);
    kino__trace *trace = NULL;
    REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, 1, &trace, NULL),
               KINO_OK);
    kino__text_cursor a, b;
    kino__text_cursor_init(&a, trace->text);
    kino__text_cursor_init(&b, trace->text);
    kino_str first = kino__text_read(&a, 1000, 50);
    for (uint64_t at = 0; at < text.size; at += 100000)
        check_read(&b, &text, at, 10);
    CHECK(first.size == 50 && memcmp(first.data, text.data + 1000, 50) == 0);
    kino__text_cursor_deinit(&a);
    kino__text_cursor_deinit(&b);
    kino__text_cursor none;
    kino__text_cursor_init(&none, NULL);
    CHECK_EQ(kino__text_read(&none, 0, 10).size, 0);
    kino__text_cursor_deinit(&none);
    kino__trace_free(trace);
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&text);
}
