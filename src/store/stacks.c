/* stacks.c - see the header.
 *
 * Lanes in one pass over the spans of a track, in order of start, longer first. The span that
 * contains the new one and starts last is found as in store/link_nesting.c: a stack of spans whose
 * ends fall towards its top. Each lane has a stack of its own open spans, as a chain through
 * `below`; it is looked at only when a span wants to stand on it. A lane becomes free when its
 * lowest span ends: one heap knows which lane does next, another the lowest free lane. */
#include "store/stacks.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* ---- a heap of lanes, smallest key on top ---- */

typedef struct heap_item {
    int64_t key;
    uint32_t lane;
} heap_item;
typedef KINO__VEC(heap_item) heap;

static bool heap_add(heap *h, int64_t key, uint32_t lane)
{
    if (!kino__vec_reserve(h, 1))
        return false;
    size_t i = h->count++;
    for (; i > 0 && h->items[(i - 1) / 2].key > key; i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = (heap_item){key, lane};
    return true;
}

static uint32_t heap_take(heap *h)
{
    uint32_t lane = h->items[0].lane;
    heap_item last = h->items[--h->count];
    size_t i = 0;
    for (size_t child = 1; child < h->count; child = 2 * i + 1) {
        if (child + 1 < h->count && h->items[child + 1].key < h->items[child].key)
            child++;
        if (h->items[child].key >= last.key)
            break;
        h->items[i] = h->items[child];
        i = child;
    }
    h->items[i] = last;
    return lane;
}

/* ---- lanes ---- */

typedef struct sweep {
    const kino__trace *trace;
    const uint32_t *rows; /* the spans; below they are named by their place here */
    uint32_t *lane, *below;
    KINO__VEC(uint32_t) open; /* the stack that finds the span around */
    KINO__VEC(uint32_t) tops; /* of each lane: the innermost span that may still be open, or NONE */
    heap busy;                /* lanes by the end of their lowest span */
    heap free;                /* lanes by number */
} sweep;

/* Has the span ended before something that starts at `start`? One without length contains what
 * starts with it and has none either. */
static bool has_ended(const kino__trace *trace, uint32_t row, int64_t start)
{
    return kino__stack_end(trace, row) <= start && trace->ts[row] != start;
}

/* The span that contains [start, end) and starts last, or NONE. */
static uint32_t find_parent(sweep *s, int64_t start, int64_t end)
{
    while (s->open.count) {
        uint32_t top = s->open.items[s->open.count - 1];
        if (!has_ended(s->trace, s->rows[top], start) &&
            kino__stack_end(s->trace, s->rows[top]) >= end)
            return top;
        s->open.count--;
    }
    return NONE;
}

/* Is span i the innermost open one of its lane? */
static bool is_on_top(sweep *s, uint32_t i, int64_t start)
{
    uint32_t *top = &s->tops.items[s->lane[i]];
    while (*top != i && *top != NONE && has_ended(s->trace, s->rows[*top], start))
        *top = s->below[*top];
    return *top == i;
}

/* The first lane in which nothing is open at `start`; NONE when memory is out. */
static uint32_t take_lane(sweep *s, int64_t start, int64_t end)
{
    uint32_t lane;
    while (s->busy.count && s->busy.items[0].key <= start) {
        lane = heap_take(&s->busy);
        if (!heap_add(&s->free, lane, lane))
            return NONE;
    }
    if (s->free.count) {
        lane = heap_take(&s->free);
    } else {
        if (!kino__vec_reserve(&s->tops, 1))
            return NONE;
        lane = (uint32_t)s->tops.count++;
    }
    s->tops.items[lane] = NONE;
    return heap_add(&s->busy, end, lane) ? lane : NONE;
}

static bool place_span(sweep *s, uint32_t i)
{
    int64_t start = s->trace->ts[s->rows[i]], end = kino__stack_end(s->trace, s->rows[i]);
    uint32_t parent = find_parent(s, start, end);
    if (parent != NONE && is_on_top(s, parent, start))
        s->lane[i] = s->lane[parent];
    else
        s->lane[i] = take_lane(s, start, end);
    uint32_t *open = kino__vec_add(&s->open);
    if (s->lane[i] == NONE || !open)
        return false;
    *open = i;
    s->below[i] = s->tops.items[s->lane[i]];
    s->tops.items[s->lane[i]] = i;
    return true;
}

/* Puts the rows in order of their lanes: a counting sort. Takes the arrays of the sweep. */
static bool sort_by_lane(kino__stack_lanes *lanes, sweep *s)
{
    lanes->lane_count = s->tops.count;
    lanes->starts = calloc(lanes->lane_count + 2, sizeof *lanes->starts);
    if (!lanes->starts)
        return false;
    uint32_t *next = lanes->starts + 1; /* where the next row of a lane goes, shifted by one */
    for (size_t i = 0; i < lanes->row_count; i++)
        next[s->lane[i] + 1]++;
    for (size_t l = 1; l <= lanes->lane_count; l++)
        next[l] += next[l - 1];
    uint32_t *sorted = s->below; /* not needed any more */
    for (size_t i = 0; i < lanes->row_count; i++)
        sorted[next[s->lane[i]]++] = lanes->rows[i];
    s->below = lanes->rows;
    lanes->rows = sorted;
    return true;
}

static uint32_t *list_rows(const kino__trace *trace, const kino__track *track,
                           kino__stack_kind kind, size_t *count)
{
    size_t n = 0;
    for (uint32_t i = 0; i < track->count; i++)
        n += kino__stack_has(trace, track->first + i, kind);
    uint32_t *rows = malloc((n + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    *count = 0;
    for (uint32_t i = 0; i < track->count; i++)
        if (kino__stack_has(trace, track->first + i, kind))
            rows[(*count)++] = track->first + i;
    return rows;
}

bool kino__stack_lanes_init(kino__stack_lanes *lanes, const kino__trace *trace,
                            const kino__track *track, kino__stack_kind kind)
{
    *lanes = (kino__stack_lanes){0};
    lanes->rows = list_rows(trace, track, kind, &lanes->row_count);
    if (!lanes->rows)
        return false;
    sweep s = {.trace = trace, .rows = lanes->rows};
    s.lane = malloc((lanes->row_count + 1) * sizeof *s.lane);
    s.below = malloc((lanes->row_count + 1) * sizeof *s.below);
    bool ok = s.lane && s.below;
    for (size_t i = 0; ok && i < lanes->row_count; i++)
        ok = place_span(&s, (uint32_t)i);
    ok = ok && sort_by_lane(lanes, &s);
    free(s.lane);
    free(s.below);
    kino__vec_deinit(&s.open);
    kino__vec_deinit(&s.tops);
    kino__vec_deinit(&s.busy);
    kino__vec_deinit(&s.free);
    if (!ok)
        kino__stack_lanes_deinit(lanes);
    return ok;
}

void kino__stack_lanes_deinit(kino__stack_lanes *lanes)
{
    free(lanes->rows);
    free(lanes->starts);
    *lanes = (kino__stack_lanes){0};
}

/* ---- walking ---- */

bool kino__stack_walk_next(kino__stack_walk *walk, kino__stack_event *out)
{
    const kino__trace *trace = walk->trace;
    bool is_over = walk->at == walk->count;
    if (walk->open.count) {
        uint32_t top = walk->open.items[walk->open.count - 1];
        if (is_over || has_ended(trace, top, trace->ts[walk->rows[walk->at]])) {
            walk->open.count--;
            *out = (kino__stack_event){top, false, kino__stack_end(trace, top)};
            return true;
        }
    }
    uint32_t *open = is_over ? NULL : kino__vec_add(&walk->open);
    walk->failed = !is_over && !open;
    if (!open)
        return false;
    *open = walk->rows[walk->at++];
    *out = (kino__stack_event){*open, true, trace->ts[*open]};
    return true;
}

void kino__stack_walk_deinit(kino__stack_walk *walk)
{
    kino__vec_deinit(&walk->open);
}

/* ---- frames ---- */

void kino__stack_frames_init(kino__stack_frames *frames, bool is_collapsed)
{
    *frames = (kino__stack_frames){.is_collapsed = is_collapsed, .unnamed = KINO_NO_STRING};
    kino__string_pool_init(&frames->texts, NULL);
}

void kino__stack_frames_deinit(kino__stack_frames *frames)
{
    kino__string_pool_deinit(&frames->texts);
    kino__buffer_deinit(&frames->scratch);
    free(frames->of_name);
    *frames = (kino__stack_frames){0};
}

bool kino__stack_frames_start(kino__stack_frames *frames, const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    free(frames->of_name);
    frames->trace = trace;
    frames->of_name = malloc((count + 1) * sizeof *frames->of_name);
    for (size_t i = 0; i < count && frames->of_name; i++)
        frames->of_name[i] = KINO_NO_STRING;
    return frames->of_name != NULL;
}

/* A frame ends at a semicolon and a line at a line feed, so neither may be in a frame's name. */
static char collapsed_char(char c)
{
    if (c == ';')
        return ',';
    return (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
}

kino_strid kino__stack_frame_of_text(kino__stack_frames *frames, kino_str text)
{
    if (text.size == 0)
        text = KINO__STR("(no name)");
    if (!frames->is_collapsed)
        return kino__string_pool_add(&frames->texts, text);
    frames->scratch.size = 0;
    char *to = kino__buffer_reserve(&frames->scratch, text.size);
    if (!to)
        return KINO_NO_STRING;
    for (size_t i = 0; i < text.size; i++)
        to[i] = collapsed_char(text.data[i]);
    return kino__string_pool_add(&frames->texts, (kino_str){to, text.size});
}

kino_strid kino__stack_frame(kino__stack_frames *frames, uint32_t row)
{
    kino_strid name = frames->trace->name[row];
    kino_strid *frame = name == KINO_NO_STRING ? &frames->unnamed : &frames->of_name[name];
    if (*frame == KINO_NO_STRING)
        *frame = kino__stack_frame_of_text(frames, kino__trace_string(frames->trace, name));
    return *frame;
}

/* ---- names of tracks ---- */

bool kino__stack_ranks_tell(const kino__run *run)
{
    for (size_t i = 0; i < run->traces.count && run->traces.count > 1; i++) {
        if (run->traces.items[i]->rank == KINO_NO_INT)
            return false;
        for (size_t k = 0; k < i; k++)
            if (run->traces.items[k]->rank == run->traces.items[i]->rank)
                return false;
    }
    return true;
}

static void add_label(const kino__trace *trace, const kino__label *label, kino__buffer *out)
{
    if (label->kind == KINO__LABEL_INT)
        kino__buffer_printf(out, " %lld", (long long)label->number);
    else if (label->kind != KINO__LABEL_NONE) {
        kino__buffer_add(out, KINO__STR(" "));
        kino__buffer_add(out, kino__trace_string(trace, label->text));
    }
}

/* Does the name say the number already, as "thread 101 (main)" does? */
static bool has_number(kino_str name, const kino__label *label)
{
    for (size_t i = 0; label->kind == KINO__LABEL_INT && i < name.size;) {
        size_t size = 0;
        while (i + size < name.size && name.data[i + size] >= '0' && name.data[i + size] <= '9')
            size++;
        int64_t number;
        if (kino__str_to_int((kino_str){name.data + i, size}, &number) && number == label->number)
            return true;
        i += size + 1;
    }
    return false;
}

static void add_thread(const kino__trace *trace, const kino__track *track, kino__buffer *out)
{
    static const char *const kinds[] = {"thread", "stream", "track"};
    if (track->name == KINO_NO_STRING) {
        kino__buffer_add(out, kino__str_from(kinds[track->kind]));
        add_label(trace, &track->tid, out);
        return;
    }
    kino_str name = kino__trace_string(trace, track->name);
    while (name.size && name.data[name.size - 1] == ' ') /* Kineto's "stream 7 " */
        name.size--;
    kino__buffer_add(out, name);
    if (!has_number(name, &track->tid))
        add_label(trace, &track->tid, out);
}

void kino__stack_label(const kino__trace *trace, const kino__track *track, bool by_rank,
                       kino__buffer *out)
{
    if (!by_rank)
        kino__buffer_printf(out, "trace %u, ", trace->index);
    else if (trace->rank != KINO_NO_INT)
        kino__buffer_printf(out, "rank %lld, ", (long long)trace->rank);
    if (track->device != KINO_NO_INT) {
        kino__buffer_printf(out, "device %lld, ", (long long)track->device);
    } else {
        kino__buffer_add(out, track->process_name == KINO_NO_STRING
                                  ? KINO__STR("process")
                                  : kino__trace_string(trace, track->process_name));
        add_label(trace, &track->pid, out);
        kino__buffer_add(out, KINO__STR(", "));
    }
    add_thread(trace, track, out);
}

const char *kino__stack_why_empty(kino__stack_kind kind)
{
    return kind == KINO__STACK_PYTHON ? "no Python spans to build stacks from (the PyTorch "
                                        "profiler records them with with_stack=True)"
                                      : "no spans to build stacks from";
}
