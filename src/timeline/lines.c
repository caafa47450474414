/* lines.c - which event of a track is drawn on which line, and the tree over each line.
 *
 * For build.c. A span stands below the span that contains it and starts last, on the first line
 * from there that is free when it starts:
 *
 *   line 0   |------- a -------|        a contains b; c overlaps a without being contained, and
 *   line 1     |- b -|                  line 1 is free when it starts
 *   line 2                 |- d -|      d stands in c
 *   line 1           |------ c ----|
 *
 * Open spans are a stack with ends falling towards its top, as in store/link_nesting.c; there the
 * answer is parents, here only the line is kept. What has no length (instants too) takes no room
 * and contains nothing. Three passes over the rows: lines and their counts; places, and level 1 of
 * the trees; the levels above. Cost: linear; spans that overlap on many lines pass over blocks of
 * them. */

#include "timeline/timeline_internal.h"

#define NO_LINE UINT16_MAX

typedef struct sweep {
    kino__tl_track *track;
    kino__tl_scratch *s;
    uint16_t *line_of;
    uint32_t used; /* lines */
    uint32_t open;
} sweep;

/* -- lines -- */

/* The first line from `line` on that is free at a time; the next one where there is none. */
static uint32_t free_line(sweep *w, uint32_t line, int64_t start)
{
    kino__tl_scratch *s = w->s;
    uint32_t end = w->used < KINO__TL_LAST_LINE ? w->used : KINO__TL_LAST_LINE;
    while (line < end) {
        uint32_t block = line / KINO__TL_BLOCK, next = (block + 1) * KINO__TL_BLOCK;
        bool is_whole = line % KINO__TL_BLOCK == 0 && next <= end;
        if (s->soonest[block] > start) {
            line = next;
            continue;
        }
        int64_t soonest = INT64_MAX;
        for (; line < next && line < end; line++) {
            if (s->free_at[line] <= start)
                return line;
            soonest = s->free_at[line] < soonest ? s->free_at[line] : soonest;
        }
        if (is_whole)
            s->soonest[block] = soonest;
    }
    return line < end ? line : end;
}

static uint32_t place(sweep *w, int64_t start, int64_t end)
{
    kino__tl_scratch *s = w->s;
    while (w->open) {
        int64_t top = s->open[w->open - 1].end;
        if (top > start && top >= end)
            break;
        w->open--;
    }
    uint32_t line = free_line(w, w->open ? s->open[w->open - 1].line + 1 : 0, start);
    if (line == w->used) {
        s->counts[line] = 0;
        s->free_at[line] = INT64_MIN;
        if (line % KINO__TL_BLOCK == 0)
            s->soonest[line / KINO__TL_BLOCK] = INT64_MIN;
        w->used++;
    }
    s->counts[line]++;
    if (end > start) {
        s->free_at[line] = end;
        if (line < KINO__TL_LAST_LINE) {
            s->open[w->open].end = end;
            s->open[w->open++].line = line;
        }
    }
    return line;
}

/* The end of the track, for spans that have none; KINO_NO_TIME when all have one. */
static int64_t find_open_end(const kino__tl_track *track)
{
    const kino__trace *trace = track->trace;
    const kino__track *source = track->source;
    if (!memchr(trace->phase + source->first, 'B', source->count))
        return KINO_NO_TIME;
    int64_t last = KINO_NO_TIME;
    for (uint32_t row = source->first; row - source->first < source->count; row++) {
        if (!kino__tl_is_drawn(trace->phase[row], trace->ts[row], trace->dur[row]))
            continue;
        int64_t end = kino__tl_end(track, row);
        last = end > last ? end : last;
    }
    return last;
}

static void assign_lines(sweep *w)
{
    kino__tl_track *track = w->track;
    const kino__trace *trace = track->trace;
    const kino__track *source = track->source;
    for (uint32_t i = 0; i < source->count; i++) {
        uint32_t row = source->first + i;
        w->line_of[i] = NO_LINE;
        if (!kino__tl_is_drawn(trace->phase[row], trace->ts[row], trace->dur[row]))
            continue;
        int64_t start = trace->ts[row], end = kino__tl_end(track, row);
        if (!track->count++)
            track->first = start;
        track->last = end > track->last ? end : track->last;
        w->line_of[i] = (uint16_t)place(w, start, end);
    }
}

/* -- trees -- */

static kino__tl_node node_of(uint32_t row, int64_t start, int64_t end)
{
    return (kino__tl_node){start, end, end - start, row, (float)(end - start)};
}

