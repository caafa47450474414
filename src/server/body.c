/* body.c - counted bytes, and gzip as quick as it goes: most clients are on the same machine. */
#include "server/body.h"

#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_MEMORY = 8 };

kino__body *kino__body_take(kino__buffer *buffer)
{
    kino__body *body = buffer->failed ? NULL : malloc(sizeof *body);
    if (!body) {
        kino__buffer_deinit(buffer);
        return NULL;
    }
    atomic_init(&body->references, 1);
    body->size = buffer->size;
    body->data = buffer->data;
    /* The room that the buffer had left over would stay for long. */
    char *fit = buffer->size ? realloc(buffer->data, buffer->size) : NULL;
    if (fit)
        body->data = fit;
    *buffer = (kino__buffer){0};
    return body;
}

kino__body *kino__body_ref(kino__body *body)
{
    if (body) /* relaxed: who gives a reference has one */
        atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    return body;
}

void kino__body_unref(kino__body *body)
{
    /* Release and acquire: all who used it are done before it is freed. */
    if (!body || atomic_fetch_sub_explicit(&body->references, 1, memory_order_acq_rel) != 1)
        return;
    free(body->data);
    free(body);
}

kino__body *kino__body_gzip(const kino__body *body)
{
    z_stream z = {0};
    kino__buffer packed = {0};
    if (body->size > UINT32_MAX / 2 || deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW,
                                                    GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    char *room = kino__buffer_reserve(&packed, body->size);
    int rc = Z_MEM_ERROR;
    if (room) {
        z.next_in = (Bytef *)body->data;
        z.avail_in = (uInt)body->size;
        z.next_out = (Bytef *)room;
        z.avail_out = (uInt)body->size;
        rc = deflate(&z, Z_FINISH);
        packed.size = body->size - z.avail_out;
    }
    (void)deflateEnd(&z);
    if (rc == Z_STREAM_END)
        return kino__body_take(&packed);
    kino__buffer_deinit(&packed);
    return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): zlib writes through it */
bool kino__gunzip(kino_str packed, char *out, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.data,
                  .avail_in = (uInt)packed.size,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)size};
    if (packed.size > UINT32_MAX || size > UINT32_MAX || inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return false;
    int rc = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    return rc == Z_STREAM_END && z.avail_out == 0;
}
