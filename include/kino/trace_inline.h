/* kino/trace_inline.h - what the recording macros compile into a program. Not for use by hand:
 * include <kino/kino.h>.
 *
 * This is ABI: programs carry these instructions, so the layouts and meanings of the names
 * kino_impl_v1_* never change. Another layout gets another name (v2), and the library keeps both.
 *
 * A span is one record of 32 bytes. Its begin fills the record and then counts it in the header of
 * the segment; its end stores one number into it. So a span that is open when the process dies is
 * there, and no value is ever torn:
 *
 *   thread ──► segment   stamp, count, ...                                 64 bytes
 *                        record 0 | record 1 | ... | record count - 1 | free ...
 *
 * A segment has one writer, the thread it belongs to. Readers take `count` with acquire. */
#ifndef KINO_TRACE_INLINE_H
#define KINO_TRACE_INLINE_H

#include <kino/base.h>

#if defined(__x86_64__)
#    include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KINO_IMPL_V1_SEGMENT_SIZE = 1 << 18,
    KINO_IMPL_V1_SEGMENT_RECORDS = (KINO_IMPL_V1_SEGMENT_SIZE - 64) / 32,
};

/* What a record is. Numbers are never used again for something else. */
typedef enum kino_impl_v1_kind {
    KINO_IMPL_V1_NONE = 0,
    KINO_IMPL_V1_SPAN = 1,     /* start; end, 0 while open; aux: number of a numbered name */
    KINO_IMPL_V1_END = 2,      /* end of a span of another thread: end; aux: reference */
    KINO_IMPL_V1_INSTANT = 3,  /* start */
    KINO_IMPL_V1_COUNTER = 4,  /* start; end: value (bits of a double, or an integer: flags) */
    KINO_IMPL_V1_FLOW = 5,     /* start; aux: id; flags: which point */
    KINO_IMPL_V1_ARG = 6,      /* text: key; flags: type; end: value; aux: reference */
    KINO_IMPL_V1_MEMORY = 7,   /* start; end: bytes; one more record follows */
    KINO_IMPL_V1_ACTIVITY = 8, /* of a device: start, end, aux: correlation; one more follows */
    KINO_IMPL_V1_THREAD = 9,   /* what precedes it belongs to a thread that has ended: start: when
                                  it took the segment; end; text: order; aux: owner << 32 | tid;
                                  its name follows */
} kino_impl_v1_kind;

enum {
    KINO_IMPL_V1_FLAG_NUMBERED = 1, /* span: the name ends with the number in aux */
    KINO_IMPL_V1_FLAG_STEP = 2,     /* span: a step; left out when it is open at a regular end */
    KINO_IMPL_V1_FLAG_PYTHON = 4,   /* span: a call of Python; aux: number << 32 | its caller's */
    KINO_IMPL_V1_FLAG_SEQUENCE = 8, /* span: of an operator; aux: forward thread << 48 | logical
                                       thread << 32 | sequence number */
    KINO_IMPL_V1_FLAG_DOUBLE = 1,   /* counter: the value is a double */
    KINO_IMPL_V1_FLOW_START = 0,
    KINO_IMPL_V1_FLOW_STEP = 1,
    KINO_IMPL_V1_FLOW_END = 2,
};

/* Types of arguments. */
typedef enum kino_impl_v1_arg {
    KINO_IMPL_V1_ARG_INT = 1,
    KINO_IMPL_V1_ARG_UINT = 2,
    KINO_IMPL_V1_ARG_DOUBLE = 3,   /* bits */
    KINO_IMPL_V1_ARG_BOOL = 4,     /* 0 or 1 */
    KINO_IMPL_V1_ARG_TEXT = 5,     /* end: size in bytes; they follow */
    KINO_IMPL_V1_ARG_JSON = 6,     /* likewise */
    KINO_IMPL_V1_ARG_SEQUENCE = 7, /* end: sequence number; start: forward thread + 1 */
    KINO_IMPL_V1_ARG_INPUT = 8,    /* an input of an operator: ring_format.h has what follows */
    KINO_IMPL_V1_ARG_MEMBERS = 9,  /* end: number of a text that is a JSON object: its members */
    KINO_IMPL_V1_ARG_OBJECT = 10,  /* likewise, but the text follows, as of TEXT */
    KINO_IMPL_V1_ARG_INPUTS = 11,  /* end: words of <kino/inputs.h>; they follow */
} kino_impl_v1_arg;

