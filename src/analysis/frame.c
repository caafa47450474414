/* frame.c - making a frame: rows, times, streams, partners. */
#include "analysis/frame.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/frame_internal.h"
#include "store/args.h"

const char *const kino__frame_compat[] = {"hta", "hta-ns", NULL};

kino__frame_mode kino__frame_mode_of(const kino__analysis *a)
{
    if (kino__analysis_is_compat(a, "hta"))
        return KINO__FRAME_HTA;
    return kino__analysis_is_compat(a, "hta-ns") ? KINO__FRAME_HTA_NS : KINO__FRAME_DEFAULT;
}

/* -- memory */

static void frame_free(void *value)
{
    kino__frame *f = value;
    if (!f)
        return;
    free(f->row);
    free(f->ts);
    free(f->dur);
    free(f->stream);
    free(f->correlation);
    free(f->link);
    free(f->iteration);
    free(f->flags);
    free(f->type);
    free(f->at_of_row);
    kino__vec_deinit(&f->steps);
    free(f);
}

static bool allocate(kino__frame *f, size_t count)
{
    count++;
    f->row = malloc(count * sizeof *f->row);
    f->ts = malloc(count * sizeof *f->ts);
    f->dur = malloc(count * sizeof *f->dur);
    f->stream = malloc(count * sizeof *f->stream);
    f->correlation = malloc(count * sizeof *f->correlation);
    f->link = malloc(count * sizeof *f->link);
    f->iteration = malloc(count * sizeof *f->iteration);
    f->flags = malloc(count);
    f->type = malloc(count);
    return f->row && f->ts && f->dur && f->stream && f->correlation && f->link && f->iteration &&
           f->flags && f->type;
}

/* -- rows */

/* A span with a category that is not the profiler's own. Pairs have no "dur" in the file. */
static bool is_kept(const kino__frame *f, uint32_t row)
{
    const kino__trace *trace = f->trace;
    if (trace->dur[row] == KINO_NO_TIME || trace->ts[row] == KINO_NO_TIME ||
        !kino__time_is_sane(trace->ts[row], trace->dur[row]) ||
        trace->category[row] == KINO__CATEGORY_NONE)
        return false;
    if (kino__frame_is_hta(f) && trace->flags[row] & KINO__FLAG_PAIR)
        return false;
    return !kino__str_is(kino__trace_category_text(trace, trace->category[row]), "Trace");
}

static bool is_device_kind(const kino__trace *trace, uint32_t row)
{
    return KINO__KINDS_DEVICE & KINO__KIND_BIT(kino__category_kind(trace->category[row]));
}

/* ns as the file counts them. */
static int64_t file_ns(const kino__trace *trace, uint32_t row)
{
    return (int64_t)((uint64_t)trace->ts[row] + (uint64_t)trace->origin_ns -
                     (uint64_t)trace->base_ns);
}

static bool has_fractions(const kino__trace *trace)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->ts[row] == KINO_NO_TIME || file_ns(trace, row) % 1000 != 0)
            return true;
    return false;
}

/* HTA's time: doubles of microseconds, start rounded up, end down. */
static void round_time(const kino__trace *trace, uint32_t row, int64_t *ts, int64_t *dur)
{
    double start = (double)((long double)file_ns(trace, row) / 1000.0L);
    double length = (double)((long double)trace->dur[row] / 1000.0L);
    double end = start + length;
    *ts = (int64_t)ceil(start);
    *dur = (int64_t)floor(end) - *ts;
}

static void set_time(kino__frame *f, uint32_t at)
{
    const kino__trace *trace = f->trace;
    uint32_t row = f->row[at];
    int64_t dur = trace->dur[row];
    switch (f->mode) {
    case KINO__FRAME_HTA:
        if (f->is_rounded) {
            round_time(trace, row, &f->ts[at], &f->dur[at]);
        } else {
            f->ts[at] = file_ns(trace, row) / 1000;
            f->dur[at] = dur / 1000;
        }
        break;
    case KINO__FRAME_HTA_NS:
        f->ts[at] = file_ns(trace, row);
        f->dur[at] = dur;
        break;
    default:
        f->ts[at] = trace->ts[row];
        f->dur[at] = dur > 0 ? dur : 0; /* a negative one is damage: completeness counts it */
    }
}

/* -- sides and partners */

static bool is_sync_name(kino_str name)
{
    return kino__str_is(name, "Event Sync") || kino__str_is(name, "Context Sync");
}

static int64_t stream_of(const kino__frame *f, uint32_t row, const kino__track *track,
                         const int64_t *stream_arg)
{
    if (stream_arg)
        return stream_arg[row] == KINO_NO_INT ? -1 : stream_arg[row];
    if (!is_device_kind(f->trace, row))
        return -1;
    if (track->stream != KINO_NO_INT)
        return track->stream;
    return track->tid.kind == KINO__LABEL_INT && track->tid.number >= 0 ? track->tid.number : 0;
}

