/* aggregate.c - what lies in an area: times by name, by category, by track, and counters.
 *
 * Every event of the area is visited once (sweep.c) and added to the group of its name and category
 * within its trace (times stop at the largest number there is); groups of one text are put together
 * at the end, since each trace has strings of its own. */
#include <stdlib.h>

#include "base/error.h"
#include "timeline/timeline_internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct group {
    uint32_t name, category; /* of the trace; later texts of the pool here */
    uint32_t place;          /* in order of first use */
    uint64_t count;
    int64_t total, own, least, most;
    kino_str text; /* what orders it among equals */
} group;

typedef KINO__VEC(group) groups;

typedef struct sums {
    const kino__timeline *timeline;
    const kino__tl_area *area;
    /* of the trace at hand */
    const kino__trace *trace;
    uint32_t *by_name; /* 1 + the group last used of a string (and of no name) */
    kino__map others;  /* name and category -> group: where a name has several */
    groups own;
    /* of all traces */
    kino__string_pool texts;
    kino__map places; /* name and category, texts of the pool -> group */
    groups all;
    /* of the track at hand */
    uint64_t events;
} sums;

/* -- adding up -- */

static group *find_group(sums *s, uint32_t name, uint16_t category)
{
    size_t strings = kino__string_pool_count(&s->trace->strings);
    uint32_t *last = &s->by_name[name < strings ? name : strings];
    if (*last && s->own.items[*last - 1].category == category)
        return &s->own.items[*last - 1];
    uint32_t fresh = (uint32_t)s->own.count;
    uint32_t *place = kino__map_put(&s->others, (uint64_t)name << 16 | category, fresh);
    if (!place)
        return NULL;
    if (*place == fresh) {
        group *slot = kino__vec_add(&s->own);
        if (!slot)
            return NULL;
        *slot = (group){name, category, 0, 0, 0, 0, INT64_MAX, 0, {0}};
    }
    *last = *place + 1;
    return &s->own.items[*place];
}

static bool add_span(void *context, const kino__tl_span *span)
{
    sums *s = context;
    group *g = find_group(s, s->trace->name[span->row], s->trace->category[span->row]);
    if (!g)
        return false;
    int64_t dur = span->end - span->start;
    s->events++;
    g->count++;
    g->total = kino__sum(g->total, dur);
    g->own = kino__sum(g->own, span->own);
    g->least = dur < g->least ? dur : g->least;
    g->most = dur > g->most ? dur : g->most;
    return true;
}

static void merge_group(group *to, const group *from)
{
    to->count += from->count;
    to->total = kino__sum(to->total, from->total);
    to->own = kino__sum(to->own, from->own);
    to->least = from->least < to->least ? from->least : to->least;
    to->most = from->most > to->most ? from->most : to->most;
}

/* The groups of a trace to those of all. */
static bool end_trace(sums *s)
{
    for (size_t i = 0; i < s->own.count; i++) {
        const group *from = &s->own.items[i];
        kino_str category = kino__trace_category_text(s->trace, (uint16_t)from->category);
        kino_strid a = kino__string_pool_add(&s->texts, kino__trace_string(s->trace, from->name));
        kino_strid b = kino__string_pool_add(&s->texts, category);
        if (a == KINO_NO_STRING || b == KINO_NO_STRING)
            return false;
        uint32_t fresh = (uint32_t)s->all.count;
        uint32_t *place = kino__map_put(&s->places, (uint64_t)a << 32 | b, fresh);
        group *slot = !place            ? NULL
                      : *place == fresh ? kino__vec_add(&s->all)
                                        : &s->all.items[*place];
        if (!slot)
            return false;
        if (*place == fresh)
            *slot = (group){a, b, 0, 0, 0, 0, INT64_MAX, 0, {0}};
        merge_group(slot, from);
    }
    s->own.count = 0;
    kino__map_deinit(&s->others);
    free(s->by_name);
    s->by_name = NULL;
    return true;
}

static bool begin_trace(sums *s, const kino__trace *trace)
{
    if (s->trace == trace)
        return true;
    if (s->trace && !end_trace(s))
        return false;
    s->trace = trace;
    kino__map_init(&s->others, NULL);
    s->by_name = calloc(kino__string_pool_count(&trace->strings) + 1, sizeof *s->by_name);
    return s->by_name != NULL;
}

/* -- tracks and counters -- */

