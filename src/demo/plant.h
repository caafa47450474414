/* plant.h - runs with a known truth, for tests of what the analyses conclude.
 *
 * A kind says what is planted (plant_kinds.def); the seed chooses everything else: names, sizes,
 * noise, clocks, the conventions of one of several versions of PyTorch. Ranks run a program for
 * each step in a small simulator, so that waiting, overlap and idle time come about as they do in
 * real runs and are not written down as numbers. */
#ifndef KINO__DEMO_PLANT_H
#define KINO__DEMO_PLANT_H

#include <kino/engine.h>

/* Writes the run that options->plant names, and the truth about it to options->truth if given.
 * KINO_ARGUMENT: no such kind. */
KINO_NODISCARD kino_status kino__plant_write(const char *folder, const kino_demo_options *options,
                                             const char *suffix, kino_error *err);

#endif
