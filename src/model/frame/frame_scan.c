/* frame_scan.c - the first pass over a trace: which rows belong into a frame, on which side they
 * are, and how dense the correlations lie. */
#include <stdlib.h>

#include "base/large.h"
#include "model/frame/frame_internal.h"
#include "store/args.h"
#include "store/link.h"

void kino__frame_work_deinit(kino__frame_work *w)
{
    free(w->of_category);
    free(w->of_name);
    kino__large_free(w->flags);
    kino__large_free(w->row_of_number);
    kino__large_free(w->calls.dense);
    kino__map_deinit(&w->calls.places);
    kino__vec_deinit(&w->calls.sparse);
    kino__vec_deinit(&w->steps);
    free(w->pieces.edges);
    free(w->pieces.number);
}

/* -- categories and names */

static uint8_t bits_of_category(const kino__trace *trace, uint16_t id)
{
    const uint32_t calls = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION) |
                           KINO__KIND_BIT(KINO__KIND_RUNTIME);
    kino_str text = kino__trace_category_text(trace, id);
    kino__kind kind = kino__category_kind(id);
    unsigned bits = kino__str_is(text, "Trace") ? 0 : KINO__OF_KEPT;
    bits |= KINO__KINDS_DEVICE & KINO__KIND_BIT(kind) ? KINO__OF_DEVICE : 0;
    bits |= kind == KINO__KIND_KERNEL ? KINO__OF_KERNEL : 0;
    bits |= kind == KINO__KIND_SYNC ? KINO__OF_SYNC : 0;
    bits |= kind == KINO__KIND_GPU_ANNOTATION ? KINO__OF_GPU_ANNOTATION : 0;
    bits |= kino__str_is(text, "cpu_op") ? KINO__OF_OP : 0;
    bits |= calls & KINO__KIND_BIT(kind) ? KINO__OF_CALLS : 0;
    return (uint8_t)bits;
}

static bool read_texts(kino__frame_work *w)
{
    const kino__trace *trace = w->f->trace;
    size_t names = kino__string_pool_count(&trace->strings);
    w->category_count = KINO__CATEGORY_COUNT + trace->own_categories.count;
    w->of_category = malloc(w->category_count);
    w->of_name = malloc(names + 1);
    if (!w->of_category || !w->of_name)
        return false;
    for (size_t id = 0; id < w->category_count; id++)
        w->of_category[id] = bits_of_category(trace, (uint16_t)id);
    for (kino_strid id = 0; id < names; id++) {
        kino_str name = kino__trace_string(trace, id);
        bool is_sync = kino__str_is(name, "Event Sync") || kino__str_is(name, "Context Sync");
        w->of_name[id] = (is_sync ? KINO__NAME_SYNC : 0) |
                         (kino__step_number(name, false) != KINO_NO_INT ? KINO__NAME_STEP : 0);
    }
    return true;
}

/* -- rows */

enum { SCAN_ROWS = 1 << 16 }; /* a piece of work */

typedef struct scan {
    kino__frame_work *w;
    struct range {
        int64_t low, high; /* of the correlations above 0 in a piece */
        bool has_step;
    } * ranges;
} scan;

/* A span with a category that is not the profiler's own. Pairs have no "dur" in the file. */
static bool is_kept(const kino__frame_work *w, uint32_t row, unsigned category)
{
    const kino__trace *trace = w->f->trace;
    _Static_assert(KINO_NO_TIME == INT64_MIN, "absent times are not sane either");
    return category & KINO__OF_KEPT && kino__time_is_sane(trace->ts[row], trace->dur[row]) &&
           !(kino__frame_is_hta(w->f) && trace->flags[row] & KINO__FLAG_PAIR);
}

static uint8_t flags_of(const kino__frame_work *w, uint32_t row, unsigned category,
                        int64_t correlation)
{
    unsigned name = kino__frame_name_bits(w, row), flags = KINO__FRAME_KEPT;
    bool is_sync = name & KINO__NAME_SYNC;
    if (w->stream_arg) { /* HTA goes by the stream */
        int64_t stream = w->stream_arg[row] == KINO_NO_INT ? -1 : w->stream_arg[row];
        flags |= stream != -1 ? KINO__FRAME_DEVICE : 0;
        flags |= (stream >= 0 && correlation >= 0) || is_sync ? KINO__FRAME_GPU_SIDE : 0;
        flags |= name & KINO__NAME_STEP ? KINO__FRAME_STEP : 0;
        return (uint8_t)flags;
    }
    flags |= category & KINO__OF_DEVICE ? KINO__FRAME_DEVICE | KINO__FRAME_GPU_SIDE : 0;
    flags |= is_sync || category & KINO__OF_SYNC ? KINO__FRAME_GPU_SIDE : 0;
    return (uint8_t)flags;
}

static void scan_piece(void *context, unsigned worker, size_t index)
{
    (void)worker;
    const scan *s = context;
    kino__frame_work *w = s->w;
    const kino__trace *trace = w->f->trace;
    uint32_t row = (uint32_t)(index * SCAN_ROWS);
    uint32_t end = trace->event_count - row > SCAN_ROWS ? row + SCAN_ROWS : trace->event_count;
    struct range range = {INT64_MAX, 0, false};
    for (; row < end; row++) {
        unsigned category = kino__frame_category(w, row);
        if (!is_kept(w, row, category)) {
            w->flags[row] = 0;
            continue;
        }
        int64_t correlation = kino__frame_correlation(trace, row);
        w->flags[row] = flags_of(w, row, category, correlation);
        w->row_of_number[trace->number[row]] = row;
        range.has_step |= w->flags[row] & KINO__FRAME_STEP;
        if (correlation <= 0)
            continue;
        range.low = correlation < range.low ? correlation : range.low;
        range.high = correlation > range.high ? correlation : range.high;
    }
    s->ranges[index] = range;
}

