/* perfetto_internal.h - the reader of Perfetto's protobuf traces, in parts.
 *
 *   perfetto.c           packets in file order, compressed ones unpacked
 *   perfetto_state.c     what a sequence of packets has said so far: interned texts, defaults
 *   perfetto_clock.c     times of packets on one clock
 *   perfetto_track.c     what tracks are: processes, threads, counters
 *   perfetto_event.c     TrackEvents as they come: half spans that wait for their other half
 *   perfetto_legacy.c    events of Chrome's older kind among them
 *   perfetto_gpu.c       work and counters of GPUs
 *   perfetto_forward.c   flows that PyTorch's files lack
 *   perfetto_flows.c     flows joined
 *   perfetto_attributes.c  what producers say of a trace
 *   perfetto_packet.c    a packet's own fields
 *   perfetto_slices.c    beginnings and ends paired, everything given to the builder
 *   perfetto_args.c      arguments, made of their packet when somebody asks
 *
 * Names mean something within their sequence and until its state is cleared, so they are looked up
 * while reading; every time that a sequence starts anew is a generation. Arguments are read again
 * from their packet on demand: interned texts are kept by generation for that. */
#ifndef KINO__READER_PERFETTO_INTERNAL_H
#define KINO__READER_PERFETTO_INTERNAL_H

#include "base/vec.h"
#include "reader/reader.h"
#include "store/event_args.h"
#include "store/event_builder.h"
#include "wire/protobuf.h"

/* Tables of interned data: kino__perfetto_tables in perfetto_state.c has their field numbers. */
typedef enum kino__perfetto_table {
    KINO__PERFETTO_CATEGORY,
    KINO__PERFETTO_NAME,
    KINO__PERFETTO_ARG_NAME,
    KINO__PERFETTO_ARG_TEXT,
    KINO__PERFETTO_LOCATION,
    KINO__PERFETTO_LOG_BODY,
    KINO__PERFETTO_CONTEXT,
    KINO__PERFETTO_GPU_SPEC,
    KINO__PERFETTO_CORRELATION,
    KINO__PERFETTO_GPU_COUNTERS,
    KINO__PERFETTO_KERNEL,
    KINO__PERFETTO_KERNEL_ARG,
    KINO__PERFETTO_TABLES,
} kino__perfetto_table;

typedef struct kino__perfetto_entry {
    kino_str message; /* { iid 1, ... } */
    kino_str name;    /* its field 2, which is its text or what it is about */
    uint64_t number;  /* its field 3 */
    kino_strid text;  /* of the builder; KINO_NO_STRING: not asked for yet */
    uint16_t category;
    bool has_category;
} kino__perfetto_entry;

/* The bytes of packets: the file's, and those of each compressed packet behind them. */
typedef struct kino__perfetto_piece {
    uint64_t first; /* offset of its first byte */
    kino_str bytes;
    char *owned; /* or NULL */
} kino__perfetto_piece;

/* The time between two clearings of a sequence's state. */
typedef struct kino__perfetto_generation {
    uint64_t start;    /* offset of the packet that began it; rising within a sequence */
    uint32_t previous; /* of the same sequence, or KINO__PERFETTO_NO_GENERATION */
    uint32_t jump;     /* one further back, so that an early one is found in a few steps */
    uint32_t depth;
} kino__perfetto_generation;

enum { KINO__PERFETTO_NO_GENERATION = UINT32_MAX };

/* What is kept as long as the trace: to make arguments of it. */
typedef struct kino__perfetto_data {
    KINO__VEC(kino__perfetto_piece) pieces;
    KINO__VEC(kino__perfetto_entry) entries;
    kino__map entry_of; /* generation, table, iid -> entry */
    KINO__VEC(kino__perfetto_generation) generations;
    kino__map generation_of;    /* id of a sequence -> its last generation */
    KINO__VEC(uint64_t) merged; /* two places each */
    kino__file file;
} kino__perfetto_data;

/* The entry of an interned text, or NULL. */
const kino__perfetto_entry *kino__perfetto_find(const kino__perfetto_data *data,
                                                uint32_t generation, kino__perfetto_table table,
                                                uint64_t iid);
/* The generation that a packet at this offset is in. */
uint32_t kino__perfetto_generation_at(const kino__perfetto_data *data, uint32_t sequence,
                                      uint64_t offset);
