/* allocation_sites.c - see the header. */
#include "analysis/allocations/allocation_sites.h"

#include <stdlib.h>

#include "names/python_frame.h"
#include "store/device_type.h"

void kino__alloc_sites_deinit(kino__alloc_sites *sites)
{
    kino__string_pool_deinit(&sites->texts);
    kino__vec_deinit(&sites->items);
}

/* -- owners -- */

kino__alloc_owner kino__alloc_owner_of(const kino__allocations *all, const kino__trace *trace,
                                       uint32_t device)
{
    const kino__alloc_device *d = &all->devices.items[device];
    return (kino__alloc_owner){trace->rank, d->type, d->id};
}

int kino__alloc_owner_compare(const kino__alloc_owner *x, const kino__alloc_owner *y)
{
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->type != y->type)
        return x->type > y->type ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

void kino__alloc_owner_pack(kino__pack *pack, kino__alloc_owner *owner)
{
    KINO__PACK(pack, &owner->rank, &owner->type, &owner->device);
}

void kino__table_add_owner(kino__table *table, const kino__alloc_owner *owner)
{
    char name[32];
    kino__device_type_name(owner->type, owner->device, name, sizeof name);
    kino__table_add_int(table, owner->rank);
    if (owner->type == KINO_NO_INT)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__str_from(name));
}

/* -- texts of stacks -- */

static bool has_file(kino_str frame)
{
    return kino__str_contains(frame, KINO__STR("): "));
}

void kino__site_text(const kino__stack_table *stacks, uint32_t stack, kino__buffer *out)
{
    enum { MOST_FRAMES = 4096 }; /* of stacks without end, the innermost */
    uint32_t found = stack;
    bool has_found_file = false;
    out->size = 0;
    int depth = 0;
    for (uint32_t node = stack; node && depth < MOST_FRAMES;
         node = kino__stack_table_caller(stacks, node), depth++) {
        kino_str frame = kino__stack_table_frame(stacks, node);
        if (kino__name_is_user_frame(frame)) {
            found = node;
            break;
        }
        if (!has_found_file && has_file(frame)) {
            found = node;
            has_found_file = true;
        }
    }
    kino__buffer_add(out, kino__stack_table_frame(stacks, found));
}

/* Deeper stacks, and those of very long names, keep their innermost frames. */
enum { STACK_DEPTH = 256, STACK_BYTES = 1 << 20 };

/* "main;step;forward", as in collapsed stacks. */
static void stack_text(const kino__stack_table *stacks, uint32_t stack, kino__buffer *out)
{
    uint32_t path[STACK_DEPTH];
    size_t depth = 0, bytes = 0;
    out->size = 0;
    for (uint32_t node = stack; node && depth < STACK_DEPTH && bytes < STACK_BYTES;
         node = kino__stack_table_caller(stacks, node)) {
        path[depth++] = node;
        bytes += kino__stack_table_frame(stacks, node).size;
    }
    while (depth-- > 0) {
        if (out->size)
            kino__buffer_add(out, KINO__STR(";"));
        kino__buffer_add(out, kino__stack_table_frame(stacks, path[depth]));
    }
}

/* -- in map -- */

void kino__site_adder_init(kino__site_adder *adder, kino__alloc_sites *sites,
                           const kino__allocations *all, const kino__trace *trace)
{
    *adder = (kino__site_adder){.sites = sites, .all = all, .trace = trace};
    kino__map_init(&adder->of_stack, NULL);
}

void kino__site_adder_deinit(kino__site_adder *adder)
{
    kino__map_deinit(&adder->of_stack);
}

static kino_strid add_text(kino__alloc_sites *sites, const kino__buffer *text)
{
    return text->failed ? KINO_NO_STRING
                        : kino__string_pool_add(&sites->texts, kino__buffer_str(text));
}

static bool add_site(kino__site_adder *adder, uint32_t device, uint32_t stack)
{
    kino__alloc_site site = {.owner = kino__alloc_owner_of(adder->all, adder->trace, device),
                             .site = KINO_NO_STRING,
                             .stack = KINO_NO_STRING,
                             .first_ts = KINO_NO_TIME};
    if (stack) {
        kino__buffer text = {0};
        kino__site_text(adder->all->stacks, stack, &text);
        site.site = add_text(adder->sites, &text);
        stack_text(adder->all->stacks, stack, &text);
        site.stack = add_text(adder->sites, &text);
        kino__buffer_deinit(&text);
        if (site.site == KINO_NO_STRING || site.stack == KINO_NO_STRING)
            return false;
    }
    kino__alloc_site *slot = kino__vec_add(&adder->sites->items);
    if (slot)
        *slot = site;
    return slot != NULL;
}

