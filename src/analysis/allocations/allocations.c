/* allocations.c - see the header. */
#include "analysis/allocations/allocations.h"

#include <stdlib.h>

#include "store/args.h"
#include "store/device_type.h"

typedef struct columns {
    const kino__trace *trace;
    const int64_t *type, *id, *bytes, *address, *total, *stack, *requested, *segment, *stream;
    const kino_strid *state, *kind;
    const kino__string_pool *states, *kinds;
} columns;

void kino__allocations_deinit(kino__allocations *all)
{
    kino__vec_deinit(&all->history);
    kino__vec_deinit(&all->blocks);
    kino__vec_deinit(&all->segments);
    kino__vec_deinit(&all->devices);
    kino__map_deinit(&all->device_of_hash);
}

uint64_t kino__allocation_key(uint32_t device, int64_t address)
{
    return kino__hash_u64((uint64_t)address) ^ kino__hash_u64((uint64_t)device + 1);
}

/* -- columns -- */

static bool take_history_columns(columns *c)
{
    enum { TYPE, ID, BYTES, ADDRESS, TOTAL, STACK, KEYS };
    static const char *const keys[KEYS] = {"Device Type", "Device Id",       "Bytes",
                                           "Addr",        "Total Allocated", KINO__STACK_ARG};
    const int64_t *found[KEYS];
    if (!kino__args_prepare(c->trace, keys, KEYS))
        return false;
    for (int k = 0; k < KEYS; k++)
        if (!(found[k] = kino__args_int_column(c->trace, keys[k])))
            return false;
    c->type = found[TYPE];
    c->id = found[ID];
    c->bytes = found[BYTES];
    c->address = found[ADDRESS];
    c->total = found[TOTAL];
    c->stack = found[STACK];
    return true;
}

static bool take_held_columns(columns *c)
{
    c->requested = kino__args_int_column(c->trace, "Requested");
    c->segment = kino__args_int_column(c->trace, "Segment");
    c->stream = kino__args_int_column(c->trace, "Stream");
    c->state = kino__args_string_column(c->trace, "State", &c->states);
    c->kind = kino__args_string_column(c->trace, "Segment type", &c->kinds);
    return c->requested && c->segment && c->stream && c->state && c->kind;
}

/* -- devices -- */

/* The host's id differs from version to version and means nothing; CUDA and HIP are one. */
static bool find_device(kino__allocations *all, const columns *c, uint32_t row, uint32_t *out)
{
    kino__alloc_device d = {c->type[row], c->id[row]};
    if (d.type == KINO__DEVICE_TYPE_CPU)
        d.id = 0;
    if (d.type == KINO__DEVICE_TYPE_HIP)
        d.type = KINO__DEVICE_TYPE_CUDA;
    for (uint64_t key = kino__hash_u64((uint64_t)d.type * 31 + (uint64_t)d.id);; key++) {
        uint32_t *slot = kino__map_put(&all->device_of_hash, key, UINT32_MAX);
        if (!slot)
            return false;
        if (*slot == UINT32_MAX) {
            kino__alloc_device *fresh = kino__vec_add(&all->devices);
            if (!fresh)
                return false;
            *fresh = d;
            *slot = (uint32_t)all->devices.count - 1;
        }
        const kino__alloc_device *known = &all->devices.items[ *out = *slot];
        if (known->type == d.type && known->id == d.id)
            return true;
    }
}

/* -- events -- */

static uint32_t stack_of(const kino__allocations *all, const columns *c, uint32_t row)
{
    return kino__stack_table_node(all->stacks, c->stack[row]);
}

static bool add_allocation(kino__allocations *all, const columns *c, uint32_t row, bool is_request)
{
    uint32_t device;
    if (c->trace->ts[row] == KINO_NO_TIME || c->bytes[row] == KINO_NO_INT ||
        (c->bytes[row] == 0 && !is_request))
        return true;
    kino__allocation *a = find_device(all, c, row, &device) ? kino__vec_add(&all->history) : NULL;
    if (!a)
        return false;
    *a = (kino__allocation){.ts = c->trace->ts[row],
                            .address = c->address[row],
                            .bytes = is_request ? 0 : c->bytes[row],
                            .total = is_request ? KINO_NO_INT : c->total[row],
                            .row = row,
                            .device = device,
                            .stack = stack_of(all, c, row)};
    return true;
}

