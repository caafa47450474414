/* queue.c - the queue of each stream as points in time. */
#include "analysis/queue.h"

#include <stdlib.h>

#include "analysis/launch.h"

/* HTA's own list; the default goes by the table of all launches, graphs included. */
static bool is_hta_launch(kino_str name)
{
    static const char *const names[] = {"cudaLaunchKernel",
                                        "cudaLaunchKernelExC",
                                        "cuLaunchKernel",
                                        "cuLaunchKernelEx",
                                        "cudaMemcpyAsync",
                                        "cudaMemsetAsync",
                                        "runFunction - job_prep_and_submit_for_execution",
                                        "hipLaunchKernel",
                                        "hipExtModuleLaunchKernel",
                                        "hipMemsetAsync",
                                        "hipMemcpyAsync",
                                        "hipMemcpyWithStream"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_is(name, names[i]))
            return true;
    return false;
}

/* 1 for names of launches; the caller frees it. */
static uint8_t *find_launch_names(const kino__frame *f)
{
    size_t count = kino__string_pool_count(&f->trace->strings);
    uint8_t *is_launch = malloc(count + 1);
    for (kino_strid id = 0; id < count && is_launch; id++) {
        kino_str name = kino__trace_string(f->trace, id);
        is_launch[id] = f->mode == KINO__FRAME_DEFAULT
                            ? kino__launch_kind_of(name) != KINO__LAUNCH_NONE
                            : is_hta_launch(name);
    }
    return is_launch;
}

/* A launch that has work in the frame. */
static bool is_counted(const kino__frame *f, uint32_t at, const uint8_t *is_launch)
{
    kino_strid name = f->trace->name[f->row[at]];
    return name != KINO_NO_STRING && is_launch[name] && f->link[at] >= 0 &&
           !(f->flags[at] & KINO__FRAME_GPU_SIDE);
}

static bool add_point(kino__queue *q, const kino__frame *f, uint32_t at, uint32_t work,
                      int64_t change)
{
    kino__queue_point *point = kino__vec_add(&q->points);
    if (!point)
        return false;
    *point = (kino__queue_point){f->stream[work], f->ts[at], change, at, work};
    return true;
}

/* Every piece of work whose launch counts: one up at the launch, one down at its start. */
static bool add_points(kino__queue *q, const kino__frame *f, const uint8_t *is_launch)
{
    uint8_t *is_used = calloc((size_t)f->count + 1, 1);
    bool ok = is_used != NULL;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        bool is_work = kino__frame_is_device(f, at) && f->flags[at] & KINO__FRAME_GPU_SIDE;
        if (!is_work || f->link[at] < 0 || !is_counted(f, (uint32_t)f->link[at], is_launch))
            continue;
        uint32_t launch = (uint32_t)f->link[at];
        is_used[launch] = 1;
        ok = add_point(q, f, launch, at, 1) && add_point(q, f, at, at, -1);
    }
    for (uint32_t at = 0; ok && f->mode != KINO__FRAME_DEFAULT && at < f->count; at++)
        q->doubled += is_counted(f, at, is_launch) && !is_used[at];
    free(is_used);
    return ok;
}

/* Stream, then time, then launches first, then as in the frame. */
static int compare_points(const void *a, const void *b)
{
    const kino__queue_point *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->work < y->work ? -1 : x->work > y->work;
}

bool kino__queue_make(const kino__frame *f, kino__queue *out)
{
    *out = (kino__queue){0};
    uint8_t *is_launch = find_launch_names(f);
    bool ok = is_launch && add_points(out, f, is_launch);
    free(is_launch);
    if (!ok) {
        kino__queue_deinit(out);
        return false;
    }
    if (out->points.count)
        qsort(out->points.items, out->points.count, sizeof *out->points.items, compare_points);
    for (size_t i = 1; i < out->points.count; i++)
        if (out->points.items[i].stream == out->points.items[i - 1].stream)
            out->points.items[i].length += out->points.items[i - 1].length;
    return true;
}

void kino__queue_deinit(kino__queue *queue)
{
    kino__vec_deinit(&queue->points);
}
