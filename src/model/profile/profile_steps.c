/* profile_steps.c - ranges of the roles, steps with the device work they launched, and where the
 * time of each step went.
 *
 * A moment belongs to the first role that is at work: kernel, communication, copy, set, runtime
 * call, data loader, operator of the host; what is left is "other". So the parts of a step add up
 * to it. Where no kernel runs, operators and the data loader come before communication. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/search.h"
#include "model/profile/profile_internal.h"
#include "store/link.h"

const char *kino__role_name(kino__role role)
{
    static const char *const names[] = {"Kernel",  "Memcpy",     "Memset",   "Communication",
                                        "Runtime", "DataLoader", "CPU Exec", "Other"};
    return names[role];
}

/* -- ranges */

/* A span of the host. The plugin takes annotations for work; they are only ranges around it. */
static kino__role role_of_span(const kino__profile *p, uint32_t row)
{
    uint32_t flags = kino__profile_flags(p, row);
    bool is_collective = kino__profile_is_collective(p, row);
    if (is_collective && (p->is_compat || kino__profile_is_on_host(p, row)))
        return KINO__ROLE_COMMUNICATION;
    if (flags & KINO__NAME_LOADER)
        return KINO__ROLE_LOADER;
    if (p->is_compat)
        return KINO__ROLE_CPU;
    if (flags & KINO__NAME_COMM_WAIT && !p->has_kernel)
        return KINO__ROLE_COMMUNICATION;
    return p->type[row] == KINO__EVENT_TYPE_ANNOTATION || flags & KINO__NAME_CONTAINER
               ? KINO__ROLE_COUNT
               : KINO__ROLE_CPU;
}

kino__role kino__profile_role(const kino__profile *p, uint32_t row)
{
    switch (p->type[row]) {
    case KINO__EVENT_TYPE_KERNEL:
        return KINO__ROLE_KERNEL;
    case KINO__EVENT_TYPE_MEMCPY:
        return KINO__ROLE_MEMCPY;
    case KINO__EVENT_TYPE_MEMSET:
        return KINO__ROLE_MEMSET;
    case KINO__EVENT_TYPE_RUNTIME:
        return KINO__ROLE_RUNTIME;
    case KINO__EVENT_TYPE_OPERATOR:
    case KINO__EVENT_TYPE_ANNOTATION:
        return role_of_span(p, row);
    case KINO__EVENT_TYPE_PYTHON:
        return KINO__ROLE_CPU;
    case KINO__EVENT_TYPE_PYTHON_FUNCTION: /* what it calls says more, but for waiting for data */
        return !p->is_compat && kino__profile_flags(p, row) & KINO__NAME_LOADER_FRAME
                   ? KINO__ROLE_LOADER
                   : KINO__ROLE_COUNT;
    default:
        return KINO__ROLE_COUNT;
    }
}

/* Spans of a track come by start: what lies in the one before is left out at once. */
static bool add_range(kino__intervals *ranges, size_t first, kino__interval range)
{
    if (ranges->count > first) {
        kino__interval *last = &ranges->items[ranges->count - 1];
        if (range.start <= last->end) {
            last->end = range.end > last->end ? range.end : last->end;
            return true;
        }
    }
    kino__interval *slot = kino__vec_add(ranges);
    if (slot)
        *slot = range;
    return slot != NULL;
}

/* Where collectives run on a thread, not all of its operators work; see profile_thread.c. The
 * ranges of the track begin at `first`. */
static bool remove_communication(kino__profile *p, const kino__track *track, const size_t *first)
{
    kino__intervals *work = &p->ranges[KINO__ROLE_CPU];
    if (work->count == first[KINO__ROLE_CPU] ||
        p->ranges[KINO__ROLE_COMMUNICATION].count == first[KINO__ROLE_COMMUNICATION])
        return true;
    work->count = first[KINO__ROLE_CPU];
    return kino__profile_thread_work(p, track, work);
}

