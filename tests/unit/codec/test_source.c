/* test_source.c - decompression as a stream: any size of read, restart points, damage. */
#include <stdlib.h>

#include "base/str.h"
#include "codec/codec.h"
#include "unit/fixture.h"
#include "unit/test.h"

static const kino__compression formats[] = {KINO__COMPRESSION_GZIP, KINO__COMPRESSION_ZSTD};

static kino__buffer make_text(size_t size, uint64_t seed)
{
    kino__buffer text = {0};
    fixture_random random = {seed};
    while (text.size < size)
        kino__buffer_printf(&text, "%u words and \"%c\"\n", fixture_random_below(&random, 1000),
                            (int)fixture_random_below(&random, 256));
    text.size = size;
    return text;
}

static kino__buffer compress(kino__compression format, kino_str text)
{
    kino__buffer packed = {0};
    kino__sink *sink = NULL;
    REQUIRE_EQ(kino__memory_sink_new(&packed, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__compress_sink_take(format, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_write(sink, text, NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    return packed;
}

/* Reads to the end in pieces of random size up to `most`. */
static kino__buffer read_all(kino__source *source, uint32_t most, bool *is_damaged)
{
    kino__buffer text = {0};
    fixture_random random = {most};
    *is_damaged = false;
    for (;;) {
        size_t size = 1 + fixture_random_below(&random, most);
        char *room = kino__buffer_reserve(&text, size);
        REQUIRE(room != NULL);
        size_t got = kino__source_read(source, room, size, is_damaged);
        text.size += got;
        if (got < size)
            break;
    }
    /* the end stays the end */
    char byte;
    bool again = false;
    CHECK_EQ(kino__source_read(source, &byte, 1, &again), 0);
    return text;
}

TEST(any_size_of_read_gives_the_same_text)
{
    kino__buffer text = make_text(300000, 1);
    static const uint32_t sizes[] = {7, 1000, 100000, 1000000};
    for (size_t f = 0; f < 2; f++) {
        kino__buffer packed = compress(formats[f], kino__buffer_str(&text));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            kino__source *source = NULL;
            bool is_damaged;
            REQUIRE_EQ(kino__source_open(formats[f], kino__buffer_str(&packed), &source, NULL),
                       KINO_OK);
            kino__buffer got = read_all(source, sizes[i], &is_damaged);
            CHECK(!is_damaged);
            CHECK(kino__str_equal(kino__buffer_str(&got), kino__buffer_str(&text)));
            CHECK_EQ(kino__source_consumed(source), packed.size);
            kino__source_close(source);
            kino__buffer_deinit(&got);
        }
        kino__buffer_deinit(&packed);
    }
    kino__buffer_deinit(&text);
}

TEST(cut_data_give_a_prefix_and_say_so)
{
    kino__buffer text = make_text(3000, 2);
    for (size_t f = 0; f < 2; f++) {
        kino__buffer packed = compress(formats[f], kino__buffer_str(&text));
        for (size_t size = 0; size < packed.size; size++) {
            kino__source *source = NULL;
            bool is_damaged;
            REQUIRE_EQ(kino__source_open(formats[f], (kino_str){packed.data, size}, &source, NULL),
                       KINO_OK);
            kino__buffer got = read_all(source, 500, &is_damaged);
            if (!CHECK(is_damaged || size == 0))
                (void)fprintf(stderr, "      format %zu cut at %zu of %zu\n", f, size, packed.size);
            CHECK(got.size <= text.size && memcmp(got.data, text.data, got.size) == 0);
            kino__source_close(source);
            kino__buffer_deinit(&got);
        }
        kino__buffer_deinit(&packed);
    }
    kino__buffer_deinit(&text);
}

TEST(a_snapshot_goes_on_where_it_was_taken)
{
    kino__buffer text = make_text(500000, 3);
    kino__buffer packed = compress(KINO__COMPRESSION_GZIP, kino__buffer_str(&text));
    kino__source *source = NULL;
    bool is_damaged = false;
    REQUIRE_EQ(kino__source_open(KINO__COMPRESSION_GZIP, kino__buffer_str(&packed), &source, NULL),
               KINO_OK);
    enum { STEP = 60001, SNAPSHOTS = 8 };
    kino__snapshot *snapshots[SNAPSHOTS];
    char *room = malloc(STEP);
    REQUIRE(room != NULL);
    for (int i = 0; i < SNAPSHOTS; i++) {
        snapshots[i] = kino__source_snapshot(source);
        REQUIRE(snapshots[i] != NULL);
        CHECK_EQ(kino__source_read(source, room, STEP, &is_damaged), STEP);
    }
    kino__source_close(source);
    for (int i = SNAPSHOTS; i-- > 0;) {
        for (int twice = 0; twice < 2; twice++) {
            REQUIRE_EQ(kino__source_resume(snapshots[i], &source, NULL), KINO_OK);
            kino__buffer rest = read_all(source, 70000, &is_damaged);
            size_t offset = (size_t)i * STEP;
            CHECK(!is_damaged);
            CHECK(kino__str_equal(kino__buffer_str(&rest),
                                  (kino_str){text.data + offset, text.size - offset}));
            kino__source_close(source);
            kino__buffer_deinit(&rest);
        }
        kino__snapshot_free(snapshots[i]);
    }
    free(room);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&packed);
}

TEST(compression_is_known_by_the_first_bytes)
{
    CHECK_EQ(kino__compression_detect(KINO__STR("\x1f\x8b\x08")), KINO__COMPRESSION_GZIP);
    CHECK_EQ(kino__compression_detect(KINO__STR("\x28\xb5\x2f\xfd")), KINO__COMPRESSION_ZSTD);
    CHECK_EQ(kino__compression_detect(KINO__STR("{\"traceEvents\"")), KINO__COMPRESSION_NONE);
    CHECK_EQ(kino__compression_detect(KINO__STR("\x1f")), KINO__COMPRESSION_NONE);
    CHECK_EQ(kino__compression_detect((kino_str){"", 0}), KINO__COMPRESSION_NONE);
}
