/* kino_writer_internal.h - shared by the files that write .kino: coding and packing of chunks. */
#ifndef KINO__WRITER_KINO_WRITER_INTERNAL_H
#define KINO__WRITER_KINO_WRITER_INTERNAL_H

#include "codec/zstd_block.h"
#include "store/trace.h"
#include "wire/chunk.h"
#include "wire/column.h"
#include "wire/kino_format.h"
#include "writer/writer.h"

/* What one worker needs to make chunks; kept from block to block. */
typedef struct kino__packer {
    kino__zstd_state zstd;
    kino__column_scratch scratch;
    kino__buffer coded, packed; /* of the chunk being made */
} kino__packer;
void kino__packer_deinit(kino__packer *packer);

/* Appends the payload as a chunk, compressed where that helps. kind, tag and group are set. */
void kino__pack_chunk(kino__packer *packer, kino__chunk chunk, kino_str payload, kino__buffer *out);

/* Appends a column as a chunk, by the method that makes it smallest; is_rising: differences, for
 * sure. */
void kino__pack_column(kino__packer *packer, kino__chunk chunk, const kino__column_values *values,
                       bool is_rising, kino__buffer *out);

/* The same into a payload, plain or as differences, without a chunk of its own: its size in 4 bytes
 * comes first. */
void kino__pack_list(kino__packer *packer, const int64_t *values, size_t count, bool is_rising,
                     kino__buffer *payload);

/* How much goes into one chunk; tests make it small. */
typedef struct kino__group_sizes {
    uint32_t rows;
    uint32_t events; /* whose arguments are one group */
    uint32_t odd;    /* entries of the list of odd events */
} kino__group_sizes;

/* Arguments of the events [group * group_size, ...) in file order. */
typedef struct kino__arg_packer kino__arg_packer;
kino__arg_packer *kino__arg_packer_new(const kino__trace *trace, const uint32_t *row_of_number,
                                       uint32_t group_size);
void kino__arg_packer_free(kino__arg_packer *args);
void kino__arg_packer_add_group(kino__arg_packer *args, kino__packer *packer, uint32_t group,
                                kino__buffer *out);

/* The payload of the METADATA, STRINGS and TRACKS chunks. */
void kino__pack_head(kino__packer *packer, const kino__trace *trace, kino__group_sizes sizes,
                     kino__buffer *out);

/* A whole file. */
KINO_NODISCARD kino_status kino__kino_write(const kino__trace *trace, kino__group_sizes sizes,
                                            kino__sink *sink, const kino__write_context *context,
                                            kino_error *err);

#endif
