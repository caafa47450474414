/* analysis_rows.h - an analysis over hand-made traces, and its rows as text.
 *
 *   kino__trace *trace = FIXTURE(...);
 *   kino_result *result = analysis_result("kernels", "group=name-op", &trace, 1);
 *   CHECK_STR(analysis_rows(result, "kernels", "name,calls"), "gemm,2;relu,1");
 *   kino_result_free(result);
 *   kino__trace_free(trace);
 *
 * On the way it is checked, for every analysis that is tried so, that the answer does not depend on
 * the order of merging, (a+b)+c = a+(b+c), nor on saving and loading the partial results. */
#ifndef KINO_TEST_ANALYSIS_ROWS_H
#define KINO_TEST_ANALYSIS_ROWS_H

#include "analysis/analysis.h"

/* `params`: "name=value name=value", or "". Ends the test when the analysis fails. */
kino_result *analysis_result(const char *name, const char *params, kino__trace *const *traces,
                             size_t count);

/* The rows of a table as "a,1;b,2": the columns that are named ("name,calls"; NULL: all), numbers
 * as %g, '-' for null. Valid until the next call. */
const char *analysis_rows(const kino_result *result, const char *table, const char *columns);

/* All notes, with " | " between them. Valid until the next call. */
const char *analysis_notes(const kino_result *result);

#endif
