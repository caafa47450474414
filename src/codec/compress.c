/* compress.c - which compressor a path asks for, and what all compressing sinks do alike. */
#include <stdlib.h>

#include "base/error.h"
#include "codec/sink_internal.h"

kino__compression kino__compression_of_path(kino_str path)
{
    if (kino__str_ends_with(path, KINO__STR(".gz")))
        return KINO__COMPRESSION_GZIP;
    if (kino__str_ends_with(path, KINO__STR(".zst")))
        return KINO__COMPRESSION_ZSTD;
    return KINO__COMPRESSION_NONE;
}

kino_status kino__compress_sink_take(kino__compression compression, kino__sink **sink,
                                     kino_error *err)
{
    switch (compression) {
    case KINO__COMPRESSION_GZIP:
        return kino__gzip_sink_take(sink, err);
    case KINO__COMPRESSION_ZSTD:
        return kino__zstd_sink_take(sink, err);
    case KINO__COMPRESSION_NONE:
    default: /* nobody asks for the others */
        break;
    }
    return KINO_OK;
}

static kino_status pack_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    kino__pack_sink *self = (kino__pack_sink *)sink;
    kino_status st = bytes.size ? self->feed(self, bytes, false, err) : KINO_OK;
    if (st != KINO_OK)
        self->has_failed = true;
    return st;
}

static kino_status pack_close(kino__sink *sink, bool commit, kino_error *err)
{
    kino__pack_sink *self = (kino__pack_sink *)sink;
    kino_status st = KINO_OK;
    if (commit && self->has_failed)
        st = kino__fail(err, KINO_IO, "cannot finish compressed output: an earlier write failed");
    else if (commit)
        st = self->feed(self, (kino_str){"", 0}, true, err);
    kino_status closed =
        kino__sink_close(self->inner, commit && st == KINO_OK, st == KINO_OK ? err : NULL);
    self->stop(self);
    free(self);
    return st == KINO_OK ? closed : st;
}

void kino__pack_sink_init(kino__pack_sink *self, kino__sink *inner)
{
    self->sink = (kino__sink){pack_write, pack_close};
    self->inner = inner;
    self->has_failed = false;
}
