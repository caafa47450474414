/* memory.c - who allocates memory, how long does it live, and where is the peak?
 *
 * Method: memory_records.c reads the allocator's records, memory_nodes.c finds the operator of
 * each, memory_map.c adds up; here the ranks are put side by side. Definition:
 * docs/analyses/memory.md. Cost: n log n in the records, linear in the operators. */
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/memory/memory_internal.h"
#include "base/error.h"

typedef kino__memory_partial partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->statistics);
    kino__vec_deinit(&p->events);
    kino__vec_deinit(&p->samples);
    kino__vec_deinit(&p->peaks);
    kino__vec_deinit(&p->devices);
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    int64_t points = kino__param_int(a, KINO__MEMORY_POINTS);
    int64_t from = kino__param_int(a, KINO__MEMORY_FROM), to = kino__param_int(a, KINO__MEMORY_TO);
    if (points != 0 && points < 3)
        return kino__fail(err, KINO_ARGUMENT, "points must be 0 (all) or at least 3, not %lld",
                          (long long)points);
    if (from != KINO_NO_INT && to != KINO_NO_INT && from > to)
        return kino__fail(err, KINO_ARGUMENT, "the window ends before it starts: from %lld to %lld",
                          (long long)from, (long long)to);
    return KINO_OK;
}

/* -- merge -- */

/* The numbers that the texts of `from` have in `into`; the caller frees it. NULL: no memory. */
static uint32_t *move_texts(partial *into, const partial *from)
{
    size_t count = kino__string_pool_count(&from->texts);
    uint32_t *moved = malloc((count + 1) * sizeof *moved);
    for (size_t i = 0; moved && i < count; i++) {
        moved[i] = kino__string_pool_add(&into->texts,
                                         kino__string_pool_text(&from->texts, (kino_strid)i));
        if (moved[i] == KINO_NO_STRING) {
            free(moved);
            return NULL;
        }
    }
    return moved;
}

static uint32_t moved_id(const uint32_t *moved, uint32_t id)
{
    return id == KINO_NO_STRING ? id : moved[id];
}

static bool append(partial *into, const partial *from, const uint32_t *moved)
{
    if (!kino__vec_reserve(&into->statistics, from->statistics.count) ||
        !kino__vec_reserve(&into->events, from->events.count) ||
        !kino__vec_reserve(&into->samples, from->samples.count) ||
        !kino__vec_reserve(&into->peaks, from->peaks.count) ||
        !kino__vec_reserve(&into->devices, from->devices.count))
        return false;
    for (size_t i = 0; i < from->statistics.count; i++) {
        kino__memory_statistic s = from->statistics.items[i];
        s.device = moved[s.device];
        s.name = moved[s.name];
        into->statistics.items[into->statistics.count++] = s;
    }
    for (size_t i = 0; i < from->events.count; i++) {
        kino__memory_event e = from->events.items[i];
        e.device = moved[e.device];
        e.op = moved_id(moved, e.op);
        into->events.items[into->events.count++] = e;
    }
    for (size_t i = 0; i < from->samples.count; i++) {
        kino__memory_sample s = from->samples.items[i];
        s.device = moved[s.device];
        into->samples.items[into->samples.count++] = s;
    }
    for (size_t i = 0; i < from->peaks.count; i++) {
        kino__memory_peak k = from->peaks.items[i];
        k.device = moved[k.device];
        k.op = moved_id(moved, k.op);
        into->peaks.items[into->peaks.count++] = k;
    }
    for (size_t i = 0; i < from->devices.count; i++)
        into->devices.items[into->devices.count++] = moved[from->devices.items[i]];
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into;
    const partial *more = from;
    uint32_t *moved = move_texts(p, more);
    bool ok = moved && append(p, more, moved);
    free(moved);
    if (!ok)
        return kino__fail_nomem(err);
    p->traces += more->traces;
    p->records += more->records;
    p->addressed += more->addressed;
    p->measured += more->measured;
    p->unknown += more->unknown;
    return KINO_OK;
}

/* -- save and load -- */

static void pack_statistic(kino__pack *pack, kino__memory_statistic *s)
{
    KINO__PACK(pack, &s->rank, &s->device, &s->name, &s->calls, &s->increase, &s->self_increase,
               &s->count, &s->self_count, &s->size, &s->self_size);
}

