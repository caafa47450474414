/* annotated_kernels.c - to which annotated part of the program does each kernel belong?
 *
 * Method: on each lane of a device (pid, tid) a kernel belongs to the shortest annotation that
 * overlaps it. Those that overlap are the ones open when the kernel starts, kept in a heap by
 * length, and the ones that start while it runs, found in a tree of minima over all starts.
 * Cost: n log n in kernels and annotations. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"
#include "base/keyed_sort.h"
#include "base/search.h"

enum { P_EXPAND, P_SHORTEST, P_LAST_STEP };

/* -- what a trace gives: integers and texts -- */

typedef struct row {
    int64_t rank;
    kino_strid name, category; /* of texts */
    kino_strid annotation;     /* KINO_NO_STRING: none */
    int64_t event, annotation_event;
    int64_t index; /* in the file */
    int64_t stream, correlation, ts, dur;
    bool is_memory;
} row;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(row) rows;
    int64_t origin; /* compat: the first start of all traces; KINO_NO_TIME: no rows */
    int64_t traces, without;
    bool is_cut;
    /* HTA asks whether any trace of the run knows the category, rows that were cut off included:
     * then all have kernels, some without annotations. */
    bool knows_annotations;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->rows);
}

/* -- one lane -- */

/* Numbers among the lane's annotations, which stand by start. Ties of length: the later one in the
 * frame wins, as HTA's last writer does. */
#define NONE UINT32_MAX

typedef struct lane {
    const kino__frame *f;
    const kino__keyed *notes; /* annotations by start: positions */
    uint32_t note_count;
    uint32_t *heap; /* open ones, the shortest on top */
    uint32_t heap_count;
    uint32_t *tree; /* minima: leaves from note_count on */
} lane;

static int64_t length_of(const kino__frame *f, uint32_t at)
{
    return f->dur[at] > 0 ? f->dur[at] : 0;
}

static int64_t end_of(const kino__frame *f, uint32_t at)
{
    return kino__sum(f->ts[at], length_of(f, at));
}

static bool is_better(const lane *l, uint32_t a, uint32_t b)
{
    if (a == NONE || b == NONE)
        return b == NONE && a != NONE;
    uint32_t x = l->notes[a].value, y = l->notes[b].value;
    int64_t left = length_of(l->f, x), right = length_of(l->f, y);
    return left != right ? left < right : x > y;
}

static void heap_push(lane *l, uint32_t note)
{
    uint32_t place = l->heap_count++;
    for (; place && is_better(l, note, l->heap[(place - 1) / 2]); place = (place - 1) / 2)
        l->heap[place] = l->heap[(place - 1) / 2];
    l->heap[place] = note;
}

static void heap_pop(lane *l)
{
    uint32_t last = l->heap[--l->heap_count], place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= l->heap_count)
            break;
        if (child + 1 < l->heap_count && is_better(l, l->heap[child + 1], l->heap[child]))
            child++;
        if (!is_better(l, l->heap[child], last))
            break;
        l->heap[place] = l->heap[child];
        place = child;
    }
    if (l->heap_count)
        l->heap[place] = last;
}

static void tree_fill(lane *l)
{
    for (uint32_t i = 0; i < l->note_count; i++)
        l->tree[l->note_count + i] = i;
    for (size_t i = l->note_count; i-- > 1;) {
        uint32_t left = l->tree[2 * i], right = l->tree[2 * i + 1];
        l->tree[i] = is_better(l, left, right) ? left : right;
    }
}

/* The best of those from first to before end. */
static uint32_t tree_best(const lane *l, uint32_t first, uint32_t end)
{
    uint32_t best = NONE;
    uint32_t left = first + l->note_count, right = end + l->note_count;
    for (; left < right; left /= 2, right /= 2) {
        if (left & 1) {
            best = is_better(l, l->tree[left], best) ? l->tree[left] : best;
            left++;
        }
        if (right & 1) {
            right--;
            best = is_better(l, l->tree[right], best) ? l->tree[right] : best;
        }
    }
    return best;
}

/* How many annotations start before the time, or at it. */
static uint32_t count_started(const lane *l, int64_t time, bool is_at)
{
    return KINO__SEARCH(uint32_t, i, 0, l->note_count,
                        l->notes[i].key < time || (is_at && l->notes[i].key == time));
}

