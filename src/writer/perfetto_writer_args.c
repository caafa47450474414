/* perfetto_writer_args.c - arguments as debug annotations: numbers, texts, lists and dictionaries
 * with their types; what has none of these types is kept as JSON. */
#include <stdlib.h>

#include "writer/json_text.h"
#include "writer/perfetto_writer_internal.h"

enum { DEPTH_MOST = 60, INTERNED_MOST = 256 };

/* Fields of a DebugAnnotation. */
enum {
    NAME_IID = 1,
    BOOL = 2,
    UINT = 3,
    INT = 4,
    DOUBLE = 5,
    STRING = 6,
    JSON = 9,
    NAME = 10,
    DICT = 11,
    ARRAY = 12,
    STRING_IID = 17,
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* The end of the valid JSON value at `at`. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = string_end(at, end);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            depth--;
            at++;
        } else if (depth == 0 && (c == ',' || is_blank(c))) {
            return at;
        } else {
            at++;
            if (depth == 0 && at < end && (*at == '}' || *at == ']'))
                return at;
            continue;
        }
        if (depth == 0)
            return at;
    }
    return end;
}

/* Inside a container: the next value, behind its key if it has one. */
static bool next_value(const char **at, const char *end, kino_str *value)
{
    const char *begin = skip_blanks(*at, end);
    while (begin < end && (*begin == ',' || *begin == ':'))
        begin = skip_blanks(begin + 1, end);
    if (begin >= end)
        return false;
    const char *behind = value_end(begin, end);
    *value = (kino_str){begin, (size_t)(behind - begin)};
    *at = behind;
    return behind > begin;
}

static void write_value(kino__perfetto_out *out, kino__buffer *to, kino_str value, int depth);

static void write_key(kino__perfetto_out *out, kino__buffer *to, kino_str key)
{
    out->scratch.size = 0;
    kino__json_unescape(key, &out->scratch);
    kino__proto_put_uint(
        to, NAME_IID,
        kino__perfetto_iid(out, KINO__PERFETTO_INTERN_KEY, kino__buffer_str(&out->scratch)));
}

static void write_container(kino__perfetto_out *out, kino__buffer *to, kino_str value, int depth)
{
    bool is_dict = value.data[0] == '{';
    const char *at = value.data + 1, *end = value.data + value.size - 1;
    kino_str key, item;
    while (next_value(&at, end, is_dict ? &key : &item)) {
        if (is_dict && !next_value(&at, end, &item))
            return;
        size_t begun = kino__proto_begin(to, is_dict ? DICT : ARRAY);
        if (is_dict) {
            out->scratch.size = 0;
            kino__json_unescape(key, &out->scratch);
            kino__proto_put_text(to, NAME, kino__buffer_str(&out->scratch));
        }
        write_value(out, to, item, depth + 1);
        kino__proto_end(to, begun);
    }
}

static void write_string(kino__perfetto_out *out, kino__buffer *to, kino_str value)
{
    out->scratch.size = 0;
    kino__json_unescape(value, &out->scratch);
    kino_str text = kino__buffer_str(&out->scratch);
    if (text.size && text.size <= INTERNED_MOST)
        kino__proto_put_uint(to, STRING_IID,
                             kino__perfetto_iid(out, KINO__PERFETTO_INTERN_TEXT, text));
    else
        kino__proto_put_text(to, STRING, text.data ? text : KINO__STR(""));
}

static bool is_whole(kino_str value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] == '.' || value.data[i] == 'e' || value.data[i] == 'E')
            return false;
    return true;
}

static bool to_uint(kino_str value, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < value.size; i++) {
        unsigned digit = (unsigned)(value.data[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    }
    *out = number;
    return value.size > 0;
}

static void write_number(kino__buffer *to, kino_str value)
{
    int64_t integer;
    uint64_t wide;
    double real;
    if (is_whole(value) && kino__str_to_int(value, &integer))
        kino__proto_put_int(to, INT, integer);
    else if (is_whole(value) && to_uint(value, &wide))
        kino__proto_put_uint(to, UINT, wide);
    else if (!is_whole(value) && kino__json_to_double(value, &real))
        kino__proto_put_real(to, DOUBLE, real);
    else
        kino__proto_put_text(to, JSON, value);
}

static bool is_empty(kino_str value)
{
    const char *inside = skip_blanks(value.data + 1, value.data + value.size - 1);
    return inside == value.data + value.size - 1;
}

static void write_value(kino__perfetto_out *out, kino__buffer *to, kino_str value, int depth)
{
    char first = value.data[0];
    if (first == '"')
        write_string(out, to, value);
    else if ((first == '{' || first == '[') && !is_empty(value) && depth < DEPTH_MOST)
        write_container(out, to, value, depth);
    else if (first == 't' || first == 'f')
        kino__proto_put_uint(to, BOOL, first == 't');
    else if (first == '-' || (first >= '0' && first <= '9'))
        write_number(to, value);
    else
        kino__proto_put_text(to, JSON, value); /* null, what is empty, what is too deep */
}

void kino__perfetto_write_args(kino__perfetto_out *out, kino_str object)
{
    enum { DEBUG_ANNOTATIONS = 4 };
    if (object.size < 2 || object.data[0] != '{')
        return;
    const char *at = object.data + 1, *end = object.data + object.size - 1;
    kino_str key, value;
    while (next_value(&at, end, &key) && next_value(&at, end, &value)) {
        size_t begun = kino__proto_begin(&out->args, DEBUG_ANNOTATIONS);
        write_key(out, &out->args, key);
        write_value(out, &out->args, value, 0);
        kino__proto_end(&out->args, begun);
    }
}
