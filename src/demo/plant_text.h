/* plant_text.h - planted runs as the text that Kineto writes; for plant.c. */
#ifndef KINO__DEMO_PLANT_TEXT_H
#define KINO__DEMO_PLANT_TEXT_H

#include "base/sink.h"
#include "demo/plant_sim.h"

/* The trace of one rank. */
KINO_NODISCARD kino_status kino__plant_text(const kino__plant_sim *sim, unsigned rank,
                                            kino__sink *sink, kino_error *err);

/* The trace of a process that is not a rank: the launcher (0) or a worker of a loader. */
KINO_NODISCARD kino_status kino__plant_text_process(const kino__plant_sim *sim, unsigned number,
                                                    kino__sink *sink, kino_error *err);

/* What is true about the run, as JSON. `without` is the same run without its slow rank, NULL: it
 * has none. */
void kino__plant_truth(const kino__plant_sim *sim, const kino__plant_sim *without,
                       kino__buffer *out);

#endif