static const kino_column track_columns[] = {
    {"track", KINO_TYPE_INT, NULL, "index of the track"},
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"group", KINO_TYPE_STRING, NULL, "process or device"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "events that overlap the area"},
    {"busy", KINO_TYPE_DURATION, NULL,
     "time in the area with at least one event running; annotations do not count"},
    {"utilisation", KINO_TYPE_PERCENT, NULL, "busy time as a share of the area"},
};

static const kino_column counter_columns[] = {
    {"track", KINO_TYPE_INT, NULL, "index of the track"},
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"unit", KINO_TYPE_STRING, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "values set in the area"},
    {"min", KINO_TYPE_FLOAT, NULL, "minimum value in the area"},
    {"max", KINO_TYPE_FLOAT, NULL, "maximum value in the area"},
    {"average", KINO_TYPE_FLOAT, NULL, "time-weighted mean, from the first known value"},
    {"last", KINO_TYPE_FLOAT, NULL, "value at the end of the area"},
};

static void add_head(kino__table *table, uint32_t number, const kino__tl_track *track)
{
    KINO__TABLE_ADD(table, number, track->trace->index, track->trace->rank);
}

static bool add_track(sums *s, kino__table *table, uint32_t number)
{
    const kino__tl_track *track = &s->timeline->tracks.items[number];
    int64_t width = s->area->to - s->area->from, busy = 0;
    s->events = 0;
    if (!begin_trace(s, track->trace) ||
        !kino__tl_sweep(track, s->area->from, s->area->to, add_span, s, &busy))
        return false;
    add_head(table, number, track);
    KINO__TABLE_ADD(table, track->group, track->name, (int64_t)s->events, busy);
    if (width > 0)
        kino__table_add_real(table, 100.0 * (double)busy / (double)width);
    else
        kino__table_add_null(table);
    return true;
}

/* Values hold from their time to the next one's. */
static void add_counter(const sums *s, kino__table *table, uint32_t number)
{
    const kino__tl_track *track = &s->timeline->tracks.items[number];
    int64_t from = s->area->from, to = s->area->to, known = 0;
    double low = 0, high = 0, last = 0, integral = 0;
    bool has_any = false;
    uint64_t count = 0;
    for (uint32_t i = 0; i < track->count && track->points[i].time < to; i++) {
        const kino__tl_point *point = &track->points[i];
        int64_t start = point->time > from ? point->time : from;
        int64_t end = i + 1 < track->count && point[1].time < to ? point[1].time : to;
        count += point->time >= from;
        if (end < from || (end == from && point->time < from))
            continue; /* replaced before the area began */
        low = !has_any || point->value < low ? point->value : low;
        high = !has_any || point->value > high ? point->value : high;
        last = point->value;
        integral += point->value * (double)(end - start);
        known += end - start;
        has_any = true;
    }
    add_head(table, number, track);
    kino__table_add_text(table, track->name);
    kino__tl_add_str(table, track->unit);
    kino__table_add_int(table, (int64_t)count);
    double values[] = {low, high, known > 0 ? integral / (double)known : last, last};
    for (size_t i = 0; i < COUNT(values); i++) {
        if (has_any)
            kino__table_add_real(table, values[i]);
        else
            kino__table_add_null(table);
    }
}

/* -- slices and categories -- */

static const kino_column slice_columns[] = {
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "as in the trace"},
    {"count", KINO_TYPE_INT, "count", "events that overlap the area"},
    {"total", KINO_TYPE_DURATION, NULL, "their time inside the area"},
    {"self", KINO_TYPE_DURATION, NULL, "part of it not covered by events inside them"},
    {"average", KINO_TYPE_DURATION, NULL, "total / count"},
    {"min", KINO_TYPE_DURATION, NULL, "minimum time of one event inside the area"},
    {"max", KINO_TYPE_DURATION, NULL, "maximum time of one event inside the area"},
    {"share", KINO_TYPE_PERCENT, NULL, "share of the total self time"},
};

static const kino_column category_columns[] = {
    {"category", KINO_TYPE_STRING, NULL, "as in the traces"},
    {"count", KINO_TYPE_INT, "count", "events that overlap the area"},
    {"total", KINO_TYPE_DURATION, NULL, "their time inside the area"},
    {"self", KINO_TYPE_DURATION, NULL, "part of it not covered by events inside them"},
    {"share", KINO_TYPE_PERCENT, NULL, "share of the total self time"},
};

