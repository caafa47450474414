/* perfetto_writer_internal.h - a trace as Perfetto's packets, in parts.
 *
 *   perfetto.c                 the order of packets
 *   perfetto_writer_tracks.c   processes, threads, lanes for spans that overlap, counters
 *   perfetto_writer_flows.c    which flows are carried by the spans at their ends
 *   perfetto_writer_events.c   one packet an event, with interned texts
 *   perfetto_writer_args.c     arguments as debug annotations
 *
 * What the format has no place for is in attributes of the trace whose names begin with "kino.", so
 * that Kino reads back what it has written. */
#ifndef KINO__WRITER_PERFETTO_WRITER_INTERNAL_H
#define KINO__WRITER_PERFETTO_WRITER_INTERNAL_H

#include "base/map.h"
#include "base/string_pool.h"
#include "store/args.h"
#include "store/stacks.h"
#include "wire/protobuf.h"
#include "writer/writer.h"

/* Texts that a sequence has told so far, by what they are. */
typedef enum kino__perfetto_intern {
    KINO__PERFETTO_INTERN_CATEGORY,
    KINO__PERFETTO_INTERN_NAME,
    KINO__PERFETTO_INTERN_KEY,
    KINO__PERFETTO_INTERN_TEXT,
    KINO__PERFETTO_INTERNS,
} kino__perfetto_intern;

/* What an entry of the plan is. */
typedef enum kino__perfetto_step {
    KINO__PERFETTO_STEP_BEGIN,
    KINO__PERFETTO_STEP_END,
    KINO__PERFETTO_STEP_OTHER, /* all that has no end */
} kino__perfetto_step;

/* Something to be written, in order of time. */
typedef struct kino__perfetto_plan {
    uint32_t row;
    uint32_t lane; /* of its track */
    kino__perfetto_step step;
} kino__perfetto_plan;

/* An end of a flow that a span carries. */
typedef struct kino__perfetto_carried {
    uint32_t row;
    bool is_last;
    uint64_t id;
} kino__perfetto_carried;

typedef struct kino__perfetto_series {
    uint32_t track;
    kino_strid name;
    kino_str key; /* in the arena */
} kino__perfetto_series;

typedef struct kino__perfetto_out {
    const kino__trace *trace;
    kino__sink *sink;
    kino__progress *progress;
    kino__text_cursor cursor;
    kino__buffer packets, scratch, args, interned, nested;
    kino__string_pool pools[KINO__PERFETTO_INTERNS];
    kino__arena arena;
    KINO__VEC(kino__perfetto_plan) plan;
    KINO__VEC(kino__perfetto_carried) carried; /* by row */
    KINO__VEC(kino__perfetto_series) series;
    KINO__VEC(int64_t) pids; /* as written, by track */
    kino__map series_of;
    uint8_t *is_carried; /* a bit for each row of a flow that a span carries */
    kino_strid *flow_names;
    uint16_t *flow_categories;
    size_t flow_kinds;
    uint32_t since_clear; /* packets */
    int64_t shift;        /* what is added to times, so that none is before 0 */
    bool failed;
} kino__perfetto_out;

/* -- uuids -- */

uint64_t kino__perfetto_process_uuid(int64_t pid);
uint64_t kino__perfetto_lane_uuid(uint32_t track, uint32_t lane);
uint64_t kino__perfetto_series_uuid(uint32_t series);

/* -- parts; out->failed when memory is out -- */

static inline size_t kino__perfetto_packet_begin(kino__perfetto_out *out)
{
    return kino__proto_begin(&out->packets, 1);
}

void kino__perfetto_attribute(kino__perfetto_out *out, const char *key, kino_str value);
void kino__perfetto_write_tracks(kino__perfetto_out *out);
/* All spans in lanes, all other events, by time. */
void kino__perfetto_make_plan(kino__perfetto_out *out);
void kino__perfetto_plan_flows(kino__perfetto_out *out);
void kino__perfetto_write_event(kino__perfetto_out *out, const kino__perfetto_plan *plan);
/* Debug annotations of an object's text, valid JSON, as fields of the message in `args`. */
void kino__perfetto_write_args(kino__perfetto_out *out, kino_str object);
/* The number of a text; new ones are told in the packet being made. */
uint64_t kino__perfetto_iid(kino__perfetto_out *out, kino__perfetto_intern what, kino_str text);
/* The series of a counter; UINT32_MAX: memory is out. */
uint32_t kino__perfetto_series_number(kino__perfetto_out *out, uint32_t track, kino_strid name,
                                      kino_str key);
static inline bool kino__perfetto_is_carried(const kino__perfetto_out *out, uint32_t row)
{
    return out->is_carried[row / 8] >> (row % 8) & 1;
}
int64_t kino__perfetto_time(const kino__perfetto_out *out, int64_t ts);

#endif
