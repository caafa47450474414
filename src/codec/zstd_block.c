/* zstd_block.c - zstd over blocks in memory. */
#include "codec/zstd_block.h"

#include <zstd.h>

void kino__zstd_state_deinit(kino__zstd_state *state)
{
    (void)ZSTD_freeCCtx(state->compressor);
    (void)ZSTD_freeDCtx(state->decompressor);
    *state = (kino__zstd_state){0};
}

bool kino__zstd_pack(kino__zstd_state *state, kino_str bytes, int level, kino__buffer *out)
{
    if (!state->compressor)
        state->compressor = ZSTD_createCCtx();
    size_t room = ZSTD_compressBound(bytes.size);
    char *to = kino__buffer_reserve(out, room);
    if (!state->compressor || !to)
        return false;
    size_t size = ZSTD_compressCCtx(state->compressor, to, room, bytes.data, bytes.size, level);
    if (ZSTD_isError(size))
        return false;
    out->size += size;
    return true;
}

bool kino__zstd_unpack(kino__zstd_state *state, kino_str bytes, void *out, size_t size)
{
    if (!state->decompressor)
        state->decompressor = ZSTD_createDCtx();
    return state->decompressor &&
           ZSTD_decompressDCtx(state->decompressor, out, size, bytes.data, bytes.size) == size;
}
