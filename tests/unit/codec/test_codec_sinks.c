/* test_codec_sinks.c - compressing sinks: what goes in comes out, nothing is left of what was
 * aborted, failures pass through. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "codec/codec.h"
#include "unit/fixture.h"
#include "unit/test.h"

static const kino__compression formats[] = {KINO__COMPRESSION_GZIP, KINO__COMPRESSION_ZSTD};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

/* Decompresses all of it; ends the test when the end is not a proper one. */
static kino__buffer decompress(kino__compression format, kino_str packed)
{
    kino__source *source = NULL;
    kino__buffer text = {0};
    REQUIRE_EQ(kino__source_open(format, packed, &source, NULL), KINO_OK);
    bool is_damaged = false;
    size_t got;
    do {
        char piece[5000];
        got = kino__source_read(source, piece, sizeof piece, &is_damaged);
        kino__buffer_add(&text, (kino_str){piece, got});
    } while (got);
    CHECK(!is_damaged);
    kino__source_close(source);
    return text;
}

/* Text like a trace's, with parts that do not compress. */
static kino__buffer make_text(size_t size)
{
    kino__buffer text = {0};
    fixture_random random = {size};
    while (text.size < size) {
        if (fixture_random_below(&random, 20))
            kino__buffer_printf(&text, "{\"ph\": \"X\", \"ts\": %u, \"dur\": 12.345},\n",
                                fixture_random_below(&random, 100000));
        for (int i = 0; i < 10; i++)
            kino__buffer_printf(&text, "%c", (int)fixture_random_below(&random, 256));
    }
    text.size = size;
    return text;
}

static void check_round_trip(kino__compression format, kino_str text, size_t piece)
{
    kino__buffer packed = {0};
    kino__sink *sink = NULL;
    REQUIRE_EQ(kino__memory_sink_new(&packed, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__compress_sink_take(format, &sink, NULL), KINO_OK);
    for (size_t at = 0; at < text.size; at += piece) {
        size_t left = text.size - at;
        REQUIRE_EQ(
            kino__sink_write(sink, (kino_str){text.data + at, left < piece ? left : piece}, NULL),
            KINO_OK);
    }
    REQUIRE_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    CHECK_EQ(kino__compression_detect(kino__buffer_str(&packed)), format);
    kino__buffer got = decompress(format, kino__buffer_str(&packed));
    CHECK_EQ(got.size, text.size);
    CHECK(kino__str_equal(kino__buffer_str(&got), text));
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&got);
}

TEST(compressed_text_comes_back)
{
    static const size_t sizes[] = {0, 1, 100, 65536, 262144, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kino__buffer text = make_text(sizes[i]);
        for (size_t f = 0; f < FORMAT_COUNT; f++) {
            check_round_trip(formats[f], kino__buffer_str(&text), 1 << 20);
            check_round_trip(formats[f], kino__buffer_str(&text), 777);
        }
        kino__buffer_deinit(&text);
    }
}

/* RFC 1952: the last 8 bytes are the CRC-32 and the length of the text. "123456789" is the CRC's
 * check word. */
TEST(gzip_ends_with_crc_and_length)
{
    kino__buffer packed = {0};
    kino__sink *sink = NULL;
    REQUIRE_EQ(kino__memory_sink_new(&packed, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__gzip_sink_take(&sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_write(sink, KINO__STR("123456789"), NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    REQUIRE(packed.size > 18);
    CHECK(memcmp(packed.data + packed.size - 8, "\x26\x39\xf4\xcb\x09\0\0\0", 8) ==
          0); /* cbf43926, 9 */
    kino__buffer_deinit(&packed);
}

TEST(compression_is_chosen_by_suffix)
{
    CHECK_EQ(kino__compression_of_path(KINO__STR("a.json.gz")), KINO__COMPRESSION_GZIP);
    CHECK_EQ(kino__compression_of_path(KINO__STR("a.json.zst")), KINO__COMPRESSION_ZSTD);
    CHECK_EQ(kino__compression_of_path(KINO__STR("a.json")), KINO__COMPRESSION_NONE);
    CHECK_EQ(kino__compression_of_path(KINO__STR("gz")), KINO__COMPRESSION_NONE);
}

TEST(aborted_output_leaves_no_file)
{
    for (size_t f = 0; f < FORMAT_COUNT; f++) {
        const char *path = test_tmp("out");
        for (int commit = 0; commit < 2; commit++) {
            kino__sink *sink = NULL;
            REQUIRE_EQ(kino__file_sink_open(path, &sink, NULL), KINO_OK);
            REQUIRE_EQ(kino__compress_sink_take(formats[f], &sink, NULL), KINO_OK);
            REQUIRE_EQ(kino__sink_write(sink, KINO__STR("text"), NULL), KINO_OK);
            CHECK_EQ(kino__sink_close(sink, commit, NULL), KINO_OK);
            CHECK_EQ(access(path, F_OK) == 0, commit == 1);
        }
        REQUIRE(unlink(path) == 0);
    }
}

/* A sink that takes so many bytes and then is full. */
typedef struct full_sink {
    kino__sink sink;
    size_t room;
    int closed_with; /* -1 while open */
} full_sink;

static kino_status full_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    full_sink *self = (full_sink *)sink;
    if (bytes.size > self->room)
        return kino__fail(err, KINO_IO, "disk full");
    self->room -= bytes.size;
    return KINO_OK;
}

static kino_status full_close(kino__sink *sink, bool commit, kino_error *err)
{
    (void)err;
    ((full_sink *)sink)->closed_with = commit;
    return KINO_OK;
}

TEST(full_disk_is_reported_and_not_committed)
{
    kino__buffer text = make_text(2000000);
    for (size_t f = 0; f < FORMAT_COUNT; f++) {
        for (size_t room = 0; room < 400000; room += 100000) {
            full_sink full = {{full_write, full_close}, room, -1};
            kino__sink *sink = &full.sink;
            kino_error err = {0};
            REQUIRE_EQ(kino__compress_sink_take(formats[f], &sink, NULL), KINO_OK);
            kino_status written = kino__sink_write(sink, kino__buffer_str(&text), &err);
            kino_status closed = kino__sink_close(sink, true, written == KINO_OK ? &err : NULL);
            CHECK_EQ(written == KINO_OK ? closed : written, KINO_IO);
            CHECK(closed != KINO_OK);
            CHECK_STR(err.message, "disk full");
            CHECK_EQ(full.closed_with, 0);
        }
    }
    kino__buffer_deinit(&text);
}
