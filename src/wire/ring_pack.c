/* ring_pack.c - the buffers of a recorder as chunks of a .kino file, uncompressed. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/chunk.h"
#include "wire/ring.h"

enum { BLOCK = 1 << 20 };

typedef struct pack {
    kino__sink *sink;
    kino_error *err;
    kino__buffer out;
    kino__chunk_list chunks;
    uint64_t written; /* bytes handed on */
    char *segment;    /* a copy: a late end must not come between checksum and writing */
} pack;

static kino_status flush(pack *p)
{
    if (p->out.failed)
        return kino__fail_nomem(p->err);
    KINO_TRY(kino__sink_write(p->sink, kino__buffer_str(&p->out), p->err));
    p->written += p->out.size;
    p->out.size = 0;
    return KINO_OK;
}

static kino_status add_chunk(pack *p, uint16_t tag, uint32_t group, uint32_t owner,
                             kino_str payload)
{
    kino__chunk chunk = {.kind = KINO__CHUNK_RING,
                         .codec = KINO__CHUNK_RAW,
                         .tag = tag,
                         .group = group,
                         .owner = owner,
                         .raw_size = (uint32_t)payload.size,
                         .offset = p->written + p->out.size};
    kino__chunk_add(&chunk, payload, &p->out);
    kino__chunk *kept = kino__vec_add(&p->chunks);
    if (!kept || p->out.failed)
        return kino__fail_nomem(p->err);
    *kept = chunk;
    return p->out.size > BLOCK ? flush(p) : KINO_OK;
}

static kino_status add_piece(pack *p, const kino__ring_piece *piece)
{
    size_t bytes = (size_t)piece->count * KINO__RING_RECORD_SIZE;
    memcpy(p->segment, &piece->header, sizeof piece->header);
    uint64_t *to = (uint64_t *)(void *)(p->segment + sizeof piece->header);
    const uint64_t *from = (const uint64_t *)(const void *)piece->records;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    return add_chunk(p, KINO__RING_TAG_SEGMENT, piece->header.index, piece->header.tid,
                     (kino_str){p->segment, sizeof piece->header + bytes});
}

static kino_status write_all(pack *p, const kino__ring_image *image, kino_str meta, kino_str texts)
{
    unsigned char head[KINO__FILE_HEAD_SIZE];
    kino__file_head_make(head);
    kino__buffer_add(&p->out, (kino_str){(const char *)head, sizeof head});
    KINO_TRY(add_chunk(p, KINO__RING_TAG_META, 0, 0, meta));
    KINO_TRY(add_chunk(p, KINO__RING_TAG_TEXTS, 0, 0, texts));
    for (size_t i = 0; i < image->pieces.count; i++)
        if (!image->pieces.items[i].ended) /* the last piece of a segment: it has the others' too */
            KINO_TRY(add_piece(p, &image->pieces.items[i]));
    KINO_TRY(flush(p));
    kino__index_add(p->chunks.items, p->chunks.count, p->written, &p->out);
    return flush(p);
}

kino_status kino__ring_write_kino(const kino__ring_image *image, kino_str meta, kino_str texts,
                                  kino__sink *sink, kino_error *err)
{
    pack p = {.sink = sink, .err = err, .segment = malloc(KINO_IMPL_V1_SEGMENT_SIZE)};
    kino_status st = p.segment ? write_all(&p, image, meta, texts) : kino__fail_nomem(err);
    kino__buffer_deinit(&p.out);
    kino__vec_deinit(&p.chunks);
    free(p.segment);
    return st;
}
