/* event_builder.h - a trace from events that come one by one, by whatever way: readers of formats
 * that are not text, and the public builder (kino/builder.h).
 *
 *   text -> number        kino__event_builder_text       each distinct text once, UTF-8
 *   labels -> track       kino__event_builder_track
 *   events                kino__event_builder_add        one record each, in columns already
 *   kino__event_builder_build                            sorted columns of the trace
 *
 * Who adds events also gives the trace its text, which makes arguments from places: event_args.h
 * has one for typed values. Memory that runs out is remembered in part.failed; nothing else can go
 * wrong. One thread at a time. */
#ifndef KINO__STORE_EVENT_BUILDER_H
#define KINO__STORE_EVENT_BUILDER_H

#include "base/progress.h"
#include "store/builder.h"

enum { KINO__EVENTS_MOST = (1u << 31) - 1 };

/* Where a text is used as the name, category or label of something. */
typedef struct kino__text_use {
    uint32_t string;   /* of the part; KINO_NO_STRING: not yet */
    uint16_t category; /* + 1; 0: not yet */
} kino__text_use;

typedef struct kino__event_builder {
    kino__part part;
    kino__string_pool texts;
    KINO__VEC(kino__text_use) uses; /* by text; shorter where the last ones are not used */
    kino__map tracks;               /* hash of both labels -> track */
    uint32_t last_track;            /* events of a track often follow each other */
    kino__buffer cleaned;
} kino__event_builder;

typedef struct kino__built_event {
    int64_t ts, dur;   /* ns, KINO_NO_TIME: none */
    uint64_t place;    /* of its arguments, 0: none */
    int64_t bind;      /* correlation, of flow and async phases their id; KINO_NO_INT: none */
    int64_t external;  /* KINO_NO_INT: none */
    kino_strid name;   /* text, or KINO_NO_STRING */
    uint32_t track;    /* of kino__event_builder_track */
    uint16_t category; /* of kino__event_builder_category */
    uint8_t phase, flags;
} kino__built_event;

/* A NULL allocator is the C library's. */
void kino__event_builder_init(kino__event_builder *b, const kino__allocator *allocator);
void kino__event_builder_deinit(kino__event_builder *b);

/* The number of a text; bytes that are not UTF-8 are replaced. KINO_NO_STRING: memory is out. */
kino_strid kino__event_builder_text(kino__event_builder *b, kino_str text);

/* The category of a text; KINO__CATEGORY_NONE for KINO_NO_STRING and empty ones. */
uint16_t kino__event_builder_category(kino__event_builder *b, kino_strid text);

/* The track with these labels, whose texts are numbers of texts. 0 when memory is out. */
uint32_t kino__event_builder_track(kino__event_builder *b, kino__label pid, kino__label tid);

/* False: memory is out, or there are KINO__EVENTS_MOST. */
bool kino__event_builder_add(kino__event_builder *b, const kino__built_event *event);

static inline uint32_t kino__event_builder_count(const kino__event_builder *b)
{
    return b->part.records.count;
}

/* Fills the trace's columns, strings, tracks and origin; its ledger stays. The events are used up,
 * texts stay. */
KINO_NODISCARD kino_status kino__event_builder_build(kino__event_builder *b, kino__trace *trace,
                                                     kino__pool *pool, kino_error *err);

#endif
