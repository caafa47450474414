/* peak_memory.c - which call stacks held the memory when most of it was allocated?
 *
 * Method: walk the history of each device to its peak (the totals of the events, or the sum of their
 * bytes where they have none); what was allocated then is added up by call stack. Blocks that a
 * snapshot ends with, and that its history never mentions, were there all the time. What else was
 * allocated before the history began has no call stack: it is the rest of the peak.
 * Cost: linear in the [memory] events. */
#include <stdlib.h>

#include "analysis/allocations/allocation_sites.h"
#include "base/error.h"

typedef struct peak {
    kino__alloc_owner owner;
    int64_t bytes, ts, event;
    int64_t known; /* bytes whose allocation is known */
    int64_t records;
    int64_t is_relative; /* no totals: counted from 0 at the first record */
} peak;

typedef struct partial {
    kino__alloc_sites sites;
    KINO__VEC(peak) peaks;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__alloc_sites_deinit(&p->sites);
    kino__vec_deinit(&p->peaks);
}

/* -- one trace -- */

/* The peak of a device while its history is walked. */
typedef struct walk {
    int64_t sum, most;
    size_t at; /* place in the history */
    int64_t records;
    bool has_totals;
} walk;

typedef struct walks {
    const kino__allocations *all;
    walk *of_device;
    kino__map open; /* address -> place of its allocation; UINT32_MAX: freed */
} walks;

static void take_record(walks *w, size_t i)
{
    const kino__allocation *one = &w->all->history.items[i];
    walk *k = &w->of_device[one->device];
    if (one->bytes == 0)
        return;
    k->sum = kino__sum(k->sum, one->bytes);
    k->has_totals |= one->total >= 0;
    int64_t now = one->total >= 0 ? one->total : k->sum;
    if (k->records++ == 0 || now > k->most) {
        k->most = now;
        k->at = i;
    }
}

/* What is open after the event that reached the peak of its device. */
static bool open_at_peak(walks *w)
{
    for (size_t i = 0; i < w->all->history.count; i++) {
        const kino__allocation *one = &w->all->history.items[i];
        if (one->bytes == 0 || one->address == KINO_NO_INT)
            continue;
        uint64_t key = kino__allocation_key(one->device, one->address);
        uint32_t *slot = kino__map_put(&w->open, key, UINT32_MAX);
        if (!slot)
            return false;
        if (i <= w->of_device[one->device].at)
            *slot = one->bytes > 0 ? (uint32_t)i : UINT32_MAX;
    }
    return true;
}

static bool add_open(walks *w, kino__site_adder *adder, peak *peaks)
{
    for (size_t i = 0; i < w->all->history.count; i++) {
        const kino__allocation *one = &w->all->history.items[i];
        const uint32_t *slot =
            kino__map_get(&w->open, kino__allocation_key(one->device, one->address));
        if (one->bytes <= 0 || one->address == KINO_NO_INT || !slot || *slot != i)
            continue;
        peaks[one->device].known = kino__sum(peaks[one->device].known, one->bytes);
        if (!kino__site_add(adder, one->device, one->stack, one->bytes, one->ts))
            return false;
    }
    return true;
}

/* Those that the history does not mention. */
static bool add_blocks(walks *w, kino__site_adder *adder, peak *peaks)
{
    for (size_t i = 0; i < w->all->blocks.count; i++) {
        const kino__held_block *b = &w->all->blocks.items[i];
        if (!b->is_active || b->bytes <= 0 || !w->of_device[b->device].records ||
            kino__map_get(&w->open, kino__allocation_key(b->device, b->address)))
            continue;
        peaks[b->device].known = kino__sum(peaks[b->device].known, b->bytes);
        if (!kino__site_add(adder, b->device, b->stack, b->bytes, KINO_NO_TIME))
            return false;
    }
    return true;
}

static peak *add_peaks(const walks *w, partial *p, const kino__trace *trace)
{
    size_t first = p->peaks.count;
    for (size_t d = 0; d < w->all->devices.count; d++) {
        const walk *k = &w->of_device[d];
        peak *slot = kino__vec_add(&p->peaks);
        if (!slot)
            return NULL;
        const kino__allocation *at = k->records ? &w->all->history.items[k->at] : NULL;
        *slot = (peak){.owner = kino__alloc_owner_of(w->all, trace, (uint32_t)d),
                       .bytes = k->most,
                       .ts = at ? at->ts : KINO_NO_TIME,
                       .event = at ? kino__trace_event_id(trace, at->row) : KINO_NO_INT,
                       .records = k->records,
                       .is_relative = !k->has_totals};
    }
    return &p->peaks.items[first];
}

