/* search.c - events by part of their name, in order of time.
 *
 * A text is compared once with each distinct name of a trace, which leaves one look into a table
 * for each event. Of those that match the first ones in time are kept in a heap, the latest on top;
 * tracks are in order of time, so it is soon full of early ones and the rest is only counted. */
#include "base/search.h"

#include <stdlib.h>

#include "base/error.h"
#include "timeline/timeline_internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct hit {
    int64_t start;
    uint32_t track, row;
} hit;

typedef struct hunt {
    const kino__timeline *timeline;
    const kino__tl_area *area;
    kino__buffer text; /* lower case; empty: any name */
    KINO__VEC(kino_str) categories;
    KINO__VEC(int64_t) ids; /* sorted; none: any */
    size_t limit;
    uint64_t matches;
    KINO__VEC(hit) hits; /* a heap, the last in time on top */
    /* of the trace at hand */
    uint8_t *by_name, *by_category;
} hunt;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* -- the words -- */

/* "id:12,15" */
static kino_status read_ids(hunt *h, kino_str word, kino_error *err)
{
    for (size_t at = 3, end; at <= word.size; at = end + 1) {
        for (end = at; end < word.size && word.data[end] != ',';)
            end++;
        int64_t id;
        if (!kino__str_to_int((kino_str){word.data + at, end - at}, &id))
            return kino__fail(err, KINO_ARGUMENT,
                              "invalid id '%.*s' (expected: numbers separated by commas)",
                              KINO__STR_ARG(word));
        int64_t *slot = kino__vec_add(&h->ids);
        if (!slot)
            return kino__fail_nomem(err);
        *slot = id;
    }
    return KINO_OK;
}

static kino_status read_word(hunt *h, kino_str word, kino_error *err)
{
    if (kino__str_starts_with(word, KINO__STR("cat:"))) {
        kino_str *slot = kino__vec_add(&h->categories);
        if (!slot)
            return kino__fail_nomem(err);
        *slot = (kino_str){word.data + 4, word.size - 4};
        return KINO_OK;
    }
    if (kino__str_starts_with(word, KINO__STR("id:"))) {
        return read_ids(h, word, err);
    }
    if (h->text.size)
        kino__buffer_add(&h->text, KINO__STR(" "));
    for (size_t i = 0; i < word.size; i++)
        kino__buffer_add(&h->text, (kino_str){(char[]){lower(word.data[i])}, 1});
    return h->text.failed ? kino__fail_nomem(err) : KINO_OK;
}

static int compare_ids(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static kino_status read_words(hunt *h, kino_str text, kino_error *err)
{
    size_t at = 0;
    while (at < text.size) {
        size_t first = at;
        while (at < text.size && text.data[at] != ' ')
            at++;
        if (at > first)
            KINO_TRY(read_word(h, (kino_str){text.data + first, at - first}, err));
        at++;
    }
    if (h->ids.count)
        qsort(h->ids.items, h->ids.count, sizeof *h->ids.items, compare_ids);
    return KINO_OK;
}

/* -- names and categories -- */

static bool has_text(kino_str name, kino_str text)
{
    if (text.size == 0)
        return true;
    if (name.size < text.size)
        return false;
    for (size_t i = 0; i <= name.size - text.size; i++) {
        size_t k = 0;
        while (k < text.size && lower(name.data[i + k]) == text.data[k])
            k++;
        if (k == text.size)
            return true;
    }
    return false;
}

static bool is_same(kino_str a, kino_str b)
{
    bool same = a.size == b.size;
    for (size_t i = 0; same && i < a.size; i++)
        same = lower(a.data[i]) == lower(b.data[i]);
    return same;
}

static bool is_wanted(const hunt *h, kino_str category)
{
    bool wanted = h->categories.count == 0;
    for (size_t i = 0; !wanted && i < h->categories.count; i++)
        wanted = is_same(category, h->categories.items[i]);
    return wanted;
}

/* What matches in a trace: one byte a string (and one for no name), one a category. */
static bool prepare(hunt *h, const kino__trace *trace)
{
    size_t strings = kino__string_pool_count(&trace->strings);
    free(h->by_name);
    h->by_name = malloc(strings + 1);
    if (!h->by_name)
        return false;
    kino_str text = kino__buffer_str(&h->text);
    for (size_t i = 0; i < strings; i++)
        h->by_name[i] = has_text(kino__trace_string(trace, (kino_strid)i), text);
    h->by_name[strings] = text.size == 0;
    size_t known = KINO__CATEGORY_COUNT + trace->own_categories.count;
    memset(h->by_category, h->categories.count == 0, UINT16_MAX + 1);
    for (size_t i = 0; i < known && i < KINO__CATEGORY_MANY; i++)
        h->by_category[i] = is_wanted(h, kino__trace_category_text(trace, (uint16_t)i));
    return true;
}

/* -- the first ones in time -- */

static bool is_later(const hit *a, const hit *b)
{
    if (a->start != b->start)
        return a->start > b->start;
    return a->track != b->track ? a->track > b->track : a->row > b->row;
}

static void sift_down(hit *items, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        child += child + 1 < count && is_later(&items[child + 1], &items[child]);
        if (!is_later(&items[child], &items[at]))
            return;
        hit swap = items[at];
        items[at] = items[child];
        items[child] = swap;
        at = child;
    }
}

