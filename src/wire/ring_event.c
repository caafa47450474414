/* ring_event.c - the events of a recorder's buffers, one by one, in the order of Kineto's traces:
 * names of rows first, then what was recorded, thread by thread, then the session itself. */
#include <stdio.h>
#include <string.h>

#include "wire/ring.h"
#include "wire/ring_forward.h"

typedef struct walk {
    const kino__ring_image *image;
    kino__ring_visit visit;
    kino__ring_visit_span visit_span; /* or NULL */
    void *context;
    size_t hint;          /* of the clock */
    kino__ring_line line; /* where `hint` was last, as far as `line_ticks` reach */
    uint64_t line_ticks;
    size_t late;        /* the first that does not belong to an earlier record */
    uint64_t offset_ns; /* from CLOCK_MONOTONIC_RAW to times of events */
    int64_t from_ns;    /* what ended before is left out */
    int64_t end_ns;
    char row_text[40]; /* of the event that is told */
} walk;

static __attribute__((noinline)) int64_t time_elsewhere(walk *w, uint64_t ticks)
{
    const kino__ring_clock *clock = &w->image->clock;
    int64_t raw = kino__ring_clock_raw(clock, ticks, &w->hint);
    w->line = clock->lines.items[w->hint];
    w->line_ticks = w->hint + 1 < clock->lines.count
                        ? clock->lines.items[w->hint + 1].ticks - w->line.ticks
                        : UINT64_MAX - w->line.ticks;
    return (int64_t)((uint64_t)raw + w->offset_ns);
}

/* The same as kino__ring_clock_raw, for the line of the time before. */
static inline int64_t time_of(walk *w, uint64_t ticks)
{
    uint64_t since = ticks - w->line.ticks;
    if (__builtin_expect(since >= w->line_ticks, 0))
        return time_elsewhere(w, ticks);
    uint64_t ns = (uint64_t)((unsigned __int128)since * w->line.rate >> KINO__RING_RATE_BITS);
    return (int64_t)((uint64_t)w->line.raw_ns + ns + w->offset_ns);
}

/* Times of damaged records may be anything. */
static int64_t length_of(int64_t start, int64_t end)
{
    int64_t length;
    if (end <= start)
        return 0;
    return __builtin_sub_overflow(end, start, &length) ? INT64_MAX : length;
}

/* -- records */

/* Has the record arguments: behind it, or elsewhere? Sets *end to that of an END record. */
static bool has_args(walk *w, const kino__ring_piece *piece, uint32_t index, uint64_t position,
                     uint64_t *end)
{
    const kino__ring_image *image = w->image;
    const kino_impl_v1_record *record = &piece->records[index];
    bool has = false;
    while (w->late < image->late.count && image->late.items[w->late].of < position)
        w->late++;
    for (size_t i = w->late; i < image->late.count && image->late.items[i].of == position; i++) {
        const kino_impl_v1_record *late = kino__ring_record(image, image->late.items[i].at);
        if (late->kind == KINO_IMPL_V1_END)
            *end = late->end;
        else
            has = true;
    }
    uint32_t next = index + 1 + record->following;
    return has || (next < piece->count && piece->records[next].kind == KINO_IMPL_V1_ARG &&
                   piece->records[next].aux == kino__ring_reference_to(piece, index));
}

static void make_span(walk *w, const kino_impl_v1_record *record, uint64_t end,
                      kino__ring_event *event)
{
    event->phase = 'X';
    event->is_open = end == 0;
    event->is_numbered = record->flags & KINO_IMPL_V1_FLAG_NUMBERED;
    event->number = record->aux;
    int64_t end_ns = event->is_open ? w->end_ns : time_of(w, end);
    event->ts_ns = time_of(w, kino__ring_start_of(record));
    event->dur_ns = length_of(event->ts_ns, end_ns);
}

static int64_t activity_time(walk *w, uint64_t time, uint8_t clock)
{
    if (clock == KINO__ACTIVITY_TICKS)
        return time_of(w, time);
    if (clock == KINO__ACTIVITY_RAW_NS)
        return (int64_t)(time + w->offset_ns);
    return (int64_t)(time - (uint64_t)w->image->base_ns);
}

/* The flow from the call that started device work, or to the work. */
static bool visit_flow_of(walk *w, const kino__ring_event *of, uint64_t correlation, uint32_t flags)
{
    if (!correlation || !(flags & (KINO__ACTIVITY_FLOW_START | KINO__ACTIVITY_FLOW_END)))
        return true;
    kino__ring_event flow = *of;
    flow.phase = flags & KINO__ACTIVITY_FLOW_START ? 's' : 'f';
    flow.text = 0;
    flow.name = flow.category = KINO__STR("ac2g");
    flow.dur_ns = KINO_NO_TIME;
    flow.id = correlation;
    flow.place = 0;
    flow.is_open = false;
    return w->visit(w->context, &flow);
}

