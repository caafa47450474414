/* bytes.h - little-endian numbers and sized texts in byte strings: appending, and reading that
 * cannot run over the end. */
#ifndef KINO__WIRE_BYTES_H
#define KINO__WIRE_BYTES_H

#include "base/str.h"

static inline void kino__put_le(unsigned char *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t kino__get_le(const void *at, unsigned size)
{
    const unsigned char *bytes = at;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static inline void kino__bytes_add(kino__buffer *out, uint64_t value, unsigned size)
{
    char *at = kino__buffer_reserve(out, size);
    if (!at)
        return;
    kino__put_le((unsigned char *)at, value, size);
    out->size += size;
}

/* A text: its size in 4 bytes, then itself. */
static inline void kino__bytes_add_text(kino__buffer *out, kino_str text)
{
    kino__bytes_add(out, text.size, 4);
    kino__buffer_add(out, text);
}

/* Reading in order. Past the end everything is 0 and empty, and `failed` sticks. */
typedef struct kino__bytes {
    const char *at, *end;
    bool failed;
} kino__bytes;

static inline kino__bytes kino__bytes_start(kino_str bytes)
{
    const char *at = bytes.data ? bytes.data : ""; /* nothing may have no place */
    return (kino__bytes){at, at + bytes.size, false};
}

static inline kino_str kino__bytes_take(kino__bytes *bytes, uint64_t size)
{
    if (bytes->failed || size > (uint64_t)(bytes->end - bytes->at)) {
        bytes->failed = true;
        return (kino_str){"", 0};
    }
    kino_str taken = {bytes->at, (size_t)size};
    bytes->at += size;
    return taken;
}

static inline uint64_t kino__bytes_get(kino__bytes *bytes, unsigned size)
{
    kino_str taken = kino__bytes_take(bytes, size);
    return taken.size ? kino__get_le(taken.data, size) : 0;
}

static inline kino_str kino__bytes_get_text(kino__bytes *bytes)
{
    return kino__bytes_take(bytes, kino__bytes_get(bytes, 4));
}

#endif
