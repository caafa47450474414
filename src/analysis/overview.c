/* overview.c - the first page: what ran on what, how busy the devices were, and where the time of a
 * step went.
 *
 * Method: everything is in the profile (profile.h) but the series of a device, which is made of its
 * busy time cut into buckets. Traces are not added up: each rank has rows of its own.
 * Cost: one pass over the kernels of each device. */
#include <math.h>

#include "analysis/columns.h"
#include "analysis/device_work.h"
#include "analysis/verdict/verdict.h"
#include "base/error.h"
#include "model/profile/profile.h"
#include "store/args.h"

enum { P_SM_SERIES };

/* -- what a trace gives -- */

typedef struct trace_part {
    int64_t rank;
    kino_strid worker, span; /* KINO_NO_STRING: unknown */
    int64_t devices;         /* that were used */
    int64_t steps, steps_found;
    bool is_gpu, has_communication;
} trace_part;

typedef struct step_part {
    uint32_t trace;
    int64_t number, start, end;
    int64_t host_start, host_end, device_start, device_end; /* KINO_NO_TIME: no device work */
    int64_t cost[KINO__ROLE_COUNT];
} step_part;

/* Doubles travel as their bits: they are of one trace and never added to others. */
typedef struct device_part {
    uint32_t trace;
    int64_t device;
    kino_strid name;
    int64_t memory, major, minor;
    double utilization, sm_efficiency, occupancy, tensor_ratio;
} device_part;

/* A moment of a series and what holds from then on, or a piece with its end. */
typedef struct point {
    uint32_t trace;
    int64_t device, start, end;
    int64_t busy; /* ns; of a piece: parts of KINO__SM_SCALE */
} point;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(trace_part) traces;
    KINO__VEC(step_part) steps;
    KINO__VEC(device_part) devices;
    KINO__VEC(point) buckets;
    KINO__VEC(point) pieces;
    kino__verdict_facts verdict; /* empty when compat */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->traces);
    kino__vec_deinit(&p->steps);
    kino__vec_deinit(&p->devices);
    kino__vec_deinit(&p->buckets);
    kino__vec_deinit(&p->pieces);
    kino__verdict_facts_deinit(&p->verdict);
}

/* -- devices -- */

/* The properties of a device: by its id; the plugin goes by the place in the list. */
static kino_str properties_of(const kino__profile *profile, int64_t device)
{
    enum { MOST_DEVICES = 4096 };
    kino_str list = kino__trace_metadata(profile->trace, "deviceProperties"), object;
    bool by_id = !profile->is_compat;
    for (size_t i = 0; by_id && i < MOST_DEVICES && kino__json_object_at(list, i, &object); i++)
        if (kino__args_int(object, "id") == device)
            return object;
    if (device >= 0 && kino__json_object_at(list, (size_t)device, &object))
        return object;
    return (kino_str){"", 0};
}

/* False when memory is out; no name is KINO_NO_STRING. */
static bool add_text(partial *p, kino_str json, kino_strid *out)
{
    kino__buffer plain = {0};
    *out = KINO_NO_STRING;
    if (json.size)
        kino__json_unescape(json, &plain);
    if (plain.size)
        *out = kino__string_pool_add(&p->texts, kino__buffer_str(&plain));
    bool ok = !plain.failed && (plain.size == 0 || *out != KINO_NO_STRING);
    kino__buffer_deinit(&plain);
    return ok;
}

static bool add_device(partial *p, const kino__profile *profile, const kino__device_metrics *m)
{
    kino_str object = properties_of(profile, m->device);
    kino_strid name;
    if (!add_text(p, kino__args_find(object, KINO__STR("name")), &name))
        return false;
    device_part *d = kino__vec_add(&p->devices);
    if (d)
        *d = (device_part){.trace = (uint32_t)p->traces.count - 1,
                           .device = m->device,
                           .name = name,
                           .memory = kino__args_int(object, "totalGlobalMem"),
                           .major = kino__args_int(object, "computeMajor"),
                           .minor = kino__args_int(object, "computeMinor"),
                           .utilization = m->utilization,
                           .sm_efficiency = m->sm_efficiency,
                           .occupancy = m->occupancy_percent,
                           .tensor_ratio = m->tensor_ratio};
    return d != NULL;
}

/* -- series -- */