/* Most time first, then most events, then by text. */
static int compare_groups(const void *left, const void *right)
{
    const group *a = left, *b = right;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    int order = kino__str_compare(a->text, b->text);
    return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

static void add_share(kino__table *table, int64_t own, int64_t sum)
{
    if (sum > 0)
        kino__table_add_real(table, 100.0 * (double)own / (double)sum);
    else
        kino__table_add_null(table);
}

static void sort_groups(groups *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->items[i].place = (uint32_t)i; /* the same every time */
    if (list->items)
        qsort(list->items, list->count, sizeof *list->items, compare_groups);
}

static int64_t sum_own(const groups *list)
{
    int64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum = kino__sum(sum, list->items[i].own);
    return sum;
}

static void add_slices(sums *s, kino__table *table)
{
    int64_t sum = sum_own(&s->all);
    for (size_t i = 0; i < s->all.count; i++)
        s->all.items[i].text = kino__string_pool_text(&s->texts, s->all.items[i].name);
    sort_groups(&s->all);
    for (size_t i = 0; i < s->all.count; i++) {
        const group *g = &s->all.items[i];
        kino__table_add_text(table, g->text);
        kino__tl_add_str(table, kino__string_pool_text(&s->texts, g->category));
        KINO__TABLE_ADD(table, (int64_t)g->count, g->total, g->own, g->total / (int64_t)g->count,
                        g->least, g->most);
        add_share(table, g->own, sum);
    }
}

static bool add_categories(sums *s, kino__table *table)
{
    groups list = {0};
    uint32_t *places = calloc(kino__string_pool_count(&s->texts) + 1, sizeof *places); /* + 1 */
    bool ok = places != NULL;
    for (size_t i = 0; ok && i < s->all.count; i++) {
        uint32_t category = s->all.items[i].category;
        group *slot = places[category] ? &list.items[places[category] - 1] : kino__vec_add(&list);
        ok = slot != NULL;
        if (!slot)
            break;
        if (!places[category])
            *slot = (group){0, category, 0, 0, 0, 0, INT64_MAX, 0, {0}};
        places[category] = (uint32_t)(slot - list.items) + 1;
        merge_group(slot, &s->all.items[i]);
    }
    free(places);
    if (!list.items)
        return ok; /* nothing, or no memory */
    int64_t sum = sum_own(&list);
    for (size_t i = 0; i < list.count; i++)
        list.items[i].text = kino__string_pool_text(&s->texts, list.items[i].category);
    sort_groups(&list);
    for (size_t i = 0; i < list.count; i++) {
        kino__tl_add_str(table, list.items[i].text);
        KINO__TABLE_ADD(table, (int64_t)list.items[i].count, list.items[i].total,
                        list.items[i].own);
        add_share(table, list.items[i].own, sum);
    }
    kino__vec_deinit(&list);
    return ok;
}

static bool aggregate(sums *s, kino_result *result)
{
    kino__table *slices =
        kino__result_add_table(result, "slices", slice_columns, COUNT(slice_columns));
    kino__table *categories =
        kino__result_add_table(result, "categories", category_columns, COUNT(category_columns));
    kino__table *tracks =
        kino__result_add_table(result, "tracks", track_columns, COUNT(track_columns));
    kino__table *counters =
        kino__result_add_table(result, "counters", counter_columns, COUNT(counter_columns));
    kino__table_describe(slices, 0, "Slices", "none");
    kino__table_describe(categories, 0, "Categories", NULL);
    kino__table_describe(tracks, 0, "Tracks", NULL);
    kino__table_describe(counters, 0, "Counters", NULL);
    for (size_t i = 0; i < s->area->tracks.count; i++) {
        uint32_t number = s->area->tracks.items[i];
        if (s->timeline->tracks.items[number].kind == KINO__TL_COUNTER)
            add_counter(s, counters, number);
        else if (!add_track(s, tracks, number))
            return false;
    }
    if (s->trace && !end_trace(s))
        return false;
    add_slices(s, slices);
    return add_categories(s, categories);
}

kino_status kino__timeline_aggregate(const kino__timeline *timeline, const kino_area *given,
                                     kino_result *result, kino_error *err)
{
    kino__tl_area area;
    KINO_TRY(kino__tl_area_init(timeline, given, &area, err));
    sums s = {.timeline = timeline, .area = &area};
    kino__string_pool_init(&s.texts, NULL);
    kino__map_init(&s.places, NULL);
    kino__map_init(&s.others, NULL);
    kino_status st = aggregate(&s, result) ? KINO_OK : kino__fail_nomem(err);
    kino__vec_deinit(&s.own);
    kino__vec_deinit(&s.all);
    kino__map_deinit(&s.places);
    kino__map_deinit(&s.others);
    kino__string_pool_deinit(&s.texts);
    free(s.by_name);
    kino__tl_area_deinit(&area);
    return st;
}
