/* json_check.c - is a text strict JSON? A loop with an explicit stack of bits, one bit (object or
 * array) a level.
 *
 * Most bytes of arguments are inside strings, which are passed 16 at a time; the rest is a handful
 * of branches. The takers get the place where their token begins and return the place behind it, or
 * NULL. */
#include "base/json_chars.h"
#include "base/utf8.h"
#include "writer/json_text.h"

static inline const char *skip_space(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ' && kino__is_json_space(*p))
        p++;
    return p;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* A byte of a string that is not plain: an escape, a multi-byte sequence, or an error. */
static const char *take_special(const char *p, const char *end)
{
    uint32_t code_point;
    size_t size = 0;
    if (*p == '\\')
        size = kino__json_escape_size(p, end);
    else if ((unsigned char)*p >= 0x20)
        size = kino__utf8_sequence(p, end, &code_point);
    return size ? p + size : NULL;
}

static inline const char *take_string(const char *p, const char *end)
{
    p = kino__json_plain_end(p + 1, end);
    while (p < end && *p != '"') {
        p = take_special(p, end);
        if (!p)
            return NULL;
        p = kino__json_plain_end(p, end);
    }
    return p < end ? p + 1 : NULL;
}

static inline const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

static inline const char *take_number(const char *p, const char *end)
{
    const char *start = p, *digits;
    p += *p == '-';
    if (p < end && *p == '0') {
        p++;
    } else {
        digits = p;
        p = skip_digits(p, end);
        if (p == digits)
            return NULL;
    }
    if (p < end && *p == '.') {
        digits = p + 1;
        p = skip_digits(digits, end);
        if (p == digits)
            return NULL;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        digits = p;
        p = skip_digits(digits, end);
        if (p == digits)
            return NULL;
    }
    return p - start <= KINO__JSON_TEXT_DIGITS ? p : NULL;
}

static const char *take_word(const char *p, const char *end, const char *word, size_t size)
{
    return (size_t)(end - p) >= size && memcmp(p, word, size) == 0 ? p + size : NULL;
}

static inline const char *take_scalar(const char *p, const char *end)
{
    switch (*p) {
    case '"':
        return take_string(p, end);
    case 't':
        return take_word(p, end, "true", 4);
    case 'f':
        return take_word(p, end, "false", 5);
    case 'n':
        return take_word(p, end, "null", 4);
    default:
        return take_number(p, end);
    }
}

/* "key" : up to its value */
static inline const char *take_key(const char *p, const char *end)
{
    p = skip_space(p, end);
    if (p == end || *p != '"')
        return NULL;
    p = take_string(p, end);
    if (!p)
        return NULL;
    p = skip_space(p, end);
    return p < end && *p == ':' ? p + 1 : NULL;
}

/* The open brackets; the innermost one apart, since it is asked at every comma. */
typedef struct nesting {
    uint64_t is_object[KINO__JSON_TEXT_DEPTH / 64 + 1];
    unsigned depth;
    bool top_is_object;
} nesting;

static inline bool push(nesting *n, bool is_object)
{
    if (n->depth == KINO__JSON_TEXT_DEPTH)
        return false;
    uint64_t bit = UINT64_C(1) << (n->depth % 64);
    uint64_t *word = &n->is_object[n->depth++ / 64];
    *word = n->top_is_object ? *word | bit : *word & ~bit; /* the one that is now covered */
    n->top_is_object = is_object;
    return true;
}

static inline void pop(nesting *n)
{
    n->depth--;
    n->top_is_object = n->is_object[n->depth / 64] >> (n->depth % 64) & 1;
}

bool kino__json_is_strict(kino_str text)
{
    const char *p = text.data, *end = text.size ? text.data + text.size : text.data;
    nesting n = {0};
    for (;;) {
        p = skip_space(p, end);
        if (p == end)
            return false;
        if (*p == '{' || *p == '[') {
            if (!push(&n, *p == '{'))
                return false;
            p = skip_space(p + 1, end);
            if (p == end)
                return false;
            if (*p != (n.top_is_object ? '}' : ']')) {
                p = n.top_is_object ? take_key(p, end) : p;
                if (!p)
                    return false;
                continue;
            }
            p++;
            pop(&n);
        } else {
            p = take_scalar(p, end);
            if (!p)
                return false;
        }
        /* Behind a value: close what is closed, until another value has to come. */
        for (p = skip_space(p, end);; p = skip_space(p, end)) {
            if (n.depth == 0 || p == end)
                return n.depth == 0 && p == end;
            char c = *p++;
            if (c == ',')
                break;
            if (c != (n.top_is_object ? '}' : ']'))
                return false;
            pop(&n);
        }
        p = n.top_is_object ? take_key(p, end) : p;
        if (!p)
            return false;
    }
}