/* The smallest power of ten of at least 1 us that gives at most 100 buckets. */
static int64_t bucket_size(int64_t window)
{
    int64_t size = 1000;
    while (window / 100 > size || (window / 100 == size && window % 100))
        size *= 10;
    return size;
}

/* Busy time in each bucket; the last one is stretched to the end of the window, and a point without
 * length closes the series. */
static bool add_buckets(partial *p, const kino__profile *profile, int64_t device)
{
    int64_t window = profile->window_end - profile->window_start, size = bucket_size(window);
    int64_t count = window / size;
    kino__intervals busy = {0};
    bool ok = kino__profile_busy(profile, device, &busy);
    size_t at = 0;
    for (int64_t i = 0; ok && count > 0 && i <= count; i++) {
        int64_t start = i < count ? profile->window_start + i * size : profile->window_end;
        int64_t end = i + 1 < count ? start + size : profile->window_end, time = 0;
        while (at < busy.count && busy.items[at].end <= start)
            at++;
        for (size_t k = at; k < busy.count && busy.items[k].start < end; k++) {
            int64_t from = busy.items[k].start > start ? busy.items[k].start : start;
            int64_t to = busy.items[k].end < end ? busy.items[k].end : end;
            time += to - from;
        }
        point *slot = kino__vec_add(&p->buckets);
        ok = slot != NULL;
        if (ok)
            *slot = (point){(uint32_t)p->traces.count - 1, device, start, end, time};
    }
    kino__vec_deinit(&busy);
    return ok;
}

static bool add_pieces(partial *p, const kino__profile *profile, int64_t device)
{
    kino__sm_pieces pieces = {0};
    bool ok = kino__profile_sm_pieces(profile, device, &pieces) &&
              kino__vec_reserve(&p->pieces, pieces.count);
    for (size_t i = 0; ok && i < pieces.count; i++) {
        const kino__sm_piece *piece = &pieces.items[i];
        p->pieces.items[p->pieces.count++] =
            (point){(uint32_t)p->traces.count - 1, device, piece->start, piece->end, piece->value};
    }
    kino__vec_deinit(&pieces);
    return ok;
}

/* -- one trace -- */

static bool add_trace(partial *p, const kino__profile *profile)
{
    const kino__trace *trace = profile->trace;
    trace_part *t = kino__vec_add(&p->traces);
    if (!t)
        return false;
    *t = (trace_part){.rank = trace->rank,
                      .worker = KINO_NO_STRING,
                      .span = KINO_NO_STRING,
                      .devices = (int64_t)profile->devices.count,
                      .steps = (int64_t)profile->steps.count,
                      .steps_found = (int64_t)profile->step_count_found,
                      .is_gpu = profile->has_runtime || profile->has_kernel || profile->has_copies,
                      .has_communication = profile->has_communication};
    if (trace->worker.size)
        t->worker = kino__string_pool_add_borrowed(&p->texts, trace->worker);
    if (trace->span.size)
        t->span = kino__string_pool_add_borrowed(&p->texts, trace->span);
    return (trace->worker.size == 0 || t->worker != KINO_NO_STRING) &&
           (trace->span.size == 0 || t->span != KINO_NO_STRING);
}

