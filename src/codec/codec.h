/* codec.h - compression: sinks that compress what is written to them.
 *
 * A compressing sink takes another sink and is itself one: closing it finishes the compressed
 * stream and closes the sink inside, with the same commit; so an aborted output leaves nothing
 * behind. */
#ifndef KINO__CODEC_CODEC_H
#define KINO__CODEC_CODEC_H

#include "base/sink.h"
#include "codec/source.h"

/* By suffix: ".gz", ".zst", anything else is none. */
kino__compression kino__compression_of_path(kino_str path);

/* Wraps *sink, which is taken; on failure it is closed without commit and *sink is NULL. NONE
 * leaves it as it is. */
KINO_NODISCARD kino_status kino__compress_sink_take(kino__compression compression,
                                                    kino__sink **sink, kino_error *err);

/* The same for one format each: one gzip member (any level: fast), one zstd frame with checksum. */
KINO_NODISCARD kino_status kino__gzip_sink_take(kino__sink **sink, kino_error *err);
KINO_NODISCARD kino_status kino__zstd_sink_take(kino__sink **sink, kino_error *err);

#endif
