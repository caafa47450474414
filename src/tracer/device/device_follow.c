/* device_follow.c - functions of the program and the work they cause. See device_follow.h. */
#include "tracer/device/device_follow.h"

void kino__follow_push(kino__follow_stack *stack, const kino_device_host *host, uint32_t kind,
                       uint64_t id, const char *name)
{
    if (kind == KINO_DEVICE_ANNOTATION) {
        uint32_t at = stack->range_count++;
        if (at < KINO__FOLLOW_DEPTH)
            stack->ranges[at] =
                (kino__follow_range){id, host->name(host, KINO_DEVICE_GPU_ANNOTATION, name)};
    } else {
        uint32_t at = stack->operator_count++;
        if (at < KINO__FOLLOW_DEPTH)
            stack->operators[at] = id;
    }
}

void kino__follow_pop(kino__follow_stack *stack, uint32_t kind)
{
    uint32_t *count = kind == KINO_DEVICE_ANNOTATION ? &stack->range_count : &stack->operator_count;
    if (*count > 0)
        (*count)--;
}

static uint32_t top(uint32_t count)
{
    return (count < KINO__FOLLOW_DEPTH ? count : KINO__FOLLOW_DEPTH) - 1;
}

uint64_t kino__follow_operator(const kino__follow_stack *stack)
{
    return stack->operator_count ? stack->operators[top(stack->operator_count)] : 0;
}

kino__follow_range kino__follow_range_of(const kino__follow_stack *stack)
{
    return stack->range_count ? stack->ranges[top(stack->range_count)] : (kino__follow_range){0};
}

static void hand_over(const kino_device_host *host, const kino__follow_row *row)
{
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.kind = KINO_DEVICE_GPU_ANNOTATION;
    activity.name = row->range.text;
    activity.device = row->device;
    activity.stream = row->stream;
    activity.start = row->start - 1;
    activity.end = row->end + 1;
    activity.external = row->range.id;
    activity.flags = KINO_DEVICE_ARGS_WHOLE;
    host->activity(host, &activity);
}

static kino__follow_row *find_row(kino__follow_rows *rows, uint64_t id,
                                  const kino_device_activity *work)
{
    for (uint32_t i = rows->count; i-- > 0;) { /* the newest first: it is mostly that */
        kino__follow_row *row = &rows->items[i];
        if (row->range.id == id && row->device == work->device && row->stream == work->stream)
            return row;
    }
    return NULL;
}

void kino__follow_work(kino__follow_rows *rows, const kino_device_host *host,
                       kino__follow_range range, const kino_device_activity *work)
{
    kino__follow_row *row = range.id ? find_row(rows, range.id, work) : NULL;
    if (!range.id)
        return;
    if (row) {
        row->start = work->start < row->start ? work->start : row->start;
        row->end = work->end > row->end ? work->end : row->end;
        return;
    }
    if (rows->count < KINO__FOLLOW_RANGES) {
        row = &rows->items[rows->count++];
    } else {
        row = &rows->items[rows->oldest];
        rows->oldest = (rows->oldest + 1) % KINO__FOLLOW_RANGES;
        hand_over(host, row);
    }
    *row = (kino__follow_row){range, work->device, work->stream, work->start, work->end};
}

void kino__follow_finish(kino__follow_rows *rows, const kino_device_host *host)
{
    for (uint32_t i = 0; i < rows->count; i++)
        hand_over(host, &rows->items[(rows->oldest + i) % rows->count]);
    rows->count = rows->oldest = 0;
}
