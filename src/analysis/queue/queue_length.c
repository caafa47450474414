/* queue_length.c - how long are the queues of the streams: statistics, and every change.
 *
 * A queue that is often empty means that the device waits for the host; one at its limit (about
 * 1000) that the host waits for the device. */
#include <stdlib.h>

#include "analysis/queue/queue.h"
#include "analysis/statistics.h"
#include "base/error.h"

enum { P_SERIES, P_LAST_STEP };

static const kino_param_info params[] = {
    [P_SERIES] = {"series", KINO_TYPE_BOOL, "no", "also list every change of a queue", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

typedef struct point {
    int64_t rank, stream, ts, length, event;
} point;

typedef struct summary {
    int64_t rank, stream;
    kino__description of;
} summary;

typedef struct partial {
    KINO__VEC(summary) streams; /* by rank, then stream */
    KINO__VEC(point) points;
    kino__queue_facts facts;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->streams);
    kino__vec_deinit(&p->points);
}

/* Points come by stream. */
static bool add_summaries(partial *p, const kino__queue *q, int64_t rank)
{
    int64_t *lengths = malloc((q->points.count + 1) * sizeof *lengths);
    bool ok = lengths != NULL;
    for (size_t i = 0, next; ok && i < q->points.count; i = next) {
        int64_t stream = q->points.items[i].stream;
        size_t count = 0;
        for (next = i; next < q->points.count && q->points.items[next].stream == stream; next++)
            lengths[count++] = q->points.items[next].length;
        summary *slot = kino__vec_add(&p->streams);
        ok = slot != NULL;
        if (ok) {
            *slot = (summary){.rank = rank, .stream = stream};
            ok = kino__describe(lengths, count, &slot->of);
        }
    }
    free(lengths);
    return ok;
}

static bool add_series(partial *p, const kino__frame *f, const kino__queue *q)
{
    for (size_t i = 0; i < q->points.count; i++) {
        const kino__queue_point *from = &q->points.items[i];
        uint32_t row = f->row[from->at];
        point *to = kino__vec_add(&p->points);
        if (!to)
            return false;
        *to = (point){f->trace->rank, from->stream, f->trace->ts[row], from->length,
                      kino__trace_event_id(f->trace, row)};
        if (f->mode == KINO__FRAME_HTA) /* as rounded, on the run's clock */
            to->ts = from->ts * f->unit_ns + f->trace->base_ns - f->trace->origin_ns;
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    kino__queue q;
    const kino__frame *f = kino__queue_asked(a, trace, P_LAST_STEP, &q, &p->facts);
    if (!f)
        return kino__fail_nomem(err);
    bool ok = add_summaries(p, &q, trace->rank) &&
              (!kino__param_bool(a, P_SERIES) || add_series(p, f, &q));
    kino__queue_deinit(&q);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->streams, &more->streams) ||
        !kino__vec_append(&p->points, &more->points))
        return kino__fail_nomem(err);
    kino__queue_facts_merge(&p->facts, &more->facts);
    return KINO_OK;
}

static void pack_summary(kino__pack *pack, summary *s)
{
    KINO__PACK(pack, &s->rank, &s->stream);
    kino__pack_description(pack, &s->of);
}

static void pack_point(kino__pack *pack, point *q)
{
    KINO__PACK(pack, &q->rank, &q->stream, &q->length);
    KINO__PACK_FRAME_TIMES(pack, &q->ts);
    KINO__PACK_EVENTS(pack, &q->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->streams, pack_summary);
    KINO__PACK_VEC(pack, &p->points, pack_point);
    kino__pack_u64(pack, &p->facts.doubled);
    kino__pack_tally(pack, &p->facts.unlaunched);
    kino__pack_bool(pack, &p->facts.is_cut);
}

static const kino_column summary_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "changes of the queue"},
    {"mean", KINO_TYPE_FLOAT, NULL, "mean length over all changes (not weighted by time)"},
    {"std", KINO_TYPE_FLOAT, NULL, "sample standard deviation"},
    {"min", KINO_TYPE_INT, NULL, NULL},
    {"p25", KINO_TYPE_FLOAT, NULL, NULL},
    {"p50", KINO_TYPE_FLOAT, NULL, "median"},
    {"p75", KINO_TYPE_FLOAT, NULL, NULL},
    {"max", KINO_TYPE_INT, NULL, NULL},
    {0},
};

static const kino_column series_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"ts", KINO_TYPE_TIME, NULL, "when it changed"},
    {"queue_length", KINO_TYPE_INT, NULL, "length from then on"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the launch, or of the work that starts"},
    {0},
};

static const kino_table_info tables[] = {
    {"queue_length_summary", "one row per rank and stream", summary_columns, NULL,
     "not available: no launch could be matched to device work"},
    {"queue_length_series", "one row per change, by stream and time, if series is set",
     series_columns, NULL, NULL},
    {0},
};

static void add_summary(kino__table *table, const summary *s)
{
    KINO__TABLE_ADD(table, s->rank, s->stream, s->of.moments.count,
                    kino__moments_mean(&s->of.moments), kino__moments_std(&s->of.moments),
                    s->of.moments.min);
    for (int q = 0; q < KINO__QUARTILES; q++)
        kino__table_add_real(table, kino__description_percentile(&s->of, q));
    kino__table_add_int(table, s->of.moments.max);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->streams.count; i++)
        add_summary(table, &p->streams.items[i]);
    kino__table *series = kino__analysis_table(result, 1);
    for (size_t i = 0; i < p->points.count; i++) {
        const point *q = &p->points.items[i];
        KINO__TABLE_ADD(series, q->rank, q->stream, q->ts, q->length, q->event);
    }
    if (!kino__param_bool(a, P_SERIES))
        kino__table_describe(series, KINO__TABLE_QUIET, NULL, NULL);
    kino__queue_facts facts = p->facts;
    facts.has_points = p->streams.count > 0; /* not packed */
    kino__queue_facts_note(&facts, "queue lengths", result);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_queue_length = {
    .name = "queue-length",
    .help = "how much work is queued on each stream",
    .description =
        "A launch whose work is in the trace adds one to the queue of its stream; the\n"
        "start of the work removes it. Statistics are over the changes, not weighted by\n"
        "time. Launches are all calls that submit work to a device, graphs with all their\n"
        "kernels; with compat, only those that HTA knows.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
