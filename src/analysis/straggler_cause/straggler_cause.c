/* straggler_cause.c - which rank keeps the others waiting, why, and in which span does it differ?
 *
 * Method: the verdict (analysis/verdict) for who and why; the calls of collectives on aligned clocks
 * (clocks.h) for who comes last to which, and where its lateness comes from (arrivals.h).
 * Cost: a sort of the collectives of all ranks. */
#include <math.h>
#include <stdlib.h>

#include "analysis/distributed/collective_names.h"
#include "analysis/straggler_cause/arrivals.h"
#include "analysis/verdict/verdict.h"
#include "base/error.h"

enum { P_ALIGN };

static const kino_param_info params[] = {
    [P_ALIGN] = {"align", KINO_TYPE_STRING, "auto",
                 "auto: arrivals on aligned clocks; off: from how long calls take", "auto|off"},
    {0},
};

typedef struct partial {
    kino__verdict_facts verdict;
    kino__clock_facts clocks;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__verdict_facts_deinit(&p->verdict);
    kino__clock_facts_deinit(&p->clocks);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__profile *profile = kino__profile_of(trace, false, a->pool);
    bool ok = profile && kino__verdict_add(&p->verdict, profile) &&
              kino__clock_facts_add(&p->clocks, a, trace);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    bool ok = kino__verdict_merge(&p->verdict, &more->verdict) &&
              kino__clock_facts_merge(&p->clocks, &more->clocks);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__verdict_pack(pack, &p->verdict);
    kino__clock_facts_pack(pack, &p->clocks);
    if (p->verdict.ranks.count != p->clocks.traces.count)
        pack->is_damaged = true;
}

/* -- tables -- */

enum { T_CAUSE, T_ARRIVALS, T_WAITING, T_STEPS };

static const kino_column cause_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"cause", KINO_TYPE_STRING, NULL, "kernels, data loader, copies or host"},
    {"what", KINO_TYPE_STRING, NULL,
     "kind of the span: kernel, data loader, copy, operator, Python function, ..."},
    {"span", KINO_TYPE_STRING, NULL,
     "the first of its step that takes longer than on the peers; null: none that was recorded"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the longest one"},
    {"span_more", KINO_TYPE_DURATION, NULL, "how much more time per step the span takes"},
    {"same_shape", KINO_TYPE_BOOL, NULL,
     "kernels: the peers run it with the same grid and as often; null: no kernel"},
    {"more", KINO_TYPE_DURATION, NULL, "how much more time per step the cause takes"},
    {"excess", KINO_TYPE_DURATION, NULL,
     "local time per step less the median of its peers: median over the steps"},
    {"lost_per_step", KINO_TYPE_DURATION, NULL,
     "of the slowest: how much shorter steps would be without it"},
    {"lost", KINO_TYPE_DURATION, NULL, "the same in all steps that were compared"},
    {"confidence", KINO_TYPE_PERCENT, NULL,
     "that another step would show it: (steps that do + 1) / (steps compared + 2)"},
    {"verdict", KINO_TYPE_STRING, NULL, "the same in a sentence"},
    {0},
};

static const kino_column arrival_columns[] = {
    {"step", KINO_TYPE_INT, NULL, "number of the step; null: none"},
    {"operation", KINO_TYPE_STRING, NULL, NULL},
    {"process_group", KINO_TYPE_STRING, NULL, "name; null: not recorded"},
    {"series", KINO_TYPE_INT, NULL, "sequence number in the group, or number of the step"},
    {"ranks", KINO_TYPE_INT, "count", "that have the call"},
    {"last_rank", KINO_TYPE_INT, NULL, "that comes last"},
    {"skew", KINO_TYPE_DURATION, NULL, "from the first to the last one's arrival"},
    {"waited", KINO_TYPE_DURATION, NULL, "sum of the others' waiting for the last one"},
    {"caused_by", KINO_TYPE_INT, NULL, "rank that the last one itself was kept waiting by"},
    {"start", KINO_TYPE_TIME, NULL, "arrival of the last one, on its own clock"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of its call"},
    {"aligned", KINO_TYPE_BOOL, NULL, "arrivals by clocks; no: by how long the calls take"},
    {0},
};

static const kino_column waiting_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"last_count", KINO_TYPE_INT, "count", "collectives that it is the last to arrive at"},
    {"caused", KINO_TYPE_DURATION, NULL, "waiting of others that goes back to it"},
    {"caused_pctg", KINO_TYPE_PERCENT, NULL, "of all waiting"},
    {"waited", KINO_TYPE_DURATION, NULL, "its exposed communication beyond the shortest rank's"},
    {0},
};