static bool add_track(kino__profile *p, const kino__track *track, size_t *kernel)
{
    size_t first[KINO__ROLE_COUNT];
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        first[r] = p->ranges[r].count;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        kino__role role;
        if (p->type[row] == KINO__EVENT_TYPE_KERNEL) {
            const kino__kernel_info *k = &p->kernels.items[(*kernel)++];
            role = k->is_communication ? KINO__ROLE_COMMUNICATION : KINO__ROLE_KERNEL;
        } else {
            role = kino__profile_role(p, row);
        }
        if (role != KINO__ROLE_COUNT &&
            !add_range(&p->ranges[role], first[role],
                       kino__interval_of(p->trace->ts[row], p->trace->dur[row])))
            return false;
    }
    return p->is_compat || remove_communication(p, track, first);
}

static bool find_ranges(kino__profile *p)
{
    size_t kernel = 0;
    for (size_t t = 0; t < p->trace->tracks.count; t++)
        if (!add_track(p, &p->trace->tracks.items[t], &kernel))
            return false;
    for (int r = 0; r < KINO__ROLE_COUNT; r++) {
        kino__intervals *ranges = &p->ranges[r];
        if (!kino__sort_runs(ranges->items, ranges->count))
            return false;
        ranges->count = kino__intervals_unite(ranges->items, ranges->count);
        kino__vec_trim(ranges);
    }
    p->has_communication = p->comm.count > 0;
    return true;
}

/* -- steps as the host has them */

static int compare_steps(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    const kino__profile_step *x = a, *y = b;
    if (x->host_start != y->host_start)
        return x->host_start < y->host_start ? -1 : 1;
    return trace->number[x->row] < trace->number[y->row]
               ? -1
               : trace->number[x->row] > trace->number[y->row];
}

static bool add_step(kino__profile *p, kino_str name, uint32_t row, kino__interval range)
{
    kino__profile_step *step = kino__vec_add(&p->steps);
    if (!step)
        return false;
    *step = (kino__profile_step){
        .name = name, .row = row, .host_start = range.start, .host_end = range.end};
    if (!kino__str_to_int(name, &step->number))
        step->number = KINO_NO_INT;
    return true;
}

/* Does the type count for the one step of a trace that has none? */
static bool spans_step(const kino__profile *p, uint8_t type, bool is_last_resort)
{
    bool is_host = type == KINO__EVENT_TYPE_PYTHON || type == KINO__EVENT_TYPE_OPERATOR ||
                   type == KINO__EVENT_TYPE_STEP;
    return is_host || (is_last_resort && !p->is_compat && type != KINO__EVENT_TYPE_NONE &&
                       type != KINO__EVENT_TYPE_MEMORY);
}

static bool add_only_step(kino__profile *p)
{
    for (int resort = 0; resort < 2; resort++) {
        kino__interval range = {INT64_MAX, INT64_MIN};
        for (uint32_t row = 0; row < p->trace->event_count; row++) {
            if (!spans_step(p, p->type[row], resort))
                continue;
            int64_t start = p->trace->ts[row], end = kino__row_end(p->trace, row);
            range.start = start < range.start ? start : range.start;
            range.end = end > range.end ? end : range.end;
        }
        if (range.start <= range.end)
            return add_step(p, KINO__STR("0"), KINO_NO_ROW, range);
    }
    return true;
}

/* As its mark has it; iterations have numbers of ours. */
static kino_str step_name(kino__profile *p, const kino__step *step)
{
    if (step->source != KINO__STEP_MARKED) {
        char digits[KINO__DECIMAL_MAX];
        kino_str text = {digits, kino__format_int(step->number, digits)};
        kino_strid id = kino__string_pool_add(&p->texts, text);
        return id == KINO_NO_STRING ? (kino_str){NULL, 0} : kino__string_pool_text(&p->texts, id);
    }
    kino_str name = kino__trace_string(p->trace, p->trace->name[step->row]);
    const char *mark = memchr(name.data, '#', name.size);
    size_t skip = mark ? (size_t)(mark + 1 - name.data) : 0;
    return (kino_str){name.data + skip, name.size - skip};
}

