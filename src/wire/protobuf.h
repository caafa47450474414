/* protobuf.h - messages of Protocol Buffers as bytes: reading them field by field, and writing.
 *
 * No schema: a reader switches on the numbers of the fields that it knows.
 *
 *   kino__proto message = kino__proto_start(bytes);
 *   kino__proto_field field;
 *   while (kino__proto_next(&message, &field))
 *       switch (field.number) {
 *       case 1: name = kino__proto_text(&field); break;
 *       case 2: submessage(kino__proto_start(kino__proto_text(&field))); break;
 *       }
 *   if (message.why) ...       what is wrong with the field at message.at
 *
 * Nothing is allocated and nothing outside the bytes is read, whatever they are. A field whose type
 * on the wire is not the expected one reads as 0 or empty. */
#ifndef KINO__WIRE_PROTOBUF_H
#define KINO__WIRE_PROTOBUF_H

#include <string.h>

#include "base/str.h"

typedef enum kino__proto_type {
    KINO__PROTO_VARINT = 0,
    KINO__PROTO_FIXED64 = 1,
    KINO__PROTO_BYTES = 2, /* texts, bytes, messages, packed numbers */
    KINO__PROTO_FIXED32 = 5,
} kino__proto_type;

typedef struct kino__proto {
    const unsigned char *begin, *at, *end;
    const char *why; /* why it ended before its end, or NULL */
} kino__proto;

typedef struct kino__proto_field {
    uint32_t number;
    kino__proto_type type;
    uint64_t value;   /* of all but BYTES: its size */
    const char *data; /* of BYTES */
} kino__proto_field;

static inline kino__proto kino__proto_start(kino_str bytes)
{
    const unsigned char *at = (const unsigned char *)(bytes.data ? bytes.data : "");
    return (kino__proto){at, at, at + bytes.size, NULL};
}

/* Where it stands, from the beginning. */
static inline size_t kino__proto_offset(const kino__proto *message)
{
    return (size_t)(message->at - message->begin);
}

/* A number of at most ten bytes at *at, which moves behind it; false: cut off or longer. */
bool kino__proto_varint_long(const unsigned char **at, const unsigned char *end, uint64_t *out);
static inline bool kino__proto_varint(const unsigned char **at, const unsigned char *end,
                                      uint64_t *out)
{
    if (*at < end && **at < 0x80) {
        *out = *(*at)++;
        return true;
    }
    return kino__proto_varint_long(at, end, out);
}

/* The next field, whatever its tag and length look like. */
bool kino__proto_next_any(kino__proto *message, kino__proto_field *out);

/* The next field; false at the end, and where the bytes are not a message (`why`). Tags, lengths and
 * values of one byte, which most are, take a few instructions. */
static inline bool kino__proto_next(kino__proto *message, kino__proto_field *out)
{
    const unsigned char *at = message->at;
    size_t left = (size_t)(message->end - at);
    if (left < 2 || at[0] >= 0x80 || at[1] >= 0x80 || at[0] < 8 || message->why)
        return kino__proto_next_any(message, out);
    out->number = at[0] >> 3;
    out->type = (kino__proto_type)(at[0] & 7);
    out->value = at[1];
    out->data = NULL;
    if (out->type == KINO__PROTO_BYTES && out->value <= left - 2)
        out->data = (const char *)at + 2;
    else if (out->type != KINO__PROTO_VARINT)
        return kino__proto_next_any(message, out);
    message->at = at + 2 + (out->data ? out->value : 0);
    return true;
}

static inline kino_str kino__proto_text(const kino__proto_field *field)
{
    return field->data ? (kino_str){field->data, (size_t)field->value} : (kino_str){"", 0};
}

static inline uint64_t kino__proto_uint(const kino__proto_field *field)
{
    return field->data ? 0 : field->value;
}

static inline int64_t kino__proto_int(const kino__proto_field *field)
{
    return (int64_t)kino__proto_uint(field);
}

/* A double, or a float. */
double kino__proto_real(const kino__proto_field *field);

/* The numbers of a repeated field, packed or not: a field that is not packed is one number. */
typedef struct kino__proto_numbers {
    const unsigned char *at, *end;
    kino__proto_type type;
    uint64_t single;
    bool has_single;
} kino__proto_numbers;
/* `type` is that of the numbers: how packed ones are written. */
kino__proto_numbers kino__proto_numbers_of(const kino__proto_field *field, kino__proto_type type);
bool kino__proto_numbers_next(kino__proto_numbers *numbers, uint64_t *out);

/* -- writing: out->failed when memory is out -- */

void kino__proto_put_varint(kino__buffer *out, uint64_t value);
void kino__proto_put_uint(kino__buffer *out, uint32_t number, uint64_t value);
static inline void kino__proto_put_int(kino__buffer *out, uint32_t number, int64_t value)
{
    kino__proto_put_uint(out, number, (uint64_t)value);
}
void kino__proto_put_fixed64(kino__buffer *out, uint32_t number, uint64_t value);
void kino__proto_put_real(kino__buffer *out, uint32_t number, double value);
void kino__proto_put_text(kino__buffer *out, uint32_t number, kino_str text);

/* A message inside: what is written between begin and end. */
size_t kino__proto_begin(kino__buffer *out, uint32_t number);
void kino__proto_end(kino__buffer *out, size_t begun);

#endif
