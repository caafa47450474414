/* analyze.h - running analyses over a run, and offering them to SQL. */
#ifndef KINO__ENGINE_ANALYZE_H
#define KINO__ENGINE_ANALYZE_H

#include <kino/engine.h>

#include "analysis/analysis.h"
#include "query/table_function.h"
#include "store/run.h"

/* All analyses: those of src/analysis, then the recommendations, which stand on them. NULL at the
 * end, or when there is none of this name. */
const kino__analysis_def *kino__analyses_at(size_t index);
const kino__analysis_def *kino__analyses_find(kino_str name);

typedef struct kino__analyze_how {
    const kino_param *params;
    size_t param_count;
    kino__pool *pool;         /* or NULL: one thread */
    kino__progress *progress; /* or NULL */
} kino__analyze_how;

/* Maps all traces, merges in their order, and gives the partial result of the whole run: for those
 * who compare two. `a` is initialised with the parameters; the partial is the caller's
 * (kino__partial_free). The run must outlive it. */
KINO_NODISCARD kino_status kino__analyze_map(kino__analysis *a, const kino__run *run,
                                             kino__pool *pool, kino__progress *progress, void **out,
                                             kino_error *err);

/* The same and finish: adds parameters and tables to `result` (made by the caller, who has set its
 * input). */
KINO_NODISCARD kino_status kino__analyze_run(const kino__analysis_def *def, const kino__run *run,
                                             const kino__analyze_how *how, kino_result *result,
                                             kino_error *err);

/* The last part of it, for those who merge themselves: parameters and tables from the partial of
 * all `traces`. */
KINO_NODISCARD kino_status kino__analysis_finish(const kino__analysis *a, size_t traces,
                                                 void *partial, kino_result *result,
                                                 kino_error *err);

/* Every table of every analysis as a table function of SQL. `run` may be NULL for the schema
 * alone. */
kino__table_functions kino__analyze_functions(kino_run *run);

#endif
