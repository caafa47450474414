/* op_inputs.c - the inputs of an operator; see the header.
 *
 * The lists are walked side by side, entry by entry. */
#include "store/op_inputs.h"

#include "store/args.h"
#include "store/interval.h"

/* -- lists -- */

/* What is left of a list's text. */
typedef struct list {
    const char *at, *end;
} list;

static list list_of(kino_str text)
{
    if (text.size == 0 || (text.data[0] != '[' && text.data[0] != '('))
        return (list){text.data, text.data};
    return (list){text.data + 1, text.data + text.size};
}

static bool is_between(char c)
{
    return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r';
}

/* The next entry as written: a number, a text in quotes, a list. False at the end. */
static bool next_entry(list *l, kino_str *entry)
{
    const char *p = l->at;
    while (p < l->end && is_between(*p))
        p++;
    if (p == l->end || *p == ']' || *p == ')') {
        l->at = l->end;
        return false;
    }
    const char *start = p;
    int depth = 0;
    bool is_text = false;
    for (; p < l->end; p++) {
        if (is_text) {
            is_text = *p != '"';
            p += *p == '\\' && p + 1 < l->end;
        } else if (*p == '"') {
            is_text = true;
        } else if (*p == '[' || *p == '(') {
            depth++;
        } else if (((*p == ']' || *p == ')') && depth-- == 0) || (*p == ',' && depth == 0)) {
            break;
        }
    }
    l->at = p;
    *entry = (kino_str){start, (size_t)(p - start)};
    while (entry->size && is_between(entry->data[entry->size - 1]))
        entry->size--;
    return true;
}

