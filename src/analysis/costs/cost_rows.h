/* cost_rows.h - sums of costs by a few texts: rows of op-costs, roofline and layers. */
#ifndef KINO__ANALYSIS_COST_ROWS_H
#define KINO__ANALYSIS_COST_ROWS_H

#include "analysis/costs/cost_roof.h"

/* What rows are told apart by. */
typedef struct kino__cost_key {
    int64_t rank;
    kino_strid name, detail; /* in texts; KINO_NO_STRING: none */
    uint32_t dtype;          /* kino__dtype */
    uint32_t precision;      /* kino__precision: the roof */
    uint32_t kind;           /* kino__work_kind, a direction: whatever the table wants */
    uint32_t device;         /* its number; UINT32_MAX: none, or not told apart */
} kino__cost_key;

typedef struct kino__cost_row {
    kino__cost_key key;
    kino__cost_sum sum;
    int64_t event, longest; /* the longest piece of its work: id and time */
    kino_strid reason;      /* why the cost of some of it is unknown; KINO_NO_STRING */
} kino__cost_row;

typedef struct kino__cost_rows {
    kino__string_pool texts;
    KINO__VEC(kino__cost_row) rows; /* in order of first appearance */
    kino__string_pool keys;         /* bytes of keys: their numbers are places of rows */
} kino__cost_rows;

void kino__cost_rows_deinit(kino__cost_rows *rows);
/* The row of a key, made on first sight; NULL when memory is out. */
kino__cost_row *kino__cost_rows_find(kino__cost_rows *rows, const kino__cost_key *key);
/* Adds a piece of work to its row. */
void kino__cost_row_count(kino__cost_row *row, const kino__cost_work *work,
                          const kino__work_item *item, const kino__device_peaks *peaks);
/* Adds the rows of a later trace. False when memory is out. */
bool kino__cost_rows_merge(kino__cost_rows *into, const kino__cost_rows *from);
void kino__cost_rows_pack(kino__pack *pack, kino__cost_rows *rows);

/* Numbers of rows, most time first, then in order of appearance; the caller frees. NULL when memory
 * is out. */
uint32_t *kino__cost_rows_order_new(const kino__cost_rows *rows);

/* Null where there is none. */
void kino__cost_rows_add_text(const kino__cost_rows *rows, kino__table *table, kino_strid id);

/* -- columns that several tables have, in this order -- */

#define KINO__COST_SUM_COLUMNS                                                                     \
    {"calls", KINO_TYPE_INT, "count", "calls of the operator; copies; kernels without one"},       \
        {"kernels", KINO_TYPE_INT, "count", "kernels, copies and memsets; on the host: calls"},    \
        {"device_time", KINO_TYPE_DURATION, NULL, "on the device; on the host without one"},       \
        {"flops", KINO_TYPE_INT, "count", "operations; null: unknown"},                            \
        {"bytes", KINO_TYPE_BYTES, NULL, "read and written; null: unknown"},                       \
        {"tflops", KINO_TYPE_FLOAT, "TFLOP/s", "flops / time"},                                    \
        {"gbps", KINO_TYPE_FLOAT, "GB/s", "bytes / time"},                                         \
        {"intensity", KINO_TYPE_FLOAT, "FLOP/B", "flops / bytes"},                                 \
        {"bound", KINO_TYPE_STRING, NULL, "compute, memory, launch or latency"},                   \
        {"percent_of_peak", KINO_TYPE_PERCENT, NULL, "time at its roof / time"},                   \
    {                                                                                              \
        "known", KINO_TYPE_PERCENT, NULL, "share of the time with a known cost"                    \
    }

enum { KINO__COST_SUM_COLUMN_COUNT = 11 };

void kino__cost_sum_tell(const kino__cost_sum *sum, kino__table *table);

/* A column of its own. */
#define KINO__TENSOR_GAP_HELP                                                                      \
    "why products did not use matrix units although they could: dtype, alignment, layout or "      \
    "kernel"
void kino__cost_gap_tell(const kino__cost_sum *sum, kino__table *table);

/* -- what a run knows of its costs: for notes -- */

typedef struct kino__cost_facts {
    int64_t traces, without_ops, without_device, without_peaks, without_shapes;
    int64_t time, known_time; /* coverage; on the host: of the outermost operators */
} kino__cost_facts;

void kino__cost_facts_take(kino__cost_facts *facts, const kino__cost_work *work,
                           kino__roofs *roofs);
void kino__cost_facts_add(kino__cost_facts *into, const kino__cost_facts *from);
void kino__cost_facts_pack(kino__pack *pack, kino__cost_facts *facts);
void kino__cost_facts_note(const kino__cost_facts *facts, kino_result *result);

#endif
