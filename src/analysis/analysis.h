/* analysis.h - questions answered with tables: the definition of an analysis, and what its
 * functions are given.
 *
 * A new analysis (docs/internals/analyses.md has more):
 *   1. copy src/analysis/_template.c to src/analysis/<name>.c, with '_' for '-'
 *   2. ANALYSIS(<name>) in src/analysis/analyses.def
 *   3. tools/make-analysis-docs writes docs/analyses/<name>.md from the definition; add the rest
 *   4. tests: tests/unit/analysis/test_<name>.c with hand-made traces, and SQL in
 *      tests/diff/analysis/<name>.test
 *
 *   trace 0 --map--> partial 0 --+
 *   trace 1 --map--> partial 1 --merge--> partial --finish--> tables
 *   trace 2 --map--> partial 2 --+              (pack: to bytes and back, between machines)
 *
 * Maps of several traces run at the same time; merges come one after the other in rank order, so
 * that the answer does not depend on threads. A partial is the analysis' own struct, zeroed before
 * map. It holds integers and texts: floating point begins in finish, so that merging is exact. */
#ifndef KINO__ANALYSIS_ANALYSIS_H
#define KINO__ANALYSIS_ANALYSIS_H

#include <kino/analysis.h>

#include "analysis/pack.h"
#include "base/arena.h"
#include "base/progress.h"
#include "store/interval.h"
#include "store/table.h"
#include "store/trace.h"

typedef struct kino__analysis_def kino__analysis_def;

/* One analysis at work: its definition with the values of the parameters. */
typedef struct kino__analysis {
    const kino__analysis_def *def;
    const kino_cell *values;       /* of def->params, in that order; null where there is no value */
    const char *compat;            /* one of def->compat; NULL: the correct numbers */
    const char *steps;             /* the parameter "steps" as given, or NULL */
    int64_t first_step, last_step; /* what it says; KINO_NO_INT: all */
    bool is_last; /* nobody else uses the run, nor will: map may give back what it does not need */
    /* For a report that leaves out the tables that grow with the trace: they need not be filled. */
    bool is_brief;
    /* For work shared out inside map: may be NULL (traces are shared out already), which
     * kino__pool_run understands. */
    kino__pool *pool;
    const kino__progress *progress; /* long loops look at kino__progress_is_cancelled */
    kino__arena arena;              /* the texts of values */
} kino__analysis;

struct kino__analysis_def {
    const char *name;        /* "kernel-breakdown" */
    const char *help;        /* one line, lower case, no full stop: what it answers */
    const char *description; /* definition and limits; lines of at most 80 columns, each ended */
    const kino_param_info *params; /* ends with {0}; NULL: none */
    const kino_table_info *tables; /* ends with {0}; at least one */
    const char *const *compat; /* names of reference implementations, NULL at the end; or NULL */
    bool takes_every_process;  /* also launchers and helpers, which are no ranks */
    bool grows;                /* its partial has rows of single events: as many as there are */
    bool takes_steps;          /* knows a->first_step and a->last_step */
    unsigned needs;            /* KINO__COLUMN_ bits that map reads; 0: all */
    size_t partial_size;

    /* What the types of the parameters cannot say: KINO_ARGUMENT and a message. NULL: nothing. */
    kino_status (*check)(const kino__analysis *a, kino_error *err);
    /* One trace into a zeroed partial. Texts of the trace (kino__trace_string) may be kept as they
     * are: the trace outlives the partial. Numbers in its pools may not. */
    kino_status (*map)(const kino__analysis *a, const kino__trace *trace, void *partial,
                       kino_error *err);
    /* Adds `from`, which comes later in rank order, to `into`. Associative. `from` is only
     * deinitialised afterwards: it may be robbed. */
    kino_status (*merge)(const kino__analysis *a, void *into, void *from, kino_error *err);
    /* The partial of the whole run as rows. The tables are there already, in the order of .tables:
     * kino__analysis_table(result, i). */
    kino_status (*finish)(const kino__analysis *a, void *partial, kino_result *result,
                          kino_error *err);
    /* Saves and loads the partial: one function for both directions, see pack.h. */
    void (*pack)(kino__pack *pack, void *partial);
    /* Frees what the partial holds; must take a zeroed one. NULL: nothing. */
    void (*deinit)(void *partial);
};

