/* frame_steps.c - which step is when, who is whose partner, and the cut of the last step. */
#include <ctype.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/frame/frame_internal.h"
#include "store/run.h"

int64_t kino__step_number(kino_str name, bool is_strict)
{
    static const char prefix[] = "ProfilerStep";
    size_t at = sizeof prefix - 1;
    if (name.size < at || memcmp(name.data, prefix, at) != 0)
        return KINO_NO_INT;
    while (!is_strict && at < name.size && isspace((unsigned char)name.data[at]))
        at++;
    if (at >= name.size || name.data[at] != '#')
        return KINO_NO_INT;
    at++;
    while (!is_strict && at < name.size && isspace((unsigned char)name.data[at]))
        at++;
    size_t digits = 0;
    while (at + digits < name.size && isdigit((unsigned char)name.data[at + digits]))
        digits++;
    int64_t number;
    if (digits == 0 || !kino__str_to_int((kino_str){name.data + at, digits}, &number))
        return KINO_NO_INT;
    return number;
}

/* -- pieces */

/* Painting backwards: a piece keeps the first colour it gets, so the last step that covers it wins;
 * next[] skips what is painted. */
static void paint(const kino__frame_step *steps, size_t count, kino__frame_pieces *p, size_t *next)
{
    for (size_t i = count; i-- > 0;) {
        /* An edge is at each end, so both are found. */
        size_t from = 0, to = 0;
        (void)kino__frame_number_at(p, steps[i].ts, &from);
        (void)kino__frame_number_at(p, steps[i].ts + steps[i].dur, &to);
        if (steps[i].dur <= 0)
            continue;
        for (size_t at = from - 1;;) {
            /* next[] ends at p->count: NOLINTBEGIN(clang-analyzer-core.*) */
            while (next[at] != at)
                at = next[at] = next[next[at]];
            /* NOLINTEND(clang-analyzer-core.*) */
            if (at >= to - 1)
                break;
            p->number[at] = steps[i].number;
            next[at] = at + 1;
        }
    }
}

static bool cut_pieces(const kino__frame_step *steps, size_t count, kino__frame_pieces *p)
{
    p->edges = malloc((2 * count + 1) * sizeof *p->edges);
    p->number = malloc((2 * count + 1) * sizeof *p->number);
    size_t *next = malloc((2 * count + 2) * sizeof *next);
    bool ok = p->edges && p->number && next;
    for (size_t i = 0; ok && i < count; i++) {
        p->edges[2 * i] = steps[i].ts;
        p->edges[2 * i + 1] = steps[i].ts + steps[i].dur;
    }
    if (ok && count)
        qsort(p->edges, 2 * count, sizeof *p->edges, kino__compare_ints);
    for (size_t i = 0; ok && i < 2 * count; i++)
        if (p->count == 0 || p->edges[p->count - 1] != p->edges[i])
            p->edges[p->count++] = p->edges[i];
    for (size_t i = 0; ok && i <= p->count; i++) {
        next[i] = i;
        p->number[i] = -1;
    }
    if (ok)
        paint(steps, count, p, next);
    free(next);
    return ok;
}

bool kino__frame_list_steps(kino__frame *f)
{
    for (uint32_t at = 0; at < f->count; at++) {
        if (!(f->flags[at] & KINO__FRAME_STEP))
            continue;
        kino__frame_step *step = kino__vec_add(&f->steps);
        if (!step)
            return false;
        *step = (kino__frame_step){kino__step_number(kino__frame_name(f, at), false), f->ts[at],
                                   f->dur[at], at};
    }
    return true;
}

/* -- the cut */

bool kino__run_steps_see(kino__run_steps *steps, kino_str name)
{
    int64_t number = steps->has_several ? KINO_NO_INT : kino__step_number(name, true);
    if (number == KINO_NO_INT || number == steps->seen)
        return false;
    steps->has_several = steps->seen != KINO_NO_INT;
    steps->seen = number;
    return true;
}

void kino__run_steps_add(kino__run_steps *steps, const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    for (kino_strid id = 0; id < count && !steps->has_several; id++)
        (void)kino__run_steps_see(steps, kino__trace_string(trace, id));
}

