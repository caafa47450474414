/* context.c - lazy columns and lookups of a query. */
#include "query/context.h"

#include <stdlib.h>
#include <string.h>

bool kino__query_context_init(kino__query_context *context, const kino__run *run)
{
    *context = (kino__query_context){.run = run, .has_text_labels = -1};
    context->traces = calloc(run->traces.count + 1, sizeof *context->traces);
    /* Places of arguments are asked for where arguments are. */
    if (!context->traces || !kino__run_need(run, KINO__COLUMN_ALL & ~KINO__COLUMN_PLACE, NULL))
        return false;
    context->trace_count = run->traces.count;
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__trace *trace = run->traces.items[i];
        context->traces[i].trace = trace;
        context->event_count += trace->event_count;
        context->track_count += trace->tracks.count;
    }
    return true;
}

void kino__query_context_deinit(kino__query_context *context)
{
    for (size_t i = 0; i < context->trace_count; i++) {
        kino__query_trace *qt = &context->traces[i];
        free(qt->row_of_number);
        free(qt->name_rank);
        free(qt->category_rank);
        free(qt->pid_rank);
        free(qt->tid_rank);
        for (int k = 0; k < KINO__INDEX_COUNT; k++) {
            free(qt->index[k].starts);
            free(qt->index[k].rows);
        }
    }
    free(context->traces);
    *context = (kino__query_context){0};
}

bool kino__query_has_text_labels(kino__query_context *context)
{
    for (size_t i = 0; i < context->trace_count && context->has_text_labels < 0; i++) {
        const kino__trace *trace = context->traces[i].trace;
        uint8_t seen = 0;
        for (uint32_t row = 0; row < trace->event_count; row++)
            seen |= trace->flags[row];
        if (seen & (KINO__FLAG_PID_TEXT | KINO__FLAG_TID_TEXT))
            context->has_text_labels = 1;
    }
    if (context->has_text_labels < 0)
        context->has_text_labels = 0;
    return context->has_text_labels;
}

static const kino__nesting *nesting(kino__query_trace *qt)
{
    if (!qt->nesting && !qt->failed) {
        qt->nesting = kino__link_nesting(qt->trace);
        qt->failed |= !qt->nesting;
    }
    return qt->nesting;
}

/* Spans and instants nest; other phases have no place in the hierarchy. */
static bool nests(const kino__trace *trace, uint32_t row)
{
    uint8_t phase = trace->phase[row];
    return phase == 'X' || phase == 'i' || phase == 'I';
}

static int64_t depth_of(kino__query_trace *qt, uint32_t row)
{
    return nests(qt->trace, row) && nesting(qt) ? qt->nesting->depth[row] : KINO_NO_INT;
}

static int64_t parent_of(kino__query_trace *qt, uint32_t row)
{
    if (!nests(qt->trace, row) || !nesting(qt) || qt->nesting->parent[row] == KINO_NO_ROW)
        return KINO_NO_INT;
    return kino__trace_event_id(qt->trace, qt->nesting->parent[row]);
}

static int64_t step_of(kino__query_trace *qt, uint32_t row)
{
    if (!qt->steps && !qt->failed) {
        qt->steps = kino__link_steps(qt->trace);
        qt->failed |= !qt->steps;
    }
    uint32_t step = qt->steps ? qt->steps->of_row[row] : KINO_NO_ROW;
    return step == KINO_NO_ROW ? KINO_NO_INT : qt->steps->items[step].number;
}

/* An integer argument, its column kept in *column. */
static int64_t arg_of(kino__query_trace *qt, const int64_t **column, const char *key, uint32_t row)
{
    if (!*column && !qt->failed) {
        *column = kino__args_int_column(qt->trace, key);
        qt->failed |= !*column;
    }
    return *column ? (*column)[row] : KINO_NO_INT;
}

int64_t kino__query_int(kino__query_trace *qt, kino__event_column column, uint32_t row)
{
    const kino__trace *trace = qt->trace;
    const kino__track *track;
    switch (column) {
    case KINO__EVENT_ID:
        return kino__trace_event_id(trace, row);
    case KINO__EVENT_TRACE:
        return trace->index;
    case KINO__EVENT_RANK:
        return trace->rank;
    case KINO__EVENT_TS:
        return trace->ts[row];
    case KINO__EVENT_DUR:
        return trace->dur[row];
    case KINO__EVENT_TRACK:
        return kino__query_track_id(qt, kino__query_track(qt, row));
    case KINO__EVENT_DEPTH:
        return depth_of(qt, row);
    case KINO__EVENT_PARENT:
        return parent_of(qt, row);
    case KINO__EVENT_STEP:
        return step_of(qt, row);
    case KINO__EVENT_CORRELATION:
        return kino__trace_correlation(trace, row);
    case KINO__EVENT_EXTERNAL_ID:
        return kino__trace_external(trace, row);
    case KINO__EVENT_DEVICE: /* arguments are looked at only where the track does not know */
        track = &trace->tracks.items[kino__query_track(qt, row)];
        return track->kind == KINO__TRACK_DEVICE ? track->device
                                                 : arg_of(qt, &qt->device_arg, "device", row);
    case KINO__EVENT_STREAM:
        track = &trace->tracks.items[kino__query_track(qt, row)];
        return track->kind == KINO__TRACK_DEVICE ? track->stream
                                                 : arg_of(qt, &qt->stream_arg, "stream", row);
    default:
        return KINO_NO_INT;
    }
}

