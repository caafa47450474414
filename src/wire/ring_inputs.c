/* ring_inputs.c - the inputs of operators as JSON, with Kineto's names and texts.
 *
 * A recording has them one by one (kino_arg_input) or packed (kino_arg_inputs: words that
 * <kino/inputs.h> describes). Numbers become text here, not while recording. */
#include <stdio.h>
#include <string.h>

#include <kino/inputs.h>
#include <kino/kino.h>

#include "base/decimal.h"
#include "wire/ring_cursor.h"

/* -- going through the arguments of a record */

kino__ring_cursor kino__ring_args_of(const kino__ring_image *image, uint64_t position)
{
    const kino__ring_piece *piece = &image->pieces.items[position >> KINO__RING_POSITION_BITS];
    uint32_t index = position & 0xffff;
    return (kino__ring_cursor){image,
                               piece,
                               kino__ring_reference_to(piece, index),
                               position,
                               index + 1 + piece->records[index].following,
                               kino__ring_late_of(image, position)};
}

const kino_impl_v1_record *kino__ring_next_arg(kino__ring_cursor *c)
{
    const kino__ring_piece *piece = c->piece;
    if (c->next < piece->count) {
        const kino_impl_v1_record *record = &piece->records[c->next];
        if (record->kind == KINO_IMPL_V1_ARG && record->aux == c->reference &&
            record->following <= piece->count - 1 - c->next) {
            c->next += 1u + record->following;
            return record;
        }
        c->next = piece->count;
    }
    for (; c->late < c->image->late.count; c->late++) {
        const kino__ring_late *late = &c->image->late.items[c->late];
        if (late->of != c->position)
            return NULL;
        const kino_impl_v1_record *record = kino__ring_record(c->image, late->at);
        if (record->kind == KINO_IMPL_V1_ARG) {
            c->late++;
            return record;
        }
    }
    return NULL;
}

kino_str kino__ring_payload(const kino_impl_v1_record *record, uint64_t size)
{
    uint64_t most = (uint64_t)record->following * KINO__RING_RECORD_SIZE;
    return (kino_str){(const char *)(record + 1), (size_t)(size < most ? size : most)};
}

/* -- one input */

typedef struct input {
    uint32_t kind;  /* kino_input_kind */
    uint32_t count; /* of dims, of numbers in a list */
    bool has_strides;
    const char *bytes; /* dims and strides, or numbers: 8 bytes each */
    kino_str value;    /* the text of a scalar */
    kino_str type;
} input;

static input single_input(const kino__ring_image *image, const kino_impl_v1_record *record)
{
    input in = {.kind = record->end & 0xff, .count = record->end >> 8 & 0xffff};
    in.has_strides = record->end >> 24 & 1;
    uint64_t dims_size = (uint64_t)in.count * 8 * (in.has_strides ? 2 : 1);
    kino_str all = kino__ring_payload(record, dims_size + (record->end >> 32));
    if (in.count > KINO_INPUT_DIMS_MAX || all.size < dims_size) {
        in.count = 0;
        all.size = 0;
        dims_size = 0;
    }
    in.bytes = all.data;
    in.value = (kino_str){all.data + dims_size, all.size - (size_t)dims_size};
    in.type = record->text ? kino__ring_name_at(image, record->text)->name : KINO__STR("");
    return in;
}

static uint64_t word_at(const char *bytes, size_t index)
{
    uint64_t word;
    memcpy(&word, bytes + index * 8, sizeof word);
    return word;
}

/* Takes one off the packed ones; false: there are no more, or the rest is damaged. */
static bool take_packed(const kino__ring_image *image, kino_str *packed, input *out)
{
    if (packed->size < 8)
        return false;
    uint64_t head = word_at(packed->data, 0);
    uint32_t type = (uint32_t)(head >> 32);
    *out = (input){.kind = head & 0xff, .count = head >> 8 & 0xffff};
    out->has_strides = head >> 24 & 1;
    out->bytes = packed->data + 8;
    uint64_t size = kino_impl_v1_input_words(head) * 8;
    if (size > packed->size)
        return false;
    if (out->kind == KINO_INPUT_SCALAR)
        out->value = (kino_str){out->bytes, out->count};
    out->type = type ? kino__ring_name_at(image, type)->name : KINO__STR("");
    *packed = (kino_str){packed->data + size, packed->size - (size_t)size};
    return true;
}

/* -- the texts of values, as PyTorch prints them */

/* All digits, and a point after those that are whole. */
static void print_double(kino__buffer *out, uint64_t bits)
{
    char text[40];
    double value;
    memcpy(&value, &bits, sizeof value);
    int length = snprintf(text, sizeof text, "%.17g", value);
    bool is_plain = length > 0 && strspn(text, "-0123456789") == (size_t)length;
    kino__buffer_printf(out, "%s%s", text, is_plain ? "." : "");
}

