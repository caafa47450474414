/* trace_config_rebuild.c - a request's text, put together again from what is known in it. What was
 * written between the lines, behind them or in other words than ours does not get through. */
#include "base/str.h"
#include "wire/trace_config.h"

static kino_str trim(kino_str text)
{
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (kino_str){text.data + 1, text.size - 1};
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* The next line leaves `rest`. false: there is none. A line without key and value gives two empty
 * texts. */
static bool next_line(kino_str *rest, kino_str *name, kino_str *value)
{
    if (!rest->size)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    kino_str line = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
    size_t used = line.size + (end != NULL);
    *rest = (kino_str){rest->data + used, rest->size - used};
    const char *comment = line.size ? memchr(line.data, '#', line.size) : NULL;
    if (comment)
        line.size = (size_t)(comment - line.data);
    const char *equal = line.size ? memchr(line.data, '=', line.size) : NULL;
    *name = *value = (kino_str){"", 0};
    if (equal) {
        *name = trim((kino_str){line.data, (size_t)(equal - line.data)});
        *value = trim((kino_str){equal + 1, (size_t)(line.data + line.size - equal - 1)});
    }
    return true;
}

static bool comes_again(kino_str rest, kino_str name)
{
    kino_str other, value;
    while (next_line(&rest, &other, &value))
        if (kino__str_equal(name, other))
            return true;
    return false;
}

void kino__config_rebuild(kino_str text, bool with_kino, kino__buffer *out)
{
    kino_str name, value;
    while (next_line(&text, &name, &value)) {
        bool is_kino = kino__str_starts_with(name, KINO__STR("KINO_"));
        if (!name.size || kino__config_key_kind_of(name) != KINO__CONFIG_KEY_REQUEST ||
            (is_kino && !with_kino) || kino__str_is(name, "REQUEST_TRACE_ID") ||
            comes_again(text, name))
            continue;
        kino__buffer_add(out, name);
        kino__buffer_add(out, KINO__STR("="));
        kino__buffer_add(out, value);
        kino__buffer_add(out, KINO__STR("\n"));
    }
}
