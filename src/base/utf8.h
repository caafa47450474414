/* utf8.h - stepping through text that may not be UTF-8; writing code points. */
#ifndef KINO__BASE_UTF8_H
#define KINO__BASE_UTF8_H

#include <kino/base.h>

/* The length of the valid UTF-8 sequence at `at` (1 to 4) and its code point, or 0 when the byte
 * there begins none: surrogates, overlong forms and cut sequences are not valid. Needs at < end. */
static inline size_t kino__utf8_sequence(const char *at, const char *end, uint32_t *code_point)
{
    const unsigned char *s = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    if (s[0] < 0x80) {
        *code_point = s[0];
        return 1;
    }
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || left < length)
        return 0;
    uint32_t value = s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3fu);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code_point = value;
    return length;
}

/* Writes a code point, 1 to 4 bytes; returns where it ends. */
static inline char *kino__utf8_put(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xe0 | code >> 12);
        } else {
            *out++ = (char)(0xf0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (code & 0x3f));
    return out;
}

#define KINO__UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

#endif
