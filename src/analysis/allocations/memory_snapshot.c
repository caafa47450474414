/* memory_snapshot.c - what does the allocator hold at the end: for whom, in which segments, and how
 * much of it lies in gaps?
 *
 * Method: the segments and blocks that a memory snapshot ends with, added up.
 * Cost: linear in the blocks. */
#include <stdlib.h>

#include "analysis/allocations/allocation_sites.h"
#include "base/error.h"

typedef struct segment {
    kino__alloc_owner owner;
    int64_t address, stream, bytes; /* KINO_NO_INT: not known */
    int64_t active, pending, inactive, largest_gap, blocks;
    int64_t requested; /* of active blocks; KINO_NO_INT: not of all known */
    kino_str type;     /* of the trace, or of loaded bytes */
} segment;

typedef struct gap {
    kino__alloc_owner owner;
    int64_t segment, address, bytes;
} gap;

typedef struct partial {
    kino__alloc_sites sites;
    KINO__VEC(segment) segments;
    KINO__VEC(gap) gaps; /* inactive blocks of segments that also have active ones */
    int64_t homeless;    /* blocks whose segment is not there */
} partial;

enum { P_NUM_GAPS };

static const kino_param_info params[] = {
    [P_NUM_GAPS] = {"num_gaps", KINO_TYPE_INT, "20", "rows of the table of gaps", NULL},
    {0},
};

static void deinit(void *value)
{
    partial *p = value;
    kino__alloc_sites_deinit(&p->sites);
    kino__vec_deinit(&p->segments);
    kino__vec_deinit(&p->gaps);
}

/* -- one trace -- */

static bool add_segments(partial *p, const kino__trace *trace, const kino__allocations *all,
                         kino__map *of_address)
{
    for (size_t i = 0; i < all->segments.count; i++) {
        const kino__held_segment *s = &all->segments.items[i];
        uint32_t *slot = kino__map_put(of_address, kino__allocation_key(s->device, s->address), 0);
        segment *made = slot ? kino__vec_add(&p->segments) : NULL;
        if (!made)
            return false;
        *slot = (uint32_t)p->segments.count - 1;
        *made = (segment){.owner = kino__alloc_owner_of(all, trace, s->device),
                          .address = s->address,
                          .stream = s->stream,
                          .bytes = s->bytes,
                          .type = s->type};
    }
    return true;
}

static void add_active(segment *s, const kino__held_block *b)
{
    s->active = kino__sum(s->active, b->bytes);
    if (b->is_pending)
        s->pending = kino__sum(s->pending, b->bytes);
    bool is_known = s->requested != KINO_NO_INT && b->requested != KINO_NO_INT;
    s->requested = is_known ? kino__sum(s->requested, b->requested) : KINO_NO_INT;
}

static void add_block(segment *s, const kino__held_block *b)
{
    s->blocks++;
    if (b->is_active) {
        add_active(s, b);
        return;
    }
    s->inactive = kino__sum(s->inactive, b->bytes);
    if (b->bytes > s->largest_gap)
        s->largest_gap = b->bytes;
}

static segment *segment_of(partial *p, const kino__map *of_address, const kino__held_block *b)
{
    const uint32_t *slot =
        b->segment == KINO_NO_INT
            ? NULL
            : kino__map_get(of_address, kino__allocation_key(b->device, b->segment));
    return slot ? &p->segments.items[*slot] : NULL;
}

static bool add_gap(partial *p, const segment *s, const kino__held_block *b)
{
    if (b->is_active || s->active == 0)
        return true;
    gap *slot = kino__vec_add(&p->gaps);
    if (slot)
        *slot = (gap){
            .owner = s->owner, .segment = s->address, .address = b->address, .bytes = b->bytes};
    return slot != NULL;
}

static bool add_blocks(partial *p, const kino__trace *trace, const kino__allocations *all,
                       const kino__map *of_address)
{
    kino__site_adder adder;
    bool ok = true;
    kino__site_adder_init(&adder, &p->sites, all, trace);
    for (size_t i = 0; i < all->blocks.count && ok; i++) {
        const kino__held_block *b = &all->blocks.items[i];
        segment *s = segment_of(p, of_address, b);
        if (s && b->bytes >= 0)
            add_block(s, b);
        p->homeless += !s;
        if (b->is_active && b->bytes >= 0)
            ok = kino__site_add(&adder, b->device, b->stack, b->bytes, KINO_NO_TIME);
    }
    for (size_t i = 0; i < all->blocks.count && ok; i++) {
        const segment *s = segment_of(p, of_address, &all->blocks.items[i]);
        ok = !s || all->blocks.items[i].bytes < 0 || add_gap(p, s, &all->blocks.items[i]);
    }
    kino__site_adder_deinit(&adder);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    (void)a;
    kino__allocations all;
    kino__map of_address;
    kino__map_init(&of_address, NULL);
    bool ok = kino__allocations_init(&all, trace) &&
              add_segments(value, trace, &all, &of_address) &&
              add_blocks(value, trace, &all, &of_address);
    kino__map_deinit(&of_address);
    kino__allocations_deinit(&all);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__alloc_sites_merge(&p->sites, &more->sites) ||
        !kino__vec_append(&p->segments, &more->segments) ||
        !kino__vec_append(&p->gaps, &more->gaps))
        return kino__fail_nomem(err);
    p->homeless = kino__sum(p->homeless, more->homeless);
    return KINO_OK;
}

