/* name_rule.c - see the header. */
#include "names/name_rule.h"

#include <string.h>

static kino_str behind(kino_str text, size_t size)
{
    return (kino_str){text.data + size, text.size - size};
}

static bool starts_with(kino_str name, kino_str pattern)
{
    const char *star = memchr(pattern.data, '*', pattern.size);
    size_t size = star ? (size_t)(star - pattern.data) : pattern.size;
    if (!kino__str_starts_with(name, (kino_str){pattern.data, size}))
        return false;
    return !star || kino__str_contains(behind(name, size), behind(pattern, size + 1));
}

static bool is_version(kino_str rest)
{
    return rest.size == 0 || kino__str_starts_with(rest, KINO__STR("_v")) ||
           kino__str_starts_with(rest, KINO__STR("_ptsz"));
}

bool kino__name_fits(kino_str name, kino__name_rule rule, kino_str text)
{
    switch (rule) {
    case KINO__NAME_START:
        return starts_with(name, text);
    case KINO__NAME_ANYWHERE:
        return kino__str_contains(name, text);
    case KINO__NAME_WHOLE:
        return kino__str_starts_with(name, text) && is_version(behind(name, text.size));
    }
    return false;
}
