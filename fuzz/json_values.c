/* json_values.c - any bytes as a JSON value: strings, members, numbers, the strict checker.
 * Nothing reads outside the bytes, and the functions agree with each other where they say the same
 * thing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/utf8.h"
#include "reader/chrome_internal.h"
#include "store/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static bool is_utf8(kino_str text)
{
    for (size_t at = 0; at < text.size;) {
        const char *p = text.data + at, *end = text.data + text.size;
        uint32_t code_point;
        size_t n = (unsigned char)*p < 0x80 ? 1 : kino__utf8_sequence(p, end, &code_point);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

/* What was unescaped is UTF-8, and never longer than what was written (one bad byte becomes
 * three). */
static void check_string(kino_str text)
{
    kino__buffer out = {0};
    kino__json_unescape(text, &out);
    require(!out.failed && out.size <= 3 * text.size);
    require(is_utf8(kino__buffer_str(&out)));
    bool has_escape = text.size && memchr(text.data, '\\', text.size);
    bool is_quoted = text.size && text.data[0] == '"';
    if (!has_escape && !is_quoted && is_utf8(text))
        require(kino__str_equal(kino__buffer_str(&out), text));
    kino__buffer_deinit(&out);
    uint8_t damages = kino__chrome_check_string(text.data, text.size);
    require((damages & 4) == 0 || !is_utf8(text));
    require(damages < 8);
}

static void check_members(kino_str text)
{
    kino_str key, value, before = {text.data, 0};
    kino__args_iter it = kino__args_iter_start(text);
    size_t count = 0;
    while (kino__args_iter_next(&it, &key, &value)) {
        require(key.data > before.data && key.data + key.size <= text.data + text.size);
        require(value.size > 0 && value.data > key.data &&
                value.data + value.size <= text.data + text.size);
        before = value;
        require(++count <= text.size);
        kino_str found = kino__args_find(text, key);
        require(found.size > 0 && found.data >= value.data);
        if (count > 50)
            break;
    }
}

static void check_numbers(kino_str text)
{
    int64_t integer = 0, ns = 0;
    double real = 0;
    bool is_exact = false;
    bool is_int = kino__json_to_int(text, &integer), is_real = kino__json_to_double(text, &real);
    require(!is_real || isfinite(real));
    require(!is_int || (is_real && real == (double)integer)); /* integers are numbers */
    bool is_time = kino__decimal_to_ns(text, &ns, &is_exact);
    require(is_time == (ns != KINO_NO_TIME));
    if (is_time && is_int && is_exact && integer > -4000000000000000 && integer < 4000000000000000)
        require(ns == integer * 1000);
    if (is_time)
        require(is_real);
}

static void check_value(kino_str text)
{
    kino__ledger ledger = {0};
    bool is_sound = kino__chrome_check_value(text, 1000, &ledger);
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
        for (uint64_t i = 0; i < ledger.count[d] && i < KINO__LEDGER_PLACES; i++)
            require(ledger.first[d][i] >= 1000 && ledger.first[d][i] < 1000 + text.size);
    const char *end = text.size ? kino__chrome_skip_value(text.data, text.data + text.size) : NULL;
    require(!end || (end > text.data && end <= text.data + text.size));
    bool is_nested =
        text.size && (text.data[0] == '{' || text.data[0] == '[' || text.data[0] == '"');
    if (is_sound && is_nested && kino__ledger_repaired(&ledger) == 0 &&
        text.data[text.size - 1] != ' ')
        require(end != NULL); /* what is strict JSON has an end */
    if (text.size && kino__chrome_is_literal(text.data, text.size)) {
        double real;
        bool is_word = (text.data[0] | 0x20) >= 'a';
        require(is_word || kino__json_to_double(text, &real) || text.size > 300 ||
                memchr(text.data, 'e', text.size) ||
                memchr(text.data, 'E', text.size)); /* only an exponent can make it too large */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* a block of the exact size and, behind it, the zeros that texts of the reader have */
    char *text = calloc(1, size + KINO__CHROME_PAD);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    kino_str all = {text, size};
    check_string(all);
    check_members(all);
    check_numbers(all);
    check_value(all);
    free(text);
    return 0;
}
