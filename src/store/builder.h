/* builder.h - from the records of a reader's workers to the sorted columns of a trace.
 *
 * Each worker fills a kino__part: its own strings, tracks and odd list, and records in blocks.
 * Workers take pieces of the input in increasing order; a piece's records are one or more runs. The
 * join puts the runs in file order, gives strings and tracks numbers by first appearance (so the
 * result does not depend on the number of workers), scatters the records into columns by track, and
 * sorts the tracks that are not yet in order.
 *
 *   worker 0   [run piece 0][run piece 2] ...      records: 48 bytes, in blocks of 2 MiB
 *   worker 1   [run piece 1][run piece 3] ...      a block is given back as soon as it is scattered
 *
 * Cost: one pass over the records; sorting is a merge of natural runs, linear on ordered input. */
#ifndef KINO__STORE_BUILDER_H
#define KINO__STORE_BUILDER_H

#include <stdatomic.h>

#include "base/thread.h"
#include "store/trace.h"

typedef struct kino__record {
    int64_t ts; /* ns on the file's clock (base not added), or KINO_NO_TIME */
    int64_t dur;
    uint64_t place;
    uint32_t name; /* string of the part, or KINO_NO_STRING */
    uint32_t bind;
    uint32_t external;
    uint32_t track;  /* of the part */
    uint32_t number; /* within its piece */
    union {
        struct {
            uint16_t category;
            uint8_t phase;
            uint8_t flags;
        };
        uint32_t kind; /* the three at once: one store that aliases nothing */
    };
} kino__record;
_Static_assert(sizeof(kino__record) == 48, "a record is 48 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "`kind` has the flags in its highest byte");

enum {
    KINO__BLOCK_BYTES = 2 << 20, /* a huge page */
    KINO__BLOCK_RECORDS = KINO__BLOCK_BYTES / sizeof(kino__record)
};

typedef struct kino__record_block {
    kino__record *records; /* KINO__BLOCK_RECORDS of them; NULL once given back */
    uint32_t used;
    atomic_uint open_runs; /* runs not yet scattered; the last one gives the block back */
} kino__record_block;

typedef struct kino__record_run {
    uint32_t block;
    uint32_t first;
    uint32_t count;
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
    /* a block that another thread has made and touched, or NULL: release when it is put there,
     * acquire when it is taken */
    _Atomic(kino__record *) spare;
    KINO__VEC(kino__record_block) blocks;
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

/* A block with room for at least one record; NULL (and failed) when memory is out. */
kino__record_block *kino__part_block(kino__part *part);

/* Makes the next block ready, so that the worker need not wait for fresh memory. Another thread. */
void kino__part_prepare_block(kino__part *part);

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
 * before. Record blocks are given back as they are used up; the parts themselves stay the
 * caller's. */
KINO_NODISCARD kino_status kino__trace_build(kino__trace *trace, kino__build *build,
                                             kino_error *err);

#endif
