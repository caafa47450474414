/* ring_clock.c - lines between anchors. See ring_clock.h. */
#include "wire/ring_clock.h"

#include "base/search.h"

enum { SHORTEST_NS = 1000000 }; /* between anchors that make a line */

static const uint64_t one_ns_per_tick = (uint64_t)1 << KINO__RING_RATE_BITS;

static uint64_t rate_of(const kino__ring_anchor *a, const kino__ring_anchor *b)
{
    unsigned __int128 ns = (unsigned __int128)(uint64_t)(b->raw_ns - a->raw_ns)
                           << KINO__RING_RATE_BITS;
    unsigned __int128 rate = ns / (b->ticks - a->ticks);
    return rate > UINT64_MAX >> 8 ? one_ns_per_tick : (uint64_t)rate;
}

static bool is_behind(const kino__ring_anchor *a, const kino__ring_anchor *b)
{
    return b->ticks > a->ticks && b->raw_ns > a->raw_ns && a->raw_ns >= 0;
}

static bool add_line(kino__ring_clock *clock, const kino__ring_anchor *a, uint64_t rate)
{
    kino__ring_line *line = kino__vec_add(&clock->lines);
    if (line)
        *line = (kino__ring_line){a->ticks, a->raw_ns, rate};
    return line != NULL;
}

/* The next anchor far enough behind `from`, or `count`. */
static size_t next_anchor(const kino__ring_anchor *anchors, size_t count, size_t from)
{
    size_t i = from + 1;
    while (i < count && !(is_behind(&anchors[from], &anchors[i]) &&
                          anchors[i].raw_ns - anchors[from].raw_ns >= SHORTEST_NS))
        i++;
    return i;
}

bool kino__ring_clock_init(kino__ring_clock *clock, uint32_t kind, const kino__ring_anchor *anchors,
                           size_t count)
{
    *clock = (kino__ring_clock){0};
    const kino__ring_anchor zero = {0};
    const kino__ring_anchor *first = count ? &anchors[0] : &zero;
    clock->real_minus_raw = (int64_t)((uint64_t)first->real_ns - (uint64_t)first->raw_ns);
    size_t at = 0;
    for (size_t next; kind == KINO__RING_CLOCK_TSC && at < count; at = next) {
        next = next_anchor(anchors, count, at);
        if (next == count)
            break;
        if (!add_line(clock, &anchors[at], rate_of(&anchors[at], &anchors[next])))
            return false;
    }
    return clock->lines.count > 0 || add_line(clock, first, one_ns_per_tick);
}

void kino__ring_clock_deinit(kino__ring_clock *clock)
{
    kino__vec_deinit(&clock->lines);
}

static size_t line_of(const kino__ring_clock *clock, uint64_t ticks)
{
    /* the last line that begins at or before */
    return KINO__SEARCH_LAST(size_t, i, 0, clock->lines.count,
                             clock->lines.items[i].ticks <= ticks);
}

int64_t kino__ring_clock_raw(const kino__ring_clock *clock, uint64_t ticks, size_t *hint)
{
    size_t i = *hint, count = clock->lines.count;
    bool is_good = i < count && (i == 0 || clock->lines.items[i].ticks <= ticks) &&
                   (i + 1 == count || ticks < clock->lines.items[i + 1].ticks);
    if (!is_good)
        *hint = i = line_of(clock, ticks);
    const kino__ring_line *line = &clock->lines.items[i];
    if (ticks >= line->ticks) {
        unsigned __int128 ns = (unsigned __int128)(ticks - line->ticks) * line->rate;
        return (int64_t)((uint64_t)line->raw_ns + (uint64_t)(ns >> KINO__RING_RATE_BITS));
    }
    unsigned __int128 ns = (unsigned __int128)(line->ticks - ticks) * line->rate;
    return (int64_t)((uint64_t)line->raw_ns - (uint64_t)(ns >> KINO__RING_RATE_BITS));
}
