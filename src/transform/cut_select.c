/* cut_select.c - which rows of a trace a cut keeps.
 *
 *   1. what fits: window or steps, category, name
 *   2. what device work needs: its launch and its op; the op of a kept call
 *   3. asynchronous events: all with an id that one of the kept has
 *   4. arrows: both points where both their spans are kept, else neither
 *   5. metadata events of processes and threads that still have events
 *
 * Each step is one pass over the rows. Spans are kept whole. */
#include <stdlib.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/search.h"
#include "base/str.h"
#include "transform/cut.h"

#define KINDS_WORK (KINO__KINDS_DEVICE | KINO__KIND_BIT(KINO__KIND_SYNC))

typedef struct range {
    int64_t start, end;
} range;

typedef struct selection {
    const kino__cut *cut;
    const kino__trace *trace;
    uint8_t *is_kept;
    const uint32_t *launch, *op;
    const kino__steps *steps;
    const kino__flows *flows;
    const kino__nesting *nesting;
    KINO__VEC(range) ranges;   /* times of the chosen steps, in order, apart */
    uint8_t *name_fits;        /* per string; NULL: all */
    uint8_t *category_fits;    /* per category id */
    uint8_t *category_dropped; /* per category id */
} selection;

static int64_t end_of(const kino__trace *trace, uint32_t row)
{
    int64_t dur = trace->dur[row], end;
    if (dur <= 0)
        return trace->ts[row];
    return __builtin_add_overflow(trace->ts[row], dur, &end) ? INT64_MAX : end;
}

/* Half-open, but what has no length lies where it starts. */
static bool overlaps(const kino__trace *trace, uint32_t row, int64_t from, int64_t to)
{
    int64_t start = trace->ts[row], end = end_of(trace, row);
    if (start == KINO_NO_TIME)
        return false;
    return start < to && (end > from || start >= from);
}

static bool is_flow(uint8_t phase)
{
    return phase == 's' || phase == 't' || phase == 'f';
}

static bool is_async(uint8_t phase)
{
    return phase == 'b' || phase == 'n' || phase == 'e';
}

/* Work on a device, whose place in a step is that of its launch. */
static bool is_work(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' &&
           KINO__KIND_BIT(kino__category_kind(trace->category[row])) & KINDS_WORK;
}

/* -- what fits */

static bool is_in_list(kino_str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kino__str_is(text, list[i]))
            return true;
    return false;
}

static bool prepare_categories(selection *s)
{
    const kino_cut_options *o = &s->cut->options;
    size_t count = (size_t)KINO__CATEGORY_NONE + 1;
    s->category_fits = calloc(count, 1);
    s->category_dropped = calloc(count, 1);
    if (!s->category_fits || !s->category_dropped)
        return false;
    size_t known = KINO__CATEGORY_COUNT + s->trace->own_categories.count;
    for (size_t c = 0; c < count; c++) {
        kino_str text = {"", 0};
        if (c < known)
            text = kino__trace_category_text(s->trace, (uint16_t)c);
        s->category_fits[c] =
            !o->category_count || (c < known && is_in_list(text, o->categories, o->category_count));
        s->category_dropped[c] = c < known && is_in_list(text, o->drop, o->drop_count);
    }
    return true;
}

static bool prepare_names(selection *s)
{
    const kino_cut_options *o = &s->cut->options;
    size_t count = kino__string_pool_count(&s->trace->strings);
    if (!o->name_count)
        return true;
    s->name_fits = calloc(count + 1, 1);
    for (size_t i = 0; s->name_fits && i < count; i++)
        for (size_t k = 0; k < o->name_count && !s->name_fits[i]; k++)
            s->name_fits[i] = kino__glob_match(kino__str_from(o->names[k]),
                                               kino__trace_string(s->trace, (kino_strid)i));
    return s->name_fits != NULL;
}

static bool is_chosen_step(const selection *s, uint32_t step)
{
    const kino_cut_options *o = &s->cut->options;
    if (step == KINO_NO_ROW)
        return false;
    int64_t number = s->steps->items[step].number;
    return (o->first_step == KINO_NO_INT || number >= o->first_step) &&
           (o->last_step == KINO_NO_INT || number <= o->last_step);
}

/* Steps come in order of start; ranges that touch or overlap become one. */
static bool prepare_steps(selection *s)
{
    for (uint32_t i = 0; s->cut->has_steps && i < s->steps->count; i++) {
        const kino__step *step = &s->steps->items[i];
        int64_t end = step->ts + step->dur;
        range *last = s->ranges.count ? &s->ranges.items[s->ranges.count - 1] : NULL;
        if (!is_chosen_step(s, i))
            continue;
        if (last && step->ts <= last->end) {
            last->end = end > last->end ? end : last->end;
            continue;
        }
        last = kino__vec_add(&s->ranges);
        if (!last)
            return false;
        *last = (range){step->ts, end};
    }
    return true;
}

