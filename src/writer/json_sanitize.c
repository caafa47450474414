/* json_sanitize.c - damaged JSON text to valid JSON, one token at a time, never back, never
 * recursive.
 *
 * The state is a stack of open brackets and what may come next. A token that fits is written; one
 * that does not is made to fit by writing what is missing before it (comma, colon, null) or is
 * dropped. A comma is only remembered, and written when a further member really comes: so trailing
 * ones vanish. */
#include "base/json_chars.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "writer/json_text.h"

typedef enum expectation {
    EXPECT_MEMBER, /* a key in an object, a value in an array */
    EXPECT_COLON,
    EXPECT_VALUE, /* behind a colon, or at the top */
    EXPECT_COMMA, /* behind a member */
} expectation;

typedef struct mender {
    const char *at, *end;
    kino__buffer *out;
    uint64_t is_object[KINO__JSON_TEXT_DEPTH / 64];
    unsigned depth, object_count; /* open brackets, and how many of them are braces */
    expectation expect;
    bool has_members; /* of the innermost bracket: the next one needs a comma */
    bool after_comma; /* a comma was read: in an array another comma means a missing value */
    bool is_done;     /* the value at the top is complete */
} mender;

static void put(mender *m, const char *text, size_t size)
{
    kino__buffer_add(m->out, (kino_str){text, size});
}

static bool top_is_object(const mender *m)
{
    return m->depth && m->is_object[(m->depth - 1) / 64] >> ((m->depth - 1) % 64) & 1;
}

static void finish_value(mender *m)
{
    m->has_members = true;
    m->after_comma = false;
    m->expect = EXPECT_COMMA;
    m->is_done = m->depth == 0;
}

/* Makes a value possible here: writes the comma, or the key and colon, that are missing. */
static void before_value(mender *m)
{
    if (m->expect == EXPECT_COLON) {
        put(m, ":", 1);
    } else if (m->expect != EXPECT_VALUE) {
        if (m->has_members)
            put(m, ",", 1);
        if (top_is_object(m))
            put(m, "\"\":", 3);
    }
}

static void before_key(mender *m)
{
    if (m->has_members)
        put(m, ",", 1);
}

static bool wants_key(const mender *m)
{
    return top_is_object(m) && (m->expect == EXPECT_MEMBER || m->expect == EXPECT_COMMA);
}

static void put_null(mender *m)
{
    before_value(m);
    put(m, "null", 4);
    finish_value(m);
}

/* A key without a value gets null. */
static void complete_member(mender *m)
{
    if (m->expect == EXPECT_COLON || (m->expect == EXPECT_VALUE && m->depth))
        put_null(m);
}

static void put_control(mender *m, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    put(m, text, sizeof text);
}

/* One byte or sequence that is not plain, inside a string; m->at moves behind it. */
static void put_special(mender *m)
{
    unsigned char c = (unsigned char)*m->at;
    size_t size = 1;
    if (c == '\\') {
        size = kino__json_escape_size(m->at, m->end);
        if (size)
            put(m, m->at, size);
        else
            put(m, "\\\\", 2);
        m->at += size ? size : 1;
        return;
    }
    if (c == '"') {
        put(m, "\\\"", 2);
    } else if (c < 0x20) {
        put_control(m, c);
    } else {
        uint32_t code_point;
        size = kino__utf8_sequence(m->at, m->end, &code_point);
        if (size)
            put(m, m->at, size);
        else
            put(m, KINO__UTF8_REPLACEMENT, 3);
        size = size ? size : 1;
    }
    m->at += size;
}

/* Up to the closing quote (or the end), quotes included in the output. With is_inside the text is
 * all of it. */
static void put_string(mender *m, bool is_inside)
{
    put(m, "\"", 1);
    while (m->at < m->end) {
        const char *plain = m->at;
        m->at = kino__json_plain_end(m->at, m->end);
        put(m, plain, (size_t)(m->at - plain));
        if (m->at == m->end)
            break;
        if (*m->at == '"' && !is_inside) {
            m->at++;
            break;
        }
        put_special(m);
    }
    put(m, "\"", 1);
}

static void take_string(mender *m)
{
    bool is_key = wants_key(m);
    if (is_key)
        before_key(m);
    else
        before_value(m);
    m->at++;
    put_string(m, false);
    if (is_key)
        m->expect = EXPECT_COLON;
    else
        finish_value(m);
}

