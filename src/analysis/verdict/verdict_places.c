/* verdict_places.c - see the header. Linear in the events of the steps, and sorts of the sums. */
#include "analysis/verdict/verdict_places.h"

#include <stdlib.h>

#include "analysis/host_activity.h"
#include "base/map.h"
#include "base/search.h"
#include "store/args.h"

/* Of a place in a step. */
typedef struct sum {
    uint32_t place, step;
    int64_t time, calls;
} sum;

typedef struct scan {
    const kino__profile *p;
    const kino__trace *trace;
    kino__places *out;
    kino__map places, cells; /* by name, shape and kind; by place and step */
    KINO__VEC(sum) sums;
    kino__host host;
} scan;

static kino__slow_cause cause_of(kino__place_kind kind)
{
    switch (kind) {
    case KINO__PLACE_KERNEL:
        return KINO__SLOW_KERNELS;
    case KINO__PLACE_LOADER:
        return KINO__SLOW_LOADER;
    case KINO__PLACE_COPY:
        return KINO__SLOW_COPIES;
    default:
        return KINO__SLOW_HOST;
    }
}

/* -- collecting -- */

/* The place of a row; NULL when memory is out. */
static kino__named_place *find_place(scan *s, uint32_t row, uint32_t shape, kino__place_kind kind,
                                     uint32_t *index)
{
    uint64_t key = (uint64_t)kind << 56 | (uint64_t)(shape & 0xffffff) << 32 | s->trace->name[row];
    const uint32_t *slot = kino__map_put(&s->places, key, (uint32_t)s->out->items.count);
    if (!slot)
        return NULL;
    *index = *slot;
    if (*slot < s->out->items.count)
        return &s->out->items.items[*slot];
    kino__named_place *fresh = kino__vec_add(&s->out->items);
    if (!fresh)
        return NULL;
    *fresh = (kino__named_place){.name = kino__trace_string(s->trace, s->trace->name[row]),
                                 .shape = {"", 0},
                                 .place = {.kind = (uint8_t)kind,
                                           .cause = (uint8_t)cause_of(kind),
                                           .offset = INT64_MAX,
                                           .longest = -1}};
    if (kind == KINO__PLACE_KERNEL && shape < s->p->shapes.count)
        fresh->shape = kino__string_pool_text(&s->p->texts, s->p->shapes.items[shape].grid);
    return fresh;
}

static bool add_sum(scan *s, uint32_t place, uint32_t step, int64_t time)
{
    uint32_t fresh = (uint32_t)s->sums.count;
    const uint32_t *cell = kino__map_put(&s->cells, (uint64_t)place << 32 | step, fresh);
    sum *slot = !cell || *cell != fresh ? NULL : kino__vec_add(&s->sums);
    if (!cell || (*cell == fresh && !slot))
        return false;
    if (slot)
        *slot = (sum){.place = place, .step = step};
    sum *known = &s->sums.items[*cell];
    known->time = kino__sum(known->time, time);
    known->calls++;
    return true;
}

static bool add(scan *s, uint32_t step, uint32_t row, uint32_t shape, kino__place_kind kind,
                int64_t time)
{
    uint32_t index;
    if (time <= 0 || s->trace->name[row] == KINO_NO_STRING)
        return true;
    kino__named_place *place = find_place(s, row, shape, kind, &index);
    if (!place)
        return false;
    const kino__profile_step *at = &s->p->steps.items[step];
    bool is_on_device = kind == KINO__PLACE_KERNEL || kind == KINO__PLACE_COPY;
    int64_t begin =
        is_on_device && at->device_start != KINO_NO_TIME ? at->device_start : at->host_start;
    int64_t offset = kino__difference(s->trace->ts[row], begin);
    place->place.offset = offset < place->place.offset ? offset : place->place.offset;
    if (time > place->place.longest) {
        place->place.longest = time;
        place->place.event = kino__trace_event_id(s->trace, row);
    }
    return add_sum(s, index, step, time);
}

/* -- the device -- */

static int64_t start_of(const kino__profile_step *step)
{
    return step->device_start == KINO_NO_TIME ? step->host_start : step->device_start;
}

