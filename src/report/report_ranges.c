/* report_ranges.c - ranges that a program marks itself (NVTX, ITT, record_function). They are not
 * work: they say where the program was. So a trace that has nothing but them has no step, and the
 * report says how much of its time they cover. */
#include <stdlib.h>

#include "report/report_internal.h"
#include "store/interval.h"

/* -- facts -- */

static bool cover(const kino__profile *p, kino__rank_fact *rank)
{
    const kino__trace *trace = p->trace;
    kino__intervals spans = {0};
    bool ok = true;
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_ANNOTATION)
            continue;
        kino__interval *slot = kino__vec_add(&spans);
        ok = slot != NULL;
        if (ok)
            *slot = kino__interval_of(trace->ts[row], trace->dur[row]);
    }
    rank->range_count = spans.count;
    kino__intervals_sort(spans.items, spans.count);
    spans.count = kino__intervals_unite(spans.items, spans.count);
    rank->ranges_time = kino__intervals_total(spans.items, spans.count);
    if (spans.count)
        rank->ranges_extent = spans.items[spans.count - 1].end - spans.items[0].start;
    kino__vec_deinit(&spans);
    return ok;
}

static void add_row(kino__range_fact *range, const kino__trace *trace, uint32_t row)
{
    int64_t dur = trace->dur[row] > 0 ? trace->dur[row] : 0; /* KINO_NO_TIME is below */
    range->count++;
    range->total = kino__sum(range->total, dur);
    kino__longest_add(&range->longest, dur, kino__trace_event_id(trace, row));
}

bool kino__report_find_ranges(const kino__profile *p, kino__report_facts *facts,
                              kino__rank_fact *rank)
{
    const kino__trace *trace = p->trace;
    size_t names = kino__string_pool_count(&trace->strings);
    if (!cover(p, rank))
        return false;
    if (rank->range_count == 0)
        return true;
    size_t *slots = calloc(names + 1, sizeof *slots); /* number + 1 in facts->ranges; 0: none */
    bool ok = slots != NULL;
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        kino_strid name = trace->name[row];
        if (p->type[row] != KINO__EVENT_TYPE_ANNOTATION || name >= names)
            continue;
        if (!slots[name]) {
            kino__range_fact *fresh = kino__vec_add(&facts->ranges);
            ok = fresh != NULL;
            if (!ok)
                break;
            *fresh = (kino__range_fact){0};
            slots[name] = facts->ranges.count;
            ok = kino__string_pool_add_borrowed(&facts->range_names,
                                                kino__trace_string(trace, name)) +
                     1 ==
                 facts->ranges.count;
            if (!ok)
                break;
        }
        add_row(&facts->ranges.items[slots[name] - 1], trace, row);
    }
    free(slots);
    return ok;
}

bool kino__report_add_range(kino__report_facts *facts, kino_str name, const kino__range_fact *range)
{
    kino_strid id = kino__string_pool_add_borrowed(&facts->range_names, name);
    kino__range_fact *fresh = id == facts->ranges.count ? kino__vec_add(&facts->ranges) : NULL;
    if (fresh)
        *fresh = (kino__range_fact){0};
    if (id >= facts->ranges.count) /* memory is out */
        return false;
    kino__range_fact *all = &facts->ranges.items[id];
    all->count = kino__sum(all->count, range->count);
    all->total = kino__sum(all->total, range->total);
    kino__longest_merge(&all->longest, &range->longest);
    return true;
}

/* -- the section -- */

static int compare_ranges(const void *a, const void *b)
{
    const kino__range_fact *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return kino__str_compare(x->name, y->name);
}

/* The longest first. */
static kino__range_fact *sort_ranges(kino__report *report, const kino__report_facts *facts)
{
    size_t count = facts->ranges.count;
    kino__range_fact *all = calloc(count + 1, sizeof *all);
    if (!all) {
        kino__report_fail(report);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        all[i] = facts->ranges.items[i];
        all[i].name = kino__string_pool_text(&facts->range_names, (kino_strid)i);
    }
    qsort(all, count, sizeof *all, compare_ranges);
    return all;
}

bool kino__report_ranges(kino__report *report, const kino__report_facts *facts)
{
    enum { TOP = 8 };
    static const kino_column columns[] = {
        {"range", KINO_TYPE_STRING, NULL, NULL},
        {"total", KINO_TYPE_DURATION, NULL, "of all calls, including nested ranges"},
        {"calls", KINO_TYPE_INT, "count", NULL},
        {"mean", KINO_TYPE_DURATION, NULL, NULL},
        {"longest", KINO_TYPE_DURATION, NULL, NULL}};
    size_t count = facts->ranges.count;
    if (count == 0)
        return false;
    kino__range_fact *all = sort_ranges(report, facts);
    kino__table *out = kino__result_add_table(report->own, "ranges", columns, 5);
    int64_t ids[TOP];
    size_t id_count = 0;
    for (size_t i = 0; all && i < count; i++) {
        KINO__TABLE_ADD(out, all[i].name, all[i].total, all[i].count, all[i].total / all[i].count,
                        all[i].longest.dur[0]);
        if (i < TOP && all[i].longest.count)
            ids[id_count++] = all[i].longest.id[0];
    }
    free(all);
    kino__report_section *s =
        kino__report_add_section(report, "ranges", "Ranges marked by the program", out);
    s->is_brief = true;
    s->brief_limit = TOP;
    s->evidence = kino__report_evidence(report, ids, id_count);
    s->note = KINO__STR(
        "operators not available: none were recorded, so what runs inside the ranges is unknown");
    return true;
}