static void print_int(kino__buffer *out, int64_t value)
{
    char digits[KINO__DECIMAL_MAX];
    kino__buffer_add(out, (kino_str){digits, kino__format_int(value, digits)});
}

static void print_number(kino__buffer *out, uint32_t kind, uint64_t word)
{
    if (kind == KINO_INPUT_DOUBLE || kind == KINO_INPUT_DOUBLES)
        print_double(out, word);
    else if (kind == KINO_INPUT_BOOL || kind == KINO_INPUT_BOOLS)
        kino__buffer_printf(out, "%s", word ? "True" : "False");
    else
        print_int(out, (int64_t)word);
}

static void add_value_text(kino__json *json, const input *in)
{
    kino__buffer text = {0};
    bool is_list = kino_impl_v1_input_is_list(in->kind);
    if (is_list)
        kino__buffer_add(&text, KINO__STR("["));
    if (is_list || kino_impl_v1_input_is_number(in->kind))
        for (uint32_t i = 0; i < in->count; i++) {
            if (i)
                kino__buffer_add(&text, KINO__STR(", "));
            print_number(&text, in->kind, word_at(in->bytes, i));
        }
    if (is_list)
        kino__buffer_add(&text, KINO__STR("]"));
    kino__json_string(json, text.size ? kino__buffer_str(&text) : in->value);
    kino__buffer_deinit(&text);
}

static kino_str type_text(const input *in)
{
    if (in->type.size)
        return in->type;
    if (kino_impl_v1_input_is_list(in->kind))
        return KINO__STR("ScalarList");
    return kino_impl_v1_input_is_number(in->kind) ? KINO__STR("Scalar") : KINO__STR("");
}

/* -- four lists side by side */

enum { LIST_DIMS, LIST_STRIDES, LIST_TYPES, LIST_VALUES, LIST_COUNT };

static void add_numbers(kino__json *json, const char *bytes, uint32_t count)
{
    kino__json_begin_array(json);
    for (uint32_t i = 0; i < count; i++)
        kino__json_int(json, (int64_t)word_at(bytes, i));
    kino__json_end_array(json);
}

static void add_dims(kino__json *json, const input *in, int list)
{
    bool is_there = in->kind == KINO_INPUT_TENSOR && (list == LIST_DIMS || in->has_strides);
    const char *numbers = in->bytes + (list == LIST_STRIDES ? (size_t)in->count * 8 : 0);
    add_numbers(json, numbers, is_there ? in->count : 0);
}

/* One input in one of the lists. Tensors within a list are one level deeper in dims and strides;
 * in types and values the list is one entry. */
static void add_input(kino__json *json, const input *in, int list, bool *in_list)
{
    bool has_levels = list == LIST_DIMS || list == LIST_STRIDES;
    if (in->kind == KINO_INPUT_LIST_BEGIN && !*in_list) {
        *in_list = true;
        if (has_levels)
            kino__json_begin_array(json);
        else
            kino__json_string(json, list == LIST_TYPES ? KINO__STR("TensorList") : in->value);
    } else if (in->kind == KINO_INPUT_LIST_END && *in_list) {
        *in_list = false;
        if (has_levels)
            kino__json_end_array(json);
    } else if (in->kind == KINO_INPUT_LIST_BEGIN || in->kind == KINO_INPUT_LIST_END ||
               in->kind > KINO_INPUT_BOOLS) {
        return;
    } else if (has_levels) {
        add_dims(json, in, list);
    } else if (!*in_list && list == LIST_TYPES) {
        kino__json_string(json, type_text(in));
    } else if (!*in_list) {
        add_value_text(json, in);
    }
}

static void add_list(const kino__ring_image *image, uint64_t position, int list, kino__json *json)
{
    kino__ring_cursor c = kino__ring_args_of(image, position);
    bool in_list = false;
    input in;
    for (const kino_impl_v1_record *record; (record = kino__ring_next_arg(&c));) {
        kino_str packed = record->flags == KINO_IMPL_V1_ARG_INPUTS
                              ? kino__ring_payload(record, record->end * 8)
                              : (kino_str){"", 0};
        if (record->flags == KINO_IMPL_V1_ARG_INPUT) {
            in = single_input(image, record);
            add_input(json, &in, list, &in_list);
        }
        while (take_packed(image, &packed, &in))
            add_input(json, &in, list, &in_list);
    }
    if (in_list && list <= LIST_STRIDES)
        kino__json_end_array(json);
}

void kino__ring_add_inputs(const kino__ring_image *image, uint64_t position, kino__json *json)
{
    static const char *const keys[LIST_COUNT] = {"Input Dims", "Input Strides", "Input type",
                                                 "Concrete Inputs"};
    for (int list = 0; list < LIST_COUNT; list++) {
        kino__json_key(json, keys[list]);
        kino__json_begin_array(json);
        add_list(image, position, list, json);
        kino__json_end_array(json);
    }
}
