/* kino_internal.h - an open .kino file, shared by the files that read it.
 *
 * The file is mapped, its index read and every checksum tested; only then is anything decoded, and
 * only what is asked for. So damage is known and in the ledger before the first answer, and later
 * nothing can fail but memory, unless the file was made to make no sense. */
#ifndef KINO__READER_KINO_INTERNAL_H
#define KINO__READER_KINO_INTERNAL_H

#include "codec/zstd_block.h"
#include "reader/reader.h"
#include "store/text.h"
#include "wire/chunk.h"
#include "wire/kino_format.h"

enum { KINO__NO_CHUNK = 0 }; /* chunks are numbered from 1 */

/* Rows that were written together and are all there. */
typedef struct kino__row_group {
    uint32_t chunks[KINO__TAG_COUNT];
    uint32_t first_row; /* in the trace; lost groups are left out */
    uint32_t count;
} kino__row_group;

typedef struct kino__arg_group {
    uint32_t description, texts;         /* chunks; NO_CHUNK: the group is lost */
    uint32_t first_column, column_count; /* in column_chunks of the file, in order of tags */
} kino__arg_group;

typedef struct kino__odd_texts {
    uint32_t chunk;
    uint64_t offset; /* of its first byte among all odd texts */
} kino__odd_texts;

/* What one thread needs to decode chunks. */
typedef struct kino__unpacker {
    kino__zstd_state zstd;
    kino__buffer raw;
} kino__unpacker;
void kino__unpacker_deinit(kino__unpacker *unpacker);

typedef struct kino__kino_file {
    kino__text text;            /* the trace's text: arguments and odd events are made here */
    kino__column_source source; /* the trace's columns */
    kino__file file;
    const kino__trace *trace;
    kino__unpacker unpacker; /* of who opens it, then of who holds the trace's source_lock */
    kino__chunk_list chunks;
    KINO__VEC(kino__row_group) row_groups;
    KINO__VEC(kino__arg_group) arg_groups;
    KINO__VEC(uint32_t) column_chunks;
    KINO__VEC(kino__odd_texts) odd_texts;
    KINO__VEC(uint16_t) categories; /* number in the file -> category of the trace */
    KINO__VEC(kino_str) category_texts;
    /* of the metadata */
    uint64_t row_count, number_count, string_count, track_count, odd_count;
    uint64_t row_group_size, arg_group_size;
} kino__kino_file;

static inline kino_str kino__kino_bytes(const kino__kino_file *f)
{
    return (kino_str){f->file.data, f->file.size};
}

/* The decoded payload, valid until the next call; data is NULL when memory is out or the chunk
 * does not decode. */
kino_str kino__unpack(const kino__kino_file *f, uint32_t chunk, kino__unpacker *unpacker);

/* Reads metadata, strings, tracks and odd events into the trace. */
KINO_NODISCARD kino_status kino__kino_read_head(kino__kino_file *f, kino__trace *trace,
                                                kino_error *err);
KINO_NODISCARD kino_status kino__kino_read_odd(kino__kino_file *f, kino__trace *trace,
                                               kino_error *err);

/* The functions of the column source. */
bool kino__kino_load_columns(kino__column_source *source, kino__trace *trace, unsigned columns,
                             kino__pool *pool);
void kino__kino_free_columns(kino__column_source *source, kino__trace *trace);
bool kino__kino_visit_arg(kino__column_source *source, const kino__trace *trace, kino_str key,
                          bool (*visit)(void *context, uint32_t row, const kino__arg_value *value),
                          void *context);

/* The functions of the text. */
kino_str kino__kino_read_text(const kino__text *text, void *cursor, uint64_t offset, uint64_t size);
kino_str kino__kino_args(const kino__text *text, void *cursor, uint64_t place);
void *kino__kino_cursor_new(const kino__text *text);
void kino__kino_cursor_free(const kino__text *text, void *cursor);

/* Are all columns there that the description of the group names? */
bool kino__kino_arg_group_is_whole(const kino__kino_file *f, uint32_t group,
                                   kino__unpacker *unpacker);

/* Which events of a group have arguments: has[0 .. count) becomes 0 or 1. */
bool kino__kino_has_args(const kino__kino_file *f, uint32_t group, kino__unpacker *unpacker,
                         uint8_t *has, size_t count);

#endif
