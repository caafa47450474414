/* event_select.c - rows by lookup, by search, or in a tight scan.
 *
 * A scan goes over blocks of rows that fit the first cache: a block starts as all its rows, and
 * each condition keeps those it likes, without a branch. */
#include "query/event_select.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/str.h"

enum { BLOCK_ROWS = 1024, CATEGORY_IDS = 65536 };

/* ---- selections ---- */

void kino__selection_clear(kino__selection *selection)
{
    for (size_t i = 0; i < selection->owned.count; i++)
        free(selection->owned.items[i]);
    selection->owned.count = 0;
    selection->segments.count = 0;
}

void kino__selection_deinit(kino__selection *selection)
{
    kino__selection_clear(selection);
    kino__vec_deinit(&selection->owned);
    kino__vec_deinit(&selection->segments);
}

uint32_t *kino__selection_list(kino__selection *selection, size_t count)
{
    uint32_t **slot = kino__vec_add(&selection->owned);
    if (!slot)
        return NULL;
    *slot = malloc((count + 1) * sizeof **slot);
    return *slot;
}

bool kino__selection_add(kino__selection *selection, kino__query_trace *qt, const uint32_t *rows,
                         uint32_t at, uint32_t end)
{
    if (at >= end)
        return true;
    kino__segment *segment = kino__vec_add(&selection->segments);
    if (!segment)
        return false;
    *segment = (kino__segment){qt, rows, at, end};
    return true;
}

/* ---- lookups ---- */

static bool add_candidates(const kino__event_filter *filter, kino__query_trace *qt,
                           const uint32_t *rows, size_t count, kino__selection *selection)
{
    uint32_t *kept = kino__selection_list(selection, count);
    if (!kept)
        return false;
    uint32_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (kino__filter_row_passes(filter, qt, rows[i]))
            kept[kept_count++] = rows[i];
    }
    return kino__selection_add(selection, qt, kept, 0, kept_count);
}

static bool is_equality(const kino__event_condition *c)
{
    return (c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_IS) && !c->list;
}

/* `= NULL` and its like hold for no row: a join on a column that is mostly NULL must not scan. */
static bool compares_with_null(const kino__event_condition *c)
{
    bool compares = c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_LT ||
                    c->op == SQLITE_INDEX_CONSTRAINT_LE || c->op == SQLITE_INDEX_CONSTRAINT_GT ||
                    c->op == SQLITE_INDEX_CONSTRAINT_GE;
    return compares && !c->list && c->value.type == SQLITE_NULL;
}

/* Nothing, or `id = value`: at most one row of the run. *found tells whether there is such a
 * condition. */
static bool run_by_id(kino__query_context *context, const kino__event_filter *filter,
                      kino__selection *selection, bool *found)
{
    *found = false;
    for (size_t i = 0; i < filter->count; i++) {
        const kino__event_condition *c = &filter->conditions[i];
        if (compares_with_null(c)) {
            *found = true;
            return true;
        }
        if (c->column != KINO__EVENT_ID || !is_equality(c) || c->value.type != SQLITE_INTEGER)
            continue;
        *found = true;
        kino__query_trace *qt;
        uint32_t row;
        if (kino__query_find_event(context, c->value.integer, &qt, &row) &&
            kino__filter_trace_passes(filter, qt) && kino__filter_row_passes(filter, qt, row))
            return kino__selection_add(selection, qt, NULL, row, row + 1);
        return true;
    }
    return true;
}

/* Equality with a looked-up column or a name: candidates, when the trace has or wants an index. */
static bool run_by_index(const kino__event_filter *filter, kino__query_trace *qt,
                         kino__selection *selection, bool *found)
{
    *found = false;
    for (size_t i = 0; i < filter->count; i++) {
        const kino__event_condition *c = &filter->conditions[i];
        int64_t value = c->value.integer;
        if (!is_equality(c))
            continue;
        if (c->column == KINO__EVENT_NAME && c->value.type == SQLITE_TEXT) {
            kino_strid id = kino__string_pool_find(&qt->trace->strings, c->value.text);
            *found = id == KINO_NO_STRING; /* nobody has this name */
            value = id;
        } else if (c->column == KINO__EVENT_NAME || c->value.type != SQLITE_INTEGER) {
            continue;
        }
        if (*found)
            return true;
        const uint32_t *rows;
        size_t count;
        kino__query_candidates(qt, c->column, value, &rows, &count);
        if (rows) {
            *found = true;
            return add_candidates(filter, qt, rows, count, selection);
        }
    }
    return true;
}

