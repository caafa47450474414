/* json_out.c - the streaming JSON writer, and the check whether a text is JSON already. */
#include "base/json_out.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/json_chars.h"
#include "base/utf8.h"

/* What must stand before a value: a comma unless it is the first one or follows its key, and the
 * line break that somebody asked for. */
static void before_value(kino__json *json)
{
    uint64_t bit = 1ull << json->depth;
    if (json->after_key)
        json->after_key = false;
    else if (json->depth && (json->filled & bit))
        kino__buffer_add(json->out, KINO__STR(","));
    if (json->indent)
        kino__buffer_printf(json->out, "\n%*s", json->indent - 1, "");
    json->indent = 0;
    json->filled |= bit;
}

static void begin(kino__json *json, kino_str bracket)
{
    before_value(json);
    kino__buffer_add(json->out, bracket);
    assert(json->depth < KINO__JSON_DEPTH);
    json->depth++;
    json->filled &= ~(1ull << json->depth);
}

static void end(kino__json *json, kino_str bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    kino__buffer_add(json->out, bracket);
}

void kino__json_begin_object(kino__json *json)
{
    begin(json, KINO__STR("{"));
}

void kino__json_end_object(kino__json *json)
{
    end(json, KINO__STR("}"));
}

void kino__json_begin_array(kino__json *json)
{
    begin(json, KINO__STR("["));
}

void kino__json_end_array(kino__json *json)
{
    end(json, KINO__STR("]"));
}

void kino__json_key(kino__json *json, const char *key)
{
    kino__json_key_text(json, kino__str_from(key));
}

void kino__json_key_text(kino__json *json, kino_str key)
{
    before_value(json);
    kino__json_add_string(json->out, key);
    kino__buffer_add(json->out, KINO__STR(":"));
    json->after_key = true;
}

void kino__json_string(kino__json *json, kino_str text)
{
    before_value(json);
    kino__json_add_string(json->out, text);
}

void kino__json_text(kino__json *json, const char *text)
{
    if (text)
        kino__json_string(json, kino__str_from(text));
    else
        kino__json_null(json);
}

void kino__json_int(kino__json *json, int64_t value)
{
    before_value(json);
    char digits[KINO__DECIMAL_MAX];
    kino__buffer_add(json->out, (kino_str){digits, kino__format_int(value, digits)});
}

void kino__json_uint(kino__json *json, uint64_t value)
{
    before_value(json);
    char digits[KINO__DECIMAL_MAX];
    kino__buffer_add(json->out, (kino_str){digits, kino__format_uint(value, digits)});
}

void kino__json_double(kino__json *json, double value)
{
    if (!isfinite(value)) {
        kino__json_null(json);
        return;
    }
    char text[32];
    size_t size = kino__double_to_text(value, text);
    before_value(json);
    kino__buffer_add(json->out, (kino_str){text, size});
}

void kino__json_bool(kino__json *json, bool value)
{
    before_value(json);
    kino__buffer_add(json->out, value ? KINO__STR("true") : KINO__STR("false"));
}

void kino__json_null(kino__json *json)
{
    before_value(json);
    kino__buffer_add(json->out, KINO__STR("null"));
}

void kino__json_raw(kino__json *json, kino_str text)
{
    if (!kino__json_is_valid(text)) {
        kino__json_string(json, text);
        return;
    }
    before_value(json);
    kino__buffer_add(json->out, text);
}

void kino__json_newline(kino__json *json, unsigned indent)
{
    json->indent = (int)indent + 1;
}

static kino_str escape_of(unsigned char c, char room[8])
{
    switch (c) {
    case '"':
        return KINO__STR("\\\"");
    case '\\':
        return KINO__STR("\\\\");
    case '\n':
        return KINO__STR("\\n");
    case '\r':
        return KINO__STR("\\r");
    case '\t':
        return KINO__STR("\\t");
    case '\b':
        return KINO__STR("\\b");
    case '\f':
        return KINO__STR("\\f");
    default:
        (void)snprintf(room, 8, "\\u%04x", c);
        return (kino_str){room, 6};
    }
}

void kino__json_add_string(kino__buffer *out, kino_str text)
{
    kino__buffer_add(out, KINO__STR("\""));
    const char *at = text.data, *last = text.size ? text.data + text.size : text.data;
    const char *plain = at; /* start of what can be copied as it is */
    while (at < last) {
        unsigned char c = (unsigned char)*at;
        uint32_t code_point;
        size_t length = 1;
        kino_str instead = {NULL, 0};
        char room[8];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            instead = escape_of(c, room);
        else if (c >= 0x80 && !(length = kino__utf8_sequence(at, last, &code_point)))
            instead = KINO__STR(KINO__UTF8_REPLACEMENT);
        if (instead.data) {
            kino__buffer_add(out, (kino_str){plain, (size_t)(at - plain)});
            kino__buffer_add(out, instead);
            plain = at + 1;
            length = 1;
        }
        at += length;
    }
    if (at > plain)
        kino__buffer_add(out, (kino_str){plain, (size_t)(at - plain)});
    kino__buffer_add(out, KINO__STR("\""));
}

