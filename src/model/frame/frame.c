/* frame.c - making a frame: positions and columns, from what the scan and the cut have found. */
#include "model/frame/frame.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/large.h"
#include "model/frame/frame_internal.h"
#include "names/launch_calls.h"

/* -- memory */

void kino__frame_free(kino__frame *f)
{
    if (!f)
        return;
    kino__frame_drop_links(f);
    kino__large_free(f->columns);
    kino__vec_deinit(&f->steps);
    free(f);
}

static void frame_free(void *value)
{
    kino__frame_free(value);
}

void kino__frame_drop_links(kino__frame *f)
{
    kino__large_free(f->at_of_row);
    if (f->is_narrow)
        kino__large_free(f->link);
    f->at_of_row = NULL;
    f->link = NULL;
}

/* The next column of a block, aligned; with a NULL block only *used grows. */
static void *take(char *block, size_t *used, size_t count, size_t item)
{
    void *column = block ? block + *used : NULL;
    *used += (count * item + 63) & ~(size_t)63;
    return column;
}

static size_t lay_out(kino__frame *f, char *block, size_t count)
{
    size_t used = 0;
    f->row = take(block, &used, count, sizeof *f->row);
    f->flags = take(block, &used, count, sizeof *f->flags);
    if (f->is_narrow)
        return used;
    f->ts = take(block, &used, count, sizeof *f->ts);
    f->dur = take(block, &used, count, sizeof *f->dur);
    f->stream = take(block, &used, count, sizeof *f->stream);
    f->correlation = take(block, &used, count, sizeof *f->correlation);
    f->iteration = take(block, &used, count, sizeof *f->iteration);
    f->link = take(block, &used, count, sizeof *f->link);
    f->type = take(block, &used, count, sizeof *f->type);
    return used;
}

static bool allocate(kino__frame *f, size_t count)
{
    if (count > INT32_MAX) /* links are 32 bits */
        return false;
    f->columns = kino__large_new(lay_out(f, NULL, count + 1), 1);
    f->at_of_row = kino__large_new((size_t)f->trace->event_count + 1, sizeof *f->at_of_row);
    if (!f->columns || !f->at_of_row)
        return false;
    (void)lay_out(f, f->columns, count + 1);
    if (f->is_narrow)
        f->link = kino__large_new(count + 1, sizeof *f->link);
    if (!f->link)
        return false;
    memset(f->at_of_row, 0xff, (size_t)f->trace->event_count * sizeof *f->at_of_row);
    return true;
}

/* -- positions */

/* Does HTA's cut repeat rows of the device side: once for each call of their correlation? */
static bool has_copies(const kino__frame_work *w)
{
    return kino__frame_is_hta(w->f) && w->is_cutting && !w->is_mtia;
}

/* How often a row that is kept stands in such a frame. */
static uint32_t copies_of(const kino__frame_work *w, uint32_t row)
{
    if (!(w->flags[row] & KINO__FRAME_GPU_SIDE))
        return 1;
    return kino__frame_call_of(&w->calls, kino__frame_correlation(w->f->trace, row))->hosts;
}

/* Rows kept, and those of them that belong in front. */
static void count_rows(const kino__frame_work *w, uint8_t in_front, size_t *total, size_t *front)
{
    *total = *front = 0;
    for (uint32_t row = 0; row < w->f->trace->event_count; row++) {
        bool is_kept = w->flags[row] & KINO__FRAME_KEPT;
        *total += is_kept;
        *front += is_kept && w->flags[row] & in_front;
    }
    for (uint32_t row = 0; has_copies(w) && row < w->f->trace->event_count; row++) {
        if (!(w->flags[row] & KINO__FRAME_KEPT))
            continue;
        *total += copies_of(w, row) - 1;
        *front += copies_of(w, row) - 1;
    }
}

/* The file's order; when the last step is cut off, device rows before the others. */
static bool order_rows(kino__frame_work *w)
{
    kino__frame *f = w->f;
    const uint8_t in_front = w->is_cutting && !w->is_mtia ? KINO__FRAME_GPU_SIDE : 0;
    bool with_copies = has_copies(w);
    size_t total, front;
    count_rows(w, in_front, &total, &front);
    if (with_copies && total > kino__frame_most_rows(f->trace)) {
        f->refused = total;
        return false;
    }
    if (!allocate(f, total))
        return false;
    uint32_t next[2] = {(uint32_t)front, 0};
    f->count = (uint32_t)total;
    for (uint32_t number = 0; number < f->trace->number_count; number++) {
        uint32_t row = w->row_of_number[number];
        if (row == KINO_NO_ROW || !(w->flags[row] & KINO__FRAME_KEPT))
            continue;
        uint32_t *at = &next[w->flags[row] & in_front ? 1 : 0];
        uint32_t copies = with_copies ? copies_of(w, row) : 1;
        for (uint32_t c = 0; c < copies; c++)
            f->row[(*at)++] = row;
        f->at_of_row[row] = *at - 1;
    }
    return true;
}