/* Distinct step names of all traces of the run: with one or none, nothing is cut. */
static bool has_several_steps(const kino__frame *f)
{
    const kino__run *run = f->trace->run;
    kino__run_steps steps = {KINO_NO_INT, false};
    if (run && run->steps_as == KINO__STEPS_AS_SEVERAL)
        return true;
    if (run && run->steps_as == KINO__STEPS_AS_ALONE)
        run = NULL;
    if (run && (run->is_tight || run->whole.traces))
        return run->steps.has_several; /* looked at while the texts were in memory */
    for (size_t i = 0; i < (run ? run->traces.count : 1); i++)
        kino__run_steps_add(&steps, run ? run->traces.items[i] : f->trace);
    return steps.has_several;
}

/* What stays of the host's rows. */
typedef struct window {
    bool is_all;
    int64_t first, last; /* MTIA: starts from first on, ends at last; else: starts before last */
} window;

/* Before the last step starts; without steps before any of the host's rows does. */
static int64_t find_limit(const kino__frame_work *w)
{
    int64_t limit = INT64_MIN, first = INT64_MAX, ts, dur;
    for (size_t i = 0; i < w->steps.count; i++)
        if (!(w->flags[w->steps.items[i].at] & KINO__FRAME_GPU_SIDE) &&
            w->steps.items[i].ts > limit)
            limit = w->steps.items[i].ts;
    if (limit != INT64_MIN)
        return limit;
    for (uint32_t row = 0; row < w->f->trace->event_count; row++) {
        if ((w->flags[row] & (KINO__FRAME_KEPT | KINO__FRAME_GPU_SIDE)) != KINO__FRAME_KEPT)
            continue;
        kino__frame_time(w->f, row, &ts, &dur);
        first = ts < first ? ts : first;
    }
    return first;
}

static window find_window(const kino__frame_work *w, bool has_last_step)
{
    window out = {.is_all = !w->is_cutting || (has_last_step && !w->is_mtia)};
    if (out.is_all)
        return out;
    if (!w->is_mtia) {
        out.last = find_limit(w);
        return out;
    }
    out = (window){false, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < w->steps.count; i++) {
        const kino__frame_step *step = &w->steps.items[i];
        if (!(kino__frame_category(w, step->at) & KINO__OF_CALLS))
            continue;
        out.first = step->ts < out.first ? step->ts : out.first;
        out.last = step->ts + step->dur > out.last ? step->ts + step->dur : out.last;
    }
    return out;
}

static bool is_inside(const kino__frame_work *w, const window *range, uint32_t row)
{
    int64_t ts, dur;
    if (range->is_all)
        return true;
    kino__frame_time(w->f, row, &ts, &dur);
    if (!w->is_mtia)
        return ts < range->last;
    return kino__frame_category(w, row) & KINO__OF_CALLS && ts >= range->first &&
           ts + dur <= range->last;
}

/* Rows that stay when a row of the host with their correlation does. */
static bool is_followed(const kino__frame_work *w, uint32_t row)
{
    return w->is_mtia ? kino__frame_category(w, row) & KINO__OF_DEVICE
                      : w->flags[row] & KINO__FRAME_GPU_SIDE;
}

/* Names are long and few: each is looked at once, and only where a type is asked for. */
static void find_type(kino__frame_work *w, uint32_t row)
{
    kino_strid name = w->f->trace->name[row];
    bool is_hta = kino__frame_is_hta(w->f);
    if (name == KINO_NO_STRING || w->of_name[name] & KINO__NAME_TYPED ||
        !(is_hta || kino__frame_category(w, row) & KINO__OF_KERNEL))
        return;
    kino__kernel_type type = kino__kernel_type_of(kino__trace_string(w->f->trace, name), is_hta);
    w->of_name[name] |= (uint8_t)(KINO__NAME_TYPED | type);
}

/* Partners of all rows, cut off or not; then the host's rows outside of the window go. */
static bool choose_hosts(kino__frame_work *w, const window *range)
{
    const kino__trace *trace = w->f->trace;
    const uint8_t typed = kino__frame_is_hta(w->f) ? KINO__FRAME_KEPT : KINO__FRAME_DEVICE;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint8_t flags = w->flags[row];
        if (!(flags & KINO__FRAME_KEPT))
            continue;
        if (flags & typed)
            find_type(w, row);
        bool is_other = is_followed(w, row);
        bool stays = !is_other && is_inside(w, range, row);
        int64_t correlation = kino__frame_correlation(trace, row);
        if (correlation != -1) {
            kino__frame_call *call = kino__frame_call_add(&w->calls, correlation);
            if (!call)
                return false;
            uint32_t *last = &call->last[flags & KINO__FRAME_GPU_SIDE ? 1 : 0];
            *last = trace->number[row] + 1 > *last ? trace->number[row] + 1 : *last;
            call->hosts += stays;
        }
        if (!stays && !is_other)
            w->flags[row] = flags & (uint8_t)~KINO__FRAME_KEPT;
    }
    return true;
}