/* The packet of the frame at this offset. */
kino_str kino__perfetto_packet_at(const kino__perfetto_data *data, uint64_t offset);
/* Where packets begin again behind bytes that are none; the end: nowhere. */
size_t kino__perfetto_resync(kino_str bytes, size_t from);
/* Field `number` of a message, if it is bytes; the last of several. */
kino_str kino__perfetto_member(kino_str message, uint32_t number);
uint64_t kino__perfetto_member_uint(kino_str message, uint32_t number);
void kino__perfetto_data_free(kino__perfetto_data *data);

/* Places of arguments: the offset of a frame plus 1, or one of the two: */
#define KINO__PERFETTO_TYPED  (UINT64_C(1) << 62) /* a place of event_args */
#define KINO__PERFETTO_MERGED (UINT64_C(1) << 61) /* two places, of a beginning and its end */

/* -- clocks -- */

typedef struct kino__perfetto_point {
    int64_t from, to; /* ns of the clock, and of the trace */
} kino__perfetto_point;

typedef struct kino__perfetto_clock {
    uint32_t id, sequence; /* 0: of all */
    uint64_t unit;         /* ns */
    bool is_incremental, is_settled;
    uint64_t running; /* units */
    KINO__VEC(kino__perfetto_point) points;
} kino__perfetto_clock;

typedef struct kino__perfetto_reading {
    uint32_t snapshot, clock;
    int64_t time;
} kino__perfetto_reading;

typedef struct kino__perfetto_clocks {
    KINO__VEC(kino__perfetto_clock) clocks;
    KINO__VEC(kino__perfetto_reading) readings;
    kino__map clock_of; /* id and sequence -> clock */
    uint32_t snapshots;
    uint32_t last; /* clock */
    uint64_t last_key;
    bool failed;
} kino__perfetto_clocks;

enum { KINO__PERFETTO_BOOTTIME = 6, KINO__PERFETTO_REALTIME = 1, KINO__PERFETTO_MONOTONIC = 3 };

void kino__perfetto_clocks_init(kino__perfetto_clocks *clocks);
void kino__perfetto_clocks_deinit(kino__perfetto_clocks *clocks);
void kino__perfetto_clocks_snapshot(kino__perfetto_clocks *clocks, kino_str message,
                                    uint32_t sequence);
/* The number of a clock as a packet of this sequence names it. */
uint32_t kino__perfetto_clock_of(kino__perfetto_clocks *clocks, uint32_t id, uint32_t sequence);
/* The time that a packet states, in ns of its clock; steps of incremental clocks are added up.
 * False: it is not a time. */
bool kino__perfetto_clock_time(kino__perfetto_clocks *clocks, uint32_t clock, uint64_t stated,
                               int64_t *out);
/* After all packets: every clock against the trace's. */
void kino__perfetto_clocks_settle(kino__perfetto_clocks *clocks);
int64_t kino__perfetto_clock_convert(const kino__perfetto_clock *clock, int64_t time);
/* A moment on the trace's clock and its ns since 1970; false: not known. */
bool kino__perfetto_clocks_epoch(const kino__perfetto_clocks *clocks, int64_t *boot,
                                 int64_t *epoch);

/* -- tracks -- */

typedef struct kino__perfetto_track {
    uint64_t uuid, parent;
    bool has_process, has_thread, is_counter, is_incremental, is_described, is_placed, is_visited;
    bool is_named, is_lane;
    int64_t pid, tid;
    kino__label own_pid, own_tid; /* of files that Kino has written, where has_own_* */
    bool has_own_pid, has_own_tid;
    kino_str name, process_name, process_labels, thread_name, unit, description;
    int64_t rank; /* of siblings, or KINO_NO_INT */
    uint64_t multiplier;
    int64_t counted; /* of incremental counters */
    uint32_t counted_in;
    uint32_t row; /* track of the builder, when placed */
    kino_strid text;
} kino__perfetto_track;

typedef struct kino__perfetto_tracks {
    KINO__VEC(kino__perfetto_track) items;
    kino__map track_of; /* uuid -> track */
    uint64_t last_uuid;
    uint32_t last;
    bool failed;
} kino__perfetto_tracks;

/* -- sequences -- */