/* As everywhere but in the plugin. */
static bool take_steps(kino__profile *p)
{
    if (!kino__step_map_init(&p->step_map, p->trace))
        return false;
    for (size_t i = 0; i < p->step_map.steps.count; i++) {
        const kino__step *from = &p->step_map.steps.items[i];
        kino_str name = step_name(p, from);
        if (!name.data ||
            !add_step(p, name, from->row, (kino__interval){from->ts, from->ts + from->dur}))
            return false;
        p->steps.items[i].number = from->number;
        p->has_step_events = true;
        p->step_source = from->source;
    }
    return true;
}

static bool scan_steps(kino__profile *p)
{
    const kino__trace *trace = p->trace;
    for (uint32_t row = 0; row < trace->event_count && p->has_step_events; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_STEP)
            continue;
        kino_str name = kino__trace_string(trace, trace->name[row]);
        const char *mark = memchr(name.data, '#', name.size);
        size_t skip = (size_t)(mark + 1 - name.data);
        if (!add_step(p, (kino_str){mark + 1, name.size - skip}, row,
                      kino__interval_of(trace->ts[row], trace->dur[row])))
            return false;
    }
    if (p->steps.count)
        qsort_r(p->steps.items, p->steps.count, sizeof *p->steps.items, compare_steps,
                (void *)(uintptr_t)trace);
    return true;
}

static bool find_host_steps(kino__profile *p)
{
    if (!(p->is_compat ? scan_steps(p) : take_steps(p)))
        return false;
    return p->steps.count || add_only_step(p);
}

/* -- steps with their device work */

typedef struct device_span {
    int64_t start, end; /* of the step's device work; start > end: none */
} device_span;

static int compare_launch_start(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    uint32_t x = ((const kino__launch *)a)->row, y = ((const kino__launch *)b)->row;
    if (trace->ts[x] != trace->ts[y])
        return trace->ts[x] < trace->ts[y] ? -1 : 1;
    return trace->number[x] < trace->number[y] ? -1 : trace->number[x] > trace->number[y];
}

/* Launches with work, by start, each once. */
static kino__launch *sorted_launches(const kino__profile *p, size_t *count)
{
    kino__launch *all = malloc((p->launches.count + 1) * sizeof *all);
    *count = 0;
    for (size_t i = 0; i < p->launches.count && all; i++)
        if (p->launches.items[i].row != KINO_NO_ROW && p->launches.items[i].work_count)
            all[(*count)++] = p->launches.items[i];
    if (!all || *count == 0)
        return all;
    qsort_r(all, *count, sizeof *all, compare_launch_start, (void *)(uintptr_t)p->trace);
    size_t kept = 1;
    for (size_t i = 1; i < *count; i++)
        if (all[i].row != all[kept - 1].row)
            all[kept++] = all[i];
    *count = kept;
    return all;
}

static void take_row(const kino__profile *p, uint32_t row, kino__profile_step *step,
                     device_span *span, uint8_t *is_taken)
{
    int64_t start = p->trace->ts[row], end = kino__row_end(p->trace, row);
    span->start = start < span->start ? start : span->start;
    span->end = end > span->end ? end : span->end;
    is_taken[row] = 1;
    step->work_count++;
}

/* The only step of a trace without any has all. */
static uint32_t step_of(const kino__profile *p, const uint32_t *launch, uint32_t row, size_t *hint)
{
    return p->step_map.steps.count ? kino__step_map_find(&p->step_map, p->trace, launch, row, hint)
                                   : 0;
}

/* Device work belongs to the step that link_steps.c gives it: that of its launch; of work that
 * nothing launched the one that it starts in. */
static bool take_linked(kino__profile *p, device_span *spans, uint8_t *is_taken)
{
    const uint32_t *launch = kino__link_launch(p->trace);
    size_t hint = SIZE_MAX;
    for (size_t t = 0; launch && t < p->trace->tracks.count; t++) {
        const kino__track *track = &p->trace->tracks.items[t];
        if (!(p->types_of_track[t] & KINO__DEVICE_TYPES))
            continue;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (!kino__type_is_device(p->type[row]))
                continue;
            uint32_t step = step_of(p, launch, row, &hint);
            if (step != KINO_NO_ROW)
                take_row(p, row, &p->steps.items[step], &spans[step], is_taken);
        }
    }
    return launch != NULL;
}

