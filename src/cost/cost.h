/* cost.h - how many operations an operator performs and how many bytes it must move, from what it
 * was called with.
 *
 *   kino__cost_model *model;
 *   KINO_TRY(kino__cost_model_new(KINO__COST_DEFAULT, files, &model, err));
 *   kino__cost cost = kino__cost_of(model, &call);
 *   if (cost.flops != KINO_NO_INT) ...          else cost.reason says why not
 *
 * An addition, a multiplication, a comparison count 1, a fused multiply-add 2; functions by the
 * weights of docs/internals/costs.md. Bytes are what must pass between the device and its memory
 * when every input is read once and every result written once: caches, temporaries and repeated
 * reads are not in it. Unknown is never 0: each figure is KINO_NO_INT where it is not known. All
 * functions may be called from any thread; a model does not change once it is made. */
#ifndef KINO__COST_COST_H
#define KINO__COST_COST_H

#include "cost/op_call.h"

typedef enum kino__cost_mode {
    KINO__COST_DEFAULT,
    KINO__COST_WITH_FLOPS,   /* torch.profiler's with_flops: seven operators, flops only */
    KINO__COST_FLOP_COUNTER, /* torch.utils.flop_counter: no causal discount, groups over-counted */
} kino__cost_mode;

/* Who works: see charge.h. */
typedef enum kino__cost_role {
    KINO__COST_NO_ROLE,   /* not an operator with a cost */
    KINO__COST_COMPOSITE, /* usually calls others that do the work: aten::linear, aten::matmul */
    KINO__COST_PRIMITIVE, /* does it itself: aten::addmm; what it calls belongs to it */
    KINO__COST_FREE,      /* computes and moves nothing: aten::view, aten::empty */
    KINO__COST_REPLAY,    /* a composite that replays a graph of kernels besides calling others: its
                             cost is that of the graph. Of calls (trace_costs.h), not of names. */
} kino__cost_role;

typedef struct kino__cost {
    int64_t flops;
    int64_t bytes_read, bytes_written;
    kino__dtype precision; /* of the arithmetic: of the first tensor that counts */
    bool is_matrix;        /* products that matrix units can do: GEMM, convolution, attention */
    const char *family;    /* "gemm"; NULL: no family knows the operator */
    const char *reason;    /* why a figure is unknown; NULL: all are known */
} kino__cost;

static inline bool kino__cost_is_known(const kino__cost *cost)
{
    return cost->flops != KINO_NO_INT;
}

/* Read and written; KINO_NO_INT where one of them is unknown. */
int64_t kino__cost_bytes(const kino__cost *cost);

typedef struct kino__cost_model kino__cost_model;

/* `files`: paths of files with families of the user (cost_file.h), ended by NULL; NULL: none. The
 * error names file, line and column. */
KINO_NODISCARD kino_status kino__cost_model_new(kino__cost_mode mode, const char *const *files,
                                                kino__cost_model **out, kino_error *err);
void kino__cost_model_free(kino__cost_model *model);

kino__cost kino__cost_of(const kino__cost_model *model, const kino__op_call *call);
kino__cost_role kino__cost_role_of(const kino__cost_model *model, kino_str name);

#endif
