/* verdict_chance.h - how much slower than its peers a rank may look by chance.
 *
 * Steps differ: other batches, pauses of Python's collector, noise of the machine. How much is
 * known from the peers alone, for a rank that is slow may vary as it likes. Few steps of few ranks
 * know little: a deviation of them may be small by accident. So it is drawn towards what is usual
 * in training, and compared by Student's t with the degrees of freedom that there are. */
#ifndef KINO__ANALYSIS_VERDICT_CHANCE_H
#define KINO__ANALYSIS_VERDICT_CHANCE_H

#include <stddef.h>

/* What the median over the steps of a rank's own time less that of its peers exceeds by chance in
 * about one of a thousand runs in which it is like them. own: peers x steps, one peer behind the
 * other; usual: by how much a rank changes from step to step; room: twice as many as own. Needs at
 * least two steps. */
double kino__verdict_chance(const double *own, size_t peers, size_t steps, double usual,
                            double *room);

#endif
