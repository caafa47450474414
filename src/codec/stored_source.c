/* stored_source.c - bytes that are not packed, as files of archives may be. */
#include <stdlib.h>
#include <string.h>

#include "codec/source_internal.h"

typedef struct stored_source {
    kino__source base;
    size_t at;
} stored_source;

static size_t stored_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    stored_source *self = (stored_source *)source;
    size_t left = self->base.bytes.size - self->at;
    size = size < left ? size : left;
    (void)is_damaged;
    memcpy(out, self->base.bytes.data + self->at, size);
    self->at += size;
    return size;
}

static uint64_t stored_consumed(const kino__source *source)
{
    return ((const stored_source *)source)->at;
}

static void stored_close(kino__source *source)
{
    free(source);
}

static const kino__source_class stored_class = {stored_read, stored_consumed, NULL, stored_close};

kino__source *kino__stored_source_new(kino_str bytes)
{
    stored_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (kino__source){&stored_class, bytes};
    return &self->base;
}