/* -- columns */

enum { FILL_ROWS = 1 << 15 }; /* a piece of work */

/* Where a piece of work is: neighbours are mostly near each other. */
typedef struct cursor {
    const kino__track *track;
    size_t step, partner_step;
} cursor;

static int64_t stream_of(const kino__frame_work *w, uint32_t row, cursor *c)
{
    const kino__trace *trace = w->f->trace;
    if (w->stream_arg)
        return w->stream_arg[row] == KINO_NO_INT ? -1 : w->stream_arg[row];
    if (!(w->flags[row] & KINO__FRAME_DEVICE))
        return -1;
    if (!c->track || row - c->track->first >= c->track->count)
        c->track = &trace->tracks.items[kino__trace_track_of(trace, row)];
    if (c->track->stream != KINO_NO_INT)
        return c->track->stream;
    const kino__label *tid = &c->track->tid;
    return tid->kind == KINO__LABEL_INT && tid->number >= 0 ? tid->number : 0;
}

/* The last row of the other side, KINO_NO_ROW: none. */
static uint32_t partner_of(const kino__frame_work *w, uint32_t row, const kino__frame_call *call)
{
    uint32_t last = call ? call->last[w->flags[row] & KINO__FRAME_GPU_SIDE ? 0 : 1] : 0;
    /* HTA writes the partner's number, and takes 0 for "none". */
    if (last == 0 || (last == 1 && kino__frame_is_hta(w->f)))
        return KINO_NO_ROW;
    return w->row_of_number[last - 1];
}

/* Position of the first copy. */
static int32_t link_to(const kino__frame_work *w, uint32_t partner, const kino__frame_call *call)
{
    if (!call)
        return KINO__LINK_NONE;
    if (partner == KINO_NO_ROW)
        return KINO__LINK_MISSING;
    if (!(w->flags[partner] & KINO__FRAME_KEPT))
        return KINO__LINK_CUT;
    uint32_t at = w->f->at_of_row[partner];
    return (int32_t)(has_copies(w) ? at + 1 - copies_of(w, partner) : at);
}

/* Of a row of the host: the step it starts in. */
static int64_t host_iteration(const kino__frame_work *w, uint32_t row, size_t *hint)
{
    int64_t ts, dur;
    kino__frame_time(w->f, row, &ts, &dur);
    return kino__frame_number_at(&w->pieces, ts, hint);
}

static int64_t iteration_of(const kino__frame_work *w, uint32_t at, uint32_t partner, cursor *c)
{
    const kino__frame *f = w->f;
    uint32_t row = f->row[at];
    bool is_device = f->flags[at] & KINO__FRAME_DEVICE;
    if (kino__frame_is_hta(f)) {
        bool is_op = kino__frame_category(w, row) & KINO__OF_OP;
        if (f->stream[at] == 0 && !is_op)
            return KINO_NO_INT;
        is_device = f->stream[at] > 0;
    }
    if (!is_device)
        return kino__frame_number_at(&w->pieces, f->ts[at], &c->step);
    if (partner != KINO_NO_ROW)
        return host_iteration(w, partner, &c->partner_step);
    /* Nobody launched it: its own time is all that there is to go by. */
    return kino__frame_is_hta(f) ? -1 : kino__frame_number_at(&w->pieces, f->ts[at], &c->step);
}

static void fill_piece(void *context, unsigned worker, size_t index)
{
    (void)worker;
    const kino__frame_work *w = context;
    kino__frame *f = w->f;
    cursor c = {0};
    uint32_t at = (uint32_t)(index * FILL_ROWS);
    uint32_t end = f->count - at > FILL_ROWS ? at + FILL_ROWS : f->count;
    for (; at < end; at++) {
        uint32_t row = f->row[at];
        int64_t correlation = kino__frame_correlation(f->trace, row);
        const kino__frame_call *call =
            correlation == -1 ? NULL : kino__frame_call_of(&w->calls, correlation);
        uint32_t partner = partner_of(w, row, call);
        f->flags[at] = w->flags[row] & (uint8_t)~KINO__FRAME_KEPT;
        f->link[at] = link_to(w, partner, call);
        if (f->is_narrow)
            continue;
        kino__frame_time(f, row, &f->ts[at], &f->dur[at]);
        f->stream[at] = stream_of(w, row, &c);
        f->correlation[at] = correlation;
        f->type[at] = (uint8_t)kino__frame_type(w, row);
        f->iteration[at] = iteration_of(w, at, partner, &c);
    }
}

