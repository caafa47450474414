/* records.h - CUPTI's records, made by byte offset as the documentation lists them. Bytes that are
 * not set are 0xa5: who reads a field that a version does not have, sees that. */
#ifndef STANDIN_CUPTI_RECORDS_H
#define STANDIN_CUPTI_RECORDS_H

#include <string.h>

#include "standin.h"

typedef struct record {
    uint8_t bytes[256];
} record;

static inline void put(record *r, size_t offset, uint64_t value, size_t size)
{
    memcpy(r->bytes + offset, &value, size); /* little endian */
}

static inline record make(uint32_t kind)
{
    record r;
    memset(r.bytes, 0xa5, sizeof r.bytes);
    put(&r, 0, kind, 4);
    return r;
}

static inline record make_kernel(const char *name, uint64_t start, uint64_t end, uint32_t device,
                                 uint32_t stream, uint32_t correlation)
{
    record r = make(10);
    put(&r, 6, 32, 2); /* registers */
    put(&r, 16, start, 8);
    put(&r, 24, end, 8);
    put(&r, 40, device, 4);
    put(&r, 44, 1 + device, 4); /* context */
    put(&r, 48, stream, 4);
    put(&r, 52, 8, 4); /* grid */
    put(&r, 56, 1, 4);
    put(&r, 60, 1, 4);
    put(&r, 64, 256, 4); /* block */
    put(&r, 68, 1, 4);
    put(&r, 72, 1, 4);
    put(&r, 76, 1024, 4); /* shared memory: static, dynamic */
    put(&r, 80, 512, 4);
    put(&r, 92, correlation, 4);
    put(&r, 104, (uint64_t)(uintptr_t)name, 8);
    put(&r, 120, 0, 8); /* queued */
    if (standin_version() < 19)
        return r;
    put(&r, 144, 0, 8);  /* graph node */
    put(&r, 156, 0, 4);  /* graph */
    put(&r, 168, 11, 4); /* channel */
    put(&r, 172, 1, 4);
    if (standin_version() >= 130100)
        put(&r, 216, (uint64_t)(int64_t)-2, 4); /* priority */
    return r;
}

/* In a graph. */
static inline record make_node(const char *name, uint64_t start, uint64_t end, uint32_t stream,
                               uint32_t correlation, uint64_t node, uint32_t graph)
{
    record r = make_kernel(name, start, end, 0, stream, correlation);
    put(&r, 144, node, 8);
    put(&r, 156, graph, 4);
    return r;
}

/* What copies and fills begin with: on device 0, in context 1, on stream 7. */
static inline void put_transfer(record *r, uint64_t bytes, uint64_t start, uint64_t end)
{
    put(r, 8, bytes, 8);
    put(r, 16, start, 8);
    put(r, 24, end, 8);
    put(r, 32, 0, 4);
    put(r, 36, 1, 4);
    put(r, 40, 7, 4);
}

/* What they end with: in no graph. */
static inline void put_channel(record *r, size_t offset, uint32_t channel)
{
    put(r, offset, 0, 8); /* graph node, graph */
    put(r, offset + 8, 0, 4);
    put(r, offset + 12, channel, 4);
    put(r, offset + 16, 2, 4); /* its type */
}

static inline record make_memcpy(uint8_t kind, uint8_t from, uint8_t to, uint64_t bytes,
                                 uint64_t start, uint64_t end, uint32_t correlation)
{
    record r = make(1);
    put(&r, 4, kind, 1);
    put(&r, 5, from, 1);
    put(&r, 6, to, 1);
    put_transfer(&r, bytes, start, end);
    put(&r, 44, correlation, 4);
    put_channel(&r, 64, 12);
    return r;
}

/* From device 0 to device 1, on device 0. */
static inline record make_peer(uint64_t bytes, uint64_t start, uint64_t end, uint32_t correlation)
{
    record r = make(22);
    put(&r, 4, 10, 1);
    put(&r, 5, 3, 1);
    put(&r, 6, 3, 1);
    put_transfer(&r, bytes, start, end);
    put(&r, 44, 0, 4); /* source */
    put(&r, 48, 1, 4);
    put(&r, 52, 1, 4); /* target */
    put(&r, 56, 2, 4);
    put(&r, 60, correlation, 4);
    put_channel(&r, 72, 13);
    return r;
}

static inline record make_memset(uint64_t bytes, uint64_t start, uint64_t end, uint16_t memory,
                                 uint32_t correlation)
{
    record r = make(2);
    put(&r, 4, 255, 4);
    put_transfer(&r, bytes, start, end);
    put(&r, 44, correlation, 4);
    put(&r, 50, memory, 2);
    put_channel(&r, 64, 12);
    return r;
}

static inline record make_sync(uint32_t type, uint64_t start, uint64_t end, uint32_t correlation,
                               uint32_t stream, uint32_t event)
{
    record r = make(38);
    put(&r, 4, type, 4);
    put(&r, 8, start, 8);
    put(&r, 16, end, 8);
    put(&r, 24, correlation, 4);
    put(&r, 28, 1, 4); /* context */
    put(&r, 32, stream, 4);
    put(&r, 36, event, 4);
    return r;
}

static inline record make_event(uint32_t correlation, uint32_t stream, uint32_t event,
                                uint64_t device_time)
{
    record r = make(36);
    put(&r, 4, correlation, 4);
    put(&r, 8, 1, 4);
    put(&r, 12, stream, 4);
    put(&r, 16, event, 4);
    put(&r, 24, 0, 4); /* device */
    put(&r, 40, device_time, 8);
    return r;
}

static inline record make_overhead(uint32_t kind, uint64_t start, uint64_t end)
{
    record r = make(17);
    put(&r, 4, kind, 4);
    put(&r, 24, start, 8);
    put(&r, 32, end, 8);
    return r;
}

static inline record make_external(uint32_t kind, uint64_t id, uint32_t correlation)
{
    record r = make(39);
    put(&r, 4, kind, 4);
    put(&r, 8, id, 8);
    put(&r, 16, correlation, 4);
    return r;
}

static inline record make_memory(uint32_t operation, uint64_t address, uint64_t bytes,
                                 uint64_t time, uint32_t correlation)
{
    record r = make(49);
    put(&r, 4, operation, 4);
    put(&r, 8, 3, 4); /* memory of a device */
    put(&r, 12, correlation, 4);
    put(&r, 16, address, 8);
    put(&r, 24, bytes, 8);
    put(&r, 32, time, 8);
    put(&r, 52, 0, 4);
    return r;
}

static inline record make_jit(uint32_t entry, uint32_t operation, uint64_t start, uint64_t end)
{
    record r = make(52);
    put(&r, 4, entry, 4);
    put(&r, 8, operation, 4);
    put(&r, 16, start, 8);
    put(&r, 24, end, 8);
    return r;
}

static inline record make_marker(uint32_t flags, uint64_t time, uint32_t id, uint32_t thread,
                                 const char *name)
{
    record r = make(12);
    put(&r, 4, flags, 4);
    put(&r, 8, time, 8);
    put(&r, 16, id, 4);
    put(&r, 20, 2, 4);
    put(&r, 24, 0, 4);
    put(&r, 28, thread, 4);
    put(&r, 40, (uint64_t)(uintptr_t)name, 8);
    put(&r, 48, 0, 8);
    return r;
}

#endif
