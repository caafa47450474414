/* info_devices.c - devices that the traces name (deviceProperties) or that have streams.
 *
 * Kineto lists every device of the machine in each rank's file; equal ones become one row. */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "engine/kino_run.h"
#include "report/info.h"
#include "store/args.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MOST_DEVICES = 4096 }; /* a run with more has a damaged list */

static const kino_column columns[] = {
    {"device", KINO_TYPE_INT, NULL, "id in the traces"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"memory", KINO_TYPE_BYTES, NULL, "totalGlobalMem"},
    {"sms", KINO_TYPE_INT, NULL, "multiprocessors (numSms), or maxComputeUnits"},
    {"compute", KINO_TYPE_STRING, NULL, "compute capability"},
    {"traces", KINO_TYPE_INT, "count", "traces that list it or used it"},
    {"streams", KINO_TYPE_INT, "count", "device tracks with activity, over all traces"},
    {"events", KINO_TYPE_INT, "count", "on these streams"},
};

typedef struct device {
    int64_t id, memory, units;
    char compute[24];
    kino_str name; /* unescaped, in the scratch arena */
    int64_t traces, streams, events;
    uint32_t last_trace;
} device;

typedef struct devices {
    KINO__VEC(device) items;
    kino__arena arena;
    bool failed;
} devices;

static kino_str name_of(devices *d, kino_str object)
{
    kino_str text = kino__args_find(object, KINO__STR("name"));
    kino__buffer plain = {0};
    if (text.size)
        kino__json_unescape(text, &plain);
    kino_str name = kino__arena_copy(&d->arena, kino__buffer_str(&plain));
    d->failed |= plain.failed || !name.data;
    kino__buffer_deinit(&plain);
    return name.data ? name : (kino_str){"", 0};
}

static void touch(device *item, const kino__trace *trace)
{
    if (item->last_trace != trace->index)
        item->traces++;
    item->last_trace = trace->index;
}

static device *add_device(devices *d, const device *fresh)
{
    device *slot = d->items.count < MOST_DEVICES ? kino__vec_add(&d->items) : NULL;
    if (slot)
        *slot = *fresh;
    return slot;
}

static void add_listed(devices *d, const kino__trace *trace, kino_str object)
{
    device fresh = {.id = kino__args_int(object, "id"),
                    .memory = kino__args_int(object, "totalGlobalMem"),
                    .units = kino__args_int(object, "numSms"),
                    .name = name_of(d, object),
                    .last_trace = UINT32_MAX};
    if (fresh.units == KINO_NO_INT)
        fresh.units = kino__args_int(object, "maxComputeUnits");
    int64_t major = kino__args_int(object, "computeMajor"),
            minor = kino__args_int(object, "computeMinor");
    if (major != KINO_NO_INT && minor != KINO_NO_INT)
        (void)snprintf(fresh.compute, sizeof fresh.compute, "%d.%d", (int)major, (int)minor);
    device *same = NULL;
    for (size_t i = 0; i < d->items.count && !same; i++) {
        device *item = &d->items.items[i];
        if (item->id == fresh.id && item->memory == fresh.memory && item->units == fresh.units &&
            kino__str_equal(item->name, fresh.name) && strcmp(item->compute, fresh.compute) == 0)
            same = item;
    }
    if (!same)
        same = add_device(d, &fresh);
    if (same)
        touch(same, trace);
}

static void add_list(devices *d, const kino__trace *trace)
{
    kino_str list = kino__trace_metadata(trace, "deviceProperties"), object;
    for (size_t i = 0; i < MOST_DEVICES && kino__json_object_at(list, i, &object); i++)
        add_listed(d, trace, object);
}

/* Streams count for the device with their id that this trace lists, else for one without a name. */
static void add_streams(devices *d, const kino__trace *trace)
{
    for (size_t k = 0; k < trace->tracks.count; k++) {
        const kino__track *track = &trace->tracks.items[k];
        if (track->kind != KINO__TRACK_DEVICE || track->device == KINO_NO_INT)
            continue;
        device *found = NULL;
        for (size_t i = 0; i < d->items.count; i++) {
            device *item = &d->items.items[i];
            if (item->id == track->device && (item->last_trace == trace->index || !found))
                found = item;
        }
        if (!found)
            found = add_device(d, &(device){.id = track->device,
                                            .memory = KINO_NO_INT,
                                            .units = KINO_NO_INT,
                                            .last_trace = UINT32_MAX});
        if (!found)
            continue;
        touch(found, trace);
        found->streams++;
        for (uint32_t row = track->first; row < track->first + track->count; row++)
            found->events += trace->phase[row] != 'M';
    }
}

static void add_str(kino__table *table, kino_str text)
{
    if (text.size)
        kino__table_add_text(table, text);
    else
        kino__table_add_null(table);
}

void kino__info_devices(const kino_run *run, kino_result *result)
{
    kino__table *table = kino__result_add_table(result, "devices", columns, COUNT(columns));
    kino__table_describe(table, 0, "Devices", "none: no device is listed and none was active");
    devices d = {0};
    kino__arena_init(&d.arena, NULL);
    for (size_t i = 0; i < run->run.traces.count; i++) {
        add_list(&d, run->run.traces.items[i]);
        add_streams(&d, run->run.traces.items[i]);
    }
    for (size_t i = 0; i < d.items.count; i++) {
        const device *item = &d.items.items[i];
        kino__table_add_int(table, item->id);
        add_str(table, item->name);
        KINO__TABLE_ADD(table, item->memory, item->units);
        add_str(table, kino__str_from(item->compute));
        KINO__TABLE_ADD(table, item->traces, item->streams, item->events);
    }
    if (table && run->run.traces.count == 1)
        table->hidden = 1u << 5;
    if (table)
        table->optional = 1u << 2 | 1u << 3 | 1u << 4;
    if (d.failed && result)
        result->failed = true;
    kino__vec_deinit(&d.items);
    kino__arena_deinit(&d.arena);
}
