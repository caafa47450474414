/* decimal.c - exact decimal times.
 *
 * Reading: the significant digits d1 d2 d3 ... of the text and the place of its point give
 *
 *   value in ns = 0.d1d2d3... * 10^point        point = integer digits + exponent + 3
 *
 * so the first `point` digits are the integer and the rest decides the rounding. Nothing is ever
 * wider than the result, however many digits the text has. Writing: two digits at a time from a
 * table. */
#include "base/decimal.h"

#include <string.h>

enum { MAX_DIGITS = 19 }; /* of an int64 */
#define POINT_LIMIT (INT64_C(1) << 60)

/* The grammar's parts: first and last digit, where the point is, the exponent. */
typedef struct number_text {
    const char *digits, *digits_end; /* with the point among them */
    int64_t exponent;
    bool is_negative;
} number_text;

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

/* Saturates: an exponent of a hundred digits is out of range all the same. */
static const char *parse_exponent(const char *p, const char *end, int64_t *out)
{
    bool is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return NULL;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        value = value < POINT_LIMIT / 16 ? value * 10 + (*p - '0') : POINT_LIMIT;
    *out = is_negative ? -value : value;
    return p;
}

static bool split(kino_str text, number_text *out)
{
    *out = (number_text){0};
    const char *p = text.data, *end = text.data + text.size;
    if (p < end && *p == '-') {
        out->is_negative = true;
        p++;
    }
    out->digits = p;
    const char *q = skip_digits(p, end);
    if (q == p)
        return false;
    if (q < end && *q == '.') {
        const char *fraction = q + 1;
        q = skip_digits(fraction, end);
        if (q == fraction)
            return false;
    }
    out->digits_end = q;
    if (q < end && (*q == 'e' || *q == 'E')) {
        q = parse_exponent(q + 1, end, &out->exponent);
        if (!q)
            return false;
    }
    return q == end;
}

/* What follows the kept digits: below, at or above one half of the last place. */
typedef struct rest {
    int first;     /* first digit cut, -1 when none was */
    bool has_more; /* a digit behind it that is not zero */
} rest;

static bool finish(uint64_t value, rest cut, bool is_negative, int64_t *ns, bool *is_exact)
{
    bool is_cut = cut.first > 0 || cut.has_more;
    if (cut.first > 5 || (cut.first == 5 && (cut.has_more || (value & 1))))
        value++;
    if (value > INT64_MAX)
        return false;
    *ns = is_negative ? -(int64_t)value : (int64_t)value;
    if (is_exact)
        *is_exact = !is_cut;
    return true;
}

bool kino__decimal_to_ns(kino_str text, int64_t *ns, bool *is_exact)
{
    *ns = KINO_NO_TIME;
    if (is_exact)
        *is_exact = false;
    number_text number;
    if (!split(text, &number))
        return false;
    uint64_t value = 0;
    rest cut = {-1, false};
    int64_t point = 3 + number.exponent;
    int64_t taken = 0; /* significant digits seen */
    /* First find the point: it moves right with each integer digit and left with each leading zero
     * behind it. */
    for (const char *p = number.digits; p < number.digits_end && *p != '.'; p++)
        if (taken || *p != '0') {
            taken++;
            point++;
        }
    if (!taken) {
        const char *p = memchr(number.digits, '.', (size_t)(number.digits_end - number.digits));
        for (p = p ? p + 1 : number.digits_end; p < number.digits_end && *p == '0'; p++)
            point--;
        if (p == number.digits_end)
            return finish(0, cut, false, ns, is_exact);
    }
    if (point > MAX_DIGITS)
        return false;
    int64_t index = 0;
    for (const char *p = number.digits; p < number.digits_end; p++) {
        if (*p == '.' || (index == 0 && *p == '0'))
            continue;
        int digit = *p - '0';
        if (index < point)
            value = value * 10 + (uint64_t)digit; /* at most 19 digits: fits in 64 bits */
        else if (index == (point > 0 ? point : 0) && point >= 0)
            cut.first = digit;
        else
            cut.has_more |= digit != 0;
        index++;
    }
    for (; index < point; index++)
        value *= 10;
    return finish(value, cut, number.is_negative, ns, is_exact);
}

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

size_t kino__format_uint(uint64_t value, char *out)
{
    char text[20];
    size_t at = sizeof text;
    while (value >= 100) {
        at -= 2;
        memcpy(text + at, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(text + at, pairs + 2 * value, 2);
    } else {
        text[--at] = (char)('0' + value);
    }
    memcpy(out, text + at, sizeof text - at);
    return sizeof text - at;
}

size_t kino__format_int(int64_t value, char *out)
{
    if (value >= 0)
        return kino__format_uint((uint64_t)value, out);
    *out = '-';
    return 1 + kino__format_uint(0 - (uint64_t)value, out + 1);
}

size_t kino__format_us(int64_t ns, char *out)
{
    size_t size = 0;
    uint64_t magnitude = (uint64_t)ns;
    if (ns < 0) {
        out[size++] = '-';
        magnitude = 0 - magnitude;
    }
    size += kino__format_uint(magnitude / 1000, out + size);
    unsigned rest_ns = (unsigned)(magnitude % 1000);
    out[size] = '.';
    out[size + 1] = (char)('0' + rest_ns / 100);
    memcpy(out + size + 2, pairs + (size_t)2 * (rest_ns % 100), 2);
    return size + 4;
}
