/* json_out.h - writing JSON into a buffer, valid whatever the values are.
 *
 *   kino__json json = {.out = &buffer};
 *   kino__json_begin_object(&json);
 *   kino__json_key(&json, "rank");
 *   kino__json_int(&json, 3);
 *   kino__json_end_object(&json);                  {"rank":3}
 *
 * Commas are the writer's business. The caller may empty the buffer at any time (to stream) and
 * checks buffer->failed at the end. Bytes that are not UTF-8 become U+FFFD, one each; control
 * characters are escaped; numbers that JSON cannot say become null. */
#ifndef KINO__BASE_JSON_OUT_H
#define KINO__BASE_JSON_OUT_H

#include "base/str.h"

enum { KINO__JSON_DEPTH = 63 }; /* of nested containers a writer can have open */

typedef struct kino__json {
    kino__buffer *out;
    uint64_t filled; /* bit d: the container at depth d has a member already */
    unsigned depth;
    bool after_key;
    int indent; /* of the line that the next value begins, plus one; 0: it stays on this line */
} kino__json;

void kino__json_begin_object(kino__json *json);
void kino__json_end_object(kino__json *json);
void kino__json_begin_array(kino__json *json);
void kino__json_end_array(kino__json *json);

void kino__json_key(kino__json *json, const char *key);
void kino__json_key_text(kino__json *json, kino_str key);
void kino__json_string(kino__json *json, kino_str text);
void kino__json_text(kino__json *json, const char *text); /* NULL: null */
void kino__json_int(kino__json *json, int64_t value);
void kino__json_uint(kino__json *json, uint64_t value);
void kino__json_double(kino__json *json, double value); /* NaN and infinities: null */
void kino__json_bool(kino__json *json, bool value);
void kino__json_null(kino__json *json);
/* Text that is JSON already; what is not (kino__json_is_valid) becomes a string with that text. */
void kino__json_raw(kino__json *json, kino_str text);

/* The next value (or key) begins a new line, indented by so many blanks: for people, it changes
 * nothing. */
void kino__json_newline(kino__json *json, unsigned indent);

/* One quoted string, for those who write the rest themselves. */
void kino__json_add_string(kino__buffer *out, kino_str text);

/* The shortest of %.15g, %.16g and %.17g that reads back as the same double, always with a point or
 * an exponent; needs a finite value and 32 bytes. Returns the length; terminated. Does not depend
 * on the locale. */
size_t kino__double_to_text(double value, char text[32]);

/* Is the whole text one JSON value (RFC 8259) in UTF-8, nested at most 256 deep? */
bool kino__json_is_valid(kino_str text);

#endif
