/* lost.c - when events are known to be missing: the table lost.
 *
 * The ledger of a trace says how much was skipped, the numbers of the events where: an element of
 * the event list that was skipped leaves a gap in them. The events before and after the gap in the
 * file tell the time, roughly: writers go through buffers in order. What has no such neighbours is
 * not placed, and a clean trace costs nothing. */
#include <stdlib.h>

#include "base/error.h"
#include "timeline/timeline_internal.h"

enum { MOST_GAPS = 10000 }; /* of a trace: more lines than a screen has */

static const kino_column columns[] = {
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"from", KINO_TYPE_TIME, NULL, "earliest start of the missing part"},
    {"to", KINO_TYPE_TIME, NULL, "latest end of it; none: open"},
    {"reason", KINO_TYPE_STRING, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "number of missing events, if known"},
};

static void add_row(kino__table *table, const kino__trace *trace, int64_t from, int64_t to,
                    const char *reason, int64_t count)
{
    KINO__TABLE_ADD(table, trace->index, from, to, kino__str_from(reason), count);
}

/* The kinds of loss that leave gaps in the numbers of events. */
static const kino__damage gap_kinds[] = {KINO__DAMAGE_BROKEN_EVENT, KINO__DAMAGE_NO_PHASE,
                                         KINO__DAMAGE_NO_TIME, KINO__DAMAGE_NOT_AN_EVENT,
                                         KINO__DAMAGE_LOST_EVENTS};

/* Why events were skipped, in one text; NULL: none was. */
static const char *skipped_events(const kino__trace *trace)
{
    const char *reason = NULL;
    for (size_t i = 0; i < sizeof gap_kinds / sizeof *gap_kinds; i++) {
        uint64_t count = trace->ledger.count[gap_kinds[i]];
        if (count)
            reason = reason ? "events that cannot be read" : kino__damage_meaning(gap_kinds[i]);
    }
    return reason;
}

/* The row of every number that has one and a time; KINO_NO_ROW for others. */
static uint32_t *rows_by_number(const kino__trace *trace)
{
    uint32_t *rows = malloc(((size_t)trace->number_count + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    memset(rows, 0xff, ((size_t)trace->number_count + 1) * sizeof *rows);
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->number[row] < trace->number_count)
            rows[trace->number[row]] = row;
    return rows;
}

static int64_t time_near(const kino__trace *trace, const uint32_t *rows, uint32_t number,
                         int direction)
{
    enum { FAR = 16 }; /* metadata may stand between */
    for (int i = 0; i < FAR && number < trace->number_count; i++) {
        uint32_t row = rows[number];
        if (row != KINO_NO_ROW && trace->phase[row] != 'M' && trace->ts[row] != KINO_NO_TIME &&
            kino__time_is_sane(trace->ts[row], 0))
            return trace->ts[row];
        number += (uint32_t)direction; /* below 0 it becomes too large */
    }
    return KINO_NO_TIME;
}

static void add_gaps(kino__table *table, const kino__trace *trace, const uint32_t *rows,
                     const char *reason)
{
    size_t added = 0;
    for (uint32_t number = 0; number < trace->number_count && added < MOST_GAPS; number++) {
        if (rows[number] != KINO_NO_ROW)
            continue;
        uint32_t first = number;
        while (number + 1 < trace->number_count && rows[number + 1] == KINO_NO_ROW)
            number++;
        int64_t from = time_near(trace, rows, first - 1, -1);
        int64_t to = time_near(trace, rows, number + 1, 1);
        if (from == KINO_NO_TIME || to == KINO_NO_TIME)
            continue;
        add_row(table, trace, from < to ? from : to, from < to ? to : from, reason,
                (int64_t)number - first + 1);
        added++;
    }
}

/* The end of the last event that is drawn; KINO_NO_TIME: there is none. */
static int64_t last_end(const kino__timeline *timeline, const kino__trace *trace)
{
    int64_t last = KINO_NO_TIME;
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const kino__tl_track *track = &timeline->tracks.items[i];
        if (track->trace == trace && track->last > last)
            last = track->last;
    }
    return last;
}

kino_status kino__tl_add_lost(const kino__timeline *timeline, kino_result *result, kino_error *err)
{
    kino__table *table =
        kino__result_add_table(result, "lost", columns, sizeof columns / sizeof *columns);
    kino__table_describe(table, 0, "Lost", NULL);
    for (size_t i = 0; i < timeline->run->traces.count; i++) {
        const kino__trace *trace = timeline->run->traces.items[i];
        const char *reason = skipped_events(trace);
        /* Joined pairs leave gaps too: where there are both, nobody can tell them apart. */
        if (reason && trace->pair_count == 0) {
            uint32_t *rows = rows_by_number(trace);
            if (!rows)
                return kino__fail_nomem(err);
            add_gaps(table, trace, rows, reason);
            free(rows);
        }
        static const kino__damage cuts[] = {KINO__DAMAGE_TRUNCATED, KINO__DAMAGE_COMPRESSION};
        for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
            int64_t last = trace->ledger.count[cuts[k]] ? last_end(timeline, trace) : KINO_NO_TIME;
            if (last != KINO_NO_TIME)
                add_row(table, trace, last, KINO_NO_TIME, kino__damage_meaning(cuts[k]),
                        KINO_NO_INT);
        }
    }
    return KINO_OK;
}
