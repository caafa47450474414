/* json_chars.h - the small parts of JSON's text, for all who read it: white space, escapes. */
#ifndef KINO__BASE_JSON_CHARS_H
#define KINO__BASE_JSON_CHARS_H

#include <string.h>

#include <kino/base.h>

/* White space as JSON has it, in no other sense. */
static inline bool kino__is_json_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline bool kino__is_hex_digit(char c)
{
    return (unsigned char)(c - '0') <= 9 || (unsigned char)((c | 0x20) - 'a') <= 5;
}

/* 0 to 15; -1: no hexadecimal digit. */
static inline int kino__hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return kino__is_hex_digit(c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* The length of the valid escape at the backslash, 2 or 6, or 0. */
static inline size_t kino__json_escape_size(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] != 'u')
        return at[1] && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
    bool is_code = end - at >= 6 && kino__is_hex_digit(at[2]) && kino__is_hex_digit(at[3]) &&
                   kino__is_hex_digit(at[4]) && kino__is_hex_digit(at[5]);
    return is_code ? 6 : 0;
}

#endif