static void take_work(kino__profile *p, const kino__launch *launch, kino__profile_step *step,
                      device_span *span, uint8_t *is_taken)
{
    for (uint32_t w = 0; w < launch->work_count; w++) {
        uint32_t row = p->work.items[launch->first_work + w];
        if (is_taken[row]) /* the launch stands under two nodes */
            return;
        take_row(p, row, step, span, is_taken);
    }
}

/* Both lists by start: a launch that lies wholly in a step belongs to it; one that crosses an edge
 * to none. Of steps that overlap the first that has not ended takes it. */
static void match_sorted(kino__profile *p, const kino__launch *launches, size_t count,
                         device_span *spans, uint8_t *is_taken)
{
    size_t s = 0, l = 0;
    while (s < p->steps.count && l < count) {
        kino__profile_step *step = &p->steps.items[s];
        int64_t start = p->trace->ts[launches[l].row];
        int64_t end = kino__row_end(p->trace, launches[l].row);
        if (start >= step->host_start && end <= step->host_end) {
            take_work(p, &launches[l], step, &spans[s], is_taken);
            l++;
        } else if (start < step->host_end) {
            l++;
        } else {
            s++;
        }
    }
}

static bool are_disjoint(const kino__profile *p)
{
    for (size_t i = 1; i < p->steps.count; i++)
        if (p->steps.items[i].host_start <= p->steps.items[i - 1].host_end)
            return false;
    return true;
}

/* The last step that starts at or before a moment; `hint` is the answer to the last question, and
 * mostly to this one. */
static size_t find_step(const kino__profile *p, int64_t moment, size_t hint)
{
    const kino__profile_step *steps = p->steps.items;
    size_t low = 0, high = p->steps.count;
    if (steps[hint].host_start <= moment &&
        (hint + 1 == high || moment < steps[hint + 1].host_start))
        return hint;
    return KINO__SEARCH_LAST(size_t, i, low, high, steps[i].host_start <= moment);
}

/* Steps that do not overlap need no order of launches. */
static bool match_launches(kino__profile *p, device_span *spans, uint8_t *is_taken)
{
    if (!are_disjoint(p)) {
        size_t count;
        kino__launch *launches = sorted_launches(p, &count);
        if (launches)
            match_sorted(p, launches, count, spans, is_taken);
        free(launches);
        return launches != NULL;
    }
    size_t s = 0;
    for (size_t i = 0; i < p->launches.count; i++) {
        const kino__launch *launch = &p->launches.items[i];
        if (launch->row == KINO_NO_ROW || launch->work_count == 0)
            continue;
        int64_t start = p->trace->ts[launch->row], end = kino__row_end(p->trace, launch->row);
        s = find_step(p, start, s);
        kino__profile_step *step = &p->steps.items[s];
        if (start >= step->host_start && end <= step->host_end)
            take_work(p, launch, step, &spans[s], is_taken);
    }
    return true;
}

/* Device work of before the first step pushes its start. */
static int64_t first_start(const kino__profile *p, const device_span *spans,
                           const uint8_t *is_taken)
{
    int64_t start = p->steps.items[0].host_start;
    if (p->steps.items[0].work_count == 0)
        return start;
    for (size_t t = 0; t < p->trace->tracks.count; t++) {
        const kino__track *track = &p->trace->tracks.items[t];
        if (!(p->types_of_track[t] & KINO__DEVICE_TYPES))
            continue;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (p->trace->ts[row] != KINO_NO_TIME && p->trace->ts[row] >= spans[0].start)
                break;
            if (is_taken[row] || !kino__type_is_device(p->type[row]))
                continue;
            int64_t end = kino__row_end(p->trace, row);
            if (end < spans[0].start && end > start)
                start = end;
        }
    }
    return start;
}

/* Kernels of the first step that waited in a queue although nothing else seems to run: the device
 * was busy with what was launched before the recording began. */
enum { QUEUED_NS = 100000 };

typedef struct early_work {
    uint32_t kernel;   /* the first of the first step that has a launch, KINO_NO_ROW: none */
    int64_t early_end; /* of work without a launch that started before it, INT64_MIN: none */
    int64_t own_end;   /* of other work that started before it; at most its own start */
} early_work;

