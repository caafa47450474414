/* link_steps.c - the step each event belongs to.
 *
 * What a step is says find_steps.c. An event belongs to the step that starts last among those that
 * contain its start: the start of its launching call for device work whose call is known, its own
 * start for everything else. Device work whose call is not known and that starts before the first
 * kernel of the first step was launched before the recording began: it belongs to no step. Steps
 * that overlap (several threads or processes) are cut into pieces of time with one step each:
 *
 *   steps     |--- 1 ---------------|
 *                   |--- 2 ---|          |-- 3 --|
 *   pieces    1     2         1     none 3       none
 *
 * Cost: one test per distinct name, a sort of the steps, one pass with a search where a row enters
 * another piece. */
#include <stdlib.h>

#include "base/search.h"
#include "store/link_internal.h"

/* Opens a piece; one that would have no length is replaced. */
static bool cut(kino__step_map *w, int64_t start, uint32_t step)
{
    kino__step_piece *last = w->pieces.count ? &w->pieces.items[w->pieces.count - 1] : NULL;
    if (!last || last->start != start)
        last = kino__vec_add(&w->pieces);
    if (!last)
        return false;
    *last = (kino__step_piece){start, step};
    return true;
}

static int64_t end_of(const kino__step *step)
{
    return step->ts + step->dur;
}

/* Closes the steps that have ended by `until`. */
static bool close_steps(kino__step_map *w, uint32_t *stack, size_t *open, int64_t until)
{
    const kino__step *steps = w->steps.items;
    while (*open && end_of(&steps[stack[*open - 1]]) <= until) {
        int64_t end = end_of(&steps[stack[*open - 1]]);
        while (*open && end_of(&steps[stack[*open - 1]]) <= end)
            --*open;
        if (!cut(w, end, *open ? stack[*open - 1] : KINO_NO_ROW))
            return false;
    }
    return true;
}

static bool cut_pieces(kino__step_map *w)
{
    uint32_t *stack = malloc((w->steps.count + 1) * sizeof *stack);
    size_t open = 0;
    bool ok = stack != NULL;
    for (uint32_t i = 0; ok && i < w->steps.count; i++) {
        const kino__step *step = &w->steps.items[i];
        ok = close_steps(w, stack, &open, step->ts);
        stack[open++] = i; /* one without length is closed, and its piece replaced, at once */
        ok = ok && cut(w, step->ts, i);
    }
    ok = ok && close_steps(w, stack, &open, INT64_MAX);
    free(stack);
    return ok;
}

/* The piece that holds `ts`: SIZE_MAX before the first. `hint` is the answer for an earlier time,
 * or SIZE_MAX. */
static size_t find_piece(const kino__step_map *w, int64_t ts, size_t hint)
{
    size_t low = hint == SIZE_MAX ? 0 : hint, high = w->pieces.count;
    const kino__step_piece *pieces = w->pieces.items;
    if (low < high && pieces[low].start <= ts && (low + 1 == high || ts < pieces[low + 1].start))
        return low;
    if (low < high && ts < pieces[low].start)
        low = 0;
    /* the first piece that starts after ts */
    low = KINO__SEARCH(size_t, i, low, high, pieces[i].start <= ts);
    return low - 1; /* SIZE_MAX when there is none before */
}

/* Launched before the recording began? */
static bool is_early(const kino__step_map *map, const kino__trace *trace, const uint32_t *launch,
                     uint32_t row)
{
    return trace->ts[row] < map->recorded_from && launch[row] == KINO_NO_ROW &&
           kino__link_kind_bit(trace, row) & KINO__LINK_KINDS_DEVICE;
}

uint32_t kino__step_map_find(const kino__step_map *map, const kino__trace *trace,
                             const uint32_t *launch, uint32_t row, size_t *hint)
{
    uint32_t source = row;
    if (launch[row] != KINO_NO_ROW && kino__link_kind_bit(trace, row) & KINO__LINK_KINDS_DEVICE)
        source = launch[row];
    if (trace->ts[source] == KINO_NO_TIME || map->pieces.count == 0 ||
        is_early(map, trace, launch, row))
        return KINO_NO_ROW;
    *hint = find_piece(map, trace->ts[source], *hint);
    return *hint == SIZE_MAX ? KINO_NO_ROW : map->pieces.items[*hint].step;
}

static bool is_launched_kernel(const kino__trace *trace, const uint32_t *launch, uint32_t row)
{
    return launch[row] != KINO_NO_ROW && trace->ts[row] != KINO_NO_TIME &&
           kino__link_kind_bit(trace, row) & KINO__KIND_BIT(KINO__KIND_KERNEL);
}

/* The first kernel that the first step launched, KINO_NO_ROW: none. */
static uint32_t find_first_kernel(const kino__step_map *map, const kino__trace *trace,
                                  const uint32_t *launch)
{
    uint32_t first = KINO_NO_ROW;
    size_t hint = SIZE_MAX;
    for (size_t t = 0; map->steps.count && t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        if (!(track->kinds & KINO__KIND_BIT(KINO__KIND_KERNEL)))
            continue;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (!is_launched_kernel(trace, launch, row) ||
                kino__step_map_find(map, trace, launch, row, &hint) != 0)
                continue;
            if (first == KINO_NO_ROW || trace->ts[row] < trace->ts[first])
                first = row;
            break; /* rows of a track come by start */
        }
    }
    return first;
}

static kino__steps *emit(const kino__step_map *w, const kino__trace *trace, size_t *size)
{
    const uint32_t *launch = kino__link_launch(trace);
    size_t steps_size = w->steps.count * sizeof(kino__step), at = SIZE_MAX;
    kino__steps *steps = NULL;
    if (launch)
        steps = kino__link_block(trace, sizeof *steps + steps_size, trace->event_count,
                                 sizeof(uint32_t), size);
    if (!steps)
        return NULL;
    kino__step *items = (kino__step *)(steps + 1);
    uint32_t *of_row = (uint32_t *)(items + w->steps.count);
    if (w->steps.count)
        memcpy(items, w->steps.items, steps_size);
    for (uint32_t row = 0; row < trace->event_count; row++)
        of_row[row] = kino__step_map_find(w, trace, launch, row, &at);
    *steps = (kino__steps){items, w->steps.count, of_row};
    return steps;
}

bool kino__step_map_init(kino__step_map *map, const kino__trace *trace)
{
    *map = (kino__step_map){0};
    map->steps.allocator = map->pieces.allocator = trace->arena.allocator;
    map->first_kernel = KINO_NO_ROW;
    map->recorded_from = INT64_MIN;
    const uint32_t *launch = kino__link_launch(trace);
    if (!launch || !kino__trace_find_steps(trace, &map->steps) || !cut_pieces(map))
        return false;
    map->first_kernel = find_first_kernel(map, trace, launch);
    if (map->first_kernel != KINO_NO_ROW)
        map->recorded_from = trace->ts[map->first_kernel];
    return true;
}

void kino__step_map_deinit(kino__step_map *map)
{
    kino__vec_deinit(&map->pieces);
    kino__vec_deinit(&map->steps);
}

static void *make_steps(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    (void)scratch;
    kino__step_map map;
    kino__steps *steps = kino__step_map_init(&map, trace) ? emit(&map, trace, size) : NULL;
    kino__step_map_deinit(&map);
    return steps;
}

const kino__steps *kino__link_steps(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_STEPS, make_steps);
}