static bool visit_activity(walk *w, const kino__ring_piece *piece, uint32_t index,
                           uint64_t position)
{
    const kino_impl_v1_record *record = &piece->records[index];
    kino__ring_activity more;
    uint64_t late_end = 0;
    memcpy(&more, record + 1, sizeof more);
    int64_t start = activity_time(w, record->start, record->flags);
    int64_t end = record->end ? activity_time(w, record->end, record->flags) : w->end_ns;
    if (end < w->from_ns)
        return true;
    kino__ring_event event = {
        .phase = 'X',
        .is_open = record->end == 0,
        .text = record->text,
        .pid = more.pid,
        .tid = more.tid,
        .ts_ns = start,
        .dur_ns = length_of(start, end),
        .place = position + 1,
    };
    bool is_bare = more.flags & KINO__ACTIVITY_ARGS_WHOLE && !more.external && record->end;
    if (is_bare && !has_args(w, piece, index, position, &late_end))
        event.place = 0;
    return w->visit(w->context, &event) && visit_flow_of(w, &event, record->aux, more.flags);
}

/* The row of a device's counters, as Kineto calls it. */
static kino_str counter_row(walk *w, uint64_t device)
{
    int size =
        snprintf(w->row_text, sizeof w->row_text, "GPU %llu Counters", (unsigned long long)device);
    return (kino_str){w->row_text, size > 0 ? (size_t)size : 0};
}

static bool visit_record(walk *w, const kino__ring_piece *piece, uint32_t index, uint64_t position)
{
    static const char flow_phases[] = "stf";
    const kino_impl_v1_record *record = &piece->records[index];
    uint64_t end = kino__ring_end_of(record);
    bool args = has_args(w, piece, index, position, &end);
    kino__ring_event event = {
        .text = record->text ? record->text : KINO__TEXT_LOST,
        .pid = w->image->meta.pid,
        .tid = piece->header.tid,
        .dur_ns = KINO_NO_TIME,
        .place = args ? position + 1 : 0,
    };
    if (record->kind == KINO_IMPL_V1_SPAN) {
        bool is_tail = (record->flags & KINO_IMPL_V1_FLAG_STEP) && end == 0 &&
                       w->image->meta.state == KINO__RING_STOPPED;
        if (is_tail)
            return true; /* the step that the end of the session cut off */
        make_span(w, record, end, &event);
        if (event.is_open ||
            record->flags & (KINO_IMPL_V1_FLAG_PYTHON | KINO_IMPL_V1_FLAG_SEQUENCE))
            event.place = position + 1;
        if (event.ts_ns < w->from_ns && length_of(event.ts_ns, w->from_ns) > event.dur_ns)
            return true;
        return w->visit(w->context, &event);
    }
    event.ts_ns = time_of(w, kino__ring_start_of(record));
    if (event.ts_ns < w->from_ns)
        return true;
    if (record->kind == KINO_IMPL_V1_INSTANT || record->kind == KINO_IMPL_V1_MEMORY) {
        event.phase = 'i';
        event.scope = 't';
        if (record->kind == KINO_IMPL_V1_MEMORY)
            event.place = position + 1;
        if (record->kind == KINO_IMPL_V1_MEMORY && record->flags & KINO__MEMORY_OF_THREAD)
            event.tid = (int64_t)(record[2].start & INT32_MAX);
    } else if (record->kind == KINO_IMPL_V1_COUNTER) {
        event.phase = 'C';
        event.tid = 0;
        event.place = position + 1;
        if (record->flags & KINO__COUNTER_OF_DEVICE)
            event.pid_text = counter_row(w, record->aux);
    } else {
        event.phase = flow_phases[record->flags % 3];
        event.id = record->aux;
    }
    return w->visit(w->context, &event);
}

/* The span that is nothing but a span, into *span; false: look at it more closely. */
static inline bool is_simple(walk *w, const kino__ring_piece *piece, uint32_t index,
                             uint64_t next_late, uint64_t position, kino__ring_span *span)
{
    const kino_impl_v1_record *record = &piece->records[index];
    uint64_t end = kino__ring_end_of(record);
    bool is_plain = record->kind == KINO_IMPL_V1_SPAN &&
                    (record->flags & ~KINO_IMPL_V1_FLAG_SEQUENCE) == 0 && record->following == 0 &&
                    end != 0 && position < next_late &&
                    !(index + 1 < piece->count && record[1].kind == KINO_IMPL_V1_ARG);
    if (!is_plain)
        return false;
    span->text = record->text ? record->text : KINO__TEXT_LOST;
    span->place = record->flags ? position + 1 : 0;
    span->sequence = kino__ring_sequence_of(record);
    span->ts_ns = time_of(w, kino__ring_start_of(record));
    span->dur_ns = length_of(span->ts_ns, time_of(w, end));
    return span->ts_ns >= w->from_ns;
}