size_t kino__double_to_text(double value, char text[32])
{
    char raw[32];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(raw, sizeof raw, "%.*g", precision, value);
        if (strtod(raw, NULL) == value)
            break;
    }
    /* The locale may write the decimal point otherwise, even in several bytes. */
    size_t n = 0;
    bool has_mark = false, in_point = false;
    for (const char *c = raw; *c; c++) {
        bool is_point = !strchr("0123456789+-e", *c);
        if (is_point && !in_point)
            text[n++] = '.';
        else if (!is_point)
            text[n++] = *c;
        in_point = is_point;
        has_mark |= is_point || *c == 'e';
    }
    if (!has_mark) {
        text[n++] = '.';
        text[n++] = '0';
    }
    text[n] = 0;
    return n;
}

/* The validator: a loop over a stack of open brackets, one bit each, so that depth costs no C
 * stack. */
enum { VALID_DEPTH = 256 };

typedef struct checker {
    const char *at, *end;
    unsigned depth;
    uint64_t is_object[VALID_DEPTH / 64];
} checker;

static void skip_space(checker *c)
{
    while (c->at < c->end && kino__is_json_space(*c->at))
        c->at++;
}

static bool take(checker *c, char wanted)
{
    if (c->at >= c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_digits(checker *c)
{
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > start;
}

static bool take_number(checker *c)
{
    (void)take(c, '-');
    if (!take(c, '0') && !take_digits(c))
        return false;
    if (take(c, '.') && !take_digits(c))
        return false;
    if (take(c, 'e') || take(c, 'E')) {
        if (!take(c, '+'))
            (void)take(c, '-');
        return take_digits(c);
    }
    return true;
}

static bool take_escape(checker *c)
{
    if (c->at >= c->end)
        return false;
    char kind = *c->at++;
    if (kind != 'u')
        return kind != 0 && strchr("\"\\/bfnrt", kind) != NULL;
    for (int i = 0; i < 4; i++, c->at++)
        if (c->at >= c->end || !*c->at || !strchr("0123456789abcdefABCDEF", *c->at))
            return false;
    return true;
}

static bool take_string(checker *c)
{
    if (!take(c, '"'))
        return false;
    while (c->at < c->end) {
        if (take(c, '"'))
            return true;
        if (take(c, '\\')) {
            if (!take_escape(c))
                return false;
            continue;
        }
        uint32_t code_point = 0;
        size_t length = kino__utf8_sequence(c->at, c->end, &code_point);
        if (!length || code_point < 0x20)
            return false;
        c->at += length;
    }
    return false;
}

static bool take_word(checker *c, kino_str word)
{
    if ((size_t)(c->end - c->at) < word.size || memcmp(c->at, word.data, word.size) != 0)
        return false;
    c->at += word.size;
    return true;
}

static bool take_scalar(checker *c)
{
    switch (*c->at) {
    case '"':
        return take_string(c);
    case 't':
        return take_word(c, KINO__STR("true"));
    case 'f':
        return take_word(c, KINO__STR("false"));
    case 'n':
        return take_word(c, KINO__STR("null"));
    default:
        return take_number(c);
    }
}

static bool in_object(const checker *c)
{
    return c->is_object[(c->depth - 1) / 64] >> ((c->depth - 1) % 64) & 1;
}

static bool open_bracket(checker *c, bool object)
{
    if (c->depth == VALID_DEPTH)
        return false;
    c->at++;
    uint64_t bit = 1ull << (c->depth % 64);
    uint64_t *word = &c->is_object[c->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    c->depth++;
    return true;
}

static bool take_key(checker *c)
{
    skip_space(c);
    if (!take_string(c))
        return false;
    skip_space(c);
    return take(c, ':');
}

/* After a value: closes what ends here; true when another value must follow, *good says whether all
 * is well. */
static bool after_value(checker *c, bool *good)
{
    for (;;) {
        skip_space(c);
        if (c->depth == 0) {
            *good = c->at == c->end;
            return false;
        }
        if (take(c, ',')) {
            *good = !in_object(c) || take_key(c);
            return *good;
        }
        if (!take(c, in_object(c) ? '}' : ']')) {
            *good = false;
            return false;
        }
        c->depth--;
    }
}

bool kino__json_is_valid(kino_str text)
{
    checker c = {.at = text.data, .end = text.size ? text.data + text.size : text.data};
    for (;;) {
        skip_space(&c);
        if (c.at >= c.end)
            return false;
        bool is_object = *c.at == '{';
        bool is_container = is_object || *c.at == '[';
        if (is_container ? !open_bracket(&c, is_object) : !take_scalar(&c))
            return false;
        if (is_container) {
            skip_space(&c);
            if (!take(&c, is_object ? '}' : ']')) {
                if (is_object && !take_key(&c))
                    return false;
                continue; /* to its first member */
            }
            c.depth--;
        }
        bool good;
        if (!after_value(&c, &good))
            return good;
    }
}
