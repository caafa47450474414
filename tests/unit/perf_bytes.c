/* perf_bytes.c - records of perf_event, by the layout of linux/perf_event.h. */
#include "unit/perf_bytes.h"

#include <linux/perf_event.h>
#include <string.h>

enum {
    BASE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
           PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
};

const kino__perf_event perf_events[4] = {
    {PERF_TRACK_ID, BASE, 0, KINO__PERF_TRACK, 0},
    {PERF_CLOCK_ID, BASE | PERF_SAMPLE_CALLCHAIN, 0, KINO__PERF_CLOCK, 0},
    {PERF_SWITCH_ID, BASE | PERF_SAMPLE_CALLCHAIN, 0, KINO__PERF_SWITCH, 0},
    {PERF_FAULT_ID, (BASE & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_ADDR, 0, KINO__PERF_FAULT, 10},
};

static void add(perf_bytes *b, const void *data, size_t size)
{
    kino__buffer_add(&b->out, (kino_str){data, size});
}

void perf_begin(perf_bytes *b, uint32_t type, uint16_t misc)
{
    b->start = b->out.size;
    struct perf_event_header header = {.type = type, .misc = misc};
    add(b, &header, sizeof header);
}

void perf_u64(perf_bytes *b, uint64_t value)
{
    add(b, &value, sizeof value);
}

void perf_u32(perf_bytes *b, uint32_t value)
{
    add(b, &value, sizeof value);
}

void perf_text(perf_bytes *b, const char *text)
{
    static const char zeros[8];
    size_t size = strlen(text) + 1;
    add(b, text, size);
    add(b, zeros, (8 - size % 8) % 8);
}

void perf_trailer(perf_bytes *b)
{
    perf_u32(b, (uint32_t)b->pid);
    perf_u32(b, (uint32_t)b->tid);
    perf_u64(b, b->time);
    perf_u32(b, b->cpu);
    perf_u32(b, 0);
    perf_u64(b, b->id);
}

void perf_end(perf_bytes *b)
{
    uint16_t size = (uint16_t)(b->out.size - b->start);
    memcpy(b->out.data + b->start + offsetof(struct perf_event_header, size), &size, sizeof size);
}

void perf_sample(perf_bytes *b, uint64_t id, uint64_t ip, uint64_t period, const uint64_t *chain,
                 size_t count)
{
    perf_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    perf_u64(b, id);
    perf_u64(b, ip);
    perf_u32(b, (uint32_t)b->pid);
    perf_u32(b, (uint32_t)b->tid);
    perf_u64(b, b->time);
    if (id == PERF_FAULT_ID)
        perf_u64(b, 0xabc000);
    perf_u32(b, b->cpu);
    perf_u32(b, 0);
    if (id != PERF_FAULT_ID) {
        perf_u64(b, period);
        perf_u64(b, count);
        for (size_t i = 0; i < count; i++)
            perf_u64(b, chain[i]);
    }
    perf_end(b);
}

static void finish(perf_bytes *b, uint64_t id)
{
    b->id = id;
    perf_trailer(b);
    perf_end(b);
}

void perf_switch(perf_bytes *b, bool out, bool preempted)
{
    perf_begin(b, PERF_RECORD_SWITCH,
               (uint16_t)((out ? PERF_RECORD_MISC_SWITCH_OUT : 0) |
                          (preempted ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0)));
    finish(b, PERF_CLOCK_ID);
}

void perf_comm(perf_bytes *b, const char *name, bool exec)
{
    perf_begin(b, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
    perf_u32(b, (uint32_t)b->pid);
    perf_u32(b, (uint32_t)b->tid);
    perf_text(b, name);
    finish(b, PERF_TRACK_ID);
}

void perf_map(perf_bytes *b, uint64_t address, uint64_t size, uint64_t offset, const char *path)
{
    perf_begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    perf_u32(b, (uint32_t)b->pid);
    perf_u32(b, (uint32_t)b->tid);
    perf_u64(b, address);
    perf_u64(b, size);
    perf_u64(b, offset);
    perf_u32(b, 8); /* device 8:1, inode 77, generation 5 */
    perf_u32(b, 1);
    perf_u64(b, 77);
    perf_u64(b, 5);
    perf_u32(b, 5);
    perf_u32(b, 2);
    perf_text(b, path);
    finish(b, PERF_TRACK_ID);
}

void perf_task(perf_bytes *b, uint32_t type, int32_t pid, int32_t tid, int32_t parent_pid,
               int32_t parent_tid)
{
    perf_begin(b, type, 0);
    perf_u32(b, (uint32_t)pid);
    perf_u32(b, (uint32_t)parent_pid);
    perf_u32(b, (uint32_t)tid);
    perf_u32(b, (uint32_t)parent_tid);
    perf_u64(b, b->time);
    finish(b, PERF_TRACK_ID);
}

void perf_lost(perf_bytes *b, uint64_t count)
{
    perf_begin(b, PERF_RECORD_LOST, 0);
    perf_u64(b, PERF_CLOCK_ID);
    perf_u64(b, count);
    finish(b, PERF_CLOCK_ID);
}