typedef struct kino_impl_v1_record {
    uint64_t start; /* ticks */
    uint64_t end;   /* ticks or a value */
    uint32_t text;  /* number of the call site or text */
    uint8_t kind;
    uint8_t flags;
    uint16_t following; /* records after this one that are its payload */
    uint64_t aux;
} kino_impl_v1_record;

typedef struct kino_impl_v1_segment {
    uint64_t stamp; /* owner << 16 | generation; 0: none */
    uint32_t count; /* complete records */
    uint32_t index; /* of the segment in the buffer */
    uint64_t order; /* rises with each segment the thread takes */
    uint32_t slot;  /* in the table of threads */
    uint32_t tid;
    uint64_t taken;   /* ticks */
    uint32_t next;    /* the thread's next younger segment + 1, or 0 */
    uint32_t session; /* number of the session */
    uint64_t reserved[2];
    kino_impl_v1_record records[KINO_IMPL_V1_SEGMENT_RECORDS];
} kino_impl_v1_segment;

/* What the fast path knows of its thread. */
typedef struct kino_impl_v1_thread {
    kino_impl_v1_segment *segment;
    uint32_t session; /* the segment is of this session; NO_SESSION: there is none */
    uint32_t owner;
} kino_impl_v1_thread;

/* Never the number of a session, and not 0 either: so one comparison says that something is
 * recorded and that the thread takes part in it. */
#define KINO_IMPL_V1_NO_SESSION UINT32_MAX

/* A place in the program. `id` is filled in when it is first reached while recording. */
typedef struct kino_impl_v1_site {
    const char *name;
    const char *category;
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t id;
} kino_impl_v1_site;

/* 0: not recording. Otherwise the number of the session; with the highest bit set every record
 * goes through the slow functions (there is no counter that could be read directly). */
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): programs read them */
KINO_API extern uint32_t kino_impl_v1_active;
KINO_API extern __thread kino_impl_v1_thread kino_impl_v1_self
    __attribute__((tls_model("initial-exec")));
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* The slow half of each fast function. */
KINO_API uint64_t kino_impl_v1_begin_slow(kino_impl_v1_site *site, uint64_t aux, uint32_t kind);
KINO_API void kino_impl_v1_end_slow(uint64_t span);
KINO_API void kino_impl_v1_point_slow(kino_impl_v1_site *site, uint64_t value, uint64_t aux,
                                      uint32_t kind);
KINO_API void kino_impl_v1_arg_slow(uint64_t span, kino_impl_v1_site *key, uint64_t value,
                                    uint32_t type);
KINO_API uint64_t kino_impl_v1_restart_slow(uint64_t span);

/* A span as the fast path has it: generation << 48 | address of the record. When its clock must be
 * read by the slow functions, the lowest bit is set and the generation inverted, so that it fits no
 * segment. */
enum { KINO_IMPL_V1_SLOW_CLOCK = 1 };

static inline kino_impl_v1_segment *kino_impl_v1_segment_of(uint64_t span)
{
    uint64_t address = span & 0xffffffffffffu & ~(uint64_t)(KINO_IMPL_V1_SEGMENT_SIZE - 1);
    return (kino_impl_v1_segment *)(uintptr_t)address;
}

static inline kino_impl_v1_record *kino_impl_v1_record_of(uint64_t span)
{
    return (kino_impl_v1_record *)(uintptr_t)(span & 0xffffffffffffu & ~(uint64_t)31);
}

/* A span as records name it, valid in another process: segment << 32 | record << 16 | generation.
 */
static inline uint64_t kino_impl_v1_reference(uint64_t span, const kino_impl_v1_segment *segment)
{
    uint64_t record = (span & (KINO_IMPL_V1_SEGMENT_SIZE - 1) & ~(uint64_t)31) / 32 - 2;
    uint64_t index = __atomic_load_n(&segment->index, __ATOMIC_RELAXED);
    return index << 32 | record << 16 | span >> 48;
}

