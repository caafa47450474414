/* link_nesting.c - which span stands in which: parents, depths and lanes of every track.
 *
 * For everything that shows or adds up call trees. The parent of a span is, of the spans before it
 * in its track that contain it wholly, the one that starts last. A stack of open spans, ends
 * falling towards its top, finds it:
 *
 *   new span [s, e):   pop what has ended by s    it contains nothing that starts now
 *                      pop what ends before e     what it still could contain, the new span
 *                                                 contains too, and starts later
 *                      the top is the parent; push
 *
 * So every element's parent is the one below it, the position in the stack is the depth, and each
 * span is pushed and popped once. Spans of one depth may overlap; each gets the smallest lane that
 * is free at its start. Lane 0 is kept per depth; the others, needed only where spans overlap, in a
 * tree of minima that finds the leftmost free leaf. Cost: linear, plus the logarithm of the number
 * of lanes for spans that overlap. */
#include "store/link_internal.h"

enum { LANE_LAST = UINT16_MAX, TREE_LIMIT = 1 << 16 };

/* When lanes 1, 2, ... of a depth become free: leaf i of a full tree of minima is lane i + 1. */
typedef struct lanes {
    int64_t *tree;   /* 2 * capacity entries, the root at 1; NULL until needed */
    size_t capacity; /* a power of two, at most TREE_LIMIT */
} lanes;

/* One depth of the track at hand. */
typedef struct level {
    uint32_t row;    /* the open span: the stack */
    int64_t end;     /* its end */
    int64_t lane0;   /* when lane 0 becomes free */
    int64_t latest;  /* when all lanes are free */
    bool is_counted; /* the span placed last is among those that overlap */
    lanes lanes;
} level;

typedef struct sweep {
    const kino__trace *trace;
    uint32_t *parent;
    uint16_t *depth, *lane; /* NULL: parents alone are wanted */
    uint32_t overlap_count;
    KINO__VEC(level) levels; /* [0, open) is the stack; [open, used) waits to be used again */
    size_t open, used;       /* used: levels touched in this track */
} sweep;

static bool lanes_grow(lanes *l, const kino__allocator *allocator)
{
    size_t capacity = l->capacity ? l->capacity * 2 : 4;
    int64_t *tree = kino__resize(allocator, NULL, 0, 2 * capacity * sizeof *tree);
    if (!tree)
        return false;
    for (size_t i = 0; i < capacity; i++)
        tree[capacity + i] = i < l->capacity ? l->tree[l->capacity + i] : KINO_NO_TIME;
    for (size_t i = capacity - 1; i > 0; i--)
        tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    kino__resize(allocator, l->tree, 2 * l->capacity * sizeof *tree, 0);
    *l = (lanes){tree, capacity};
    return true;
}

/* Takes the smallest lane above 0 that is free at `start` until `end`; *lane is LANE_LAST when
 * there are no more. */
static bool lanes_take(lanes *l, const kino__allocator *allocator, int64_t start, int64_t end,
                       uint16_t *lane)
{
    *lane = LANE_LAST;
    while (!l->tree || l->tree[1] > start) {
        if (l->capacity >= TREE_LIMIT)
            return true; /* drawn over each other from here on; nothing is lost */
        if (!lanes_grow(l, allocator))
            return false;
    }
    size_t i = 1;
    while (i < l->capacity)
        i = 2 * i + (l->tree[2 * i] > start);
    if (i - l->capacity < LANE_LAST)
        *lane = (uint16_t)(i - l->capacity + 1);
    l->tree[i] = end;
    for (i /= 2; i > 0; i /= 2)
        l->tree[i] = l->tree[2 * i] < l->tree[2 * i + 1] ? l->tree[2 * i] : l->tree[2 * i + 1];
    return true;
}

/* Opens the level on top of the stack. */
static level *push(sweep *s)
{
    if (s->open == s->levels.count) {
        level *fresh = kino__vec_add(&s->levels);
        if (!fresh)
            return NULL;
        *fresh = (level){0};
    }
    level *top = &s->levels.items[s->open];
    if (s->open == s->used) { /* first time in this track */
        top->lane0 = top->latest = KINO_NO_TIME;
        s->used++;
    }
    s->open++;
    return top;
}

