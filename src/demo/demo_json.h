/* demo_json.h - demo events as the text Kineto writes; for demo.c. */
#ifndef KINO__DEMO_JSON_H
#define KINO__DEMO_JSON_H

#include "base/sink.h"
#include "demo/demo_model.h"

enum { KINO__DEMO_KERNEL_TEXT = 768 };

/* A page of output, and what is the same in all events of a rank. */
typedef struct kino__demo_text {
    char *page;
    size_t used;
    uint64_t written; /* bytes given to the sink */
    kino__sink *sink; /* NULL: only counts */
    int64_t base_ns;
    unsigned rank, device, group_size;
    int64_t pid;
    int64_t tid[KINO__DEMO_THREAD_COUNT];
    uint64_t event_index;
    kino__buffer ranks; /* "[0, 1, 2]" */
    struct {
        char text[KINO__DEMO_KERNEL_TEXT]; /* arguments from "registers per thread" on */
        size_t size;
    } kernels[KINO__DEMO_KERNEL_COUNT];
} kino__demo_text;

KINO_NODISCARD kino_status kino__demo_text_init(kino__demo_text *out, const kino__demo_shape *shape,
                                                unsigned rank, kino__sink *sink, kino_error *err);
void kino__demo_text_deinit(kino__demo_text *out);

/* Everything up to the first event, and from the last one on. */
KINO_NODISCARD kino_status kino__demo_text_head(kino__demo_text *out, const kino__demo_shape *shape,
                                                kino_error *err);
KINO_NODISCARD kino_status kino__demo_text_tail(kino__demo_text *out, const kino__demo_shape *shape,
                                                int64_t end_ns, kino_error *err);
KINO_NODISCARD kino_status kino__demo_text_event(kino__demo_text *out,
                                                 const kino__demo_event *event, kino_error *err);
KINO_NODISCARD kino_status kino__demo_text_shadow(kino__demo_text *out,
                                                  const kino__demo_shadow *shadow, kino_error *err);
KINO_NODISCARD kino_status kino__demo_text_flush(kino__demo_text *out, kino_error *err);

#endif
