/* xz_source.c - xz, where liblzma is there. No restart points. */
#ifdef HAVE_LZMA

#    include <lzma.h>
#    include <stdlib.h>

#    include "codec/source_internal.h"

/* What --long=31 needs for zstd; more than any preset of xz. */
#    define MEMORY_MOST (UINT64_C(2) << 30)

typedef struct xz_source {
    kino__source base;
    lzma_stream stream;
    bool is_done;
} xz_source;

static size_t xz_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    xz_source *self = (xz_source *)source;
    self->stream.next_out = (uint8_t *)out;
    self->stream.avail_out = size;
    while (self->stream.avail_out && !self->is_done) {
        lzma_ret result = lzma_code(&self->stream, LZMA_FINISH);
        self->is_done = result != LZMA_OK;
        *is_damaged |= result != LZMA_OK && result != LZMA_STREAM_END;
    }
    return size - self->stream.avail_out;
}

static uint64_t xz_consumed(const kino__source *source)
{
    return ((const xz_source *)source)->stream.total_in;
}

static void xz_close(kino__source *source)
{
    xz_source *self = (xz_source *)source;
    lzma_end(&self->stream);
    free(self);
}

static const kino__source_class xz_class = {xz_read, xz_consumed, NULL, xz_close};

kino__source *kino__xz_source_new(kino_str bytes)
{
    xz_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (kino__source){&xz_class, bytes};
    self->stream = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&self->stream, MEMORY_MOST, LZMA_CONCATENATED) != LZMA_OK) {
        free(self);
        return NULL;
    }
    self->stream.next_in = (const uint8_t *)bytes.data;
    self->stream.avail_in = bytes.size;
    return &self->base;
}

#else
typedef int kino__xz_source_is_missing; /* a translation unit is not empty */
#endif