static bool find_peaks(walks *w, partial *p, const kino__trace *trace)
{
    w->of_device = calloc(w->all->devices.count + 1, sizeof *w->of_device);
    for (size_t i = 0; w->of_device && i < w->all->history.count; i++)
        take_record(w, i);
    if (!w->of_device || w->all->devices.count == 0)
        return w->of_device != NULL;
    peak *peaks = add_peaks(w, p, trace);
    kino__site_adder adder;
    kino__site_adder_init(&adder, &p->sites, w->all, trace);
    bool ok =
        peaks && open_at_peak(w) && add_open(w, &adder, peaks) && add_blocks(w, &adder, peaks);
    kino__site_adder_deinit(&adder);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    (void)a;
    kino__allocations all;
    walks w = {.all = &all};
    kino__map_init(&w.open, NULL);
    bool ok = kino__allocations_init(&all, trace) && find_peaks(&w, value, trace);
    free(w.of_device);
    kino__map_deinit(&w.open);
    kino__allocations_deinit(&all);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__alloc_sites_merge(&p->sites, &more->sites) ||
        !kino__vec_append(&p->peaks, &more->peaks))
        return kino__fail_nomem(err);
    return KINO_OK;
}

static void pack_peak(kino__pack *pack, peak *k)
{
    kino__alloc_owner_pack(pack, &k->owner);
    KINO__PACK(pack, &k->bytes, &k->known, &k->records, &k->is_relative);
    KINO__PACK_TIMES(pack, &k->ts);
    KINO__PACK_EVENTS(pack, &k->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__alloc_sites_pack(pack, &p->sites);
    KINO__PACK_VEC(pack, &p->peaks, pack_peak);
}

/* -- the answer -- */

static const kino_column peak_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"peak", KINO_TYPE_BYTES, NULL, "maximum allocated at one time"},
    {"ts", KINO_TYPE_TIME, NULL, "when it was first reached"},
    {"known", KINO_TYPE_BYTES, NULL, "part whose allocation is known: the sum of the sites"},
    {"before", KINO_TYPE_BYTES, NULL, "part allocated before the history began"},
    {"records", KINO_TYPE_INT, "count", "allocations and frees in the history"},
    {"event_id", KINO_TYPE_INT, KINO_UNIT_EVENT, "the allocation that reached it"},
    {0},
};

enum { T_PEAK, T_SITES };

static const kino_table_info tables[] = {
    [T_PEAK] = {"peak_memory", "one row per rank and device", peak_columns, NULL,
                "not available: no history of allocations"},
    [T_SITES] = {"peak_memory_sites", "one row per call stack that held memory at the peak",
                 kino__alloc_site_columns, NULL, NULL},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a, (void)err;
    partial *p = value;
    kino__table *table = kino__analysis_table(result, T_PEAK);
    bool is_relative = false, has_records = false;
    for (size_t i = 0; i < p->peaks.count; i++) {
        const peak *k = &p->peaks.items[i];
        if (k->records == 0)
            continue;
        has_records = true;
        is_relative |= k->is_relative != 0;
        kino__table_add_owner(table, &k->owner);
        int64_t before = kino__sum(k->bytes, -k->known);
        KINO__TABLE_ADD(table, k->bytes, k->ts, k->known,
                        k->is_relative || before < 0 ? KINO_NO_INT : before, k->records, k->event);
    }
    kino__alloc_sites_show(&p->sites, kino__analysis_table(result, T_SITES));
    if (!has_records)
        kino__result_lacks(result, "peak memory",
                           ": no history of allocations; record it with "
                           "torch.cuda.memory._record_memory_history() or profile_memory");
    else if (!kino__alloc_sites_any_stack(&p->sites))
        kino__result_lacks(result, "call sites", ": the allocations have no call stacks");
    if (is_relative)
        kino__result_lacks(result, "totals", ": sizes are relative to the first record");
    return KINO_OK;
}

const kino__analysis_def kino__analysis_peak_memory = {
    .name = "peak-memory",
    .help = "which call stacks held the memory when most of it was allocated",
    .description =
        "From the history of a memory snapshot, or from the [memory] events of a trace:\n"
        "the peak of each device, and what was allocated then by the call stack that\n"
        "made it. Blocks of a snapshot that its history does not mention were allocated\n"
        "all the time. What is not known was allocated before the history began.\n",
    .tables = tables,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
