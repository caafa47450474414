/* frame_types.c - names of work on a device as people read them. */
#include "model/frame/frame_internal.h"

kino_str kino__memory_kind(kino_str name)
{
    enum { KIND_SIZE = 11 }; /* "Memcpy DtoH" */
    if (kino__str_starts_with(name, KINO__STR("Memset")))
        return KINO__STR("Memset");
    if (!kino__str_starts_with(name, KINO__STR("Memcpy")))
        return KINO__STR("Memcpy Unknown");
    return (kino_str){name.data, name.size < KIND_SIZE ? name.size : KIND_SIZE};
}

/* Goes back to the last `open` that is left, which goes too; everything goes when there is none. */
static void pop_to(kino__buffer *out, size_t start, char open)
{
    while (out->size > start && out->data[--out->size] != open)
        ;
}

void kino__short_name(kino_str name, bool is_memory, kino__buffer *out)
{
    bool has_brackets =
        memchr(name.data, '<', name.size) != NULL || memchr(name.data, '(', name.size) != NULL;
    size_t start = out->size;
    if (is_memory || !has_brackets) {
        kino__buffer_add(out, name);
        return;
    }
    if (!kino__buffer_reserve(out, name.size))
        return;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (c == '-' && i + 1 < name.size && name.data[i + 1] == '>')
            i++;
        else if (c == '>')
            pop_to(out, start, '<');
        else if (c == ')')
            pop_to(out, start, '(');
        else
            out->data[out->size++] = c;
    }
    const char *text = out->data + start;
    size_t size = out->size - start;
    const char *blank = size ? memrchr(text, ' ', size) : NULL;
    if (blank) {
        size_t skip = (size_t)(blank + 1 - text);
        memmove(out->data + start, blank + 1, size - skip);
        out->size -= skip;
    }
}
