/* overlaps.c - see the header. */
#include "analysis/overlaps.h"

#include "store/category.h"
#include "store/interval.h"

/* Ends of the spans that are open, the earliest on top. */
typedef KINO__VEC(int64_t) end_heap;

static void heap_pop(end_heap *heap)
{
    int64_t last = heap->items[--heap->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < heap->count) {
        child += child + 1 < heap->count && heap->items[child + 1] < heap->items[child];
        if (heap->items[child] >= last)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    if (heap->count)
        heap->items[at] = last;
}

static bool heap_push(end_heap *heap, int64_t end)
{
    if (!kino__vec_reserve(heap, 1))
        return false;
    size_t at = heap->count++;
    for (; at > 0 && heap->items[(at - 1) / 2] > end; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = end;
    return true;
}

/* Spans that are open on a thread, Python functions apart. */
typedef struct opened {
    end_heap python, other;
} opened;

static void close_until(end_heap *heap, int64_t time)
{
    while (heap->count && heap->items[0] <= time)
        heap_pop(heap);
}

/* Rows are sorted by start, longer first: a span that ends after the earliest end among the open
 * ones crosses that one. */
static bool place(opened *open, bool is_python, int64_t start, int64_t end, kino__overlap *out)
{
    close_until(&open->python, start);
    close_until(&open->other, start);
    end_heap *same = is_python ? &open->python : &open->other;
    const end_heap *different = is_python ? &open->other : &open->python;
    *out = same->count && same->items[0] < end             ? KINO__OVERLAP_OTHER
           : different->count && different->items[0] < end ? KINO__OVERLAP_PYTHON
                                                           : KINO__OVERLAP_NONE;
    return heap_push(same, end);
}

static bool see_track(const kino__trace *trace, const kino__track *track, opened *open,
                      void (*see)(void *context, uint32_t row, kino__overlap overlap),
                      void *context)
{
    open->python.count = open->other.count = 0;
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        if (trace->phase[row] != 'X' || trace->ts[row] == KINO_NO_TIME)
            continue;
        kino__interval span = kino__interval_of(trace->ts[row], trace->dur[row]);
        bool is_python = kino__category_kind(trace->category[row]) == KINO__KIND_PYTHON;
        kino__overlap overlap;
        if (!place(open, is_python, span.start, span.end, &overlap))
            return false;
        see(context, row, overlap);
    }
    return true;
}

bool kino__overlaps_each(const kino__trace *trace,
                         void (*see)(void *context, uint32_t row, kino__overlap overlap),
                         void *context)
{
    opened open = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < trace->tracks.count; i++)
        if (trace->tracks.items[i].kind == KINO__TRACK_HOST)
            ok = see_track(trace, &trace->tracks.items[i], &open, see, context);
    kino__vec_deinit(&open.python);
    kino__vec_deinit(&open.other);
    return ok;
}

static void count_one(void *context, uint32_t row, kino__overlap overlap)
{
    (void)row;
    *(int64_t *)context += overlap == KINO__OVERLAP_OTHER;
}

int64_t kino__overlaps_count(const kino__trace *trace)
{
    int64_t count = 0;
    return kino__overlaps_each(trace, count_one, &count) ? count : KINO_NO_INT;
}