static bool add_steps(partial *p, const kino__profile *profile)
{
    if (!kino__vec_reserve(&p->steps, profile->steps.count))
        return false;
    for (size_t i = 0; i < profile->steps.count; i++) {
        const kino__profile_step *from = &profile->steps.items[i];
        step_part *step = &p->steps.items[p->steps.count++];
        *step = (step_part){.trace = (uint32_t)p->traces.count - 1,
                            .number = from->number,
                            .start = from->start,
                            .end = from->end,
                            .host_start = from->host_start,
                            .host_end = from->host_end,
                            .device_start = from->device_start,
                            .device_end = from->device_end};
        memcpy(step->cost, from->cost, sizeof step->cost);
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    const kino__profile *profile = kino__profile_of(trace, is_compat, a->pool);
    bool ok = profile && add_trace(p, profile) && add_steps(p, profile) &&
              (is_compat || kino__verdict_add(&p->verdict, profile));
    for (size_t i = 0; ok && i < profile->metrics.count; i++) {
        const kino__device_metrics *m = &profile->metrics.items[i];
        ok = add_device(p, profile, m) && add_buckets(p, profile, m->device) &&
             (!kino__param_bool(a, P_SM_SERIES) || add_pieces(p, profile, m->device));
    }
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- many traces -- */

static bool move_text(partial *p, partial *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&p->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

/* Appends items of one list to the other; each has a field `trace` to be moved on. */
#define APPEND(to, from, shift)                                                                    \
    (kino__vec_reserve((to), (from)->count) &&                                                     \
     append_all((to)->items, &(to)->count, (from)->items, (from)->count, sizeof *(to)->items,      \
                (shift)))

static bool append_all(void *to, size_t *to_count, const void *from, size_t count, size_t size,
                       uint32_t shift)
{
    if (count == 0)
        return true; /* there may be no memory to point into */
    char *at = (char *)to + *to_count * size;
    memcpy(at, from, count * size);
    for (size_t i = 0; i < count; i++)
        *(uint32_t *)(void *)(at + i * size) += shift; /* trace stands first in all of them */
    *to_count += count;
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    uint32_t shift = (uint32_t)p->traces.count;
    bool ok = kino__vec_reserve(&p->traces, more->traces.count);
    for (size_t i = 0; ok && i < more->traces.count; i++) {
        trace_part *t = &p->traces.items[p->traces.count++];
        *t = more->traces.items[i];
        ok = move_text(p, more, &t->worker) && move_text(p, more, &t->span);
    }
    for (size_t i = 0; ok && i < more->devices.count; i++)
        ok = move_text(p, more, &more->devices.items[i].name);
    ok = ok && APPEND(&p->steps, &more->steps, shift) &&
         APPEND(&p->devices, &more->devices, shift) && APPEND(&p->buckets, &more->buckets, shift) &&
         APPEND(&p->pieces, &more->pieces, shift) &&
         kino__verdict_merge(&p->verdict, &more->verdict);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_trace(kino__pack *pack, trace_part *t)
{
    KINO__PACK(pack, &t->rank, &t->worker, &t->span, &t->devices, &t->steps, &t->steps_found,
               &t->is_gpu, &t->has_communication);
}

static void pack_step(kino__pack *pack, step_part *s)
{
    KINO__PACK(pack, &s->trace, &s->number);
    KINO__PACK_TIMES(pack, &s->start, &s->end, &s->host_start, &s->host_end, &s->device_start,
                     &s->device_end);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        kino__pack_int(pack, &s->cost[r]);
}

static void pack_double(kino__pack *pack, double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    kino__pack_u64(pack, &bits);
    memcpy(value, &bits, sizeof bits);
}

static void pack_device(kino__pack *pack, device_part *d)
{
    KINO__PACK(pack, &d->trace, &d->device, &d->name, &d->memory, &d->major, &d->minor);
    pack_double(pack, &d->utilization);
    pack_double(pack, &d->sm_efficiency);
    pack_double(pack, &d->occupancy);
    pack_double(pack, &d->tensor_ratio);
}

static void pack_point(kino__pack *pack, point *b)
{
    KINO__PACK(pack, &b->trace, &b->device, &b->busy);
    KINO__PACK_TIMES(pack, &b->start, &b->end);
}

static void check_text(kino__pack *pack, const partial *p, kino_strid id)
{
    if (id != KINO_NO_STRING && id >= kino__string_pool_count(&p->texts))
        pack->is_damaged = true;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->traces, pack_trace);
    KINO__PACK_VEC(pack, &p->steps, pack_step);
    KINO__PACK_VEC(pack, &p->devices, pack_device);
    KINO__PACK_VEC(pack, &p->buckets, pack_point);
    KINO__PACK_VEC(pack, &p->pieces, pack_point);
    kino__verdict_pack(pack, &p->verdict);
    for (size_t i = 0; i < p->traces.count; i++) {
        check_text(pack, p, p->traces.items[i].worker);
        check_text(pack, p, p->traces.items[i].span);
    }
    for (size_t i = 0; i < p->steps.count; i++)
        pack->is_damaged |= p->steps.items[i].trace >= p->traces.count;
    for (size_t i = 0; i < p->devices.count; i++) {
        pack->is_damaged |= p->devices.items[i].trace >= p->traces.count;
        check_text(pack, p, p->devices.items[i].name);
    }
    for (size_t i = 0; i < p->buckets.count; i++)
        pack->is_damaged |= p->buckets.items[i].trace >= p->traces.count;
    for (size_t i = 0; i < p->pieces.count; i++)
        pack->is_damaged |= p->pieces.items[i].trace >= p->traces.count;
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_SM_SERIES] = {"sm_series", KINO_TYPE_BOOL, "no",
                     "fill sm_efficiency_series: at most two rows per kernel", NULL},
    {0},
};

#define RANK                                                                                       \
    {                                                                                              \
        "rank", KINO_TYPE_INT, NULL, "rank of the trace; null: unknown"                            \
    }

static const kino_column configuration_columns[] = {
    RANK,
    {"worker", KINO_TYPE_STRING, NULL, "from the name of the file"},
    {"span", KINO_TYPE_STRING, NULL, "which recording of the worker"},
    {"number_of_workers", KINO_TYPE_INT, "count", "of the run"},
    {"device_type", KINO_TYPE_STRING, NULL, "GPU or CPU"},
    {"devices", KINO_TYPE_INT, "count", "number of devices with work"},
    {"steps", KINO_TYPE_INT, "count", "number of steps averaged"},
    {"steps_left_out", KINO_TYPE_INT, "count",
     "number of steps left out at the end because they are incomplete"},
    {0},
};

static const kino_column gpu_columns[] = {
    [KINO__GPUS_RANK] = RANK,
    [KINO__GPUS_DEVICE] = {"device", KINO_TYPE_INT, NULL, "id"},
    [KINO__GPUS_NAME] = {"name", KINO_TYPE_STRING, NULL, NULL},
    [KINO__GPUS_MEMORY] = {"memory", KINO_TYPE_BYTES, NULL, NULL},
    [KINO__GPUS_CAPABILITY] = {"compute_capability", KINO_TYPE_STRING, NULL, NULL},
    [KINO__GPUS_UTILIZATION] = {"gpu_utilization", KINO_TYPE_PERCENT, NULL,
                                "share of time with a kernel running"},
    [KINO__GPUS_SM_EFFICIENCY] = {"est_sm_efficiency", KINO_TYPE_PERCENT, NULL,
                                  "share of multiprocessors with a block, over time"},
    [KINO__GPUS_OCCUPANCY] = {"est_achieved_occupancy", KINO_TYPE_PERCENT, NULL,
                              "mean over its kernels, weighted by time"},
    [KINO__GPUS_TENSOR_CORES] = {"kernel_time_using_tensor_cores", KINO_TYPE_PERCENT, NULL,
                                 "share of the operators' kernel time"},
    {0},
};

static const kino_column summary_columns[] = {
    RANK,
    {"category", KINO_TYPE_STRING, NULL, "Average Step Time, then its parts"},
    {"time", KINO_TYPE_DURATION, NULL, "mean over the steps"},
    {"percentage", KINO_TYPE_PERCENT, NULL, "share of the step"},
    {0},
};

enum { C_KERNEL = 4 }; /* the first of the roles */

static const kino_column step_columns[] = {
    RANK,
    {"step", KINO_TYPE_INT, NULL, "its number"},
    {"start", KINO_TYPE_TIME, NULL, "on the host, or when the device finishes the previous step"},
    {"total", KINO_TYPE_DURATION, NULL,
     "until host and device have finished it: the sum of its parts"},
    {"kernel", KINO_TYPE_DURATION, NULL, "kernels, without communication"},
    {"memcpy", KINO_TYPE_DURATION, NULL, "copies while no kernel runs"},
    {"memset", KINO_TYPE_DURATION, NULL, "memsets while none of the above runs"},
    {"communication", KINO_TYPE_DURATION, NULL, "collectives while none of the above runs"},
    {"runtime", KINO_TYPE_DURATION, NULL, "runtime and driver calls while none of the above runs"},
    {"dataloader", KINO_TYPE_DURATION, NULL, "waiting for data while none of the above runs"},
    {"cpu_exec", KINO_TYPE_DURATION, NULL, "operators, likewise"},
    {"other", KINO_TYPE_DURATION, NULL, "the rest"},
    {"host_start", KINO_TYPE_TIME, NULL, "extent on the host: its annotation"},
    {"host_dur", KINO_TYPE_DURATION, NULL, NULL},
    {"device_start", KINO_TYPE_TIME, NULL, "extent on the device: its work; null: none"},
    {"device_dur", KINO_TYPE_DURATION, NULL, "from its first start to its last end"},
    {0},
};

static const kino_column utilization_columns[] = {
    [KINO__UTILIZATION_RANK] = RANK,
    [KINO__UTILIZATION_DEVICE] = {"device", KINO_TYPE_INT, NULL, "id"},
    [KINO__UTILIZATION_TIME] = {"time", KINO_TYPE_TIME, NULL,
                                "start of the bucket; the last row is the end"},
    [KINO__UTILIZATION_VALUE] = {"gpu_utilization", KINO_TYPE_PERCENT, NULL,
                                 "share of time with a kernel running"},
    {0},
};

static const kino_column sm_columns[] = {
    RANK,
    {"device", KINO_TYPE_INT, NULL, "id"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"end", KINO_TYPE_TIME, NULL, NULL},
    {"est_sm_efficiency", KINO_TYPE_PERCENT, NULL,
     "blocks per SM of the running kernels, at most 100 %"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__OVERVIEW_CONFIGURATION] = {"configuration", "one row per trace", configuration_columns,
                                      "Configuration", NULL},
    [KINO__OVERVIEW_GPUS] = {"gpu_summary", "one row per device, over the steps from first to last",
                             gpu_columns, "GPU summary",
                             "not available: no kernel says on which device it ran"},
    [KINO__OVERVIEW_SUMMARY] = {"execution_summary", "the average step and its parts",
                                summary_columns, "Execution summary",
                                "not available: the trace has no events of known kind"},
    [KINO__OVERVIEW_STEPS] = {"step_breakdown",
                              "one row per step; its parts add up to the step time", step_columns,
                              "Step time breakdown",
                              "not available: the trace has no events of known kind"},
    [KINO__OVERVIEW_UTILIZATION] = {"utilization_series", "one row per device and bucket of time",
                                    utilization_columns, "Utilization over time",
                                    "not available: no kernel says on which device it ran"},
    [KINO__OVERVIEW_SM] = {"sm_efficiency_series",
                           "one row per device and piece of time; see sm_series", sm_columns,
                           "SM efficiency over time", "requires --sm-series"},
    {0},
};

/* Does a category stand in the table of this trace? */
static bool is_shown(const trace_part *t, int role)
{
    switch (role) {
    case KINO__ROLE_KERNEL:
    case KINO__ROLE_MEMCPY:
    case KINO__ROLE_MEMSET:
    case KINO__ROLE_RUNTIME:
        return t->is_gpu;
    case KINO__ROLE_COMMUNICATION:
        return t->has_communication;
    default:
        return true;
    }
}

static void add_name(const partial *p, kino__table *table, kino_strid id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->texts, id));
}

