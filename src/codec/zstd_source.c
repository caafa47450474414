/* zstd_source.c - zstd. It has no restart points: going back means starting again. */
#include <stdlib.h>
#include <zstd.h>

#include "codec/source_internal.h"

enum { WINDOW_LOG_MAX = sizeof(void *) == 8 ? 31 : 30 };

typedef struct zstd_source {
    kino__source base;
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    size_t wanted; /* what the last call said: 0 = a frame is complete */
    bool is_done;
} zstd_source;

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the output buffer */
static size_t zstd_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    zstd_source *self = (zstd_source *)source;
    ZSTD_outBuffer to = {out, size, 0};
    while (to.pos < size && !self->is_done) {
        size_t in_before = self->in.pos, out_before = to.pos;
        self->wanted = ZSTD_decompressStream(self->stream, &to, &self->in);
        if (!ZSTD_isError(self->wanted) && self->in.pos == self->in.size &&
            self->in.size < self->base.bytes.size) {
            self->in.size = self->base.bytes.size;
            continue;
        }
        if (ZSTD_isError(self->wanted)) {
            *is_damaged = self->is_done = true;
        } else if (self->in.pos == in_before && to.pos == out_before) {
            *is_damaged = self->wanted != 0;
            self->is_done = true;
        } else if (self->in.pos == self->in.size && self->wanted == 0) {
            self->is_done = true;
        }
    }
    return to.pos;
}

static uint64_t zstd_consumed(const kino__source *source)
{
    return ((const zstd_source *)source)->in.pos;
}

static void zstd_close(kino__source *source)
{
    zstd_source *self = (zstd_source *)source;
    ZSTD_freeDStream(self->stream);
    free(self);
}

static kino__source *zstd_copy(const kino__source *source);
static const kino__source_class zstd_class = {zstd_read, zstd_consumed, zstd_copy, zstd_close};

kino__source *kino__zstd_source_new(kino_str bytes)
{
    zstd_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (kino__source){&zstd_class, bytes};
    self->stream = ZSTD_createDStream();
    if (self->stream) /* what --long=31 wrote; pages of the window that stay empty cost nothing */
        (void)ZSTD_DCtx_setParameter(self->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    /* The last byte comes later: a frame that is there as a whole would be decoded in one go, and
     * give nothing if it is damaged. */
    self->in = (ZSTD_inBuffer){bytes.data, bytes.size ? bytes.size - 1 : 0, 0};
    self->wanted = 1;
    if (!self->stream) {
        free(self);
        return NULL;
    }
    return &self->base;
}

/* Only the beginning can be copied. */
static kino__source *zstd_copy(const kino__source *source)
{
    const zstd_source *self = (const zstd_source *)source;
    return self->in.pos == 0 ? kino__zstd_source_new(source->bytes) : NULL;
}
