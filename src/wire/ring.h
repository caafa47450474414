/* ring.h - the buffers of a recorder as events: for its own export, for .kino files that hold them,
 * and for what a dead process left behind.
 *
 *   kino__ring_image image = {0};
 *   kino__ring_add_meta, _add_texts (in order), _add_segment (in any order), _finish
 *   kino__ring_each(&image, visit, context)      every event, in the order of the trace
 *   kino__ring_add_args(&image, event.place, &buffer)
 *   kino__ring_image_deinit(&image)
 *
 * The bytes may be anything: every number is checked before it is used, what makes no sense is
 * left out and counted. They stay the caller's and must outlive the image. Two passes: _finish
 * notes the few arguments and ends that do not stand directly behind their span; then events come
 * one by one, in place. A finished image is constant and may be read by any thread. */
#ifndef KINO__WIRE_RING_H
#define KINO__WIRE_RING_H

#include "base/map.h"
#include "base/sink.h"
#include "base/str.h"
#include "base/vec.h"
#include "wire/ring_clock.h"
#include "wire/ring_format.h"

/* The records of one thread in a segment. Segments of threads that have ended are used by others,
 * so that one segment may be several pieces. */
typedef struct kino__ring_piece {
    kino__ring_segment header;          /* a copy; of an ended thread: as it was */
    const kino_impl_v1_record *records; /* of the segment */
    uint32_t first, count;              /* the piece begins and ends here */
    uint32_t ended;                     /* its thread in `ended` + 1; 0: in the table */
} kino__ring_piece;

typedef struct kino__ring_place {
    uint64_t first; /* segment << 16 | record */
    uint32_t piece;
} kino__ring_place;

typedef struct kino__ring_name {
    kino_str name, category, file, function;
    uint32_t line;
} kino__ring_name;

typedef struct kino__ring_key {
    kino_str key, json;
} kino__ring_key;

/* A record that belongs to one elsewhere. Positions: piece << 16 | record. */
typedef struct kino__ring_late {
    uint64_t of, at;
} kino__ring_late;

/* What a metadata event, or one of the few events of the session itself, says. */
typedef enum kino__ring_row_kind {
    KINO__ROW_PROCESS_NAME,
    KINO__ROW_PROCESS_LABELS,
    KINO__ROW_PROCESS_SORT,
    KINO__ROW_THREAD_NAME,
    KINO__ROW_THREAD_SORT,
    KINO__ROW_SPAN,
    KINO__ROW_ITERATION,
    KINO__ROW_WINDOW_END,
} kino__ring_row_kind;

typedef struct kino__ring_row {
    kino__ring_row_kind kind;
    bool is_device;
    int64_t pid, tid;
    const kino__ring_thread *thread; /* or NULL */
    uint32_t special;                /* KINO__ACTIVITY_ROW_*, or 0 */
} kino__ring_row;

typedef struct kino__ring_image {
    kino__ring_meta meta;
    KINO__VEC(kino__ring_thread) threads; /* by slot */
    KINO__VEC(kino__ring_name) names;     /* by id; [0] and unknown ones are "(name lost)" */
    KINO__VEC(kino__ring_key) keys;       /* metadata, the last value of each */
    KINO__VEC(kino_str) devices;
    KINO__VEC(kino__ring_piece) pieces; /* by thread and age, when finished */
    KINO__VEC(kino__ring_place) places; /* of all pieces, in order */
    KINO__VEC(kino__ring_thread) ended; /* whose slot may be another's by now */
    KINO__VEC(kino__ring_late) late;    /* by `of`, then `at` */
    KINO__VEC(kino__ring_row) rows;     /* metadata events, then those of the session */
    kino__map row_of;                   /* those that are there, by kind, pid and tid */
    size_t head_rows;                   /* those that come first */
    kino__ring_clock clock;
    int64_t base_ns;          /* since the epoch: what times of events count from */
    uint64_t last_ticks;      /* the end: the stop, or the last sign of life */
    uint64_t from_ticks;      /* set before finish: what ended before is left out */
    uint64_t damaged;         /* records that make no sense */
    uint64_t open_count;      /* spans that have no end */
    uint64_t ended_elsewhere; /* spans whose end is a record of another thread */
    bool failed;              /* out of memory */
} kino__ring_image;

/* Empty texts for names and categories: see `text`. */
typedef struct kino__ring_event {
    char phase;       /* as in Chrome's format: X i C s t f M */
    char scope;       /* of instants: t or g */
    bool is_numbered; /* the name ends with `number` */
    bool is_open;     /* a span without an end: it lasts until the image's */
    uint32_t text;    /* the name's id; 0: name and category are below */
    kino_str name, category;
    kino_str pid_text, tid_text; /* rows that are named by texts; data is NULL for numbers */
    int64_t pid, tid;
    int64_t ts_ns;  /* since the image's base */
    int64_t dur_ns; /* KINO_NO_TIME: none */
    uint64_t id;    /* of flows */
    uint64_t number;
    uint64_t place; /* for kino__ring_add_args; 0: no arguments */
} kino__ring_event;

void kino__ring_image_deinit(kino__ring_image *image);

/* The first call. Not such a file, or one of another version: an error. */
KINO_NODISCARD kino_status kino__ring_add_meta(kino__ring_image *image, kino_str bytes,
                                               kino_error *err);