static const kino_column step_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"step", KINO_TYPE_INT, NULL, "number of the step"},
    {"time", KINO_TYPE_DURATION, NULL, "of the step"},
    {"own", KINO_TYPE_DURATION, NULL, "without exposed communication"},
    {"waiting", KINO_TYPE_DURATION, NULL,
     "exposed communication beyond that of the rank with least in the step"},
    {"exposed", KINO_TYPE_DURATION, NULL, "communication that nothing covers"},
    {"kernels", KINO_TYPE_DURATION, NULL, NULL},
    {"data_loading", KINO_TYPE_DURATION, NULL, NULL},
    {"copies", KINO_TYPE_DURATION, NULL, NULL},
    {"host", KINO_TYPE_DURATION, NULL, "operators, Python, calls of the runtime, other"},
    {0},
};

static const kino_table_info tables[] = {
    {"straggler_cause", "one row per rank that delays the others, by rank", cause_columns, NULL,
     "none: see the notes"},
    {"arrivals", "one row per collective that several ranks have, most waiting first",
     arrival_columns, "Arrivals", "not available: no collective was found on several ranks"},
    {"waiting", "one row per rank: whose lateness the others wait for", waiting_columns, "Waiting",
     "not available: no collective was found on several ranks"},
    {"rank_steps", "one row per rank and step", step_columns, "Ranks and steps",
     "not available: no steps"},
    {0},
};

/* -- who -- */

static void add_text(kino__table *table, kino_str text)
{
    if (text.size)
        kino__table_add_text(table, text);
    else
        kino__table_add_null(table);
}

static bool add_cause(kino__table *table, const kino__verdict *v, size_t i)
{
    const kino__slow_rank *s = &v->slow.items[i];
    kino__buffer words = {0};
    int64_t lost = v->lead < v->waiting ? v->lead : v->waiting;
    bool is_slowest = i == v->slowest, is_kernel = s->what == KINO__PLACE_KERNEL;
    kino__verdict_say(v, i, &words);
    KINO__TABLE_ADD(table, s->rank, kino__str_from(kino__slow_cause_name(s->cause)),
                    kino__str_from(kino__place_kind_name(s->what)));
    add_text(table, s->span);
    KINO__TABLE_ADD(table, s->event, s->span_more);
    kino__table_add_int(table, is_kernel ? s->is_same_shape : KINO_NO_INT);
    KINO__TABLE_ADD(table, s->more, s->excess, is_slowest ? lost : KINO_NO_INT,
                    is_slowest ? lost * s->steps : KINO_NO_INT,
                    100.0 * (s->slow_steps + 1) / (s->steps + 2), kino__buffer_str(&words));
    bool ok = !words.failed;
    kino__buffer_deinit(&words);
    return ok;
}

static bool add_causes(const partial *p, kino_result *result)
{
    kino__verdict v;
    bool ok = kino__verdict_judge(&p->verdict, 0, &v);
    for (size_t i = 0; ok && i < v.slow.count; i++)
        ok = add_cause(kino__analysis_table(result, T_CAUSE), &v, i);
    if (ok && v.reason)
        kino__result_lacks(result, "a verdict", ": %s", v.reason);
    else if (ok && v.slow.count == 0)
        kino__result_note(result, "no rank delays the others");
    if (ok)
        kino__verdict_note(&v, result);
    kino__verdict_deinit(&v);
    return ok;
}

/* -- collectives -- */