typedef struct kino__perfetto_sequence {
    uint32_t id, generation;
    bool is_valid, has_rising_times, is_paired;
    uint32_t clock; /* default; 0: BOOTTIME */
    uint64_t track;
    bool has_track, has_thread;
    int64_t pid, tid; /* of its thread descriptor */
    int64_t reference_us, last_time;
    kino_str event_defaults; /* of its TrackEvents: extra counters */
    kino_str gpu_counters;   /* the last descriptor */
    struct kino__perfetto_dense *dense;
} kino__perfetto_sequence;

/* Entries by iid where iids are given one after the other. */
typedef struct kino__perfetto_dense {
    KINO__VEC(uint32_t) of[KINO__PERFETTO_TABLES];
} kino__perfetto_dense;

/* -- events that wait -- */

typedef enum kino__perfetto_phase {
    KINO__PERFETTO_BEGIN = 1,
    KINO__PERFETTO_END = 2,
    KINO__PERFETTO_INSTANT = 3,
    KINO__PERFETTO_COUNTER = 4,
    KINO__PERFETTO_STATE = 5,
    KINO__PERFETTO_COMPLETE = 6, /* with its duration */
    KINO__PERFETTO_DONE = 7,     /* an end that was paired */
    KINO__PERFETTO_OTHER = 8,    /* of the phase `letter` */
} kino__perfetto_phase;

typedef struct kino__perfetto_event {
    int64_t ts;     /* ns of `clock`; of the trace when clocks are settled */
    int64_t dur;    /* of COMPLETE; KINO_NO_TIME */
    uint64_t place; /* of arguments */
    int64_t bind, external;
    uint32_t track;
    kino_strid name;
    uint32_t sequence;
    uint16_t clock;
    uint16_t category;
    uint8_t phase, letter, flags;
    bool lacks_category, is_sync, is_named, is_cut;
} kino__perfetto_event;

typedef struct kino__perfetto_flow {
    uint64_t id;
    uint32_t event;
    uint8_t kind; /* kino__perfetto_flow_kind */
    bool is_last;
} kino__perfetto_flow;

typedef enum kino__perfetto_flow_kind {
    KINO__PERFETTO_FLOW_ANY,    /* of TrackEvents */
    KINO__PERFETTO_FLOW_LAUNCH, /* from a call to the work with this event id */
    KINO__PERFETTO_FLOW_WAIT,   /* from the work with this event id to another */
} kino__perfetto_flow_kind;

typedef struct kino__perfetto_other {
    uint32_t number;
    uint64_t count;
} kino__perfetto_other;

/* An operator with what PyTorch links forward and backward ones by. */
typedef struct kino__perfetto_numbered {
    int64_t number, forward_thread; /* KINO_NO_INT: none */
    int64_t ts;
    uint32_t event;
} kino__perfetto_numbered;

enum { KINO__PERFETTO_FLOW_SHIFT = 56 };

typedef struct kino__perfetto_flow_name {
    kino_strid name;
    uint16_t category;
} kino__perfetto_flow_name;

typedef struct kino__perfetto {
    const kino__load_context *context;
    kino__perfetto_data *data;
    kino__event_builder events;
    kino__event_args args;
    kino__perfetto_clocks clocks;
    kino__perfetto_tracks tracks;
    KINO__VEC(kino__perfetto_sequence) sequences;
    kino__map sequence_of;
    uint32_t last_sequence;
    KINO__VEC(kino__perfetto_event) waiting;
    KINO__VEC(kino__perfetto_flow) flows;
    KINO__VEC(kino__perfetto_numbered) numbered;
    KINO__VEC(kino__perfetto_flow_name) flow_names; /* of files that Kino has written */
    kino__map process_of;                           /* pid -> track */
    int64_t origin;                                 /* what times count from */
    int64_t shift;                                  /* of files that Kino has written */
    kino__map gpu_event_of;                         /* event id of a GPU's work -> waiting */
    kino__map counter_of;                   /* descriptor and id of a GPU's counter -> text */
    KINO__VEC(kino__perfetto_other) others; /* packets of which nothing is shown, by field */
    kino__map other_of;
    kino__trace *trace;
    kino__ledger *ledger;
    kino__buffer scratch;
    kino_str gpu_info;
    uint64_t packets, offset; /* of the packet being read */
    int64_t time;             /* its own, in ns of its clock; KINO_NO_TIME */
    uint32_t clock;
    uint64_t most, unpacked; /* bytes */
    uint64_t losses;         /* marks of lost packets */
    bool is_from_kino;
    bool failed;
} kino__perfetto;