/* The winner of each kernel of the lane; kernels by start, at one start those without length
 * first. */
static void match_lane(lane *l, const kino__keyed *kernels, size_t count, uint32_t *winner)
{
    uint32_t pushed = 0;
    tree_fill(l);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = kernels[i].value;
        int64_t start = l->f->ts[at], end = end_of(l->f, at);
        /* a kernel without length must lie strictly inside */
        for (; pushed < l->note_count &&
               (l->notes[pushed].key < start || (l->notes[pushed].key == start && end > start));
             pushed++)
            heap_push(l, pushed);
        while (l->heap_count && end_of(l->f, l->notes[l->heap[0]].value) <= start)
            heap_pop(l);
        uint32_t best = l->heap_count ? l->heap[0] : NONE;
        if (end > start) {
            uint32_t inside =
                tree_best(l, count_started(l, start, true), count_started(l, end, false));
            best = is_better(l, inside, best) ? inside : best;
        }
        winner[at] = best == NONE ? NONE : l->notes[best].value;
    }
}

/* -- all lanes of a trace -- */

typedef struct lanes {
    const kino__frame *f;
    bool is_hta;
    KINO__VEC(kino__keyed) notes, kernels; /* key: start; of all tracks, sorted by track, start */
    uint32_t *track;                       /* of each position */
    uint32_t *winner;                      /* of each position: the annotation's, or NONE */
} lanes;

static bool is_kernel(const lanes *l, uint32_t at)
{
    return l->f->flags[at] & (l->is_hta ? KINO__FRAME_GPU_SIDE : KINO__FRAME_DEVICE);
}

static bool is_note(const lanes *l, uint32_t at)
{
    uint16_t category = l->f->trace->category[l->f->row[at]];
    return l->is_hta ? category == KINO__CATEGORY_GPU_USER_ANNOTATION
                     : kino__category_kind(category) == KINO__KIND_GPU_ANNOTATION;
}

static int compare_lane_order(const void *x, const void *y, void *context)
{
    const lanes *l = context;
    const kino__keyed *a = x, *b = y;
    if (l->track[a->value] != l->track[b->value])
        return l->track[a->value] < l->track[b->value] ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    bool is_long = length_of(l->f, a->value) > 0, is_other_long = length_of(l->f, b->value) > 0;
    if (is_long != is_other_long)
        return is_long ? 1 : -1;
    return a->value < b->value ? -1 : a->value > b->value;
}

static bool collect(lanes *l)
{
    const kino__frame *f = l->f;
    const kino__trace *trace = f->trace;
    uint32_t track = 0;
    for (uint32_t at = 0; at < f->count; at++) {
        l->winner[at] = NONE;
        bool is_a_note = is_note(l, at);
        if (!is_a_note && !is_kernel(l, at))
            continue;
        const kino__track *tracks = trace->tracks.items;
        if (f->row[at] - tracks[track].first >= tracks[track].count)
            track = kino__trace_track_of(trace, f->row[at]);
        l->track[at] = track;
        kino__keyed *slot = is_a_note ? kino__vec_add(&l->notes) : kino__vec_add(&l->kernels);
        if (!slot)
            return false;
        *slot = (kino__keyed){f->ts[at], at};
    }
    if (l->notes.count)
        qsort_r(l->notes.items, l->notes.count, sizeof *l->notes.items, compare_lane_order, l);
    if (l->kernels.count && l->notes.count)
        qsort_r(l->kernels.items, l->kernels.count, sizeof *l->kernels.items, compare_lane_order,
                l);
    return true;
}

static bool match_all(lanes *l)
{
    uint32_t *heap = malloc((l->notes.count + 1) * sizeof *heap);
    uint32_t *tree = malloc((2 * l->notes.count + 2) * sizeof *tree);
    bool ok = heap && tree;
    size_t kernel = 0;
    for (size_t first = 0, end; ok && first < l->notes.count; first = end) {
        uint32_t track = l->track[l->notes.items[first].value];
        for (end = first + 1; end < l->notes.count && l->track[l->notes.items[end].value] == track;)
            end++;
        while (kernel < l->kernels.count && l->track[l->kernels.items[kernel].value] < track)
            kernel++;
        size_t last = kernel;
        while (last < l->kernels.count && l->track[l->kernels.items[last].value] == track)
            last++;
        lane one = {l->f, &l->notes.items[first], (uint32_t)(end - first), heap, 0, tree};
        match_lane(&one, &l->kernels.items[kernel], last - kernel, l->winner);
        kernel = last;
    }
    free(heap);
    free(tree);
    return ok;
}

