/* memory_records.c - the [memory] events of a trace: arguments, devices, which release belongs to
 * which allocation. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "analysis/memory/memory_internal.h"
#include "store/args.h"
#include "store/device_type.h"

/* -- devices */

enum { TYPE_OTHERS = INT32_MAX };
/* More than these are one, called "others": work grows with the number of devices, and a damaged
 * trace may name any number of them. */
enum { MOST_DEVICES = 256 };

static int64_t total_of(const kino__trace *trace, const kino__memory_device *d)
{
    kino_str list = kino__trace_metadata(trace, "deviceProperties"), object;
    int64_t id, total;
    if (d->type == KINO__DEVICE_TYPE_CPU || d->id < 0)
        return KINO_NO_INT;
    for (size_t i = 0; kino__json_object_at(list, i, &object); i++) {
        if (!kino__json_to_int(kino__args_find(object, KINO__STR("id")), &id))
            id = (int64_t)i;
        if (id == d->id &&
            kino__json_to_int(kino__args_find(object, KINO__STR("totalGlobalMem")), &total))
            return total > 0 ? total : KINO_NO_INT;
    }
    return KINO_NO_INT;
}

static void name_device(kino__memory_device *d)
{
    if (d->type == TYPE_OTHERS)
        (void)snprintf(d->name, sizeof d->name, "others");
    else
        kino__device_type_name(d->type, d->id, d->name, sizeof d->name);
}

/* Records of the host differ in their device id from version to version (-1, 0): it means nothing.
 * CUDA and HIP are one name, so one device. */
static bool find_device(kino__memory_records *m, int64_t type, int64_t id, uint32_t *out)
{
    if (type == KINO__DEVICE_TYPE_CPU)
        id = 0;
    if (type == KINO__DEVICE_TYPE_HIP && !m->profile->is_compat)
        type = KINO__DEVICE_TYPE_CUDA;
    for (*out = 0; *out < m->devices.count; ++*out)
        if (m->devices.items[*out].type == type && m->devices.items[*out].id == id)
            return true;
    if (m->devices.count > MOST_DEVICES) { /* the last one is "others" */
        --*out;
        return true;
    }
    if (m->devices.count == MOST_DEVICES) {
        type = TYPE_OTHERS;
        id = 0;
    }
    kino__memory_device *d = kino__vec_add(&m->devices);
    if (!d)
        return false;
    *d = (kino__memory_device){.type = type,
                               .id = id,
                               .is_known =
                                   type == KINO__DEVICE_TYPE_CPU || type == KINO__DEVICE_TYPE_CUDA};
    name_device(d);
    d->total = total_of(m->profile->trace, d);
    return true;
}

static int compare_devices(const void *a, const void *b, void *context)
{
    const kino__memory_device *devices = context;
    const kino__memory_device *x = &devices[*(const uint32_t *)a];
    const kino__memory_device *y = &devices[*(const uint32_t *)b];
    bool x_host = x->type == KINO__DEVICE_TYPE_CPU, y_host = y->type == KINO__DEVICE_TYPE_CPU;
    if (x_host != y_host)
        return x_host ? 1 : -1;
    if (x->type != y->type) /* those without a type are KINO_NO_INT: last but for the host */
        return (uint64_t)x->type < (uint64_t)y->type ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Accelerators first: what people look for. */
static bool sort_devices(kino__memory_records *m)
{
    size_t count = m->devices.count;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    uint32_t *place = malloc((count + 1) * sizeof *place);
    kino__memory_device *sorted = malloc((count + 1) * sizeof *sorted);
    bool ok = order && place && sorted;
    for (uint32_t i = 0; ok && i < count; i++)
        order[i] = i;
    if (ok && count)
        qsort_r(order, count, sizeof *order, compare_devices, m->devices.items);
    for (uint32_t i = 0; ok && i < count; i++) {
        place[order[i]] = i;
        sorted[i] = m->devices.items[order[i]];
    }
    for (size_t i = 0; ok && i < count; i++)
        m->devices.items[i] = sorted[i];
    for (size_t i = 0; ok && i < m->items.count; i++)
        m->items.items[i].device = place[m->items.items[i].device];
    free(order);
    free(place);
    free(sorted);
    return ok;
}

/* -- arguments */

enum { BLOCK = 1024 };

typedef struct arguments {
    int64_t type, id;
} arguments;

typedef struct reading {
    kino__memory_records *m;
    kino__text_cursor *cursors;
    arguments *arguments; /* of each record: what the device is found by */
} reading;

static int64_t int_of(kino_str value)
{
    int64_t number;
    double real;
    if (kino__json_to_int(value, &number))
        return number;
    bool fits = kino__json_to_double(value, &real) && real > -9e18 && real < 9e18;
    return fits ? (int64_t)real : KINO_NO_INT;
}

static void read_record(const kino__trace *trace, kino__text_cursor *cursor, kino__memory_record *r,
                        arguments *device)
{
    kino__args_iter it = kino__args_iter_start(kino__args_text(trace, r->row, cursor));
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value)) {
        if (kino__str_is(key, "Bytes")) {
            r->bytes = int_of(value);
            r->bytes = r->bytes == KINO_NO_INT ? 0 : r->bytes;
        } else if (kino__str_is(key, "Addr")) {
            r->address = int_of(value);
        } else if (kino__str_is(key, "Total Allocated")) {
            r->allocated = int_of(value);
        } else if (kino__str_is(key, "Total Reserved")) {
            r->reserved = int_of(value);
        } else if (kino__str_is(key, "Device Type")) {
            device->type = int_of(value);
        } else if (kino__str_is(key, "Device Id")) {
            device->id = int_of(value);
        }
    }
}