void kino__ring_add_texts(kino__ring_image *image, kino_str bytes);
/* A segment; its header says how many records count. Free ones are skipped. Bytes begin at a
 * multiple of 8. */
void kino__ring_add_segment(kino__ring_image *image, kino_str bytes);
KINO_NODISCARD kino_status kino__ring_finish(kino__ring_image *image, kino_error *err);

static inline const kino__ring_name *kino__ring_name_at(const kino__ring_image *image, uint32_t id)
{
    return &image->names.items[id < image->names.count ? id : 0];
}

/* False stops. */
typedef bool (*kino__ring_visit)(void *context, const kino__ring_event *event);
bool kino__ring_each(const kino__ring_image *image, kino__ring_visit visit, void *context);

/* The numbers of an operator, as its span has them. */
typedef struct kino__ring_sequence {
    uint64_t number;
    uint32_t thread, forward_thread; /* logical; 0: none */
} kino__ring_sequence;

static inline bool kino__ring_has_sequence(const kino_impl_v1_record *record)
{
    return record->kind == KINO_IMPL_V1_SPAN && record->flags & KINO_IMPL_V1_FLAG_SEQUENCE;
}

static inline kino__ring_sequence kino__ring_sequence_of(const kino_impl_v1_record *record)
{
    return (kino__ring_sequence){(uint32_t)record->aux, record->aux >> 32 & 0xffff,
                                 (uint32_t)(record->aux >> 48)};
}

/* A span that has an end and no arguments but its sequence: most are such. */
typedef struct kino__ring_span {
    uint32_t text;
    int64_t pid, tid;
    int64_t ts_ns, dur_ns;
    uint64_t place; /* for kino__ring_add_args; 0: it has no sequence */
    kino__ring_sequence sequence;
} kino__ring_span;
typedef bool (*kino__ring_visit_span)(void *context, const kino__ring_span *span);
/* The same, but simple spans are told to `span`, faster. */
bool kino__ring_each_span(const kino__ring_image *image, kino__ring_visit visit,
                          kino__ring_visit_span span, void *context);

/* The arguments as a JSON object. */
void kino__ring_add_args(const kino__ring_image *image, uint64_t place, kino__buffer *out);
/* The members "correlation" and "External id" of the arguments, or 0. */
void kino__ring_ids(const kino__ring_image *image, uint64_t place, uint64_t *correlation,
                    uint64_t *external);

/* Top-level keys of the trace but its events: `add` gets key and JSON in order. */
void kino__ring_each_key(const kino__ring_image *image,
                         void (*add)(void *context, kino_str key, kino_str json), void *context);

/* The whole trace as Chrome JSON, as Kineto writes it; `name` is its traceName. */
KINO_NODISCARD kino_status kino__ring_write_json(const kino__ring_image *image, const char *name,
                                                 kino__sink *sink, kino_error *err);

/* The buffers as a .kino file. `meta` and `texts` as given to _add_meta and _add_texts. */
KINO_NODISCARD kino_status kino__ring_write_kino(const kino__ring_image *image, kino_str meta,
                                                 kino_str texts, kino__sink *sink, kino_error *err);

/* -- for the files of this family */

enum { KINO__RING_POSITION_BITS = 16 };
#define KINO__RING_ROW_BIT ((uint64_t)1 << 63)

static inline const kino_impl_v1_record *kino__ring_record(const kino__ring_image *image,
                                                           uint64_t position)
{
    return &image->pieces.items[position >> KINO__RING_POSITION_BITS].records[position & 0xffff];
}

/* Both may be stored at any time by the span's thread. */
static inline uint64_t kino__ring_start_of(const kino_impl_v1_record *record)
{
    return __atomic_load_n(&record->start, __ATOMIC_RELAXED);
}

static inline uint64_t kino__ring_end_of(const kino_impl_v1_record *record)
{
    return __atomic_load_n(&record->end, __ATOMIC_RELAXED);
}

/* Does the record have the shape of its kind, with `left` records behind it? */
static inline bool kino__ring_is_sane(const kino_impl_v1_record *record, uint32_t left)
{
    if (record->following > left)
        return false;
    if (record->kind == KINO_IMPL_V1_MEMORY)
        return record->following == (record->flags & KINO__MEMORY_OF_THREAD ? 2 : 1);
    if (record->kind == KINO_IMPL_V1_ACTIVITY)
        return record->following == 1;
    return record->kind == KINO_IMPL_V1_ARG ||
           (record->kind != KINO_IMPL_V1_NONE && record->kind <= KINO_IMPL_V1_ACTIVITY &&
            record->following == 0);
}

/* The reference that records have to the one at `index` of the piece. */
static inline uint64_t kino__ring_reference_to(const kino__ring_piece *piece, uint32_t index)
{
    return (uint64_t)piece->header.index << 32 | (uint64_t)index << 16 |
           (piece->header.stamp & 0xffff);
}

/* The number of the piece that the record is in; UINT32_MAX: none. */
uint32_t kino__ring_piece_of(const kino__ring_image *image, uint64_t segment, uint32_t record);

/* The first of `late` that belongs to the position, or the one behind. */
size_t kino__ring_late_of(const kino__ring_image *image, uint64_t position);

/* Texts of rows: names of processes, threads, streams. */
void kino__ring_row_args(const kino__ring_image *image, const kino__ring_row *row,
                         kino__buffer *out);

#endif
