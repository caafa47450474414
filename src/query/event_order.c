/* event_order.c - sorted row lists, and the merge of runs. */
#include "query/event_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "query/event_rank.h"
#include "query/row_sort.h"

bool kino__event_order_takes(kino__query_context *context, kino__event_column column)
{
    if (column == KINO__EVENT_PID || column == KINO__EVENT_TID)
        return !kino__query_has_text_labels(context); /* else one track has two values */
    return column < KINO__EVENT_ARGS;
}

/* Names of one trace that need only be neighbours are good as they are numbered. */
static bool needs_name_rank(const kino__event_stream *stream)
{
    return !stream->order.is_grouping || stream->context->trace_count > 1;
}

static bool make_ranks(kino__event_stream *stream)
{
    kino__query_context *context = stream->context;
    for (size_t i = 0; i < stream->order.count && context->trace_count; i++) {
        kino__event_column column = stream->order.terms[i].column;
        kino__query_trace *first = &context->traces[0];
        bool done = true;
        if (column == KINO__EVENT_NAME && needs_name_rank(stream) && !first->name_rank)
            done = kino__rank_texts(context, column);
        if (column == KINO__EVENT_CAT && !first->category_rank)
            done = kino__rank_texts(context, column);
        if ((column == KINO__EVENT_PID && !first->pid_rank) ||
            (column == KINO__EVENT_TID && !first->tid_rank))
            done = kino__rank_labels(context, column);
        if (!done)
            return false;
    }
    return true;
}

/* ---- keys ---- */

static int64_t name_key(const kino__event_stream *stream, const kino__query_trace *qt, uint32_t row)
{
    kino_strid name = qt->trace->name[row];
    if (name == KINO_NO_STRING)
        return KINO_NO_INT;
    return needs_name_rank(stream) ? (int64_t)qt->name_rank[name] : (int64_t)name;
}

static int64_t category_key(const kino__query_trace *qt, uint32_t row)
{
    uint16_t category = qt->trace->category[row];
    size_t count = kino__rank_category_count(qt->trace);
    return category == KINO__CATEGORY_NONE ? KINO_NO_INT
                                           : qt->category_rank[category < count ? category : count];
}

/* A number that orders rows by one term; KINO_NO_INT, the smallest, for NULL. */
static int64_t ascending_key(const kino__event_stream *stream, kino__event_column column,
                             kino__query_trace *qt, uint32_t row)
{
    switch (column) {
    case KINO__EVENT_NAME:
        return name_key(stream, qt, row);
    case KINO__EVENT_CAT:
        return category_key(qt, row);
    case KINO__EVENT_PH:
        return qt->trace->phase[row] ? qt->trace->phase[row] : KINO_NO_INT;
    case KINO__EVENT_PID:
        return qt->pid_rank[kino__query_track(qt, row)];
    case KINO__EVENT_TID:
        return qt->tid_rank[kino__query_track(qt, row)];
    default:
        return kino__query_int(qt, column, row);
    }
}

static int64_t term_key(const kino__event_stream *stream, size_t term, kino__query_trace *qt,
                        uint32_t row)
{
    int64_t key = ascending_key(stream, stream->order.terms[term].column, qt, row);
    return stream->order.terms[term].is_descending ? ~key : key;
}

/* ---- sorted lists ---- */

/* The keys of one term; NULL is moved next to the smallest value, so that the range stays small. */
static void fill_keys(const kino__event_stream *stream, size_t term, kino__query_trace *qt,
                      const uint32_t *rows, size_t count, int64_t *keys)
{
    kino__event_column column = stream->order.terms[term].column;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        keys[i] = ascending_key(stream, column, qt, rows[i]);
        if (keys[i] != KINO_NO_INT && keys[i] < least)
            least = keys[i];
    }
    int64_t null_key = least > KINO_NO_INT + 1 ? least - 1 : KINO_NO_INT;
    for (size_t i = 0; i < count; i++) {
        int64_t key = keys[i] == KINO_NO_INT ? null_key : keys[i];
        keys[i] = stream->order.terms[term].is_descending ? ~key : key;
    }
}

/* All segments of one trace (they are neighbours) as one list. */
static void join_segments(const kino__segment *segments, size_t count, uint32_t *rows)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t at = segments[i].at; at < segments[i].end; at++)
            *rows++ = segments[i].rows ? segments[i].rows[at] : at;
    }
}

