/* gzip_source_zlib.c - gzip through zlib, where ISA-L is not to be had. */
#ifndef HAVE_ISAL

#    include <stdlib.h>
#    include <string.h>
#    include <zlib.h>

#    include "codec/source_internal.h"

typedef struct gzip_source {
    kino__source base;
    z_stream stream;
    size_t given;
    bool is_done;
} gzip_source;

static void give_input(gzip_source *self)
{
    size_t left = self->base.bytes.size - self->given;
    uInt part = left > (1u << 30) ? 1u << 30 : (uInt)left;
    self->stream.next_in = (Bytef *)(uintptr_t)(self->base.bytes.data + self->given);
    self->stream.avail_in = part;
    self->given += part;
}

static bool start_next_member(gzip_source *self)
{
    size_t used = self->given - self->stream.avail_in;
    kino_str rest = {self->base.bytes.data + used, self->base.bytes.size - used};
    if (rest.size < 18 || (uint8_t)rest.data[0] != 0x1f || (uint8_t)rest.data[1] != 0x8b)
        return false;
    self->given = used;
    give_input(self);
    return inflateReset(&self->stream) == Z_OK;
}

static size_t gzip_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    gzip_source *self = (gzip_source *)source;
    size_t done = 0;
    while (done < size && !self->is_done) {
        size_t room = size - done > (1u << 30) ? 1u << 30 : size - done;
        self->stream.next_out = (Bytef *)out + done;
        self->stream.avail_out = (uInt)room;
        int result = inflate(&self->stream, Z_NO_FLUSH);
        size_t made = room - self->stream.avail_out;
        done += made;
        if (result == Z_STREAM_END)
            self->is_done = !start_next_member(self);
        else if (result != Z_OK && result != Z_BUF_ERROR)
            *is_damaged = self->is_done = true;
        else if (self->stream.avail_in == 0 && self->given < self->base.bytes.size)
            give_input(self);
        else if (made == 0)
            *is_damaged = self->is_done = true; /* cut off */
    }
    return done;
}

static uint64_t gzip_consumed(const kino__source *source)
{
    const gzip_source *self = (const gzip_source *)source;
    return self->given - self->stream.avail_in;
}

static kino__source *gzip_copy(const kino__source *source)
{
    const gzip_source *self = (const gzip_source *)source;
    gzip_source *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    memcpy(copy, self, sizeof *copy);
    if (inflateCopy(&copy->stream, (z_stream *)(uintptr_t)&self->stream) != Z_OK) {
        free(copy);
        return NULL;
    }
    return &copy->base;
}

static void gzip_close(kino__source *source)
{
    gzip_source *self = (gzip_source *)source;
    (void)inflateEnd(&self->stream);
    free(self);
}

static const kino__source_class gzip_class = {gzip_read, gzip_consumed, gzip_copy, gzip_close};

kino__source *kino__gzip_source_new(kino_str bytes)
{
    gzip_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (kino__source){&gzip_class, bytes};
    if (inflateInit2(&self->stream, 15 + 16) != Z_OK) {
        free(self);
        return NULL;
    }
    give_input(self);
    return &self->base;
}

#else
typedef int kino__gzip_source_is_isal; /* a translation unit is not empty */
#endif