static int compare_arrivals(const void *a, const void *b)
{
    const kino__arrival *x = a, *y = b;
    if (x->waited != y->waited)
        return x->waited > y->waited ? -1 : 1;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* "send 0>1 of 5" has no fields: the words before "of" are its operation. */
static void add_kind(kino__table *table, kino_str text)
{
    kino__collective c = kino__collective_read(text);
    KINO__TABLE_ADD(table, c.operation);
    add_text(table, c.group);
}

static void add_arrivals(const partial *p, const kino__arrivals *all, kino_result *result)
{
    kino__table *table = kino__analysis_table(result, T_ARRIVALS);
    const kino__clock_trace *traces = p->clocks.traces.items;
    for (size_t i = 0; i < all->items.count; i++) {
        const kino__arrival *a = &all->items.items[i];
        kino__table_add_int(table, a->step);
        add_kind(table, kino__string_pool_text(&p->clocks.kinds, a->kind));
        KINO__TABLE_ADD(table, a->series, (int64_t)a->ranks, traces[a->last].rank, a->skew,
                        a->waited, traces[a->cause].rank, a->start, a->event);
        kino__table_add_int(table, a->is_aligned);
    }
}

/* -- ranks -- */

typedef struct rank_sums {
    int64_t last, caused, waited;
} rank_sums;

static int compare_step_numbers(const void *a, const void *b)
{
    const kino__verdict_step *x = *(const kino__verdict_step *const *)a;
    const kino__verdict_step *y = *(const kino__verdict_step *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->exposed < y->exposed ? -1 : x->exposed > y->exposed;
}

/* The least exposed communication of a step of this number; `sorted` has the least first. */
static int64_t least_of(const kino__verdict_step *const *sorted, size_t count, int64_t number)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? sorted[low]->exposed : 0;
}

static void add_step(kino__table *table, int64_t rank, const kino__verdict_step *s, int64_t waiting)
{
    KINO__TABLE_ADD(table, rank, s->number, s->total, s->total - s->exposed, waiting, s->exposed,
                    s->part[KINO__SLOW_KERNELS], s->part[KINO__SLOW_LOADER],
                    s->part[KINO__SLOW_COPIES], s->part[KINO__SLOW_HOST]);
}

static bool add_steps(const partial *p, rank_sums *sums, kino_result *result)
{
    const kino__verdict_facts *f = &p->verdict;
    const kino__verdict_step **sorted = malloc((f->steps.count + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < f->steps.count; i++)
        sorted[i] = &f->steps.items[i];
    if (sorted && f->steps.count)
        qsort(sorted, f->steps.count, sizeof *sorted, compare_step_numbers);
    const kino__verdict_step *next = f->steps.items;
    for (size_t r = 0; sorted && r < f->ranks.count; r++)
        for (uint32_t i = 0; i < f->ranks.items[r].step_count; i++, next++) {
            int64_t waiting = next->exposed - least_of(sorted, f->steps.count, next->number);
            sums[r].waited = kino__sum(sums[r].waited, waiting);
            add_step(kino__analysis_table(result, T_STEPS), f->ranks.items[r].rank, next, waiting);
        }
    free(sorted);
    return sorted != NULL;
}

static void add_waiting(const partial *p, const kino__arrivals *all, rank_sums *sums,
                        kino_result *result)
{
    int64_t whole = 0;
    for (size_t i = 0; i < all->items.count; i++) {
        const kino__arrival *a = &all->items.items[i];
        sums[a->last].last++;
        sums[a->cause].caused = kino__sum(sums[a->cause].caused, a->waited);
        whole = kino__sum(whole, a->waited);
    }
    for (size_t r = 0; all->items.count && r < p->clocks.traces.count; r++)
        KINO__TABLE_ADD(kino__analysis_table(result, T_WAITING), p->clocks.traces.items[r].rank,
                        sums[r].last, sums[r].caused,
                        whole > 0 ? 100.0 * (double)sums[r].caused / (double)whole : NAN,
                        sums[r].waited);
}

static bool find_arrivals(const kino__analysis *a, const partial *p, kino__arrivals *out)
{
    kino__clocks clocks = {0};
    bool is_aligned = kino__str_is(kino__param_text(a, P_ALIGN), "auto");
    *out = (kino__arrivals){0};
    bool ok = (!is_aligned || kino__clocks_find(&p->clocks, &clocks)) &&
              kino__arrivals_find(&p->clocks, is_aligned ? &clocks : NULL, out);
    if (ok && out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, compare_arrivals);
    kino__clocks_deinit(&clocks);
    return ok;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    kino__arrivals arrivals;
    rank_sums *sums = calloc(p->verdict.ranks.count + 1, sizeof *sums);
    bool ok = find_arrivals(a, p, &arrivals) && sums && add_causes(p, result) &&
              add_steps(p, sums, result);
    if (ok) {
        add_arrivals(p, &arrivals, result);
        add_waiting(p, &arrivals, sums, result);
    }
    kino__arrivals_deinit(&arrivals);
    free(sums);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_straggler_cause = {
    .name = "straggler-cause",
    .help = "which rank the others wait for, why, and the first span that differs",
    .description =
        "The verdict of stragglers with its cause: what a slow rank spends more time with\n"
        "than its peers (kernels, data loader, copies, host), and the first span of the\n"
        "step that takes longer there than at the same place on the peers. Then who comes\n"
        "last to each collective, on aligned clocks (clock-alignment), and whose lateness\n"
        "that is: a rank that comes last because it was kept waiting in another process\n"
        "group hands the blame on.\n",
    .params = params,
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
