/* chunk.h - the container of .kino files: a head, chunks, an index, an end. docs/formats/kino.md.
 *
 *   head 16 | chunk | chunk | ... | index chunk | end 16
 *   chunk = 32 bytes of header, payload, zeros up to a multiple of 8
 *
 * Header and payload have a checksum each, so damage is found and its extent known. Engine and
 * recorder share this layer: it knows bytes, not traces. */
#ifndef KINO__WIRE_CHUNK_H
#define KINO__WIRE_CHUNK_H

#include "base/str.h"
#include "base/vec.h"

enum {
    KINO__FILE_HEAD_SIZE = 16,
    KINO__FILE_END_SIZE = 16,
    KINO__CHUNK_HEADER_SIZE = 32,
    KINO__CHUNK_MAGIC_SIZE = 4,
    KINO__INDEX_ENTRY_SIZE = 36, /* offset, and the header without its magic number */
    KINO__FILE_MAJOR = 1,        /* another major version cannot be read; */
    KINO__FILE_MINOR = 0,        /* a higher minor one can, what is new in it is skipped */
};

typedef enum kino__chunk_kind {
    KINO__CHUNK_INDEX = 1,
    KINO__CHUNK_METADATA = 2, /* what the trace is: fields */
    KINO__CHUNK_STRINGS = 3,  /* a part of the string table */
    KINO__CHUNK_TRACKS = 4,
    KINO__CHUNK_COLUMN = 5,     /* tag: which column; group: which rows */
    KINO__CHUNK_ARGS = 6,       /* templates and keys of a group of events */
    KINO__CHUNK_ARG_TEXTS = 7,  /* their distinct texts */
    KINO__CHUNK_ARG_COLUMN = 8, /* tag: which column of the group */
    KINO__CHUNK_ODD = 9,        /* events that columns cannot hold whole */
    KINO__CHUNK_ODD_TEXTS = 10, /* their texts */
    KINO__CHUNK_RING = 11,      /* records of one thread of a live recorder */
} kino__chunk_kind;

typedef enum kino__chunk_codec { KINO__CHUNK_RAW = 0, KINO__CHUNK_ZSTD = 1 } kino__chunk_codec;

typedef struct kino__chunk {
    uint8_t kind;
    uint8_t codec;
    uint16_t tag;
    uint32_t group;
    uint32_t size;     /* of the payload in the file */
    uint32_t raw_size; /* of the payload decoded */
    uint32_t checksum; /* of the payload in the file */
    uint32_t owner;    /* ring: the thread; otherwise 0 */
    uint64_t offset;   /* of the header, not part of it */
} kino__chunk;

void kino__file_head_make(unsigned char head[KINO__FILE_HEAD_SIZE]);
typedef enum kino__head_state {
    KINO__HEAD_FOREIGN, /* not such a file */
    KINO__HEAD_DAMAGED, /* it was one */
    KINO__HEAD_NEWER,   /* another major version */
    KINO__HEAD_FINE,
} kino__head_state;
kino__head_state kino__file_head_check(kino_str file);

/* Bytes the chunk takes in the file, header and padding included. */
uint64_t kino__chunk_span(const kino__chunk *chunk);

void kino__chunk_header_make(const kino__chunk *chunk, unsigned char out[KINO__CHUNK_HEADER_SIZE]);
/* Reads and checks the header at `offset`; false when there is none, it is damaged, or its payload
 * goes beyond the end of the file. */
bool kino__chunk_header_read(kino_str file, uint64_t offset, kino__chunk *out);

static inline kino_str kino__chunk_payload(kino_str file, const kino__chunk *chunk)
{
    return (kino_str){file.data + chunk->offset + KINO__CHUNK_HEADER_SIZE, chunk->size};
}
/* Does the payload have its checksum? */
bool kino__chunk_check(kino_str file, const kino__chunk *chunk);

/* Appends a chunk with this payload (already coded); sets size and checksum. */
void kino__chunk_add(kino__chunk *chunk, kino_str payload, kino__buffer *out);

typedef KINO__VEC(kino__chunk) kino__chunk_list;

/* The index of these chunks as a chunk, and the end of the file behind it; `offset` is where it
 * will stand. */
void kino__index_add(const kino__chunk *chunks, size_t count, uint64_t offset, kino__buffer *out);

typedef enum kino__index_state {
    KINO__INDEX_FINE,
    KINO__INDEX_REBUILT, /* the end was damaged or missing: chunks found one by one */
    KINO__INDEX_NOMEM,
} kino__index_state;
/* The chunks of a file, in order, without the index; `end` is where the last whole one ends. */
kino__index_state kino__index_read(kino_str file, kino__chunk_list *out, uint64_t *end);

#endif
