/* scan_ask.c - questions to a scan: sums of idle time, gains, and where in the program. */
#include <stdio.h>
#include <string.h>

#include "rule/rule.h"
#include "rule/scan.h"
#include "store/args.h"

bool kino__scan_is_in_step(const kino__scan *scan, int64_t time)
{
    const kino__profile *p = scan->profile;
    size_t low = 0, high = p->steps.count;
    while (low < high) { /* the first step that ends behind it */
        size_t middle = low + (high - low) / 2;
        if (p->steps.items[middle].host_end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->steps.count && p->steps.items[low].host_start <= time;
}

int64_t kino__scan_exposed(const kino__scan *scan, kino__interval interval)
{
    const kino__profile *p = scan->profile;
    int64_t exposed = 0;
    size_t low = 0, high = p->steps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->steps.items[middle].end <= interval.start)
            low = middle + 1;
        else
            high = middle;
    }
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

kino__scan_sum kino__scan_sum_of(const kino__scan *scan, const kino__scan_items *items)
{
    kino__scan_sum sum = {0};
    int64_t done = INT64_MIN; /* end of what has been counted on this track */
    uint32_t last = 0;
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row;
        kino__interval span = kino__scan_interval(scan, row);
        if (!kino__scan_is_in_step(scan, span.start))
            continue;
        sum.count++;
        if (i && scan->trace->ts[last] > span.start)
            done = INT64_MIN; /* rows go by track: another one begins */
        last = row;
        if (span.end <= done)
            continue;
        if (span.start < done)
            span.start = done;
        done = span.end;
        sum.spent += span.end - span.start;
        sum.idle += kino__cover_within(&scan->idle, span.start, span.end);
    }
    return sum;
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
    uint32_t low = track->first, high = track->first + track->count;
    while (low < high) { /* the first row that starts behind it */
        uint32_t middle = low + (high - low) / 2;
        if (trace->ts[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
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