static void set_row(kino__frame *f, uint32_t at, const kino__track *track,
                    const int64_t *stream_arg, const uint8_t *type_of_name)
{
    const kino__trace *trace = f->trace;
    uint32_t row = f->row[at];
    kino_strid name = trace->name[row];
    int64_t correlation = kino__trace_correlation(trace, row);
    bool is_device = is_device_kind(trace, row);
    set_time(f, at);
    f->stream[at] = stream_of(f, row, track, stream_arg);
    f->correlation[at] = correlation == KINO_NO_INT ? -1 : correlation;
    f->flags[at] = 0;
    uint8_t of_name = name == KINO_NO_STRING ? KINO__KERNEL_COMPUTATION : type_of_name[name] & 0xf;
    bool is_sync = name != KINO_NO_STRING && type_of_name[name] & 0x80;
    if (kino__frame_is_hta(f)) {
        if (f->stream[at] != -1)
            f->flags[at] |= KINO__FRAME_DEVICE;
        if ((f->stream[at] >= 0 && f->correlation[at] >= 0) || is_sync)
            f->flags[at] |= KINO__FRAME_GPU_SIDE;
        f->type[at] = of_name;
        return;
    }
    kino__kind kind = kino__category_kind(trace->category[row]);
    if (is_device)
        f->flags[at] |= KINO__FRAME_DEVICE | KINO__FRAME_GPU_SIDE;
    if (is_sync || kind == KINO__KIND_SYNC)
        f->flags[at] |= KINO__FRAME_GPU_SIDE;
    f->type[at] = kind == KINO__KIND_MEMCPY || kind == KINO__KIND_MEMSET ? KINO__KERNEL_MEMORY
                  : kind == KINO__KIND_KERNEL                            ? of_name
                                                                         : KINO__KERNEL_OTHER;
}

/* Type of each name; 0x80: a synchronisation record. The caller frees it. */
static uint8_t *types_of_names(const kino__frame *f)
{
    size_t count = kino__string_pool_count(&f->trace->strings);
    uint8_t *types = malloc(count + 1);
    for (kino_strid id = 0; id < count && types; id++) {
        kino_str name = kino__trace_string(f->trace, id);
        types[id] = (uint8_t)kino__kernel_type_of(name, kino__frame_is_hta(f));
        if (is_sync_name(name))
            types[id] |= 0x80;
    }
    return types;
}

/* The last row of each side with a correlation: an array where ids are dense, as they are, else a
 * map. */
typedef struct last_rows {
    int64_t limit;
    uint32_t *dense[2];
    kino__map sparse[2];
} last_rows;

static uint32_t *last_of(last_rows *l, int side, int64_t correlation, bool add)
{
    if (correlation >= 0 && correlation < l->limit)
        return &l->dense[side][correlation];
    return add ? kino__map_put(&l->sparse[side], (uint64_t)correlation, KINO_NO_ROW)
               : kino__map_get(&l->sparse[side], (uint64_t)correlation);
}

static bool link_rows(kino__frame *f)
{
    last_rows l = {.limit = (int64_t)f->count * 4 + 1024};
    bool ok = true;
    for (int side = 0; side < 2; side++) {
        l.dense[side] = malloc((size_t)l.limit * sizeof *l.dense[side]);
        ok &= l.dense[side] != NULL;
        if (l.dense[side])
            memset(l.dense[side], 0xff, (size_t)l.limit * sizeof *l.dense[side]);
        kino__map_init(&l.sparse[side], NULL);
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (f->correlation[at] == -1)
            continue;
        uint32_t *last =
            last_of(&l, f->flags[at] & KINO__FRAME_GPU_SIDE ? 1 : 0, f->correlation[at], true);
        ok = last != NULL;
        if (ok)
            *last = at;
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        f->link[at] = KINO__LINK_NONE;
        if (f->correlation[at] == -1)
            continue;
        const uint32_t *other =
            last_of(&l, f->flags[at] & KINO__FRAME_GPU_SIDE ? 0 : 1, f->correlation[at], false);
        bool is_there = other && *other != KINO_NO_ROW;
        /* HTA writes the partner's number, and takes 0 for "none". */
        if (is_there && kino__frame_is_hta(f) && f->trace->number[f->row[*other]] == 0)
            is_there = false;
        f->link[at] = is_there ? (int32_t)*other : KINO__LINK_MISSING;
    }
    for (int side = 0; side < 2; side++) {
        free(l.dense[side]);
        kino__map_deinit(&l.sparse[side]);
    }
    return ok;
}

/* -- what kind of device */

static bool has_name(const kino__trace *trace, const char *name)
{
    return kino__string_pool_find(&trace->strings, kino__str_from(name)) != KINO_NO_STRING;
}

