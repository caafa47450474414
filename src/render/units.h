/* units.h - values as people read them: 12.34 ms, 1.5 GiB, 1,234,567, text without surprises. */
#ifndef KINO__RENDER_UNITS_H
#define KINO__RENDER_UNITS_H

#include "base/str.h"
#include "store/table.h"

/* Four significant digits and the unit that suits: "950 ns", "12.34 µs", "1.5 ms", "59.12 s", "2
 * min 05 s". */
void kino__format_duration(kino__buffer *out, int64_t ns);
/* Powers of 1024: "1000 B", "1.234 KiB", "80 GiB". */
void kino__format_bytes(kino__buffer *out, int64_t bytes);
/* Thousands apart: "1,234,567". */
void kino__format_count(kino__buffer *out, int64_t value);

/* Text that cannot move the cursor, ring the bell or break the line: control characters as \n, \t
 * or \x1b, bytes that are not UTF-8 as U+FFFD. */
void kino__format_text(kino__buffer *out, kino_str text);

/* How many terminal columns valid UTF-8 text takes; about right for East Asian wide and combining
 * letters. */
size_t kino__text_width(kino_str text);

/* Appends the text in at most `width` columns, with "…" in place of what does not fit: more of the
 * front is kept than of the end. */
void kino__format_shortened(kino__buffer *out, kino_str text, size_t width);

/* One cell. exact: integers and doubles digit by digit, as a query's answer needs them. Null is
 * "-", or "NULL" when exact. */
void kino__format_cell(kino__buffer *out, const kino_column *column, const kino_cell *cell,
                       bool exact);

/* Do cells of this column stand to the right? ANY: decided by the cell. */
bool kino__is_number(const kino_column *column, const kino_cell *cell);

/* Has the column one value in all rows (there must be one)? */
bool kino__column_is_constant(const kino__table *table, size_t column);
/* Neither hidden nor optional and empty. */
bool kino__column_is_for_people(const kino__table *table, size_t column);

/* The unit name for "1,234" counts, in kino_column.unit. */
#define KINO__UNIT_COUNT "count"

#endif
