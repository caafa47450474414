/* trace_costs.h - the operators of a trace with their costs.
 *
 *   kino__trace_costs costs;
 *   KINO_TRY(kino__trace_costs_init(&costs, trace, model, err));
 *   uint32_t op = kino__trace_costs_op_of(&costs, trace, kernel's row);
 *   uint32_t charged = op == KINO_NO_ROW ? KINO_NO_ROW : costs.ops.items[op].charged;
 *
 * Operators are events of the kind, and annotations whose text is a range of emit_nvtx or PyProf.
 * Forward convolutions of traces without "Concrete Inputs" take the sizes of their result from the
 * gradient that their backward operator was given (kino__link_forward). Calls of one name with the
 * same inputs are computed once. Linear in operators and the text of their arguments. */
#ifndef KINO__COST_TRACE_COSTS_H
#define KINO__COST_TRACE_COSTS_H

#include "cost/charge.h"
#include "store/trace.h"

typedef struct kino__costed_op {
    uint32_t row;
    uint32_t parent;       /* index in ops of the operator around it; KINO_NO_ROW */
    uint32_t charged;      /* index in ops of the one that is charged for its work; KINO_NO_ROW */
    uint32_t cost;         /* index in costs */
    uint8_t direction;     /* kino__op_direction */
    bool records_autograd; /* has the number of a forward operator; of events that have inputs */
} kino__costed_op;

typedef struct kino__trace_costs {
    KINO__VEC(kino__costed_op) ops; /* in order of rows */
    KINO__VEC(kino__cost) costs;    /* distinct; of ops that are not charged, too */
    /* event_count entries: index in ops of the operator that is, or is innermost around, a row of
     * a thread; KINO_NO_ROW: there is none. */
    uint32_t *op_of_row;
    size_t row_count;
    bool has_ids; /* launches or work on a device have external ids */
} kino__trace_costs;

KINO_NODISCARD kino_status kino__trace_costs_init(kino__trace_costs *costs,
                                                  const kino__trace *trace,
                                                  const kino__cost_model *model, kino_error *err);
void kino__trace_costs_deinit(kino__trace_costs *costs);

/* Gives back op_of_row, for those who have asked about all work on devices. */
void kino__trace_costs_forget_rows(kino__trace_costs *costs);

/* The operator of work on a device: by kino__link_op, else the innermost around the call that
 * launched it. Where no external ids lead to operators, the link is not made: the answer is the
 * same. KINO_NO_ROW: none. */
uint32_t kino__trace_costs_op_of(const kino__trace_costs *costs, const kino__trace *trace,
                                 uint32_t row);

/* The cost of an op. */
static inline const kino__cost *kino__trace_cost(const kino__trace_costs *costs, uint32_t op)
{
    return &costs->costs.items[costs->ops.items[op].cost];
}

#endif
