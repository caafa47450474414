/* perf_record.c - decoding the kernel's records. The layout is that of linux/perf_event.h: the bits
 * of sample_type say which fields a sample has, in a fixed order. */
#include "record/perf_record.h"

#include <linux/perf_event.h>

enum { TRAILER = 32 }; /* pid tid, time, cpu, id: what every counter of ours has */

typedef struct cursor {
    const unsigned char *at, *end;
    bool short_of; /* asked for more than there is */
} cursor;

static uint64_t take_u64(cursor *c)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < sizeof value) {
        c->short_of = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, sizeof value);
    c->at += sizeof value;
    return value;
}

static void take_pair(cursor *c, uint32_t *first, uint32_t *second)
{
    uint64_t both = take_u64(c);
    uint32_t parts[2];
    memcpy(parts, &both, sizeof parts);
    *first = parts[0];
    *second = parts[1];
}

static void take_ids(cursor *c, int32_t *pid, int32_t *tid)
{
    uint32_t first, second;
    take_pair(c, &first, &second);
    *pid = (int32_t)first;
    *tid = (int32_t)second;
}

static kino__perf_words take_words(cursor *c, uint64_t count)
{
    if (count > (size_t)(c->end - c->at) / 8) {
        c->short_of = true;
        c->at = c->end;
        return (kino__perf_words){NULL, 0};
    }
    kino__perf_words words = {c->at, (size_t)count};
    c->at += 8 * words.count;
    return words;
}

/* A text that ends with a zero, and fills the rest of the body. */
static kino_str take_text(cursor *c)
{
    size_t room = (size_t)(c->end - c->at);
    const unsigned char *zero = memchr(c->at, 0, room);
    if (!zero) {
        c->short_of = true;
        return (kino_str){"", 0};
    }
    kino_str text = {(const char *)c->at, (size_t)(zero - c->at)};
    c->at = c->end;
    return text;
}

static const kino__perf_event *find_event(const kino__perf_event *events, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].id == id)
            return &events[i];
    return NULL;
}

static void take_stack(cursor *c, kino__perf_sample *sample)
{
    uint64_t size = take_u64(c);
    kino__perf_words bytes = take_words(c, size / 8);
    if (size % 8)
        c->short_of = true;
    if (!size || c->short_of)
        return;
    uint64_t used = take_u64(c);
    if (used > size)
        c->short_of = true;
    else
        sample->stack = (kino_str){(const char *)bytes.data, (size_t)used};
}

static bool read_sample(cursor *c, kino__perf_record *out)
{
    kino__perf_sample *sample = &out->as.sample;
    uint64_t type = out->event->sample_type;
    sample->period = out->event->period;
    if (type & PERF_SAMPLE_IP)
        sample->ip = take_u64(c);
    if (type & PERF_SAMPLE_TID)
        take_ids(c, &out->pid, &out->tid);
    if (type & PERF_SAMPLE_TIME)
        out->time_ns = (int64_t)take_u64(c);
    if (type & PERF_SAMPLE_ADDR)
        sample->address = take_u64(c);
    if (type & PERF_SAMPLE_CPU) {
        uint32_t reserved;
        take_pair(c, &out->cpu, &reserved);
    }
    if (type & PERF_SAMPLE_PERIOD)
        sample->period = take_u64(c);
    if (type & PERF_SAMPLE_CALLCHAIN)
        sample->chain = take_words(c, take_u64(c));
    if (type & PERF_SAMPLE_REGS_USER) {
        sample->regs_abi = take_u64(c);
        if (sample->regs_abi)
            sample->regs = take_words(c, (uint64_t)__builtin_popcountll(out->event->regs));
    }
    if (type & PERF_SAMPLE_STACK_USER)
        take_stack(c, sample);
    return !c->short_of;
}

static void read_map(cursor *c, uint32_t misc, kino__perf_map *map)
{
    map->address = take_u64(c);
    map->size = take_u64(c);
    map->offset = take_u64(c);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        unsigned char bytes[24];
        for (size_t i = 0; i < sizeof bytes; i += 8) {
            uint64_t word = take_u64(c);
            memcpy(bytes + i, &word, sizeof word);
        }
        map->build_id_size = bytes[0];
        if (map->build_id_size > sizeof map->build_id)
            c->short_of = true;
        memcpy(map->build_id, bytes + 4, sizeof map->build_id);
    } else {
        take_pair(c, &map->major, &map->minor);
        map->inode = take_u64(c);
        map->generation = take_u64(c);
    }
    uint32_t flags;
    take_pair(c, &map->prot, &flags);
    map->path = take_text(c);
}