static kino__device_kind find_device_kind(const kino__trace *trace)
{
    kino_str info = kino__trace_metadata(trace, "distributedInfo");
    if (info.size && memmem(info.data, info.size, "mtia:hccl", 9))
        return KINO__DEVICE_MTIA;
    if (has_name(trace, "cudaLaunchKernel"))
        return KINO__DEVICE_NVIDIA;
    if (has_name(trace, "hipLaunchKernel"))
        return KINO__DEVICE_AMD;
    return has_name(trace, "runFunction - job_prep_and_submit_for_execution")
               ? KINO__DEVICE_MTIA
               : KINO__DEVICE_UNKNOWN;
}

/* -- all of it */

static bool fill(kino__frame *f)
{
    const kino__trace *trace = f->trace;
    const int64_t *stream_arg = NULL;
    if (kino__frame_is_hta(f) && !(stream_arg = kino__args_int_column(trace, "stream")))
        return false;
    uint32_t *order = kino__trace_file_order_new(trace);
    uint8_t *types = types_of_names(f);
    f->at_of_row = malloc(((size_t)trace->event_count + 1) * sizeof *f->at_of_row);
    bool ok = order && types && f->at_of_row && allocate(f, trace->event_count);
    if (ok)
        memset(f->at_of_row, 0xff, (size_t)trace->event_count * sizeof *f->at_of_row);
    uint32_t track = 0;
    for (uint32_t i = 0; ok && i < trace->event_count; i++) {
        uint32_t row = order[i];
        if (!is_kept(f, row))
            continue;
        const kino__track *tracks = trace->tracks.items;
        if (row - tracks[track].first >= tracks[track].count)
            track = kino__trace_track_of(trace, row);
        f->row[f->count] = row;
        f->at_of_row[row] = f->count;
        set_row(f, f->count, &tracks[track], stream_arg, types);
        f->count++;
    }
    free(order);
    free(types);
    return ok;
}

typedef struct request {
    kino__frame_mode mode;
    bool has_last_step;
    kino__pool *pool;
} request;

static void *frame_make(const kino__trace *trace, void *context)
{
    const request *r = context;
    kino__frame *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->trace = trace;
    f->mode = r->mode;
    f->unit_ns = r->mode == KINO__FRAME_HTA ? 1000 : 1;
    bool ok = kino__trace_need(trace, KINO__COLUMN_ALL, r->pool);
    if (ok) {
        f->device_kind = find_device_kind(trace);
        f->is_rounded = r->mode == KINO__FRAME_HTA && has_fractions(trace);
        ok = fill(f) && link_rows(f) && kino__frame_find_iterations(f) &&
             kino__frame_cut(f, r->has_last_step);
    }
    if (ok)
        return f;
    frame_free(f);
    return NULL;
}

const kino__frame *kino__frame_of(const kino__trace *trace, kino__frame_mode mode,
                                  bool has_last_step, kino__pool *pool)
{
    static const char keys[KINO__FRAME_MODES][2];
    request r = {mode, has_last_step, pool};
    return kino__trace_attachment(trace, &keys[mode][has_last_step], frame_make, &r, frame_free);
}

/* -- for analyses */

static int compare_ts(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (f->ts[x] != f->ts[y])
        return f->ts[x] < f->ts[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

uint32_t *kino__frame_by_ts(const kino__frame *f, const uint32_t *positions, size_t count)
{
    uint32_t *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return NULL;
    if (count)
        memcpy(sorted, positions, count * sizeof *sorted);
    for (size_t i = 1; i < count; i++) {
        if (compare_ts(&sorted[i - 1], &sorted[i], (void *)(uintptr_t)f) <= 0)
            continue;
        qsort_r(sorted, count, sizeof *sorted, compare_ts, (void *)(uintptr_t)f);
        break;
    }
    return sorted;
}

bool kino__frame_union(const kino__frame *f, const uint32_t *positions, size_t count,
                       kino__intervals *out)
{
    uint32_t *sorted = kino__frame_by_ts(f, positions, count);
    bool ok = sorted && kino__vec_reserve(out, count + 1);
    int64_t latest = INT64_MIN;
    out->count = 0;
    for (size_t i = 0; ok && i < count; i++) {
        int64_t start = f->ts[sorted[i]], end = kino__frame_end(f, sorted[i]);
        if (out->count == 0 || start > latest)
            out->items[out->count++] = (kino__interval){start, end};
        else if (end > out->items[out->count - 1].end)
            out->items[out->count - 1].end = end;
        latest = end > latest ? end : latest;
    }
    free(sorted);
    return ok;
}

void kino__note_cut(kino_result *result, bool is_cut)
{
    if (is_cut)
        kino__result_note(result, "without the last step, as in HTA: include_last_step keeps it");
}
