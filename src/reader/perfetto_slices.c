/* perfetto_slices.c - the beginnings and ends of spans paired, and everything that waited given to
 * the builder.
 *
 * Most writers state events in order of time, and a stack for each track pairs them. PyTorch writes
 * all beginnings of a group and then all its ends, in the same order: sorted by time, a stack would
 * swap ends wherever spans touch. So sequences whose times fall are looked at in runs of
 * beginnings and ends, and if all runs repeat their tracks in order, each end belongs to its
 * beginning by place. */
#include "base/record_sort.h"
#include "reader/perfetto_internal.h"

enum { NAME_SEARCH_MOST = 1024, ALL = UINT32_MAX };

typedef KINO__VEC(uint32_t) index_list;

static bool is_half(const kino__perfetto_event *e)
{
    return e->phase == KINO__PERFETTO_BEGIN || e->phase == KINO__PERFETTO_END;
}

/* The arguments of two places, one behind the other. */
static uint64_t merge(kino__perfetto *p, uint64_t first, uint64_t second)
{
    if (!kino__vec_reserve(&p->data->merged, 2)) {
        p->failed = true;
        return first;
    }
    p->data->merged.items[p->data->merged.count++] = first;
    p->data->merged.items[p->data->merged.count++] = second;
    return KINO__PERFETTO_MERGED | (p->data->merged.count - 2);
}

static void close_event(kino__perfetto *p, uint32_t begin, uint32_t end)
{
    kino__perfetto_event *b = &p->waiting.items[begin], *e = &p->waiting.items[end];
    b->phase = KINO__PERFETTO_COMPLETE;
    if (__builtin_sub_overflow(e->ts, b->ts, &b->dur) || b->dur < 0)
        b->dur = 0;
    e->phase = KINO__PERFETTO_DONE;
    if (e->place)
        b->place = b->place ? merge(p, b->place, e->place) : e->place;
}

/* -- runs -- */

/* The halves from `at` on: n beginnings, then as many ends of the same tracks; 0: they are not. */
static size_t run_at(const kino__perfetto *p, const uint32_t *list, size_t count, size_t at)
{
    const kino__perfetto_event *events = p->waiting.items;
    size_t n = 0;
    while (at + n < count && events[list[at + n]].phase == KINO__PERFETTO_BEGIN)
        n++;
    if (n == 0 || n > (count - at) / 2)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const kino__perfetto_event *end = &events[list[at + n + i]];
        if (end->phase != KINO__PERFETTO_END || end->track != events[list[at + i]].track)
            return 0;
    }
    bool is_longer = at + 2 * n < count && events[list[at + 2 * n]].phase == KINO__PERFETTO_END;
    return is_longer ? 0 : n;
}

static void pair_runs(kino__perfetto *p, const uint32_t *list, size_t count)
{
    for (size_t at = 0, n; at < count; at += 2 * n) {
        n = run_at(p, list, count, at);
        if (n == 0)
            return;
    }
    for (size_t at = 0, n; at < count; at += 2 * n) {
        n = run_at(p, list, count, at);
        for (size_t i = 0; i < n; i++)
            close_event(p, list[at + i], list[at + n + i]);
    }
}

/* Lists of events by a number of theirs, in order: list k is items[starts[k]] to
 * items[starts[k + 1]]. */
typedef struct lists {
    index_list starts, items;
} lists;

static bool lists_init(lists *l, const kino__perfetto *p, size_t count,
                       bool (*want)(const kino__perfetto *p, const kino__perfetto_event *e),
                       uint32_t (*key)(const kino__perfetto_event *e))
{
    *l = (lists){0};
    if (!kino__vec_reserve(&l->starts, count + 2) ||
        !kino__vec_reserve(&l->items, p->waiting.count))
        return false;
    memset(l->starts.items, 0, (count + 2) * sizeof *l->starts.items);
    for (size_t i = 0; i < p->waiting.count; i++)
        if (want(p, &p->waiting.items[i]))
            l->starts.items[key(&p->waiting.items[i]) + 2]++;
    for (size_t k = 0; k < count; k++)
        l->starts.items[k + 2] += l->starts.items[k + 1];
    for (size_t i = 0; i < p->waiting.count; i++)
        if (want(p, &p->waiting.items[i]))
            l->items.items[l->starts.items[key(&p->waiting.items[i]) + 1]++] = (uint32_t)i;
    return true;
}

static void lists_deinit(lists *l)
{
    kino__vec_deinit(&l->starts);
    kino__vec_deinit(&l->items);
}

static bool wants_run(const kino__perfetto *p, const kino__perfetto_event *e)
{
    return is_half(e) && !p->sequences.items[e->sequence].has_rising_times;
}

static uint32_t sequence_key(const kino__perfetto_event *e)
{
    return e->sequence;
}

