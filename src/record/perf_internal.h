/* perf_internal.h - one recording by perf_event; for perf*.c and samples*.c. */
#ifndef KINO__RECORD_PERF_INTERNAL_H
#define KINO__RECORD_PERF_INTERNAL_H

#include "base/arena.h"
#include "base/vec.h"
#include "record/perf.h"
#include "record/perf_record.h"

enum {
    KINO__PERF_STACK_BYTES = 16 * 1024, /* of each copied stack; a record has at most 64 KiB */
};

/* Registers that copied stacks come with, by linux/asm/perf_regs.h: all that unwinding needs. */
#if defined(__x86_64__)
#    define KINO__PERF_REGS UINT64_C(0xff01ff) /* AX..SP, IP, R8..R15 */
#elif defined(__aarch64__)
#    define KINO__PERF_REGS UINT64_C(0x1ffffffff) /* X0..X29, LR, SP, PC */
#else
#    define KINO__PERF_REGS UINT64_C(0)
#endif

typedef struct kino__perf_cpu {
    int number;
    int fds[KINO__PERF_KINDS]; /* -1: not open; the ring belongs to KINO__PERF_TRACK */
    unsigned char *map;        /* a control page, then the ring; NULL: not mapped */
    size_t map_size;
    int spool; /* file of the records; -1: none */
} kino__perf_cpu;

typedef struct kino__perf_time {
    int64_t start_ns, end_ns;
} kino__perf_time;

typedef struct kino__perf_waits kino__perf_waits;

struct kino__perf {
    kino__perf_options options;
    char *folder;
    KINO__VEC(kino__perf_cpu) cpus;
    KINO__VEC(kino__perf_event) events;
    KINO__VEC(const char *) notes;
    KINO__VEC(kino__perf_time) pauses; /* the last one may be open: end_ns is INT64_MAX */
    KINO__VEC(kino__perf_process) processes;
    kino__arena arena; /* notes and the result */
    int epoll;
    size_t ring_bytes;       /* of each processor */
    int64_t period_ns;       /* between two samples; 0: none */
    bool kernel;             /* what happens inside of the kernel is seen, too */
    kino__perf_waits *waits; /* NULL: the kernel tells where threads wait, or nobody wants it */
    bool is_paused;          /* sampling waits for kino__perf_set_active */
    bool has_data;           /* the program runs */
    bool stopped, finished;
    int spool_errno;      /* the work folder cannot be written any more */
    uint64_t unsaved;     /* bytes that therefore are missing */
    kino_builder *system; /* of the result */
};

void kino__perf_add_note(kino__perf *perf, const char *format, ...) KINO_PRINTF(2, 3);

/* Why the kernel refused perf_event_open, and what to do: for the user. `all` is about the whole
 * machine instead of the user's own program. */
kino_status kino__perf_refused(int error, size_t cpu_count, bool all, kino_error *err);

/* A number from a file of /proc/sys/kernel; `missing` when it cannot be read. */
int64_t kino__perf_setting(const char *name, int64_t missing);

/* The file of the records of one processor: "<folder>/perf-<cpu>.data". False: it does not fit. */
bool kino__perf_spool_path(const kino__perf *perf, const kino__perf_cpu *cpu, char *path,
                           size_t size);

/* perf_ring.c: maps all rings with the largest size that the kernel grants; empties them; gives
 * them back. */
KINO_NODISCARD kino_status kino__perf_rings_map(kino__perf *perf, kino_error *err);
KINO_NODISCARD kino_status kino__perf_rings_drain(kino__perf *perf, kino_error *err);
void kino__perf_rings_unmap(kino__perf *perf);

/* Appends a record of our own. */
void kino__perf_spool_add(kino__perf *perf, kino_str record);

/* perf_waits.c: stacks of threads that wait. open fails silently: there are none then. */
void kino__perf_waits_open(kino__perf *perf);
void kino__perf_waits_close(kino__perf *perf);
void kino__perf_waits_see(kino__perf *perf, const kino_str pieces[2]);
void kino__perf_waits_look(kino__perf *perf);

/* samples.c: from the files of the records to traces. */
KINO_NODISCARD kino_status kino__samples_build(kino__perf *perf, const kino__perf_output *output,
                                               kino_error *err);

#endif
