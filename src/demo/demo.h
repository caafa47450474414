/* demo.h - writes a realistic training run, made up from a seed: for `kino demo`, tests and
 * benchmarks. */
#ifndef KINO__DEMO_DEMO_H
#define KINO__DEMO_DEMO_H

#include <kino/engine.h>

/* One trace a rank, "rank-<n><suffix>", into a folder (made when missing). The same options give
 * the same bytes on every machine. Planted for analyses to find: a data-loader stall in step steps
 * / 2 on all ranks (when there are at least 3 steps), and compute kernels 15 % slower on rank ranks
 * / 2 (when there are at least 2). With bytes_per_rank the model grows to 48 layers at most; what
 * is missing then is made up by more steps. Memory does not grow with the size. When it fails or is
 * cancelled, files already whole stay. */
KINO_NODISCARD kino_status kino__demo_write(const char *folder, const kino_demo_options *options,
                                            kino_error *err);

#endif
