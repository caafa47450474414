/* launch_stats.c - what does it cost to launch kernels: time in the call, time on the device, and
 * the delay between both. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"
#include "base/keyed_sort.h"
#include "base/large.h"
#include "base/record_sort.h"
#include "names/launch_calls.h"

enum { P_RUNTIME_CUTOFF, P_DELAY_CUTOFF, P_MEMORY, P_LAST_STEP };

static const kino_param_info params[] = {
    [P_RUNTIME_CUTOFF] = {"runtime_cutoff", KINO_TYPE_DURATION, "50us",
                          "calls that take longer are outliers", NULL},
    [P_DELAY_CUTOFF] = {"launch_delay_cutoff", KINO_TYPE_DURATION, "100us",
                        "longer delays are outliers", NULL},
    [P_MEMORY] = {"include_memory", KINO_TYPE_BOOL, "no", "include copies and memsets", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

typedef struct launch {
    int64_t rank, correlation, host, device, delay; /* ns */
    int64_t launch_event, device_event;
} launch;

typedef struct partial {
    KINO__VEC(launch) rows;   /* by rank, then correlation */
    KINO__VEC(int64_t) ranks; /* all, also those without launches */
    bool is_cut, has_device;
    int64_t without_work, without_launch; /* the default: launches, pieces of device work */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
    kino__vec_deinit(&p->ranks);
}

static bool is_launch(const kino__frame *f, kino_str name, bool has_memory)
{
    kino__launch_kind kind = kino__launch_kind_of(name);
    if (f->mode != KINO__FRAME_DEFAULT && !(kino__call_marks(name) & KINO__CALL_STATS))
        return false;
    return kind == KINO__LAUNCH_KERNEL || kind == KINO__LAUNCH_GRAPH ||
           (has_memory && kind != KINO__LAUNCH_NONE);
}

static bool add_row(partial *p, const kino__frame *f, uint32_t host, uint32_t device)
{
    launch *row = kino__vec_add(&p->rows);
    if (!row)
        return false;
    int64_t delay = kino__difference(kino__difference(f->ts[device], f->ts[host]), f->dur[host]);
    *row = (launch){.rank = f->trace->rank,
                    .correlation = f->correlation[device],
                    .host = kino__frame_ns(f, f->dur[host]),
                    .device = kino__frame_ns(f, f->dur[device]),
                    .delay = kino__frame_ns(f, delay > 0 ? delay : 0),
                    .launch_event = kino__trace_event_id(f->trace, f->row[host]),
                    .device_event = kino__trace_event_id(f->trace, f->row[device])};
    return true;
}

/* Is the work's call not here, or none that launches? */
static bool is_unlaunched(const kino__frame *f, uint32_t at, const uint8_t *is_wanted,
                          bool has_memory)
{
    if (f->link[at] < 0)
        return true;
    kino_strid call = f->trace->name[f->row[f->link[at]]];
    bool is_of_kind = has_memory || f->type[at] != KINO__KERNEL_MEMORY;
    return is_of_kind && (call == KINO_NO_STRING || !is_wanted[call]);
}

/* What is not in the rows: launches without their work, and work without a call. */
static void count_alone(partial *p, const kino__frame *f, const uint8_t *is_wanted, bool has_memory)
{
    for (uint32_t at = 0; at < f->count; at++) {
        bool is_device = kino__frame_is_device(f, at);
        kino_strid name = f->trace->name[f->row[at]];
        p->has_device |= is_device;
        p->without_launch += is_device && is_unlaunched(f, at, is_wanted, has_memory);
        if (f->link[at] >= 0)
            continue;
        p->without_work += !is_device && !(f->flags[at] & KINO__FRAME_GPU_SIDE) &&
                           name != KINO_NO_STRING && is_wanted[name];
    }
}

/* The default: each piece of work with the call that launched it. */
static bool add_linked(partial *p, const kino__frame *f, const uint8_t *is_wanted)
{
    KINO__VEC(kino__keyed) works = {.allocator = &kino__large_allocator};
    bool ok = true;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!kino__frame_is_device(f, at) || f->link[at] < 0)
            continue;
        kino_strid name = f->trace->name[f->row[f->link[at]]];
        if (name == KINO_NO_STRING || !is_wanted[name])
            continue;
        kino__keyed *work = kino__vec_add(&works);
        ok = work != NULL;
        if (ok)
            *work = (kino__keyed){f->correlation[at], at};
    }
    ok = ok && (works.count == 0 || kino__keyed_sort(works.items, works.count)) &&
         kino__vec_reserve(&p->rows, works.count);
    for (size_t i = 0; ok && i < works.count; i++)
        ok = add_row(p, f, (uint32_t)f->link[works.items[i].value], works.items[i].value);
    kino__vec_deinit(&works);
    return ok;
}