static void sift_up(hit *items, size_t at)
{
    while (at > 0 && is_later(&items[at], &items[(at - 1) / 2])) {
        hit swap = items[at];
        items[at] = items[(at - 1) / 2];
        items[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static bool keep(hunt *h, hit fresh)
{
    h->matches++;
    if (h->hits.count < h->limit) {
        hit *slot = kino__vec_add(&h->hits);
        if (!slot)
            return false;
        *slot = fresh;
        sift_up(h->hits.items, h->hits.count - 1);
    } else if (h->limit && is_later(&h->hits.items[0], &fresh)) {
        h->hits.items[0] = fresh;
        sift_down(h->hits.items, h->hits.count, 0);
    }
    return true;
}

static bool has_id(const hunt *h, int64_t id)
{
    size_t at = KINO__SEARCH(size_t, i, 0, h->ids.count, h->ids.items[i] < id);
    return h->ids.count == 0 || (at < h->ids.count && h->ids.items[at] == id);
}

static bool hunt_track(hunt *h, uint32_t number)
{
    const kino__tl_track *track = &h->timeline->tracks.items[number];
    const kino__trace *trace = track->trace;
    size_t strings = kino__string_pool_count(&trace->strings);
    if (track->kind == KINO__TL_COUNTER)
        return true;
    for (uint32_t i = 0; i < track->source->count; i++) {
        uint32_t row = track->source->first + i;
        kino_strid name = trace->name[row];
        if (!h->by_name[name < strings ? name : strings] || !h->by_category[trace->category[row]])
            continue;
        int64_t start = trace->ts[row];
        if (start >= h->area->to)
            break;
        if (!kino__tl_is_drawn(trace->phase[row], start, trace->dur[row]) ||
            (start < h->area->from && kino__tl_end(track, row) <= h->area->from) ||
            !has_id(h, kino__trace_event_id(trace, row)))
            continue;
        if (!keep(h, (hit){start, number, row}))
            return false;
    }
    return true;
}

static bool hunt_all(hunt *h)
{
    const kino__trace *last = NULL; /* the tracks of a trace stand together */
    h->by_category = malloc(UINT16_MAX + 1);
    bool ok = h->by_category != NULL;
    for (size_t i = 0; ok && i < h->area->tracks.count; i++) {
        uint32_t number = h->area->tracks.items[i];
        const kino__trace *trace = h->timeline->tracks.items[number].trace;
        ok = (i > 0 && trace == last) || prepare(h, trace);
        last = trace;
        ok = ok && hunt_track(h, number);
    }
    return ok;
}

/* -- tables -- */

static const kino_column found_columns[] = {
    {"id", KINO_TYPE_INT, NULL, "of the event"},
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"track", KINO_TYPE_INT, NULL, "track it is drawn on"},
    {"row", KINO_TYPE_INT, NULL, "row within the track"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "as in the trace"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
};

static const kino_column count_columns[] = {
    {"count", KINO_TYPE_INT, "count", "number of matching events"},
    {"shown", KINO_TYPE_INT, "count", "number of them in the table found"},
};

static int compare_hits(const void *left, const void *right)
{
    return is_later(left, right) - is_later(right, left);
}

static void add_hit(kino__table *table, const kino__timeline *timeline, const hit *found)
{
    const kino__tl_track *track = &timeline->tracks.items[found->track];
    const kino__trace *trace = track->trace;
    uint32_t line = 0;
    (void)kino__tl_find_line(track, found->row, &line); /* it is drawn */
    KINO__TABLE_ADD(table, kino__trace_event_id(trace, found->row), trace->index, trace->rank,
                    found->track, line);
    kino__tl_add_name(table, trace, found->row);
    KINO__TABLE_ADD(table, found->start, kino__tl_end(track, found->row) - found->start);
}

static void add_tables(hunt *h, kino_result *result)
{
    kino__table *found =
        kino__result_add_table(result, "found", found_columns, COUNT(found_columns));
    kino__table_describe(found, 0, "Found", "nothing");
    if (h->hits.items)
        qsort(h->hits.items, h->hits.count, sizeof *h->hits.items, compare_hits);
    for (size_t i = 0; h->hits.items && i < h->hits.count; i++)
        add_hit(found, h->timeline, &h->hits.items[i]);
    kino__table *count =
        kino__result_add_table(result, "count", count_columns, COUNT(count_columns));
    kino__table_describe(count, 0, "Count", NULL);
    KINO__TABLE_ADD(count, (int64_t)h->matches, (int64_t)h->hits.count);
}

kino_status kino__timeline_search(const kino__timeline *timeline, const kino_search *search,
                                  kino_result *result, kino_error *err)
{
    kino__tl_area area;
    KINO_TRY(kino__tl_area_init(timeline, &search->area, &area, err));
    hunt h = {.timeline = timeline, .area = &area, .limit = search->limit};
    kino_status st = read_words(&h, kino__str_from(search->text), err);
    if (st == KINO_OK && !hunt_all(&h))
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        add_tables(&h, result);
    kino__buffer_deinit(&h.text);
    kino__vec_deinit(&h.categories);
    kino__vec_deinit(&h.ids);
    kino__vec_deinit(&h.hits);
    free(h.by_name);
    free(h.by_category);
    kino__tl_area_deinit(&area);
    return st;
}
