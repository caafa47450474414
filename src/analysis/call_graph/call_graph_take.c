/* call_graph_take.c - a graph of one's own becomes rows. Its arrays become the columns: rows that
 * are not told are pressed out in place, and what is needed no more is freed before the next is
 * made. */
#include "analysis/call_graph/call_graph_rows.h"
#include "analysis/device_work.h"
#include "base/large.h"

/* HTA lists rows outside of all trees too. Then order[at] is the number of the row, KINO_NO_ROW:
 * none. */
static uint32_t number_rows(kino__call_graph *g)
{
    bool is_hta = g->frame->mode != KINO__FRAME_DEFAULT;
    uint32_t count = 0;
    for (uint32_t at = 0; at < g->frame->count; at++)
        g->order[at] = is_hta || kino__call_graph_has(g, at) ? count++ : KINO_NO_ROW;
    return count;
}

static void press_parents(kino__call_graph *g, uint32_t *out)
{
    for (uint32_t at = 0; at < g->frame->count; at++) {
        int32_t parent = g->parent[at];
        if (g->order[at] != KINO_NO_ROW)
            out[g->order[at]] = parent == KINO__CALL_NONE  ? UINT32_MAX
                                : parent == KINO__CALL_TOP ? UINT32_MAX - 1 - g->lane[at]
                                                           : g->order[parent];
    }
}

static void press(const kino__call_graph *g, uint32_t *values)
{
    for (uint32_t at = 0; at < g->frame->count; at++)
        if (g->order[at] != KINO_NO_ROW)
            values[g->order[at]] = values[at];
}

/* Device work in a tree: nothing else has kernels and no height. */
static bool is_kernel(const kino__call_graph *g, uint32_t at)
{
    return g->height[at] == 0 && g->num_kernels[at];
}

static int64_t time_of(const kino__frame *f, int64_t units)
{
    return units == KINO_NO_TIME ? KINO_NO_TIME : kino__frame_ns(f, units);
}

/* Then lane[at] of a kernel is its number in the list, + 1. */
static bool list_kernels(kino__call_rows *rows, kino__call_graph *g)
{
    const kino__frame *f = g->frame;
    size_t count = 0;
    for (uint32_t at = 0; at < f->count; at++)
        count += is_kernel(g, at);
    rows->kernels.allocator = &kino__large_allocator;
    if (!kino__vec_reserve(&rows->kernels, count))
        return false;
    for (uint32_t at = 0; at < f->count; at++) {
        if (!is_kernel(g, at))
            continue;
        rows->kernels.items[rows->kernels.count++] = (kino__call_kernel){
            time_of(f, kino__frame_start(f, at)), time_of(f, kino__call_end(f, at))};
        g->lane[at] = (uint32_t)rows->kernels.count;
    }
    return true;
}

static void press_kernels(const kino__call_graph *g, uint32_t *values)
{
    for (uint32_t at = 0; at < g->frame->count; at++)
        if (g->order[at] != KINO_NO_ROW)
            values[g->order[at]] = values[at] ? g->lane[values[at] - 1] : 0;
}

static bool press_durations(kino__call_rows *rows, kino__call_graph *g, uint32_t *out)
{
    for (uint32_t at = 0; at < g->frame->count; at++) {
        if (g->order[at] == KINO_NO_ROW)
            continue;
        int64_t ns = kino__frame_ns(g->frame, g->kernel_dur[at]);
        bool is_wide = ns < 0 || ns >= UINT32_MAX;
        out[g->order[at]] = is_wide ? UINT32_MAX : (uint32_t)ns;
        kino__call_sum *slot = is_wide ? kino__vec_add(&rows->wide) : NULL;
        if (is_wide && !slot)
            return false;
        if (slot)
            *slot = (kino__call_sum){g->order[at], ns};
    }
    return true;
}

