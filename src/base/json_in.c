/* json_in.c - the strict parser of small JSON.
 *
 * One pass. Containers that are open lie on a stack of fixed size, each with the place where its
 * next child is to be linked, so that nothing calls itself. */
#include "base/json_in.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/json_chars.h"
#include "base/utf8.h"

enum { DEFAULT_SIZE = 64 << 10, DEFAULT_DEPTH = 16 };

typedef struct level {
    kino__json_in *container;
    const kino__json_in **link; /* where the next child goes */
} level;

typedef struct parser {
    const char *begin, *at, *end;
    kino__arena *arena;
    kino_error *err;
    unsigned depth, depth_max;
    size_t values; /* that may still come */
    level stack[KINO__JSON_IN_DEPTH_MAX];
} parser;

static kino_status refuse(const parser *p, const char *what)
{
    return kino__fail_at(p->err, KINO_FORMAT, (uint64_t)(p->at - p->begin), "invalid JSON: %s",
                         what);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && kino__is_json_space(*p->at))
        p->at++;
}

static bool take(parser *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* -- strings */

static uint32_t hex4(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

/* One escape at the backslash; what it stands for is never longer. */
static kino_status read_escape(parser *p, char **out)
{
    size_t size = kino__json_escape_size(p->at, p->end);
    if (size == 0)
        return refuse(p, "invalid escape in a string");
    if (size == 2) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        *(*out)++ = to[strchr(from, p->at[1]) - from];
        p->at += 2;
        return KINO_OK;
    }
    uint32_t code = hex4(p->at + 2);
    if (code == 0)
        return refuse(p, "NUL character in a string");
    if (code >= 0xd800 && code <= 0xdfff) {
        bool is_pair = code < 0xdc00 && p->at + 6 < p->end && p->at[6] == '\\' &&
                       kino__json_escape_size(p->at + 6, p->end) == 6;
        uint32_t low = is_pair ? hex4(p->at + 8) : 0;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(p, "unpaired surrogate in a string");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        size = 12;
    }
    *out = kino__utf8_put(*out, code);
    p->at += size;
    return KINO_OK;
}

/* The string behind the quote that has been taken. */
static kino_status read_string(parser *p, kino_str *text)
{
    const char *close = p->at;
    while (close < p->end && *close != '"')
        close += *close == '\\' && close + 1 < p->end ? 2 : 1;
    char *copy = kino__arena_alloc(p->arena, (size_t)(close - p->at) + 1), *out = copy;
    if (!copy)
        return kino__fail_nomem(p->err);
    while (p->at < p->end && *p->at != '"') {
        uint32_t code;
        if (*p->at == '\\') {
            KINO_TRY(read_escape(p, &out));
            continue;
        }
        if ((unsigned char)*p->at < 0x20)
            return refuse(p, "control character in a string");
        size_t size = kino__utf8_sequence(p->at, p->end, &code);
        if (size == 0)
            return refuse(p, "invalid UTF-8");
        memcpy(out, p->at, size);
        out += size;
        p->at += size;
    }
    if (!take(p, '"'))
        return refuse(p, "unterminated string");
    *out = '\0';
    *text = (kino_str){copy, (size_t)(out - copy)};
    return KINO_OK;
}

/* -- numbers and words */

static size_t take_digits(parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return (size_t)(p->at - start);
}

static kino_status read_number(parser *p, kino__json_in *value)
{
    const char *start = p->at;
    (void)take(p, '-');
    const char *digits = p->at;
    size_t count = take_digits(p);
    if (count == 0 || (count > 1 && *digits == '0'))
        return refuse(p, "invalid number");
    value->is_int = true;
    if (take(p, '.')) {
        value->is_int = false;
        if (take_digits(p) == 0)
            return refuse(p, "number without digits after the decimal point");
    }
    if (take(p, 'e') || take(p, 'E')) {
        value->is_int = false;
        if (!take(p, '-'))
            (void)take(p, '+');
        if (take_digits(p) == 0)
            return refuse(p, "number without digits in the exponent");
    }
    value->kind = KINO__JSON_IN_NUMBER;
    value->text = kino__arena_copy(p->arena, (kino_str){start, (size_t)(p->at - start)});
    if (!value->text.data)
        return kino__fail_nomem(p->err);
    value->is_int = value->is_int && kino__str_to_int(value->text, &value->integer);
    value->number = strtod(value->text.data, NULL);
    return KINO_OK;
}

static kino_status read_word(parser *p, kino__json_in *value)
{
    static const struct {
        kino_str text;
        kino__json_in_kind kind;
        bool is_true;
    } words[] = {{KINO__STR("true"), KINO__JSON_IN_BOOL, true},
                 {KINO__STR("false"), KINO__JSON_IN_BOOL, false},
                 {KINO__STR("null"), KINO__JSON_IN_NULL, false}};
    kino_str rest = {p->at, (size_t)(p->end - p->at)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_starts_with(rest, words[i].text)) {
            value->kind = words[i].kind;
            value->is_true = words[i].is_true;
            p->at += words[i].text.size;
            return KINO_OK;
        }
    return refuse(p, "expected a value");
}

/* -- containers */

static kino_status open_container(parser *p, kino__json_in *value, kino__json_in_kind kind)
{
    if (p->depth == p->depth_max)
        return refuse(p, "nested too deeply");
    value->kind = kind;
    p->at++;
    p->stack[p->depth++] = (level){value, &value->first};
    return KINO_OK;
}

/* The key of the next member and its colon. */
static kino_status read_key(parser *p, const kino__json_in *object, kino_str *key)
{
    if (!take(p, '"'))
        return refuse(p, "object member without a key");
    KINO_TRY(read_string(p, key));
    if (object->count == KINO__JSON_IN_MEMBERS_MAX)
        return refuse(p, "too many members in an object");
    for (const kino__json_in *m = object->first; m; m = m->next)
        if (kino__str_equal(m->key, *key))
            return refuse(p, "duplicate key");
    skip_space(p);
    if (!take(p, ':'))
        return refuse(p, "missing colon after a key");
    skip_space(p);
    return KINO_OK;
}

/* A new value, linked into the container that is open, if any. Containers stay open. */
static kino_status read_value(parser *p, kino__json_in **out)
{
    level *top = p->depth ? &p->stack[p->depth - 1] : NULL;
    kino_str key = {"", 0};
    if (top && top->container->kind == KINO__JSON_IN_OBJECT)
        KINO_TRY(read_key(p, top->container, &key));
    if (p->values-- == 0)
        return refuse(p, "too many values");
    kino__json_in *value = kino__arena_alloc(p->arena, sizeof *value);
    if (!value)
        return kino__fail_nomem(p->err);
    *value = (kino__json_in){.key = key, .text = {"", 0}};
    if (top) {
        *top->link = value;
        top->link = &value->next;
        top->container->count++;
    }
    *out = value;
    char c = '\0';
    if (p->at < p->end)
        c = *p->at;
    if (c == '{')
        return open_container(p, value, KINO__JSON_IN_OBJECT);
    if (c == '[')
        return open_container(p, value, KINO__JSON_IN_ARRAY);
    if (c == '"') {
        p->at++;
        value->kind = KINO__JSON_IN_STRING;
        return read_string(p, &value->text);
    }
    return c == '-' || (c >= '0' && c <= '9') ? read_number(p, value) : read_word(p, value);
}

/* Behind a value, or at the start of a container: closes what ends here. Afterwards either nothing
 * is open, or a value must follow. */
static kino_status close_containers(parser *p)
{
    while (p->depth) {
        const kino__json_in *container = p->stack[p->depth - 1].container;
        skip_space(p);
        if (take(p, container->kind == KINO__JSON_IN_OBJECT ? '}' : ']')) {
            p->depth--;
            continue;
        }
        if (container->count > 0 && !take(p, ','))
            return refuse(p, p->at == p->end ? "unexpected end of input"
                                             : "missing comma between values");
        skip_space(p);
        return p->at == p->end ? refuse(p, "unexpected end of input") : KINO_OK;
    }
    return KINO_OK;
}

kino_status kino__json_in_parse(kino_str text, const kino__json_in_limits *limits,
                                kino__arena *arena, const kino__json_in **out, kino_error *err)
{
    size_t size_max = limits && limits->size ? limits->size : DEFAULT_SIZE;
    parser p = {.begin = text.data,
                .at = text.data,
                .end = text.size ? text.data + text.size : text.data,
                .arena = arena,
                .err = err,
                .depth_max = limits && limits->depth ? limits->depth : DEFAULT_DEPTH,
                .values = limits && limits->values ? limits->values : SIZE_MAX};
    kino__json_in *root = NULL, *value = NULL;
    *out = NULL;
    kino__error_clear(err);
    if (p.depth_max > KINO__JSON_IN_DEPTH_MAX)
        p.depth_max = KINO__JSON_IN_DEPTH_MAX;
    if (text.size > size_max)
        return kino__fail(err, KINO_FORMAT, "%zu bytes of JSON exceed the limit of %zu", text.size,
                          size_max);
    skip_space(&p);
    do {
        KINO_TRY(read_value(&p, &value));
        if (!root)
            root = value;
        KINO_TRY(close_containers(&p));
    } while (p.depth);
    skip_space(&p);
    if (p.at != p.end)
        return refuse(&p, "unexpected data after the value");
    *out = root;
    return KINO_OK;
}

/* -- reading the tree */

const kino__json_in *kino__json_in_member(const kino__json_in *object, const char *key)
{
    if (!object || object->kind != KINO__JSON_IN_OBJECT)
        return NULL;
    const kino__json_in *member = object->first;
    while (member && !kino__str_is(member->key, key))
        member = member->next;
    return member;
}

static const kino__json_in *member_of_kind(const kino__json_in *object, const char *key,
                                           kino__json_in_kind kind)
{
    const kino__json_in *member = kino__json_in_member(object, key);
    return member && member->kind == kind ? member : NULL;
}

bool kino__json_in_get_int(const kino__json_in *object, const char *key, int64_t *out)
{
    const kino__json_in *member = member_of_kind(object, key, KINO__JSON_IN_NUMBER);
    if (!member || !member->is_int)
        return false;
    *out = member->integer;
    return true;
}

bool kino__json_in_get_double(const kino__json_in *object, const char *key, double *out)
{
    const kino__json_in *member = member_of_kind(object, key, KINO__JSON_IN_NUMBER);
    if (member)
        *out = member->number;
    return member != NULL;
}

bool kino__json_in_get_bool(const kino__json_in *object, const char *key, bool *out)
{
    const kino__json_in *member = member_of_kind(object, key, KINO__JSON_IN_BOOL);
    if (member)
        *out = member->is_true;
    return member != NULL;
}

bool kino__json_in_get_text(const kino__json_in *object, const char *key, kino_str *out)
{
    const kino__json_in *member = member_of_kind(object, key, KINO__JSON_IN_STRING);
    if (member)
        *out = member->text;
    return member != NULL;
}

int64_t kino__json_in_int(const kino__json_in *object, const char *key)
{
    int64_t value = KINO_NO_INT;
    (void)kino__json_in_get_int(object, key, &value);
    return value;
}

const char *kino__json_in_string(const kino__json_in *object, const char *key)
{
    kino_str text;
    return kino__json_in_get_text(object, key, &text) ? text.data : NULL;
}

const kino__json_in *kino__json_in_get_array(const kino__json_in *object, const char *key)
{
    const kino__json_in *member = member_of_kind(object, key, KINO__JSON_IN_ARRAY);
    return member ? member->first : NULL;
}