/* How many rows have the same key on both sides, each with each. */
static uint64_t count_pairs(kino__keyed *const *sides, const size_t *counts)
{
    uint64_t pairs = 0;
    for (size_t h = 0, d = 0, first = 0; h < counts[0]; h++) {
        if (h == 0 || sides[0][h].key != sides[0][h - 1].key) {
            for (first = d; first < counts[1] && sides[1][first].key < sides[0][h].key;)
                first++;
            for (d = first; d < counts[1] && sides[1][d].key == sides[0][h].key;)
                d++;
        }
        pairs += d - first;
    }
    return pairs;
}

/* HTA: every host row with every device row of the same correlation, where a launch has it. */
static kino_status add_joined(partial *p, const kino__frame *f, const uint8_t *is_wanted,
                              kino_error *err)
{
    kino__keyed *sides[2] = {malloc(((size_t)f->count + 1) * sizeof(kino__keyed)),
                             malloc(((size_t)f->count + 1) * sizeof(kino__keyed))};
    size_t counts[2] = {0, 0};
    kino__map wanted;
    kino__map_init(&wanted, NULL);
    bool ok = sides[0] && sides[1];
    for (uint32_t at = 0; ok && at < f->count; at++) {
        kino_strid name = f->trace->name[f->row[at]];
        if (name != KINO_NO_STRING && is_wanted[name] && f->correlation[at] != -1)
            ok = kino__map_put(&wanted, (uint64_t)f->correlation[at], 1) != NULL;
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (f->correlation[at] == -1 || !kino__map_get(&wanted, (uint64_t)f->correlation[at]))
            continue;
        int side = f->stream[at] != -1;
        sides[side][counts[side]++] = (kino__keyed){f->correlation[at], at};
    }
    for (int side = 0; ok && side < 2; side++)
        ok = counts[side] == 0 || kino__keyed_sort(sides[side], counts[side]);
    uint64_t pairs = ok ? count_pairs(sides, counts) : 0;
    bool fits = pairs <= kino__frame_most_rows(f->trace);
    ok = ok && fits && kino__vec_reserve(&p->rows, (size_t)pairs);
    for (size_t h = 0, d = 0; ok && h < counts[0]; h++) {
        while (d < counts[1] && sides[1][d].key < sides[0][h].key)
            d++;
        for (size_t k = d; ok && k < counts[1] && sides[1][k].key == sides[0][h].key; k++)
            ok = add_row(p, f, sides[0][h].value, sides[1][k].value);
    }
    kino__map_deinit(&wanted);
    free(sides[0]);
    free(sides[1]);
    if (!fits)
        return kino__fail_pairs(f->trace, pairs, err);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static int compare_rows(const void *a, const void *b)
{
    const launch *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    if (x->launch_event != y->launch_event)
        return x->launch_event < y->launch_event ? -1 : 1;
    return x->device_event < y->device_event ? -1 : x->device_event > y->device_event;
}

static int64_t correlation_key(const void *row)
{
    return ((const launch *)row)->correlation;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    static const kino__record_key keys[] = {correlation_key};
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    size_t names = kino__string_pool_count(&trace->strings);
    uint8_t *is_wanted = malloc(names + 1);
    int64_t *rank = kino__vec_add(&p->ranks);
    bool ok = f && is_wanted && rank;
    kino_status st = KINO_OK;
    for (kino_strid id = 0; ok && id < names; id++)
        is_wanted[id] = is_launch(f, kino__trace_string(trace, id), kino__param_bool(a, P_MEMORY));
    if (ok) {
        *rank = trace->rank;
        p->is_cut = f->is_cut;
        p->rows.allocator = &kino__large_allocator;
        if (f->mode == KINO__FRAME_DEFAULT)
            count_alone(p, f, is_wanted, kino__param_bool(a, P_MEMORY));
        if (f->mode == KINO__FRAME_DEFAULT)
            ok = add_linked(p, f, is_wanted);
        else
            st = add_joined(p, f, is_wanted, err);
    }
    ok = ok && st == KINO_OK &&
         kino__records_sort(p->rows.items, p->rows.count, sizeof *p->rows.items, keys, 1,
                            compare_rows);
    free(is_wanted);
    if (st != KINO_OK)
        return st;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->rows, &more->rows) || !kino__vec_append(&p->ranks, &more->ranks))
        return kino__fail_nomem(err);
    p->is_cut |= more->is_cut;
    p->has_device |= more->has_device;
    p->without_work = kino__sum(p->without_work, more->without_work);
    p->without_launch = kino__sum(p->without_launch, more->without_launch);
    return KINO_OK;
}

static void pack_row(kino__pack *pack, launch *r)
{
    KINO__PACK(pack, &r->rank, &r->correlation, &r->host, &r->device, &r->delay);
    KINO__PACK_EVENTS(pack, &r->launch_event, &r->device_event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->ranks, kino__pack_int);
    KINO__PACK(pack, &p->is_cut, &p->has_device);
    KINO__PACK_TALLIES(pack, &p->without_work, &p->without_launch);
}

