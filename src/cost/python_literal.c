/* python_literal.c - reading a Python literal; see the header.
 *
 * A loop with a stack of open containers. In a dictionary every other value is a key: it is held
 * back until its colon, and becomes `key` of the next. */
#include "cost/python_literal.h"

#include "base/error.h"
#include "base/utf8.h"

typedef struct container {
    kino__py_value *value, *last;
    kino__py_value *key; /* DICT: read, its value not yet */
    char close;
} container;

typedef struct parser {
    const char *start, *at, *end;
    kino__arena *arena;
    kino_error *err;
    container open[KINO__PY_DEPTH_MAX];
    size_t depth;
} parser;

static kino_status fail(const parser *p, const char *what)
{
    return kino__fail_at(p->err, KINO_FORMAT, (uint64_t)(p->at - p->start),
                         "not a Python literal: %s", what);
}

static void skip_blanks(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* -- strings -- */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code behind \x, \u or \U, `digits` of them; false: there are not so many. */
static bool read_code(parser *p, int digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int digit = p->at < p->end ? hex_digit(*p->at) : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* A code point; of what is none U+FFFD. */
static size_t put_code(char *out, uint32_t code)
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    return (size_t)(kino__utf8_put(out, code) - out);
}

/* What an escape means; at is behind the backslash. An unknown one stands for itself, as in
 * Python. */
static kino_status read_escape(parser *p, char *out, size_t *size)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    char c = *p->at++;
    const char *plain = c ? strchr(from, c) : NULL;
    uint32_t code = 0;
    *size = 0;
    if (plain) {
        out[(*size)++] = to[plain - from];
    } else if (c == 'x' || c == 'u' || c == 'U') {
        if (!read_code(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code))
            return fail(p, "a bad escape");
        *size = put_code(out, code);
    } else if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; i++)
            code = code * 8 + (uint32_t)(*p->at++ - '0');
        *size = put_code(out, code);
    } else if (c != '\n') {
        out[(*size)++] = '\\';
        out[(*size)++] = c;
    }
    return KINO_OK;
}

/* The text of a string with escapes, from its first byte to its closing quote. */
static kino_status read_escaped(parser *p, const char *first, char quote, kino_str *text)
{
    const char *close = p->at;
    for (; close < p->end && *close != quote; close++)
        if (*close == '\\' && close + 1 < p->end)
            close++;
    if (close == p->end)
        return fail(p, "a string without an end");
    /* No escape takes less room than what it stands for. */
    char *data = kino__arena_alloc(p->arena, (size_t)(close - first) + 1);
    if (!data)
        return kino__fail_nomem(p->err);
    size_t size = 0;
    p->at = first;
    while (p->at < close) {
        size_t added = 1;
        if (*p->at == '\\') {
            p->at++;
            KINO_TRY(read_escape(p, data + size, &added));
        } else {
            data[size] = *p->at++;
        }
        size += added;
    }
    if (p->at != close)
        return fail(p, "a bad escape");
    *text = (kino_str){data, size};
    return KINO_OK;
}

static kino_status read_string(parser *p, kino__py_value *value)
{
    char quote = *p->at++;
    const char *first = p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\\')
        p->at++;
    value->kind = KINO__PY_STRING;
    value->text = (kino_str){first, (size_t)(p->at - first)};
    if (p->at == p->end)
        return fail(p, "a string without an end");
    if (*p->at == '\\')
        KINO_TRY(read_escaped(p, first, quote, &value->text));
    p->at++;
    return KINO_OK;
}

/* -- numbers and words -- */

static size_t skip_digits(parser *p)
{
    const char *first = p->at;
    while (p->at < p->end && is_digit(*p->at))
        p->at++;
    return (size_t)(p->at - first);
}

static kino_status read_number(parser *p, kino__py_value *value)
{
    const char *first = p->at;
    p->at += *p->at == '-' || *p->at == '+';
    const char *digits_at = p->at;
    size_t digits = skip_digits(p);
    bool is_real = p->at < p->end && *p->at == '.';
    if (is_real) {
        p->at++;
        digits += skip_digits(p);
    }
    if (digits == 0)
        return fail(p, "a number is expected");
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        is_real = true;
        p->at++;
        p->at += p->at < p->end && (*p->at == '-' || *p->at == '+');
        if (skip_digits(p) == 0)
            return fail(p, "an exponent is expected");
    }
    if (p->at < p->end && is_word(*p->at))
        return fail(p, "a bad number");
    kino_str text = {*first == '+' ? digits_at : first, 0};
    text.size = (size_t)(p->at - text.data);
    is_real = is_real || !kino__str_to_int(text, &value->integer);
    value->kind = is_real ? KINO__PY_REAL : KINO__PY_INT;
    return KINO_OK;
}

