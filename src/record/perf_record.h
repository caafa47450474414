/* perf_record.h - the records that Linux's perf_event writes, decoded; for samples.c.
 *
 *   [header: type, misc, size | body by type | trailer: pid tid, time, cpu, id]     samples: the id
 *                                                                                   comes first
 *
 * Bytes come from a file in the work folder and are not trusted: every count and offset is checked,
 * what does not fit is refused. Nothing is copied: a record points into the bytes. */
#ifndef KINO__RECORD_PERF_RECORD_H
#define KINO__RECORD_PERF_RECORD_H

#include <string.h>

#include <kino/base.h>

typedef enum kino__perf_kind {
    KINO__PERF_TRACK,  /* modules, names, forks: no samples */
    KINO__PERF_CLOCK,  /* samples by CPU time */
    KINO__PERF_SWITCH, /* the stack with which a thread leaves its processor */
    KINO__PERF_FAULT,  /* page faults */
    KINO__PERF_SYSTEM, /* switches of all threads of the machine */
    KINO__PERF_KINDS,
} kino__perf_kind;

/* What the counter with this id writes. */
typedef struct kino__perf_event {
    uint64_t id;
    uint64_t sample_type; /* PERF_SAMPLE_* */
    uint64_t regs;        /* sample_regs_user */
    kino__perf_kind kind;
    uint64_t period; /* of its samples, where they do not say it themselves */
} kino__perf_event;

typedef struct kino__perf_words { /* unaligned 64-bit numbers */
    const unsigned char *data;
    size_t count;
} kino__perf_words;

typedef struct kino__perf_sample {
    uint64_t ip, address, period;
    kino__perf_words chain; /* with the kernel's context marks */
    uint64_t regs_abi;      /* 0: no registers */
    kino__perf_words regs;  /* in the order of the bits of event->regs */
    kino_str stack;         /* bytes from the stack pointer on */
} kino__perf_sample;

typedef struct kino__perf_map {
    uint64_t address, size, offset;
    uint64_t inode, generation; /* when there is no build id */
    uint32_t major, minor;
    unsigned char build_id[20];
    uint32_t build_id_size;
    uint32_t prot;
    kino_str path;
} kino__perf_map;

typedef struct kino__perf_record {
    uint32_t type; /* PERF_RECORD_* */
    uint32_t misc;
    const kino__perf_event *event; /* NULL: a counter we do not know; never for samples */
    int32_t pid, tid;
    uint32_t cpu;
    int64_t time_ns;
    union {
        kino__perf_sample sample;
        kino__perf_map map;
        kino_str name; /* PERF_RECORD_COMM */
        struct {
            int32_t pid, tid, parent_pid, parent_tid;
        } task;        /* PERF_RECORD_FORK, _EXIT */
        uint64_t lost; /* PERF_RECORD_LOST, _LOST_SAMPLES */
        struct {
            int32_t other_pid, other_tid; /* SWITCH_CPU_WIDE: whom it left for, or came from */
        } change;
    } as;
} kino__perf_record;

typedef enum kino__perf_found {
    KINO__PERF_END,     /* no bytes are left */
    KINO__PERF_RECORD,  /* *out is filled */
    KINO__PERF_OTHER,   /* a whole record that we have no use for */
    KINO__PERF_DAMAGED, /* a whole record whose content does not fit */
    KINO__PERF_BROKEN,  /* not a record: where the next one begins is unknown */
} kino__perf_found;

/* Reads the record at *at and moves *at behind it (to the end when BROKEN). */
kino__perf_found kino__perf_record_next(kino_str bytes, size_t *at, const kino__perf_event *events,
                                        size_t event_count, kino__perf_record *out);

static inline uint64_t kino__perf_word(kino__perf_words words, size_t index)
{
    uint64_t value;
    memcpy(&value, words.data + 8 * index, sizeof value);
    return value;
}

/* The bytes [tail, head) of a ring of `size` bytes (a power of two) as at most two pieces, in
 * order; the second may be empty. Both are empty when head - tail does not fit the ring. */
void kino__perf_ring_pieces(const unsigned char *ring, uint64_t size, uint64_t tail, uint64_t head,
                            kino_str pieces[2]);

#endif
