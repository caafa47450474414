/* glob.c - patterns of names. Only the last star is ever tried again, which is enough: what an
 * earlier one took cannot help a later part that fits nowhere. */
#include "base/glob.h"

/* The end of the character at `at`: continuation bytes belong to it. */
static size_t next_character(kino_str text, size_t at)
{
    at++;
    while (at < text.size && ((unsigned char)text.data[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* At a '[': the place behind its ']', or 0 when it is never closed. *fits: is the byte in it? */
static size_t match_set(kino_str pattern, size_t at, unsigned char c, bool *fits)
{
    size_t i = at + 1;
    bool is_negated = i < pattern.size && (pattern.data[i] == '!' || pattern.data[i] == '^');
    bool found = false;
    i += is_negated;
    for (size_t first = i; i < pattern.size; i++) {
        if (pattern.data[i] == ']' && i > first) {
            *fits = found != is_negated;
            return i + 1;
        }
        unsigned char low = (unsigned char)pattern.data[i], high = low;
        if (i + 2 < pattern.size && pattern.data[i + 1] == '-' && pattern.data[i + 2] != ']') {
            high = (unsigned char)pattern.data[i + 2];
            i += 2;
        }
        found |= low <= c && c <= high;
    }
    return 0;
}

/* One character of both, not a star; false when they do not fit. */
static bool match_one(kino_str pattern, size_t *p, kino_str text, size_t *t)
{
    char c = pattern.data[*p];
    bool fits;
    size_t behind;
    if (*t == text.size)
        return false;
    if (c == '?') {
        ++*p;
        *t = next_character(text, *t);
        return true;
    }
    if (c == '[' && (behind = match_set(pattern, *p, (unsigned char)text.data[*t], &fits))) {
        *p = behind;
        *t = next_character(text, *t);
        return fits;
    }
    *p += c == '\\' && *p + 1 < pattern.size;
    return pattern.data[(*p)++] == text.data[(*t)++];
}

bool kino__glob_match(kino_str pattern, kino_str text)
{
    size_t p = 0, t = 0;
    size_t star = SIZE_MAX, star_text = 0; /* behind the last star, and what it has taken */
    for (;;) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = ++p;
            star_text = t;
            continue;
        }
        if (p == pattern.size && t == text.size)
            return true;
        if (p < pattern.size && match_one(pattern, &p, text, &t))
            continue;
        if (star == SIZE_MAX || star_text >= text.size)
            return false;
        p = star;
        t = ++star_text;
    }
}