static bool overlaps_steps(const selection *s, uint32_t row)
{
    /* the first range that ends behind the row's start */
    size_t low =
        KINO__SEARCH(size_t, i, 0, s->ranges.count, s->ranges.items[i].end <= s->trace->ts[row]);
    return low < s->ranges.count &&
           overlaps(s->trace, row, s->ranges.items[low].start, s->ranges.items[low].end);
}

static bool is_in_window(const selection *s, uint32_t row)
{
    const kino__cut *cut = s->cut;
    int64_t from = cut->from == KINO_NO_TIME ? INT64_MIN + 1 : cut->from;
    int64_t to = cut->to == KINO_NO_TIME ? INT64_MAX : cut->to;
    if (cut->from == KINO_NO_TIME && cut->to == KINO_NO_TIME)
        return true;
    if (overlaps(s->trace, row, from, to))
        return true;
    return is_work(s->trace, row) && s->launch[row] != KINO_NO_ROW &&
           overlaps(s->trace, s->launch[row], from, to);
}

/* Filters that ask nothing about time. */
static bool fits_itself(const selection *s, uint32_t row)
{
    uint16_t category = s->trace->category[row];
    kino_strid name = s->trace->name[row];
    return s->category_fits[category] && !s->category_dropped[category] &&
           (!s->name_fits || (name != KINO_NO_STRING && s->name_fits[name]));
}

static bool is_for_links(uint8_t phase)
{
    return phase == 'M' || is_flow(phase);
}

/* What stands beside the work of a stream (its annotations) is where the kept work is. */
static void keep_beside_work(selection *s, const kino__track *track)
{
    range extent = {INT64_MAX, INT64_MIN};
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        if (!s->is_kept[row])
            continue;
        int64_t end = end_of(s->trace, row);
        extent.start = s->trace->ts[row] < extent.start ? s->trace->ts[row] : extent.start;
        extent.end = end > extent.end ? end : extent.end;
    }
    for (uint32_t row = track->first; row - track->first < track->count; row++)
        if (!is_work(s->trace, row) && !is_for_links(s->trace->phase[row]) &&
            is_in_window(s, row) && fits_itself(s, row))
            s->is_kept[row] = overlaps(s->trace, row, extent.start, extent.end);
}

static void keep_fitting(selection *s)
{
    const kino__trace *trace = s->trace;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        bool is_device = track->kind == KINO__TRACK_DEVICE;
        for (uint32_t row = track->first; row - track->first < track->count; row++) {
            if (is_for_links(trace->phase[row]) || !fits_itself(s, row) || !is_in_window(s, row))
                continue;
            if (!s->cut->has_steps)
                s->is_kept[row] = 1;
            else if (is_work(trace, row))
                s->is_kept[row] = is_chosen_step(s, s->steps->of_row[row]);
            else if (!is_device)
                s->is_kept[row] = overlaps_steps(s, row);
        }
        if (s->cut->has_steps && is_device)
            keep_beside_work(s, track);
    }
}

/* -- what it needs */

static void keep_for_link(selection *s, uint32_t row, uint64_t *count)
{
    if (row == KINO_NO_ROW || s->is_kept[row] || s->category_dropped[s->trace->category[row]])
        return;
    s->is_kept[row] = 1;
    ++*count;
}

static void keep_links(selection *s, kino_cut_counts *counts)
{
    const kino__trace *trace = s->trace;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!s->is_kept[row])
            continue;
        if (is_work(trace, row)) {
            uint32_t call = s->launch[row];
            keep_for_link(s, call, &counts->launches);
            if (call != KINO_NO_ROW)
                keep_for_link(s, s->op[call], &counts->ops);
        }
        keep_for_link(s, s->op[row], &counts->ops);
    }
}

/* An asynchronous event is its begin, its steps and its end: all or none. */
static bool keep_async(selection *s)
{
    const kino__trace *trace = s->trace;
    kino__map kept;
    kino__map_init(&kept, NULL);
    bool ok = true;
    for (int pass = 0; pass < 2 && ok; pass++) {
        for (uint32_t row = 0; row < trace->event_count && ok; row++) {
            if (!is_async(trace->phase[row]) || trace->bind[row] == KINO__BIND_NONE)
                continue;
            bool is_text = trace->flags[row] & KINO__FLAG_ID_TEXT;
            uint64_t key = kino__hash_u64((uint64_t)kino__trace_bind_id(trace, row)) * 31 +
                           ((uint64_t)trace->category[row] << 1 | is_text);
            if (pass == 0 && s->is_kept[row])
                ok = kino__map_put(&kept, key, 1) != NULL;
            else if (pass == 1 && kino__map_get(&kept, key) &&
                     !s->category_dropped[trace->category[row]])
                s->is_kept[row] = 1;
        }
    }
    kino__map_deinit(&kept);
    return ok;
}

