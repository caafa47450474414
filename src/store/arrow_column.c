/* arrow_column.c - memory of one column on its way into an array: bitmaps of valid rows, texts. */
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "store/arrow_build.h"

void kino__arrow_column_deinit(kino__arrow_column *column)
{
    for (unsigned i = 0; i < KINO__ARROW_BUFFERS; i++)
        if (column->is_owned[i])
            free((void *)(uintptr_t)column->buffers[i]);
    if (column->dictionary && column->dictionary->release)
        column->dictionary->release(column->dictionary);
    free(column->dictionary);
    *column = (kino__arrow_column){0};
}

uint8_t *kino__arrow_bitmap_new(size_t length)
{
    uint8_t *bits = calloc(length / 8 + 1, 1);
    if (!bits)
        return NULL;
    memset(bits, 0xff, length / 8);
    bits[length / 8] = (uint8_t)((1u << length % 8) - 1);
    return bits;
}

bool kino__arrow_texts_init(kino__arrow_texts *texts, size_t capacity)
{
    *texts = (kino__arrow_texts){.capacity = capacity};
    size_t size;
    if (kino__mul_size(capacity + 1, sizeof *texts->offsets, &size))
        texts->offsets = malloc(size);
    if (texts->offsets)
        texts->offsets[0] = 0;
    return texts->offsets != NULL;
}

/* What is UTF-8 is copied as it is, up to the first byte that is not. */
static void add_mended(kino__buffer *out, kino_str text)
{
    const char *at = text.data, *end = text.data + text.size, *from = at;
    uint32_t code_point;
    while (at < end) {
        size_t size = kino__utf8_sequence(at, end, &code_point);
        if (size) {
            at += size;
            continue;
        }
        kino__buffer_add(out, (kino_str){from, (size_t)(at - from)});
        kino__buffer_add(out, KINO__STR(KINO__UTF8_REPLACEMENT));
        from = ++at;
    }
    kino__buffer_add(out, (kino_str){from, (size_t)(at - from)});
}

void kino__arrow_texts_add(kino__arrow_texts *texts, kino_str text)
{
    if (text.size)
        add_mended(&texts->bytes, text);
    if (texts->bytes.size > INT32_MAX) {
        texts->is_too_long = true;
        texts->bytes.size = 0;
    }
    texts->offsets[++texts->count] = (int32_t)texts->bytes.size;
}

kino_status kino__arrow_texts_finish(kino__arrow_texts *texts, kino__arrow_column *column,
                                     kino_error *err)
{
    if (!texts->bytes.data) /* consumers may look for a first byte even where there is none */
        (void)kino__buffer_reserve(&texts->bytes, 1);
    if (texts->is_too_long)
        return kino__fail(err, KINO_LIMIT, "a text column is larger than 2 GiB");
    if (texts->bytes.failed)
        return kino__fail_nomem(err);
    column->buffers[1] = texts->offsets;
    column->buffers[2] = texts->bytes.data;
    column->is_owned[1] = column->is_owned[2] = true;
    column->buffer_count = 3;
    *texts = (kino__arrow_texts){0};
    return KINO_OK;
}

void kino__arrow_texts_deinit(kino__arrow_texts *texts)
{
    kino__buffer_deinit(&texts->bytes);
    free(texts->offsets);
    texts->offsets = NULL;
}
