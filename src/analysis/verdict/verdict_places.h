/* verdict_places.h - where a rank's own time goes, place by place: kernels of one name and grid,
 * operators, Python functions, data loaders, copies, garbage collections. What the verdict compares
 * between a slow rank and its peers to say which span is the first that differs.
 *
 * A place's time is the median over the steps of its time per step; only places of 1 % of a step or
 * more are kept, and no more than KINO__MOST_PLACES. Time in which the host does nothing that is
 * recorded is no place. Made once a trace and kept with it. */
#ifndef KINO__ANALYSIS_VERDICT_PLACES_H
#define KINO__ANALYSIS_VERDICT_PLACES_H

#include "analysis/verdict/verdict.h"

enum { KINO__MOST_PLACES = 32 };

typedef struct kino__named_place {
    kino_str name, shape;      /* of the trace and its profile; shape of kernels: the grid */
    kino__verdict_place place; /* without texts */
} kino__named_place;

typedef struct kino__places {
    KINO__VEC(kino__named_place) items; /* most time first */
} kino__places;

/* NULL when memory is out. */
const kino__places *kino__places_of(const kino__profile *profile);

#endif
