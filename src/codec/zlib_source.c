/* zlib_source.c - streams of zlib's own format, and of zip archives. No restart points. */
#include <stdlib.h>
#include <zlib.h>

#include "codec/source_internal.h"

enum { PART = 1 << 30 };

typedef struct zlib_source {
    kino__source base;
    z_stream stream;
    size_t given;
    bool is_done;
} zlib_source;

static void give_input(zlib_source *self)
{
    size_t left = self->base.bytes.size - self->given;
    uInt part = left > PART ? PART : (uInt)left;
    self->stream.next_in = (Bytef *)(uintptr_t)(self->base.bytes.data + self->given);
    self->stream.avail_in = part;
    self->given += part;
}

static size_t zlib_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    zlib_source *self = (zlib_source *)source;
    size_t done = 0;
    while (done < size && !self->is_done) {
        size_t room = size - done > PART ? PART : size - done;
        if (self->stream.avail_in == 0)
            give_input(self);
        self->stream.next_out = (Bytef *)out + done;
        self->stream.avail_out = (uInt)room;
        int result = inflate(&self->stream, Z_NO_FLUSH);
        done += room - self->stream.avail_out;
        self->is_done = result != Z_OK;
        *is_damaged |= result != Z_OK && result != Z_STREAM_END;
    }
    return done;
}

static uint64_t zlib_consumed(const kino__source *source)
{
    const zlib_source *self = (const zlib_source *)source;
    return self->given - self->stream.avail_in;
}

static void zlib_close(kino__source *source)
{
    zlib_source *self = (zlib_source *)source;
    (void)inflateEnd(&self->stream);
    free(self);
}

static const kino__source_class zlib_class = {zlib_read, zlib_consumed, NULL, zlib_close};

static kino__source *source_new(kino_str bytes, int window_bits)
{
    zlib_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (kino__source){&zlib_class, bytes};
    if (inflateInit2(&self->stream, window_bits) != Z_OK) {
        free(self);
        return NULL;
    }
    return &self->base;
}

kino__source *kino__zlib_source_new(kino_str bytes)
{
    return source_new(bytes, MAX_WBITS);
}

/* Without a header. */
kino__source *kino__deflate_source_new(kino_str bytes)
{
    return source_new(bytes, -MAX_WBITS);
}