static bool sort_trace(kino__event_stream *stream, const kino__segment *segments, size_t count,
                       kino__selection *sorted)
{
    size_t row_count = 0;
    for (size_t i = 0; i < count; i++)
        row_count += segments[i].end - segments[i].at;
    uint32_t *rows = kino__selection_list(sorted, row_count);
    int64_t *keys = malloc((row_count + 1) * sizeof *keys);
    bool done = rows && keys;
    if (done)
        join_segments(segments, count, rows);
    for (size_t term = stream->order.count; term-- > 0 && done;) {
        fill_keys(stream, term, segments->qt, rows, row_count, keys);
        done = kino__row_sort(rows, keys, row_count);
    }
    free(keys);
    return done && kino__selection_add(sorted, segments->qt, rows, 0, (uint32_t)row_count);
}

static bool sort_selection(kino__event_stream *stream)
{
    kino__selection sorted = {0};
    kino__selection *selection = &stream->selection;
    bool done = true;
    for (size_t first = 0, end; first < selection->segments.count && done; first = end) {
        for (end = first + 1; end < selection->segments.count; end++) {
            if (selection->segments.items[end].qt != selection->segments.items[first].qt)
                break;
        }
        done = sort_trace(stream, &selection->segments.items[first], end - first, &sorted);
    }
    kino__selection_deinit(selection);
    *selection = sorted;
    return done;
}

/* ---- merge ---- */

static uint32_t run_row(const kino__event_stream *stream, const kino__merge_run *run)
{
    const kino__segment *s = &run->segment;
    uint32_t at = stream->is_backward ? s->end - 1 : s->at;
    return s->rows ? s->rows[at] : at;
}

static bool runs_before(const kino__event_stream *stream, const kino__merge_run *a,
                        const kino__merge_run *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    for (size_t term = 1; term < stream->order.count; term++) {
        int64_t x = term_key(stream, term, a->segment.qt, run_row(stream, a));
        int64_t y = term_key(stream, term, b->segment.qt, run_row(stream, b));
        if (x != y)
            return x < y;
    }
    return a->place < b->place;
}

static void sift_down(kino__event_stream *stream, size_t i)
{
    kino__merge_run moved = stream->heap[i];
    for (size_t child; (child = 2 * i + 1) < stream->heap_count; i = child) {
        if (child + 1 < stream->heap_count &&
            runs_before(stream, &stream->heap[child + 1], &stream->heap[child]))
            child++;
        if (!runs_before(stream, &stream->heap[child], &moved))
            break;
        stream->heap[i] = stream->heap[child];
    }
    stream->heap[i] = moved;
}

static bool start_merge(kino__event_stream *stream)
{
    size_t count = stream->selection.segments.count;
    stream->heap = malloc((count + 1) * sizeof *stream->heap);
    if (!stream->heap)
        return false;
    stream->heap_count = count;
    for (size_t i = 0; i < count; i++) {
        kino__merge_run *run = &stream->heap[i];
        *run =
            (kino__merge_run){.segment = stream->selection.segments.items[i], .place = (uint32_t)i};
        run->key = term_key(stream, 0, run->segment.qt, run_row(stream, run));
    }
    for (size_t i = count / 2; i-- > 0;)
        sift_down(stream, i);
    return true;
}

/* Leaves the row that was delivered last. */
static void advance_merge(kino__event_stream *stream)
{
    kino__merge_run *top = &stream->heap[0];
    if (stream->is_backward)
        top->segment.end--;
    else
        top->segment.at++;
    if (top->segment.at == top->segment.end)
        *top = stream->heap[--stream->heap_count];
    else
        top->key = term_key(stream, 0, top->segment.qt, run_row(stream, top));
    if (stream->heap_count)
        sift_down(stream, 0);
}

/* The run that comes next when the first one stops being first; NULL when it is the only one. */
static const kino__merge_run *second_run(const kino__event_stream *stream)
{
    if (stream->heap_count < 2)
        return NULL;
    if (stream->heap_count > 2 && runs_before(stream, &stream->heap[2], &stream->heap[1]))
        return &stream->heap[2];
    return &stream->heap[1];
}

/* Gives out the first run's rows as one stretch for as long as it stays first: no heap in between.
 * */
