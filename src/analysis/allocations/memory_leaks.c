/* memory_leaks.c - what was allocated between two marks and never freed before the second?
 *
 * Method: walk the history of each device; an allocation waits for the free of its address, and
 * those that wait at the end are added up by call stack. A block that the program asked to free
 * (free_requested of a snapshot) is no leak, although other streams may still use it.
 * Cost: linear in the [memory] events. */
#include "analysis/allocations/allocation_sites.h"
#include "base/error.h"

typedef struct block {
    kino__alloc_owner owner;
    int64_t address, bytes, ts, event;
    uint32_t site; /* text of the sites' pool; KINO_NO_STRING: no stack */
} block;

typedef struct partial {
    kino__alloc_sites sites;
    KINO__VEC(block) blocks;
    int64_t records, without_address;
} partial;

enum { P_FROM, P_TO };

static const kino_param_info params[] = {
    [P_FROM] = {"from", KINO_TYPE_TIME, NULL, "first mark (default: the beginning of the history)",
                NULL},
    [P_TO] = {"to", KINO_TYPE_TIME, NULL, "second mark (default: the end of the history)", NULL},
    {0},
};

static void deinit(void *value)
{
    partial *p = value;
    kino__alloc_sites_deinit(&p->sites);
    kino__vec_deinit(&p->blocks);
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    int64_t from = kino__param_int(a, P_FROM), to = kino__param_int(a, P_TO);
    if (from != KINO_NO_INT && to != KINO_NO_INT && from > to)
        return kino__fail(err, KINO_ARGUMENT, "the second mark (%lld) is before the first (%lld)",
                          (long long)to, (long long)from);
    return KINO_OK;
}

/* -- one trace -- */

static bool is_before(int64_t ts, int64_t mark)
{
    return mark != KINO_NO_INT && ts < mark;
}

static bool is_after(int64_t ts, int64_t mark)
{
    return mark != KINO_NO_INT && ts >= mark;
}

static bool add_leak(partial *p, kino__site_adder *adder, const kino__trace *trace,
                     const kino__allocation *one, kino__buffer *text)
{
    block *b = kino__vec_add(&p->blocks);
    if (!b || !kino__site_add(adder, one->device, one->stack, one->bytes, one->ts))
        return false;
    *b = (block){.owner = kino__alloc_owner_of(adder->all, trace, one->device),
                 .address = one->address,
                 .bytes = one->bytes,
                 .ts = one->ts,
                 .event = kino__trace_event_id(trace, one->row),
                 .site = KINO_NO_STRING};
    if (!one->stack)
        return true;
    kino__site_text(adder->all->stacks, one->stack, text);
    b->site = kino__string_pool_add(&p->sites.texts, kino__buffer_str(text));
    return !text->failed && b->site != KINO_NO_STRING;
}

/* Fills `open` with the places of the allocations that nobody frees; of one address the last. */
static bool find_open(const kino__analysis *a, const kino__allocations *all, kino__map *open)
{
    for (size_t i = 0; i < all->history.count; i++) {
        const kino__allocation *one = &all->history.items[i];
        uint64_t key = kino__allocation_key(one->device, one->address);
        if (one->address == KINO_NO_INT)
            continue;
        if (is_after(one->ts, kino__param_int(a, P_TO)))
            break;
        uint32_t *slot = one->bytes > 0 ? kino__map_put(open, key, 0) : kino__map_get(open, key);
        if (one->bytes > 0 && !slot)
            return false;
        if (slot)
            *slot = one->bytes > 0 ? (uint32_t)i : UINT32_MAX;
    }
    return true;
}

