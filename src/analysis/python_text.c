/* python_text.c - one pass over the letters of a JSON value; only what Python writes differently is
 * changed: blanks, words, quotes, and numbers with a point. */
#include "analysis/python_text.h"

#include "base/json_out.h"
#include "store/args.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.' || c == '_';
}

/* Behind the string that begins at `at`. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* In single quotes, unless there is one inside and no double one. */
static void add_quoted(kino_str json, kino__buffer *scratch, kino__buffer *out)
{
    scratch->size = 0;
    kino__json_unescape(json, scratch);
    kino_str text = kino__buffer_str(scratch);
    bool is_double = text.size && memchr(text.data, '\'', text.size) != NULL &&
                     memchr(text.data, '"', text.size) == NULL;
    char quote = is_double ? '"' : '\'';
    kino__buffer_add(out, (kino_str){&quote, 1});
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n' || c == '\r' || c == '\t')
            kino__buffer_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 32 || c == 127)
            kino__buffer_printf(out, "\\x%02x", c);
        else if (c == '\\' || c == (unsigned char)quote)
            kino__buffer_printf(out, "\\%c", c);
        else
            kino__buffer_add(out, (kino_str){text.data + i, 1});
    }
    kino__buffer_add(out, (kino_str){&quote, 1});
}

static void add_word(kino_str word, kino__buffer *out)
{
    char digits[32];
    double number;
    if (kino__str_is(word, "true"))
        kino__buffer_add(out, KINO__STR("True"));
    else if (kino__str_is(word, "false"))
        kino__buffer_add(out, KINO__STR("False"));
    else if (kino__str_is(word, "null"))
        kino__buffer_add(out, KINO__STR("None"));
    else if ((memchr(word.data, '.', word.size) || memchr(word.data, 'e', word.size) ||
              memchr(word.data, 'E', word.size)) &&
             kino__json_to_double(word, &number))
        kino__buffer_add(out, (kino_str){digits, kino__double_to_text(number, digits)});
    else
        kino__buffer_add(out, word);
}

void kino__python_text(kino_str json, kino__buffer *out)
{
    const char *at = json.data, *end = json.data + json.size;
    while (at < end && is_blank(*at))
        at++;
    if (at < end && *at == '"') {
        kino__json_unescape((kino_str){at, (size_t)(end - at)}, out);
        return;
    }
    kino__buffer scratch = {.allocator = out->allocator};
    while (at < end) {
        const char *first = at;
        if (*at == '"') {
            at = string_end(at, end);
            add_quoted((kino_str){first, (size_t)(at - first)}, &scratch, out);
        } else if (is_word(*at)) {
            while (at < end && is_word(*at))
                at++;
            add_word((kino_str){first, (size_t)(at - first)}, out);
        } else {
            if (!is_blank(*at))
                kino__buffer_add(out, (kino_str){at, 1});
            if (*at == ',' || *at == ':')
                kino__buffer_add(out, KINO__STR(" "));
            at++;
        }
    }
    out->failed |= scratch.failed;
    kino__buffer_deinit(&scratch);
}
