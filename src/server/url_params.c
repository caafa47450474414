/* url_params.c - taking the address of a request apart. One pass, one block of memory, every length
 * bounded by that of the input. */
#include "server/url_params.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_chars.h"
#include "base/utf8.h"

/* -- text -- */

/* Resolves escapes and '+' into `out`; false when an escape is not whole. */
static bool unescape(kino_str text, char *out, size_t *size)
{
    size_t n = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int high = i + 2 < text.size ? kino__hex_value(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? kino__hex_value(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[n++] = c;
    }
    *size = n;
    return true;
}

static bool is_plain_text(const char *text, size_t size)
{
    const char *end = text + size;
    uint32_t code_point;
    while (text < end) {
        size_t length = kino__utf8_sequence(text, end, &code_point);
        if (length == 0 || code_point == 0)
            return false;
        text += length;
    }
    return true;
}

/* A name that can be repeated in a message. */
static bool is_name(kino_str text)
{
    if (text.size == 0 || text.size > KINO__PARAM_NAME_MOST)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-')
            return false;
    }
    return true;
}

/* Adds "name=value"; `room` has space for all that is left, and moves behind what was written. */
static kino_status add_param(kino__params *params, kino_str piece, char **room, kino_error *err)
{
    const char *sign = memchr(piece.data, '=', piece.size);
    kino_str name = {piece.data, sign ? (size_t)(sign - piece.data) : piece.size};
    kino_str value = {sign ? sign + 1 : "", sign ? piece.size - name.size - 1 : 0};
    size_t size;
    if (!is_name(name))
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid parameter name (expected: letters, digits, '_' and '-')");
    char *text = *room;
    memcpy(text, name.data, name.size);
    text[name.size] = 0;
    if (kino__params_has(params, text))
        return kino__fail(err, KINO_ARGUMENT, "parameter '%s' is given twice", text);
    if (params->count == KINO__PARAMS_MOST)
        return kino__fail(err, KINO_ARGUMENT, "more than %d parameters", KINO__PARAMS_MOST);
    char *decoded = text + name.size + 1;
    if (!unescape(value, decoded, &size))
        return kino__fail(err, KINO_ARGUMENT, "parameter '%s': invalid %% escape", text);
    if (!is_plain_text(decoded, size))
        return kino__fail(err, KINO_ARGUMENT, "parameter '%s' is not valid UTF-8", text);
    decoded[size] = 0;
    *room = decoded + size + 1;
    params->items[params->count++] = (kino__request_param){text, decoded};
    return KINO_OK;
}

kino_status kino__params_parse(kino_str query, kino__params *out, kino_error *err)
{
    *out = (kino__params){0};
    kino__error_clear(err);
    if (query.size == 0)
        return KINO_OK;
    /* What is decoded is no longer than the input, and each '&' or end gives room for two
     * terminators where there was one '=': hence the second summand. */
    out->texts = malloc(query.size * 2 + 2);
    if (!out->texts)
        return kino__fail_nomem(err);
    char *room = out->texts;
    const char *at = query.data, *end = at + query.size;
    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        kino_str piece = {at, (size_t)((stop ? stop : end) - at)};
        if (piece.size)
            KINO_TRY(add_param(out, piece, &room, err));
        at += piece.size + 1;
    }
    return KINO_OK;
}

void kino__params_deinit(kino__params *params)
{
    free(params->texts);
    *params = (kino__params){0};
}

/* -- values -- */

const char *kino__params_text(const kino__params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->items[i].name, name) == 0)
            return params->items[i].value;
    return NULL;
}

bool kino__params_has(const kino__params *params, const char *name)
{
    return kino__params_text(params, name) != NULL;
}

kino_status kino__params_int(const kino__params *params, const char *name, int64_t least,
                             int64_t most, int64_t *out, kino_error *err)
{
    const char *text = kino__params_text(params, name);
    int64_t value;
    if (!text)
        return KINO_OK;
    if (kino__str_to_int(kino__str_from(text), &value) && value >= least && value <= most) {
        *out = value;
        return KINO_OK;
    }
    if (least == INT64_MIN + 1 && most == INT64_MAX)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%.60s' for parameter '%s' (expected: an integer)", text,
                          name);
    return kino__fail(err, KINO_ARGUMENT,
                      "invalid value '%.60s' for parameter '%s' (expected: %" PRId64 " to %" PRId64
                      ")",
                      text, name, least, most);
}