/* The number of a row's name in the rows' own pool; ids: by the trace's number, + 1. */
static kino_strid name_of(kino__call_rows *rows, const kino__frame *f, uint32_t at, kino_strid *ids)
{
    kino_strid id = f->trace->name[f->row[at]];
    size_t place = id == KINO_NO_STRING ? kino__string_pool_count(&f->trace->strings) : id;
    if (ids[place] == 0)
        ids[place] = kino__string_pool_add_borrowed(&rows->names, kino__frame_name(f, at)) + 1;
    return ids[place] - 1; /* KINO_NO_STRING + 1 is 0 */
}

/* Names and events; the numbers of rows end here: events take their place. */
static bool press_events(kino__call_rows *rows, kino__call_graph *g, uint32_t *names)
{
    const kino__frame *f = g->frame;
    kino_strid *ids = kino__large_new(kino__string_pool_count(&f->trace->strings) + 1, sizeof *ids);
    bool ok = ids != NULL;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        uint32_t row = g->order[at];
        if (row == KINO_NO_ROW)
            continue;
        names[row] = name_of(rows, f, at, ids);
        ok = names[row] != KINO_NO_STRING;
        g->order[row] = f->trace->number[f->row[at]];
    }
    kino__large_free(ids);
    return ok;
}

static void take_column(kino__call_rows *rows, size_t column, uint32_t **items, size_t count,
                        size_t capacity)
{
    kino__call_column *out = &rows->columns[column];
    out->items = *items;
    out->count = count;
    out->capacity = capacity;
    out->allocator = &kino__large_allocator;
    *items = NULL;
}

static bool add_part(kino__call_rows *rows, const kino__call_graph *g)
{
    const kino__trace *trace = g->frame->trace;
    kino__call_part *part = kino__vec_add(&rows->parts);
    if (!part || !kino__vec_reserve(&rows->roots, g->lanes.count))
        return false;
    *part = (kino__call_part){.rank = trace->rank, .event_base = (int64_t)trace->index << 32};
    for (size_t i = 0; i < g->lanes.count; i++)
        rows->roots.items[rows->roots.count++] = g->lanes.items[i].root;
    return true;
}

bool kino__call_rows_take(kino__call_rows *rows, kino__call_graph *g)
{
    size_t room = (size_t)g->frame->count + 1;
    uint32_t count = number_rows(g);
    uint32_t *pressed = (uint32_t *)g->parent;
    press_parents(g, pressed);
    g->parent = NULL;
    take_column(rows, KINO__CALL_ROW_PARENT, &pressed, count, room);
    if (!add_part(rows, g) || !list_kernels(rows, g))
        return false;
    press_kernels(g, g->first_kernel);
    press_kernels(g, g->last_kernel);
    press(g, g->depth);
    press(g, g->height);
    press(g, g->num_kernels);
    take_column(rows, KINO__CALL_ROW_FIRST, &g->first_kernel, count, room);
    take_column(rows, KINO__CALL_ROW_LAST, &g->last_kernel, count, room);
    take_column(rows, KINO__CALL_ROW_DEPTH, &g->depth, count, room);
    take_column(rows, KINO__CALL_ROW_HEIGHT, &g->height, count, room);
    take_column(rows, KINO__CALL_ROW_KERNELS, &g->num_kernels, count, room);
    /* The numbers of the kernels are needed no more: their array holds the sums. */
    bool ok = press_durations(rows, g, g->lane);
    take_column(rows, KINO__CALL_ROW_DURATION, &g->lane, count, room);
    kino__large_free(g->kernel_dur);
    g->kernel_dur = NULL;
    uint32_t *names = ok ? kino__large_new(room, sizeof *names) : NULL;
    if (!names)
        return false;
    ok = press_events(rows, g, names);
    take_column(rows, KINO__CALL_ROW_NAME, &names, count, room);
    take_column(rows, KINO__CALL_ROW_EVENT, &g->order, count, room);
    return ok;
}
