/* ring_source.h - a recording of libkino as the events and the text of a trace, wherever its bytes
 * come from: a .kino file (kino_ring.c), or the folder of a process (ring_folder.c). */
#ifndef KINO__READER_RING_SOURCE_H
#define KINO__READER_RING_SOURCE_H

#include "reader/reader.h"
#include "wire/ring.h"

typedef struct kino__ring_source {
    kino__text text; /* the trace's: arguments are made from records when somebody asks */
    kino__ring_image image;
    void *bytes; /* what the image points into */
    void (*free_bytes)(void *bytes);
} kino__ring_source;

/* Makes the source of a trace, which owns it and takes the bytes. NULL when memory is out: the bytes
 * stay the caller's. */
kino__ring_source *kino__ring_source_attach(kino__trace *trace, void *bytes,
                                            void (*free_bytes)(void *bytes));

/* Fills the trace, once meta, texts and segments have been added to the image. `size`: of all
 * bytes. */
KINO_NODISCARD kino_status kino__ring_source_load(kino__ring_source *source, kino__trace *trace,
                                                  uint64_t size, const kino__load_context *context,
                                                  kino_error *err);

#endif