/* ---- scans ---- */

typedef struct scan {
    const kino__event_filter *filter;
    kino__query_trace *qt;
    uint8_t *by_category; /* class bits, 0: out; NULL: not asked */
    uint8_t *by_name;     /* the last entry is for events without a name */
    bool by_both;         /* a name's classes must meet its category's */
    bool by_phase;
    uint8_t phase[256];
    KINO__VEC(uint32_t) rows;
} scan;

static bool filter_has(const kino__event_filter *filter, kino__event_column column)
{
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->conditions[i].column == column)
            return true;
    }
    return false;
}

static bool classes_have_names(const kino__event_filter *filter)
{
    for (int k = 0; filter->classes && k < KINO__EVENT_CLASS_MAX && filter->classes[k].kinds; k++) {
        if (filter->classes[k].has_name)
            return true;
    }
    return false;
}

static bool prepare_categories(scan *s)
{
    const kino__trace *trace = s->qt->trace;
    s->by_category = malloc(CATEGORY_IDS);
    if (!s->by_category)
        return false;
    size_t known = KINO__CATEGORY_COUNT + trace->own_categories.count;
    for (size_t i = 0; i < known + 2; i++) {
        uint16_t id = (uint16_t)(i < known ? i : i - known + KINO__CATEGORY_MANY);
        s->by_category[id] = kino__filter_category_passes(s->filter, trace, id)
                                 ? kino__filter_category_classes(s->filter, id)
                                 : 0;
    }
    return true;
}

static bool prepare_names(scan *s)
{
    const kino__string_pool *strings = &s->qt->trace->strings;
    size_t count = kino__string_pool_count(strings);
    s->by_name = malloc(count + 1);
    if (!s->by_name)
        return false;
    for (size_t i = 0; i < count; i++) {
        kino_str text = kino__string_pool_text(strings, (kino_strid)i);
        s->by_name[i] = kino__filter_text_passes(s->filter, KINO__EVENT_NAME, false, text)
                            ? kino__filter_name_classes(s->filter, text)
                            : 0;
    }
    kino_str none = {"", 0};
    s->by_name[count] = kino__filter_text_passes(s->filter, KINO__EVENT_NAME, true, none)
                            ? kino__filter_name_classes(s->filter, none)
                            : 0;
    return true;
}

static bool prepare_scan(scan *s)
{
    s->by_both = classes_have_names(s->filter);
    if ((s->filter->classes || filter_has(s->filter, KINO__EVENT_CAT)) && !prepare_categories(s))
        return false;
    if ((s->by_both || filter_has(s->filter, KINO__EVENT_NAME)) && !prepare_names(s))
        return false;
    s->by_phase = filter_has(s->filter, KINO__EVENT_PH);
    for (int i = 0; s->by_phase && i < 256; i++)
        s->phase[i] = kino__filter_phase_passes(s->filter, (uint8_t)i);
    return true;
}

static size_t keep_categories(const scan *s, uint32_t *rows, size_t count)
{
    const uint16_t *category = s->qt->trace->category;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        rows[kept] = rows[i];
        kept += s->by_category[category[rows[i]]] != 0;
    }
    return kept;
}

static size_t keep_names(const scan *s, uint32_t *rows, size_t count)
{
    const kino__trace *trace = s->qt->trace;
    uint32_t last = (uint32_t)kino__string_pool_count(&trace->strings);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        uint8_t bits = s->by_name[trace->name[row] < last ? trace->name[row] : last];
        rows[kept] = row;
        kept += (s->by_both ? bits & s->by_category[trace->category[row]] : bits) != 0;
    }
    return kept;
}

static size_t keep_phases(const scan *s, uint32_t *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        rows[kept] = rows[i];
        kept += s->phase[s->qt->trace->phase[rows[i]]];
    }
    return kept;
}

static size_t keep_ints(const scan *s, const kino__event_condition *c, uint32_t *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        rows[kept] = row;
        kept += kino__condition_int_passes(c, kino__query_int(s->qt, c->column, row));
    }
    return kept;
}

/* ts is decided by search within the track, before any scan. */
static bool is_scanned_int(const kino__event_condition *c)
{
    return !kino__is_text_column(c->column) && !kino__is_track_column(c->column) &&
           c->column != KINO__EVENT_TS;
}

