/* gaps_internal.h - what a trace gives to the analysis of gaps. */
#ifndef KINO__ANALYSIS_GAPS_INTERNAL_H
#define KINO__ANALYSIS_GAPS_INTERNAL_H

#include "analysis/analysis.h"
#include "analysis/host_activity.h"

/* -- who is to blame: a kind of host activity, or one of these -- */

enum {
    KINO__BLAME_DEVICE = KINO__HOST_KINDS, /* the work was launched before the gap */
    KINO__BLAME_UNKNOWN,                   /* its launch is not in the trace */
    KINO__BLAMES,
};

/* -- what a trace gives -- */

typedef struct kino__gap_place {
    kino_strid name; /* KINO_NO_STRING: none */
    int64_t event;   /* KINO_NO_INT: none */
} kino__gap_place;

/* A span of the host with what is around it. */
typedef struct kino__gap_culprit {
    kino__gap_place span, op, python;
} kino__gap_culprit;

typedef struct kino__gap {
    int64_t rank, device, step, ts, dur;
    kino__gap_place before, after, launch, sync;
    int64_t thread; /* of the launch */
    uint32_t blame;
    int64_t blame_time;
    kino__gap_culprit who;
    uint32_t activity_count; /* the next ones of activities */
} kino__gap;

typedef struct kino__gap_activity {
    int64_t thread;
    kino_strid thread_name;
    uint32_t kind;
    int64_t time;
    kino__gap_culprit what;
} kino__gap_activity;

typedef struct kino__gap_total {
    int64_t rank, device;
    uint32_t blame;
    int64_t count, time;
} kino__gap_total;

typedef struct kino__gaps {
    kino__string_pool names;
    KINO__VEC(kino__gap) gaps; /* of each trace the longest first */
    KINO__VEC(kino__gap_activity) activities;
    KINO__VEC(kino__gap_total) totals;
    KINO__VEC(int64_t) without; /* ranks of traces without device work */
    int64_t trace_count;
} kino__gaps;

/* gaps_tables.c: partials of several traces, and the answer. */
extern const kino_table_info kino__gaps_tables[];
kino_status kino__gaps_merge(const kino__analysis *a, void *into, void *from, kino_error *err);
void kino__gaps_pack(kino__pack *pack, void *partial);
kino_status kino__gaps_finish(const kino__analysis *a, void *partial, kino_result *result,
                              kino_error *err);

#endif
