/* flat.c - see the header. */
#include "store/flat.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

enum { SLOT = 8, VTABLE_HEAD = 4, FIRST_FIELD = 4 };

static void add_zeros(kino__buffer *out, size_t count)
{
    char *to = kino__buffer_reserve(out, count + 1);
    if (!to)
        return;
    memset(to, 0, count);
    out->size += count;
}

/* The end of the buffer is so many bytes beyond a multiple of 8. */
static void align(kino__buffer *out, size_t beyond)
{
    add_zeros(out, (beyond + 8 - out->size % 8) % 8);
}

static void put(kino__buffer *out, size_t at, const void *value, size_t size)
{
    if (!out->failed)
        memcpy(out->data + at, value, size);
}

static void add_u32(kino__buffer *out, size_t value)
{
    uint32_t number = (uint32_t)value;
    kino__buffer_add(out, (kino_str){(const char *)&number, sizeof number});
}

void kino__flat_add_int64(kino__buffer *out, int64_t value)
{
    kino__buffer_add(out, (kino_str){(const char *)&value, sizeof value});
}

/* Everything that is referred to begins 4 bytes beyond a multiple of 8: behind the first number of
 * a table or list, fields and items are in their places. */
static void refer(kino__buffer *out, size_t from, size_t to)
{
    uint32_t distance = (uint32_t)(to - from);
    put(out, from, &distance, sizeof distance);
}

void kino__flat_start(kino__buffer *out)
{
    add_u32(out, 4);
}

size_t kino__flat_table(kino__buffer *out, unsigned fields)
{
    uint16_t head[2] = {(uint16_t)(VTABLE_HEAD + 2 * fields),
                        (uint16_t)(FIRST_FIELD + SLOT * fields)};
    size_t table = out->size;
    int32_t distance;
    add_zeros(out, FIRST_FIELD + (size_t)SLOT * fields);
    distance = (int32_t)((int64_t)table - (int64_t)out->size); /* the vtable follows */
    put(out, table, &distance, sizeof distance);
    size_t vtable = out->size;
    add_zeros(out, head[0]);
    put(out, vtable, head, sizeof head);
    align(out, 4);
    return table;
}

/* The field is there, at its place. */
static size_t slot_of(kino__buffer *out, size_t table, unsigned field)
{
    size_t place = FIRST_FIELD + (size_t)SLOT * field;
    uint16_t offset = (uint16_t)place;
    int32_t distance = 0;
    if (!out->failed)
        memcpy(&distance, out->data + table, sizeof distance);
    put(out, (size_t)((int64_t)table - distance) + VTABLE_HEAD + 2 * (size_t)field, &offset,
        sizeof offset);
    return table + place;
}

void kino__flat_int(kino__buffer *out, size_t table, unsigned field, int64_t value, unsigned size)
{
    put(out, slot_of(out, table, field), &value, size);
}

void kino__flat_link(kino__buffer *out, size_t table, unsigned field)
{
    refer(out, slot_of(out, table, field), out->size);
}

void kino__flat_text(kino__buffer *out, kino_str text)
{
    add_u32(out, text.size);
    kino__buffer_add(out, text);
    add_zeros(out, 1);
    align(out, 4);
}

void kino__flat_list(kino__buffer *out, size_t count)
{
    add_u32(out, count);
}

void kino__flat_list_end(kino__buffer *out)
{
    align(out, 4);
}

size_t kino__flat_links(kino__buffer *out, size_t count)
{
    add_u32(out, count);
    size_t links = out->size;
    add_zeros(out, 4 * count);
    align(out, 4);
    return links;
}

void kino__flat_link_item(kino__buffer *out, size_t links, size_t item)
{
    refer(out, links + 4 * item, out->size);
}