static void pair_sequences(kino__perfetto *p)
{
    bool has_falling = false;
    lists l;
    for (size_t i = 0; i < p->waiting.count; i++) {
        const kino__perfetto_event *e = &p->waiting.items[i];
        kino__perfetto_sequence *s = &p->sequences.items[e->sequence];
        if (!is_half(e))
            continue;
        s->has_rising_times &= e->ts >= s->last_time;
        s->last_time = e->ts;
        has_falling |= !s->has_rising_times;
    }
    if (!has_falling)
        return;
    if (!lists_init(&l, p, p->sequences.count, wants_run, sequence_key))
        p->failed = true;
    for (size_t k = 0; k < p->sequences.count && !p->failed; k++)
        pair_runs(p, l.items.items + l.starts.items[k], l.starts.items[k + 1] - l.starts.items[k]);
    lists_deinit(&l);
}

/* -- stacks -- */

static bool wants_stack(const kino__perfetto *p, const kino__perfetto_event *e)
{
    (void)p;
    return is_half(e) || e->phase == KINO__PERFETTO_STATE;
}

static uint32_t track_key(const kino__perfetto_event *e)
{
    return e->track;
}

typedef struct timed {
    int64_t ts;
    uint32_t event;
} timed;

static int compare_timed(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static int64_t timed_ts(const void *record)
{
    return ((const timed *)record)->ts;
}

static bool sort_by_time(const kino__perfetto *p, uint32_t *list, size_t count)
{
    static const kino__record_key keys[] = {timed_ts};
    KINO__VEC(timed) all = {0};
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++)
        is_sorted = p->waiting.items[list[i - 1]].ts <= p->waiting.items[list[i]].ts;
    if (is_sorted)
        return true;
    bool ok = kino__vec_reserve(&all, count);
    for (size_t i = 0; i < count && ok; i++)
        all.items[i] = (timed){p->waiting.items[list[i]].ts, list[i]};
    ok = ok && kino__records_sort(all.items, count, sizeof *all.items, keys, 1, compare_timed);
    for (size_t i = 0; i < count && ok; i++)
        list[i] = all.items[i].event;
    kino__vec_deinit(&all);
    return ok;
}

/* The nearest open span of that name, or ALL; those that others closed before are taken away. */
static uint32_t take_open(const kino__perfetto *p, index_list *open, const kino__perfetto_event *e)
{
    while (open->count && !is_half(&p->waiting.items[open->items[open->count - 1]]))
        open->count--;
    if (!open->count)
        return ALL;
    if (!e->is_named)
        return open->items[--open->count];
    for (size_t i = open->count, left = NAME_SEARCH_MOST; i-- > 0 && left-- > 0;) {
        const kino__perfetto_event *b = &p->waiting.items[open->items[i]];
        if (is_half(b) && b->name == e->name)
            return open->items[i];
    }
    return ALL;
}

static void cut(kino__perfetto *p, uint32_t event, int64_t end)
{
    kino__perfetto_event *e = &p->waiting.items[event];
    e->phase = KINO__PERFETTO_COMPLETE;
    e->is_cut = true;
    if (__builtin_sub_overflow(end, e->ts, &e->dur) || e->dur < 0)
        e->dur = 0;
}

/* A state lasts until the next one; one without a name is no state. */
static void change_state(kino__perfetto *p, uint32_t *state, uint32_t event)
{
    kino__perfetto_event *e = &p->waiting.items[event];
    if (*state != ALL)
        cut(p, *state, e->ts);
    if (*state != ALL)
        p->waiting.items[*state].is_cut = false;
    *state = e->is_named ? event : ALL;
    e->phase = e->is_named ? KINO__PERFETTO_STATE : KINO__PERFETTO_DONE;
}

static void pair_track(kino__perfetto *p, uint32_t *list, size_t count, int64_t last,
                       index_list *open)
{
    uint32_t state = ALL;
    open->count = 0;
    if (!sort_by_time(p, list, count)) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        kino__perfetto_event *e = &p->waiting.items[list[i]];
        if (e->phase == KINO__PERFETTO_STATE) {
            change_state(p, &state, list[i]);
        } else if (e->phase == KINO__PERFETTO_BEGIN) {
            uint32_t *slot = kino__vec_add(open);
            p->failed |= !slot;
            if (slot)
                *slot = list[i];
        } else {
            uint32_t begin = take_open(p, open, e);
            if (begin != ALL)
                close_event(p, begin, list[i]);
            else
                kino__ledger_add(p->ledger, KINO__DAMAGE_NO_BEGINNING, 0);
            e->phase = KINO__PERFETTO_DONE;
        }
    }
    for (size_t i = 0; i < open->count; i++)
        if (is_half(&p->waiting.items[open->items[i]]))
            cut(p, open->items[i], last);
    if (state != ALL)
        cut(p, state, last);
}