/* Steps as MTIA's memory work sees them: the first that covers a time, its end (HTA) included. */
static bool cut_memory_pieces(const kino__frame_work *w, kino__frame_pieces *out)
{
    size_t count = w->steps.count;
    kino__frame_step *steps = malloc((count + 1) * sizeof *steps);
    for (size_t i = 0; i < count && steps; i++) {
        steps[i] = w->steps.items[count - 1 - i];
        steps[i].dur += kino__frame_is_hta(w->f);
    }
    bool ok = steps && cut_pieces(steps, count, out);
    free(steps);
    return ok;
}

static bool is_memory_inside(const kino__frame_work *w, const kino__frame_pieces *pieces,
                             uint32_t row, int64_t *number)
{
    int64_t ts, dur;
    size_t hint = 0;
    if (!(kino__frame_category(w, row) & KINO__OF_DEVICE) ||
        kino__frame_type(w, row) != KINO__KERNEL_MEMORY)
        return false;
    kino__frame_time(w->f, row, &ts, &dur);
    *number = kino__frame_number_at(pieces, ts, &hint);
    return *number != -1;
}

/* Does a row of the device side stay? HTA takes those of calls that stay; of work that no call of
 * the trace launched we go by its own time. */
static bool stays_with(const kino__frame_work *w, const window *range, uint32_t row)
{
    int64_t correlation = kino__frame_correlation(w->f->trace, row);
    const kino__frame_call *call =
        correlation == -1 ? NULL : kino__frame_call_of(&w->calls, correlation);
    if (kino__frame_is_hta(w->f) || (call && call->last[0]))
        return call && call->hosts > 0;
    return is_inside(w, range, row);
}

static bool choose_others(kino__frame_work *w, const window *range)
{
    const kino__trace *trace = w->f->trace;
    kino__frame_pieces pieces = {0};
    bool ok = !w->is_mtia || cut_memory_pieces(w, &pieces);
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        if (!(w->flags[row] & KINO__FRAME_KEPT) || !is_followed(w, row))
            continue;
        int64_t number;
        if (!stays_with(w, range, row) &&
            !(w->is_mtia && is_memory_inside(w, &pieces, row, &number)))
            w->flags[row] &= (uint8_t)~KINO__FRAME_KEPT;
    }
    free(pieces.edges);
    free(pieces.number);
    return ok;
}

bool kino__frame_choose(kino__frame_work *w, bool has_last_step)
{
    w->is_cutting = has_several_steps(w->f);
    w->is_mtia = w->is_cutting && w->f->device_kind == KINO__DEVICE_MTIA &&
                 kino__frame_is_hta(w->f); /* HTA cuts them in its own way */
    w->f->is_cut = w->is_cutting && !has_last_step;
    window stays = find_window(w, has_last_step);
    return cut_pieces(w->steps.items, w->steps.count, &w->pieces) && choose_hosts(w, &stays) &&
           (!w->is_cutting || choose_others(w, &stays));
}

bool kino__frame_fix_mtia(const kino__frame_work *w)
{
    kino__frame *f = w->f;
    const kino__trace *trace = f->trace;
    kino__frame_pieces pieces = {0};
    bool ok = cut_memory_pieces(w, &pieces);
    int64_t number;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!is_memory_inside(w, &pieces, f->row[at], &number))
            continue;
        const kino__label *tid = &trace->tracks.items[kino__trace_track_of(trace, f->row[at])].tid;
        if (f->iteration[at] == -1)
            f->iteration[at] = number;
        if (f->stream[at] != -1 || tid->kind != KINO__LABEL_INT)
            continue;
        f->stream[at] = tid->number;
        f->flags[at] |= tid->number != -1 ? KINO__FRAME_DEVICE : 0;
        if (tid->number >= 0 && f->correlation[at] >= 0)
            f->flags[at] |= KINO__FRAME_GPU_SIDE;
    }
    free(pieces.edges);
    free(pieces.number);
    return ok;
}