/* Is the end of an arrow kept? One that is bound to no span must lie in the window itself. */
static bool has_end(const selection *s, uint32_t point, uint32_t span)
{
    if (span != KINO_NO_ROW)
        return s->is_kept[span];
    if (s->cut->has_steps && !overlaps_steps(s, point))
        return false;
    return is_in_window(s, point) && !s->cut->options.category_count && !s->name_fits;
}

static bool keep_flows(selection *s)
{
    const kino__trace *trace = s->trace;
    uint8_t *is_paired = calloc((size_t)trace->event_count + 1, 1);
    if (!is_paired)
        return false;
    for (size_t i = 0; i < s->flows->count; i++) {
        const kino__flow *flow = &s->flows->items[i];
        is_paired[flow->from] = is_paired[flow->to] = 1;
        if (has_end(s, flow->from, flow->from_span) && has_end(s, flow->to, flow->to_span) &&
            !s->category_dropped[trace->category[flow->from]])
            s->is_kept[flow->from] = s->is_kept[flow->to] = 1;
    }
    /* points that never had a partner go with the span around them */
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (is_flow(trace->phase[row]) && !is_paired[row])
            s->is_kept[row] = has_end(s, row, s->nesting->parent[row]) &&
                              !s->category_dropped[trace->category[row]];
    free(is_paired);
    return true;
}

/* -- metadata events */

static bool has_kept(const selection *s, const kino__track *track)
{
    for (uint32_t row = track->first; row - track->first < track->count; row++)
        if (s->is_kept[row])
            return true;
    return false;
}

static void keep_metadata_of(selection *s, const kino__track *track, bool has_thread)
{
    const kino__trace *trace = s->trace;
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        if (trace->phase[row] != 'M')
            continue;
        kino_str name = kino__trace_string(trace, trace->name[row]);
        s->is_kept[row] = has_thread || kino__str_starts_with(name, KINO__STR("process_"));
    }
}

static bool keep_metadata(selection *s)
{
    const kino__trace *trace = s->trace;
    size_t count = trace->tracks.count;
    uint8_t *has_thread = calloc(count + 1, 1);
    kino__map processes;
    kino__map_init(&processes, NULL);
    bool ok = has_thread != NULL;
    for (size_t t = 0; t < count && ok; t++) {
        has_thread[t] = has_kept(s, &trace->tracks.items[t]);
        if (has_thread[t])
            ok = kino__map_put(&processes, kino__label_hash(&trace->tracks.items[t].pid), 1);
    }
    for (size_t t = 0; t < count && ok; t++)
        if (kino__map_get(&processes, kino__label_hash(&trace->tracks.items[t].pid)))
            keep_metadata_of(s, &trace->tracks.items[t], has_thread[t]);
    kino__map_deinit(&processes);
    free(has_thread);
    return ok;
}

/* -- the whole */

static bool prepare(selection *s)
{
    s->launch = kino__link_launch(s->trace);
    s->op = kino__link_op(s->trace);
    s->steps = kino__link_steps(s->trace);
    s->flows = kino__link_flows(s->trace);
    s->nesting = kino__link_nesting(s->trace);
    return s->launch && s->op && s->steps && s->flows && s->nesting && prepare_categories(s) &&
           prepare_names(s) && prepare_steps(s);
}

static uint64_t count_kept(const selection *s)
{
    uint64_t count = 0;
    for (uint32_t row = 0; row < s->trace->event_count; row++)
        count += s->is_kept[row];
    return count;
}

static bool select_rows(selection *s, kino_cut_counts *counts, bool *has_any)
{
    if (!prepare(s))
        return false;
    keep_fitting(s);
    keep_links(s, counts);
    if (!keep_async(s) || !keep_flows(s))
        return false;
    *has_any = count_kept(s) > 0;
    if (!keep_metadata(s))
        return false;
    counts->events += s->trace->event_count;
    counts->kept += count_kept(s);
    return true;
}

/* is_kept is written to by way of the selection: NOLINTNEXTLINE(readability-non-const-parameter) */
kino_status kino__cut_select(const kino__cut *cut, const kino__trace *trace, uint8_t *is_kept,
                             kino_cut_counts *counts, bool *has_any, kino_error *err)
{
    selection s = {.cut = cut, .trace = trace, .is_kept = is_kept};
    bool ok = select_rows(&s, counts, has_any);
    kino__vec_deinit(&s.ranges);
    free(s.name_fits);
    free(s.category_fits);
    free(s.category_dropped);
    return ok ? KINO_OK : kino__fail_nomem(err);
}