/* Workers with several spans count once; traces of unknown workers count each. */
static int64_t count_workers(const partial *p)
{
    int64_t count = 0;
    for (size_t i = 0; i < p->traces.count; i++) {
        bool is_new = true;
        kino_strid worker = p->traces.items[i].worker;
        for (size_t k = 0; k < i && worker != KINO_NO_STRING && is_new; k++)
            is_new = p->traces.items[k].worker != worker;
        count += is_new;
    }
    return count;
}

static void fill_configuration(const partial *p, kino__table *table)
{
    int64_t workers = count_workers(p);
    for (size_t i = 0; i < p->traces.count; i++) {
        const trace_part *t = &p->traces.items[i];
        kino__table_add_int(table, t->rank);
        add_name(p, table, t->worker);
        add_name(p, table, t->span);
        KINO__TABLE_ADD(table, workers, kino__str_from(t->is_gpu ? "GPU" : "CPU"), t->devices,
                        t->steps, t->steps_found - t->steps);
    }
}

static void fill_gpus(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->devices.count; i++) {
        const device_part *d = &p->devices.items[i];
        KINO__TABLE_ADD(table, p->traces.items[d->trace].rank, d->device);
        add_name(p, table, d->name);
        kino__table_add_int(table, d->memory);
        if (d->major == KINO_NO_INT || d->minor == KINO_NO_INT)
            kino__table_add_null(table);
        else
            kino__table_add_format(table, "%lld.%lld", (long long)d->major, (long long)d->minor);
        KINO__TABLE_ADD(table, d->utilization * 100, d->sm_efficiency * 100, d->occupancy,
                        d->tensor_ratio * 100);
    }
}

