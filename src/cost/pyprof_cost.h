/* pyprof_cost.h - the cost that PyProf gives one kernel, from the argument marker around its launch.
 *
 * PyProf charges kernels, not operators: each class of operators looks at the kernel's name, at the
 * direction and at the number of kernels before it in the same call (sub). With is_compat the
 * values are PyProf's with all its quirks, and what stops PyProf is unknown; without, its mistakes
 * are put right (docs/internals/costs.md lists them) and an operator that has no class has the cost
 * of the general model. */
#ifndef KINO__COST_PYPROF_COST_H
#define KINO__COST_PYPROF_COST_H

#include "cost/cost.h"

typedef struct kino__pyprof_kernel {
    kino_str name; /* short: "volta_sgemm_64x32_nn" */
    kino__op_direction direction;
    uint32_t sub;
    int64_t grid[3];
} kino__pyprof_kernel;

typedef struct kino__pyprof_cost {
    const char *op_class; /* "Linear"; "Foo": PyProf has none */
    kino_str op;          /* "linear", or "bias" */
    kino__buffer params;  /* "M=120,N=1,K=400,fp32," */
    const char *tc;       /* "1", "0", "-" */
    int64_t flops, bytes; /* KINO_NO_INT: unknown */
    bool is_real;         /* PyProf prints them with ".0" */
    const char *reason;   /* why unknown; NULL */
} kino__pyprof_cost;

/* Into a zeroed or used value. False when memory is out. */
bool kino__pyprof_cost_of(const kino__op_call *call, const kino__pyprof_kernel *kernel,
                          const kino__cost_model *model, bool is_compat, kino__pyprof_cost *out);
void kino__pyprof_cost_deinit(kino__pyprof_cost *cost);

/* "void at::native::elementwise_kernel<...>(...)" is "elementwise_kernel": a view or, where parts
 * are cut out, text in the buffer. */
kino_str kino__pyprof_short_name(kino_str demangled, kino__buffer *room);

#endif