static const kino_column summary_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "launches matched to their work"},
    {"cpu_duration", KINO_TYPE_DURATION, NULL, "sum of the time in the calls"},
    {"gpu_duration", KINO_TYPE_DURATION, NULL, "sum of the time on the device"},
    {"launch_delay", KINO_TYPE_DURATION, NULL, "sum of the delays"},
    {"max_launch_delay", KINO_TYPE_DURATION, NULL, NULL},
    {"short_kernels", KINO_TYPE_INT, "count",
     "kernels shorter than their launch call, which is not an outlier: launch-bound"},
    {"runtime_outliers", KINO_TYPE_INT, "count", "calls longer than runtime_cutoff"},
    {"launch_delay_outliers", KINO_TYPE_INT, "count", "delays longer than launch_delay_cutoff"},
    {0},
};

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"correlation", KINO_TYPE_INT, NULL, NULL},
    {"cpu_duration", KINO_TYPE_DURATION, NULL, "of the call"},
    {"gpu_duration", KINO_TYPE_DURATION, NULL, "of the work"},
    {"launch_delay", KINO_TYPE_DURATION, NULL, "from the end of the call to the start of the work"},
    {"launch_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the call"},
    {"device_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the work"},
    {0},
};

static const kino_table_info tables[] = {
    {"launch_stats", "one row per launch, by rank and correlation", columns, "Launches",
     "not available: no launch could be matched to device work"},
    {"launch_summary", "one row per rank", summary_columns, NULL, "not available: see the notes"},
    {0},
};

static void add_summary(const kino__analysis *a, kino__table *table, int64_t rank,
                        const launch *rows, size_t count)
{
    int64_t host = 0, device = 0, delay = 0, longest = 0;
    int64_t shorts = 0, runtime_outliers = 0, delay_outliers = 0;
    int64_t cutoff = kino__param_int(a, P_RUNTIME_CUTOFF);
    for (size_t i = 0; i < count; i++) {
        host = kino__sum(host, rows[i].host);
        device = kino__sum(device, rows[i].device);
        delay = kino__sum(delay, rows[i].delay);
        longest = rows[i].delay > longest ? rows[i].delay : longest;
        shorts += rows[i].host <= cutoff && rows[i].device < rows[i].host;
        runtime_outliers += rows[i].host > cutoff;
        delay_outliers += rows[i].delay > kino__param_int(a, P_DELAY_CUTOFF);
    }
    KINO__TABLE_ADD(table, rank, (int64_t)count, host, device, delay, count ? longest : KINO_NO_INT,
                    shorts, runtime_outliers, delay_outliers);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    if (table) { /* room at once, where there is some */
        table->cells.allocator = &kino__large_allocator;
        (void)kino__vec_reserve(&table->cells, p->rows.count * table->column_count);
    }
    for (size_t i = 0; i < p->rows.count; i++) {
        const launch *r = &p->rows.items[i];
        KINO__TABLE_ADD(table, r->rank, r->correlation, r->host, r->device, r->delay,
                        r->launch_event, r->device_event);
    }
    /* Rows of a rank stand together, in the order of the ranks. */
    size_t at = 0, without = 0;
    for (size_t i = 0; i < p->ranks.count; i++) {
        size_t first = at;
        int64_t trace = at < p->rows.count ? p->rows.items[at].launch_event >> 32 : -1;
        bool is_next = at < p->rows.count && p->rows.items[at].rank == p->ranks.items[i];
        while (is_next && at < p->rows.count && p->rows.items[at].launch_event >> 32 == trace)
            at++;
        const launch *rows = at > first ? &p->rows.items[first] : NULL;
        if (rows || a->compat)
            add_summary(a, kino__analysis_table(result, 1), p->ranks.items[i], rows, at - first);
        without += !rows;
    }
    if (without && !p->has_device)
        kino__result_lacks(result, "launches", ": no device work was recorded");
    else if (without)
        kino__result_lacks(result, "launches",
                           " in %zu of %zu traces: none could be matched to device work", without,
                           p->ranks.count);
    if (p->without_work)
        kino__result_note(result, "%lld launches without work in the trace are left out",
                          (long long)p->without_work);
    kino__note_unlaunched(result, p->without_launch);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_launch_stats = {
    .name = "launch-stats",
    .help = "cost of launches: time in the call, on the device, and in between",
    .description =
        "Each launch with its work: how long the call took, how long the work ran, and\n"
        "the time from the end of the call to the start of the work (0 if it started\n"
        "earlier). A kernel that is shorter than its launch call is launch-bound. All\n"
        "launch calls count, graphs with all their kernels; with compat, only those that\n"
        "HTA knows.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