static void node_add(kino__tl_node *node, const kino__tl_node *next)
{
    node->end = next->end > node->end ? next->end : node->end;
    node->busy += next->busy;
    if (next->longest_dur > node->longest_dur) {
        node->longest_dur = next->longest_dur;
        node->longest = next->longest;
    }
}

/* Rows to their lines, and every 16 of a line to a node. counts count again, from 0. */
static void fill_lines(sweep *w)
{
    kino__tl_track *track = w->track;
    const kino__trace *trace = track->trace;
    uint32_t *filled = w->s->counts;
    memset(filled, 0, w->used * sizeof *filled);
    for (uint32_t i = 0; i < track->source->count; i++) {
        if (w->line_of[i] == NO_LINE)
            continue;
        const kino__tl_line *line = &track->lines[w->line_of[i]];
        uint32_t row = track->source->first + i, at = filled[w->line_of[i]]++;
        track->rows[line->first + at] = row;
        if (line->count <= KINO__TL_FAN)
            continue;
        kino__tl_node *node = &track->nodes[line->node + (at >> KINO__TL_BITS)];
        kino__tl_node event = node_of(row, trace->ts[row], kino__tl_end(track, row));
        if (at % KINO__TL_FAN == 0)
            *node = event;
        else
            node_add(node, &event);
    }
}

static void fill_levels(kino__tl_track *track, const kino__tl_line *line)
{
    kino__tl_levels levels;
    kino__tl_levels_of(line->count, line->node, &levels);
    for (unsigned level = 2; level <= levels.count; level++) {
        const kino__tl_node *below = &track->nodes[levels.first[level - 1]];
        kino__tl_node *nodes = &track->nodes[levels.first[level]];
        for (uint32_t i = 0; i < levels.number[level - 1]; i++) {
            if (i % KINO__TL_FAN == 0)
                nodes[i >> KINO__TL_BITS] = below[i];
            else
                node_add(&nodes[i >> KINO__TL_BITS], &below[i]);
        }
    }
}

/* -- the block -- */

/* [nodes | lines | rows], by falling alignment. */
static bool lay_out(sweep *w)
{
    kino__tl_track *track = w->track;
    kino__tl_levels levels;
    uint32_t nodes = 0, rows = 0;
    for (uint32_t i = 0; i < w->used; i++)
        nodes += kino__tl_levels_of(w->s->counts[i], nodes, &levels);
    size_t size = (size_t)nodes * sizeof *track->nodes + (size_t)w->used * sizeof *track->lines +
                  (size_t)track->count * sizeof *track->rows;
    if (!kino__tl_block_new(track, size))
        return false;
    track->nodes = track->block;
    track->lines = (kino__tl_line *)(track->nodes + nodes);
    track->rows = (uint32_t *)(track->lines + w->used);
    track->line_count = w->used;
    nodes = 0;
    for (uint32_t i = 0; i < w->used; i++) {
        track->lines[i] = (kino__tl_line){rows, w->s->counts[i], nodes};
        nodes += kino__tl_levels_of(w->s->counts[i], nodes, &levels);
        rows += w->s->counts[i];
    }
    return true;
}

bool kino__tl_make_lines(kino__tl_track *track, kino__tl_scratch *scratch)
{
    sweep w = {.track = track, .s = scratch};
    scratch->line_of.count = 0;
    if (!kino__vec_reserve(&scratch->line_of, track->source->count))
        return false;
    w.line_of = scratch->line_of.items;
    track->count = 0;
    track->first = track->last = KINO_NO_TIME;
    track->open_end = KINO_NO_TIME; /* until it is known, such spans have no length */
    track->open_end = find_open_end(track);
    assign_lines(&w);
    if (track->count == 0)
        return true;
    if (!lay_out(&w))
        return false;
    fill_lines(&w);
    for (uint32_t i = 0; i < track->line_count; i++)
        fill_levels(track, &track->lines[i]);
    return true;
}

/* -- looking up -- */

uint32_t kino__tl_line_seek(const kino__tl_track *track, const kino__tl_line *line,
                            const kino__tl_levels *levels, int64_t from)
{
    uint32_t at = 0; /* at every level: everything before its first item has ended */
    for (unsigned level = levels->count; level > 0; level--) {
        const kino__tl_node *nodes = &track->nodes[levels->first[level]];
        while (at < levels->number[level] && nodes[at].end < from)
            at++;
        if (at == levels->number[level])
            return line->count;
        at <<= KINO__TL_BITS;
    }
    const uint32_t *rows = track->rows + line->first;
    for (; at < line->count; at++) {
        int64_t start = track->trace->ts[rows[at]];
        if (start >= from || kino__tl_end(track, rows[at]) > from)
            break;
    }
    return at;
}
