/* test_wire_chunk.c - the container: heads, chunks, the index, and finding chunks without it. */
#include <stdlib.h>

#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/chunk.h"
#include "wire/crc32c.h"

enum { CHUNKS = 4 };

/* Payloads of 0, 5, 8 and 21 bytes, the third of a kind that nobody knows. */
static kino__buffer make_file(kino__chunk chunks[CHUNKS])
{
    static const char *const payloads[CHUNKS] = {"", "abcde", "12345678", "the last of all chunk"};
    unsigned char head[KINO__FILE_HEAD_SIZE];
    kino__buffer file = {0};
    kino__file_head_make(head);
    kino__buffer_add(&file, (kino_str){(const char *)head, sizeof head});
    for (uint32_t i = 0; i < CHUNKS; i++) {
        kino_str payload = kino__str_from(payloads[i]);
        chunks[i] = (kino__chunk){.kind = i == 2 ? 200 : KINO__CHUNK_COLUMN,
                                  .tag = (uint16_t)(i + 1),
                                  .group = i * 1000,
                                  .raw_size = (uint32_t)payload.size,
                                  .owner = i,
                                  .offset = file.size};
        kino__chunk_add(&chunks[i], payload, &file);
    }
    kino__index_add(chunks, CHUNKS, file.size, &file);
    REQUIRE(!file.failed);
    return file;
}

static bool same_chunk(const kino__chunk *a, const kino__chunk *b)
{
    return a->kind == b->kind && a->codec == b->codec && a->tag == b->tag && a->group == b->group &&
           a->size == b->size && a->raw_size == b->raw_size && a->checksum == b->checksum &&
           a->owner == b->owner && a->offset == b->offset;
}

TEST(file_head_is_16_bytes_with_version_and_checksum)
{
    unsigned char head[KINO__FILE_HEAD_SIZE];
    kino__file_head_make(head);
    kino_str file = {(const char *)head, sizeof head};
    CHECK(memcmp(head, "\x8bKINO\r\n\x1a\1\0\0\0", 12) == 0);
    CHECK_EQ(kino__get_le(head + 12, 4), (uint64_t)kino__crc32c_plain(0, head, 12));
    CHECK_EQ(kino__file_head_check(file), KINO__HEAD_FINE);
    CHECK_EQ(kino__file_head_check((kino_str){file.data, 15}), KINO__HEAD_DAMAGED);
    CHECK_EQ(kino__file_head_check((kino_str){file.data, 7}), KINO__HEAD_FOREIGN);
    CHECK_EQ(kino__file_head_check(KINO__STR("{\"traceEvents\": []}")), KINO__HEAD_FOREIGN);
    for (unsigned bit = 0; bit < 8 * KINO__FILE_HEAD_SIZE; bit++) {
        head[bit / 8] ^= (unsigned char)(1 << (bit % 8));
        CHECK_EQ(kino__file_head_check(file), KINO__HEAD_DAMAGED);
        head[bit / 8] ^= (unsigned char)(1 << (bit % 8));
    }
    /* a higher minor version can be read, another major one cannot */
    kino__put_le(head + 10, 7, 2);
    kino__put_le(head + 12, kino__crc32c(0, head, 12), 4);
    CHECK_EQ(kino__file_head_check(file), KINO__HEAD_FINE);
    kino__put_le(head + 8, 2, 2);
    kino__put_le(head + 12, kino__crc32c(0, head, 12), 4);
    CHECK_EQ(kino__file_head_check(file), KINO__HEAD_NEWER);
}

