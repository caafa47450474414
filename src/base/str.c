/* str.c - string views and byte buffers. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

bool kino__str_starts_with(kino_str text, kino_str prefix)
{
    return prefix.size == 0 ||
           (text.size >= prefix.size && memcmp(text.data, prefix.data, prefix.size) == 0);
}

bool kino__str_contains(kino_str text, kino_str part)
{
    return part.size == 0 ||
           (text.size && memmem(text.data, text.size, part.data, part.size) != NULL);
}

bool kino__str_ends_with(kino_str text, kino_str suffix)
{
    return suffix.size == 0 ||
           (text.size >= suffix.size &&
            memcmp(text.data + text.size - suffix.size, suffix.data, suffix.size) == 0);
}

int kino__str_compare(kino_str a, kino_str b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order)
        return order;
    return (a.size > b.size) - (a.size < b.size);
}

bool kino__str_to_int(kino_str text, int64_t *out)
{
    *out = 0;
    size_t i = 0;
    bool negative = text.size && text.data[0] == '-';
    i += negative;
    if (i == text.size)
        return false;
    int64_t value = 0;
    for (; i < text.size; i++) {
        unsigned digit = (unsigned char)text.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value)) /* negative holds INT64_MIN */
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

/* Multiply-fold over 16 bytes at a time; the tail is read with overlapping loads. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

uint64_t kino__hash_bytes(const void *data, size_t size)
{
    static const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xc2b2ae3d27d4eb4fu,
                          k2 = 0x165667b19e3779f9u;
    const char *p = data;
    uint64_t h = k2 ^ size;
    size_t left = size;
    while (left > 16) {
        h = fold(load64(p) ^ k0 ^ h, load64(p + 8) ^ k1);
        p += 16;
        left -= 16;
    }
    uint64_t a = 0, b = 0;
    if (left >= 8) {
        a = load64(p);
        b = load64(p + left - 8);
    } else if (left >= 4) {
        uint32_t x, y;
        memcpy(&x, p, 4);
        memcpy(&y, p + left - 4, 4);
        a = x;
        b = y;
    } else if (left) {
        a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[left >> 1] << 8 |
            (unsigned char)p[left - 1];
    }
    return fold(a ^ k0 ^ h, b ^ k1 ^ (h << 1 | 1));
}

char *kino__buffer_reserve(kino__buffer *buffer, size_t extra)
{
    if (buffer->failed)
        return NULL;
    if (buffer->capacity - buffer->size < extra &&
        !kino__vec_grow((void **)&buffer->data, &buffer->capacity, buffer->size, extra, 1,
                        buffer->allocator)) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void kino__buffer_add(kino__buffer *buffer, kino_str text)
{
    char *to = text.size ? kino__buffer_reserve(buffer, text.size) : NULL;
    if (!to)
        return;
    memcpy(to, text.data, text.size);
    buffer->size += text.size;
}

void kino__buffer_printf(kino__buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = n < 0 ? NULL : kino__buffer_reserve(buffer, (size_t)n + 1);
    if (to && vsnprintf(to, (size_t)n + 1, format, again) == n)
        buffer->size += (size_t)n;
    va_end(again);
}

void kino__buffer_trim(kino__buffer *buffer)
{
    kino__vec_shrink((void **)&buffer->data, &buffer->capacity, buffer->size, 1, buffer->allocator);
}

void kino__buffer_deinit(kino__buffer *buffer)
{
    kino__resize(buffer->allocator, buffer->data, buffer->capacity, 0);
    *buffer = (kino__buffer){0};
}
