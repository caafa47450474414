/* source_internal.h - what a decompressor provides to source.c. */
#ifndef KINO__CODEC_SOURCE_INTERNAL_H
#define KINO__CODEC_SOURCE_INTERNAL_H

#include "codec/source.h"

typedef struct kino__source_class {
    size_t (*read)(kino__source *source, char *out, size_t size, bool *is_damaged);
    uint64_t (*consumed)(const kino__source *source);
    kino__source *(*copy)(const kino__source *source); /* NULL: cannot be copied */
    void (*close)(kino__source *source);
} kino__source_class;

/* Embedded first in every source. A snapshot is a copied source that nobody reads from. */
struct kino__source {
    const kino__source_class *class;
    kino_str bytes;
};

kino__source *kino__gzip_source_new(kino_str bytes); /* NULL: out of memory */
kino__source *kino__zstd_source_new(kino_str bytes);
kino__source *kino__zlib_source_new(kino_str bytes);
kino__source *kino__deflate_source_new(kino_str bytes);
kino__source *kino__stored_source_new(kino_str bytes);
kino__source *kino__xz_source_new(kino_str bytes);

#endif
