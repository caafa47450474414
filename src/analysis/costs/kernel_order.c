/* kernel_order.c - by default kernels are visited by their launches and shown by their starts; as
 * PyProf does it, both in the order of the file.
 *
 * Pieces of work are numbers here, and nothing but numbers is moved: a trace has millions of them,
 * and sorting happens while memory is most in use. They are in order within each stream already, or
 * nearly, so runs of rising times are merged. Cost: linear, times the logarithm of the number of
 * runs. */
#include "analysis/costs/kernel_order.h"

#include <stdlib.h>

/* PyProf lists kernels that have a launch, in the order of the file. */
static bool is_listed(const kino__kernel_walk *walk, const kino__work_item *item)
{
    return !walk->is_compat ||
           ((item->kind == KINO__WORK_KERNEL || item->kind == KINO__WORK_COLLECTIVE) &&
            item->launch != KINO_NO_ROW);
}

static int64_t shown_at(const kino__kernel_walk *walk, const kino__work_item *item)
{
    return walk->is_compat ? walk->work->trace->number[item->row]
                           : walk->work->trace->ts[item->row];
}

static int64_t visited_at(const kino__kernel_walk *walk, const kino__work_item *item)
{
    return walk->is_compat               ? walk->work->trace->number[item->row]
           : item->launch != KINO_NO_ROW ? walk->work->trace->ts[item->launch]
                                         : walk->work->trace->ts[item->row];
}

typedef int64_t (*item_time)(const kino__kernel_walk *walk, const kino__work_item *item);

/* Numbers that are being sorted by a time. */
typedef struct sorting {
    const kino__kernel_walk *walk;
    item_time time;
    uint32_t *from, *to; /* as many in each */
    size_t count;
} sorting;

static int64_t time_of(const sorting *s, size_t at)
{
    return s->time(s->walk, &s->walk->work->items.items[s->from[at]]);
}

/* Where the run of rising times that begins at `at` ends. */
static size_t run_end(const sorting *s, size_t at)
{
    if (at == s->count)
        return at;
    int64_t time = time_of(s, at);
    while (++at < s->count) {
        int64_t next = time_of(s, at);
        if (next < time)
            break;
        time = next;
    }
    return at;
}

/* Two runs that follow each other become one; of equal times that of the first goes first. */
static void merge_runs(const sorting *s, size_t first, size_t second, size_t end)
{
    size_t left = first, right = second, out = first;
    int64_t left_time = time_of(s, left), right_time = time_of(s, right);
    while (left < second && right < end) {
        if (left_time <= right_time) {
            s->to[out++] = s->from[left++];
            left_time = left < second ? time_of(s, left) : 0;
        } else {
            s->to[out++] = s->from[right++];
            right_time = right < end ? time_of(s, right) : 0;
        }
    }
    while (left < second)
        s->to[out++] = s->from[left++];
    while (right < end)
        s->to[out++] = s->from[right++];
}

/* Merges pairs of runs until there is one; it is in `from` then. */
static void merge_all(sorting *s)
{
    while (run_end(s, 0) < s->count) {
        for (size_t first = 0; first < s->count;) {
            size_t second = run_end(s, first), end = run_end(s, second);
            if (second == s->count)
                memcpy(&s->to[first], &s->from[first], (second - first) * sizeof *s->to);
            else
                merge_runs(s, first, second, end);
            first = end;
        }
        uint32_t *swap = s->from;
        s->from = s->to;
        s->to = swap;
    }
}

/* Numbers of the pieces that are listed, by a time, equal ones in their order; the caller frees.
 * NULL when memory is out. */
static uint32_t *sorted_new(const kino__kernel_walk *walk, item_time time, size_t *count)
{
    size_t items = walk->work->items.count;
    sorting s = {.walk = walk,
                 .time = time,
                 .from = malloc((items + 1) * sizeof *s.from),
                 .to = malloc((items + 1) * sizeof *s.to)};
    for (uint32_t i = 0; s.from && i < items; i++)
        if (is_listed(walk, &walk->work->items.items[i]))
            s.from[s.count++] = i;
    if (s.from && s.to) {
        merge_all(&s);
    } else {
        free(s.from);
        s.from = NULL;
    }
    free(s.to);
    *count = s.count;
    return s.from;
}

bool kino__kernel_order_init(kino__kernel_order *order, const kino__kernel_walk *walk)
{
    size_t items = walk->work->items.count;
    uint32_t *shown = sorted_new(walk, shown_at, &order->count);
    order->place = malloc((items + 1) * sizeof *order->place);
    bool ok = shown && order->place;
    for (size_t i = 0; ok && i < items; i++)
        order->place[i] = KINO_NO_ROW;
    for (uint32_t i = 0; ok && i < order->count; i++)
        order->place[shown[i]] = i;
    free(shown);
    order->visited = ok ? sorted_new(walk, visited_at, &order->count) : NULL;
    return order->visited != NULL;
}

void kino__kernel_order_deinit(kino__kernel_order *order)
{
    free(order->place);
    free(order->visited);
}

void kino__kernel_order_apply(kino__kernel_order *order, kino__kernel_slot *slots)
{
    uint32_t *const place = order->place;
    for (uint32_t i = 0; i < order->count; i++)
        while (place[i] != i) {
            uint32_t to = place[i];
            kino__kernel_slot swap = slots[to];
            slots[to] = slots[i];
            slots[i] = swap;
            place[i] = place[to];
            place[to] = to;
        }
}