TEST(chunks_stand_at_multiples_of_eight_and_the_index_has_them_all)
{
    kino__chunk chunks[CHUNKS];
    kino__buffer file = make_file(chunks);
    kino__chunk_list found = {0};
    uint64_t end;
    /* head 16; 32; 32 + 8; 32 + 8; 32 + 24; index 32 + 4 * 36; end 16 */
    CHECK_EQ(chunks[1].offset, 16u + 32);
    CHECK_EQ(chunks[2].offset, 16u + 32 + 40);
    CHECK_EQ(chunks[3].offset, 16u + 32 + 40 + 40);
    REQUIRE_EQ(file.size, (size_t)16 + 32 + 40 + 40 + 56 + 176 + 16);
    CHECK(memcmp(file.data + chunks[1].offset + 32, "abcde\0\0\0", 8) == 0);
    CHECK_EQ(kino__index_read(kino__buffer_str(&file), &found, &end), KINO__INDEX_FINE);
    REQUIRE_EQ(found.count, (size_t)CHUNKS);
    for (size_t i = 0; i < CHUNKS; i++) {
        CHECK(same_chunk(&found.items[i], &chunks[i]));
        CHECK(kino__chunk_check(kino__buffer_str(&file), &found.items[i]));
    }
    kino__vec_deinit(&found);
    kino__buffer_deinit(&file);
}

/* A flipped bit leaves all chunks, or all but the one whose header it is in; a payload's checksum
 * tells the rest. */
TEST(chunks_are_found_without_the_index)
{
    kino__chunk chunks[CHUNKS];
    kino__buffer file = make_file(chunks);
    size_t index = chunks[3].offset + 56;
    for (size_t bit = 8 * (size_t)KINO__FILE_HEAD_SIZE; bit < file.size * 8; bit++) {
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << (bit % 8));
        kino__chunk_list found = {0};
        uint64_t end;
        kino__index_state state = kino__index_read(kino__buffer_str(&file), &found, &end);
        bool in_header = false, in_payload = false;
        size_t at = 0, fine = 0;
        for (size_t i = 0; i < CHUNKS; i++) {
            size_t from = chunks[i].offset, payload = from + KINO__CHUNK_HEADER_SIZE;
            bool is_here = bit / 8 >= from && bit / 8 < payload;
            in_header |= is_here;
            in_payload |= bit / 8 >= payload && bit / 8 < payload + chunks[i].size;
            if (is_here)
                continue;
            REQUIRE(at < found.count && same_chunk(&found.items[at], &chunks[i]));
            fine += kino__chunk_check(kino__buffer_str(&file), &found.items[at++]);
        }
        CHECK_EQ(at, found.count);
        CHECK_EQ(fine, (size_t)CHUNKS - in_header - in_payload);
        CHECK_EQ(state, in_header || bit / 8 >= index ? KINO__INDEX_REBUILT : KINO__INDEX_FINE);
        kino__vec_deinit(&found);
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << (bit % 8));
    }
    kino__buffer_deinit(&file);
}

TEST(a_cut_file_has_the_chunks_before_the_cut)
{
    kino__chunk chunks[CHUNKS];
    kino__buffer file = make_file(chunks);
    for (size_t size = KINO__FILE_HEAD_SIZE; size < file.size; size++) {
        kino__chunk_list found = {0};
        uint64_t end;
        char *exact = malloc(size); /* ASan sees a byte too many */
        REQUIRE(exact != NULL);
        memcpy(exact, file.data, size);
        CHECK_EQ(kino__index_read((kino_str){exact, size}, &found, &end), KINO__INDEX_REBUILT);
        size_t whole = 0;
        while (whole < CHUNKS &&
               chunks[whole].offset + KINO__CHUNK_HEADER_SIZE + chunks[whole].size <= size)
            whole++;
        REQUIRE_EQ(found.count, whole);
        CHECK(end <= size);
        for (size_t i = 0; i < whole; i++)
            CHECK(same_chunk(&found.items[i], &chunks[i]));
        kino__vec_deinit(&found);
        free(exact);
    }
    kino__buffer_deinit(&file);
}

TEST(reading_bytes_stops_at_their_end)
{
    kino__bytes in = kino__bytes_start(KINO__STR("\1\2\0\0\0ab\3"));
    CHECK_EQ(kino__bytes_get(&in, 1), 1u);
    CHECK_STR(kino__bytes_get_text(&in), "ab");
    CHECK_EQ(kino__bytes_get(&in, 8), 0u);
    CHECK(in.failed);
    CHECK_EQ(kino__bytes_get(&in, 1), 0u); /* stays failed */
    in = kino__bytes_start(KINO__STR("\xff\xff\xff\xff"
                                     "a"));
    CHECK_STR(kino__bytes_get_text(&in), "");
    CHECK(in.failed);
}