#define ANALYSIS(name) extern const kino__analysis_def kino__analysis_##name;
#include "analysis/analyses.def"
#undef ANALYSIS

/* The n-th analysis, NULL at the end. */
const kino__analysis_def *kino__analysis_at(size_t index);
/* By name ('-' and '_' mean the same), or NULL. */
const kino__analysis_def *kino__analysis_find(kino_str name);

/* -- for the functions of an analysis -- */

/* Values of parameters by their place in .params. INT, BOOL, DURATION, TIME, BYTES: KINO_NO_INT
 * when there is none. */
int64_t kino__param_int(const kino__analysis *a, size_t param);
bool kino__param_bool(const kino__analysis *a, size_t param);
/* FLOAT, PERCENT: NaN when there is none. */
double kino__param_real(const kino__analysis *a, size_t param);
/* STRING: size 0 when there is none. */
kino_str kino__param_text(const kino__analysis *a, size_t param);

/* Was "compat" this name? */
bool kino__analysis_is_compat(const kino__analysis *a, const char *name);
/* Is the step of this number (KINO_NO_INT: no step) one that was asked for? */
bool kino__analysis_wants_step(const kino__analysis *a, int64_t number);

/* The table of this place in .tables; NULL (which the builder takes) when memory was out. */
kino__table *kino__analysis_table(const kino_result *result, size_t table);

/* -- for those who run analyses (engine) -- */

/* Parameters from text: defaults, then `given`, then the common ones ("compat", "steps") where the
 * definition has them. KINO_ARGUMENT with a message that says what would fit. Deinitialise also
 * after a failure. */
KINO_NODISCARD kino_status kino__analysis_init(kino__analysis *a, const kino__analysis_def *def,
                                               const kino_param *given, size_t count,
                                               kino_error *err);
void kino__analysis_deinit(kino__analysis *a);

/* All parameters of an analysis in SQL's order: the declared ones, then compat, then steps. False
 * at the end. */
bool kino__analysis_param(const kino__analysis_def *def, size_t index, kino_param_info *out);
/* The value that the n-th of them has now; texts live as long as the analysis. */
kino_cell kino__analysis_value(const kino__analysis *a, size_t index);
/* The names and values of all parameters that have one, as text; values are copied into the arena.
 * False: memory is out. */
typedef KINO__VEC(kino_param) kino__param_list;
bool kino__analysis_list_params(const kino__analysis *a, kino__arena *arena, kino__param_list *out);

/* A new, zeroed partial, and its end; NULL when memory is out. */
void *kino__partial_new(const kino__analysis *a);
void kino__partial_free(const kino__analysis *a, void *partial);

/* What partial results of an analysis with these parameters begin with. */
void kino__partial_head(const kino__analysis *a, kino__buffer *out);
/* A partial as bytes that another machine can merge: a head (analysis and parameters), then what
 * .pack says. Failure sticks in *out. */
void kino__partial_save(const kino__analysis *a, void *partial, kino__buffer *out);
/* A new partial from such bytes, which must outlive it. KINO_FORMAT: not of this analysis with
 * these parameters, or damaged. */
KINO_NODISCARD kino_status kino__partial_load(const kino__analysis *a, kino_str bytes, void **out,
                                              kino_error *err);

/* The same for the partial of one trace, in and from coordinates of its own: `trace` and `later_by`
 * are its number and the shift of its times in the run that it was mapped in, or is loaded into. */
void kino__partial_save_alone(const kino__analysis *a, void *partial, int64_t shift_ns,
                              kino__buffer *out);
KINO_NODISCARD kino_status kino__partial_load_alone(const kino__analysis *a, kino_str bytes,
                                                    uint32_t trace, int64_t shift_ns, void **out,
                                                    kino_error *err);

#endif