static bool add_open(const kino__analysis *a, partial *p, const kino__trace *trace,
                     const kino__allocations *all, const kino__map *open)
{
    kino__site_adder adder;
    kino__buffer text = {0};
    bool ok = true;
    kino__site_adder_init(&adder, &p->sites, all, trace);
    for (size_t i = 0; i < all->history.count && ok; i++) {
        const kino__allocation *one = &all->history.items[i];
        p->records += one->bytes != 0;
        p->without_address += one->bytes != 0 && one->address == KINO_NO_INT;
        if (one->bytes <= 0 || one->address == KINO_NO_INT)
            continue;
        uint32_t *slot = kino__map_get(open, kino__allocation_key(one->device, one->address));
        if (slot && *slot == i && !is_before(one->ts, kino__param_int(a, P_FROM)))
            ok = add_leak(p, &adder, trace, one, &text);
    }
    kino__buffer_deinit(&text);
    kino__site_adder_deinit(&adder);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__allocations all;
    kino__map open;
    kino__map_init(&open, NULL);
    bool ok = kino__allocations_init(&all, trace) && find_open(a, &all, &open) &&
              add_open(a, value, trace, &all, &open);
    kino__map_deinit(&open);
    kino__allocations_deinit(&all);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__alloc_sites_merge(&p->sites, &more->sites))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->blocks.count; i++) {
        block *b = kino__vec_add(&p->blocks);
        if (!b)
            return kino__fail_nomem(err);
        *b = more->blocks.items[i];
        if (b->site != KINO_NO_STRING)
            b->site = kino__string_pool_add(&p->sites.texts,
                                            kino__string_pool_text(&more->sites.texts, b->site));
    }
    p->records = kino__sum(p->records, more->records);
    p->without_address = kino__sum(p->without_address, more->without_address);
    return KINO_OK;
}

static void pack_block(kino__pack *pack, block *b)
{
    kino__alloc_owner_pack(pack, &b->owner);
    KINO__PACK(pack, &b->address, &b->bytes, &b->site);
    KINO__PACK_TIMES(pack, &b->ts);
    KINO__PACK_EVENTS(pack, &b->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__alloc_sites_pack(pack, &p->sites);
    KINO__PACK_VEC(pack, &p->blocks, pack_block);
    KINO__PACK(pack, &p->records, &p->without_address);
}

/* -- the answer -- */

static const kino_column block_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"ts", KINO_TYPE_TIME, NULL, "when it was allocated"},
    {"bytes", KINO_TYPE_BYTES, NULL, NULL},
    {"address", KINO_TYPE_STRING, NULL, NULL},
    {"site", KINO_TYPE_STRING, NULL, NULL},
    {"event_id", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {0},
};

enum { T_SITES, T_BLOCKS };

static const kino_table_info tables[] = {
    [T_SITES] = {"memory_leaks", "one row per call stack that allocated what was not freed",
                 kino__alloc_site_columns, NULL, "none: everything allocated was freed"},
    [T_BLOCKS] = {"memory_leaks_blocks", "one row per block, in order of allocation", block_columns,
                  NULL, NULL},
    {0},
};

static void show_blocks(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->blocks.count; i++) {
        const block *b = &p->blocks.items[i];
        kino__table_add_owner(table, &b->owner);
        KINO__TABLE_ADD(table, b->ts, b->bytes);
        kino__table_add_format(table, "0x%llx", (unsigned long long)b->address);
        if (b->site == KINO_NO_STRING)
            kino__table_add_null(table);
        else
            kino__table_add_text(table, kino__string_pool_text(&p->sites.texts, b->site));
        kino__table_add_int(table, b->event);
    }
    kino__table_describe(table, KINO__TABLE_QUIET, NULL, NULL);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a, (void)err;
    partial *p = value;
    show_blocks(p, kino__analysis_table(result, T_BLOCKS));
    kino__alloc_sites_show(&p->sites, kino__analysis_table(result, T_SITES));
    if (p->records == 0)
        kino__result_lacks(result, "leaks",
                           ": no history of allocations; record it with "
                           "torch.cuda.memory._record_memory_history() or profile_memory");
    else if (p->sites.items.count && !kino__alloc_sites_any_stack(&p->sites))
        kino__result_lacks(result, "call sites", ": the allocations have no call stacks");
    if (p->without_address)
        kino__result_note(result, "%lld allocations and frees without an address were left out",
                          (long long)p->without_address);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_memory_leaks = {
    .name = "memory-leaks",
    .help = "what was allocated between two marks and never freed before the second",
    .description =
        "From the history of a memory snapshot, or from the [memory] events of a trace:\n"
        "allocations at or after --from that were not freed before --to, added up by\n"
        "the call stack that made them. A block that the program asked to free is not\n"
        "a leak, even if another stream still uses it.\n",
    .params = params,
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
