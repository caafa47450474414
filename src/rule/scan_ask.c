/* scan_ask.c - questions to a scan: sums of idle time, gains, and where in the program. */
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "rule/rule.h"
#include "rule/scan.h"
#include "store/args.h"

bool kino__scan_is_in_step(const kino__scan *scan, int64_t time)
{
    const kino__profile *p = scan->profile;
    /* the first step that ends behind it */
    size_t low = KINO__SEARCH(size_t, i, 0, p->steps.count, p->steps.items[i].host_end <= time);
    return low < p->steps.count && p->steps.items[low].host_start <= time;
}

/* The first step that ends after a moment of the device. */
static size_t first_step(const kino__profile *p, int64_t time)
{
    return KINO__SEARCH(size_t, i, 0, p->steps.count, p->steps.items[i].end <= time);
}

int64_t kino__scan_in_steps(const kino__scan *scan, kino__interval interval)
{
    const kino__profile *p = scan->profile;
    int64_t inside = 0;
    for (size_t i = first_step(p, interval.start);
         i < p->steps.count && p->steps.items[i].start < interval.end; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        int64_t start = interval.start > step->start ? interval.start : step->start;
        int64_t end = interval.end < step->end ? interval.end : step->end;
        inside += end > start ? end - start : 0;
    }
    return inside;
}

int64_t kino__scan_exposed(const kino__scan *scan, kino__interval interval)
{
    const kino__profile *p = scan->profile;
    int64_t exposed = 0;
    size_t low = first_step(p, interval.start);
    for (; low < p->steps.count && p->steps.items[low].start < interval.end; low++) {
        const kino__profile_step *step = &p->steps.items[low];
        int64_t start = interval.start > step->start ? interval.start : step->start;
        int64_t end = interval.end < step->end ? interval.end : step->end;
        if (start < end)
            exposed += end - start - kino__cover_within(&scan->compute, start, end);
    }
    return exposed;
}

int64_t kino__scan_device_gain(const kino__scan *scan, int64_t saved, int64_t step_time)
{
    if (step_time <= 0 || saved <= 0)
        return 0;
    double busy = (double)scan->busy_time / (double)step_time;
    return (int64_t)((double)saved * (busy < 1 ? busy : 1));
}

/* -- sums in which each moment counts once */

bool kino__scan_add_span(const kino__scan *scan, kino__interval span, kino__intervals *out)
{
    const kino__profile *p = scan->profile;
    for (size_t i = first_step(p, span.start);
         i < p->steps.count && p->steps.items[i].start < span.end; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        kino__interval part = {span.start > step->start ? span.start : step->start,
                               span.end < step->end ? span.end : step->end};
        kino__interval *slot = part.start < part.end ? kino__vec_add(out) : NULL;
        if (slot)
            *slot = part;
        else if (part.start < part.end)
            return false;
    }
    return true;
}

bool kino__scan_add_work(const kino__scan *scan, uint32_t node, kino__intervals *out)
{
    const kino__profile *p = scan->profile;
    const kino__node *top = &p->nodes.items[node];
    int64_t end = kino__node_end(p, top);
    for (uint32_t n = node; n < p->nodes.count; n++) {
        const kino__node *below = &p->nodes.items[n];
        if (below->thread != top->thread || (n > node && kino__node_start(p, below) >= end))
            break;
        uint32_t count;
        const kino__launch *launch = kino__node_launches(p, below, &count);
        for (uint32_t i = 0; !below->is_dropped && i < count; i++, launch++) {
            for (uint32_t w = 0; w < launch->work_count; w++)
                if (!kino__scan_add_span(
                        scan, kino__scan_interval(scan, p->work.items[launch->first_work + w]),
                        out))
                    return false;
        }
    }
    return true;
}

int64_t kino__scan_unite(kino__intervals *list)
{
    kino__intervals_sort(list->items, list->count);
    list->count = kino__intervals_unite(list->items, list->count);
    return kino__intervals_total(list->items, list->count);
}

int64_t kino__scan_idle_in(const kino__scan *scan, const kino__intervals *list)
{
    int64_t idle = 0;
    for (size_t i = 0; i < list->count; i++)
        idle += kino__cover_within(&scan->idle, list->items[i].start, list->items[i].end);
    return idle;
}

