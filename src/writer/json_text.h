/* json_text.h - JSON text that came from somewhere: is it valid, and if not, make it so; for the
 * JSON writers.
 *
 * "Strict" is what every JSON parser takes: RFC 8259 in UTF-8, nested at most KINO__JSON_TEXT_DEPTH
 * deep (parsers recurse) and without integers of thousands of digits (Python refuses them). */
#ifndef KINO__WRITER_JSON_TEXT_H
#define KINO__WRITER_JSON_TEXT_H

#include "base/str.h"

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

enum { KINO__JSON_TEXT_DEPTH = 512, KINO__JSON_TEXT_DIGITS = 1000 };

/* Is the whole text one strict JSON value, white space around it allowed? About 1 GB/s a core; no
 * memory. */
bool kino__json_is_strict(kino_str text);

/* Appends one strict JSON value: the text itself when it is one, else what it probably meant:
 *
 *   bad escapes             the backslash is escaped         "C:\data"    "C:\\data"
 *   control characters      \u00XX                           invalid UTF-8   U+FFFD
 *   bare words              quoted                           N/A, NaN     "N/A", "NaN"
 *   missing values          null                             {"a": , }    {"a":null}
 *   commas                  extra ones dropped, missing ones put in
 *   brackets and quotes     closed at the end; a closing bracket that fits nothing open is dropped
 *   nesting too deep        the deep part as a string
 *
 * Text behind a complete value is dropped. Empty text is null. Cost is linear; out->failed tells of
 * memory. */
void kino__json_sanitize(kino_str text, kino__buffer *out);

/* A JSON string's inside as written in a file, with quotes put around it, escapes kept where they
 * are valid. */
void kino__json_sanitize_string(kino_str inside, kino__buffer *out);

/* The first byte in [at, end) that cannot stand for itself in a JSON string without a closer look:
 * quote, backslash, control character, or the start of a multi-byte sequence; end when there is
 * none. */
static inline const char *kino__json_plain_end(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
        __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
        __m128i low =
            _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)); /* signed: 0x80 and up are below as well */
        int mask = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), low));
        if (mask)
            return at + __builtin_ctz((unsigned)mask);
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)(*at - 0x20) < 0x60)
        at++;
    return at;
}

#endif