static void pack_event(kino__pack *pack, kino__memory_event *e)
{
    KINO__PACK(pack, &e->rank, &e->device, &e->op, &e->size);
    KINO__PACK_TIMES(pack, &e->allocated_at, &e->released_at);
    KINO__PACK_EVENTS(pack, &e->allocation, &e->release);
}

static void pack_sample(kino__pack *pack, kino__memory_sample *s)
{
    KINO__PACK(pack, &s->rank, &s->device, &s->allocated, &s->reserved);
    KINO__PACK_TIMES(pack, &s->ts);
}

static void pack_peak(kino__pack *pack, kino__memory_peak *k)
{
    KINO__PACK(pack, &k->rank, &k->device, &k->op, &k->allocated, &k->reserved, &k->total,
               &k->records);
    KINO__PACK_TIMES(pack, &k->ts);
    KINO__PACK_EVENTS(pack, &k->event);
}

/* Every number of a text must be in the pool. */
static bool is_sound(const partial *p)
{
    size_t count = kino__string_pool_count(&p->texts);
    bool ok = true;
    for (size_t i = 0; i < p->statistics.count; i++)
        ok = ok && p->statistics.items[i].device < count && p->statistics.items[i].name < count;
    for (size_t i = 0; i < p->events.count; i++)
        ok = ok && p->events.items[i].device < count &&
             (p->events.items[i].op < count || p->events.items[i].op == KINO_NO_STRING);
    for (size_t i = 0; i < p->samples.count; i++)
        ok = ok && p->samples.items[i].device < count;
    for (size_t i = 0; i < p->peaks.count; i++)
        ok = ok && p->peaks.items[i].device < count &&
             (p->peaks.items[i].op < count || p->peaks.items[i].op == KINO_NO_STRING);
    for (size_t i = 0; i < p->devices.count; i++)
        ok = ok && p->devices.items[i] < count;
    return ok;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->statistics, pack_statistic);
    KINO__PACK_VEC(pack, &p->events, pack_event);
    KINO__PACK_VEC(pack, &p->samples, pack_sample);
    KINO__PACK_VEC(pack, &p->peaks, pack_peak);
    KINO__PACK_VEC(pack, &p->devices, kino__pack_u32);
    kino__pack_tally(pack, &p->traces);
    KINO__PACK(pack, &p->records, &p->addressed, &p->measured, &p->unknown);
    if (!is_sound(p))
        pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [KINO__MEMORY_DEVICE] = {"device", KINO_TYPE_STRING, NULL, "only this device: GPU0, CPU, ...",
                             NULL},
    [KINO__MEMORY_FROM] = {"from", KINO_TYPE_TIME, NULL,
                           "only records from this time on, relative to the start of the run",
                           NULL},
    [KINO__MEMORY_TO] = {"to", KINO_TYPE_TIME, NULL, "only records up to this time", NULL},
    [KINO__MEMORY_POINTS] = {"points", KINO_TYPE_INT, "10240",
                             "at most this many points in the curve of a device; 0: all", NULL},
    [KINO__MEMORY_MIN_SIZE] = {"min_size", KINO_TYPE_BYTES, "0",
                               "leave smaller blocks out of memory_events", NULL},
    {0},
};

#define RANK                                                                                       \
    {                                                                                              \
        "rank", KINO_TYPE_INT, NULL, NULL                                                          \
    }
#define DEVICE                                                                                     \
    {                                                                                              \
        "device_name", KINO_TYPE_STRING, NULL, "GPU0, ..., CPU"                                    \
    }