/* The end of a bracketed text, brackets counted and strings passed over. */
static const char *nested_end(const char *at, const char *end)
{
    size_t depth = 0;
    bool in_string = false;
    for (; at < end; at++) {
        if (in_string) {
            if (*at == '\\' && at + 1 < end)
                at++;
            else
                in_string = *at != '"';
        } else if (*at == '"') {
            in_string = true;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return end;
}

static void open_bracket(mender *m)
{
    before_value(m);
    if (m->depth == KINO__JSON_TEXT_DEPTH) {
        const char *stop = nested_end(m->at, m->end);
        kino__json_add_string(m->out, (kino_str){m->at, (size_t)(stop - m->at)});
        m->at = stop;
        finish_value(m);
        return;
    }
    uint64_t bit = UINT64_C(1) << (m->depth % 64);
    uint64_t *word = &m->is_object[m->depth++ / 64];
    *word = *m->at == '{' ? *word | bit : *word & ~bit;
    m->object_count += *m->at == '{';
    put(m, m->at++, 1);
    m->expect = EXPECT_MEMBER;
    m->has_members = m->after_comma = false;
}

static void close_top(mender *m)
{
    complete_member(m);
    bool is_object = top_is_object(m);
    put(m, is_object ? "}" : "]", 1);
    m->object_count -= is_object;
    m->depth--;
    finish_value(m);
}

/* Closes up to the bracket that this one fits; when none is open it is dropped. */
static void close_bracket(mender *m)
{
    bool is_object = *m->at++ == '}';
    bool found = is_object ? m->object_count : m->depth - m->object_count;
    while (found) {
        found = top_is_object(m) != is_object;
        close_top(m);
    }
}

static void take_comma(mender *m)
{
    m->at++;
    if (m->depth == 0)
        return;
    complete_member(m);
    if (!top_is_object(m) && m->expect == EXPECT_MEMBER && (m->after_comma || !m->has_members))
        put_null(m); /* [1,,2] */
    m->expect = EXPECT_MEMBER;
    m->after_comma = true;
}

static bool ends_word(char c, bool is_key)
{
    return (c && strchr(",]}[{\"\n\r", c)) || (is_key && c == ':');
}

/* Anything that is not a token of JSON's: a number or literal as it is, else in quotes. */
static void take_word(mender *m)
{
    bool is_key = wants_key(m);
    const char *start = m->at;
    while (m->at < m->end && !ends_word(*m->at, is_key))
        m->at++;
    const char *stop = m->at;
    while (stop > start && (unsigned char)stop[-1] <= ' ')
        stop--;
    kino_str word = {start, (size_t)(stop - start)};
    if (is_key)
        before_key(m);
    else
        before_value(m);
    if (!is_key && kino__json_is_strict(word))
        put(m, word.data, word.size);
    else
        kino__json_add_string(m->out, word);
    if (is_key)
        m->expect = EXPECT_COLON;
    else
        finish_value(m);
}

static void take_token(mender *m)
{
    switch (*m->at) {
    case '{':
    case '[':
        open_bracket(m);
        break;
    case '}':
    case ']':
        close_bracket(m);
        break;
    case ',':
        take_comma(m);
        break;
    case ':':
        m->at++;
        if (m->expect == EXPECT_COLON) {
            put(m, ":", 1);
            m->expect = EXPECT_VALUE;
        }
        break;
    case '"':
        take_string(m);
        break;
    default:
        take_word(m);
        break;
    }
}

static void mend(kino_str text, kino__buffer *out)
{
    mender m = {.at = text.data,
                .end = text.size ? text.data + text.size : text.data,
                .out = out,
                .expect = EXPECT_VALUE};
    while (!m.is_done && !out->failed) {
        while (m.at < m.end && (unsigned char)*m.at <= ' ')
            m.at++;
        if (m.at == m.end)
            break;
        take_token(&m);
    }
    if (m.is_done)
        return;
    if (m.depth == 0)
        put_null(&m);
    while (m.depth)
        close_top(&m);
}

void kino__json_sanitize(kino_str text, kino__buffer *out)
{
    if (kino__json_is_strict(text))
        kino__buffer_add(out, text);
    else
        mend(text, out);
}

void kino__json_sanitize_string(kino_str inside, kino__buffer *out)
{
    mender m = {.at = inside.data,
                .end = inside.size ? inside.data + inside.size : inside.data,
                .out = out};
    put_string(&m, true);
}
