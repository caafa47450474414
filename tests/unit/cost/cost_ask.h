/* cost_ask.h - the cost of a call written as the arguments of an event or as a marker, for tests. */
#ifndef KINO_TEST_COST_ASK_H
#define KINO_TEST_COST_ASK_H

#include "cost/cost.h"

/* Of "aten::mm" with {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}; NULL: the
 * list is missing. */
kino__cost test_cost(kino__cost_mode mode, const char *op, const char *dims, const char *types,
                     const char *values);
/* Of an NVTX range. */
kino__cost test_cost_of_range(const char *text);

#endif