static void stand_on_top(kino__event_stream *stream)
{
    enum { STRETCH_MAX = 4096 };
    stream->is_end = stream->heap_count == 0;
    if (stream->is_end)
        return;
    kino__merge_run *top = &stream->heap[0];
    stream->qt = top->segment.qt;
    stream->row = run_row(stream, top);
    if (stream->is_backward)
        return;
    const kino__merge_run *second = second_run(stream);
    kino__merge_run ahead = *top;
    while (++ahead.segment.at < top->segment.end &&
           ahead.segment.at - top->segment.at < STRETCH_MAX) {
        ahead.key = term_key(stream, 0, ahead.segment.qt, run_row(stream, &ahead));
        if (second && !runs_before(stream, &ahead, second))
            break;
    }
    stream->rows = top->segment.rows;
    stream->at = top->segment.at;
    stream->end = ahead.segment.at;
    top->segment.at = ahead.segment.at - 1; /* the last row given out */
}

void kino__event_stream_turn(kino__event_stream *stream)
{
    if (stream->heap) {
        stream->at = stream->end = 0; /* the next step comes here again */
        advance_merge(stream);
        stand_on_top(stream);
        return;
    }
    stream->is_end = stream->next_segment >= stream->selection.segments.count;
    if (stream->is_end)
        return;
    const kino__segment *segment = &stream->selection.segments.items[stream->next_segment++];
    stream->qt = segment->qt;
    stream->rows = segment->rows;
    stream->at = segment->at;
    stream->end = segment->end;
    stream->row = stream->rows ? stream->rows[stream->at] : stream->at;
}

/* Segments that stay within one track, so that each is sorted by start. */
static bool split_by_track(kino__event_stream *stream)
{
    kino__selection *selection = &stream->selection;
    size_t count = selection->segments.count;
    for (size_t i = 0; i < count; i++) {
        kino__segment s = selection->segments.items[i];
        while (s.at < s.end) {
            uint32_t row = s.rows ? s.rows[s.at] : s.at;
            const kino__track *track = &s.qt->trace->tracks.items[kino__query_track(s.qt, row)];
            uint32_t limit = track->first + track->count; /* row behind the track */
            uint32_t low =
                KINO__SEARCH(uint32_t, k, s.at + 1, s.end, (s.rows ? s.rows[k] : k) < limit);
            if (!kino__selection_add(selection, s.qt, s.rows, s.at, low))
                return false;
            s.at = low;
        }
    }
    size_t split = selection->segments.count - count;
    if (split)
        memmove(selection->segments.items, selection->segments.items + count,
                split * sizeof *selection->segments.items);
    selection->segments.count = split;
    return true;
}

/* Do rows come this way by themselves? (trace, track, ts), less a leading trace, less a tail. */
static bool is_natural(const kino__event_order *order)
{
    static const kino__event_column natural[] = {KINO__EVENT_TRACE, KINO__EVENT_TRACK,
                                                 KINO__EVENT_TS};
    size_t from = order->count && order->terms[0].column == KINO__EVENT_TRACK ? 1 : 0;
    for (size_t i = 0; i < order->count; i++) {
        if (from + i >= 3 || order->terms[i].column != natural[from + i] ||
            order->terms[i].is_descending)
            return false;
    }
    return true;
}

static bool start_order(kino__event_stream *stream)
{
    if (is_natural(&stream->order))
        return true;
    if (stream->order.count == 1 && stream->order.terms[0].column == KINO__EVENT_TS) {
        stream->is_backward = stream->order.terms[0].is_descending;
        return split_by_track(stream) && start_merge(stream);
    }
    if (!make_ranks(stream) || !sort_selection(stream))
        return false;
    return stream->selection.segments.count < 2 || start_merge(stream);
}

static void reset(kino__event_stream *stream)
{
    free(stream->heap);
    kino__selection_clear(&stream->selection);
    *stream = (kino__event_stream){
        .selection = stream->selection, .context = stream->context, .is_end = true};
}

void kino__event_stream_init(kino__event_stream *stream, kino__query_context *context)
{
    *stream = (kino__event_stream){.context = context, .is_end = true};
}

void kino__event_stream_deinit(kino__event_stream *stream)
{
    reset(stream);
    kino__selection_deinit(&stream->selection);
}

bool kino__event_stream_start(kino__event_stream *stream, const kino__event_filter *filter,
                              const kino__event_order *order)
{
    reset(stream);
    stream->order = *order;
    if (!kino__selection_fill(stream->context, filter, &stream->selection) || !start_order(stream))
        return false;
    for (size_t i = 0; i < stream->context->trace_count; i++) {
        if (stream->context->traces[i].failed)
            return false;
    }
    if (stream->heap)
        stand_on_top(stream);
    else
        kino__event_stream_turn(stream);
    return true;
}
