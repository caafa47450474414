/* csv_out.h - fields of CSV (RFC 4180 with a plain line feed) into a buffer; for the renderer of
 * tables and the writer of events.
 *
 * A missing value is an empty field, an empty text is "". Commas and line ends are the caller's
 * business, who checks buffer->failed at the end. */
#ifndef KINO__BASE_CSV_OUT_H
#define KINO__BASE_CSV_OUT_H

#include "base/str.h"

/* Quoted where it must be: empty, with a comma, quote, line end or NUL, or a blank at either
 * end. */
void kino__csv_add_text(kino__buffer *out, kino_str text);

void kino__csv_add_int(kino__buffer *out, int64_t value);

/* So that it reads back as the same double; nothing for NaN and infinities. */
void kino__csv_add_double(kino__buffer *out, double value);

#endif
