/* ordered.h - output made in blocks by several threads and written in order.
 *
 *   round n      write 0 1 2 3 of round n-1 | make 0 | make 1 | make 2 | make 3
 *
 * Workers fill the blocks of a round into buffers of their own while one of them hands the buffers
 * of the round before to the sink. Memory: two rounds of blocks, whatever the size of the trace. */
#ifndef KINO__WRITER_ORDERED_H
#define KINO__WRITER_ORDERED_H

#include "base/str.h"
#include "writer/writer.h"

typedef struct kino__ordered {
    size_t block_count;
    /* Fills `out` (empty at the start) with block `index`; `worker` is in [0, jobs of the pool). */
    void (*make)(void *context, unsigned worker, size_t index, kino__buffer *out);
    void *context;
    /* Bytes to leave off at the end of the last block that has any: a comma. */
    size_t drop_last;
} kino__ordered;

/* Progress is made's business; cancellation is looked at between rounds. */
KINO_NODISCARD kino_status kino__ordered_write(const kino__ordered *blocks, kino__sink *sink,
                                               const kino__write_context *context, kino_error *err);

#endif