static bool is_device_row(const kino__profile *p, uint32_t row)
{
    return kino__type_is_device(p->type[row]) && p->trace->ts[row] != KINO_NO_TIME;
}

static early_work find_early(const kino__profile *p, const uint32_t *launch)
{
    early_work w = {p->step_map.first_kernel, INT64_MIN, INT64_MIN};
    for (size_t t = 0; w.kernel != KINO_NO_ROW && t < p->trace->tracks.count; t++) {
        const kino__track *track = &p->trace->tracks.items[t];
        if (!(p->types_of_track[t] & KINO__DEVICE_TYPES))
            continue;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (!is_device_row(p, row))
                continue;
            if (p->trace->ts[row] >= p->trace->ts[w.kernel])
                break;
            int64_t end = kino__row_end(p->trace, row), begun = p->trace->ts[w.kernel];
            bool is_own = launch[row] != KINO_NO_ROW;
            int64_t *latest = is_own ? &w.own_end : &w.early_end;
            end =
                is_own && end > begun ? begun : end; /* busy with this, not with what is unknown */
            if (end > *latest)
                *latest = end;
        }
    }
    return w;
}

/* The host may be ahead of the device when the recording begins: the first step then begins, as all
 * others do, when the device has ended the one before. */
static int64_t own_start(const kino__profile *p)
{
    int64_t start = p->steps.items[0].host_start;
    const uint32_t *launch = kino__link_launch(p->trace);
    early_work w = {KINO_NO_ROW, INT64_MIN, INT64_MIN};
    if (launch)
        w = find_early(p, launch);
    if (w.kernel == KINO_NO_ROW)
        return start;
    int64_t called = kino__row_end(p->trace, launch[w.kernel]);
    int64_t begun = p->trace->ts[w.kernel];
    if (w.early_end != INT64_MIN)
        return w.early_end > start ? w.early_end : start;
    return begun - (w.own_end > called ? w.own_end : called) > QUEUED_NS && begun > start ? begun
                                                                                          : start;
}

static void set_bounds(kino__profile *p, const device_span *spans, int64_t before)
{
    for (size_t i = 0; i < p->steps.count; i++) {
        kino__profile_step *step = &p->steps.items[i];
        step->start = before > step->host_start ? before : step->host_start;
        int64_t end = step->work_count ? spans[i].end : step->start;
        step->end = step->host_end > end ? step->host_end : end;
        if (step->end < step->start)
            step->end = step->start;
        before = step->end;
    }
}

/* The plugin leaves out steps at the end that launched nothing, or much less than the one before;
 * we count all. */
static void remove_tail(kino__profile *p)
{
    size_t count = p->steps.count;
    while (count > 1 && p->steps.items[count - 1].work_count == 0)
        count--;
    if (count > 1 && (uint64_t)p->steps.items[count - 2].work_count * 8 >
                         (uint64_t)p->steps.items[count - 1].work_count * 10)
        count--;
    p->steps.count = count;
}

static bool extend_steps(kino__profile *p)
{
    size_t steps = p->steps.count;
    device_span *spans = malloc((steps + 1) * sizeof *spans);
    uint8_t *is_taken = calloc((size_t)p->trace->event_count + 1, 1);
    bool ok = spans && is_taken;
    for (size_t i = 0; ok && i < steps; i++)
        spans[i] = (device_span){INT64_MAX, INT64_MIN};
    ok =
        ok && (p->is_compat ? match_launches(p, spans, is_taken) : take_linked(p, spans, is_taken));
    bool has_work = false;
    for (size_t i = 0; ok && i < steps; i++) {
        kino__profile_step *step = &p->steps.items[i];
        step->start = step->host_start;
        step->end = step->host_end;
        step->device_start = step->work_count ? spans[i].start : KINO_NO_TIME;
        step->device_end = step->work_count ? spans[i].end : KINO_NO_TIME;
        has_work |= step->work_count > 0;
    }
    if (ok && p->is_compat && has_work) {
        set_bounds(p, spans, first_start(p, spans, is_taken));
        remove_tail(p);
    } else if (ok && !p->is_compat) {
        set_bounds(p, spans, own_start(p)); /* steps inside steps count once, too */
    }
    free(spans);
    free(is_taken);
    return ok;
}

