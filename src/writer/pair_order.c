/* pair_order.c - B and E events in an order in which a reader makes the same spans of them.
 *
 * A span of a pair is written as its B with its E right behind, and a reader sorts by time and
 * pairs by nesting. At one moment of a track, the order then decides: first the E events that end
 * nothing, then the B events that never end, then the spans, longer ones first. The places that
 * such events have in the file stay the same, and so do all other events. */
#include "writer/pair_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

static bool is_half_or_pair(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'B' || trace->phase[row] == 'E' ||
           trace->flags[row] & KINO__FLAG_PAIR;
}

static bool has_halves(const kino__trace *trace)
{
    return trace->pair_count ||
           (trace->event_count && (memchr(trace->phase, 'B', trace->event_count) ||
                                   memchr(trace->phase, 'E', trace->event_count)));
}

typedef struct pair_order {
    const kino__trace *trace;
    uint32_t *places; /* of each row, in the order of the file */
    uint32_t *rows, *sorted;
    size_t count;
} pair_order;

/* Rows of one moment: E, then B, then pairs, which are in order already. */
static void add_moment(pair_order *p, uint32_t first, uint32_t end)
{
    static const uint8_t phases[] = {'E', 'B', 'X'};
    for (size_t i = 0; i < sizeof phases; i++)
        for (uint32_t row = first; row < end; row++)
            if (p->trace->phase[row] == phases[i] && is_half_or_pair(p->trace, row))
                p->rows[p->count++] = row;
}

static void order_track(pair_order *p, const kino__track *track, uint32_t *order)
{
    const int64_t *ts = p->trace->ts;
    uint32_t end = track->first + track->count;
    p->count = 0;
    for (uint32_t row = track->first, next; row < end; row = next) {
        for (next = row + 1; next < end && ts[next] == ts[row];)
            next++;
        add_moment(p, row, next);
    }
    for (size_t i = 0; i < p->count; i++)
        p->sorted[i] = p->places[p->rows[i]];
    if (p->count)
        qsort(p->sorted, p->count, sizeof *p->sorted, kino__compare_uint32s);
    for (size_t i = 0; i < p->count; i++)
        order[p->sorted[i]] = p->rows[i];
}

bool kino__pair_order_apply(const kino__trace *trace, uint32_t *order)
{
    if (!has_halves(trace))
        return true;
    size_t room = (size_t)trace->event_count * sizeof(uint32_t);
    pair_order p = {trace, malloc(room), malloc(room), malloc(room), 0};
    bool ok = p.places && p.rows && p.sorted;
    for (uint32_t place = 0; ok && place < trace->event_count; place++)
        p.places[order[place]] = place;
    for (size_t i = 0; ok && i < trace->tracks.count; i++)
        order_track(&p, &trace->tracks.items[i], order);
    free(p.places);
    free(p.rows);
    free(p.sorted);
    return ok;
}