static const kino_column statistic_columns[] = {
    [KINO__STATISTICS_RANK] = RANK,
    [KINO__STATISTICS_DEVICE] = DEVICE,
    [KINO__STATISTICS_OPERATOR] = {"operator_name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, NULL},
    [KINO__STATISTICS_CALLS] = {"calls", KINO_TYPE_INT, "count",
                                "calls of the operator, on any device"},
    [KINO__STATISTICS_INCREASE] = {"size_increase", KINO_TYPE_BYTES, NULL,
                                   "allocated - released, with operators below"},
    [KINO__STATISTICS_SELF_INCREASE] = {"self_size_increase", KINO_TYPE_BYTES, NULL,
                                        "the same, in the operator itself"},
    [KINO__STATISTICS_COUNT] = {"allocation_count", KINO_TYPE_INT, "count", "with operators below"},
    [KINO__STATISTICS_SELF_COUNT] = {"self_allocation_count", KINO_TYPE_INT, "count",
                                     "in the operator itself"},
    [KINO__STATISTICS_SIZE] = {"allocation_size", KINO_TYPE_BYTES, NULL,
                               "sum of allocations, with operators below"},
    [KINO__STATISTICS_SELF_SIZE] = {"self_allocation_size", KINO_TYPE_BYTES, NULL,
                                    "the same, in the operator itself"},
    {0},
};

static const kino_column event_columns[] = {
    RANK,
    DEVICE,
    {"operator", KINO_TYPE_STRING, NULL, "operator that allocated it; caller (aten::empty...)"},
    {"size", KINO_TYPE_BYTES, NULL, NULL},
    {"allocation_time", KINO_TYPE_TIME, NULL, "null: before the trace or the window"},
    {"release_time", KINO_TYPE_TIME, NULL, "null: after the trace or the window"},
    {"duration", KINO_TYPE_DURATION, NULL, "release - allocation"},
    {"allocation_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id"},
    {"release_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id"},
    {0},
};

static const kino_column curve_columns[] = {
    [KINO__CURVE_RANK] = RANK,
    [KINO__CURVE_DEVICE] = DEVICE,
    [KINO__CURVE_TIME] = {"time", KINO_TYPE_TIME, NULL, NULL},
    [KINO__CURVE_ALLOCATED] = {"allocated", KINO_TYPE_BYTES, NULL, "in use from then on"},
    {"reserved", KINO_TYPE_BYTES, NULL, "held by the allocator"},
    {0},
};

static const kino_column peak_columns[] = {
    [KINO__PEAKS_RANK] = RANK,
    [KINO__PEAKS_DEVICE] = DEVICE,
    [KINO__PEAKS_ALLOCATED] = {"peak_allocated", KINO_TYPE_BYTES, NULL,
                               "most memory in use at one time"},
    [KINO__PEAKS_TIME] = {"peak_time", KINO_TYPE_TIME, NULL, "when the peak was first reached"},
    [KINO__PEAKS_OPERATOR] = {"operator", KINO_TYPE_STRING, NULL,
                              "operator whose allocation reached the peak"},
    [KINO__PEAKS_EVENT] = {"event_id", KINO_TYPE_INT, KINO_UNIT_EVENT, "size of that allocation"},
    [KINO__PEAKS_RESERVED] = {"peak_reserved", KINO_TYPE_BYTES, NULL,
                              "most memory held by the allocator"},
    [KINO__PEAKS_TOTAL] = {"total_memory", KINO_TYPE_BYTES, NULL, "of the device"},
    [KINO__PEAKS_PERCENT] = {"peak_percent", KINO_TYPE_PERCENT, NULL,
                             "peak_allocated / total_memory"},
    {"records", KINO_TYPE_INT, "count", "allocations and releases of the device"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__MEMORY_STATISTICS] = {"memory_statistics",
                                 "one row per device and operator, largest self increase first",
                                 statistic_columns, NULL,
                                 "none: no allocation is inside an operator"},
    [KINO__MEMORY_EVENTS] = {"memory_events",
                             "one row per block: first the released ones, by release time",
                             event_columns, NULL, "none: no allocation has an address"},
    [KINO__MEMORY_CURVE] = {"memory_curve", "memory of each device over time", curve_columns, NULL,
                            "none: no record has totals"},
    [KINO__MEMORY_PEAKS] = {"memory_peaks", "one row per device", peak_columns, NULL,
                            "none: the trace has no allocations"},
    {0},
};

static void add_text(kino__table *table, const partial *p, uint32_t id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->texts, id));
}

static void add_statistics(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->statistics.count; i++) {
        const kino__memory_statistic *s = &p->statistics.items[i];
        kino__table_add_int(table, s->rank);
        add_text(table, p, s->device);
        add_text(table, p, s->name);
        KINO__TABLE_ADD(table, s->calls, s->increase, s->self_increase, s->count, s->self_count,
                        s->size, s->self_size);
    }
}

