/* chrome_check.c - is this text strict JSON, and if not, which of the known damages does it have?
 *
 * Runs only on arguments that the fast path found suspect and on events of the slow path. One pass,
 * no recursion: the kinds of open brackets are bits on a stack; below its depth they are assumed to
 * match. */
#include "base/utf8.h"
#include "reader/chrome_internal.h"

enum { STACK_DEPTH = 4096 };

enum { CONTROL = 1, ESCAPE = 2, UTF8 = 4 };

uint8_t kino__chrome_check_string(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + size;
    uint8_t found = 0;
    while (p < end) {
        if (*p >= 0x20 && *p < 0x80 && *p != '\\') {
            p++;
            continue;
        }
        size_t n = 1;
        if (*p < 0x20) {
            found |= CONTROL;
        } else if (*p == '\\') {
            n = kino__json_escape_size((const char *)p, (const char *)end);
            if (n == 0)
                found |= ESCAPE;
        } else {
            uint32_t code_point;
            n = kino__utf8_sequence((const char *)p, (const char *)end, &code_point);
            if (n == 0)
                found |= UTF8;
        }
        p += n ? n : 1;
    }
    return found;
}

static bool is_number(const char *p, const char *end)
{
    if (p < end && *p == '-')
        p++;
    if (p == end || (unsigned char)(*p - '0') > 9)
        return false;
    if (*p == '0' && p + 1 < end && (unsigned char)(p[1] - '0') <= 9)
        return false;
    while (p < end && (unsigned char)(*p - '0') <= 9)
        p++;
    if (p < end && *p == '.') {
        const char *first = ++p;
        while (p < end && (unsigned char)(*p - '0') <= 9)
            p++;
        if (p == first)
            return false;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        const char *first = p;
        while (p < end && (unsigned char)(*p - '0') <= 9)
            p++;
        if (p == first)
            return false;
    }
    return p == end;
}

bool kino__chrome_is_literal(const char *p, size_t size)
{
    return (size == 4 && (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)) ||
           (size == 5 && memcmp(p, "false", 5) == 0) || is_number(p, p + size);
}

static bool ends_bare(char c)
{
    return kino__is_json_space(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == '"' ||
           c == '{' || c == '[';
}

/* The closing quote of the string whose inside starts at p, or NULL. */
static const char *string_end(const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == '\\')
            p++;
        else if (*p == '"')
            return p;
    }
    return NULL;
}

typedef struct checker {
    const char *start, *p, *end;
    uint64_t position;
    kino__ledger *ledger;
    uint64_t is_object[STACK_DEPTH / 64];
    size_t depth;
} checker;

static void count(checker *c, kino__damage damage)
{
    kino__ledger_add(c->ledger, damage, c->position + (uint64_t)(c->p - c->start));
}

static bool in_object(const checker *c)
{
    size_t level = c->depth - 1;
    return level >= STACK_DEPTH || (c->is_object[level / 64] >> (level % 64) & 1);
}

static void push(checker *c, bool object)
{
    size_t level = c->depth++;
    if (level >= STACK_DEPTH)
        return;
    uint64_t bit = UINT64_C(1) << (level % 64);
    c->is_object[level / 64] =
        object ? c->is_object[level / 64] | bit : c->is_object[level / 64] & ~bit;
}

static bool take_string(checker *c)
{
    const char *close = string_end(c->p + 1, c->end);
    if (!close)
        return false;
    uint8_t damages = kino__chrome_check_string(c->p + 1, (size_t)(close - c->p - 1));
    for (unsigned bit = 0; bit < 3; bit++)
        if (damages >> bit & 1)
            count(c, (kino__damage)(KINO__DAMAGE_CONTROL_CHARACTER + bit));
    c->p = close + 1;
    return true;
}

static bool take_bare(checker *c)
{
    const char *stop = c->p;
    while (stop < c->end && !ends_bare(*stop))
        stop++;
    if (stop == c->p)
        return false;
    if (!kino__chrome_is_literal(c->p, (size_t)(stop - c->p)))
        count(c, KINO__DAMAGE_BAD_LITERAL);
    c->p = stop;
    return true;
}

bool kino__chrome_check_value(kino_str text, uint64_t position, kino__ledger *ledger)
{
    checker c = {.start = text.data,
                 .p = text.data,
                 .end = text.data + text.size,
                 .position = position,
                 .ledger = ledger};
    enum { VALUE, KEY, COLON, AFTER } state = VALUE;
    bool after_comma = false;
    while (c.p < c.end) {
        char ch = *c.p;
        if (kino__is_json_space(ch)) {
            c.p++;
            continue;
        }
        bool is_close = ch == '}' || ch == ']';
        if (state == VALUE || state == KEY) {
            if (is_close || ch == ',') {
                if (c.depth == 0 ||
                    (is_close && in_object(&c) != (ch == '}') && c.depth <= STACK_DEPTH))
                    return false;
                if (state == VALUE && in_object(&c))
                    count(&c, KINO__DAMAGE_MISSING_VALUE);
                else if (after_comma || ch == ',')
                    count(&c, KINO__DAMAGE_TRAILING_COMMA);
                state = AFTER; /* the bracket or comma is taken below */
            } else if (state == KEY) {
                if (ch != '"' || !take_string(&c))
                    return false;
                state = COLON;
                continue;
            } else if (ch == '{' || ch == '[') {
                push(&c, ch == '{');
                state = ch == '{' ? KEY : VALUE;
                after_comma = false;
                c.p++;
                continue;
            } else {
                if (!(ch == '"' ? take_string(&c) : take_bare(&c)))
                    return false;
                state = AFTER;
                if (c.depth == 0)
                    break;
                continue;
            }
        }
        if (state == COLON) {
            if (ch != ':')
                return false;
            c.p++;
            state = VALUE;
            after_comma = false;
            continue;
        }
        if (ch == ',') {
            c.p++;
            after_comma = true;
            state = in_object(&c) ? KEY : VALUE;
        } else if (is_close && (in_object(&c) == (ch == '}') || c.depth > STACK_DEPTH)) {
            c.p++;
            if (--c.depth == 0)
                break;
            state = AFTER;
        } else {
            return false;
        }
    }
    return c.depth == 0 && c.p == c.end && state == AFTER;
}