/* -- a packet -- */

typedef struct kino__perfetto_packet {
    uint64_t timestamp;
    uint32_t clock, sequence_id, flags;
    bool has_timestamp, is_cleared, was_dropped, has_track_event, has_defaults, has_descriptor;
    kino_str interned, defaults, snapshot, track_event, track_descriptor, gpu_stage, gpu_counter,
        gpu_info, process_tree, thread, process, attributes, compressed;
    bool is_zstd;
    uint32_t other; /* number of a payload that is not shown, 0: none */
} kino__perfetto_packet;

/* False: the bytes are not a message. */
bool kino__perfetto_packet_read(kino_str bytes, kino__perfetto_packet *out);

/* -- the parts -- */

kino__perfetto_sequence *kino__perfetto_sequence_of(kino__perfetto *p, uint32_t id);
/* State that a packet changes; false: it needs state that was lost. */
bool kino__perfetto_state_apply(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet);
/* The entry that the packet being read means, or NULL. */
kino__perfetto_entry *kino__perfetto_interned(kino__perfetto *p, const kino__perfetto_sequence *s,
                                              kino__perfetto_table table, uint64_t iid);
/* Its text, of field 2. */
kino_strid kino__perfetto_interned_text(kino__perfetto *p, const kino__perfetto_sequence *s,
                                        kino__perfetto_table table, uint64_t iid);

/* The number of the track, made when it is new; 0 when memory is out. */
uint32_t kino__perfetto_track_of(kino__perfetto *p, uint64_t uuid);
void kino__perfetto_track_describe(kino__perfetto *p, kino_str message, kino__perfetto_sequence *s);
void kino__perfetto_thread_describe(kino__perfetto *p, kino_str message,
                                    kino__perfetto_sequence *s);
void kino__perfetto_process_tree(kino__perfetto *p, kino_str message);
/* A track that no descriptor has: of a thread of a process. */
uint32_t kino__perfetto_track_of_thread(kino__perfetto *p, int64_t pid, int64_t tid);
/* The counters of a GPU. */
uint32_t kino__perfetto_track_of_gpu(kino__perfetto *p, int64_t gpu);
/* The row of the timeline that shows a track. */
uint32_t kino__perfetto_track_row(kino__perfetto *p, uint32_t track);
void kino__perfetto_tracks_name(kino__perfetto *p);

/* An event of this packet that waits, with what all have; NULL: memory is out. */
kino__perfetto_event *kino__perfetto_wait(kino__perfetto *p, const kino__perfetto_sequence *s);
void kino__perfetto_track_event(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet);
/* False: it is none that can be shown. */
bool kino__perfetto_legacy_event(kino__perfetto *p, kino__perfetto_sequence *s,
                                 kino__perfetto_event *event, kino_str message);
void kino__perfetto_gpu_stage(kino__perfetto *p, kino__perfetto_sequence *s,
                              const kino__perfetto_packet *packet);
void kino__perfetto_gpu_counter(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet);
void kino__perfetto_add_flow(kino__perfetto *p, kino__perfetto_flow_kind kind, uint64_t id,
                             bool is_last);
/* An argument of an event that has no packet of its own. */
void kino__perfetto_arg_text(kino__perfetto *p, const char *key, kino_str text);
void kino__perfetto_arg_int(kino__perfetto *p, const char *key, int64_t value);
uint64_t kino__perfetto_args_end(kino__perfetto *p);

kino__perfetto_flow_name kino__perfetto_flow_named(kino__perfetto *p, const char *text);
/* One end of a flow, at an event. */
void kino__perfetto_emit_flow(kino__perfetto *p, char phase, int64_t id, uint32_t at,
                              const kino__perfetto_flow_name *name);
void kino__perfetto_emit_forward(kino__perfetto *p);
void kino__perfetto_emit_flows(kino__perfetto *p);
/* Pairs, joins, and adds all that waits to the builder. */
void kino__perfetto_emit(kino__perfetto *p);

/* What the producer says of its trace: top-level keys, or something of ours. */
void kino__perfetto_attributes(kino__perfetto *p, kino_str message);

/* The text of the trace: takes the data, the typed arguments and the texts. NULL: no memory. */
kino__text *kino__perfetto_text_take(kino__perfetto *p);

#endif
