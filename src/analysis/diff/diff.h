/* diff.h - two runs side by side: steps, operators, kernels, trees.
 *
 *   runs of the left side  --map, merge--> kino__diff_run each --+
 *                                                                +--> kino__diff --> tables, checks
 *   runs of the right side --map, merge--> kino__diff_run each --+
 *
 * kino__analysis_diff has no finish: whoever compares (report/run_diff.c) maps both sides and puts
 * them together. All values are for one step of one rank, so that runs of different length compare.
 * With several runs on a side its value is the median of theirs. */
#ifndef KINO__ANALYSIS_DIFF_H
#define KINO__ANALYSIS_DIFF_H

#include "analysis/analysis.h"
#include "model/profile/profile.h"

/* -- one run -- */

enum {
    KINO__DIFF_CALLS,
    KINO__DIFF_HOST,
    KINO__DIFF_DEVICE,
    KINO__DIFF_SELF_HOST,
    KINO__DIFF_SELF_DEVICE,
    KINO__DIFF_VALUES,
};

/* Sums over all steps and ranks; of a kernel CALLS and DEVICE. */
typedef struct kino__diff_sums {
    int64_t values[KINO__DIFF_VALUES];
} kino__diff_sums;

/* sums[i] belongs to names[i]. */
typedef struct kino__diff_list {
    kino__string_pool names;
    KINO__VEC(kino__diff_sums) sums;
} kino__diff_list;

typedef struct kino__diff_run {
    int64_t ranks, steps; /* steps: of all ranks */
    int64_t divisor;      /* of operators and kernels: steps, or 1 in compat mode */
    int64_t step_time;
    int64_t parts[KINO__ROLE_COUNT];
    kino__diff_list ops, kernels;
} kino__diff_run;

extern const kino__analysis_def kino__analysis_diff; /* its partial is a kino__diff_run */

/* The tables, in the order of kino__analysis_diff.tables. */
enum {
    KINO__DIFF_TABLE_STEPS,
    KINO__DIFF_TABLE_OPS,
    KINO__DIFF_TABLE_KERNELS,
    KINO__DIFF_TABLE_TREE,
    KINO__DIFF_TABLE_TREE_OPS,
    KINO__DIFF_TABLE_CHECKS,
};

/* -- both sides -- */

/* A number of both sides. */
typedef struct kino__diff_pair {
    double left, right;
    double left_spread, right_spread; /* largest - smallest of the side's runs; NaN: one run */
} kino__diff_pair;

/* right - left in percent of left; infinite when only right is there, NaN when both are 0. */
double kino__diff_percent(const kino__diff_pair *pair);

typedef struct kino__diff_item {
    kino_str name;
    kino__diff_pair values[KINO__DIFF_VALUES];
    bool is_left, is_right; /* some run of the side has it */
} kino__diff_item;

typedef struct kino__diff_items {
    KINO__VEC(kino__diff_item) items;
    kino__string_pool names;
} kino__diff_items;

typedef struct kino__diff {
    kino__diff_pair step_time; /* NaN on a side that has no steps */
    kino__diff_pair parts[KINO__ROLE_COUNT];
    kino__diff_items ops, kernels; /* largest change first */
    bool has_device;               /* some operator has device time: it counts, not the host's */
} kino__diff;

/* Runs must outlive it. False when memory is out; to be deinitialised in any case. */
bool kino__diff_init(kino__diff *diff, kino__diff_run *const *left, size_t left_count,
                     kino__diff_run *const *right, size_t right_count);
void kino__diff_deinit(kino__diff *diff);

/* Adds rows to the tables of steps, operators and kernels. */
void kino__diff_write(const kino__diff *diff, kino_result *result);

/* -- trees (diff_tree.c) -- */

/* Adds rows to the table of trees, and with `has_ops` to that of their operators. Compares all
 * threads, or in compat mode the first. False when memory is out. */
bool kino__diff_write_tree(const kino__profile *left, const kino__profile *right, bool has_ops,
                           kino_result *result);

/* Nodes of the trees that are compared: children of the steps, or of the roots; in default mode
 * only what starts in a step that is kept. False when memory is out. */
typedef KINO__VEC(uint32_t) kino__diff_nodes;
bool kino__diff_forest(const kino__profile *profile, kino__diff_nodes *out);

/* -- what must hold (diff_check.c) -- */

/* Reads expressions separated by commas ("step_time>5%,kernel>2%&>30us"); KINO_ARGUMENT and the
 * place when they make no sense. With a diff also adds a row for each that says something. */
KINO_NODISCARD kino_status kino__diff_check(kino_str expressions, const kino__diff *diff,
                                            kino__table *table, kino_error *err);

#endif
