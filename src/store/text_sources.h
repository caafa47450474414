/* text_sources.h - making source texts, for readers. */
#ifndef KINO__STORE_TEXT_SOURCES_H
#define KINO__STORE_TEXT_SOURCES_H

#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "codec/source.h"
#include "store/text.h"

/* A plain file; the file is taken. NULL when memory is out (the file stays the caller's). */
kino__text *kino__mapped_text_take(kino__file *file);

typedef struct kino__restart {
    uint64_t offset;
    kino__snapshot *snapshot;
} kino__restart;

/* A compressed file with its restart points; the first must be at offset 0. */
typedef struct kino__packed_text {
    kino__text text; /* text.size is set by the reader when it knows */
    kino__file file;
    KINO__VEC(kino__restart) restarts;
} kino__packed_text;

kino__packed_text *kino__packed_text_take(kino__file *file);

/* Remembers the source's state as the restart point of `offset`. False when the format has none
 * here. */
bool kino__packed_text_add_restart(kino__packed_text *text, uint64_t offset,
                                   const kino__source *source);

/* Texts that are made when somebody asks have a kino__buffer as cursor. */
void *kino__made_cursor_new(const kino__text *text);
void kino__made_cursor_free(const kino__text *text, void *cursor);
/* What was put into the buffer, with the readable bytes behind it; empty when memory is out. */
kino_str kino__made_cursor_end(kino__buffer *out);

#endif
