/* near.c - launches and operators of one event, found without the links of a whole trace.
 *
 * store/link_launch.c and store/link_op.c have the definitions and answer for every row at once, at
 * a cost that somebody who clicks on one event should not pay. Here one pass over a column does:
 * the same join keys, the same choice among several. Traces without these keys (of 2021) have the
 * links made after all. */
#include "store/link.h"
#include "timeline/event_internal.h"

#define DEVICE (KINO__KINDS_DEVICE | KINO__KIND_BIT(KINO__KIND_SYNC))
#define OPS    (KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION))

static uint32_t kind_of(const kino__trace *trace, uint32_t row)
{
    return KINO__KIND_BIT(kino__category_kind(trace->category[row]));
}

static bool is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->ts[row] != KINO_NO_TIME;
}

/* The next row from `row` on of these kinds whose number is that of `like`. Most rows differ in the
 * 32-bit column already; wide numbers share one mark there. */
typedef int64_t (*number_fn)(const kino__trace *trace, uint32_t row);
static uint32_t next_same(const kino__trace *trace, const uint32_t *column, number_fn number,
                          uint32_t like, uint32_t kinds, uint32_t row)
{
    for (; row < trace->event_count; row++)
        if (column[row] == column[like] && (kind_of(trace, row) & kinds) && is_span(trace, row) &&
            number(trace, row) == number(trace, like))
            return row;
    return KINO_NO_ROW;
}

/* Of the preferred kind, then the earliest. */
static bool is_better(const kino__trace *trace, kino__kind preferred, uint32_t row, uint32_t than)
{
    bool is = kind_of(trace, row) & KINO__KIND_BIT(preferred);
    bool was = kind_of(trace, than) & KINO__KIND_BIT(preferred);
    return is != was ? is : trace->ts[row] < trace->ts[than];
}

static uint32_t best_same(const kino__trace *trace, const uint32_t *column, number_fn number,
                          uint32_t like, uint32_t kinds, kino__kind preferred)
{
    uint32_t best = KINO_NO_ROW;
    for (uint32_t row = 0;
         (row = next_same(trace, column, number, like, kinds, row)) != KINO_NO_ROW; row++)
        if (best == KINO_NO_ROW || is_better(trace, preferred, row, best))
            best = row;
    return best;
}

bool kino__tl_launch_of(const kino__trace *trace, uint32_t row, uint32_t *call)
{
    *call = KINO_NO_ROW;
    if (!(kind_of(trace, row) & DEVICE) || !is_span(trace, row))
        return true;
    if (kino__trace_correlation(trace, row) > 0) {
        *call = best_same(trace, trace->bind, kino__trace_correlation, row, KINO__KINDS_LAUNCH,
                          KINO__KIND_RUNTIME);
        return true;
    }
    const uint32_t *launch = kino__link_launch(trace);
    if (launch)
        *call = launch[row];
    return launch != NULL;
}

static uint32_t op_by_id(const kino__trace *trace, uint32_t row)
{
    if (kino__trace_external(trace, row) <= 0)
        return KINO_NO_ROW;
    return best_same(trace, trace->external, kino__trace_external, row, OPS, KINO__KIND_OP);
}

bool kino__tl_op_of(const kino__tl_subject *s, uint32_t *op)
{
    *op = KINO_NO_ROW;
    uint32_t kind = kind_of(s->trace, s->row);
    if (!(kind & (DEVICE | KINO__KINDS_LAUNCH)) || !is_span(s->trace, s->row))
        return true;
    *op = op_by_id(s->trace, s->row);
    uint32_t call = kind & DEVICE ? s->launch : s->row;
    if (*op != KINO_NO_ROW || call == KINO_NO_ROW)
        return true;
    if (call != s->row)
        *op = op_by_id(s->trace, call);
    return *op != KINO_NO_ROW ||
           kino__tl_around(s->timeline, s->trace, call, KINO__KIND_BIT(KINO__KIND_OP),
                           (kino_str){"", 0}, op);
}

/* Visits what has the number of `like` in this column; returns how many. */
static uint32_t visit_same(const kino__trace *trace, const uint32_t *column, number_fn number,
                           uint32_t like, kino__tl_visit_row visit, void *context)
{
    uint32_t count = 0;
    for (uint32_t row = 0;
         (row = next_same(trace, column, number, like, DEVICE, row)) != KINO_NO_ROW; row++) {
        visit(context, row);
        count++;
    }
    return count;
}

/* The work of an op: what has its id; where work has no ids, what was launched by calls that do. */
static void visit_op(const kino__trace *trace, uint32_t op, kino__tl_visit_row visit, void *context)
{
    enum { MOST_CALLS = 32 }; /* each is a pass over the trace */
    if (visit_same(trace, trace->external, kino__trace_external, op, visit, context))
        return;
    uint32_t call = 0;
    for (int i = 0; i < MOST_CALLS; i++, call++) {
        call =
            next_same(trace, trace->external, kino__trace_external, op, KINO__KINDS_LAUNCH, call);
        if (call == KINO_NO_ROW)
            return;
        if (kino__trace_correlation(trace, call) > 0)
            visit_same(trace, trace->bind, kino__trace_correlation, call, visit, context);
    }
}

bool kino__tl_work_of(const kino__trace *trace, uint32_t row, kino__tl_visit_row visit,
                      void *context)
{
    bool is_op = kind_of(trace, row) & KINO__KIND_BIT(KINO__KIND_OP);
    if (!is_op && !(kind_of(trace, row) & KINO__KINDS_LAUNCH))
        return true;
    if (is_op && kino__trace_external(trace, row) > 0) {
        visit_op(trace, row, visit, context);
        return true;
    }
    if (!is_op && kino__trace_correlation(trace, row) > 0) {
        visit_same(trace, trace->bind, kino__trace_correlation, row, visit, context);
        return true;
    }
    const uint32_t *link = is_op ? kino__link_op(trace) : kino__link_launch(trace);
    for (uint32_t at = 0; link && at < trace->event_count; at++)
        if (link[at] == row && (kind_of(trace, at) & DEVICE))
            visit(context, at);
    return link != NULL;
}

bool kino__tl_around(const kino__timeline *timeline, const kino__trace *trace, uint32_t row,
                     uint32_t kinds, kino_str prefix, uint32_t *out)
{
    kino__tl_place place;
    kino__tl_rows rows = {0};
    *out = KINO_NO_ROW;
    if (!kino__tl_find(timeline, trace, row, &place))
        return true;
    bool ok = kino__tl_stack(&timeline->tracks.items[place.track], row, &rows);
    for (size_t i = 0; ok && i < rows.count; i++)
        if ((kind_of(trace, rows.items[i]) & kinds) &&
            kino__str_starts_with(kino__trace_string(trace, trace->name[rows.items[i]]), prefix))
            *out = rows.items[i]; /* the innermost stays */
    kino__vec_deinit(&rows);
    return ok;
}
