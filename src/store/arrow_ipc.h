/* arrow_ipc.h - Arrow data as bytes: the IPC stream and file formats (docs/formats/arrow.md). */
#ifndef KINO__STORE_ARROW_IPC_H
#define KINO__STORE_ARROW_IPC_H

#include <kino/arrow.h>

#include "base/sink.h"

/* Writes all batches of a stream that this program has made: structs of numbers, bools, times and
 * utf8, with or without dictionaries. Dictionaries of the batches become one for each column. Takes
 * the stream, also when it fails; the sink stays the caller's. */
KINO_NODISCARD kino_status kino__arrow_ipc_write(struct ArrowArrayStream *stream, bool is_file,
                                                 kino__sink *sink, kino_error *err);

#endif
