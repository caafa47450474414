/* body.h - bytes of an answer, shared by the cache and all who are being sent them. */
#ifndef KINO__SERVER_BODY_H
#define KINO__SERVER_BODY_H

#include <stdatomic.h>

#include <kino/base.h>

#include "base/str.h"

typedef struct kino__body {
    atomic_uint references;
    size_t size;
    char *data;
} kino__body;

/* Takes the buffer's bytes (the buffer is empty afterwards, also on failure); NULL when memory is
 * out. */
kino__body *kino__body_take(kino__buffer *buffer);
kino__body *kino__body_ref(kino__body *body); /* NULL stays NULL */
void kino__body_unref(kino__body *body);
/* The same bytes in gzip; NULL when memory is out or it would not be smaller. */
kino__body *kino__body_gzip(const kino__body *body);

/* Bytes out of gzip, as large as `size` says; false when they are not that. */
bool kino__gunzip(kino_str packed, char *out, size_t size);

#endif
