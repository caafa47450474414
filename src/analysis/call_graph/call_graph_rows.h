/* call_graph_rows.h - the rows of call graphs in little memory: what the analysis call-graph keeps
 * of a run, about 40 bytes a row.
 *
 * A column holds 32-bit numbers: names are numbers in a pool, parents are row numbers, and times
 * are those of a kernel, which stand in a list of their own. Sums that need more room are in
 * `wide`. */
#ifndef KINO__ANALYSIS_CALL_GRAPH_ROWS_H
#define KINO__ANALYSIS_CALL_GRAPH_ROWS_H

#include "analysis/call_graph/call_graph.h"

enum {
    KINO__CALL_ROW_EVENT, /* its number in the file */
    KINO__CALL_ROW_NAME,
    KINO__CALL_ROW_PARENT, /* row of the part; counted down from UINT32_MAX - 1: a thread of it */
    KINO__CALL_ROW_DEPTH,
    KINO__CALL_ROW_HEIGHT,
    KINO__CALL_ROW_KERNELS,
    KINO__CALL_ROW_DURATION, /* UINT32_MAX: in `wide` */
    KINO__CALL_ROW_FIRST,    /* of `kernels`, in the part: + 1; 0: none */
    KINO__CALL_ROW_LAST,
    KINO__CALL_ROW_COLUMNS,
};

/* What one trace has given. */
typedef struct kino__call_part {
    uint64_t first_row, first_kernel, first_root;
    int64_t rank, event_base; /* base | number is an event's id */
} kino__call_part;

typedef struct kino__call_kernel {
    int64_t start, end; /* ns */
} kino__call_kernel;

typedef struct kino__call_sum {
    uint64_t row;
    int64_t ns;
} kino__call_sum;

typedef KINO__VEC(uint32_t) kino__call_column;

typedef struct kino__call_rows {
    KINO__VEC(kino__call_part) parts;
    KINO__VEC(int64_t) roots; /* numbers that stand for threads */
    KINO__VEC(kino__call_kernel) kernels;
    KINO__VEC(kino__call_sum) wide; /* by row */
    kino__string_pool names;        /* borrowed texts */
    kino__call_column columns[KINO__CALL_ROW_COLUMNS];
} kino__call_rows;

/* A row for those who tell it. */
typedef struct kino__call_row {
    int64_t rank, event;
    kino_strid name;
    int64_t parent, depth, height; /* KINO_NO_INT: in no tree */
    int64_t num_kernels, kernel_dur;
    int64_t kernel_start, kernel_end; /* KINO_NO_TIME: no kernels */
} kino__call_row;

/* Fills empty rows from a graph, whose arrays it takes: it can only be freed afterwards. False when
 * memory is out. */
bool kino__call_rows_take(kino__call_rows *rows, kino__call_graph *graph);
/* Adds those of other traces; false when memory is out. */
bool kino__call_rows_append(kino__call_rows *rows, const kino__call_rows *more);
void kino__call_rows_pack(kino__pack *pack, kino__call_rows *rows);
void kino__call_rows_deinit(kino__call_rows *rows);

static inline size_t kino__call_rows_count(const kino__call_rows *rows)
{
    return rows->columns[0].count;
}
kino__call_row kino__call_rows_at(const kino__call_rows *rows, size_t row);

#endif
