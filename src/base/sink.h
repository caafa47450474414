/* sink.h - where output bytes go: memory, a descriptor, a file that appears only when whole, a
 * compressor.
 *
 * A sink is made by its family (`kino__memory_sink_new`, `kino__file_sink_open`, codec's
 * compressors), written to in order, and closed exactly once: with commit it takes effect, without
 * it leaves no trace. */
#ifndef KINO__BASE_SINK_H
#define KINO__BASE_SINK_H

#include <kino/base.h>

#include "base/str.h"

typedef struct kino__sink kino__sink;
struct kino__sink {
    kino_status (*write)(kino__sink *sink, kino_str bytes, kino_error *err);
    kino_status (*close)(kino__sink *sink, bool commit, kino_error *err); /* frees the sink */
};

static inline kino_status kino__sink_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    return sink->write(sink, bytes, err);
}

static inline kino_status kino__sink_close(kino__sink *sink, bool commit, kino_error *err)
{
    return sink ? sink->close(sink, commit, err) : KINO_OK;
}

/* Appends to a buffer of the caller's; the buffer stays his. */
KINO_NODISCARD kino_status kino__memory_sink_new(kino__buffer *buffer, kino__sink **out,
                                                 kino_error *err);

/* Writes to an open descriptor, which stays the caller's. `label` names it in messages. */
KINO_NODISCARD kino_status kino__fd_sink_new(int fd, const char *label, kino__sink **out,
                                             kino_error *err);

/* Writes beside `path` under a temporary name; commit syncs and renames over path, so that a reader
 * sees the old file or the new one. An existing device, pipe or "-" (standard output) is written
 * directly. */
KINO_NODISCARD kino_status kino__file_sink_open(const char *path, kino__sink **out,
                                                kino_error *err);

#endif
