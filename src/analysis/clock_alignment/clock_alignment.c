/* clock_alignment.c - how far are the clocks of the ranks apart?
 *
 * Method: clocks.h. Cost: a sort of the collectives of all ranks. */
#include <math.h>

#include "analysis/clock_alignment/clocks.h"
#include "base/error.h"

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"offset", KINO_TYPE_DURATION, NULL,
     "how far its clock is ahead of the reference clock; null: unknown"},
    {"drift", KINO_TYPE_FLOAT, "ppm", "how much faster its clock runs"},
    {"error", KINO_TYPE_DURATION, NULL, "error bar of its times on the reference clock"},
    {"drift_error", KINO_TYPE_FLOAT, "ppm", "error bar of the drift"},
    {"at", KINO_TYPE_TIME, NULL, "time of the reference clock at which the offset holds"},
    {"calls", KINO_TYPE_INT, "count", "collectives that end on all ranks together, and sends"},
    {"matched", KINO_TYPE_INT, "count", "of them with ranks that are aligned"},
    {"scatter", KINO_TYPE_DURATION, NULL, "median distance of their ends from the line"},
    {"reason", KINO_TYPE_STRING, NULL, "why there is no offset; null: there is one"},
    {0},
};

static const kino_table_info tables[] = {
    {"clocks", "one row per rank", columns, NULL, "not available: no traces"},
    {0},
};

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *partial,
                       kino_error *err)
{
    return kino__clock_facts_add(partial, a, trace) ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    return kino__clock_facts_merge(into, from) ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *partial)
{
    kino__clock_facts_pack(pack, partial);
}

static void deinit(void *partial)
{
    kino__clock_facts_deinit(partial);
}

/* -- the answer -- */

static void add_line(kino__table *table, const kino__clock *clock)
{
    bool is_known = kino__clock_is_known(clock), is_fitted = clock->reason == KINO__CLOCK_ALIGNED;
    KINO__TABLE_ADD(table, is_known ? clock->line.offset : KINO_NO_INT,
                    is_known ? 1e6 * clock->line.drift : NAN,
                    is_known ? (int64_t)ceil(kino__clock_error(&clock->line)) : KINO_NO_INT,
                    is_known ? 1e6 * clock->line.drift_error : NAN,
                    is_fitted ? clock->line.at : KINO_NO_INT, clock->calls,
                    clock->reason == KINO__CLOCK_REFERENCE ? KINO_NO_INT : clock->matched,
                    is_fitted ? (int64_t)ceil(clock->line.scatter) : KINO_NO_INT);
}

static bool add_row(kino__table *table, const kino__clock *clock)
{
    kino__buffer reason = {0};
    kino__clock_say_reason(clock, &reason);
    kino__table_add_int(table, clock->rank);
    add_line(table, clock);
    if (reason.size)
        kino__table_add_text(table, kino__buffer_str(&reason));
    else
        kino__table_add_null(table);
    bool ok = !reason.failed;
    kino__buffer_deinit(&reason);
    return ok;
}

static void add_notes(const kino__clocks *clocks, kino_result *result)
{
    size_t unknown = 0;
    for (size_t i = 0; i < clocks->items.count; i++) {
        const kino__clock *c = &clocks->items.items[i];
        unknown += !kino__clock_is_known(c);
        if (c->reason == KINO__CLOCK_REFERENCE && c->rank != KINO_NO_INT)
            kino__result_note(result, "the reference is the clock of rank %lld",
                              (long long)c->rank);
    }
    if (clocks->items.count < 2)
        kino__result_lacks(result, "offsets", ": requires the traces of several ranks");
    else if (unknown)
        kino__result_note(result,
                          "clocks that could not be aligned: %zu of %zu; their times stay "
                          "as they are",
                          unknown, clocks->items.count);
}

static kino_status finish(const kino__analysis *a, void *partial, kino_result *result,
                          kino_error *err)
{
    (void)a;
    kino__clocks clocks;
    bool ok = kino__clocks_find(partial, &clocks);
    for (size_t i = 0; ok && i < clocks.items.count; i++)
        ok = add_row(kino__analysis_table(result, 0), &clocks.items.items[i]);
    if (ok)
        add_notes(&clocks, result);
    kino__clocks_deinit(&clocks);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_clock_alignment = {
    .name = "clock-alignment",
    .help = "offset and drift of each rank's clock, from matched collectives",
    .description =
        "Ranks leave an all-reduce, all-gather, reduce-scatter, all-to-all or barrier\n"
        "together, within microseconds: no rank can leave before all have come. The ends\n"
        "of calls that match on two ranks (process group, sequence number, name, size)\n"
        "show how far their clocks are apart; sends and their receives do the same. A\n"
        "robust line through them gives offset and drift, with an error bar that holds\n"
        "for all times of the trace. Where that is not certain (too few calls, calls\n"
        "without a match, ends that scatter or contradict each other), the clock is left\n"
        "as it is and the reason is given.\n",
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(kino__clock_facts),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