#if defined(__x86_64__)
static inline uint64_t kino_impl_v1_ticks(void)
{
    return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t kino_impl_v1_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
/* No counter that is known to be good: never reached, because every session is a slow one. */
static inline uint64_t kino_impl_v1_ticks(void)
{
    return 0;
}
#endif

/* Names, kind and counts of a record are one number and one store. */
static inline uint64_t kino_impl_v1_head(uint32_t text, uint32_t kind, uint32_t flags,
                                         uint32_t following)
{
    return (uint64_t)text | (uint64_t)kind << 32 | (uint64_t)flags << 40 |
           (uint64_t)following << 48;
}

/* Fields are stored as atomics (plain moves here), because a dump may look at any time. */
static inline void kino_impl_v1_fill(kino_impl_v1_record *record, uint64_t start, uint64_t end,
                                     uint64_t head, uint64_t aux)
{
    uint64_t *words = (uint64_t *)(void *)record;
    __atomic_store_n(&words[0], start, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], end, __ATOMIC_RELAXED);
    __atomic_store_n(&words[2], head, __ATOMIC_RELAXED);
    __atomic_store_n(&words[3], aux, __ATOMIC_RELAXED);
}

/* The thread's segment when it can take `need` more records directly, or NULL. */
static inline kino_impl_v1_segment *kino_impl_v1_room(uint32_t session, uint32_t id, uint32_t need)
{
    kino_impl_v1_segment *segment = kino_impl_v1_self.segment;
    if (__builtin_expect(kino_impl_v1_self.session != session || id == 0, 0))
        return NULL;
    if (__builtin_expect(segment->count > KINO_IMPL_V1_SEGMENT_RECORDS - need, 0))
        return NULL;
    return segment;
}

/* The first record that is not counted. */
static inline kino_impl_v1_record *kino_impl_v1_next(kino_impl_v1_segment *segment, uint32_t count)
{
    return (kino_impl_v1_record *)(void *)((char *)segment->records + (uint64_t)count * 32);
}

/* `kind` has flags in its second byte. `start` 0: now, and the clock is read last. Another start is
 * for callers that add arguments and call kino_impl_v1_restart then. */
static inline uint64_t kino_impl_v1_begin_at(kino_impl_v1_site *site, uint64_t aux, uint32_t kind,
                                             uint64_t start)
{
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, id, 1);
    if (__builtin_expect(!segment, 0))
        return session ? kino_impl_v1_begin_slow(site, aux, kind) : 0;
    uint32_t count = segment->count;
    kino_impl_v1_record *record = kino_impl_v1_next(segment, count);
    uint64_t span = segment->stamp << 48 | (uint64_t)(uintptr_t)record;
    kino_impl_v1_fill(record, start ? start : kino_impl_v1_ticks(), 0,
                      kino_impl_v1_head(id, kind & 0xff, kind >> 8, 0), aux);
    __atomic_store_n(&segment->count, count + 1, __ATOMIC_RELEASE);
    return span;
}

static inline uint64_t kino_impl_v1_begin(kino_impl_v1_site *site, uint64_t aux, uint32_t kind)
{
    return kino_impl_v1_begin_at(site, aux, kind, 0);
}

/* The clock is read first. */
static inline void kino_impl_v1_end(uint64_t span)
{
    if (__builtin_expect(span == 0, 1))
        return;
    kino_impl_v1_segment *segment = kino_impl_v1_segment_of(span);
    uint64_t now = kino_impl_v1_ticks();
    uint64_t stamp = __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | span >> 48;
    if (__builtin_expect(stamp != mine, 0))
        kino_impl_v1_end_slow(span);
    else
        __atomic_store_n(&kino_impl_v1_record_of(span)->end, now, __ATOMIC_RELAXED);
}

/* The span begins now: what was done since then is not part of it. Only on its own thread. Returns
 * the ticks, 0: the span keeps its start. */
static inline uint64_t kino_impl_v1_restart(uint64_t span)
{
    if (span == 0)
        return 0;
    const kino_impl_v1_segment *segment = kino_impl_v1_segment_of(span);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | span >> 48;
    if (__builtin_expect(__atomic_load_n(&segment->stamp, __ATOMIC_RELAXED) != mine, 0))
        return kino_impl_v1_restart_slow(span);
    uint64_t now = kino_impl_v1_ticks();
    __atomic_store_n(&kino_impl_v1_record_of(span)->start, now, __ATOMIC_RELAXED);
    return now;
}

/* A span that ends in the scope in which it began, on the same thread: its segment is not taken
 * by others, so an unchanged stamp is enough, and nothing has to be packed into one number. */
typedef struct kino_impl_v1_zone {
    kino_impl_v1_segment *segment; /* NULL: `place` is a span of the slow functions, or 0 */
    uint64_t stamp;
    uint64_t place; /* address of the record */
} kino_impl_v1_zone;

