/* queue_blocked.c - how long were queues full, so that the host had to wait to launch more? */
#include <math.h>

#include "analysis/queue/queue.h"
#include "base/error.h"

enum { P_MAX, P_LAST_STEP };

static const kino_param_info params[] = {
    [P_MAX] = {"max_queue_length", KINO_TYPE_INT, "1024", "consider a queue of this length full",
               NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

typedef struct blocked {
    int64_t rank, stream;
    int64_t time; /* at the limit */
    int64_t span; /* from the rank's first start to its last */
} blocked;

typedef struct partial {
    KINO__VEC(blocked) rows;
    kino__queue_facts facts;
} partial;

static void deinit(void *value)
{
    kino__vec_deinit(&((partial *)value)->rows);
}

static bool add_streams(const kino__analysis *a, partial *p, const kino__frame *f,
                        const kino__queue *q)
{
    int64_t limit = kino__param_int(a, P_MAX), first = INT64_MAX, last = INT64_MIN;
    size_t before = p->rows.count;
    for (size_t i = 0, next; i < q->points.count; i = next) {
        blocked b = {f->trace->rank, q->points.items[i].stream, 0, 0};
        bool is_full = false;
        for (next = i; next < q->points.count && q->points.items[next].stream == b.stream; next++) {
            const kino__queue_point *point = &q->points.items[next];
            bool has_next =
                next + 1 < q->points.count && q->points.items[next + 1].stream == b.stream;
            if (point->length < limit || !has_next)
                continue;
            b.time += q->points.items[next + 1].ts - point->ts;
            is_full = true;
        }
        /* HTA keeps one stream a rank, the last that was full. */
        if (is_full && f->mode != KINO__FRAME_DEFAULT)
            p->rows.count = before;
        blocked *slot = is_full ? kino__vec_add(&p->rows) : NULL;
        if (is_full && !slot)
            return false;
        if (slot)
            *slot = b;
    }
    for (uint32_t at = 0; at < f->count && p->rows.count > before; at++) {
        first = f->ts[at] < first ? f->ts[at] : first;
        last = f->ts[at] > last ? f->ts[at] : last;
    }
    for (size_t i = before; i < p->rows.count; i++) {
        p->rows.items[i].time *= f->unit_ns;
        p->rows.items[i].span = (last - first) * f->unit_ns;
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
    p->facts.doubled = 0; /* queue-length says so */
    bool ok = add_streams(a, p, f, &q);
    kino__queue_deinit(&q);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->rows, &more->rows))
        return kino__fail_nomem(err);
    kino__queue_facts_merge(&p->facts, &more->facts);
    return KINO_OK;
}

static void pack_row(kino__pack *pack, blocked *b)
{
    KINO__PACK(pack, &b->rank, &b->stream, &b->time, &b->span);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__pack_tally(pack, &p->facts.unlaunched);
    KINO__PACK(pack, &p->facts.has_points, &p->facts.is_cut);
}

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"duration_at_max_queue_length", KINO_TYPE_DURATION, NULL, "time in which it was full"},
    {"relative_duration_at_max_queue_length", KINO_TYPE_FLOAT, NULL,
     "the same as a fraction (0 to 1) of the time from the start of the rank's first event to the "
     "start of its last"},
    {0},
};

static const kino_table_info tables[] = {
    {"time_blocked", "one row per rank and stream whose queue was full", columns, NULL,
     "no queue was ever full"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->rows.count; i++) {
        const blocked *b = &p->rows.items[i];
        KINO__TABLE_ADD(table, b->rank, b->stream, b->time,
                        b->span > 0 ? (double)b->time / (double)b->span : NAN);
    }
    kino__queue_facts_note(&p->facts, "queues", result);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_queue_blocked = {
    .name = "queue-blocked",
    .help = "how long launches had to wait because a stream's queue was full",
    .description = "The time in which a queue (see queue-length) held at least max_queue_length\n"
                   "launches. CUDA accepts about 1024 pending launches; at the limit, the host\n"
                   "blocks. With compat, only one stream per rank is shown, as in HTA.\n",
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
