/* kino_ring.c - any bytes as the buffers of a recorder: they become events, arguments, valid JSON
 * and a .kino file, or an error.
 *
 * Input: sizes of meta and texts (2 bytes each), meta, texts, and the rest as two segments of equal
 * size. Heads are set right where they would only stop the rest from being reached. */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "wire/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTS = 4 };

/* A copy at an address of its own, so that reading beyond it is found. */
static char *copy_part(const uint8_t **data, size_t *left, size_t size)
{
    if (size > *left)
        size = *left;
    char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, *data, size);
    *data += size;
    *left -= size;
    return copy;
}

static void write_all(const kino__ring_image *image, kino_str meta, kino_str texts)
{
    kino__buffer out = {0};
    kino__sink *sink = NULL;
    if (kino__memory_sink_new(&out, &sink, NULL) != KINO_OK)
        abort();
    if (kino__ring_write_json(image, "fuzz", sink, NULL) == KINO_OK &&
        !kino__json_is_valid(kino__buffer_str(&out)))
        abort();
    out.size = 0;
    if (kino__ring_write_kino(image, meta, texts, sink, NULL) != KINO_OK)
        abort();
    (void)kino__sink_close(sink, true, NULL);
    kino__buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t sizes[PARTS] = {(size_t)(data[0] | data[1] << 8), (size_t)(data[2] | data[3] << 8), 0,
                           0};
    size_t left = size - 4, rest = left;
    data += 4;
    for (int i = 0; i < 2; i++) {
        sizes[i] = sizes[i] < rest ? sizes[i] : rest;
        rest -= sizes[i];
    }
    sizes[2] = sizes[3] = rest / 2;
    char *parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = copy_part(&data, &left, sizes[i]);
    kino__ring_image image = {0};
    kino_str meta = {parts[0], sizes[0]}, texts = {parts[1], sizes[1]};
    if (sizes[0] >= sizeof(kino__ring_meta)) {
        memcpy(parts[0], KINO__RING_MAGIC, 8);
        ((kino__ring_meta *)(void *)parts[0])->version = KINO__RING_VERSION;
    }
    if (kino__ring_add_meta(&image, meta, NULL) == KINO_OK) {
        kino__ring_add_texts(&image, texts);
        for (int i = 2; i < PARTS; i++) {
            if (sizes[i] >= sizeof(kino__ring_segment))
                ((kino__ring_segment *)(void *)parts[i])->session = image.meta.session;
            kino__ring_add_segment(&image, (kino_str){parts[i], sizes[i]});
        }
        if (kino__ring_finish(&image, NULL) == KINO_OK)
            write_all(&image, meta, texts);
    }
    kino__ring_image_deinit(&image);
    for (int i = 0; i < PARTS; i++)
        free(parts[i]);
    return 0;
}