static inline kino_impl_v1_zone kino_impl_v1_enter(kino_impl_v1_site *site)
{
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    kino_impl_v1_zone zone = {kino_impl_v1_room(session, id, 1), 0, 0};
    if (__builtin_expect(!zone.segment, 0)) {
        if (session)
            zone.place = kino_impl_v1_begin_slow(site, 0, KINO_IMPL_V1_SPAN);
        return zone;
    }
    uint32_t count = zone.segment->count;
    kino_impl_v1_record *record = kino_impl_v1_next(zone.segment, count);
    zone.stamp = zone.segment->stamp;
    zone.place = (uint64_t)(uintptr_t)record;
    kino_impl_v1_fill(record, kino_impl_v1_ticks(), 0,
                      kino_impl_v1_head(id, KINO_IMPL_V1_SPAN, 0, 0), 0);
    __atomic_store_n(&zone.segment->count, count + 1, __ATOMIC_RELEASE);
    return zone;
}

static inline uint64_t kino_impl_v1_span_of(const kino_impl_v1_zone *zone)
{
    return zone->segment ? zone->stamp << 48 | zone->place : zone->place;
}

/* For the cleanup attribute. */
static inline void kino_impl_v1_leave(const kino_impl_v1_zone *zone)
{
    if (__builtin_expect(!zone->segment, 0)) {
        if (zone->place)
            kino_impl_v1_end(zone->place);
        return;
    }
    uint64_t now = kino_impl_v1_ticks();
    if (__builtin_expect(__atomic_load_n(&zone->segment->stamp, __ATOMIC_RELAXED) != zone->stamp,
                         0)) {
        kino_impl_v1_end_slow(kino_impl_v1_span_of(zone));
        return;
    }
    kino_impl_v1_record *record = (kino_impl_v1_record *)(uintptr_t)zone->place;
    __atomic_store_n(&record->end, now, __ATOMIC_RELAXED);
}

/* Instants, counters, flow points. */
static inline void kino_impl_v1_point(kino_impl_v1_site *site, uint64_t value, uint64_t aux,
                                      uint32_t kind)
{
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, id, 1);
    if (__builtin_expect(!segment, 0)) {
        if (session)
            kino_impl_v1_point_slow(site, value, aux, kind);
        return;
    }
    uint32_t count = segment->count;
    kino_impl_v1_fill(kino_impl_v1_next(segment, count), kino_impl_v1_ticks(), value,
                      kino_impl_v1_head(id, kind & 0xff, kind >> 8, 0), aux);
    __atomic_store_n(&segment->count, count + 1, __ATOMIC_RELEASE);
}

/* An argument of a span; does not need a clock. */
static inline void kino_impl_v1_arg_add(uint64_t span, kino_impl_v1_site *key, uint64_t value,
                                        uint32_t type)
{
    if (__builtin_expect(span == 0, 1))
        return;
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    uint32_t id = __atomic_load_n(&key->id, __ATOMIC_RELAXED);
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, id, 1);
    const kino_impl_v1_segment *of = kino_impl_v1_segment_of(span);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | span >> 48;
    if (__builtin_expect(!segment || __atomic_load_n(&of->stamp, __ATOMIC_RELAXED) != mine, 0)) {
        kino_impl_v1_arg_slow(span, key, value, type);
        return;
    }
    uint32_t count = segment->count;
    kino_impl_v1_fill(kino_impl_v1_next(segment, count), 0, value,
                      kino_impl_v1_head(id, KINO_IMPL_V1_ARG, type, 0),
                      kino_impl_v1_reference(span, of));
    __atomic_store_n(&segment->count, count + 1, __ATOMIC_RELEASE);
}

/* Numbers of an operator as a span has them in aux; 0: they do not fit, or there are none. */
static inline uint64_t kino_impl_v1_sequence(int64_t sequence, uint64_t thread,
                                             uint64_t forward_thread)
{
    bool fits = (uint64_t)sequence <= UINT32_MAX && thread <= UINT16_MAX &&
                forward_thread <= UINT16_MAX && thread != 0;
    return fits ? forward_thread << 48 | thread << 32 | (uint64_t)sequence : 0;
}

static inline uint64_t kino_impl_v1_double_bits(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

#ifdef __cplusplus
}
#endif
#endif