static void pack_segment(kino__pack *pack, segment *s)
{
    kino__alloc_owner_pack(pack, &s->owner);
    KINO__PACK(pack, &s->address, &s->stream, &s->bytes, &s->active, &s->pending, &s->inactive,
               &s->largest_gap, &s->blocks, &s->requested, &s->type);
}

static void pack_gap(kino__pack *pack, gap *g)
{
    kino__alloc_owner_pack(pack, &g->owner);
    KINO__PACK(pack, &g->segment, &g->address, &g->bytes);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__alloc_sites_pack(pack, &p->sites);
    KINO__PACK_VEC(pack, &p->segments, pack_segment);
    KINO__PACK_VEC(pack, &p->gaps, pack_gap);
    KINO__PACK(pack, &p->homeless);
}

/* -- the answer -- */

static const kino_column device_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"reserved", KINO_TYPE_BYTES, NULL, "in segments: what other programs cannot have"},
    {"active", KINO_TYPE_BYTES, NULL, "in blocks that are in use"},
    {"requested", KINO_TYPE_BYTES, NULL, "what the program asked for in them"},
    {"rounding", KINO_TYPE_BYTES, NULL, "active - requested"},
    {"pending", KINO_TYPE_BYTES, NULL,
     "part of active that was freed, but waits for other streams"},
    {"unused", KINO_TYPE_BYTES, NULL, "in segments without any active block"},
    {"fragmented", KINO_TYPE_BYTES, NULL, "in gaps: inactive, in segments with active blocks"},
    {"fragmentation", KINO_TYPE_PERCENT, NULL, "fragmented / reserved"},
    {"largest_gap", KINO_TYPE_BYTES, NULL, "largest inactive block"},
    {"segments", KINO_TYPE_INT, "count", NULL},
    {"blocks", KINO_TYPE_INT, "count", NULL},
    {0},
};

static const kino_column segment_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"address", KINO_TYPE_STRING, NULL, NULL},
    {"type", KINO_TYPE_STRING, NULL, "large or small"},
    {"stream", KINO_TYPE_STRING, NULL, "0 is the default stream"},
    {"reserved", KINO_TYPE_BYTES, NULL, NULL},
    {"active", KINO_TYPE_BYTES, NULL, NULL},
    {"inactive", KINO_TYPE_BYTES, NULL, NULL},
    {"largest_gap", KINO_TYPE_BYTES, NULL, "largest inactive block"},
    {"blocks", KINO_TYPE_INT, "count", NULL},
    {0},
};

static const kino_column gap_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"segment", KINO_TYPE_STRING, NULL, "its address"},
    {"address", KINO_TYPE_STRING, NULL, NULL},
    {"bytes", KINO_TYPE_BYTES, NULL, NULL},
    {0},
};

enum { T_DEVICES, T_SITES, T_SEGMENTS, T_GAPS };

static const kino_table_info tables[] = {
    [T_DEVICES] = {"memory_snapshot", "one row per rank and device", device_columns, NULL,
                   "not available: no memory snapshot"},
    [T_SITES] = {"memory_snapshot_sites", "one row per call stack that allocated active blocks",
                 kino__alloc_site_columns, NULL, NULL},
    [T_SEGMENTS] = {"memory_snapshot_segments", "one row per segment, largest first",
                    segment_columns, NULL, NULL},
    [T_GAPS] = {"memory_snapshot_gaps", "largest inactive blocks in segments with active ones",
                gap_columns, NULL, NULL},
    {0},
};

static int compare_size(int64_t x, int64_t y, int64_t x_address, int64_t y_address)
{
    if (x != y)
        return x > y ? -1 : 1;
    return x_address < y_address ? -1 : x_address > y_address;
}

static int compare_segments(const void *a, const void *b)
{
    const segment *x = a, *y = b;
    int by_owner = kino__alloc_owner_compare(&x->owner, &y->owner);
    return by_owner ? by_owner : compare_size(x->bytes, y->bytes, x->address, y->address);
}