bool kino__site_add(kino__site_adder *adder, uint32_t device, uint32_t stack, int64_t bytes,
                    int64_t ts)
{
    uint32_t *slot = kino__map_put(&adder->of_stack, (uint64_t)device << 32 | stack, UINT32_MAX);
    if (!slot || (*slot == UINT32_MAX && !add_site(adder, device, stack)))
        return false;
    if (*slot == UINT32_MAX)
        *slot = (uint32_t)adder->sites->items.count - 1;
    kino__alloc_site *site = &adder->sites->items.items[*slot];
    site->blocks++;
    site->bytes = kino__sum(site->bytes, bytes);
    if (ts != KINO_NO_TIME && (site->first_ts == KINO_NO_TIME || ts < site->first_ts))
        site->first_ts = ts;
    return true;
}

/* -- merge, pack, finish -- */

static bool move_text(kino__alloc_sites *into, const kino__alloc_sites *from, uint32_t *text)
{
    if (*text == KINO_NO_STRING)
        return true;
    *text = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, *text));
    return *text != KINO_NO_STRING;
}

bool kino__alloc_sites_merge(kino__alloc_sites *into, const kino__alloc_sites *from)
{
    for (size_t i = 0; i < from->items.count; i++) {
        kino__alloc_site *site = kino__vec_add(&into->items);
        if (!site)
            return false;
        *site = from->items.items[i];
        if (!move_text(into, from, &site->site) || !move_text(into, from, &site->stack))
            return false;
    }
    return true;
}

static void pack_site(kino__pack *pack, kino__alloc_site *site)
{
    kino__alloc_owner_pack(pack, &site->owner);
    KINO__PACK(pack, &site->site, &site->stack, &site->blocks, &site->bytes);
    KINO__PACK_TIMES(pack, &site->first_ts);
}

void kino__alloc_sites_pack(kino__pack *pack, kino__alloc_sites *sites)
{
    kino__pack_pool(pack, &sites->texts);
    KINO__PACK_VEC(pack, &sites->items, pack_site);
}

const kino_column kino__alloc_site_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"site", KINO_TYPE_STRING, NULL, "innermost frame that is not the framework's"},
    {"blocks", KINO_TYPE_INT, "count", NULL},
    {"bytes", KINO_TYPE_BYTES, NULL, NULL},
    {"percent", KINO_TYPE_PERCENT, NULL, "share of the device's bytes in this table"},
    {"first", KINO_TYPE_TIME, NULL, "when the first of them was allocated"},
    {"stack", KINO_TYPE_STRING, NULL, "all frames, outermost first, with ';' between"},
    {0},
};

enum { COLUMN_STACK = 7 };

typedef struct order {
    const kino__alloc_sites *sites;
} order;

static int compare_sites(const void *a, const void *b, void *context)
{
    const order *o = context;
    const kino__alloc_site *x = a, *y = b;
    int by_owner = kino__alloc_owner_compare(&x->owner, &y->owner);
    if (by_owner)
        return by_owner;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    int by_text = kino__str_compare(kino__string_pool_text(&o->sites->texts, x->stack),
                                    kino__string_pool_text(&o->sites->texts, y->stack));
    return by_text ? by_text : (x->blocks > y->blocks) - (x->blocks < y->blocks);
}

static int64_t device_bytes(const kino__alloc_sites *sites, size_t first)
{
    int64_t sum = 0;
    const kino__alloc_site *items = sites->items.items;
    for (size_t i = first; i < sites->items.count &&
                           kino__alloc_owner_compare(&items[first].owner, &items[i].owner) == 0;
         i++)
        sum = kino__sum(sum, items[i].bytes);
    return sum;
}

static void add_text_cell(const kino__alloc_sites *sites, uint32_t text, kino__table *table)
{
    if (text == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&sites->texts, text));
}

void kino__alloc_sites_show(kino__alloc_sites *sites, kino__table *table)
{
    order o = {sites};
    int64_t total = 0;
    if (sites->items.count)
        qsort_r(sites->items.items, sites->items.count, sizeof *sites->items.items, compare_sites,
                &o);
    for (size_t i = 0; i < sites->items.count; i++) {
        const kino__alloc_site *s = &sites->items.items[i];
        if (i == 0 || kino__alloc_owner_compare(&s->owner, &s[-1].owner) != 0)
            total = device_bytes(sites, i);
        kino__table_add_owner(table, &s->owner);
        add_text_cell(sites, s->site, table);
        KINO__TABLE_ADD(table, s->blocks, s->bytes,
                        total > 0 ? 100 * (double)s->bytes / (double)total : (double)NAN,
                        s->first_ts);
        add_text_cell(sites, s->stack, table);
    }
    if (table)
        table->hidden |= UINT64_C(1) << COLUMN_STACK;
}

bool kino__alloc_sites_any_stack(const kino__alloc_sites *sites)
{
    for (size_t i = 0; i < sites->items.count; i++)
        if (sites->items.items[i].stack != KINO_NO_STRING)
            return true;
    return false;
}