static void add_category(kino__table *table, const trace_part *t, const char *name, int64_t sum,
                         int64_t total)
{
    KINO__TABLE_ADD(table, t->rank, kino__str_from(name), llround((double)sum / (double)t->steps),
                    total ? 100 * (double)sum / (double)total : NAN);
}

static void fill_summary(const partial *p, kino__table *table)
{
    for (size_t i = 0, s = 0; i < p->traces.count; i++) {
        const trace_part *t = &p->traces.items[i];
        int64_t total = 0, cost[KINO__ROLE_COUNT] = {0};
        size_t first = s;
        for (; s < p->steps.count && p->steps.items[s].trace == i; s++) {
            total += p->steps.items[s].end - p->steps.items[s].start;
            for (int r = 0; r < KINO__ROLE_COUNT; r++)
                cost[r] += p->steps.items[s].cost[r];
        }
        if (s == first)
            continue;
        add_category(table, t, "Average Step Time", total, total);
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            if (is_shown(t, r))
                add_category(table, t, kino__role_name((kino__role)r), cost[r], total);
    }
}

static void fill_steps(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->steps.count; i++) {
        const step_part *s = &p->steps.items[i];
        const trace_part *t = &p->traces.items[s->trace];
        KINO__TABLE_ADD(table, t->rank, s->number, s->start, s->end - s->start);
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            kino__table_add_int(table, is_shown(t, r) ? s->cost[r] : KINO_NO_INT);
        bool has_device = s->device_start != KINO_NO_TIME;
        KINO__TABLE_ADD(
            table, s->host_start, kino__difference(s->host_end, s->host_start), s->device_start,
            has_device ? kino__difference(s->device_end, s->device_start) : KINO_NO_INT);
    }
    for (int r = 0; r < KINO__ROLE_COUNT && table; r++) {
        bool is_seen = false;
        for (size_t i = 0; i < p->traces.count; i++)
            is_seen |= is_shown(&p->traces.items[i], r);
        if (!is_seen)
            table->hidden |= 1u << (C_KERNEL + r);
    }
}

