/* sink_internal.h - what compressing sinks share: the sink inside, and when it may be committed.
 *
 * A format provides `feed` and `stop`; compress.c does the rest. Once writing has failed nothing
 * more is tried, and closing with commit fails too: half a stream never takes effect. */
#ifndef KINO__CODEC_SINK_INTERNAL_H
#define KINO__CODEC_SINK_INTERNAL_H

#include "codec/codec.h"

/* Embedded first in every compressing sink, which is one block of malloc's. */
typedef struct kino__pack_sink kino__pack_sink;
struct kino__pack_sink {
    kino__sink sink;
    kino__sink *inner;
    bool has_failed;
    /* Compresses all of `bytes` to the inner sink; with is_end also what is still held back. */
    kino_status (*feed)(kino__pack_sink *self, kino_str bytes, bool is_end, kino_error *err);
    void (*stop)(kino__pack_sink *self); /* frees what the compressor holds */
};

/* Fills all members but feed and stop; takes the inner sink. */
void kino__pack_sink_init(kino__pack_sink *self, kino__sink *inner);

#endif
