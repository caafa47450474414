/* link_op.c - to which op does device work, or a runtime call, belong?
 *
 * First by external id: the op with the same one, or the annotation where no op has it (the
 * earliest, when several do; 0 and less mean "none"). Else the innermost op around the call; for
 * device work, around the call that launched it. Cost: a hash table with an entry per op, and three
 * passes. */
#include "base/map.h"
#include "store/link_internal.h"

static bool is_better(const kino__trace *trace, uint32_t row, uint32_t than)
{
    bool is_op = kino__category_kind(trace->category[row]) == KINO__KIND_OP;
    bool was_op = kino__category_kind(trace->category[than]) == KINO__KIND_OP;
    if (is_op != was_op)
        return is_op;
    return trace->ts[row] < trace->ts[than];
}

static bool collect_ops(const kino__trace *trace, kino__map *ops)
{
    const uint32_t kinds = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!(kino__link_kind_bit(trace, row) & kinds) || !kino__link_is_span(trace, row))
            continue;
        int64_t id = kino__trace_external(trace, row);
        if (id <= 0)
            continue;
        uint32_t *best = kino__map_put(ops, (uint64_t)id, row);
        if (!best)
            return false;
        if (is_better(trace, row, *best))
            *best = row;
    }
    return true;
}

/* The innermost op around each row, in scratch memory. */
static uint32_t *innermost_ops(const kino__trace *trace, kino__arena *scratch)
{
    const kino__nesting *nesting = kino__link_nesting(trace);
    uint32_t *innermost = kino__link_scratch(scratch, trace->event_count, sizeof *innermost);
    uint8_t *is_op = kino__link_scratch(scratch, trace->event_count, sizeof *is_op);
    if (!nesting || !innermost || !is_op)
        return NULL;
    for (uint32_t row = 0; row < trace->event_count; row++)
        is_op[row] = kino__category_kind(trace->category[row]) == KINO__KIND_OP;
    kino__link_innermost(trace, nesting->parent, is_op, innermost);
    return innermost;
}

static uint32_t op_by_id(const kino__trace *trace, const kino__map *ops, uint32_t row)
{
    int64_t id = kino__trace_external(trace, row);
    const uint32_t *op = id > 0 ? kino__map_get(ops, (uint64_t)id) : NULL;
    return op ? *op : KINO_NO_ROW;
}

static void *make_op(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    const uint32_t *launch = kino__link_launch(trace);
    const uint32_t *innermost = innermost_ops(trace, scratch);
    kino__map ops;
    kino__map_init(&ops, scratch->allocator);
    uint32_t *column = NULL;
    if (launch && innermost && collect_ops(trace, &ops))
        column = kino__link_column(trace, size);
    for (uint32_t row = 0; column && row < trace->event_count; row++) {
        uint32_t kind = kino__link_kind_bit(trace, row);
        if (!(kind & (KINO__LINK_KINDS_DEVICE | KINO__KINDS_LAUNCH)) ||
            !kino__link_is_span(trace, row))
            continue;
        column[row] = op_by_id(trace, &ops, row);
        if (column[row] != KINO_NO_ROW)
            continue;
        uint32_t call = kind & KINO__KINDS_LAUNCH ? row : launch[row];
        if (call == KINO_NO_ROW)
            continue;
        if (call != row)
            column[row] = op_by_id(trace, &ops, call);
        if (column[row] == KINO_NO_ROW)
            column[row] = innermost[call];
    }
    kino__map_deinit(&ops);
    return column;
}

const uint32_t *kino__link_op(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_OP, make_op);
}