static uint64_t next_late(const walk *w)
{
    return w->late < w->image->late.count ? w->image->late.items[w->late].of : UINT64_MAX;
}

static bool visit_piece(walk *w, size_t number)
{
    const kino__ring_piece *piece = &w->image->pieces.items[number];
    kino__ring_span span = {.pid = w->image->meta.pid, .tid = piece->header.tid};
    uint64_t late = w->visit_span ? next_late(w) : 0;
    for (uint32_t i = piece->first; i < piece->count; i += 1u + piece->records[i].following) {
        const kino_impl_v1_record *record = &piece->records[i];
        uint64_t position = (uint64_t)number << KINO__RING_POSITION_BITS | i;
        if (is_simple(w, piece, i, late, position, &span)) {
            if (!w->visit_span(w->context, &span))
                return false;
            continue;
        }
        if (!kino__ring_is_sane(record, piece->count - 1 - i)) {
            if (record->following > piece->count - 1 - i)
                break;
            continue;
        }
        if (record->kind == KINO_IMPL_V1_ARG || record->kind == KINO_IMPL_V1_END)
            continue;
        bool go_on = record->kind == KINO_IMPL_V1_ACTIVITY ? visit_activity(w, piece, i, position)
                                                           : visit_record(w, piece, i, position);
        if (!go_on)
            return false;
        if (w->visit_span)
            late = next_late(w);
    }
    return true;
}

/* -- rows */

static bool visit_row(walk *w, size_t number)
{
    static const kino_str names[] = {
        [KINO__ROW_PROCESS_NAME] = {"process_name", 12},
        [KINO__ROW_PROCESS_LABELS] = {"process_labels", 14},
        [KINO__ROW_PROCESS_SORT] = {"process_sort_index", 18},
        [KINO__ROW_THREAD_NAME] = {"thread_name", 11},
        [KINO__ROW_THREAD_SORT] = {"thread_sort_index", 17},
        [KINO__ROW_SPAN] = {"Kino (0)", 8},
        [KINO__ROW_ITERATION] = {"Iteration Start: Kino", 21},
        [KINO__ROW_WINDOW_END] = {"Record Window End", 17},
    };
    const kino__ring_row *row = &w->image->rows.items[number];
    int64_t start = time_of(w, w->image->meta.start_ticks);
    kino__ring_event event = {.phase = 'M',
                              .name = names[row->kind],
                              .category = {"", 0},
                              .pid = row->pid,
                              .tid = row->tid,
                              .ts_ns = start,
                              .dur_ns = KINO_NO_TIME,
                              .place = KINO__RING_ROW_BIT | number};
    if (row->kind == KINO__ROW_SPAN) {
        event.phase = 'X';
        event.category = KINO__STR("Trace");
        event.pid_text = KINO__STR("Spans");
        event.tid_text = KINO__STR("Kino");
        event.dur_ns = length_of(start, w->end_ns);
    } else if (row->kind >= KINO__ROW_ITERATION) {
        bool is_end = row->kind == KINO__ROW_WINDOW_END;
        event.phase = 'i';
        event.scope = 'g';
        event.place = 0;
        event.pid_text = is_end ? KINO__STR("") : KINO__STR("Traces");
        event.tid_text = is_end ? KINO__STR("") : KINO__STR("Trace Kino");
        event.ts_ns = is_end && w->end_ns > start ? w->end_ns : start;
    }
    return w->visit(w->context, &event);
}

bool kino__ring_each(const kino__ring_image *image, kino__ring_visit visit, void *context)
{
    return kino__ring_each_span(image, visit, NULL, context);
}

bool kino__ring_each_span(const kino__ring_image *image, kino__ring_visit visit,
                          kino__ring_visit_span span, void *context)
{
    walk w = {.image = image,
              .visit = visit,
              .visit_span = span,
              .context = context,
              .offset_ns = (uint64_t)image->clock.real_minus_raw - (uint64_t)image->base_ns,
              .from_ns = INT64_MIN};
    w.end_ns = time_of(&w, image->last_ticks);
    if (image->from_ticks)
        w.from_ns = time_of(&w, image->from_ticks);
    for (size_t i = 0; i < image->head_rows; i++)
        if (!visit_row(&w, i))
            return false;
    for (size_t i = 0; i < image->pieces.count; i++)
        if (!visit_piece(&w, i))
            return false;
    if (!kino__ring_each_forward(image, visit, context))
        return false;
    for (size_t i = image->head_rows; i < image->rows.count; i++)
        if (!visit_row(&w, i))
            return false;
    return true;
}
