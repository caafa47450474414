/* arrow_event_values.c - values of columns of events.
 *
 * Times and codes (of names, categories, phases) are the store's memory as it is: only the bitmap
 * of valid rows is made, and only where a row has no value. Of chosen rows, and where the store may
 * release its columns, they are copied. Everything else is worked out row by row. */
#include <stdlib.h>

#include "query/arrow_event.h"

void *kino__event_own(kino__arrow_column *out, size_t width)
{
    size_t size;
    void *values = kino__mul_size(out->length + 1, width, &size) ? malloc(size) : NULL;
    out->buffers[1] = values;
    out->is_owned[1] = true;
    out->buffer_count = 2;
    return values;
}

#define GATHER(type)                                                                               \
    for (size_t i = 0; i < rows->count; i++)                                                       \
    ((type *)to)[i] = ((const type *)from)[kino__event_row(rows, i)]

bool kino__event_take(const kino__event_rows *rows, const void *from, size_t width,
                      kino__arrow_column *out)
{
    static const int64_t nothing = 0;
    if (!rows->rows && !rows->forms.must_copy) {
        out->buffers[1] = from ? from : &nothing;
        out->buffer_count = 2;
        return true;
    }
    void *to = kino__event_own(out, width);
    if (!to)
        return false;
    if (width == 8)
        GATHER(uint64_t);
    else if (width == 4)
        GATHER(uint32_t);
    else if (width == 2)
        GATHER(uint16_t);
    else
        GATHER(uint8_t);
    return true;
}

/* Eight rows are one byte of the bitmap; the loops are simple, so that compilers use vectors. */
#define MARK(type)                                                                                 \
    do {                                                                                           \
        const type *values = out->buffers[1];                                                      \
        size_t missing = 0, whole = out->length / 8;                                               \
        for (size_t i = 0; i < out->length; i++)                                                   \
            missing += values[i] < (type)least;                                                    \
        out->null_count = missing;                                                                 \
        if (!missing)                                                                              \
            return true;                                                                           \
        if (!(bits = calloc(whole + 1, 1)))                                                        \
            return false;                                                                          \
        for (size_t i = 0; i < whole; i++) {                                                       \
            unsigned byte = 0;                                                                     \
            for (unsigned k = 0; k < 8; k++)                                                       \
                byte |= (unsigned)(values[8 * i + k] >= (type)least) << k;                         \
            bits[i] = (uint8_t)byte;                                                               \
        }                                                                                          \
        for (size_t i = 8 * whole; i < out->length; i++)                                           \
            bits[i / 8] |= (uint8_t)((unsigned)(values[i] >= (type)least) << i % 8);               \
    } while (0)

bool kino__event_mark(kino__arrow_column *out, size_t width, int64_t least)
{
    uint8_t *bits = NULL;
    if (width == 8)
        MARK(int64_t);
    else if (width == 4)
        MARK(int32_t);
    else if (width == 2)
        MARK(int16_t);
    else
        MARK(int8_t);
    out->buffers[0] = bits;
    out->is_owned[0] = true;
    return true;
}

bool kino__event_fill_ints(const kino__event_rows *rows, kino__event_column column,
                           kino__arrow_column *out)
{
    int64_t *values = kino__event_own(out, sizeof *values);
    for (size_t i = 0; values && i < rows->count; i++)
        values[i] = kino__query_int(rows->qt, column, kino__event_row(rows, i));
    return values && !rows->qt->failed && kino__event_mark(out, 8, KINO_NO_INT + 1);
}

bool kino__event_fill_labels(const kino__event_rows *rows, bool is_pid, kino__arrow_column *out)
{
    int64_t *values = kino__event_own(out, sizeof *values);
    for (size_t i = 0; values && i < rows->count; i++) {
        const kino__track *track =
            &rows->trace->tracks.items[kino__query_track(rows->qt, kino__event_row(rows, i))];
        const kino__label *label = is_pid ? &track->pid : &track->tid;
        values[i] = label->kind == KINO__LABEL_INT ? label->number : KINO_NO_INT;
    }
    return values && kino__event_mark(out, 8, KINO_NO_INT + 1);
}