/* Steps of the whole trace, in file order. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    uint32_t x = trace->number[((const kino__frame_step *)a)->at];
    uint32_t y = trace->number[((const kino__frame_step *)b)->at];
    return x < y ? -1 : x > y;
}

static bool add_step(kino__frame_work *w, uint32_t row, int64_t number)
{
    kino__frame_step *step = kino__vec_add(&w->steps);
    if (!step)
        return false;
    *step = (kino__frame_step){.number = number, .at = row};
    kino__frame_time(w->f, row, &step->ts, &step->dur);
    return true;
}

/* As everywhere else but in HTA. */
static bool take_steps(kino__frame_work *w)
{
    kino__step_list steps = {0};
    bool ok = kino__trace_find_steps(w->f->trace, &steps);
    for (size_t i = 0; ok && i < steps.count; i++) {
        const kino__step *from = &steps.items[i];
        if (!(w->flags[from->row] & KINO__FRAME_KEPT))
            continue;
        ok = add_step(w, from->row, from->number);
        if (ok) {
            w->steps.items[w->steps.count - 1].ts = from->ts;
            w->steps.items[w->steps.count - 1].dur = from->dur;
        }
        if (from->source == KINO__STEP_MARKED)
            w->flags[from->row] |= KINO__FRAME_STEP;
    }
    kino__vec_deinit(&steps);
    return ok;
}

/* As HTA finds them. */
static bool scan_steps(kino__frame_work *w, const struct range *ranges)
{
    const kino__trace *trace = w->f->trace;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!ranges[row / SCAN_ROWS].has_step) {
            row |= SCAN_ROWS - 1; /* the last one of the piece */
            continue;
        }
        if (!(w->flags[row] & KINO__FRAME_STEP))
            continue;
        if (!add_step(w, row,
                      kino__step_number(kino__trace_string(trace, trace->name[row]), false)))
            return false;
    }
    return true;
}

static bool find_steps(kino__frame_work *w, const struct range *ranges)
{
    const kino__trace *trace = w->f->trace;
    if (!(kino__frame_is_hta(w->f) ? scan_steps(w, ranges) : take_steps(w)))
        return false;
    if (w->steps.count)
        qsort_r(w->steps.items, w->steps.count, sizeof *w->steps.items, compare_rows,
                (void *)(uintptr_t)trace);
    return true;
}

/* -- correlations */

/* An array from the lowest id on, as long as it is not much longer than the trace. */
static bool make_calls(kino__frame_work *w, const struct range *ranges, size_t count)
{
    kino__frame_calls *calls = &w->calls;
    int64_t low = INT64_MAX, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = ranges[i].low < low ? ranges[i].low : low;
        high = ranges[i].high > high ? ranges[i].high : high;
    }
    if (high < low)
        return true;
    uint64_t limit = (uint64_t)w->f->trace->event_count * 2 + 1024;
    calls->first = low;
    calls->dense_count = (uint64_t)(high - low) < limit ? (uint64_t)(high - low) + 1 : limit;
    calls->dense = kino__large_new(calls->dense_count, sizeof *calls->dense);
    return calls->dense != NULL;
}

kino__frame_call *kino__frame_call_add(kino__frame_calls *calls, int64_t correlation)
{
    uint64_t place = (uint64_t)correlation - (uint64_t)calls->first;
    if (place < calls->dense_count)
        return &calls->dense[place];
    const uint32_t fresh = (uint32_t)calls->sparse.count;
    const uint32_t *found = kino__map_put(&calls->places, (uint64_t)correlation, fresh);
    if (found && *found < calls->sparse.count)
        return &calls->sparse.items[*found];
    kino__frame_call *slot = found ? kino__vec_add(&calls->sparse) : NULL;
    if (slot)
        *slot = (kino__frame_call){0};
    return slot;
}

const kino__frame_call *kino__frame_call_sparse(const kino__frame_calls *calls, int64_t correlation)
{
    const uint32_t *place = kino__map_get(&calls->places, (uint64_t)correlation);
    return place ? &calls->sparse.items[*place] : NULL;
}

/* -- all of it */

bool kino__frame_scan(kino__frame_work *w)
{
    const kino__trace *trace = w->f->trace;
    size_t pieces = ((size_t)trace->event_count + SCAN_ROWS - 1) / SCAN_ROWS;
    scan s = {w, malloc((pieces + 1) * sizeof *s.ranges)};
    kino__map_init(&w->calls.places, NULL);
    if (kino__frame_is_hta(w->f))
        w->stream_arg = kino__args_int_column(trace, "stream");
    w->flags = kino__large_new((size_t)trace->event_count + 1, sizeof *w->flags);
    w->row_of_number = kino__large_new((size_t)trace->number_count + 1, sizeof *w->row_of_number);
    bool ok = s.ranges && w->flags && w->row_of_number && read_texts(w) &&
              (w->stream_arg || !kino__frame_is_hta(w->f));
    if (ok) {
        memset(w->row_of_number, 0xff, (size_t)trace->number_count * sizeof *w->row_of_number);
        kino__pool_run(w->pool, pieces, scan_piece, &s);
        ok = find_steps(w, s.ranges) && make_calls(w, s.ranges, pieces);
    }
    free(s.ranges);
    return ok;
}