static level *open_span(sweep *s, uint32_t row, int64_t end)
{
    level *top = push(s);
    if (!top)
        return NULL;
    top->row = row;
    top->end = end;
    return top;
}

static bool place_span(sweep *s, uint32_t row, int64_t start, int64_t end)
{
    level *top = open_span(s, row, end);
    if (!top)
        return false;
    if (top->latest > start) {
        /* Another one of this depth is open. If the span placed last is not counted yet it
         * overlapped nothing, so it is the only open one. */
        s->overlap_count += top->is_counted ? 1 : 2;
        top->is_counted = true;
    } else {
        top->is_counted = false;
    }
    if (end > top->latest)
        top->latest = end;
    if (top->lane0 > start)
        return lanes_take(&top->lanes, s->levels.allocator, start, end, &s->lane[row]);
    top->lane0 = end;
    s->lane[row] = 0;
    return true;
}

static bool place_row(sweep *s, uint32_t row)
{
    const kino__trace *trace = s->trace;
    int64_t start = trace->ts[row];
    bool is_span = trace->phase[row] == 'X';
    int64_t end = is_span ? kino__link_end(trace, row) : start;
    while (s->open) {
        const level *top = &s->levels.items[s->open - 1];
        /* A span without length contains what starts with it and has no length either. */
        bool has_ended = top->end <= start && trace->ts[top->row] != start;
        if (!has_ended && top->end >= end)
            break;
        s->open--;
    }
    s->parent[row] = s->open ? s->levels.items[s->open - 1].row : KINO_NO_ROW;
    if (!s->depth)
        return !is_span || open_span(s, row, end);
    s->depth[row] = (uint16_t)(s->open < UINT16_MAX ? s->open : UINT16_MAX);
    s->lane[row] = 0;
    return !is_span || place_span(s, row, start, end);
}

static void end_track(sweep *s)
{
    for (size_t i = 0; i < s->used; i++) {
        lanes *l = &s->levels.items[i].lanes;
        if (l->tree)
            kino__resize(s->levels.allocator, l->tree, 2 * l->capacity * sizeof *l->tree, 0);
        *l = (lanes){0};
    }
    s->open = s->used = 0;
}

static bool sweep_track(sweep *s, const kino__track *track)
{
    bool ok = true;
    for (uint32_t row = track->first; ok && row - track->first < track->count; row++) {
        if (s->trace->ts[row] != KINO_NO_TIME && s->trace->phase[row] != 'M') {
            ok = place_row(s, row);
            continue;
        }
        s->parent[row] = KINO_NO_ROW;
        if (s->depth)
            s->depth[row] = s->lane[row] = 0;
    }
    end_track(s);
    return ok;
}

static bool sweep_all(sweep *s, kino__arena *scratch)
{
    s->levels.allocator = scratch->allocator;
    bool ok = true;
    for (size_t i = 0; ok && i < s->trace->tracks.count; i++)
        ok = sweep_track(s, &s->trace->tracks.items[i]);
    kino__vec_deinit(&s->levels);
    return ok;
}

static void *make_nesting(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    size_t n = trace->event_count;
    kino__nesting *nesting = kino__link_block(trace, sizeof *nesting, n, 8, size);
    if (!nesting)
        return NULL;
    uint32_t *parent = (uint32_t *)(nesting + 1);
    uint16_t *depth = (uint16_t *)(parent + n);
    sweep s = {.trace = trace, .parent = parent, .depth = depth, .lane = depth + n};
    if (!sweep_all(&s, scratch)) {
        kino__link_block_free(trace, nesting, *size);
        return NULL;
    }
    *nesting = (kino__nesting){parent, depth, s.lane, s.overlap_count};
    return nesting;
}

const kino__nesting *kino__link_nesting(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_NESTING, make_nesting);
}

static void *make_parent(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    uint32_t *parent = kino__link_column(trace, size);
    sweep s = {.trace = trace, .parent = parent};
    if (parent && sweep_all(&s, scratch))
        return parent;
    kino__link_block_free(trace, parent, *size);
    return NULL;
}

const uint32_t *kino__link_parent(const kino__trace *trace)
{
    const kino__nesting *nesting = kino__link_peek(trace, KINO__LINK_NESTING);
    return nesting ? nesting->parent : kino__link_get(trace, KINO__LINK_PARENT, make_parent);
}
