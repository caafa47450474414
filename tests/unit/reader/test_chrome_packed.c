/* test_chrome_packed.c - compressed traces: members and frames, events larger than the reader's
 * room and blocks, damage. */
#include <stdlib.h>

#include "base/str.h"
#include "codec/source.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"

static void add_event(kino__buffer *text, unsigned number, size_t padding)
{
    kino__buffer_printf(text,
                        "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%u\", \"pid\": 0, "
                        "\"tid\": 7, \"ts\": %u, \"dur\": 1, \"args\": {\"a\": \"",
                        number ? ",\n" : "", number % 10, number);
    char *room = kino__buffer_reserve(text, padding);
    REQUIRE(room != NULL);
    for (size_t i = 0; i < padding; i++)
        room[i] = (char)('a' + (i * 7 + number) % 26);
    text->size += padding;
    kino__buffer_printf(text, "\", \"correlation\": %u}}", number);
}

static void check_events(const kino__trace *trace, uint32_t count)
{
    REQUIRE_EQ(trace->event_count, count);
    for (uint32_t row = 0; row < count; row++) {
        CHECK_EQ(trace->number[row], row);
        CHECK_EQ(kino__trace_correlation(trace, row), (int64_t)row);
        CHECK_EQ(chrome_ts(trace, row), (int64_t)row * 1000);
    }
    CHECK_LEDGER(trace, "");
}

/* Events just below and above the room (256 KiB), a block (1 MiB) and several blocks. */
TEST_THREADS(events_larger_than_any_buffer_are_read)
{
    static const size_t sizes[] = {100,     262000,  262144,  262300, 5,  1048000,
                                   1048576, 1048700, 3000000, 10,     20, 2097152,
                                   1048576, 1048576, 1,       262144};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (unsigned i = 0; i < COUNT; i++)
        add_event(&text, i, sizes[i]);
    kino__buffer_printf(&text, "]");
    kino__trace *trace = chrome_load_ways(kino__buffer_str(&text),
                                          CHROME_PACKED | CHROME_SLOW | CHROME_LEVELS, NULL);
    REQUIRE(trace != NULL);
    check_events(trace, COUNT);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(a_head_larger_than_any_buffer_is_read)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "{\"small\": 1, \"large\": \"");
    char *room = kino__buffer_reserve(&text, 3000000);
    REQUIRE(room != NULL);
    memset(room, 'x', 3000000);
    text.size += 3000000;
    kino__buffer_printf(&text, "\", \"traceEvents\": [");
    for (unsigned i = 0; i < 10; i++)
        add_event(&text, i, 10);
    kino__buffer_printf(&text, "], \"tail\": \"");
    room = kino__buffer_reserve(&text, 2000000);
    REQUIRE(room != NULL);
    memset(room, 'y', 2000000);
    text.size += 2000000;
    kino__buffer_printf(&text, "\"}");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    check_events(trace, 10);
    REQUIRE_EQ(trace->metadata.count, 3);
    CHECK_EQ(trace->metadata.items[1].value.size, 3000002);
    CHECK_EQ(kino__trace_metadata(trace, "tail").size, 2000002);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

/* A text is the texts of all members or frames, wherever it was cut between them. */
TEST(members_and_frames_are_one_text)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (unsigned i = 0; i < 200; i++)
        add_event(&text, i, 30);
    kino__buffer_printf(&text, "]");
    kino__trace *whole = chrome_load(kino__buffer_str(&text));
    check_events(whole, 200);
    fixture_random random = {1};
    for (int compression = KINO__COMPRESSION_GZIP; compression <= KINO__COMPRESSION_ZSTD;
         compression++) {
        kino__buffer packed = {0};
        for (size_t at = 0; at < text.size;) {
            size_t size = fixture_random_below(&random, 3000);
            if (size > text.size - at)
                size = text.size - at;
            chrome_compress(compression, (kino_str){text.data + at, size},
                            &packed); /* empty ones too */
            at += size;
        }
        for (unsigned jobs = 1; jobs <= 2; jobs++) {
            kino__trace *trace = NULL;
            REQUIRE_EQ(
                chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, jobs, &trace, NULL),
                KINO_OK);
            CHECK_STR(chrome_difference(whole, trace), (const char *)NULL);
            CHECK_STR(chrome_args(trace, 77), chrome_args(whole, 77));
            kino__trace_free(trace);
        }
        kino__buffer_deinit(&packed);
    }
    kino__trace_free(whole);
    kino__buffer_deinit(&text);
}

TEST(flipped_bits_in_compressed_data_never_crash)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (unsigned i = 0; i < 12; i++)
        add_event(&text, i, 5);
    kino__buffer_printf(&text, "]");
    for (int compression = KINO__COMPRESSION_GZIP; compression <= KINO__COMPRESSION_ZSTD;
         compression++) {
        kino__buffer packed = {0};
        chrome_compress(compression, kino__buffer_str(&text), &packed);
        for (size_t at = 0; at < packed.size; at++) {
            packed.data[at] ^= (char)(1 << at % 8);
            kino__trace *trace = NULL;
            kino_error err = {0};
            kino_status st = chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO,
                                               1 + at % 2, &trace, &err);
            CHECK(st == KINO_OK || (st == KINO_FORMAT && err.message[0]));
            for (uint32_t row = 0; trace && row < trace->event_count; row++)
                (void)chrome_args(trace, row);
            kino__trace_free(trace);
            packed.data[at] ^= (char)(1 << at % 8);
        }
        kino__buffer_deinit(&packed);
    }
    kino__buffer_deinit(&text);
}

/* The checksum at the end is wrong: everything was read, and the ledger says so. */
TEST(a_wrong_checksum_is_damage_but_loses_nothing)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (unsigned i = 0; i < 50; i++)
        add_event(&text, i, 20);
    kino__buffer_printf(&text, "]");
    for (int compression = KINO__COMPRESSION_GZIP; compression <= KINO__COMPRESSION_ZSTD;
         compression++) {
        kino__buffer packed = {0};
        chrome_compress(compression, kino__buffer_str(&text), &packed);
        packed.data[packed.size - (compression == KINO__COMPRESSION_GZIP ? 6 : 2)] ^= 1;
        kino__trace *trace = NULL;
        REQUIRE_EQ(chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, 1, &trace, NULL),
                   KINO_OK);
        CHECK_EQ(trace->event_count, 50);
        CHECK_EQ(trace->ledger.count[KINO__DAMAGE_COMPRESSION], 1);
        kino__trace_free(trace);
        kino__buffer_deinit(&packed);
    }
    kino__buffer_deinit(&text);
}