/* The step that device work at this time belongs to; UINT32_MAX: none. */
static uint32_t step_at(const kino__profile *p, int64_t time)
{
    uint32_t count = (uint32_t)p->steps.count;
    uint32_t after = KINO__SEARCH(uint32_t, i, 0, count, start_of(&p->steps.items[i]) <= time);
    return after == 0 ? UINT32_MAX : after - 1;
}

static bool add_device_row(scan *s, uint32_t row, uint32_t shape, kino__place_kind kind)
{
    int64_t ts = s->trace->ts[row];
    uint32_t step = ts == KINO_NO_TIME ? UINT32_MAX : step_at(s->p, ts);
    return step == UINT32_MAX || add(s, step, row, shape, kind, s->trace->dur[row]);
}

static bool add_kernels(scan *s)
{
    for (size_t i = 0; i < s->p->kernels.count; i++) {
        const kino__kernel_info *k = &s->p->kernels.items[i];
        if (!k->is_communication && !add_device_row(s, k->row, k->shape, KINO__PLACE_KERNEL))
            return false;
    }
    return true;
}

static bool add_copies(scan *s)
{
    for (size_t t = 0; t < s->trace->tracks.count; t++) {
        const kino__track *track = &s->trace->tracks.items[t];
        uint32_t copies = 1u << KINO__EVENT_TYPE_MEMCPY | 1u << KINO__EVENT_TYPE_MEMSET;
        for (uint32_t row = track->first;
             s->p->types_of_track[t] & copies && row < track->first + track->count; row++)
            if (copies & 1u << s->p->type[row] && !add_device_row(s, row, 0, KINO__PLACE_COPY))
                return false;
    }
    return true;
}

/* -- the host -- */

static kino__place_kind kind_of(const scan *s, const kino__host_span *span)
{
    switch (span->kind) {
    case KINO__HOST_LOADER:
        return KINO__PLACE_LOADER;
    case KINO__HOST_GC:
        return KINO__PLACE_COLLECTION;
    case KINO__HOST_PYTHON:
        return KINO__PLACE_PYTHON;
    case KINO__HOST_OPERATOR:
        return kino__profile_role(s->p, span->row) == KINO__ROLE_COMMUNICATION
                   ? KINO__PLACE_NONE
                   : KINO__PLACE_OPERATOR;
    case KINO__HOST_ALLOCATION:
    case KINO__HOST_LAUNCH:
    case KINO__HOST_RUNTIME:
        return KINO__PLACE_CALL;
    default:
        return KINO__PLACE_NONE;
    }
}

/* What is below a data loader or a garbage collection is a part of it: of the span at its top. */
static bool add_spans(scan *s, uint32_t step)
{
    uint32_t top = KINO_NO_ROW;
    for (size_t i = 0; i < s->host.spans.count; i++) {
        const kino__host_span *span = &s->host.spans.items[i];
        kino__place_kind kind = kind_of(s, span);
        bool is_whole = kind == KINO__PLACE_LOADER || kind == KINO__PLACE_COLLECTION;
        uint32_t above = s->host.nesting->parent[span->row];
        bool is_below = is_whole && top != KINO_NO_ROW &&
                        kino__row_end(s->trace, top) >= kino__row_end(s->trace, span->row) &&
                        above != KINO_NO_ROW && above >= top;
        if (is_whole && !is_below)
            top = span->row;
        if (kind != KINO__PLACE_NONE &&
            !add(s, step, is_whole ? top : span->row, 0, kind, span->self))
            return false;
    }
    return true;
}

static bool add_track(scan *s, uint32_t track)
{
    kino__host_activity activity;
    for (uint32_t i = 0; i < s->p->steps.count; i++) {
        const kino__profile_step *step = &s->p->steps.items[i];
        if (!kino__host_look(&s->host, track, step->host_start, step->host_end, &activity) ||
            !add_spans(s, i))
            return false;
    }
    return true;
}

static bool add_host(scan *s)
{
    const uint32_t host_kinds = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_PYTHON) |
                                KINO__KIND_BIT(KINO__KIND_ANNOTATION) |
                                KINO__KIND_BIT(KINO__KIND_RUNTIME) |
                                KINO__KIND_BIT(KINO__KIND_DRIVER);
    if (!kino__host_init(&s->host, s->trace))
        return false;
    for (uint32_t t = 0; t < s->trace->tracks.count; t++) {
        const kino__track *track = &s->trace->tracks.items[t];
        if (track->kinds & host_kinds && track->kind != KINO__TRACK_DEVICE && !add_track(s, t))
            return false;
    }
    return true;
}

