/* chunk.c - heads, chunk headers and the index of .kino files. */
#include "wire/chunk.h"

#include "wire/bytes.h"
#include "wire/crc32c.h"

/* As PNG's: finds transfers that change line ends, strip the eighth bit or stop at control-Z. */
static const char file_magic[8] = {(char)0x8b, 'K', 'I', 'N', 'O', '\r', '\n', 0x1a};
static const char chunk_magic[KINO__CHUNK_MAGIC_SIZE] = {'K', 'c', 'h', 'k'};
static const char end_magic[4] = {'K', 'e', 'n', 'd'};

void kino__file_head_make(unsigned char head[KINO__FILE_HEAD_SIZE])
{
    memcpy(head, file_magic, sizeof file_magic);
    kino__put_le(head + 8, KINO__FILE_MAJOR, 2);
    kino__put_le(head + 10, KINO__FILE_MINOR, 2);
    kino__put_le(head + 12, kino__crc32c(0, head, 12), 4);
}

kino__head_state kino__file_head_check(kino_str file)
{
    if (file.size < sizeof file_magic)
        return KINO__HEAD_FOREIGN;
    /* One wrong byte in the magic number is damage, not another format. */
    unsigned same = 0;
    for (size_t i = 0; i < sizeof file_magic; i++)
        same += file.data[i] == file_magic[i];
    if (same + 1 < sizeof file_magic)
        return KINO__HEAD_FOREIGN;
    if (file.size < KINO__FILE_HEAD_SIZE ||
        kino__get_le(file.data + 12, 4) != kino__crc32c(0, file.data, 12))
        return KINO__HEAD_DAMAGED;
    return kino__get_le(file.data + 8, 2) == KINO__FILE_MAJOR ? KINO__HEAD_FINE : KINO__HEAD_NEWER;
}

uint64_t kino__chunk_span(const kino__chunk *chunk)
{
    return KINO__CHUNK_HEADER_SIZE + (((uint64_t)chunk->size + 7) & ~(uint64_t)7);
}

void kino__chunk_header_make(const kino__chunk *chunk, unsigned char out[KINO__CHUNK_HEADER_SIZE])
{
    memcpy(out, chunk_magic, sizeof chunk_magic);
    out[4] = chunk->kind;
    out[5] = chunk->codec;
    kino__put_le(out + 6, chunk->tag, 2);
    kino__put_le(out + 8, chunk->group, 4);
    kino__put_le(out + 12, chunk->size, 4);
    kino__put_le(out + 16, chunk->raw_size, 4);
    kino__put_le(out + 20, chunk->checksum, 4);
    kino__put_le(out + 24, chunk->owner, 4);
    kino__put_le(out + 28, kino__crc32c(0, out, 28), 4);
}

static bool is_sum(uint64_t written, const void *data, size_t size)
{
    return written == kino__crc32c(0, data, size);
}

static bool header_parse(const char *at, kino__chunk *out)
{
    if (memcmp(at, chunk_magic, sizeof chunk_magic) != 0 ||
        !is_sum(kino__get_le(at + 28, 4), at, 28))
        return false;
    *out = (kino__chunk){
        .kind = (uint8_t)at[4],
        .codec = (uint8_t)at[5],
        .tag = (uint16_t)kino__get_le(at + 6, 2),
        .group = (uint32_t)kino__get_le(at + 8, 4),
        .size = (uint32_t)kino__get_le(at + 12, 4),
        .raw_size = (uint32_t)kino__get_le(at + 16, 4),
        .checksum = (uint32_t)kino__get_le(at + 20, 4),
        .owner = (uint32_t)kino__get_le(at + 24, 4),
    };
    return true;
}

bool kino__chunk_header_read(kino_str file, uint64_t offset, kino__chunk *out)
{
    if (offset > file.size || file.size - offset < KINO__CHUNK_HEADER_SIZE ||
        !header_parse(file.data + offset, out))
        return false;
    out->offset = offset;
    return out->size <= file.size - offset - KINO__CHUNK_HEADER_SIZE;
}

bool kino__chunk_check(kino_str file, const kino__chunk *chunk)
{
    return is_sum(chunk->checksum, kino__chunk_payload(file, chunk).data, chunk->size);
}

