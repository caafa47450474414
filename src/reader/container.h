/* container.h - files inside of files: what is around a trace is taken off before a reader is
 * chosen.
 *
 * gzip and zstd around a trace stay: readers take them off themselves, as a stream. zip, xz and zlib
 * are taken off here, and so is whatever is around another container, up to four levels. */
#ifndef KINO__READER_CONTAINER_H
#define KINO__READER_CONTAINER_H

#include "reader/reader.h"

/* Replaces the file by what is in it, if it is a container that readers do not know; what it expands
 * to is bounded (kino__load_most of the outermost file) and kept in a temporary file. *is_damaged: it
 * ends early, or is not what was packed. */
KINO_NODISCARD kino_status kino__container_open(const char *path, kino__file *file,
                                                const kino__load_context *context, bool *is_damaged,
                                                kino_error *err);

#endif