/* -- what kind of device */

/* Does such a call occur? */
static bool has_call(const kino__trace *trace, unsigned mark)
{
    kino_str name;
    for (size_t i = 0; (name = kino__call_with(mark, i)).size; i++)
        if (kino__string_pool_find(&trace->strings, name) != KINO_NO_STRING)
            return true;
    return false;
}

static kino__device_kind find_device_kind(const kino__trace *trace)
{
    kino_str info = kino__trace_metadata(trace, "distributedInfo");
    if (info.size && memmem(info.data, info.size, "mtia:hccl", 9))
        return KINO__DEVICE_MTIA;
    if (has_call(trace, KINO__CALL_NVIDIA))
        return KINO__DEVICE_NVIDIA;
    if (has_call(trace, KINO__CALL_AMD))
        return KINO__DEVICE_AMD;
    return has_call(trace, KINO__CALL_MTIA) ? KINO__DEVICE_MTIA : KINO__DEVICE_UNKNOWN;
}

/* -- all of it */

static bool has_fractions(const kino__trace *trace)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->ts[row] == KINO_NO_TIME || kino__frame_file_ns(trace, row) % 1000 != 0)
            return true;
    return false;
}

typedef struct request {
    kino__frame_mode mode;
    bool has_last_step;
    bool is_narrow;
    kino__pool *pool;
} request;

static bool fill_frame(kino__frame *f, const request *r)
{
    kino__frame_work w = {.f = f, .pool = r->pool};
    f->device_kind = find_device_kind(f->trace);
    f->is_rounded = r->mode == KINO__FRAME_HTA && has_fractions(f->trace);
    bool ok = kino__frame_scan(&w) && kino__frame_choose(&w, r->has_last_step) && order_rows(&w);
    if (ok)
        kino__pool_run(r->pool, ((size_t)f->count + FILL_ROWS - 1) / FILL_ROWS, fill_piece, &w);
    ok = ok && (!w.is_mtia || kino__frame_fix_mtia(&w)) &&
         (f->is_narrow || kino__frame_list_steps(f));
    kino__frame_work_deinit(&w);
    return ok;
}

static void *frame_make(const kino__trace *trace, void *context)
{
    const request *r = context;
    kino__frame *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->trace = trace;
    f->mode = r->mode;
    f->is_narrow = r->is_narrow;
    f->unit_ns = r->mode == KINO__FRAME_HTA ? 1000 : 1;
    unsigned needs = r->is_narrow ? KINO__FRAME_NARROW_COLUMNS : KINO__COLUMN_ALL;
    if (kino__trace_need(trace, needs, r->pool) && (fill_frame(f, r) || f->refused))
        return f;
    frame_free(f);
    return NULL;
}

static const char frame_keys[KINO__FRAME_MODES][2]; /* their addresses name the frames */

const kino__frame *kino__frame_of(const kino__trace *trace, kino__frame_mode mode,
                                  bool has_last_step, kino__pool *pool)
{
    request r = {mode, has_last_step, false, pool};
    const kino__frame *f =
        kino__trace_attachment(trace, &frame_keys[mode][has_last_step], frame_make, &r, frame_free);
    return f && f->refused ? NULL : f;
}

kino__frame *kino__frame_new_narrow(const kino__trace *trace, bool has_last_step, kino__pool *pool)
{
    request r = {KINO__FRAME_DEFAULT, has_last_step, true, pool};
    return frame_make(trace, &r);
}

static void *make_none(const kino__trace *trace, void *context)
{
    (void)trace, (void)context;
    return NULL;
}

kino_status kino__fail_pairs(const kino__trace *trace, uint64_t rows, kino_error *err)
{
    return kino__fail_hint(err, KINO_LIMIT, kino__hint(KINO_HINT_UNSET, "compat", ""),
                           "correlations are not unique: HTA's join of %llu events has %llu rows; "
                           "this does not happen without " KINO__HERE,
                           (unsigned long long)trace->event_count, (unsigned long long)rows);
}

kino_status kino__frame_explain(const kino__trace *trace, kino_status st, kino_error *err)
{
    for (size_t i = 0; st == KINO_NOMEM && i < sizeof frame_keys; i++) {
        const kino__frame *f =
            kino__trace_attachment(trace, &frame_keys[0][0] + i, make_none, NULL, frame_free);
        if (f && f->refused)
            st = kino__fail_pairs(trace, f->refused, err);
    }
    return st;
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