static int compare_labels(const kino__trace *trace, const kino__label *a, const kino__label *b)
{
    if (a->kind != KINO__LABEL_INT && b->kind != KINO__LABEL_INT)
        return kino__str_compare(kino__trace_string(trace, a->text),
                                 kino__trace_string(trace, b->text));
    if (a->kind != b->kind)
        return a->kind == KINO__LABEL_INT ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* HTA's order of lanes: by process, then stream. */
static int compare_tracks(const kino__trace *trace, uint32_t left, uint32_t right)
{
    const kino__track *a = &trace->tracks.items[left], *b = &trace->tracks.items[right];
    int by_pid = left == right ? 0 : compare_labels(trace, &a->pid, &b->pid);
    return by_pid ? by_pid : compare_labels(trace, &a->tid, &b->tid);
}

static int compare_spans(const void *x, const void *y, void *context)
{
    const lanes *l = context;
    uint32_t a = ((const kino__keyed *)x)->value, b = ((const kino__keyed *)y)->value;
    if (l->f->ts[a] != l->f->ts[b])
        return l->f->ts[a] < l->f->ts[b] ? -1 : 1;
    if (l->f->dur[a] != l->f->dur[b])
        return l->f->dur[a] < l->f->dur[b] ? -1 : 1;
    int by_lane = compare_tracks(l->f->trace, l->track[a], l->track[b]);
    if (by_lane)
        return by_lane;
    return a < b ? -1 : a > b;
}

/* HTA writes to all kernels of the same start and end, on other lanes too: the last lane wins. */
static void spread(lanes *l)
{
    size_t count = l->kernels.count;
    kino__keyed *k = l->kernels.items;
    if (count)
        qsort_r(k, count, sizeof *k, compare_spans, l);
    for (size_t first = 0, end; first < count; first = end) {
        uint32_t winner = NONE;
        for (end = first; end < count && l->f->ts[k[end].value] == l->f->ts[k[first].value] &&
                          l->f->dur[k[end].value] == l->f->dur[k[first].value];
             end++)
            if (l->winner[k[end].value] != NONE)
                winner = l->winner[k[end].value];
        for (size_t i = first; i < end; i++)
            l->winner[k[i].value] = winner;
    }
}

static bool add_rows(const lanes *l, partial *p)
{
    const kino__frame *f = l->f;
    const kino__trace *trace = f->trace;
    for (uint32_t at = 0; at < f->count; at++) {
        if (!is_kernel(l, at) || is_note(l, at))
            continue;
        uint32_t store_row = f->row[at], winner = l->winner[at];
        row *r = kino__vec_add(&p->rows);
        if (!r)
            return false;
        *r = (row){.rank = trace->rank,
                   .annotation = KINO_NO_STRING,
                   .event = kino__trace_event_id(trace, store_row),
                   .annotation_event = KINO_NO_INT,
                   .index = trace->number[store_row],
                   .stream = f->stream[at],
                   .correlation = f->correlation[at] == -1 ? KINO_NO_INT : f->correlation[at],
                   .ts = kino__frame_ns(f, f->ts[at]),
                   .dur = kino__frame_ns(f, f->dur[at]),
                   .is_memory = f->type[at] == KINO__KERNEL_MEMORY};
        r->name = kino__string_pool_add_borrowed(&p->texts, kino__frame_name(f, at));
        r->category = kino__string_pool_add_borrowed(
            &p->texts, kino__trace_category_text(trace, trace->category[store_row]));
        if (winner != NONE) {
            r->annotation = kino__string_pool_add_borrowed(&p->texts, kino__frame_name(f, winner));
            r->annotation_event = kino__trace_event_id(trace, f->row[winner]);
        }
        if (r->name == KINO_NO_STRING || r->category == KINO_NO_STRING ||
            (winner != NONE && r->annotation == KINO_NO_STRING))
            return false;
    }
    return true;
}

static bool has_annotations(const kino__trace *trace)
{
    for (uint32_t i = 0; i < trace->event_count; i++)
        if (trace->category[i] == KINO__CATEGORY_GPU_USER_ANNOTATION)
            return true;
    return false;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    lanes l = {.f = kino__frame_asked(a, trace, P_LAST_STEP), .is_hta = a->compat != NULL};
    if (!l.f)
        return kino__fail_nomem(err);
    l.track = malloc(((size_t)l.f->count + 1) * sizeof *l.track);
    l.winner = malloc(((size_t)l.f->count + 1) * sizeof *l.winner);
    bool ok = l.track && l.winner && collect(&l) && match_all(&l);
    if (ok && l.is_hta && l.notes.count)
        spread(&l);
    ok = ok && ((l.notes.count == 0 && !l.is_hta) || add_rows(&l, p));
    p->knows_annotations = l.notes.count || has_annotations(trace);
    p->origin = KINO_NO_TIME;
    for (uint32_t at = 0; at < l.f->count; at++)
        p->origin = at == 0 || l.f->ts[at] < p->origin ? l.f->ts[at] : p->origin;
    if (p->origin != KINO_NO_TIME)
        p->origin = kino__frame_ns(l.f, p->origin);
    p->traces = 1;
    p->without = l.notes.count == 0;
    p->is_cut = l.f->is_cut;
    kino__vec_deinit(&l.notes);
    kino__vec_deinit(&l.kernels);
    free(l.track);
    free(l.winner);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- several traces -- */

static bool move_text(partial *into, const partial *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_reserve(&into->rows, from->rows.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < from->rows.count; i++) {
        row r = from->rows.items[i];
        if (!move_text(into, from, &r.name) || !move_text(into, from, &r.category) ||
            !move_text(into, from, &r.annotation))
            return kino__fail_nomem(err);
        into->rows.items[into->rows.count++] = r;
    }
    if (from->origin != KINO_NO_TIME &&
        (into->origin == KINO_NO_TIME || from->origin < into->origin))
        into->origin = from->origin;
    into->traces = kino__sum(into->traces, from->traces);
    into->without = kino__sum(into->without, from->without);
    into->is_cut |= from->is_cut;
    into->knows_annotations |= from->knows_annotations;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->name, &r->category, &r->annotation, &r->index, &r->stream,
               &r->correlation, &r->dur, &r->is_memory);
    KINO__PACK_EVENTS(pack, &r->event, &r->annotation_event);
    KINO__PACK_FRAME_TIMES(pack, &r->ts);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__pack_frame_time(pack, &p->origin);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without);
    KINO__PACK(pack, &p->knows_annotations, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_EXPAND] = {"expand_names", KINO_TYPE_BOOL, "yes",
                  "include names and categories; no: event numbers only", NULL},
    [P_SHORTEST] = {"shortest", KINO_TYPE_BOOL, "no",
                    "kernel names without templates and arguments", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

enum {
    C_RANK,
    C_INDEX,
    C_EVENT,
    C_NAME,
    C_CATEGORY,
    C_STREAM,
    C_CORRELATION,
    C_TS,
    C_DUR,
    C_ANNOTATION,
    C_ANNOTATION_NAME
};

static const kino_column kernel_columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [C_INDEX] = {"index", KINO_TYPE_INT, NULL, "index of the event in its file"},
    [C_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the event"},
    [C_NAME] = {"s_name", KINO_TYPE_STRING, NULL, "name of the kernel, copy or memset"},
    [C_CATEGORY] = {"s_cat", KINO_TYPE_STRING, NULL, "category"},
    [C_STREAM] = {"stream", KINO_TYPE_INT, NULL, "of the device"},
    [C_CORRELATION] = {"correlation", KINO_TYPE_INT, NULL, "shared with its launch; null: none"},
    [C_TS] = {"ts", KINO_TYPE_TIME, NULL, "start"},
    [C_DUR] = {"dur", KINO_TYPE_DURATION, NULL, "length"},
    [C_ANNOTATION] = {"user_annotation", KINO_TYPE_INT, KINO_UNIT_EVENT,
                      "id of the annotation's event; null: none"},
    [C_ANNOTATION_NAME] = {"s_user_annotation", KINO_TYPE_STRING, NULL, "its name; empty: none"},
    {0},
};

static const kino_column sum_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"s_user_annotation", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "empty: kernels without one"},
    {"count", KINO_TYPE_INT, "count", "kernels, copies and memsets"},
    {"total_dur", KINO_TYPE_DURATION, NULL, "sum of their durations"},
    {0},
};

