/* cost_work.h - the work of a trace with its costs: each kernel, copy and memset, or, where no
 * device was recorded, each operator that is charged.
 *
 *   operators --charge--> cost of one call --by time--> its kernels
 *
 * An operator is charged once (cost/charge.h) and its cost is divided among its kernels by their
 * time, exactly: the parts add up to the whole. Kernels that a replayed graph launched belong to
 * the operator of the capture, which is charged once per replay. Copies and memsets have the bytes
 * that were recorded for them and no operations; a kernel of a collective that no operator accounts
 * for has what its own arguments say. What is not known is KINO_NO_INT. */
#ifndef KINO__ANALYSIS_COST_WORK_H
#define KINO__ANALYSIS_COST_WORK_H

#include "analysis/analysis.h"
#include "analysis/costs/tensor_gap.h"
#include "cost/trace_costs.h"

typedef enum kino__work_kind {
    KINO__WORK_KERNEL,
    KINO__WORK_COLLECTIVE, /* a kernel of a communication library */
    KINO__WORK_COPY,
    KINO__WORK_SET,
    KINO__WORK_OPERATOR, /* on the host */
} kino__work_kind;

typedef struct kino__work_item {
    uint32_t row;         /* of the device; of the operator on the host */
    uint32_t launch;      /* row of the call that started it; KINO_NO_ROW: none */
    uint32_t op;          /* the charged operator, in costs.ops; KINO_NO_ROW: none */
    uint32_t around;      /* that, else the innermost one that launched it; KINO_NO_ROW: none */
    int64_t flops, bytes; /* its part */
    uint8_t kind;
    uint8_t tensor_gap; /* kino__tensor_gap */
    bool uses_tensor_cores;
    bool is_starved; /* its stream had run dry when it was launched */
    bool is_first;   /* of the kernels of one charge: counts as the call */
} kino__work_item;

typedef struct kino__cost_work {
    const kino__trace *trace;
    kino__cost_model *model;
    kino__trace_costs costs;          /* without op_of_row: items have what it said */
    KINO__VEC(kino__work_item) items; /* in order of rows */
    bool is_host;                     /* items are operators */
    bool has_ops;
    int64_t host_time; /* of the outermost operators, where items are operators */
} kino__cost_work;

/* `file`: families of the user (--costs), empty: none. The value is kept with the trace where there
 * is none, else *own is it, too, and the caller frees it. */
KINO_NODISCARD kino_status kino__cost_work_of(const kino__trace *trace, kino_str file,
                                              const kino__cost_work **out, kino__cost_work **own,
                                              kino_error *err);
/* The caller's own, and only it: the trace is used by nobody else, nor will it be. What has been
 * made of it is given back, and its columns of ids. */
KINO_NODISCARD kino_status kino__cost_work_last(kino__trace *trace, kino_str file,
                                                kino__cost_work **own, kino_error *err);
void kino__cost_work_free(kino__cost_work *work);

/* The parameter of all analyses that use it. */
#define KINO__COSTS_PARAM                                                                          \
    {                                                                                              \
        "costs", KINO_TYPE_STRING, NULL, "file with costs of further operators", NULL              \
    }

static inline int64_t kino__work_time(const kino__cost_work *work, const kino__work_item *item)
{
    kino__interval span =
        kino__interval_of(work->trace->ts[item->row], work->trace->dur[item->row]);
    return span.end - span.start;
}

/* What its operator was charged; NULL: it has none. */
static inline const kino__cost *kino__work_cost(const kino__cost_work *work,
                                                const kino__work_item *item)
{
    return item->op == KINO_NO_ROW ? NULL : kino__trace_cost(&work->costs, item->op);
}

/* Is it known how much it computes? Bytes alone are not enough, but for copies. */
static inline bool kino__work_is_known(const kino__work_item *item)
{
    return item->flops != KINO_NO_INT;
}

/* Why not: constant text. */
const char *kino__work_reason(const kino__cost_work *work, const kino__work_item *item);

#endif
