/* str.h - string views: comparing, finding, and growing text buffers. */
#ifndef KINO__BASE_STR_H
#define KINO__BASE_STR_H

#include <string.h>

#include <kino/base.h>

#include "base/vec.h"

#define KINO__STR(literal) ((kino_str){(literal), sizeof(literal) - 1})
/* For printf: "%.*s", KINO__STR_ARG(s) */
#define KINO__STR_ARG(s) (int)((s).size > 4096 ? 4096 : (s).size), (s).data

static inline kino_str kino__str_from(const char *text)
{
    return (kino_str){text, text ? strlen(text) : 0};
}

static inline bool kino__str_equal(kino_str a, kino_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool kino__str_is(kino_str a, const char *b)
{
    return kino__str_equal(a, kino__str_from(b));
}

bool kino__str_starts_with(kino_str text, kino_str prefix);
bool kino__str_contains(kino_str text, kino_str part);
bool kino__str_ends_with(kino_str text, kino_str suffix);

/* Byte order, shorter first on a tie; the order of every sorted list we print. */
int kino__str_compare(kino_str a, kino_str b);

/* The whole text as a decimal integer; false when it is anything else or does not fit. */
bool kino__str_to_int(kino_str text, int64_t *out);

/* A fast hash of bytes for tables in memory; not stable across releases, never stored. */
uint64_t kino__hash_bytes(const void *data, size_t size);

/* A growing byte buffer with a failure that sticks: check `failed` once at the end. */
typedef struct kino__buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
    const kino__allocator *allocator;
} kino__buffer;

/* Room for `extra` bytes behind size; NULL (and failed) when there is none. */
char *kino__buffer_reserve(kino__buffer *buffer, size_t extra);
void kino__buffer_add(kino__buffer *buffer, kino_str text);
void kino__buffer_printf(kino__buffer *buffer, const char *format, ...) KINO_PRINTF(2, 3);
/* Gives back the room behind size. */
void kino__buffer_trim(kino__buffer *buffer);
void kino__buffer_deinit(kino__buffer *buffer);

static inline kino_str kino__buffer_str(const kino__buffer *buffer)
{
    return (kino_str){buffer->data, buffer->size};
}

#endif
