/* args.c - reading the arguments of an event: the text itself, its members, strings and numbers.
 *
 * For columns (args_columns.c), queries and writers. The text is whatever the producer wrote;
 * nothing here assumes that it is valid JSON, nothing recurses, and every loop ends at the end of
 * the view. Broken parts are passed over:
 *
 *   {"a": , "b": NaN, c: 1, "d": "say "hi" to me", "e": [1, {"f": 2}], }
 *    a: no value, skipped
 *                      c: no key, skipped
 *                            d: ends at the quote that is followed by , } ] or the end */
#include "store/args.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_chars.h"
#include "base/utf8.h"

/* -- the text */

/* How far an object has been followed. */
typedef struct brace_scan {
    size_t at;
    uint64_t depth;
    bool in_string;
} brace_scan;

/* Goes on from scan->at; true when the closing brace of the object is found (at is behind it). */
static bool find_object_end(brace_scan *scan, kino_str text)
{
    while (scan->at < text.size) {
        char c = text.data[scan->at++];
        if (scan->in_string) {
            if (c == '\\' && scan->at == text.size) {
                scan->at--; /* its partner comes with the next, longer view */
                return false;
            }
            scan->at += c == '\\';
            scan->in_string = c != '"';
        } else if (c == '"') {
            scan->in_string = true;
        } else if (c == '{') {
            scan->depth++;
        } else if (c == '}' && --scan->depth == 0) {
            return true;
        }
    }
    return false;
}

/* A text too long for its place's length field: the view is doubled until its end is found. */
static kino_str long_text(uint64_t offset, kino__text_cursor *cursor)
{
    brace_scan scan = {0};
    for (uint64_t size = (uint64_t)KINO__PLACE_LONG * 2;; size *= 2) {
        kino_str text = kino__text_read(cursor, offset, size);
        if (text.size == 0 || text.data[0] != '{')
            return text;
        if (find_object_end(&scan, text))
            return (kino_str){text.data, scan.at};
        if (text.size < size || size > UINT64_MAX / 4)
            return text; /* never closed: the rest of the source */
    }
}

kino_str kino__args_text(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor)
{
    uint64_t place = kino__trace_place(trace, row);
    if (place == 0)
        return (kino_str){"", 0};
    if (cursor->text && cursor->text->args)
        return cursor->text->args(cursor->text, cursor->state, place);
    uint64_t size = place & KINO__PLACE_LONG;
    if (size == KINO__PLACE_LONG)
        return long_text(place >> 24, cursor);
    return kino__text_read(cursor, place >> 24, size);
}

uint64_t kino__args_shared_key(const kino__trace *trace, uint32_t row)
{
    /* the places of event_args.h: with the highest bit, all but the correlation is shared */
    uint64_t place = trace->text && trace->text->args ? kino__trace_place(trace, row) : 0;
    return place >> 63 ? place >> 32 : 0;
}

/* -- its members */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && kino__is_json_space(*at))
        at++;
    return at;
}

/* The quote that ends a string whose text starts at `at`, or NULL. */
static const char *find_quote(const char *start, const char *end)
{
    for (const char *at = start; at < end; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at)
            return NULL;
        const char *slash = at;
        while (slash > start && slash[-1] == '\\')
            slash--;
        if (((at - slash) & 1) == 0)
            return at;
    }
    return NULL;
}

/* The end of a string value, behind its quote. Kineto does not escape quotes inside values, so a
 * quote that nothing sensible follows is taken as text if one of the next few ends the value
 * better. */
static const char *find_string_end(const char *start, const char *end)
{
    enum { TRIES = 16 };
    const char *first = find_quote(start, end), *quote = first;
    if (!first)
        return end;
    for (int i = 0; i < TRIES && quote; i++) {
        const char *after = skip_blanks(quote + 1, end);
        if (after == end || *after == ',' || *after == '}' || *after == ']')
            return quote + 1;
        quote = find_quote(quote + 1, end);
    }
    return first + 1;
}

/* The end of an array or object, behind its bracket; brackets are counted, not matched by kind. */
static const char *find_nested_end(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        char c = *at++;
        if (c == '"') {
            const char *quote = find_quote(at, end);
            if (!quote)
                return end;
            at = quote + 1;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return at;
        }
    }
    return end;
}

