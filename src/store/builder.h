/* builder.h - from the records of a reader's workers to the sorted columns of a trace.
 *
 * Each worker fills a kino__part: its own strings, tracks and odd list, and its records. Workers
 * take pieces of the input in increasing order; a piece's records are one or more runs. The join
 * puts the runs in file order, gives strings and tracks numbers by first appearance (so the result
 * does not depend on the number of workers), finds the row of every record by track and start, and
 * moves column after column to its rows.
 *
 * Fresh memory is a large part of the time of a load (the kernel clears each page), so the records
 * of a part are columns already, one behind the other in one area, with a gap of eight bytes a
 * record in front:
 *
 *   worker       | gap | ts  | dur |place| name bind external kind track |
 *   trace        | ts  | dur |place| name number bind external category phase flags |
 *
 * When there is one part, each column moves into the gap that the one before has left, and the area
 * becomes the trace's: 52 bytes a record are touched, where records and columns apart would be 88.
 * Several parts move to an area of its own, and what was moved is given back column by column.
 *
 * Cost: one pass over each column; sorting is a merge of natural runs, linear on ordered input. */
#ifndef KINO__STORE_BUILDER_H
#define KINO__STORE_BUILDER_H

#include "base/thread.h"
#include "store/trace.h"

/* One event as a reader hands it over. */
typedef struct kino__record {
    int64_t ts; /* ns on the file's clock (base not added), or KINO_NO_TIME */
    int64_t dur;
    uint64_t place;
    uint32_t name; /* string of the part, or KINO_NO_STRING */
    uint32_t bind;
    uint32_t external;
    uint32_t track; /* of the part */
    union {
        struct {
            uint16_t category;
            uint8_t phase;
            uint8_t flags;
        };
        uint32_t kind; /* the three at once */
    };
} kino__record;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "`kind` has the flags in its highest byte");

/* The records of a part, a column for each member. */
typedef struct kino__records {
    void *memory; /* the gap, then the columns, in this order; NULL: none yet, or the trace's now */
    size_t size;
    uint32_t count, capacity;
    int64_t *ts, *dur;
    uint64_t *place;
    uint32_t *name, *bind, *external, *kind, *track;
} kino__records;

/* Records that follow each other, as their events do in the file. */
typedef struct kino__record_run {
    uint32_t first, count; /* in the part's records */
    uint32_t number;       /* of the first one, within its piece */
} kino__record_run;

typedef struct kino__part_track {
    kino__label pid, tid; /* texts are strings of the part */
    uint64_t position;    /* byte of the first event */
} kino__part_track;

/* One string of a part. Its text is as in the file; `is_raw` ones still have escapes or bad bytes
 * to resolve. */
typedef struct kino__part_string {
    const char *text; /* outlives the trace, or lies in the part's arena */
    uint64_t hash;
    uint32_t size;
    /* of its first appearance: increasing within a part, comparable between parts */
    uint64_t position;
    bool is_raw;
    bool is_borrowed; /* outlives the trace: need not be copied */
    uint8_t damages;  /* the reader's business */
} kino__part_string;

/* A piece of the input, parsed. Pieces are kept per input, in file order. */
typedef struct kino__piece {
    uint32_t part;
    uint32_t first_run, run_count;     /* in the part */
    uint32_t first_odd, odd_count;     /* in the part */
    uint32_t first_count, count_count; /* in the part */
    uint32_t number_count;             /* elements seen, skipped ones included */
    kino__ledger ledger;
} kino__piece;

/* How many records of a piece belong to a track of the part. */
typedef struct kino__track_count {
    uint32_t track, count;
} kino__track_count;

typedef struct kino__part {
    kino__records records;
    KINO__VEC(kino__record_run) runs;
    KINO__VEC(kino__part_track) tracks;
    KINO__VEC(kino__track_count) counts;
    KINO__VEC(kino__part_string) strings;
    /* strings of the part; category id = KINO__CATEGORY_COUNT + index */
    KINO__VEC(kino_strid) own_categories;
    KINO__VEC(kino__odd) odd; /* numbers within their piece */
    kino__arena arena;
    int64_t min_ts; /* of events that count for the origin; INT64_MAX when none */
    bool has_pairs; /* B or E seen */
    bool failed;    /* out of memory */
} kino__part;

void kino__part_init(kino__part *part);
void kino__part_deinit(kino__part *part);

/* Room for `capacity` records in all; false when there is none. A good guess of their final number
 * saves time: a part that grows copies its records, and one much too large wastes the ends of
 * pages. */
bool kino__part_reserve(kino__part *part, uint64_t capacity);

/* Room for more; false (and failed) when memory is out. */
bool kino__part_grow(kino__part *part);

/* Adds a record; there is room. */
static inline void kino__records_add(kino__records *records, const kino__record *r)
{
    uint32_t i = records->count++;
    records->ts[i] = r->ts;
    records->dur[i] = r->dur;
    records->place[i] = r->place;
    records->name[i] = r->name;
    records->bind[i] = r->bind;
    records->external[i] = r->external;
    records->kind[i] = r->kind;
    records->track[i] = r->track;
}

/* Resolves a raw string into the buffer (escapes, bad bytes). */
typedef void (*kino__resolve_string)(kino_str raw, kino__buffer *out);

typedef struct kino__build {
    kino__part *parts;
    size_t part_count;
    const kino__piece *pieces; /* in file order; some workers' pieces may have been discarded */
    size_t piece_count;
    /* a piece was discarded: strings and tracks may be unused or have wrong positions */
    bool is_tainted;
    kino__resolve_string resolve;
    kino__pool *pool;
} kino__build;

/* Fills the trace's columns, strings, tracks, odd list, ledger, origin. trace->base_ns is set
 * before. The parts' records are used up; the parts themselves stay the caller's. */
KINO_NODISCARD kino_status kino__trace_build(kino__trace *trace, kino__build *build,
                                             kino_error *err);

#endif