static kino_status read_word(parser *p, kino__py_value *value)
{
    const char *first = p->at;
    while (p->at < p->end && is_word(*p->at))
        p->at++;
    kino_str word = {first, (size_t)(p->at - first)};
    value->is_true = kino__str_is(word, "True");
    if (kino__str_is(word, "None"))
        value->kind = KINO__PY_NONE;
    else if (value->is_true || kino__str_is(word, "False"))
        value->kind = KINO__PY_BOOL;
    else {
        p->at = first;
        return fail(p, word.size ? "an unknown word" : "an unexpected character");
    }
    return KINO_OK;
}

/* -- containers -- */

static kino_status open_container(parser *p, kino__py_value *value)
{
    static const char opens[] = "[({", closes[] = "])}";
    static const kino__py_kind kinds[] = {KINO__PY_LIST, KINO__PY_TUPLE, KINO__PY_DICT};
    if (p->depth == KINO__PY_DEPTH_MAX)
        return fail(p, "nested too deeply");
    ptrdiff_t which = strchr(opens, *p->at) - opens;
    p->at++;
    value->kind = kinds[which];
    p->open[p->depth++] = (container){.value = value, .close = closes[which]};
    return KINO_OK;
}

/* The value is complete: it goes where it belongs. */
static kino_status put(parser *p, kino__py_value *value, const kino__py_value **out)
{
    value->source.size = (size_t)(p->at - value->source.data);
    if (p->depth == 0) {
        *out = value;
        return KINO_OK;
    }
    container *in = &p->open[p->depth - 1];
    skip_blanks(p);
    if (in->value->kind == KINO__PY_DICT && !in->key) {
        if (value->kind >= KINO__PY_LIST)
            return fail(p, "a container as a key");
        if (p->at == p->end || *p->at != ':')
            return fail(p, "a colon is expected");
        p->at++;
        in->key = value;
        return KINO_OK;
    }
    value->key = in->key;
    in->key = NULL;
    if (in->last)
        in->last->next = value;
    else
        in->value->first = value;
    in->last = value;
    in->value->count++;
    if (p->at < p->end && *p->at == ',')
        p->at++;
    else if (p->at == p->end || *p->at != in->close)
        return fail(p, "a comma or the end of a container is expected");
    return KINO_OK;
}

/* Closes containers as long as they end here. A tuple of one needs its comma, else it is what is in
 * the parentheses; here both are a tuple. */
static kino_status close_containers(parser *p, const kino__py_value **out)
{
    for (;;) {
        skip_blanks(p);
        container *in = p->depth ? &p->open[p->depth - 1] : NULL;
        if (!in || p->at == p->end || *p->at != in->close)
            return KINO_OK;
        if (in->key)
            return fail(p, "a key without a value");
        p->at++;
        p->depth--;
        KINO_TRY(put(p, in->value, out));
    }
}

static kino_status read_value(parser *p, const kino__py_value **out)
{
    kino__py_value *value = kino__arena_alloc(p->arena, sizeof *value);
    if (!value)
        return kino__fail_nomem(p->err);
    *value = (kino__py_value){.source = {p->at, 0}};
    char c = *p->at;
    if (c == '[' || c == '(' || c == '{')
        return open_container(p, value);
    if (c == '\'' || c == '"')
        KINO_TRY(read_string(p, value));
    else if (is_digit(c) || c == '-' || c == '+' || c == '.')
        KINO_TRY(read_number(p, value));
    else
        KINO_TRY(read_word(p, value));
    return put(p, value, out);
}

kino_status kino__py_parse(kino_str text, kino__arena *arena, const kino__py_value **out,
                           kino_error *err)
{
    parser p = {.start = text.data, .at = text.data, .end = text.data + text.size};
    p.arena = arena;
    p.err = err;
    *out = NULL;
    if (text.size > KINO__PY_SIZE_MAX)
        return fail(&p, "too long");
    do {
        skip_blanks(&p);
        if (p.at == p.end)
            return fail(&p, "a value is expected");
        KINO_TRY(read_value(&p, out));
        KINO_TRY(close_containers(&p, out));
    } while (p.depth);
    skip_blanks(&p);
    return p.at == p.end ? KINO_OK : fail(&p, "text after the value");
}

const kino__py_value *kino__py_member(const kino__py_value *dict, const char *key)
{
    const kino__py_value *found = NULL;
    if (!dict || dict->kind != KINO__PY_DICT)
        return NULL;
    for (const kino__py_value *m = dict->first; m; m = m->next)
        if (m->key->kind == KINO__PY_STRING && kino__str_is(m->key->text, key))
            found = m;
    return found;
}

kino_str kino__py_text(const kino__py_value *dict, const char *key)
{
    const kino__py_value *member = kino__py_member(dict, key);
    return member && member->kind == KINO__PY_STRING ? member->text : (kino_str){"", 0};
}
