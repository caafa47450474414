/* source.h - decompression as a stream, with restart points where the format allows them.
 *
 * The compressed bytes stay where they are (a mapped file); a source is a position in them. One
 * thread at a time. */
#ifndef KINO__CODEC_SOURCE_H
#define KINO__CODEC_SOURCE_H

#include <kino/base.h>

typedef enum kino__compression {
    KINO__COMPRESSION_NONE,
    KINO__COMPRESSION_GZIP,
    KINO__COMPRESSION_ZSTD,
    /* taken off before readers see the file: reader/container.h */
    KINO__COMPRESSION_ZLIB,
    KINO__COMPRESSION_XZ,
    KINO__COMPRESSION_DEFLATE, /* in zip archives, as is */
    KINO__COMPRESSION_STORED,
} kino__compression;

/* By the first bytes. */
kino__compression kino__compression_detect(kino_str bytes);       /* gzip and zstd */
kino__compression kino__compression_detect_outer(kino_str bytes); /* zlib and xz too */
const char *kino__compression_name(kino__compression compression);

typedef struct kino__source kino__source;

/* The bytes must outlive the source and all snapshots. */
KINO_NODISCARD kino_status kino__source_open(kino__compression compression, kino_str bytes,
                                             kino__source **out, kino_error *err);
void kino__source_close(kino__source *source);

/* Up to `size` bytes of text; fewer only at the end. *is_damaged is set when the end is not a
 * proper one (data cut or corrupt); what was returned before is good as far as the format can
 * tell. */
size_t kino__source_read(kino__source *source, char *out, size_t size, bool *is_damaged);

/* Compressed bytes used so far: for progress. */
uint64_t kino__source_consumed(const kino__source *source);

/* The state of the source as a value to restart from; NULL when the format has none or memory is
 * out. */
typedef struct kino__snapshot kino__snapshot;
kino__snapshot *kino__source_snapshot(const kino__source *source);
void kino__snapshot_free(kino__snapshot *snapshot);
KINO_NODISCARD kino_status kino__source_resume(const kino__snapshot *snapshot, kino__source **out,
                                               kino_error *err);

#endif