/* Everything but samples; c ends before the trailer. */
static kino__perf_found read_other(cursor *c, kino__perf_record *out)
{
    int32_t pid, tid;
    switch (out->type) {
    case PERF_RECORD_MMAP2:
        take_ids(c, &out->pid, &out->tid);
        read_map(c, out->misc, &out->as.map);
        break;
    case PERF_RECORD_COMM:
        take_ids(c, &out->pid, &out->tid);
        out->as.name = take_text(c);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
        uint32_t numbers[4];
        take_pair(c, &numbers[0], &numbers[1]); /* pid, parent's pid */
        take_pair(c, &numbers[2], &numbers[3]); /* tid, parent's tid */
        out->as.task.pid = (int32_t)numbers[0];
        out->as.task.parent_pid = (int32_t)numbers[1];
        out->as.task.tid = (int32_t)numbers[2];
        out->as.task.parent_tid = (int32_t)numbers[3];
        break;
    }
    case PERF_RECORD_LOST:
        (void)take_u64(c);
        out->as.lost = take_u64(c);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        out->as.lost = take_u64(c);
        break;
    case PERF_RECORD_SWITCH_CPU_WIDE:
        take_ids(c, &pid, &tid);
        out->as.change.other_pid = pid;
        out->as.change.other_tid = tid;
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_THROTTLE:
        break;
    default:
        return KINO__PERF_OTHER;
    }
    return c->short_of ? KINO__PERF_DAMAGED : KINO__PERF_RECORD;
}

static kino__perf_found read_body(cursor *c, const kino__perf_event *events, size_t event_count,
                                  kino__perf_record *out)
{
    if (out->type == PERF_RECORD_SAMPLE) {
        out->event = find_event(events, event_count, take_u64(c));
        if (c->short_of || !out->event)
            return KINO__PERF_DAMAGED;
        return read_sample(c, out) ? KINO__PERF_RECORD : KINO__PERF_DAMAGED;
    }
    if (c->end - c->at < TRAILER)
        return KINO__PERF_DAMAGED;
    cursor trailer = {c->end - TRAILER, c->end, false};
    uint32_t reserved;
    take_ids(&trailer, &out->pid, &out->tid);
    out->time_ns = (int64_t)take_u64(&trailer);
    take_pair(&trailer, &out->cpu, &reserved);
    out->event = find_event(events, event_count, take_u64(&trailer));
    c->end -= TRAILER;
    return read_other(c, out);
}

kino__perf_found kino__perf_record_next(kino_str bytes, size_t *at, const kino__perf_event *events,
                                        size_t event_count, kino__perf_record *out)
{
    *out = (kino__perf_record){0};
    if (*at >= bytes.size)
        return KINO__PERF_END;
    struct perf_event_header header;
    size_t rest = bytes.size - *at;
    if (rest >= sizeof header)
        memcpy(&header, bytes.data + *at, sizeof header);
    if (rest < sizeof header || header.size < sizeof header || header.size > rest ||
        header.size % 8 || header.type == 0) {
        *at = bytes.size;
        return KINO__PERF_BROKEN;
    }
    const unsigned char *begin = (const unsigned char *)bytes.data + *at;
    cursor c = {begin + sizeof header, begin + header.size, false};
    *at += header.size;
    out->type = header.type;
    out->misc = header.misc;
    return read_body(&c, events, event_count, out);
}

void kino__perf_ring_pieces(const unsigned char *ring, uint64_t size, uint64_t tail, uint64_t head,
                            kino_str pieces[2])
{
    pieces[0] = pieces[1] = (kino_str){(const char *)ring, 0};
    uint64_t count = head - tail;
    if (count > size)
        return;
    uint64_t at = tail & (size - 1);
    uint64_t first = count < size - at ? count : size - at;
    pieces[0] = (kino_str){(const char *)ring + at, (size_t)first};
    pieces[1] = (kino_str){(const char *)ring, (size_t)(count - first)};
}