static const kino_table_info tables[] = {
    {"annotated_kernels", "one row per kernel, copy or memset, by rank, in file order",
     kernel_columns, NULL, "not available: no annotations on the devices"},
    {"by_annotation", "one row per rank and annotation, by name", sum_columns, NULL, NULL},
    {0},
};

static void add_kernel(const kino__analysis *a, const partial *p, kino__table *table, const row *r,
                       kino__buffer *text)
{
    kino_str name = kino__string_pool_text(&p->texts, r->name);
    text->size = 0;
    if (kino__param_bool(a, P_SHORTEST))
        kino__short_name(name, r->is_memory, text);
    KINO__TABLE_ADD(table, r->rank, r->index, r->event);
    if (kino__param_bool(a, P_EXPAND)) {
        KINO__TABLE_ADD(table, kino__param_bool(a, P_SHORTEST) ? kino__buffer_str(text) : name,
                        kino__string_pool_text(&p->texts, r->category));
    } else {
        kino__table_add_null(table);
        kino__table_add_null(table);
    }
    KINO__TABLE_ADD(table, r->stream, r->correlation,
                    a->compat ? kino__difference(r->ts, p->origin) : r->ts, r->dur,
                    r->annotation_event, kino__string_pool_text(&p->texts, r->annotation));
}

