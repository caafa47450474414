/* ring_cursor.h - going through the arguments of a record, for those who write them. */
#ifndef KINO__WIRE_RING_CURSOR_H
#define KINO__WIRE_RING_CURSOR_H

#include "base/json_out.h"
#include "wire/ring.h"

typedef struct kino__ring_cursor {
    const kino__ring_image *image;
    const kino__ring_piece *piece;
    uint64_t reference, position;
    uint32_t next; /* after the record, as long as arguments stand there */
    size_t late;
} kino__ring_cursor;

kino__ring_cursor kino__ring_args_of(const kino__ring_image *image, uint64_t position);
/* The next argument with all its payload, or NULL. */
const kino_impl_v1_record *kino__ring_next_arg(kino__ring_cursor *c);
/* At most `size` bytes after the record. */
kino_str kino__ring_payload(const kino_impl_v1_record *record, uint64_t size);

/* The inputs of an operator, as the four lists "Input Dims" to "Concrete Inputs". */
void kino__ring_add_inputs(const kino__ring_image *image, uint64_t position, kino__json *json);

#endif
