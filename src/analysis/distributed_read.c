/* distributed_read.c - size and process group of a collective, from the arguments of its events.
 *
 * Newer profilers write them on the kernel ("In msg nelems", "dtype", "Process Group Name",
 * "Process Group Ranks", "Collective name"); older ones only the shapes and types of the inputs on
 * the host's span. */
#include "analysis/distributed/distributed.h"
#include "store/args.h"

typedef struct element {
    const char *name;
    int64_t size;
    bool is_compat; /* the plugin knows it */
} element;

/* As tensors and as the metadata of collectives call them. */
static const element elements[] = {
    {"long int", 8, true},
    {"float", 4, true},
    {"int", 4, true},
    {"c10::Half", 2, true},
    {"c10::BFloat16", 2, true},
    {"unsigned char", 1, true},
    {"double", 8, false},
    {"long", 8, false},
    {"short", 2, false},
    {"short int", 2, false},
    {"bool", 1, false},
    {"signed char", 1, false},
    {"char", 1, false},
    {"c10::complex<float>", 8, false},
    {"c10::complex<double>", 16, false},
    {"c10::Float8_e4m3fn", 1, false},
    {"c10::Float8_e5m2", 1, false},
    {"Double", 8, false},
    {"Float", 4, false},
    {"Half", 2, false},
    {"BFloat16", 2, false},
    {"Long", 8, false},
    {"Int", 4, false},
    {"Short", 2, false},
    {"Char", 1, false},
    {"Byte", 1, false},
    {"Bool", 1, false},
    {"ComplexFloat", 8, false},
    {"ComplexDouble", 16, false},
    {"Float8_e4m3fn", 1, false},
    {"Float8_e5m2", 1, false},
};

/* In quotes, as the text has it; KINO_NO_INT: not known. */
static int64_t element_size(kino_str type, bool is_compat)
{
    if (type.size >= 2 && type.data[0] == '"')
        type = (kino_str){type.data + 1, type.size - 2};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if ((elements[i].is_compat || !is_compat) && kino__str_is(type, elements[i].name))
            return elements[i].size;
    return is_compat ? 0 : KINO_NO_INT;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* One element of a JSON array behind *at, numbers, texts or arrays; false at the end. */
static bool next_item(const char **at, const char *end, kino_str *item)
{
    const char *p = *at;
    while (p < end && (*p == ' ' || *p == ',' || *p == '\n' || *p == '\t'))
        p++;
    if (p == end || *p == ']')
        return false;
    const char *start = p;
    int depth = 0;
    bool is_text = false;
    for (; p < end; p++) {
        if (is_text) {
            if (*p == '\\' && p + 1 < end)
                p++;
            else if (*p == '"')
                is_text = false;
        } else if (*p == '"') {
            is_text = true;
        } else if (*p == '[') {
            depth++;
        } else if (*p == ']' && depth-- == 0) {
            break;
        } else if (*p == ',' && depth == 0) {
            break;
        }
    }
    *item = (kino_str){start, (size_t)(p - start)};
    while (item->size && item->data[item->size - 1] == ' ')
        item->size--;
    *at = p;
    return true;
}

static const char *inside(kino_str array)
{
    return array.size && array.data[0] == '[' ? array.data + 1 : array.data + array.size;
}

/* The product of "[32, 3]"; 1 of "[]". False when it is no list of integers (lists of tensors
 * are). */
static bool product_of(kino_str shape, int64_t *out)
{
    const char *at = inside(shape), *end = shape.data + shape.size;
    kino_str item;
    *out = 1;
    if (at == end)
        return false;
    while (next_item(&at, end, &item)) {
        int64_t size;
        if (!kino__json_to_int(item, &size))
            return false;
        *out = times(*out, size);
    }
    return true;
}

/* Bytes of one input: a tensor, or a list of tensors of one type ([[2, 3], [4]]). */
static int64_t bytes_of(kino_str shape, kino_str type, bool is_compat)
{
    int64_t count, bytes = element_size(type, is_compat);
    if (product_of(shape, &count))
        return bytes == KINO_NO_INT ? (count > 1 ? KINO_NO_INT : 0) : times(count, bytes);
    int64_t total = 0;
    const char *at = inside(shape), *end = shape.data + shape.size;
    kino_str item;
    while (!is_compat && bytes != KINO_NO_INT && next_item(&at, end, &item))
        if (product_of(item, &count))
            total = kino__sum(total, times(count, bytes));
    return total;
}

/* From "Input Dims" and "Input type" of the host's span; KINO_NO_INT where there are none (the
 * plugin says 0). */
static int64_t size_of_inputs(kino_str args, bool is_compat)
{
    kino_str dims = kino__args_find(args, KINO__STR("Input Dims"));
    if (dims.size == 0)
        dims = kino__args_find(args, KINO__STR("Input dims"));
    kino_str types = kino__args_find(args, KINO__STR("Input type"));
    const char *d = inside(dims), *t = inside(types);
    kino_str shape, type;
    int64_t total = 0;
    size_t count = 0;
    for (; next_item(&d, dims.data + dims.size, &shape); count++) {
        if (!next_item(&t, types.data + types.size, &type))
            type = (kino_str){"", 0};
        int64_t bytes = bytes_of(shape, type, is_compat);
        if (bytes == KINO_NO_INT)
            return bytes;
        total = kino__sum(total, bytes);
    }
    return count || is_compat ? total : KINO_NO_INT;
}

static int64_t size_of_message(kino_str args)
{
    int64_t count, bytes = element_size(kino__args_find(args, KINO__STR("dtype")), false);
    kino_str elements_in = kino__args_find(args, KINO__STR("In msg nelems"));
    if (bytes == KINO_NO_INT || !kino__json_to_int(elements_in, &count))
        return KINO_NO_INT;
    return times(count, bytes);
}

/* "0 [0, 1]": name and ranks of the process group. */
static bool read_group(kino_str args, kino__string_pool *texts, kino__dist_call *out)
{
    kino_str name = kino__args_find(args, KINO__STR("Process Group Name"));
    kino_str ranks = kino__args_find(args, KINO__STR("Process Group Ranks"));
    kino_str collective = kino__args_find(args, KINO__STR("Collective name"));
    kino__buffer text = {0};
    if (name.size || ranks.size) {
        kino__buffer_printf(&text, "%.*s %.*s", KINO__STR_ARG(name), KINO__STR_ARG(ranks));
        out->group = kino__string_pool_add(texts, kino__buffer_str(&text));
    }
    bool ok = !text.failed && (out->group != KINO_NO_STRING || !(name.size || ranks.size));
    text.size = 0;
    if (collective.size)
        kino__json_unescape(collective, &text);
    if (text.size) {
        out->name = kino__string_pool_add(texts, kino__buffer_str(&text));
        ok = ok && out->name != KINO_NO_STRING;
    }
    ok = ok && !text.failed;
    kino__buffer_deinit(&text);
    return ok;
}

bool kino__dist_read_call(const kino__trace *trace, uint32_t span, uint32_t kernel, bool is_compat,
                          kino__string_pool *texts, kino__text_cursor *cursor, kino__dist_call *out)
{
    *out = (kino__dist_call){KINO_NO_INT, KINO_NO_STRING, KINO_NO_STRING};
    if (!is_compat && kernel != KINO_NO_ROW) {
        kino_str args = kino__args_text(trace, kernel, cursor);
        out->size = size_of_message(args);
        if (!read_group(args, texts, out))
            return false;
    }
    if (out->size == KINO_NO_INT && span != kernel)
        out->size = size_of_inputs(kino__args_text(trace, span, cursor), is_compat);
    return true;
}