static void add_events(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->events.count; i++) {
        const kino__memory_event *e = &p->events.items[i];
        bool is_whole = e->allocated_at != KINO_NO_TIME && e->released_at != KINO_NO_TIME;
        kino__table_add_int(table, e->rank);
        add_text(table, p, e->device);
        add_text(table, p, e->op);
        KINO__TABLE_ADD(table, e->size, e->allocated_at, e->released_at,
                        is_whole ? e->released_at - e->allocated_at : KINO_NO_INT, e->allocation,
                        e->release);
    }
}

static void add_curve(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->samples.count; i++) {
        const kino__memory_sample *s = &p->samples.items[i];
        kino__table_add_int(table, s->rank);
        add_text(table, p, s->device);
        KINO__TABLE_ADD(table, s->ts, s->allocated, s->reserved);
    }
}

static void add_peaks(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->peaks.count; i++) {
        const kino__memory_peak *k = &p->peaks.items[i];
        kino__table_add_int(table, k->rank);
        add_text(table, p, k->device);
        KINO__TABLE_ADD(table, k->allocated, k->ts);
        add_text(table, p, k->op);
        KINO__TABLE_ADD(table, k->event, k->reserved, k->total);
        if (k->total == KINO_NO_INT || k->allocated == KINO_NO_INT)
            kino__table_add_null(table);
        else
            kino__table_add_real(table, 100.0 * (double)k->allocated / (double)k->total);
        kino__table_add_int(table, k->records);
    }
}

static void add_notes(const partial *p, kino_result *result)
{
    if (p->records == 0) {
        kino__result_lacks(result, "memory",
                           ": no allocations were recorded "
                           "(profile with profile_memory=True)");
        return;
    }
    if (p->addressed == 0)
        kino__result_lacks(result, "memory_events",
                           ": the records have no addresses "
                           "(PyTorch before 1.10)");
    if (p->measured == 0)
        kino__result_lacks(result, "memory_curve and peaks",
                           ": the records have no "
                           "totals (PyTorch before 1.10)");
    if (p->unknown)
        kino__result_note(result,
                          "%lld records left out: the plugin knows only CPU and CUDA devices",
                          (long long)p->unknown);
}

/* A device was asked for that no trace has. */
static kino_status no_device(const partial *p, kino_str asked, kino_error *err)
{
    kino__buffer names = {0};
    for (size_t i = 0; i < p->devices.count && names.size < 120; i++) {
        bool is_seen = false;
        for (size_t k = 0; k < i; k++)
            is_seen |= p->devices.items[k] == p->devices.items[i];
        kino_str name = kino__string_pool_text(&p->texts, p->devices.items[i]);
        if (!is_seen)
            kino__buffer_printf(&names, "%s%.*s", names.size ? ", " : "", KINO__STR_ARG(name));
    }
    kino_status status =
        kino__fail(err, KINO_NOT_FOUND, "no device '%.*s' with memory records; there are: %.*s",
                   KINO__STR_ARG(asked), KINO__STR_ARG(kino__buffer_str(&names)));
    kino__buffer_deinit(&names);
    return status;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    kino_str asked = kino__param_text(a, KINO__MEMORY_DEVICE);
    if (asked.size && p->records && p->peaks.count == 0)
        return no_device(p, asked, err);
    add_statistics(p, kino__analysis_table(result, KINO__MEMORY_STATISTICS));
    add_events(p, kino__analysis_table(result, KINO__MEMORY_EVENTS));
    add_curve(p, kino__analysis_table(result, KINO__MEMORY_CURVE));
    add_peaks(p, kino__analysis_table(result, KINO__MEMORY_PEAKS));
    add_notes(p, result);
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_memory = {
    .name = "memory",
    .help = "memory by operator, lifetime of blocks, memory over time, and its peak",
    .description =
        "From the allocator's records (profile_memory=True). A record belongs to the\n"
        "innermost operator of its thread that contains it; a release is matched with the\n"
        "allocation of the same address on the same device and belongs to the same\n"
        "operator. Memory in use and reserved memory are as reported by the allocator\n"
        "with each record.\n"
        "\n"
        "Records outside operators appear in memory_events, curve and peaks, but not in\n"
        "memory_statistics. An operator nested in one of the same name is counted at each\n"
        "level in the columns that include operators below.\n",
    .params = params,
    .tables = tables,
    .compat = compat,
    .grows = true,
    .partial_size = sizeof(partial),
    .check = check,
    .map = kino__memory_map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
