/* flat.h - tables of FlatBuffers, written from the front: what messages of Arrow are made of.
 *
 * A table is a vtable (places of the fields) and its fields, each in eight bytes of its own. What a
 * field refers to is written behind the table and linked then:
 *
 *   size_t field = kino__flat_table(out, 3);
 *   kino__flat_int(out, field, 0, 16, 4);
 *   kino__flat_link(out, field, 1);                 the next thing that is written
 *   kino__flat_text(out, "name");
 *
 * Places are bytes of the buffer, whose failure sticks. */
#ifndef KINO__STORE_FLAT_H
#define KINO__STORE_FLAT_H

#include "base/str.h"

/* Begins a message: what is written next is its root. */
void kino__flat_start(kino__buffer *out);
/* A table with so many fields, all absent. */
size_t kino__flat_table(kino__buffer *out, unsigned fields);
/* A number of `size` bytes. */
void kino__flat_int(kino__buffer *out, size_t table, unsigned field, int64_t value, unsigned size);
/* The field refers to what is written next, which is a table, text or list. */
void kino__flat_link(kino__buffer *out, size_t table, unsigned field);
void kino__flat_text(kino__buffer *out, kino_str text);
/* A list of `count` items of a multiple of eight bytes, which the caller adds, and its end. */
void kino__flat_list(kino__buffer *out, size_t count);
void kino__flat_list_end(kino__buffer *out);
/* A list of `count` references; each item is linked and then written. */
size_t kino__flat_links(kino__buffer *out, size_t count);
void kino__flat_link_item(kino__buffer *out, size_t links, size_t item);
void kino__flat_add_int64(kino__buffer *out, int64_t value);

#endif
