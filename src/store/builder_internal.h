/* builder_internal.h - shared by builder.c, builder_columns.c and builder_pairs.c. */
#ifndef KINO__STORE_BUILDER_INTERNAL_H
#define KINO__STORE_BUILDER_INTERNAL_H

#include "store/builder.h"

/* From a part's numbers to the trace's. */
typedef struct kino__join_map {
    kino_strid *strings;
    uint32_t *tracks;
    uint16_t *categories;
} kino__join_map;

/* A run of records in file order. */
typedef struct kino__join_run {
    const kino__record *records;
    kino__record_block *block;
    uint32_t count;
    uint32_t number_base;
    uint32_t part;
    uint64_t first_event; /* events in the runs before */
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

#endif
