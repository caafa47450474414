/* unpack.h - a whole compressed file in memory, for readers that need all of it at once. */
#ifndef KINO__READER_UNPACK_H
#define KINO__READER_UNPACK_H

#include "codec/source.h"
#include "reader/reader.h"

/* Appends what the bytes decompress to, at most `most` bytes of it (KINO_LIMIT). *is_damaged: they
 * are cut off or corrupt, and what came before is there. */
KINO_NODISCARD kino_status kino__unpack_whole(kino__compression compression, kino_str bytes,
                                              uint64_t most, kino__buffer *out, bool *is_damaged,
                                              kino_error *err);

#endif
