/* zstd_block.h - whole blocks in memory, compressed and decompressed with zstd. */
#ifndef KINO__CODEC_ZSTD_BLOCK_H
#define KINO__CODEC_ZSTD_BLOCK_H

#include "base/str.h"

/* Belongs to one thread; made on first use. Starts as {0}. */
typedef struct kino__zstd_state {
    void *compressor, *decompressor;
} kino__zstd_state;
void kino__zstd_state_deinit(kino__zstd_state *state);

/* Appends the compressed bytes; false when memory is out. */
bool kino__zstd_pack(kino__zstd_state *state, kino_str bytes, int level, kino__buffer *out);

/* Decompresses into exactly `size` bytes at `out`; false when the bytes are damaged, make more or
 * less, or memory is out. */
bool kino__zstd_unpack(kino__zstd_state *state, kino_str bytes, void *out, size_t size);

#endif