static int compare_gaps(const void *a, const void *b)
{
    const gap *x = a, *y = b;
    int by_size = compare_size(x->bytes, y->bytes, x->address, y->address);
    return by_size ? by_size : kino__alloc_owner_compare(&x->owner, &y->owner);
}

static void add_address(kino__table *table, int64_t address)
{
    if (address == KINO_NO_INT)
        kino__table_add_null(table);
    else
        kino__table_add_format(table, "0x%llx", (unsigned long long)address);
}

static void show_device(kino__table *table, const segment *first, size_t count)
{
    int64_t reserved = 0, active = 0, requested = 0, pending = 0, unused = 0, fragmented = 0;
    int64_t largest = 0, blocks = 0;
    for (const segment *s = first; s < first + count; s++) {
        bool is_known = requested != KINO_NO_INT && s->requested != KINO_NO_INT;
        reserved = kino__sum(reserved, s->bytes == KINO_NO_INT ? 0 : s->bytes);
        active = kino__sum(active, s->active);
        requested = is_known ? kino__sum(requested, s->requested) : KINO_NO_INT;
        pending = kino__sum(pending, s->pending);
        if (s->active)
            fragmented = kino__sum(fragmented, s->inactive);
        else
            unused = kino__sum(unused, s->inactive);
        largest = s->largest_gap > largest ? s->largest_gap : largest;
        blocks = kino__sum(blocks, s->blocks);
    }
    kino__table_add_owner(table, &first->owner);
    KINO__TABLE_ADD(table, reserved, active, requested,
                    requested == KINO_NO_INT ? KINO_NO_INT : kino__sum(active, -requested), pending,
                    unused, fragmented,
                    reserved > 0 ? 100 * (double)fragmented / (double)reserved : (double)NAN,
                    largest, (int64_t)count, blocks);
}

static void show_segment(kino__table *table, const segment *s)
{
    kino__table_add_owner(table, &s->owner);
    add_address(table, s->address);
    if (s->type.size)
        kino__table_add_text(table, s->type);
    else
        kino__table_add_null(table);
    if (s->stream == 0)
        kino__table_add_text(table, KINO__STR("0"));
    else
        add_address(table, s->stream);
    KINO__TABLE_ADD(table, s->bytes, s->active, s->inactive, s->largest_gap, s->blocks);
}

static void show_segments(partial *p, kino_result *result)
{
    segment *all = p->segments.items;
    size_t count = p->segments.count;
    if (count)
        qsort(all, count, sizeof *all, compare_segments);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first;
             end < count && kino__alloc_owner_compare(&all[first].owner, &all[end].owner) == 0;)
            end++;
        show_device(kino__analysis_table(result, T_DEVICES), &all[first], end - first);
    }
    for (size_t i = 0; i < count; i++)
        show_segment(kino__analysis_table(result, T_SEGMENTS), &all[i]);
}

static void show_gaps(partial *p, int64_t most, kino__table *table)
{
    if (p->gaps.count)
        qsort(p->gaps.items, p->gaps.count, sizeof *p->gaps.items, compare_gaps);
    for (size_t i = 0; i < p->gaps.count && (int64_t)i < most; i++) {
        const gap *g = &p->gaps.items[i];
        kino__table_add_owner(table, &g->owner);
        add_address(table, g->segment);
        add_address(table, g->address);
        kino__table_add_int(table, g->bytes);
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    partial *p = value;
    show_segments(p, result);
    kino__alloc_sites_show(&p->sites, kino__analysis_table(result, T_SITES));
    show_gaps(p, kino__param_int(a, P_NUM_GAPS), kino__analysis_table(result, T_GAPS));
    if (p->segments.count == 0)
        kino__result_lacks(result, "segments",
                           ": no memory snapshot (torch.cuda.memory._dump_snapshot)");
    else if (p->sites.items.count && !kino__alloc_sites_any_stack(&p->sites))
        kino__result_lacks(result, "call sites",
                           ": blocks have no call stacks; call "
                           "torch.cuda.memory._record_memory_history() before allocating");
    if (p->homeless)
        kino__result_note(result, "%lld blocks whose segment is missing are not in its sums",
                          (long long)p->homeless);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_memory_snapshot = {
    .name = "memory-snapshot",
    .help = "what the allocator holds: by call site, by segment, and in gaps",
    .description =
        "From a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): bytes in\n"
        "segments and in active blocks, what rounding and fragmentation cost, which call\n"
        "stacks allocated the active blocks, and the largest gaps. Fragmented are\n"
        "inactive blocks of segments that also have active ones: such a segment cannot\n"
        "be given back.\n",
    .params = params,
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
