/* queue.c - the queue of each stream as points in time. */
#include "analysis/queue/queue.h"

#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/large.h"
#include "base/record_sort.h"
#include "names/launch_calls.h"

/* Of each name: is it a launch? HTA has its own list; the default goes by what a call launches,
 * graphs included. The caller frees it. */
static uint8_t *find_launch_names(const kino__frame *f)
{
    size_t count = kino__string_pool_count(&f->trace->strings);
    uint8_t *is_launch = malloc(count + 1);
    for (kino_strid id = 0; id < count && is_launch; id++) {
        kino_str name = kino__trace_string(f->trace, id);
        is_launch[id] = f->mode == KINO__FRAME_DEFAULT
                            ? kino__launch_kind_of(name) != KINO__LAUNCH_NONE
                            : (kino__call_marks(name) & KINO__CALL_QUEUE) != 0;
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

/* The first event of the file; see kino__queue_launch. */
static uint32_t find_first(const kino__frame *f)
{
    for (uint32_t at = 0; at < f->count && f->mode != KINO__FRAME_DEFAULT; at++)
        if (f->trace->number[f->row[at]] == 0)
            return at;
    return KINO_NO_ROW;
}

/* The call of the host that has put work on a device, KINO_NO_ROW: none, or it is not work. */
static uint32_t launch_of(const kino__frame *f, uint32_t at, uint32_t first)
{
    const uint8_t both = KINO__FRAME_DEVICE | KINO__FRAME_GPU_SIDE;
    if ((f->flags[at] & both) != both)
        return KINO_NO_ROW;
    if (f->link[at] >= 0)
        return (uint32_t)f->link[at];
    bool is_of_first = f->link[at] == KINO__LINK_MISSING && first != KINO_NO_ROW &&
                       f->correlation[at] == f->correlation[first];
    return is_of_first ? first : KINO_NO_ROW;
}

/* Every piece of work whose launch counts: one up at the launch, one down at its start. */
static bool add_points(kino__queue *q, const kino__frame *f, const uint8_t *is_launch)
{
    uint8_t *is_used = kino__large_new((size_t)f->count + 1, sizeof *is_used);
    size_t count = 0;
    q->first = find_first(f);
    for (uint32_t at = 0; at < f->count; at++)
        count += launch_of(f, at, q->first) != KINO_NO_ROW;
    bool ok = is_used && kino__vec_reserve(&q->points, 2 * count);
    for (uint32_t at = 0; ok && at < f->count; at++) {
        uint32_t launch = launch_of(f, at, q->first);
        if (launch == KINO_NO_ROW || !is_counted(f, launch, is_launch)) {
            q->unlaunched += f->mode == KINO__FRAME_DEFAULT && kino__frame_is_device(f, at);
            continue;
        }
        is_used[launch] = 1;
        ok = add_point(q, f, launch, at, 1) && add_point(q, f, at, at, -1);
    }
    for (uint32_t at = 0; ok && f->mode != KINO__FRAME_DEFAULT && at < f->count; at++)
        q->doubled += is_counted(f, at, is_launch) && !is_used[at];
    kino__large_free(is_used);
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

static int64_t stream_key(const void *point)
{
    return ((const kino__queue_point *)point)->stream;
}

static int64_t ts_key(const void *point)
{
    return ((const kino__queue_point *)point)->ts;
}

bool kino__queue_make(const kino__frame *f, kino__queue *out)
{
    static const kino__record_key keys[] = {stream_key, ts_key};
    *out = (kino__queue){.points.allocator = &kino__large_allocator};
    uint8_t *is_launch = find_launch_names(f);
    bool ok = is_launch && add_points(out, f, is_launch) &&
              kino__records_sort(out->points.items, out->points.count, sizeof *out->points.items,
                                 keys, 2, compare_points);
    free(is_launch);
    if (!ok) {
        kino__queue_deinit(out);
        return false;
    }
    for (size_t i = 1; i < out->points.count; i++)
        if (out->points.items[i].stream == out->points.items[i - 1].stream)
            out->points.items[i].length += out->points.items[i - 1].length;
    return true;
}

void kino__queue_deinit(kino__queue *queue)
{
    kino__vec_deinit(&queue->points);
}

const kino__frame *kino__queue_asked(const kino__analysis *a, const kino__trace *trace,
                                     size_t last_step_param, kino__queue *out,
                                     kino__queue_facts *facts)
{
    const kino__frame *f = kino__frame_asked(a, trace, last_step_param);
    if (!f || !kino__queue_make(f, out))
        return NULL;
    *facts = (kino__queue_facts){out->doubled, out->unlaunched, out->points.count > 0, f->is_cut};
    return f;
}

void kino__queue_facts_merge(kino__queue_facts *into, const kino__queue_facts *from)
{
    into->doubled += from->doubled;
    into->unlaunched = kino__sum(into->unlaunched, from->unlaunched);
    into->has_points |= from->has_points;
    into->is_cut |= from->is_cut;
}

void kino__queue_facts_note(const kino__queue_facts *facts, const char *what, kino_result *result)
{
    if (!facts->has_points)
        kino__result_lacks(result, what, ": no launch could be matched to device work");
    if (facts->doubled)
        kino__result_note(result, "%llu launches with a duplicate correlation are left out",
                          (unsigned long long)facts->doubled);
    kino__note_unlaunched(result, facts->unlaunched);
    kino__note_cut(result, facts->is_cut);
}
