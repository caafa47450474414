/* distributed.h - what a trace gives to the distributed view, and the calls matched. */
#ifndef KINO__ANALYSIS_DISTRIBUTED_H
#define KINO__ANALYSIS_DISTRIBUTED_H

#include "analysis/analysis.h"
#include "analysis/verdict/verdict.h"
#include "store/interval.h"

/* Lists of all workers stand one behind the other; a worker has the next `count` of each. */
typedef struct kino__dist_worker {
    int64_t rank;
    kino_strid name; /* KINO_NO_STRING: unknown */
    uint32_t step_count, record_count, device_count;
    bool has_properties; /* the trace has deviceProperties */
    bool is_mixed;       /* NCCL and Gloo: the plugin then gives up */
} kino__dist_worker;

typedef struct kino__dist_step {
    kino_strid name;
    int64_t total, computation, communication, overlap;
} kino__dist_step;

/* A call of a collective. */
typedef struct kino__dist_record {
    kino_strid name;
    kino_strid group; /* process group and its ranks, KINO_NO_STRING: unknown */
    uint32_t step;    /* of the worker's steps, KINO_NO_ROW: none */
    uint32_t range_count;
    int64_t size; /* bytes, KINO_NO_INT: unknown */
} kino__dist_record;

typedef struct kino__dist_device {
    int64_t id, memory, major, minor;
    kino_strid name;
} kino__dist_device;

typedef struct kino__dist {
    kino__string_pool texts;
    KINO__VEC(kino__dist_worker) workers;
    KINO__VEC(kino__dist_step) steps;
    KINO__VEC(kino__dist_record) records;
    KINO__VEC(kino__dist_device) devices;
    kino__intervals ranges;
    kino__verdict_facts verdict; /* empty when compat */
} kino__dist;

/* What the calls of all workers say about each other. */
typedef struct kino__dist_matches {
    int64_t *transfer;       /* of each range: the shortest one among its partners */
    uint32_t *first_range;   /* of each record */
    uint64_t alone;          /* records without a partner */
    uint32_t first_alone;    /* one of them */
    uint32_t alone_of;       /* the worker of that one */
    uint64_t point_to_point; /* sends and receives: not matched */
} kino__dist_matches;

/* distributed_match.c. compat: the i-th record of one worker is the i-th of each other. False when
 * memory is out; to be deinitialised in any case. */
bool kino__dist_match(const kino__dist *d, bool is_compat, kino__dist_matches *out);
void kino__dist_matches_deinit(kino__dist_matches *matches);

/* distributed_tables.c: the answer. */
extern const kino_table_info kino__dist_tables[];
kino_status kino__dist_finish(const kino__analysis *a, void *partial, kino_result *result,
                              kino_error *err);

/* distributed_read.c. The size of a call and its process group, from the arguments of its kernel
 * and its span. */
typedef struct kino__dist_call {
    int64_t size;
    kino_strid group, name; /* KINO_NO_STRING: not told */
} kino__dist_call;
/* compat: size from the shapes of the inputs alone. False when memory is out. */
bool kino__dist_read_call(const kino__trace *trace, uint32_t span, uint32_t kernel, bool is_compat,
                          kino__string_pool *texts, kino__text_cursor *cursor,
                          kino__dist_call *out);

#endif
