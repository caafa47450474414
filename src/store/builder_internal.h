/* builder_internal.h - shared by the builder's files, and by others that make columns. */
#ifndef KINO__STORE_BUILDER_INTERNAL_H
#define KINO__STORE_BUILDER_INTERNAL_H

#include "store/builder.h"

/* From a part's numbers to the trace's. */
typedef struct kino__join_map {
    kino_strid *strings;
    uint32_t *tracks;
    uint16_t *categories;
} kino__join_map;

/* Bytes of a record in its columns, and of the gap in front of them. */
enum { KINO__RECORD_GAP = 8, KINO__RECORD_BYTES = KINO__RECORD_GAP + 3 * 8 + 5 * 4 };

/* Areas of kino__pages_new whose ends are given back apart consist of whole pages. */
enum { KINO__HUGE_PAGE = 2 << 20, KINO__SMALL_PAGE = 4096 };
static inline size_t kino__whole_pages(size_t size, size_t page)
{
    return (size + page - 1) / page * page;
}

/* A run of records in file order. */
typedef struct kino__join_run {
    uint32_t part;
    uint32_t first, count; /* in the part's records */
    uint32_t number;       /* of the first, in the trace */
    uint64_t first_event;  /* events in the runs before */
} kino__join_run;

typedef struct kino__join {
    kino__trace *trace;
    kino__build *build;
    kino__join_map *maps;
    kino__join_run *runs;
    size_t run_count;
    size_t *piece_ends; /* per piece: the run behind its last one */
    kino__buffer scratch;
    int64_t min_ts;
} kino__join;

KINO_NODISCARD kino_status kino__build_columns(kino__join *join, kino_error *err);

/* Joins B and E events of a track into one span; what has no partner stays as it is. */
KINO_NODISCARD kino_status kino__build_pairs(kino__trace *trace, kino__pool *pool, kino_error *err);

/* Allocates the columns for `count` events. */
KINO_NODISCARD kino_status kino__columns_new(kino__trace *trace, uint32_t count, kino_error *err);

/* Sorts the rows of the listed tracks by start, longer first, number. */
KINO_NODISCARD kino_status kino__columns_sort(kino__trace *trace, const uint32_t *tracks,
                                              size_t count, kino__pool *pool, kino_error *err);

/* The same for starts and durations only; what is equal stays in order. `space` is room for two
 * numbers for each row of the trace: the first half becomes the new row of each row. */
KINO_NODISCARD kino_status kino__columns_sort_keys(kino__trace *trace, const uint32_t *tracks,
                                                   size_t count, uint32_t *space, kino__pool *pool,
                                                   kino_error *err);

#endif