bool kino__scan_sum_of(const kino__scan *scan, const kino__scan_items *items, kino__scan_sum *out)
{
    kino__intervals spans = {0};
    bool ok = true;
    *out = (kino__scan_sum){0};
    for (size_t i = 0; ok && i < items->count; i++) {
        kino__interval span = kino__scan_interval(scan, items->items[i].row);
        if (!kino__scan_is_in_step(scan, span.start))
            continue;
        out->count++;
        ok = kino__scan_add_span(scan, span, &spans);
    }
    out->spent = kino__scan_unite(&spans);
    out->idle = kino__scan_idle_in(scan, &spans);
    kino__vec_deinit(&spans);
    return ok;
}

/* -- where */

enum { LOOK_BACK = 1 << 16 }; /* rows; a limit for damaged traces and endless flat threads */

static bool is_frame(const kino__scan *scan, uint32_t row)
{
    if (scan->profile->type[row] != KINO__EVENT_TYPE_PYTHON_FUNCTION ||
        scan->trace->name[row] == KINO_NO_STRING)
        return false;
    kino_str name = kino__trace_string(scan->trace, scan->trace->name[row]);
    return !kino__str_starts_with(name, KINO__STR("<")) &&
           !kino__str_starts_with(name, KINO__STR("torch/"));
}

kino__scan_item kino__scan_host_at(const kino__scan *scan, int64_t time)
{
    kino__scan_item found = {KINO_NO_ROW, KINO_NO_ROW, KINO_NO_ROW};
    if (scan->main_track == UINT32_MAX)
        return found;
    const kino__trace *trace = scan->trace;
    const kino__track *track = &trace->tracks.items[scan->main_track];
    /* the first row that starts behind it */
    uint32_t low =
        KINO__SEARCH(uint32_t, i, track->first, track->first + track->count, trace->ts[i] <= time);
    uint32_t first = low - track->first > LOOK_BACK ? low - LOOK_BACK : track->first;
    while (low-- > first) {
        if (trace->ts[low] == KINO_NO_TIME || kino__scan_interval(scan, low).end <= time)
            continue;
        uint8_t type = scan->profile->type[low];
        if (found.op == KINO_NO_ROW &&
            (type == KINO__EVENT_TYPE_OPERATOR || type == KINO__EVENT_TYPE_RUNTIME ||
             type == KINO__EVENT_TYPE_ANNOTATION))
            found.op = low;
        if (found.frame == KINO_NO_ROW && is_frame(scan, low))
            found.frame = low;
        if (found.op != KINO_NO_ROW && (found.frame != KINO_NO_ROW || !scan->has_python))
            break;
    }
    found.row = found.op;
    return found;
}

static const char *put(kino_str from, char *text, size_t size)
{
    (void)snprintf(text, size, "%.*s", (int)kino__cut(from, size - 1), from.data);
    return text;
}

/* The innermost frame of a call stack ("a.py(1): f;b.py(2): g", innermost first) that is not the
 * framework's. */
static kino_str frame_of_stack(kino_str stack)
{
    while (stack.size) {
        const char *end = memchr(stack.data, ';', stack.size);
        kino_str frame = {stack.data, end ? (size_t)(end - stack.data) : stack.size};
        stack = end ? (kino_str){end + 1, stack.size - frame.size - 1} : (kino_str){"", 0};
        if (frame.size && frame.data[0] != '<' && !memmem(frame.data, frame.size, "torch/", 6))
            return frame;
    }
    return (kino_str){"", 0};
}

const char *kino__scan_line(const kino__scan *scan, const kino__scan_item *item, char *text,
                            size_t size)
{
    if (item->frame != KINO_NO_ROW)
        return put(kino__trace_string(scan->trace, scan->trace->name[item->frame]), text, size);
    uint32_t op = item->op != KINO_NO_ROW ? item->op : item->row;
    if (op == KINO_NO_ROW)
        return put((kino_str){"", 0}, text, size);
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, scan->trace->text);
    kino_str stack =
        kino__args_find(kino__args_text(scan->trace, op, &cursor), KINO__STR("Call stack"));
    if (stack.size > 2) /* without its quotes */
        stack = (kino_str){stack.data + 1, stack.size - 2};
    (void)put(frame_of_stack(stack), text, size);
    kino__text_cursor_deinit(&cursor);
    return text;
}

void kino__top_add(kino__top *top, int64_t value, size_t index)
{
    size_t at = top->count;
    while (at > 0 && value > top->value[at - 1])
        at--;
    if (at == KINO__TOP_COUNT)
        return;
    if (top->count < KINO__TOP_COUNT)
        top->count++;
    for (size_t i = top->count - 1; i > at; i--) {
        top->value[i] = top->value[i - 1];
        top->index[i] = top->index[i - 1];
    }
    top->value[at] = value;
    top->index[at] = index;
}
