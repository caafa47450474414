/* kino_ring.c - a recording of libkino in a .kino file: chunks of its buffers. */
#include "reader/kino_ring.h"

#include "base/error.h"
#include "reader/ring_source.h"

/* A file with metadata has its events in columns; rings beside them would be news from a later
 * version, and are skipped like everything unknown. */
bool kino__kino_has_rings(const kino__kino_file *f)
{
    bool has_rings = false;
    for (size_t i = 0; i < f->chunks.count; i++) {
        if (f->chunks.items[i].kind == KINO__CHUNK_METADATA)
            return false;
        has_rings |= f->chunks.items[i].kind == KINO__CHUNK_RING;
    }
    return has_rings;
}

/* All ring chunks of a tag; they are never compressed. */
static void add_chunks(const kino__kino_file *f, kino__ring_image *image, uint16_t tag,
                       void (*add)(kino__ring_image *image, kino_str bytes))
{
    for (size_t i = 0; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_RING && c->tag == tag && c->codec == KINO__CHUNK_RAW)
            add(image, kino__chunk_payload(kino__kino_bytes(f), c));
    }
}

static kino_status add_meta(const kino__kino_file *f, kino__ring_image *image, kino_error *err)
{
    for (size_t i = 0; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_RING && c->tag == KINO__RING_TAG_META)
            return kino__ring_add_meta(image, kino__chunk_payload(kino__kino_bytes(f), c), err);
    }
    return kino__fail(err, KINO_FORMAT, "the header of the recording is damaged or missing");
}

static void free_file(void *bytes)
{
    kino__kino_file *f = bytes;
    f->text.free(&f->text);
}

kino_status kino__kino_load_rings(kino__kino_file *f, kino__trace *trace,
                                  const kino__load_context *context, kino_error *err)
{
    kino__ring_source *source = kino__ring_source_attach(trace, f, free_file);
    if (!source)
        return kino__fail_nomem(err);
    KINO_TRY(add_meta(f, &source->image, err));
    add_chunks(f, &source->image, KINO__RING_TAG_TEXTS, kino__ring_add_texts);
    add_chunks(f, &source->image, KINO__RING_TAG_SEGMENT, kino__ring_add_segment);
    return kino__ring_source_load(source, trace, f->file.size, context, err);
}