static bool add_segment(kino__allocations *all, const columns *c, uint32_t row)
{
    uint32_t device;
    kino__held_segment *s =
        find_device(all, c, row, &device) ? kino__vec_add(&all->segments) : NULL;
    if (!s)
        return false;
    *s = (kino__held_segment){.address = c->address[row],
                              .bytes = c->bytes[row],
                              .stream = c->stream[row],
                              .row = row,
                              .device = device,
                              .type = kino__string_pool_text(c->kinds, c->kind[row])};
    return true;
}

static bool add_block(kino__allocations *all, const columns *c, uint32_t row)
{
    uint32_t device;
    kino__held_block *b = find_device(all, c, row, &device) ? kino__vec_add(&all->blocks) : NULL;
    kino_str state = kino__string_pool_text(c->states, c->state[row]);
    if (!b)
        return false;
    bool is_active = kino__str_starts_with(state, KINO__STR("active"));
    *b = (kino__held_block){.address = c->address[row],
                            .segment = c->segment[row],
                            .bytes = c->bytes[row],
                            .requested = c->requested[row],
                            .row = row,
                            .device = device,
                            .stack = stack_of(all, c, row),
                            .is_active = is_active,
                            .is_pending = is_active && !kino__str_is(state, "active_allocated")};
    return true;
}

static int compare(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    const kino__allocation *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    uint32_t x_number = trace->number[x->row], y_number = trace->number[y->row];
    return x_number < y_number ? -1 : x_number > y_number;
}

/* A snapshot's history is in order; a trace has it thread by thread. */
static void sort_history(kino__allocations *all, const kino__trace *trace)
{
    void *context = (void *)(uintptr_t)trace;
    bool is_sorted = true;
    for (size_t i = 1; i < all->history.count && is_sorted; i++)
        is_sorted = compare(&all->history.items[i - 1], &all->history.items[i], context) < 0;
    if (!is_sorted)
        qsort_r(all->history.items, all->history.count, sizeof *all->history.items, compare,
                context);
}

/* The trace's number of the reader's category; KINO__CATEGORY_NONE: it is no snapshot. */
static uint16_t snapshot_category(const kino__trace *trace)
{
    for (size_t i = 0; i < trace->own_categories.count; i++)
        if (kino__str_is(kino__trace_string(trace, trace->own_categories.items[i]),
                         "memory_snapshot"))
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    return KINO__CATEGORY_NONE;
}

static kino_strid find_name(const kino__trace *trace, const char *name)
{
    return kino__string_pool_find(&trace->strings, kino__str_from(name));
}

static bool collect(kino__allocations *all, const columns *c, uint16_t category)
{
    const kino__trace *trace = c->trace;
    kino_strid memory = find_name(trace, "[memory]"), request = find_name(trace, "free_requested");
    kino_strid segment = find_name(trace, "segment"), block = find_name(trace, "block");
    bool is_snapshot = category != KINO__CATEGORY_NONE, ok = true;
    for (uint32_t row = 0; row < trace->event_count && ok; row++) {
        kino_strid name = trace->name[row];
        bool is_own = is_snapshot && trace->category[row] == category;
        if (name == KINO_NO_STRING)
            continue;
        if (name == memory)
            ok = add_allocation(all, c, row, false);
        else if (is_own && name == request)
            ok = add_allocation(all, c, row, true);
        else if (is_own && name == segment)
            ok = add_segment(all, c, row);
        else if (is_own && name == block)
            ok = add_block(all, c, row);
    }
    return ok;
}

bool kino__allocations_init(kino__allocations *all, const kino__trace *trace)
{
    columns c = {.trace = trace};
    uint16_t category = snapshot_category(trace);
    *all = (kino__allocations){.stacks = kino__stack_table_of(trace)};
    kino__map_init(&all->device_of_hash, NULL);
    if (category == KINO__CATEGORY_NONE && find_name(trace, "[memory]") == KINO_NO_STRING)
        return true;
    bool ok = all->stacks && take_history_columns(&c) &&
              (category == KINO__CATEGORY_NONE || take_held_columns(&c)) &&
              collect(all, &c, category);
    if (ok)
        sort_history(all, trace);
    return ok;
}