static bool has_off_cpu(const kino__trace *trace)
{
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kinds & KINO__KIND_BIT(KINO__KIND_OFF_CPU))
            return true;
    return false;
}

/* Threads that had to give their processor away. */
static bool add_preemptions(scan *s)
{
    const kino__string_pool *texts;
    if (!has_off_cpu(s->trace))
        return true;
    const kino_strid *state = kino__args_string_column(s->trace, "state", &texts);
    for (uint32_t row = 0; state && row < s->trace->event_count; row++) {
        if (s->trace->category[row] != KINO__CATEGORY_OFF_CPU || state[row] == KINO_NO_STRING ||
            s->trace->ts[row] == KINO_NO_TIME ||
            !kino__str_is(kino__string_pool_text(texts, state[row]), "preempted"))
            continue;
        uint32_t step = step_at(s->p, s->trace->ts[row]);
        if (step != UINT32_MAX && !add(s, step, row, 0, KINO__PLACE_PREEMPTED, s->trace->dur[row]))
            return false;
    }
    return state != NULL;
}

/* -- medians -- */

static int compare_sums(const void *a, const void *b)
{
    const sum *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

/* Of the steps in which a place does not occur its time is 0. */
static void set_medians(scan *s)
{
    size_t steps = s->p->steps.count, middle = (steps - 1) / 2;
    if (s->sums.count)
        qsort(s->sums.items, s->sums.count, sizeof *s->sums.items, compare_sums);
    for (size_t i = 0, next; i < s->sums.count; i = next) {
        kino__verdict_place *place = &s->out->items.items[s->sums.items[i].place].place;
        for (next = i; next < s->sums.count && s->sums.items[next].place == s->sums.items[i].place;)
            place->calls += s->sums.items[next++].calls;
        size_t absent = steps - (next - i);
        place->time = middle < absent ? 0 : s->sums.items[i + middle - absent].time;
    }
}

static int compare_places(const void *a, const void *b)
{
    const kino__named_place *x = a, *y = b;
    if (x->place.time != y->place.time)
        return x->place.time > y->place.time ? -1 : 1;
    int by_name = kino__str_compare(x->name, y->name);
    return by_name ? by_name : kino__str_compare(x->shape, y->shape);
}

static void keep_largest(scan *s)
{
    int64_t whole = 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->p->steps.count; i++)
        whole = kino__sum(whole, s->p->steps.items[i].end - s->p->steps.items[i].start);
    int64_t least = whole / (int64_t)s->p->steps.count / 100;
    if (s->out->items.count)
        qsort(s->out->items.items, s->out->items.count, sizeof *s->out->items.items,
              compare_places);
    while (kept < s->out->items.count && kept < KINO__MOST_PLACES &&
           s->out->items.items[kept].place.time > least)
        kept++;
    s->out->items.count = kept;
}

/* -- the whole -- */

static void places_free(void *value)
{
    kino__places *places = value;
    if (places)
        kino__vec_deinit(&places->items);
    free(places);
}

static void *places_make(const kino__trace *trace, void *context)
{
    scan s = {.p = context, .trace = trace, .out = calloc(1, sizeof *s.out)};
    kino__map_init(&s.places, NULL);
    kino__map_init(&s.cells, NULL);
    bool ok = s.out && add_kernels(&s) && add_copies(&s) && add_host(&s) && add_preemptions(&s);
    if (ok) {
        set_medians(&s);
        keep_largest(&s);
    }
    kino__map_deinit(&s.places);
    kino__map_deinit(&s.cells);
    kino__vec_deinit(&s.sums);
    kino__host_deinit(&s.host);
    if (ok)
        return s.out;
    places_free(s.out);
    return NULL;
}

const kino__places *kino__places_of(const kino__profile *profile)
{
    static const char key;
    static const kino__places none;
    if (profile->steps.count == 0)
        return &none;
    return kino__trace_attachment(profile->trace, &key, places_make, (void *)(uintptr_t)profile,
                                  places_free);
}