static void fill_series(const partial *p, kino__table *utilization, kino__table *sm)
{
    for (size_t i = 0; i < p->buckets.count; i++) {
        const point *b = &p->buckets.items[i];
        double length = b->end > b->start ? (double)(b->end - b->start) : 1;
        KINO__TABLE_ADD(utilization, p->traces.items[b->trace].rank, b->device, b->start,
                        100 * (double)b->busy / length);
    }
    for (size_t i = 0; i < p->pieces.count; i++) {
        const point *b = &p->pieces.items[i];
        KINO__TABLE_ADD(sm, p->traces.items[b->trace].rank, b->device, b->start, b->end,
                        100 * (double)b->busy / KINO__SM_SCALE);
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const partial *p = value;
    int64_t without_steps = 0, cut = 0;
    fill_configuration(p, kino__analysis_table(result, KINO__OVERVIEW_CONFIGURATION));
    fill_gpus(p, kino__analysis_table(result, KINO__OVERVIEW_GPUS));
    fill_summary(p, kino__analysis_table(result, KINO__OVERVIEW_SUMMARY));
    fill_steps(p, kino__analysis_table(result, KINO__OVERVIEW_STEPS));
    fill_series(p, kino__analysis_table(result, KINO__OVERVIEW_UTILIZATION),
                kino__analysis_table(result, KINO__OVERVIEW_SM));
    for (size_t i = 0; i < p->traces.count; i++) {
        without_steps += p->traces.items[i].steps == 0;
        cut += p->traces.items[i].steps_found - p->traces.items[i].steps;
    }
    if (without_steps)
        kino__result_lacks(result, "steps", " in %lld of %zu traces: they have no spans",
                           (long long)without_steps, p->traces.count);
    if (cut)
        kino__result_note(result,
                          "%lld steps at the end are left out: they launched nothing, or much less "
                          "than the previous step",
                          (long long)cut);
    return kino__verdict_add_note(&p->verdict, result) ? KINO_OK : kino__fail_nomem(err);
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_overview = {
    .name = "overview",
    .help = "which devices were used, how busy they were, and where the step time went",
    .description =
        "Each moment of a step belongs to the first of these that is active: kernel,\n"
        "communication, copy, memset, runtime call, data loader, host operator. What\n"
        "remains is Other. If there are no kernels, data loader and operators come before\n"
        "communication. Annotations are ranges around work, not work. So the parts of a\n"
        "step add up to it. A step lasts from its start on the host, or the end of the\n"
        "previous step, to the end of the device work it launched; a trace without steps\n"
        "is one step. All steps count. The extent of a step on the host and on the device\n"
        "is shown as well. See docs/analyses/profile.md for the full definition.\n",
    .params = params,
    .tables = tables,
    .compat = compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