/* The end of a value that starts at `at`; `at` itself when there is none. */
static const char *find_value_end(const char *at, const char *end)
{
    if (at == end)
        return at;
    if (*at == '"')
        return find_string_end(at + 1, end);
    if (*at == '[' || *at == '{')
        return find_nested_end(at, end);
    const char *stop = at;
    while (stop < end && *stop != ',' && *stop != '}' && *stop != ']' && *stop != '\n')
        stop++;
    while (stop > at && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
        stop--;
    return stop;
}

kino__args_iter kino__args_iter_start(kino_str object)
{
    if (object.size == 0)
        return (kino__args_iter){0};
    const char *end = object.data + object.size, *at = skip_blanks(object.data, end);
    if (at == end || *at != '{')
        return (kino__args_iter){end, end};
    return (kino__args_iter){at + 1, end};
}

bool kino__args_iter_next(kino__args_iter *it, kino_str *key, kino_str *value)
{
    const char *at = it->at, *end = it->end;
    while (at < end && *at != '}') {
        if (*at != '"') { /* commas, blanks, and whatever has no key */
            at++;
            continue;
        }
        const char *quote = find_quote(at + 1, end);
        if (!quote)
            break;
        *key = (kino_str){at + 1, (size_t)(quote - at - 1)};
        at = skip_blanks(quote + 1, end);
        if (at == end || *at != ':')
            continue;
        at = skip_blanks(at + 1, end);
        const char *stop = find_value_end(at, end);
        if (stop == at)
            continue; /* no value */
        *value = (kino_str){at, (size_t)(stop - at)};
        it->at = stop;
        return true;
    }
    it->at = end;
    return false;
}

kino_str kino__args_find(kino_str object, kino_str key)
{
    kino_str found = {"", 0}, at, value;
    kino__args_iter it = kino__args_iter_start(object);
    while (kino__args_iter_next(&it, &at, &value))
        if (kino__str_equal(at, key))
            found = value;
    return found;
}

/* -- strings */

/* Four hex digits, or -1. */
static int32_t read_hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void add_char(kino__buffer *out, char c)
{
    kino__buffer_add(out, (kino_str){&c, 1});
}

static void add_code_point(kino__buffer *out, uint32_t c)
{
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(lead[size] | c);
    kino__buffer_add(out, (kino_str){bytes, size});
}

/* Behind "\u"; returns what follows the escape, or NULL when it is none. */
static const char *add_unicode_escape(const char *at, const char *end, kino__buffer *out)
{
    int32_t unit = read_hex4(at, end);
    if (unit < 0)
        return NULL;
    at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        add_code_point(out, (uint32_t)unit);
        return at;
    }
    int32_t low = -1;
    if (unit < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u')
        low = read_hex4(at + 2, end);
    if (low < 0xdc00 || low > 0xdfff) {
        kino__buffer_add(out, KINO__STR(KINO__UTF8_REPLACEMENT));
        return at; /* what follows speaks for itself */
    }
    add_code_point(out, 0x10000u + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    return at + 6;
}

/* At a backslash; returns what follows the escape. A bad one is kept as it is. */
static const char *add_escape(const char *at, const char *end, kino__buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (at + 1 < end && at[1] == 'u') {
        const char *next = add_unicode_escape(at + 2, end, out);
        if (next)
            return next;
    } else if (at + 1 < end && at[1]) {
        const char *found = strchr(from, at[1]);
        if (found) {
            add_char(out, to[found - from]);
            return at + 2;
        }
    }
    add_char(out, '\\');
    return at + 1;
}

void kino__json_unescape(kino_str text, kino__buffer *out)
{
    if (text.size == 0)
        return;
    const char *at = text.data, *end = text.data + text.size;
    if (*at == '"') {
        at++;
        const char *slash = end - 1;
        while (slash > at && slash[-1] == '\\')
            slash--;
        if (at < end && end[-1] == '"' && ((end - 1 - slash) & 1) == 0)
            end--;
    }
    while (at < end) {
        const char *plain = at;
        while (at < end && *at != '\\' && (unsigned char)*at < 0x80)
            at++;
        kino__buffer_add(out, (kino_str){plain, (size_t)(at - plain)});
        if (at == end)
            break;
        if (*at == '\\') {
            at = add_escape(at, end, out);
            continue;
        }
        uint32_t code_point;
        size_t size = kino__utf8_sequence(at, end, &code_point);
        kino__buffer_add(out, size ? (kino_str){at, size} : KINO__STR(KINO__UTF8_REPLACEMENT));
        at += size ? size : 1; /* each byte that begins nothing is replaced */
    }
}

/* -- numbers */

static kino_str without_quotes(kino_str value)
{
    if (value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"')
        return (kino_str){value.data + 1, value.size - 2};
    return value;
}

bool kino__json_to_int(kino_str value, int64_t *out)
{
    return kino__str_to_int(without_quotes(value), out);
}

/* The parts of a decimal number: digits * 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool is_negative;
    bool is_exact; /* digits holds all of them */
} decimal;

/* Reads digits up to `end` and counts in `exponent` those that did not fit. */
static const char *read_digits(const char *at, const char *end, bool is_fraction, decimal *d)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (d->digits > (UINT64_MAX - 9) / 10) {
            d->is_exact = false;
            d->exponent += !is_fraction;
            continue;
        }
        d->digits = d->digits * 10 + (uint64_t)(*at - '0');
        d->exponent -= is_fraction;
    }
    return at;
}

