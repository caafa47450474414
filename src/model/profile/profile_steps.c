/* profile_steps.c - ranges of the roles, steps with the device work they launched, and where the
 * time of each step went.
 *
 * A moment belongs to the first role that is at work: kernel, copy, set, communication, runtime
 * call, data loader, other work of the host; what is left is "other". So the parts of a step add up
 * to it. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"

const char *kino__role_name(kino__role role)
{
    static const char *const names[] = {"Kernel",  "Memcpy",     "Memset",   "Communication",
                                        "Runtime", "DataLoader", "CPU Exec", "Other"};
    return names[role];
}

/* -- ranges */

/* The role of a row that is not a kernel, KINO__ROLE_COUNT for none. */
static kino__role role_of(const kino__profile *p, uint32_t row)
{
    switch (p->type[row]) {
    case KINO__EVENT_TYPE_MEMCPY:
        return KINO__ROLE_MEMCPY;
    case KINO__EVENT_TYPE_MEMSET:
        return KINO__ROLE_MEMSET;
    case KINO__EVENT_TYPE_RUNTIME:
        return KINO__ROLE_RUNTIME;
    case KINO__EVENT_TYPE_OPERATOR:
    case KINO__EVENT_TYPE_ANNOTATION:
        if (kino__profile_is_collective(p, row))
            return KINO__ROLE_COMMUNICATION;
        return kino__profile_flags(p, row) & KINO__NAME_LOADER ? KINO__ROLE_LOADER : KINO__ROLE_CPU;
    case KINO__EVENT_TYPE_PYTHON:
        return KINO__ROLE_CPU;
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
            role = role_of(p, row);
        }
        if (role != KINO__ROLE_COUNT &&
            !add_range(&p->ranges[role], first[role],
                       kino__interval_of(p->trace->ts[row], p->trace->dur[row])))
            return false;
    }
    return true;
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

static bool find_host_steps(kino__profile *p)
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
    if (p->steps.count == 0)
        return add_only_step(p);
    qsort_r(p->steps.items, p->steps.count, sizeof *p->steps.items, compare_steps,
            (void *)(uintptr_t)trace);
    return true;
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

static void take_work(kino__profile *p, const kino__launch *launch, kino__profile_step *step,
                      device_span *span, uint8_t *is_taken)
{
    for (uint32_t w = 0; w < launch->work_count; w++) {
        uint32_t row = p->work.items[launch->first_work + w];
        int64_t start = p->trace->ts[row], end = kino__row_end(p->trace, row);
        if (is_taken[row]) /* the launch stands under two nodes */
            return;
        span->start = start < span->start ? start : span->start;
        span->end = end > span->end ? end : span->end;
        is_taken[row] = 1;
        step->work_count++;
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
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].host_start <= moment)
            low = middle;
        else
            high = middle;
    }
    return low;
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

/* The last steps of a trace are often cut: they launched nothing, or much less than the one
 * before. */
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
    ok = ok && match_launches(p, spans, is_taken);
    bool has_work = false;
    for (size_t i = 0; ok && i < steps; i++) {
        p->steps.items[i].start = p->steps.items[i].host_start;
        p->steps.items[i].end = p->steps.items[i].host_end;
        has_work |= p->steps.items[i].work_count > 0;
    }
    if (ok && has_work) {
        set_bounds(p, spans, first_start(p, spans, is_taken));
        remove_tail(p);
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

/* The plugin starts anew when higher roles have filled all steps (D4); we do not. */
static bool break_down(kino__profile *p)
{
    kino__intervals free_time = {0}, part = {0}, rest = {0}, points = {0};
    bool ok = true;
    for (int role = 0; ok && role < KINO__ROLE_OTHER; role++) {
        const kino__intervals *ranges = &p->ranges[role];
        bool is_filled = free_time.count == 0 && points.count == 0;
        if (role == 0 || (p->is_compat && is_filled)) {
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

/* Records whose own span (the host's, where there is one) lies wholly in a step belong to it. */
static void place_records(kino__profile *p)
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
    if (!find_ranges(p) || !find_host_steps(p))
        return false;
    p->step_count_found = p->steps.count;
    if (p->steps.count == 0)
        return true;
    if (!extend_steps(p) || !break_down(p) || !split_communication(p))
        return false;
    place_records(p);
    return true;
}
