/* op_marker.c - fields of an op's range, by name, in any number. */
#include "names/op_marker.h"

#include "base/str.h"

static bool take(kino_str *text, kino_str prefix)
{
    if (!kino__str_starts_with(*text, prefix))
        return false;
    text->data += prefix.size;
    text->size -= prefix.size;
    return true;
}

static bool take_int(kino_str *text, int64_t *out)
{
    size_t size = text->size && text->data[0] == '-';
    while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9')
        size++;
    bool is_number = kino__str_to_int((kino_str){text->data, size}, out);
    text->data += size;
    text->size -= size;
    return is_number;
}

/* A list in brackets, which has numbers, brackets, commas and blanks only. */
static bool take_list(kino_str *text, kino_str *out)
{
    size_t size = 0;
    int depth = 0;
    do {
        char c = size < text->size ? text->data[size] : 0;
        if (!c || !strchr("[]() ,-0123456789", c))
            return false;
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        size++;
    } while (depth > 0);
    *out = (kino_str){text->data, size};
    text->data += size;
    text->size -= size;
    return size > 1;
}

static bool take_fields(kino_str rest, kino__op_marker *out)
{
    kino_str ids;
    while (rest.size) {
        bool is_read = false;
        if (take(&rest, KINO__STR(", seq = ")))
            is_read = take_int(&rest, &out->sequence);
        else if (take(&rest, KINO__STR(", op_id = ")))
            is_read = take_int(&rest, &out->op_id);
        else if (take(&rest, KINO__STR(", sizes = ")))
            is_read =
                take_list(&rest, &out->sizes) && !memchr(out->sizes.data, '(', out->sizes.size);
        else if (take(&rest, KINO__STR(", input_op_ids = ")))
            is_read = take_list(&rest, &ids);
        if (!is_read)
            return false;
    }
    return true;
}

/* Ends in "Backward" and perhaps digits, or is the engine's own range around such a node. */
bool kino__op_name_is_backward(kino_str name)
{
    size_t size = name.size;
    while (size > 0 && name.data[size - 1] >= '0' && name.data[size - 1] <= '9')
        size--;
    kino_str stem = {name.data, size};
    return kino__str_starts_with(name, KINO__STR("autograd::engine::evaluate_function: ")) ||
           kino__str_ends_with(stem, KINO__STR("Backward")) ||
           kino__str_ends_with(stem, KINO__STR("backward"));
}

kino_str kino__op_marker_name(kino_str text)
{
    static const kino_str fields[] = {{", seq = ", 8}, {", op_id = ", 10}, {", sizes = ", 10}};
    for (size_t i = 0; text.size && i < sizeof fields / sizeof *fields; i++) {
        const char *at = memmem(text.data, text.size, fields[i].data, fields[i].size);
        if (at)
            text.size = (size_t)(at - text.data);
    }
    return text;
}

static bool is_aten(kino_str name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] <= ' ' || name.data[i] == ',')
            return false;
    return kino__str_starts_with(name, KINO__STR("aten::"));
}

bool kino__op_marker_parse(kino_str text, kino__op_marker *out)
{
    *out = (kino__op_marker){.sequence = KINO_NO_INT, .op_id = KINO_NO_INT, .sizes = {"", 0}};
    if (!text.size || text.data[0] == '{')
        return false; /* the dictionaries of PyProf */
    out->name = kino__op_marker_name(text);
    size_t size = out->name.size;
    if (size == text.size)
        return is_aten(out->name);
    if (!size || !take_fields((kino_str){text.data + size, text.size - size}, out))
        return false;
    /* ops that are not differentiated had no number, later -1 */
    if (out->sequence < 0)
        out->sequence = KINO_NO_INT;
    out->is_backward = out->sequence != KINO_NO_INT && kino__op_name_is_backward(out->name);
    return true;
}
