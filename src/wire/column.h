/* column.h - a column of integers as bytes: coded so that a general compressor does well on it.
 *
 *   values -> without the missing ones -> differences, table numbers or plain -> bytes in planes
 *
 * Planes: all lowest bytes, then all second bytes, ... as many as nearly all values need; the few
 * that need more are exceptions, in a list. Numbers of a trace are mostly small or rise slowly, so
 * the upper planes are nearly constant. docs/formats/kino.md has the bytes. */
#ifndef KINO__WIRE_COLUMN_H
#define KINO__WIRE_COLUMN_H

#include "base/str.h"

typedef enum kino__column_method {
    KINO__METHOD_PLAIN = 0, /* value - base */
    KINO__METHOD_DELTA = 1, /* difference to the value before, zigzag */
    KINO__METHOD_TABLE = 2, /* number in a table of the distinct values */
    KINO__METHOD_COUNT,
} kino__column_method;

/* Room for coding: kept from column to column. */
typedef struct kino__column_scratch {
    uint64_t *stored;
    uint64_t *table;
    uint32_t *slots;
    size_t capacity; /* values */
} kino__column_scratch;
void kino__column_scratch_deinit(kino__column_scratch *scratch);

typedef struct kino__column_values {
    const int64_t *items;
    size_t count;
    bool has_missing;
    int64_t missing; /* this value means "none" */
} kino__column_values;

/* Appends the column, coded by this method; false when the method does not suit (too many distinct
 * values for a table) or memory is out (then out->failed). */
bool kino__column_encode(const kino__column_values *values, kino__column_method method,
                         kino__column_scratch *scratch, kino__buffer *out);

/* Decodes `count` values into an array of `width` = 1, 2, 4 or 8 bytes each. False when the bytes
 * are not a column of so many values that fit. */
bool kino__column_decode(kino_str bytes, size_t count, int64_t missing, void *out, unsigned width);

#endif