static kino_str without_quotes(kino_str text)
{
    if (text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"')
        return (kino_str){text.data + 1, text.size - 2};
    return text;
}

/* -- items -- */

/* The integers of "[32, 3]" into numbers. *is_plain: nothing else was in it. */
static bool add_numbers(kino__op_inputs *inputs, kino_str text, uint32_t *first, uint32_t *count,
                        bool *is_plain)
{
    list l = list_of(text);
    kino_str entry;
    *first = (uint32_t)inputs->numbers.count;
    *is_plain = l.at != l.end;
    while (next_entry(&l, &entry)) {
        int64_t *number = kino__vec_add(&inputs->numbers);
        if (!number)
            return false;
        if (!kino__json_to_int(entry, number)) {
            inputs->numbers.count = *first;
            *is_plain = false;
            break;
        }
    }
    *count = (uint32_t)inputs->numbers.count - *first;
    return true;
}

/* What the entries of an argument say. */
typedef struct entries {
    kino_str dims, strides, type, value;
} entries;

static bool is_type_of_values(kino_str type)
{
    return type.size == 0 || kino__str_is(type, "Scalar") || kino__str_is(type, "ScalarList");
}

static bool add_item(kino__op_inputs *inputs, uint32_t argument, const entries *e, bool is_listed,
                     bool *is_plain)
{
    kino__op_input item = {.argument = argument,
                           .is_listed = is_listed,
                           .dtype = kino__dtype_of(e->type),
                           .type = e->type,
                           .value = e->value};
    bool has_strides;
    if (!add_numbers(inputs, e->dims, &item.first_size, &item.size_count, is_plain) ||
        !add_numbers(inputs, e->strides, &item.first_stride, &item.stride_count, &has_strides))
        return false;
    item.is_tensor = *is_plain && (item.size_count || is_listed || !is_type_of_values(e->type));
    kino__op_input *place = *is_plain || e->dims.size < 2 ? kino__vec_add(&inputs->items) : &item;
    if (!place)
        return false;
    *place = item;
    return true;
}

/* A list of tensors: [[2, 3], [4]]. */
static bool add_list(kino__op_inputs *inputs, uint32_t argument, const entries *e)
{
    list dims = list_of(e->dims), strides = list_of(e->strides);
    entries one = {.type = e->type};
    bool is_plain;
    while (next_entry(&dims, &one.dims)) {
        if (!next_entry(&strides, &one.strides))
            one.strides = (kino_str){0};
        if (!add_item(inputs, argument, &one, true, &is_plain))
            return false;
    }
    return true;
}

const char *const kino__shape_keys[KINO__SHAPE_KEYS] = {"Input Dims", "Input dims"};

kino_str kino__op_inputs_dims(kino_str args)
{
    kino_str dims = {"", 0};
    for (int i = 0; i < KINO__SHAPE_KEYS && dims.size == 0; i++)
        dims = kino__args_find(args, kino__str_from(kino__shape_keys[i]));
    return dims;
}

bool kino__op_inputs_read_lists(kino__op_inputs *inputs, kino_str dims, kino_str strides,
                                kino_str types, kino_str values)
{
    list all_dims = list_of(dims), all_strides = list_of(strides), all_types = list_of(types),
         all_values = list_of(values);
    inputs->items.count = inputs->numbers.count = 0;
    inputs->argument_count = 0;
    inputs->dims = dims;
    for (uint32_t argument = 0;; argument++) {
        entries e = {0};
        bool has_dims = next_entry(&all_dims, &e.dims), has_type = next_entry(&all_types, &e.type);
        bool has_value = next_entry(&all_values, &e.value), is_plain;
        (void)next_entry(&all_strides, &e.strides);
        if (!has_dims && !has_type && !has_value)
            return true;
        inputs->argument_count = argument + 1;
        e.type = without_quotes(e.type);
        e.value = without_quotes(e.value);
        if (!add_item(inputs, argument, &e, false, &is_plain) ||
            (!is_plain && e.dims.size >= 2 && !add_list(inputs, argument, &e)))
            return false;
    }
}

bool kino__op_inputs_read(kino__op_inputs *inputs, kino_str args)
{
    return kino__op_inputs_read_lists(inputs, kino__op_inputs_dims(args),
                                      kino__args_find(args, KINO__STR("Input Strides")),
                                      kino__args_find(args, KINO__STR("Input type")),
                                      kino__args_find(args, KINO__STR("Concrete Inputs")));
}

void kino__op_inputs_deinit(kino__op_inputs *inputs)
{
    kino__vec_deinit(&inputs->items);
    kino__vec_deinit(&inputs->numbers);
}

const kino__op_input *kino__op_inputs_at(const kino__op_inputs *inputs, uint32_t argument)
{
    for (size_t i = 0; i < inputs->items.count && inputs->items.items[i].argument <= argument; i++)
        if (inputs->items.items[i].argument == argument)
            return &inputs->items.items[i];
    return NULL;
}

/* -- values -- */

bool kino__op_input_to_int(const kino__op_input *input, int64_t *out)
{
    return kino__str_to_int(input->value, out);
}

bool kino__op_input_to_bool(const kino__op_input *input, bool *out)
{
    *out = kino__str_is(input->value, "True") || kino__str_is(input->value, "true");
    return *out || kino__str_is(input->value, "False") || kino__str_is(input->value, "false");
}

bool kino__op_input_to_ints(const kino__op_input *input, int64_t *out, uint32_t room,
                            uint32_t *count)
{
    int64_t number;
    *count = 0;
    if (kino__op_input_to_int(input, &number)) {
        if (room)
            out[(*count)++] = number;
        return true;
    }
    list l = list_of(input->value);
    bool is_list = l.at != l.end, is_true;
    kino__op_input entry = {0};
    while (next_entry(&l, &entry.value)) {
        if (kino__op_input_to_bool(&entry, &is_true))
            number = is_true;
        else if (!kino__op_input_to_int(&entry, &number))
            return false;
        if (*count < room)
            out[(*count)++] = number;
    }
    return is_list;
}

/* -- sizes -- */

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t kino__op_input_elements(const kino__op_inputs *inputs, const kino__op_input *input)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < input->size_count; i++)
        product = times(product, kino__op_input_sizes(inputs, input)[i]);
    return product;
}

int64_t kino__op_inputs_bytes(const kino__op_inputs *inputs)
{
    int64_t total = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (!input->is_tensor)
            continue;
        int64_t elements = kino__op_input_elements(inputs, input);
        if (input->dtype == KINO__DTYPE_NONE && elements > 1)
            return KINO_NO_INT;
        total = kino__sum(total, times(elements, kino__dtype_bytes(input->dtype)));
    }
    return inputs->dims.size ? total : KINO_NO_INT;
}