static void read_block(void *context, unsigned worker, size_t block)
{
    reading *r = context;
    size_t first = block * BLOCK, end = first + BLOCK;
    if (end > r->m->items.count)
        end = r->m->items.count;
    for (size_t i = first; i < end; i++)
        read_record(r->m->profile->trace, &r->cursors[worker], &r->m->items.items[i],
                    &r->arguments[i]);
}

static bool read_arguments(kino__memory_records *m, kino__pool *pool)
{
    unsigned jobs = kino__pool_jobs(pool);
    reading r = {m, calloc(jobs, sizeof *r.cursors),
                 malloc((m->items.count + 1) * sizeof *r.arguments)};
    bool ok = r.cursors && r.arguments;
    for (size_t i = 0; ok && i < m->items.count; i++)
        r.arguments[i] = (arguments){KINO_NO_INT, KINO_NO_INT};
    for (unsigned j = 0; ok && j < jobs; j++)
        kino__text_cursor_init(&r.cursors[j], m->profile->trace->text);
    if (ok)
        kino__pool_run(pool, (m->items.count + BLOCK - 1) / BLOCK, read_block, &r);
    for (unsigned j = 0; ok && j < jobs; j++)
        kino__text_cursor_deinit(&r.cursors[j]);
    for (size_t i = 0; ok && i < m->items.count; i++)
        ok = find_device(m, r.arguments[i].type, r.arguments[i].id, &m->items.items[i].device);
    free(r.cursors);
    free(r.arguments);
    return ok;
}

/* -- records */

static int compare_records(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    const kino__memory_record *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    uint32_t x_number = trace->number[x->row], y_number = trace->number[y->row];
    return x_number < y_number ? -1 : x_number > y_number;
}

static bool list_records(kino__memory_records *m)
{
    const kino__profile *p = m->profile;
    for (uint32_t row = 0; p->has_memory && row < p->trace->event_count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_MEMORY)
            continue;
        kino__memory_record *r = kino__vec_add(&m->items);
        if (!r)
            return false;
        *r = (kino__memory_record){.row = row,
                                   .node = KINO__NO_NODE,
                                   .source = KINO__NO_NODE,
                                   .ts = p->trace->ts[row],
                                   .address = KINO_NO_INT,
                                   .allocated = KINO_NO_INT,
                                   .reserved = KINO_NO_INT};
    }
    if (m->items.count)
        qsort_r(m->items.items, m->items.count, sizeof *m->items.items, compare_records,
                (void *)(uintptr_t)p->trace);
    return true;
}

/* Addresses of a device, or in compat mode of all together. */
uint64_t kino__memory_key(const kino__memory_records *m, const kino__memory_record *r)
{
    uint64_t device = m->profile->is_compat ? 0 : (uint64_t)r->device + 1;
    return kino__hash_u64((uint64_t)r->address) ^ kino__hash_u64(device << 17);
}

/* A release has its operator from the allocation. */
static bool pass_sources(kino__memory_records *m)
{
    kino__map open;
    kino__map_init(&open, NULL);
    bool ok = true;
    for (size_t i = 0; ok && i < m->items.count; i++) {
        kino__memory_record *r = &m->items.items[i];
        if (r->bytes <= 0)
            r->source = KINO__NO_NODE;
        if (r->address == KINO_NO_INT)
            continue;
        if (r->bytes > 0) {
            uint32_t *slot = kino__map_put(&open, kino__memory_key(m, r), 0);
            ok = slot != NULL;
            if (ok)
                *slot = (uint32_t)i;
            continue;
        }
        uint32_t *slot = kino__map_get(&open, kino__memory_key(m, r));
        if (slot && *slot != UINT32_MAX) {
            r->source = m->items.items[*slot].source;
            *slot = UINT32_MAX;
        }
    }
    kino__map_deinit(&open);
    return ok;
}

bool kino__memory_records_init(kino__memory_records *m, const kino__profile *profile,
                               kino__pool *pool)
{
    *m = (kino__memory_records){.profile = profile};
    return list_records(m) && read_arguments(m, pool) && sort_devices(m) &&
           kino__memory_find_nodes(m) && pass_sources(m);
}

void kino__memory_records_deinit(kino__memory_records *m)
{
    kino__vec_deinit(&m->items);
    kino__vec_deinit(&m->devices);
    free(m->parent);
    free(m->is_entered);
    free(m->visited);
}