static void pair_tracks(kino__perfetto *p, int64_t last)
{
    lists l;
    index_list open = {0};
    if (!lists_init(&l, p, p->tracks.items.count, wants_stack, track_key))
        p->failed = true;
    for (size_t k = 0; k < p->tracks.items.count && !p->failed; k++)
        pair_track(p, l.items.items + l.starts.items[k], l.starts.items[k + 1] - l.starts.items[k],
                   last, &open);
    kino__vec_deinit(&open);
    lists_deinit(&l);
}

/* -- times -- */

/* Of all events on the trace's clock; the last moment of any. */
static int64_t settle_times(kino__perfetto *p)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < p->waiting.count; i++) {
        kino__perfetto_event *e = &p->waiting.items[i];
        int64_t end;
        if (e->ts != KINO_NO_TIME)
            e->ts =
                kino__perfetto_clock_convert(&p->clocks.clocks.items[e->clock], e->ts) - p->origin;
        bool has_end = e->dur != KINO_NO_TIME && !__builtin_add_overflow(e->ts, e->dur, &end);
        if (e->ts > last)
            last = e->ts;
        if (has_end && end > last)
            last = end;
    }
    return last;
}

/* -- events to the builder -- */

/* Overheads and waits are written without a category; what is not known is somebody's mark. */
static uint16_t missing_category(kino__perfetto *p, const kino__perfetto_event *e)
{
    const kino__perfetto_track *track = &p->tracks.items.items[e->track];
    const char *name = "user_annotation";
    const uint32_t *process = kino__map_get(&p->process_of, (uint64_t)track->pid);
    if (p->is_from_kino)
        return KINO__CATEGORY_NONE;
    if (e->is_sync)
        name = "cuda_sync";
    else if (process && kino__str_is(p->tracks.items.items[*process].process_name, "Overhead"))
        name = "overhead";
    return kino__event_builder_category(&p->events,
                                        kino__event_builder_text(&p->events, kino__str_from(name)));
}

static uint64_t mark_as_cut(kino__perfetto *p, uint64_t place)
{
    kino__event_args_add(&p->args, kino__event_builder_text(&p->events, KINO__STR("finished")),
                         KINO__ARG_FALSE, 0);
    uint64_t mark = kino__perfetto_args_end(p);
    return place ? merge(p, place, mark) : mark;
}

static kino_strid name_of(kino__perfetto *p, const kino__perfetto_event *e)
{
    kino__perfetto_track *track = &p->tracks.items.items[e->track];
    if (e->phase != KINO__PERFETTO_COUNTER || e->name != KINO_NO_STRING)
        return e->name;
    if (track->text == KINO_NO_STRING)
        track->text = kino__event_builder_text(&p->events, track->name.size ? track->name
                                                                            : KINO__STR("counter"));
    return track->text;
}

static void emit_event(kino__perfetto *p, const kino__perfetto_event *e)
{
    static const uint8_t phases[] = {[KINO__PERFETTO_COMPLETE] = 'X',
                                     [KINO__PERFETTO_INSTANT] = 'i',
                                     [KINO__PERFETTO_COUNTER] = 'C',
                                     [KINO__PERFETTO_OTHER] = 0};
    if (e->phase == KINO__PERFETTO_DONE)
        return;
    kino__built_event event = {
        .ts = e->ts,
        .dur = e->dur,
        .place = e->is_cut ? mark_as_cut(p, e->place) : e->place,
        .bind = e->bind,
        .external = e->external,
        .name = name_of(p, e),
        .track = kino__perfetto_track_row(p, e->track),
        .category = e->category,
        .phase = e->phase == KINO__PERFETTO_OTHER ? e->letter : phases[e->phase],
        .flags = e->flags,
    };
    if (e->lacks_category && e->phase != KINO__PERFETTO_COUNTER)
        event.category = missing_category(p, e);
    if (e->phase == KINO__PERFETTO_INSTANT)
        event.flags |= 1 << KINO__FLAG_SCOPE_SHIFT;
    if (e->phase == KINO__PERFETTO_COMPLETE && e->dur == KINO_NO_TIME)
        event.phase = 'X';
    p->failed |= !kino__event_builder_add(&p->events, &event);
}

void kino__perfetto_emit(kino__perfetto *p)
{
    int64_t last = settle_times(p);
    pair_sequences(p);
    if (!p->failed)
        pair_tracks(p, last);
    for (size_t i = 0; i < p->waiting.count && !p->failed; i++)
        emit_event(p, &p->waiting.items[i]);
    if (!p->failed)
        kino__perfetto_emit_flows(p);
    kino__perfetto_tracks_name(p);
}