static int compare_by_annotation(const void *x, const void *y, void *context)
{
    const partial *p = context;
    const row *a = &p->rows.items[*(const uint32_t *)x], *b = &p->rows.items[*(const uint32_t *)y];
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->annotation == b->annotation)
        return 0;
    return kino__str_compare(kino__string_pool_text(&p->texts, a->annotation),
                             kino__string_pool_text(&p->texts, b->annotation));
}

static bool add_sums(partial *p, kino__table *table)
{
    uint32_t *order = malloc((p->rows.count + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < p->rows.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, p->rows.count, sizeof *order, compare_by_annotation, p);
    for (size_t first = 0, end; first < p->rows.count; first = end) {
        const row *r = &p->rows.items[order[first]];
        int64_t total = 0;
        for (end = first;
             end < p->rows.count && compare_by_annotation(&order[first], &order[end], p) == 0;
             end++)
            total = kino__sum(total, p->rows.items[order[end]].dur);
        KINO__TABLE_ADD(table, r->rank, kino__string_pool_text(&p->texts, r->annotation),
                        (int64_t)(end - first), total);
    }
    free(order);
    return true;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    kino__buffer text = {0};
    if (!p->knows_annotations)
        p->rows.count = 0;
    for (size_t i = 0; i < p->rows.count; i++)
        add_kernel(a, p, table, &p->rows.items[i], &text);
    if (table)
        table->hidden |=
            1u << C_EVENT | 1u << C_CATEGORY | 1u << C_CORRELATION | 1u << C_ANNOTATION;
    bool ok = !text.failed && add_sums(p, kino__analysis_table(result, 1));
    kino__buffer_deinit(&text);
    if (p->without == p->traces)
        kino__result_lacks(result, "annotations of kernels", ": no annotations on the devices");
    else if (p->without)
        kino__result_lacks(result, "annotations of kernels",
                           " in %lld of %lld traces: no annotations on the devices",
                           (long long)p->without, (long long)p->traces);
    kino__note_cut(result, p->is_cut);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_annotated_kernels = {
    .name = "annotated-kernels",
    .help = "which annotated part of the program each kernel belongs to",
    .description = "Assigns to each kernel, copy and memset the shortest annotation on its device\n"
                   "lane that overlaps it. Annotations appear on devices if the profiler recorded\n"
                   "them (category gpu_user_annotation).\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
