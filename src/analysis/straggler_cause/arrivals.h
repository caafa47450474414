/* arrivals.h - who comes last to each collective, and where its lateness comes from.
 *
 *   rank 0   |--- work ---|== TP ==|---|===== DP ======|      rank 1 comes last to DP, but it
 *   rank 1   |--- work ------|== TP ==|--|= DP =|             waited for rank 3 in the TP group
 *   rank 3   |--- work ------------|TP|                       before: DP's waiting is rank 3's
 *
 * A rank that comes last, and itself waited in other groups since its group was last together, for
 * at least half of what it is late, hands the blame on to who kept it waiting there, and so on. If it
 * was as late at its group's call before, the blame is that call's: nobody waits for collectives that
 * overlap with computation, so it has not caught up since. */
#ifndef KINO__ANALYSIS_STRAGGLER_CAUSE_ARRIVALS_H
#define KINO__ANALYSIS_STRAGGLER_CAUSE_ARRIVALS_H

#include "analysis/clock_alignment/clocks.h"

typedef struct kino__arrival {
    uint32_t kind;               /* of the facts */
    int64_t step, series, event; /* of the last one's call */
    int64_t start;               /* when the last one comes, on its own clock */
    uint32_t ranks;
    int64_t skew;         /* from the first to the last one */
    int64_t waited;       /* sum over the others */
    uint32_t last, cause; /* places of traces */
    bool is_aligned;      /* by clocks; else by how long the calls take: they end together */
} kino__arrival;

typedef struct kino__arrivals {
    KINO__VEC(kino__arrival) items; /* of calls that several ranks have, in order of appearance */
} kino__arrivals;

/* clocks NULL: all by durations. False when memory is out; deinitialise in any case. */
KINO_NODISCARD bool kino__arrivals_find(const kino__clock_facts *facts, const kino__clocks *clocks,
                                        kino__arrivals *out);
void kino__arrivals_deinit(kino__arrivals *arrivals);

#endif
