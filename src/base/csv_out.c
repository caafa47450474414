/* csv_out.c - see the header. */
#include "base/csv_out.h"

#include <math.h>

#include "base/decimal.h"
#include "base/json_out.h"

/* One comparison sorts out nearly all letters. */
static bool needs_quotes(kino_str text)
{
    if (text.size == 0 || text.data[0] == ' ' || text.data[text.size - 1] == ' ')
        return true;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if ((unsigned char)c <= ',' &&
            (c == ',' || c == '"' || c == '\n' || c == '\r' || c == '\0'))
            return true;
    }
    return false;
}

void kino__csv_add_text(kino__buffer *out, kino_str text)
{
    if (!needs_quotes(text)) {
        kino__buffer_add(out, text);
        return;
    }
    kino__buffer_add(out, KINO__STR("\""));
    while (text.size) {
        const char *quote = memchr(text.data, '"', text.size);
        size_t size = quote ? (size_t)(quote - text.data) + 1 : text.size;
        kino__buffer_add(out, (kino_str){text.data, size});
        if (quote)
            kino__buffer_add(out, KINO__STR("\""));
        text = (kino_str){text.data + size, text.size - size};
    }
    kino__buffer_add(out, KINO__STR("\""));
}

void kino__csv_add_int(kino__buffer *out, int64_t value)
{
    char *to = kino__buffer_reserve(out, KINO__DECIMAL_MAX);
    if (to)
        out->size += kino__format_int(value, to);
}

void kino__csv_add_double(kino__buffer *out, double value)
{
    char text[32];
    if (isfinite(value))
        kino__buffer_add(out, (kino_str){text, kino__double_to_text(value, text)});
}
