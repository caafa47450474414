/* perf_bytes.h - records as Linux's perf_event writes them, made by hand for tests.
 *
 * All counters have the trailer {pid tid, time, cpu, id}; samples have {id, ip, pid tid, time, cpu,
 * period} and a call chain, those of faults an address instead of both. */
#ifndef KINO_PERF_BYTES_H
#define KINO_PERF_BYTES_H

#include "base/str.h"
#include "record/perf_record.h"

typedef struct perf_bytes {
    kino__buffer out;
    size_t start; /* of the record at hand */
    uint32_t cpu; /* for all records that follow */
    uint64_t id;  /* the counter */
    int32_t pid, tid;
    uint64_t time;
} perf_bytes;

/* The counters that the functions below take for granted: tracking, clock, switch, fault. */
enum { PERF_TRACK_ID = 11, PERF_CLOCK_ID = 12, PERF_SWITCH_ID = 13, PERF_FAULT_ID = 14 };
extern const kino__perf_event perf_events[4];

void perf_begin(perf_bytes *b, uint32_t type, uint16_t misc);
void perf_u64(perf_bytes *b, uint64_t value);
void perf_u32(perf_bytes *b, uint32_t value);
void perf_text(perf_bytes *b, const char *text); /* padded to 8 */
void perf_trailer(perf_bytes *b);
void perf_end(perf_bytes *b); /* writes the size */

void perf_sample(perf_bytes *b, uint64_t id, uint64_t ip, uint64_t period, const uint64_t *chain,
                 size_t count);
void perf_switch(perf_bytes *b, bool out, bool preempted);
void perf_comm(perf_bytes *b, const char *name, bool exec);
void perf_map(perf_bytes *b, uint64_t address, uint64_t size, uint64_t offset, const char *path);
void perf_task(perf_bytes *b, uint32_t type, int32_t pid, int32_t tid, int32_t parent_pid,
               int32_t parent_tid);
void perf_lost(perf_bytes *b, uint64_t count);

#endif
