/* memory_internal.h - records of an allocator, read from one trace: shared by the files of the
 * memory analysis. */
#ifndef KINO__ANALYSIS_MEMORY_INTERNAL_H
#define KINO__ANALYSIS_MEMORY_INTERNAL_H

#include "analysis/analysis.h"
#include "model/profile/profile.h"

/* One [memory] event. */
typedef struct kino__memory_record {
    uint32_t row;
    uint32_t device; /* in kino__memory_records.devices */
    uint32_t node;   /* the operator that it happened in, or KINO__NO_NODE */
    uint32_t source; /* the operator that allocated; releases have it from their allocation */
    int64_t ts;
    int64_t address;             /* KINO_NO_INT: absent, as before PyTorch 1.10 */
    int64_t bytes;               /* > 0: allocated; else released */
    int64_t allocated, reserved; /* of the device, afterwards; KINO_NO_INT: absent */
} kino__memory_record;

typedef struct kino__memory_device {
    int64_t type, id; /* as in the records; KINO_NO_INT: absent */
    int64_t total;    /* memory of the device, KINO_NO_INT: not known */
    bool is_known;    /* to the plugin: CPU and CUDA (D10) */
    char name[32];    /* "GPU0", "CPU" */
} kino__memory_device;

typedef struct kino__memory_records {
    const kino__profile *profile;
    KINO__VEC(kino__memory_record) items;   /* in order of time, then as in the file */
    KINO__VEC(kino__memory_device) devices; /* accelerators by type and id, then the host */
    /* of each node: the one around it, KINO__NO_NODE: none. The default nests all nodes of a thread
     * by time; compat mode has the parents of the tree, from which backward passes were cut. */
    uint32_t *parent;
    bool *is_entered;  /* of each node, in compat mode: a record lies in it or below it */
    uint32_t *visited; /* nodes, each behind its parent; the default: all of rows as they stand */
    size_t visited_count;
} kino__memory_records;

/* Reads, sorts and attributes the records of a trace; false when memory is out. */
bool kino__memory_records_init(kino__memory_records *records, const kino__profile *profile,
                               kino__pool *pool);
void kino__memory_records_deinit(kino__memory_records *records);

/* What releases are matched with allocations by: device and address, in compat mode the address. */
uint64_t kino__memory_key(const kino__memory_records *records, const kino__memory_record *record);

/* How many nodes there are to go through, and the one at a place, KINO__NO_NODE where none is. */
size_t kino__memory_node_count(const kino__memory_records *records);
uint32_t kino__memory_node_at(const kino__memory_records *records, size_t place);

/* memory_nodes.c: parent, is_entered, visited, and the node of each record. */
bool kino__memory_find_nodes(kino__memory_records *records);

/* -- memory_curve.c: fewer points of a curve, by largest triangles (LTTB) */

typedef struct kino__memory_point {
    double x, y;
} kino__memory_point;

/* Chooses `wanted` (at least 3, less than count) of `count` points that keep the form of the curve;
 * writes their places, ascending. The first and the last are kept; the points between are cut into
 * wanted - 2 nearly equal runs, the first ones longer by one; of each run the point is kept that
 * spans the largest triangle with the point kept before it and the mean of the next run, the first
 * of equal ones. `kept` is the place of a point that is kept in any case, instead of the largest
 * triangle of its run; SIZE_MAX: none. */
void kino__memory_thin(const kino__memory_point *points, size_t count, size_t wanted, size_t kept,
                       size_t *places);

/* -- what a trace gives; texts are numbers in kino__memory_partial.texts */

typedef struct kino__memory_statistic {
    int64_t rank;
    uint32_t device, name;
    int64_t calls;
    int64_t increase, self_increase; /* bytes, signed */
    int64_t count, self_count;       /* allocations */
    int64_t size, self_size;         /* bytes that were allocated */
} kino__memory_statistic;

/* KINO_NO_TIME, KINO_NO_INT: the allocation or the release is not there. */
typedef struct kino__memory_event {
    int64_t rank;
    uint32_t device, op; /* op: KINO_NO_STRING: not known */
    int64_t size;
    int64_t allocated_at, released_at;
    int64_t allocation, release; /* ids of the events */
} kino__memory_event;

typedef struct kino__memory_sample {
    int64_t rank;
    uint32_t device;
    int64_t ts, allocated, reserved;
} kino__memory_sample;

typedef struct kino__memory_peak {
    int64_t rank;
    uint32_t device, op;
    int64_t allocated, ts, event; /* KINO_NO_INT: no record has totals */
    int64_t reserved;             /* the most */
    int64_t total;
    int64_t records;
} kino__memory_peak;

typedef struct kino__memory_partial {
    kino__string_pool texts;
    KINO__VEC(kino__memory_statistic) statistics;
    KINO__VEC(kino__memory_event) events;
    KINO__VEC(kino__memory_sample) samples;
    KINO__VEC(kino__memory_peak) peaks; /* one a device that was asked for */
    KINO__VEC(uint32_t) devices;        /* names of all that there are */
    int64_t traces, records, addressed, measured, unknown;
} kino__memory_partial;

/* Places of the parameters. */
enum {
    KINO__MEMORY_DEVICE,
    KINO__MEMORY_FROM,
    KINO__MEMORY_TO,
    KINO__MEMORY_POINTS,
    KINO__MEMORY_MIN_SIZE,
};

/* memory_map.c */
KINO_NODISCARD kino_status kino__memory_map(const kino__analysis *a, const kino__trace *trace,
                                            void *partial, kino_error *err);

#endif
