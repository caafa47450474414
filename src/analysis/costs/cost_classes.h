/* cost_classes.h - work within PyProf's markers costs what kernel-costs says: that of PyProf's
 * classes of operators, put right, so that all analyses have the same figures. */
#ifndef KINO__ANALYSIS_COST_CLASSES_H
#define KINO__ANALYSIS_COST_CLASSES_H

#include "analysis/costs/cost_work.h"

/* Nothing happens where the trace has no such markers. */
KINO_NODISCARD kino_status kino__cost_classes_apply(kino__cost_work *work, kino_error *err);

#endif
