/* zstd_sink.c - a sink that compresses to one zstd frame with a checksum, level 3, on the writing
 * thread. */
#include <stdlib.h>
#include <zstd.h>

#include "base/error.h"
#include "codec/sink_internal.h"

enum { LEVEL = 3, OUTPUT_BYTES = 256 << 10 };

typedef struct zstd_sink {
    kino__pack_sink pack;
    ZSTD_CCtx *context;
    char output[OUTPUT_BYTES];
} zstd_sink;

static kino_status feed(kino__pack_sink *sink, kino_str bytes, bool is_end, kino_error *err)
{
    zstd_sink *self = (zstd_sink *)sink;
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {self->output, OUTPUT_BYTES, 0};
        left =
            ZSTD_compressStream2(self->context, &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return kino__fail(err, KINO_IO, "cannot compress: %s", ZSTD_getErrorName(left));
        if (out.pos)
            KINO_TRY(kino__sink_write(sink->inner, (kino_str){self->output, out.pos}, err));
    } while (is_end ? left != 0 : in.pos < in.size);
    return KINO_OK;
}

static void stop(kino__pack_sink *sink)
{
    (void)ZSTD_freeCCtx(((zstd_sink *)sink)->context);
}

kino_status kino__zstd_sink_take(kino__sink **sink, kino_error *err)
{
    kino__sink *inner = *sink;
    *sink = NULL;
    zstd_sink *self = calloc(1, sizeof *self);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!self || !context ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))) {
        free(self);
        ZSTD_freeCCtx(context);
        (void)kino__sink_close(inner, false, NULL);
        return kino__fail_nomem(err);
    }
    kino__pack_sink_init(&self->pack, inner);
    self->pack.feed = feed;
    self->pack.stop = stop;
    self->context = context;
    *sink = &self->pack.sink;
    return KINO_OK;
}