/* A scan of one column is fast; only the second one shows that a lookup table pays. */
static bool is_worth_making(unsigned *uses)
{
    return ++*uses > 2;
}

static void make_row_of_number(kino__query_trace *qt)
{
    const kino__trace *trace = qt->trace;
    uint32_t highest = 0;
    for (uint32_t row = 0; row < trace->event_count; row++)
        highest = trace->number[row] > highest ? trace->number[row] : highest;
    size_t size = ((size_t)highest + 1) * sizeof *qt->row_of_number;
    qt->row_of_number = malloc(size);
    if (!qt->row_of_number)
        return; /* the scan still answers */
    qt->number_limit = (size_t)highest + 1;
    memset(qt->row_of_number, 0xff, size); /* KINO_NO_ROW */
    for (uint32_t row = 0; row < trace->event_count; row++)
        qt->row_of_number[trace->number[row]] = row;
}

bool kino__query_find_event(kino__query_context *context, int64_t id, kino__query_trace **qt,
                            uint32_t *row)
{
    uint64_t index = (uint64_t)id >> 32;
    uint32_t number = (uint32_t)id;
    if (index >= context->trace_count)
        return false;
    *qt = &context->traces[index];
    const kino__trace *trace = (*qt)->trace;
    if (!(*qt)->row_of_number && is_worth_making(&(*qt)->number_uses))
        make_row_of_number(*qt);
    if ((*qt)->row_of_number) {
        *row = number < (*qt)->number_limit ? (*qt)->row_of_number[number] : KINO_NO_ROW;
        return *row != KINO_NO_ROW;
    }
    for (*row = 0; *row < trace->event_count; ++*row) {
        if (trace->number[*row] == number)
            return true;
    }
    return false;
}

static int64_t index_key(kino__query_trace *qt, kino__event_column column, uint32_t row)
{
    if (column != KINO__EVENT_NAME)
        return kino__query_int(qt, column, row);
    return qt->trace->name[row] == KINO_NO_STRING ? KINO_NO_INT : (int64_t)qt->trace->name[row];
}

static uint32_t bucket_of(const kino__query_index *index, int64_t key)
{
    return (uint32_t)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> index->shift);
}

/* Counting sort of the rows by bucket; NULLs are left out. */
static bool make_index(kino__query_trace *qt, kino__query_index *index, kino__event_column column)
{
    uint32_t count = qt->trace->event_count;
    unsigned bits = 4;
    while (bits < 30 && (1u << bits) < count)
        bits++;
    size_t buckets = (size_t)1 << bits;
    index->shift = 64 - bits;
    uint32_t *starts = calloc(buckets + 2, sizeof *starts);
    uint32_t *rows = malloc(((size_t)count + 1) * sizeof *rows);
    if (!starts || !rows) {
        free(starts);
        free(rows);
        return false;
    }
    for (uint32_t row = 0; row < count; row++) {
        int64_t key = index_key(qt, column, row);
        if (key != KINO_NO_INT)
            starts[bucket_of(index, key) + 2]++;
    }
    for (size_t i = 2; i <= buckets; i++)
        starts[i + 1] += starts[i];
    for (uint32_t row = 0; row < count; row++) {
        int64_t key = index_key(qt, column, row);
        if (key != KINO_NO_INT)
            rows[starts[bucket_of(index, key) + 1]++] = row;
    }
    index->starts = starts;
    index->rows = rows;
    return true;
}

void kino__query_candidates(kino__query_trace *qt, kino__event_column column, int64_t value,
                            const uint32_t **rows, size_t *count)
{
    int which = column == KINO__EVENT_NAME          ? KINO__INDEX_NAME
                : column == KINO__EVENT_CORRELATION ? KINO__INDEX_CORRELATION
                : column == KINO__EVENT_EXTERNAL_ID ? KINO__INDEX_EXTERNAL
                : column == KINO__EVENT_PARENT      ? KINO__INDEX_PARENT
                                                    : -1;
    *rows = NULL;
    *count = 0;
    if (which < 0)
        return;
    kino__query_index *index = &qt->index[which];
    if (!index->starts && (!is_worth_making(&index->uses) || !make_index(qt, index, column)))
        return; /* without an index the scan still answers */
    uint32_t bucket = bucket_of(index, value);
    *rows = index->rows + index->starts[bucket];
    *count = index->starts[bucket + 1] - index->starts[bucket];
}