/* -- where the time went */

/* Adds, for each step, what of the list lies in it. Both are in order. */
static void add_costs(kino__profile *p, const kino__intervals *part, size_t offset)
{
    size_t i = 0;
    for (size_t s = 0; s < p->steps.count; s++) {
        kino__profile_step *step = &p->steps.items[s];
        while (i < part->count && part->items[i].end <= step->start)
            i++;
        for (size_t k = i; k < part->count && part->items[k].start < step->end; k++) {
            int64_t start = part->items[k].start, end = part->items[k].end;
            start = start > step->start ? start : step->start;
            end = end < step->end ? end : step->end;
            if (end > start)
                *(int64_t *)(void *)((char *)step + offset) += end - start;
        }
    }
}

static bool unite_steps(const kino__profile *p, kino__intervals *out)
{
    out->count = 0;
    for (size_t i = 0; i < p->steps.count; i++)
        if (!add_range(out, 0, (kino__interval){p->steps.items[i].start, p->steps.items[i].end}))
            return false;
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

/* Steps without length that touch no other: the plugin holds them for free time, too. */
static bool find_points(const kino__profile *p, kino__intervals *points)
{
    points->count = 0;
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        bool touches = (i > 0 && p->steps.items[i - 1].end >= step->start) ||
                       (i + 1 < p->steps.count && p->steps.items[i + 1].start <= step->end);
        kino__interval *slot = NULL;
        if (step->start == step->end && !touches && !(slot = kino__vec_add(points)))
            return false;
        if (slot)
            *slot = (kino__interval){step->start, step->end};
    }
    return true;
}

static void remove_points(kino__intervals *points, const kino__intervals *ranges)
{
    size_t kept = 0, r = 0;
    for (size_t i = 0; i < points->count; i++) {
        while (r < ranges->count && ranges->items[r].end <= points->items[i].start)
            r++;
        if (r == ranges->count || ranges->items[r].start > points->items[i].start)
            points->items[kept++] = points->items[i];
    }
    points->count = kept;
}

/* Communication has what computation leaves of it, so that its part of the step is the exposed
 * communication that all pages speak of: kernels compute, on a CPU operators. (The plugin puts
 * copies before it.) Work of the host counts only while the device has none. */
const uint8_t *kino__profile_role_order(const kino__profile *p)
{
    static const uint8_t plugin[] = {
        KINO__ROLE_KERNEL,  KINO__ROLE_MEMCPY, KINO__ROLE_MEMSET, KINO__ROLE_COMMUNICATION,
        KINO__ROLE_RUNTIME, KINO__ROLE_LOADER, KINO__ROLE_CPU};
    static const uint8_t device[] = {KINO__ROLE_KERNEL, KINO__ROLE_COMMUNICATION, KINO__ROLE_MEMCPY,
                                     KINO__ROLE_MEMSET, KINO__ROLE_RUNTIME,       KINO__ROLE_LOADER,
                                     KINO__ROLE_CPU};
    static const uint8_t host[] = {KINO__ROLE_KERNEL, KINO__ROLE_MEMCPY, KINO__ROLE_MEMSET,
                                   KINO__ROLE_LOADER, KINO__ROLE_CPU,    KINO__ROLE_COMMUNICATION,
                                   KINO__ROLE_RUNTIME};
    return p->is_compat ? plugin : p->has_kernel ? device : host;
}

