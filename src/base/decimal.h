/* decimal.h - decimal text to and from integers, exactly: trace times never pass through a double.
 *
 * A trace file gives times as decimal microseconds ("1234.567", 1.6e15); inside they are int64 ns.
 * All functions here are pure; any thread. */
#ifndef KINO__BASE_DECIMAL_H
#define KINO__BASE_DECIMAL_H

#include <kino/base.h>

/* Decimal microseconds to ns: the text of a JSON number, or of a string that holds one (leading
 * zeros are fine; white space, a plus sign, "nan" are not). Digits below one ns are rounded, half
 * to even, and then *is_exact is false. Returns false, with *ns = KINO_NO_TIME, for junk and for
 * what does not fit. Any length of text; cost is linear in it. is_exact may be NULL. */
bool kino__decimal_to_ns(kino_str text, int64_t *ns, bool *is_exact);

/* Room that every number written below fits in. */
enum { KINO__DECIMAL_MAX = 24 };

/* Writes a decimal integer; returns its length (at most KINO__DECIMAL_MAX, no terminator). */
size_t kino__format_int(int64_t value, char *out);

/* The same for unsigned numbers. */
size_t kino__format_uint(uint64_t value, char *out);

/* Writes ns as microseconds with three decimals, as Kineto does: 1234567 is "1234.567", -1 is
 * "-0.001". */
size_t kino__format_us(int64_t ns, char *out);

#endif
