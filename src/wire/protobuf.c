/* protobuf.c - see the header. */
#include "wire/protobuf.h"

#include "wire/bytes.h"

enum { VARINT_BYTES = 10 };

bool kino__proto_varint_long(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    const unsigned char *p = *at;
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES && p < end; i++) {
        unsigned char byte = *p++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = value;
            *at = p;
            return true;
        }
    }
    return false;
}

static const unsigned char *fail(kino__proto *message, const char *why)
{
    message->why = why;
    return NULL;
}

static const unsigned char *take_fixed(kino__proto *message, const unsigned char *at, unsigned size,
                                       kino__proto_field *out)
{
    if ((size_t)(message->end - at) < size)
        return fail(message, "a number is cut off");
    out->value = kino__get_le(at, size);
    return at + size;
}

/* The value of the field whose tag ends at `at`; NULL: it is not well formed, and says why. */
static const unsigned char *take_value(kino__proto *message, const unsigned char *at,
                                       kino__proto_field *out)
{
    if (out->number == 0)
        return fail(message, "a field has no valid number");
    switch (out->type) {
    case KINO__PROTO_VARINT:
        if (!kino__proto_varint(&at, message->end, &out->value))
            return fail(message, "a number is cut off or longer than ten bytes");
        return at;
    case KINO__PROTO_FIXED64:
        return take_fixed(message, at, 8, out);
    case KINO__PROTO_FIXED32:
        return take_fixed(message, at, 4, out);
    case KINO__PROTO_BYTES:
        if (!kino__proto_varint(&at, message->end, &out->value))
            return fail(message, "a length is cut off or longer than ten bytes");
        if (out->value > (uint64_t)(message->end - at))
            return fail(message, "a length reaches beyond the end");
        out->data = (const char *)at;
        return at + out->value;
    }
    return fail(message, "a field has an unknown type");
}

bool kino__proto_next_any(kino__proto *message, kino__proto_field *out)
{
    const unsigned char *at = message->at;
    uint64_t tag;
    if (at == message->end || message->why)
        return false;
    if (!kino__proto_varint(&at, message->end, &tag)) {
        message->why = "a tag is cut off";
        return false;
    }
    out->number = tag >> 3 <= UINT32_MAX >> 3 ? (uint32_t)(tag >> 3) : 0;
    out->type = (kino__proto_type)(tag & 7);
    out->data = NULL;
    at = take_value(message, at, out);
    if (!at)
        return false;
    message->at = at;
    return true;
}

double kino__proto_real(const kino__proto_field *field)
{
    double value = 0;
    float narrow = 0;
    uint32_t bits = (uint32_t)field->value;
    if (field->type == KINO__PROTO_FIXED64)
        memcpy(&value, &field->value, sizeof value);
    else if (field->type == KINO__PROTO_FIXED32) {
        memcpy(&narrow, &bits, sizeof narrow);
        value = (double)narrow;
    }
    return value;
}

kino__proto_numbers kino__proto_numbers_of(const kino__proto_field *field, kino__proto_type type)
{
    kino__proto_numbers numbers = {.type = type};
    if (field->data) {
        numbers.at = (const unsigned char *)field->data;
        numbers.end = numbers.at + field->value;
    } else {
        numbers.single = field->value;
        numbers.has_single = true;
    }
    return numbers;
}

bool kino__proto_numbers_next(kino__proto_numbers *numbers, uint64_t *out)
{
    unsigned size = numbers->type == KINO__PROTO_FIXED64 ? 8 : 4;
    if (numbers->has_single) {
        numbers->has_single = false;
        *out = numbers->single;
        return true;
    }
    if (numbers->type == KINO__PROTO_VARINT)
        return kino__proto_varint(&numbers->at, numbers->end, out);
    if ((size_t)(numbers->end - numbers->at) < size)
        return false;
    *out = kino__get_le(numbers->at, size);
    numbers->at += size;
    return true;
}

/* -- writing -- */

static size_t encode(uint64_t value, unsigned char to[VARINT_BYTES])
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (unsigned char)(value | 0x80);
    to[size++] = (unsigned char)value;
    return size;
}

void kino__proto_put_varint(kino__buffer *out, uint64_t value)
{
    char *to = kino__buffer_reserve(out, VARINT_BYTES);
    if (to)
        out->size += encode(value, (unsigned char *)to);
}

static void put_tag(kino__buffer *out, uint32_t number, kino__proto_type type)
{
    kino__proto_put_varint(out, (uint64_t)number << 3 | type);
}

void kino__proto_put_uint(kino__buffer *out, uint32_t number, uint64_t value)
{
    put_tag(out, number, KINO__PROTO_VARINT);
    kino__proto_put_varint(out, value);
}

void kino__proto_put_fixed64(kino__buffer *out, uint32_t number, uint64_t value)
{
    put_tag(out, number, KINO__PROTO_FIXED64);
    kino__bytes_add(out, value, 8);
}

void kino__proto_put_real(kino__buffer *out, uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kino__proto_put_fixed64(out, number, bits);
}

void kino__proto_put_text(kino__buffer *out, uint32_t number, kino_str text)
{
    put_tag(out, number, KINO__PROTO_BYTES);
    kino__proto_put_varint(out, text.size);
    kino__buffer_add(out, text);
}

/* One byte is left for the length; most messages need no more. */
size_t kino__proto_begin(kino__buffer *out, uint32_t number)
{
    put_tag(out, number, KINO__PROTO_BYTES);
    if (kino__buffer_reserve(out, 1))
        out->size++;
    return out->size;
}

void kino__proto_end(kino__buffer *out, size_t begun)
{
    unsigned char length[VARINT_BYTES];
    if (out->failed || !kino__buffer_reserve(out, VARINT_BYTES))
        return;
    size_t size = out->size - begun, bytes = encode(size, length);
    if (bytes > 1)
        memmove(out->data + begun + bytes - 1, out->data + begun, size);
    memcpy(out->data + begun - 1, length, bytes);
    out->size += bytes - 1;
}
