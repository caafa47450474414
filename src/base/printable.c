/* printable.c - text from files, names and processes, safe to show on a terminal. */
#include "base/printable.h"

#include <string.h>

#include "base/utf8.h"

bool kino__is_printable(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x0, 0x1f},      {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code_point >= hidden[i].first; i++)
        if (code_point <= hidden[i].last)
            return false;
    return true;
}

size_t kino__copy_printable(kino_str text, char *out, size_t room)
{
    size_t used = 0;
    const char *at = text.data, *end = text.size ? at + text.size : at;
    while (at < end) {
        uint32_t code_point = 0;
        size_t length = kino__utf8_sequence(at, end, &code_point);
        bool is_kept = length && kino__is_printable(code_point);
        size_t size = is_kept ? length : 1;
        if (used + size >= room)
            break;
        if (is_kept)
            memcpy(out + used, at, length);
        else
            out[used] = '?';
        used += size;
        at += length ? length : 1;
    }
    out[used] = 0;
    return used;
}
