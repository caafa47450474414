/* ring_format.h - the bytes of a recorder's buffers, for the recorder that writes them and for all
 * who read them, perhaps after it died. docs/formats/ring.md has their meaning.
 *
 *   buffer   segments of 256 KiB; <kino/trace_inline.h> has segment and record
 *   meta     | kino__ring_meta | threads ... | anchors, two banks ... |
 *   texts    entries one behind the other; the first word of an entry is stored last, 0 is the end
 *
 * The same three are in .kino files as chunks of kind 11. Whatever can change while somebody looks
 * is a single aligned number, or is only appended, or is in the bank that does not count yet. */
#ifndef KINO__WIRE_RING_FORMAT_H
#define KINO__WIRE_RING_FORMAT_H

#include <kino/trace_inline.h>

#define KINO__RING_MAGIC "KINORING"
enum {
    KINO__RING_VERSION = 4,      /* readers know all up to it */
    KINO__RING_META_SIZE = 1024, /* of the head */
    KINO__RING_THREADS = 1024,   /* that one recording can tell apart */
    KINO__RING_ANCHORS = 1024,   /* of a bank */
    KINO__RING_BANKS = 2,
    KINO__RING_RECORD_SIZE = 32,
};

/* The head of a segment: kino_impl_v1_segment without its records. */
typedef struct kino__ring_segment {
    uint64_t stamp;
    uint32_t count, index;
    uint64_t order;
    uint32_t slot, tid;
    uint64_t taken;
    uint32_t next, session;
    uint64_t generation;
    uint64_t ended; /* threads that had it before, each with a THREAD record */
} kino__ring_segment;
_Static_assert(sizeof(kino__ring_segment) == 64 &&
                   offsetof(kino_impl_v1_segment, records) == sizeof(kino__ring_segment) &&
                   offsetof(kino_impl_v1_segment, taken) == offsetof(kino__ring_segment, taken),
               "part of the file format");
_Static_assert(sizeof(kino_impl_v1_record) == KINO__RING_RECORD_SIZE, "part of the file format");

/* Tags of the chunks of kind 11. */
typedef enum kino__ring_tag {
    KINO__RING_TAG_SEGMENT = 0, /* group: its index; owner: tid. Header and whole records */
    KINO__RING_TAG_META = 1,
    KINO__RING_TAG_TEXTS = 2, /* one or more, in order; an entry is in one chunk */
} kino__ring_tag;

typedef enum kino__ring_state {
    KINO__RING_PREPARED = 1,
    KINO__RING_RECORDING = 2,
    KINO__RING_STOPPED = 3, /* in the regular way */
} kino__ring_state;

typedef enum kino__ring_clock_kind {
    KINO__RING_CLOCK_TSC = 1,       /* ticks of the time stamp counter */
    KINO__RING_CLOCK_MONOTONIC = 2, /* ns of CLOCK_MONOTONIC_RAW */
} kino__ring_clock_kind;

/* Why something is not in the trace. Numbers are stable; names are those of the trace's
 * "kino_loss". */
#define KINO__RING_DROP_MAP(X)                                                                     \
    X(FULL, 0, "buffer_full")         /* records: no segment was free */                           \
    X(THREADS, 1, "too_many_threads") /* records of threads without a slot */                      \
    X(TEXTS, 2, "texts_full")         /* names that did not fit: shown as (name lost) */           \
    X(CUT, 3, "text_cut")             /* argument texts longer than a record can have */           \
    X(LATE, 4, "late")                /* ends and arguments of spans that are no longer there */   \
    X(OVERWRITTEN, 5, "overwritten")  /* records of the flight recorder that made room */

typedef enum kino__ring_drop {
#define KINO__RING_DROP_ENUM(name, value, text) KINO__DROP_##name = value,
    KINO__RING_DROP_MAP(KINO__RING_DROP_ENUM)
#undef KINO__RING_DROP_ENUM
        KINO__DROP_COUNT = 6,
    KINO__DROP_SLOTS = 8, /* room in the file */
} kino__ring_drop;

typedef struct kino__ring_meta {
    char magic[8];
    uint32_t version;
    uint32_t meta_size; /* of this head */
    uint32_t segment_size, segment_count;
    uint64_t buffer_bytes, texts_bytes, meta_bytes; /* of the files */
    uint32_t pid, uid;
    uint64_t process_start; /* field 22 of /proc/PID/stat */
    uint32_t clock;
    uint32_t mode; /* kino_mode */
    uint32_t state;
    uint32_t session;
    uint64_t start_ticks, stop_ticks; /* 0: not yet */
    uint32_t thread_offset, thread_capacity;
    uint32_t anchor_offset, anchor_capacity; /* of a bank */
    uint32_t anchor_bank;                    /* the one that counts */
    uint32_t anchor_count[KINO__RING_BANKS];
    uint32_t reserved0;
    uint64_t dropped[KINO__DROP_SLOTS]; /* of threads that have no slot (any more) */
    uint64_t first_step;                /* number of the step that ran at the start */
    char host[64], process[64];         /* names, zero-terminated */
} kino__ring_meta;
_Static_assert(sizeof(kino__ring_meta) <= KINO__RING_META_SIZE, "the head has its place");