void kino__chunk_add(kino__chunk *chunk, kino_str payload, kino__buffer *out)
{
    chunk->size = (uint32_t)payload.size;
    chunk->checksum = kino__crc32c(0, payload.data, payload.size);
    size_t span = (size_t)kino__chunk_span(chunk);
    char *at = kino__buffer_reserve(out, span);
    if (!at)
        return;
    kino__chunk_header_make(chunk, (unsigned char *)at);
    if (payload.size)
        memcpy(at + KINO__CHUNK_HEADER_SIZE, payload.data, payload.size);
    size_t used = KINO__CHUNK_HEADER_SIZE + payload.size;
    memset(at + used, 0, span - used);
    out->size += span;
}

void kino__index_add(const kino__chunk *chunks, size_t count, uint64_t offset, kino__buffer *out)
{
    kino__buffer entries = {0};
    for (size_t i = 0; i < count; i++) {
        char *at = kino__buffer_reserve(&entries, KINO__INDEX_ENTRY_SIZE);
        if (!at)
            break;
        /* Without the magic number: whoever looks for chunks must not find these. */
        unsigned char header[KINO__CHUNK_HEADER_SIZE];
        kino__chunk_header_make(&chunks[i], header);
        kino__put_le((unsigned char *)at, chunks[i].offset, 8);
        memcpy(at + 8, header + KINO__CHUNK_MAGIC_SIZE, sizeof header - KINO__CHUNK_MAGIC_SIZE);
        entries.size += KINO__INDEX_ENTRY_SIZE;
    }
    kino__chunk index = {.kind = KINO__CHUNK_INDEX, .raw_size = (uint32_t)entries.size};
    kino__chunk_add(&index, kino__buffer_str(&entries), out);
    out->failed |= entries.failed;
    kino__buffer_deinit(&entries);
    unsigned char end[KINO__FILE_END_SIZE];
    kino__put_le(end, offset, 8);
    memcpy(end + 8, end_magic, sizeof end_magic);
    kino__put_le(end + 12, kino__crc32c(0, end, 12), 4);
    kino__buffer_add(out, (kino_str){(const char *)end, sizeof end});
}

/* The index chunk that the end of the file points at. */
static bool find_index(kino_str file, kino__chunk *index)
{
    if (file.size < KINO__FILE_HEAD_SIZE + KINO__FILE_END_SIZE)
        return false;
    const char *end = file.data + file.size - KINO__FILE_END_SIZE;
    return memcmp(end + 8, end_magic, sizeof end_magic) == 0 &&
           is_sum(kino__get_le(end + 12, 4), end, 12) &&
           kino__chunk_header_read(file, kino__get_le(end, 8), index) &&
           index->kind == KINO__CHUNK_INDEX && kino__chunk_check(file, index);
}

/* The index must agree with the headers it points at, or it is not used. */
static bool take_index(kino_str file, const kino__chunk *index, kino__chunk_list *out, bool *nomem)
{
    kino_str entries = kino__chunk_payload(file, index);
    for (size_t i = 0; i + KINO__INDEX_ENTRY_SIZE <= entries.size; i += KINO__INDEX_ENTRY_SIZE) {
        const char *entry = entries.data + i;
        kino__chunk chunk;
        if (!kino__chunk_header_read(file, kino__get_le(entry, 8), &chunk) ||
            memcmp(file.data + chunk.offset + KINO__CHUNK_MAGIC_SIZE, entry + 8,
                   KINO__CHUNK_HEADER_SIZE - KINO__CHUNK_MAGIC_SIZE) != 0)
            return false;
        kino__chunk *slot = kino__vec_add(out);
        *nomem = !slot;
        if (!slot)
            return false;
        *slot = chunk;
    }
    return true;
}

/* Chunk after chunk; where one is damaged, the next header is searched for at the places where one
 * may stand. */
static bool walk(kino_str file, kino__chunk_list *out, uint64_t *end)
{
    uint64_t offset = KINO__FILE_HEAD_SIZE;
    *end = offset;
    while (offset + KINO__CHUNK_HEADER_SIZE <= file.size) {
        kino__chunk chunk;
        if (!kino__chunk_header_read(file, offset, &chunk)) {
            offset += 8;
            continue;
        }
        offset += kino__chunk_span(&chunk);
        *end = offset < file.size ? offset : file.size;
        if (chunk.kind == KINO__CHUNK_INDEX)
            continue;
        kino__chunk *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = chunk;
    }
    return true;
}

kino__index_state kino__index_read(kino_str file, kino__chunk_list *out, uint64_t *end)
{
    kino__chunk index;
    bool nomem = false;
    *end = file.size;
    if (find_index(file, &index) && take_index(file, &index, out, &nomem))
        return KINO__INDEX_FINE;
    out->count = 0;
    if (nomem || !walk(file, out, end))
        return KINO__INDEX_NOMEM;
    return KINO__INDEX_REBUILT;
}
