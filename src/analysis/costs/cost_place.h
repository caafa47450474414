/* cost_place.h - where an operator stands in the program: its name, the modules around it, the line
 * that called it. Backward operators stand where their forward operators do.
 *
 *   modules   spans "nn.Module: Linear_0" (with_stack, with_modules), or ranges "layer:NAME"
 *   line      the innermost call of a function outside of libraries, or PyProf's trace marker
 *
 * Texts are views of the trace or of a pool of this value. */
#ifndef KINO__ANALYSIS_COST_PLACE_H
#define KINO__ANALYSIS_COST_PLACE_H

#include "analysis/costs/cost_work.h"
#include "base/map.h"
#include "cost/marker.h"
#include "cost/op_call.h"
#include "store/link.h"

typedef struct kino__layer {
    uint32_t parent; /* KINO_NO_ROW: at the top */
    uint32_t depth;
    kino_str name; /* "Linear_0" */
} kino__layer;

typedef struct kino__cost_places {
    const kino__cost_work *work;
    /* links, made when they are needed */
    const uint32_t *parent;
    const uint32_t *python, *module; /* NULL: the trace has no Python */
    uint32_t *forward;               /* of each op: the row whose place it has; made when needed */
    kino__string_pool texts;
    KINO__VEC(kino__layer) layers; /* parents before children, in order of first sight */
    kino__map layer_of_row;        /* span of a module, or range -> layer */
    kino__map layer_by_name;       /* parent + 1 and number of the name -> layer */
    kino__map name_of_string;      /* text of a marker -> name of the operator, in texts */
    kino__map line_of_row;         /* Python call, or range -> number of its text + 1 */
    kino__op_call call;
    kino__str_list frames;
    kino__arena arena; /* texts of frames */
    bool is_last, failed;
} kino__cost_places;

/* is_last: nobody else uses the trace; links that are not needed any more are given back. Memory
 * that runs out later is remembered in `failed`. */
void kino__cost_places_init(kino__cost_places *places, const kino__cost_work *work, bool is_last);
/* Work and places of a trace, each on its thread as far as it can be: places need links that read
 * the arguments of all events, the work needs the operators. As kino__cost_work_of. */
KINO_NODISCARD kino_status kino__cost_work_and_places(const kino__analysis *a,
                                                      const kino__trace *trace, kino_str file,
                                                      const kino__cost_work **out,
                                                      kino__cost_work **own, kino_error *err);
void kino__cost_places_deinit(kino__cost_places *places);

/* "aten::mm", of a marker "linear". */
kino_str kino__cost_place_name(kino__cost_places *places, uint32_t op);
/* KINO_NO_ROW: it is in none. */
uint32_t kino__cost_place_layer(kino__cost_places *places, uint32_t op);
/* "train.py(12): main", "/home/user/train.py:12"; empty: not recorded. */
kino_str kino__cost_place_line(kino__cost_places *places, uint32_t op);

#endif