static bool is_range_enough(const scan *s)
{
    if (s->by_category || s->by_name || s->by_phase)
        return false;
    for (size_t i = 0; i < s->filter->count; i++) {
        if (is_scanned_int(&s->filter->conditions[i]))
            return false;
    }
    return true;
}

/* Appends the rows of [first, end) that pass. */
static bool scan_range(scan *s, uint32_t first, uint32_t end)
{
    while (first < end) {
        size_t count = end - first < BLOCK_ROWS ? end - first : BLOCK_ROWS;
        if (!kino__vec_reserve(&s->rows, BLOCK_ROWS))
            return false;
        uint32_t *block = s->rows.items + s->rows.count;
        for (size_t i = 0; i < count; i++)
            block[i] = first + (uint32_t)i;
        first += (uint32_t)count;
        if (s->by_category)
            count = keep_categories(s, block, count);
        if (s->by_name)
            count = keep_names(s, block, count);
        if (s->by_phase)
            count = keep_phases(s, block, count);
        for (size_t i = 0; i < s->filter->count && count; i++) {
            if (is_scanned_int(&s->filter->conditions[i]))
                count = keep_ints(s, &s->filter->conditions[i], block, count);
        }
        s->rows.count += count;
    }
    return true;
}

/* The rows of a track that the conditions on ts leave. */
static void clip_track(const kino__trace *trace, const kino__track *track, int64_t low,
                       int64_t high, uint32_t *first, uint32_t *end)
{
    *first = track->first;
    *end = track->first + track->count;
    if (low > INT64_MIN)
        *first = KINO__SEARCH(uint32_t, row, *first, *end, trace->ts[row] < low);
    if (high < INT64_MAX)
        *end = KINO__SEARCH(uint32_t, row, *first, *end, trace->ts[row] <= high);
}

/* Hands the rows found over to the selection. */
static bool take_rows(scan *s, kino__selection *selection)
{
    uint32_t **slot = kino__vec_add(&selection->owned);
    if (!slot)
        return false;
    *slot = s->rows.items;
    size_t count = s->rows.count;
    s->rows.items = NULL;
    s->rows.count = s->rows.capacity = 0;
    return kino__selection_add(selection, s->qt, *slot, 0, (uint32_t)count);
}

/* Goes over the maximal ranges of rows whose track and start pass. */
static bool run_by_scan(const kino__event_filter *filter, kino__query_trace *qt,
                        kino__selection *selection)
{
    const kino__trace *trace = qt->trace;
    scan *s = calloc(1, sizeof *s);
    bool done = s != NULL;
    if (done) {
        s->filter = filter;
        s->qt = qt;
        done = prepare_scan(s);
    }
    int64_t low, high;
    kino__filter_ts_bounds(filter, &low, &high);
    uint32_t pending_first = 0, pending_end = 0; /* neighbouring ranges are joined */
    for (uint32_t i = 0; done && i <= trace->tracks.count; i++) {
        uint32_t first = 0, end = 0;
        if (i < trace->tracks.count) {
            if (low > high || !kino__filter_track_passes(filter, qt, i))
                continue;
            clip_track(trace, &trace->tracks.items[i], low, high, &first, &end);
            if (first == pending_end || first >= end) {
                pending_end = first < end ? end : pending_end;
                continue;
            }
        }
        done = is_range_enough(s)
                   ? kino__selection_add(selection, qt, NULL, pending_first, pending_end)
                   : scan_range(s, pending_first, pending_end);
        pending_first = first;
        pending_end = end;
    }
    if (done && s->rows.count > 0)
        done = take_rows(s, selection);
    if (s) {
        kino__vec_deinit(&s->rows);
        free(s->by_category);
        free(s->by_name);
    }
    free(s);
    return done;
}

bool kino__selection_fill(kino__query_context *context, const kino__event_filter *filter,
                          kino__selection *selection)
{
    bool found;
    if (!run_by_id(context, filter, selection, &found))
        return false;
    for (size_t i = 0; i < context->trace_count && !found; i++) {
        kino__query_trace *qt = &context->traces[i];
        bool is_indexed;
        if (!kino__filter_trace_passes(filter, qt))
            continue;
        if (!run_by_index(filter, qt, selection, &is_indexed))
            return false;
        if (!is_indexed && !run_by_scan(filter, qt, selection))
            return false;
        if (qt->failed)
            return false;
    }
    return true;
}