/* "2.5" as 2500; false when it is anything else. */
static bool to_milliseconds(const char *text, uint64_t *out)
{
    size_t whole = strspn(text, "0123456789");
    const char *rest = text + whole;
    size_t decimals = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
    uint64_t value = 0;
    if (whole == 0 || whole > 6 || decimals > 3 || (*rest == '.' && decimals == 0) ||
        rest[*rest == '.' ? decimals + 1 : 0] != 0)
        return false;
    for (size_t i = 0; i < whole; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < 3; i++)
        value = value * 10 + (i < decimals ? (uint64_t)(rest[1 + i] - '0') : 0);
    *out = value;
    return true;
}

kino_status kino__params_seconds(const kino__params *params, const char *name,
                                 unsigned most_seconds, unsigned *out_ms, kino_error *err)
{
    const char *text = kino__params_text(params, name);
    uint64_t value;
    if (!text)
        return KINO_OK;
    if (!to_milliseconds(text, &value) || value > (uint64_t)most_seconds * 1000)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%.60s' for parameter '%s' (expected: 0 to %u seconds)",
                          text, name, most_seconds);
    *out_ms = (unsigned)value;
    return KINO_OK;
}

/* The number at *at, which moves behind it; false when there is none or it does not fit. */
static bool take_number(const char **at, uint32_t *out)
{
    uint64_t value = 0;
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 10)
        return false;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint64_t)((*at)[i] - '0');
    *at += digits;
    *out = (uint32_t)value;
    return value < UINT32_MAX;
}

/* One number or range into the list; 0: fine, 1: not a list, 2: too many, 3: no memory. */
static int take_range(const char **at, kino__numbers *out)
{
    uint32_t first, last;
    if (!take_number(at, &first))
        return 1;
    last = first;
    if (**at == '-') {
        ++*at;
        if (!take_number(at, &last) || last < first)
            return 1;
    }
    size_t count = (size_t)(last - first) + 1;
    if (count > KINO__NUMBERS_MOST || out->items.count + count > KINO__NUMBERS_MOST)
        return 2;
    if (!kino__vec_reserve(&out->items, count))
        return 3;
    for (size_t i = 0; i < count; i++)
        out->items.items[out->items.count++] = first + (uint32_t)i;
    return 0;
}

kino_status kino__params_numbers(const kino__params *params, const char *name, kino__numbers *out,
                                 kino_error *err)
{
    const char *text = kino__params_text(params, name), *at = text;
    *out = (kino__numbers){0};
    if (!text)
        return KINO_OK;
    for (;;) {
        int problem = take_range(&at, out);
        if (problem == 0 && *at != ',' && *at)
            problem = 1;
        if (problem == 3)
            return kino__fail_nomem(err);
        if (problem == 2)
            return kino__fail(err, KINO_ARGUMENT, "too many numbers for parameter '%s' (limit: %d)",
                              name, KINO__NUMBERS_MOST);
        if (problem)
            return kino__fail(
                err, KINO_ARGUMENT,
                "invalid value '%.60s' for parameter '%s' (expected: numbers such as '0,2-3')",
                text, name);
        if (*at++ == 0)
            return KINO_OK;
    }
}

/* -- which there may be -- */

static bool is_in(const char *const *list, const char *name)
{
    while (list && *list && strcmp(*list, name) != 0)
        list++;
    return list && *list;
}

kino_status kino__params_allow(const kino__params *params, const char *const *const *lists,
                               size_t list_count, kino_error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        bool found = false;
        for (size_t k = 0; k < list_count && !found; k++)
            found = is_in(lists[k], params->items[i].name);
        if (found)
            continue;
        kino__buffer known = {0};
        for (size_t k = 0; k < list_count; k++)
            for (const char *const *name = lists[k]; name && *name; name++)
                kino__buffer_printf(&known, "%s%s", known.size ? ", " : "", *name);
        kino_status st =
            known.size && !known.failed
                ? kino__fail(err, KINO_ARGUMENT, "unknown parameter '%s' (known: %.*s)",
                             params->items[i].name, (int)(known.size > 140 ? 140 : known.size),
                             known.data)
                : kino__fail(err, KINO_ARGUMENT, "unknown parameter '%s' (this route takes none)",
                             params->items[i].name);
        kino__buffer_deinit(&known);
        return st;
    }
    return KINO_OK;
}