/* The plugin starts anew when higher roles have filled all steps (D4); we do not. */
static bool break_down(kino__profile *p)
{
    kino__intervals free_time = {0}, part = {0}, rest = {0}, points = {0};
    const uint8_t *order = kino__profile_role_order(p);
    bool ok = true;
    for (int i = 0; ok && i < KINO__ROLE_OTHER; i++) {
        int role = order[i];
        const kino__intervals *ranges = &p->ranges[role];
        bool is_filled = free_time.count == 0 && points.count == 0;
        if (i == 0 || (p->is_compat && is_filled)) {
            ok = unite_steps(p, &free_time) && find_points(p, &points);
        } else {
            ok = kino__intervals_intersect(&free_time, ranges, &part);
            ranges = &part;
        }
        if (ok)
            add_costs(p, ranges, offsetof(kino__profile_step, cost) + (size_t)role * 8);
        remove_points(&points, &p->ranges[role]);
        ok = ok && kino__intervals_subtract(&free_time, ranges, &rest);
        kino__intervals swap = free_time;
        free_time = rest;
        rest = swap;
    }
    if (ok)
        add_costs(p, &free_time, offsetof(kino__profile_step, cost) + (size_t)KINO__ROLE_OTHER * 8);
    kino__vec_deinit(&free_time);
    kino__vec_deinit(&part);
    kino__vec_deinit(&rest);
    kino__vec_deinit(&points);
    return ok;
}

/* Computation is the kernels, or the host's work where there are none. */
static bool split_communication(kino__profile *p)
{
    const kino__intervals *comp = &p->ranges[p->has_kernel ? KINO__ROLE_KERNEL : KINO__ROLE_CPU];
    const kino__intervals *comm = &p->ranges[KINO__ROLE_COMMUNICATION];
    kino__intervals both = {0};
    bool ok = kino__intervals_intersect(comp, comm, &both);
    if (ok) {
        add_costs(p, comp, offsetof(kino__profile_step, computation));
        add_costs(p, comm, offsetof(kino__profile_step, communication));
        add_costs(p, &both, offsetof(kino__profile_step, overlap));
    }
    kino__vec_deinit(&both);
    return ok;
}

/* Records belong to the step of their span (the host's, where there is one), however far the device
 * is behind: calls of several ranks are matched by it. */
static bool place_records(kino__profile *p)
{
    const uint32_t *launch = kino__link_launch(p->trace);
    size_t hint = SIZE_MAX;
    for (size_t r = 0; launch && r < p->comm.count; r++)
        p->comm.items[r].step = step_of(p, launch, p->comm.items[r].row, &hint);
    return launch != NULL;
}

/* The plugin: to the step that their span lies wholly in. */
static void place_within(kino__profile *p)
{
    size_t s = 0, r = 0;
    while (s < p->steps.count && r < p->comm.count) {
        kino__comm_record *record = &p->comm.items[r];
        int64_t start = p->trace->ts[record->row], end = kino__row_end(p->trace, record->row);
        const kino__profile_step *step = &p->steps.items[s];
        if (start >= step->end) {
            s++;
            continue;
        }
        if (start >= step->start && end <= step->end)
            record->step = (uint32_t)s;
        r++;
    }
}

/* The window of the utilisation series: the profiler's own span, else everything. */
static void find_window(kino__profile *p)
{
    const kino__trace *trace = p->trace;
    kino__interval all = {INT64_MAX, INT64_MIN}, own = {0, -1};
    int64_t own_at = INT64_MIN;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (p->type[row] == KINO__EVENT_TYPE_NONE || p->type[row] == KINO__EVENT_TYPE_MEMORY)
                continue;
            int64_t start = trace->ts[row], end = kino__row_end(trace, row);
            all.start = start < all.start ? start : all.start;
            all.end = end > all.end ? end : all.end;
            if (p->type[row] == KINO__EVENT_TYPE_TRACE && start >= own_at &&
                kino__str_is(kino__trace_string(trace, trace->name[row]), "PyTorch Profiler (0)")) {
                own = (kino__interval){start, end};
                own_at = start;
            }
        }
    }
    kino__interval window = own.start <= own.end ? own : all;
    p->window_start = window.start <= window.end ? window.start : 0;
    p->window_end = window.start <= window.end ? window.end : 0;
}

bool kino__profile_find_steps(kino__profile *p)
{
    find_window(p);
    if (!find_host_steps(p))
        return false;
    p->step_count_found = p->steps.count;
    if (p->steps.count == 0)
        return true;
    if (!extend_steps(p))
        return false;
    if (!p->is_compat)
        return place_records(p);
    place_within(p);
    return true;
}

bool kino__profile_break_down(kino__profile *p)
{
    return find_ranges(p) && (p->steps.count == 0 || (break_down(p) && split_communication(p)));
}