enum { KINO__THREAD_FREE = 0, KINO__THREAD_LIVE = 1, KINO__THREAD_EXITED = 2 };

/* A thread; several copies of the library in one process have one each for the same tid. */
typedef struct kino__ring_thread {
    uint32_t state; /* stored last when a slot is taken */
    uint32_t owner; /* as in the stamps of its segments; never 0, never used again */
    uint32_t tid;
    uint32_t reserved;
    uint64_t dropped[KINO__DROP_SLOTS];
    char name[32]; /* zero-terminated; "": none */
    uint64_t first_ticks;
    uint64_t exit_ticks; /* 0: it lives */
} kino__ring_thread;
_Static_assert(sizeof(kino__ring_thread) == 128, "part of the file format");

/* The same instant on three clocks. */
typedef struct kino__ring_anchor {
    uint64_t ticks;
    int64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
    int64_t real_ns; /* CLOCK_REALTIME */
    uint64_t gap;    /* ticks between the readings around it: how sure it is */
} kino__ring_anchor;
_Static_assert(sizeof(kino__ring_anchor) == 32, "part of the file format");

typedef enum kino__ring_text_kind {
    KINO__TEXT_NAME = 1,     /* name, category, file, function */
    KINO__TEXT_METADATA = 2, /* key, JSON */
    KINO__TEXT_DEVICE = 3,   /* "", JSON: an object of deviceProperties */
} kino__ring_text_kind;

/* An entry of `texts`: this, the four texts one behind the other, zeros up to a multiple of 8. */
typedef struct kino__ring_text {
    uint32_t size; /* of the entry, all included; stored last */
    uint32_t id;   /* names: from 1, in order */
    uint32_t kind;
    uint32_t line; /* of a call site; 0: none */
    uint32_t sizes[4];
} kino__ring_text;
_Static_assert(sizeof(kino__ring_text) == 32, "part of the file format");

enum { KINO__TEXT_LOST = 1 }; /* the id of "(name lost)", always there */

/* What follows a MEMORY record. Its flags: 1 for a failure; 2: behind this comes one more record,
 * whose first word is the thread. */
enum { KINO__MEMORY_OF_THREAD = 2 };
typedef struct kino__ring_memory {
    uint64_t address;
    int64_t total_allocated, total_reserved; /* KINO_NO_INT: unknown */
    int32_t device_type, device_index;
} kino__ring_memory;
_Static_assert(sizeof(kino__ring_memory) == KINO__RING_RECORD_SIZE, "one record");

/* What follows an ACTIVITY record, whose flags say which clock its times are of. */
enum { KINO__ACTIVITY_TICKS = 0, KINO__ACTIVITY_RAW_NS = 1, KINO__ACTIVITY_REAL_NS = 2 };
typedef struct kino__ring_activity {
    int64_t pid, tid;  /* the row: for device work its device and stream */
    uint64_t external; /* "External id"; 0: none */
    uint32_t flags;
    uint32_t reserved;
} kino__ring_activity;
_Static_assert(sizeof(kino__ring_activity) == KINO__RING_RECORD_SIZE, "one record");
enum {
    KINO__ACTIVITY_ON_DEVICE = 1,  /* pid is a device, tid a stream: rows are named so */
    KINO__ACTIVITY_FLOW_START = 2, /* an ac2g flow with the correlation starts here, */
    KINO__ACTIVITY_FLOW_END = 4,   /* ends here */
    /* Rows beside those of threads and streams, with tids as Kineto has them: */
    KINO__ACTIVITY_ROW_OVERHEAD = 8,  /* of the profiler's own doing: pid -1 */
    KINO__ACTIVITY_ROW_SYNC = 16,     /* waits for a stream: its number + 1000000 */
    KINO__ACTIVITY_ROW_WHOLE = 32,    /* waits for a device: tid 1 */
    KINO__ACTIVITY_ARGS_WHOLE = 64,   /* arguments are not made of the row and the correlation */
    KINO__ACTIVITY_ROW_CAPITAL = 128, /* a stream whose row is "Stream N", not "stream N " */
};
enum { KINO__COUNTER_OF_DEVICE = 2 }; /* flag of a COUNTER: aux is the device */

/* `end` of an argument of type INPUT; `text` of the record is the type's name (0: none). Behind it
 * come the dims, the strides (8 bytes each) and the value's bytes. */
static inline uint64_t kino__ring_input(uint32_t kind, uint32_t dims, bool has_strides,
                                        uint32_t value_size)
{
    return kind | dims << 8 | (has_strides ? 1u << 24 : 0) | (uint64_t)value_size << 32;
}

static inline uint32_t kino__ring_records_for(uint64_t bytes)
{
    return (uint32_t)((bytes + KINO__RING_RECORD_SIZE - 1) / KINO__RING_RECORD_SIZE);
}

#endif