static bool read_decimal(kino_str text, decimal *d)
{
    const char *at = text.data, *end = text.data + text.size;
    *d = (decimal){.is_exact = true};
    if (at < end && *at == '-') {
        d->is_negative = true;
        at++;
    }
    const char *first = at;
    at = read_digits(at, end, false, d);
    size_t digits = (size_t)(at - first);
    if (at < end && *at == '.') {
        first = ++at;
        at = read_digits(at, end, true, d);
        digits += (size_t)(at - first);
    }
    if (digits == 0)
        return false;
    if (at == end)
        return true;
    if (*at != 'e' && *at != 'E')
        return false;
    at++;
    bool is_down = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    int64_t exponent = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (exponent < 1000000)
            exponent = exponent * 10 + (*at - '0');
    d->exponent += is_down ? -exponent : exponent;
    return at == end;
}

/* The C library's conversion in the "C" locale, for numbers that are not simple. */
static bool convert(kino_str text, double *out)
{
    kino__buffer copy = {0};
    kino__buffer_add(&copy, text);
    kino__buffer_add(&copy, (kino_str){"", 1});
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool ok = !copy.failed && c_locale != (locale_t)0;
    if (ok)
        *out = strtod_l(copy.data, NULL, c_locale);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
    kino__buffer_deinit(&copy);
    return ok && isfinite(*out);
}

bool kino__json_to_double(kino_str value, double *out)
{
    /* Powers that a double holds exactly: one rounding in all, so the result is the nearest double.
     */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    kino_str text = without_quotes(value);
    *out = 0;
    if (text.size == 0 || !read_decimal(text, &d))
        return false;
    if (!d.is_exact || d.digits > (uint64_t)1 << 53 || d.exponent < -22 || d.exponent > 22)
        return convert(text, out);
    double digits = (double)d.digits;
    *out = d.exponent < 0 ? digits / powers[-d.exponent] : digits * powers[d.exponent];
    if (d.is_negative)
        *out = -*out;
    return true;
}

bool kino__json_object_at(kino_str text, size_t index, kino_str *object)
{
    size_t start = 0;
    int depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (is_string) {
            i += c == '\\';
            is_string = c != '"';
            continue;
        }
        is_string = c == '"';
        if (c == '{' && depth++ == 0)
            start = i;
        if (c == '}' && depth > 0 && --depth == 0 && index-- == 0) {
            *object = (kino_str){text.data + start, i + 1 - start};
            return true;
        }
    }
    return false;
}

int64_t kino__args_int(kino_str object, const char *key)
{
    int64_t value;
    kino_str text = kino__args_find(object, kino__str_from(key));
    return text.size && kino__json_to_int(text, &value) ? value : KINO_NO_INT;
}
