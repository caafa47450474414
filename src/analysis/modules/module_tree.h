/* module_tree.h - modules as a tree with the numbers of their calls: what modules and lightning
 * have in common.
 *
 *   kino__module_tree tree = {.profile = profile};
 *   uint32_t net = kino__module_tree_add(&tree, KINO__NO_NODE, name, id);
 *   kino__module_sums_add(&tree.places.items[net].sums, profile, node);      a call of it
 *   kino__module_tree_emit(&tree, &partial);                   rows, parents before children
 *   kino__module_tree_deinit(&tree); */
#ifndef KINO__ANALYSIS_MODULE_TREE_H
#define KINO__ANALYSIS_MODULE_TREE_H

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "model/profile/profile.h"

/* Sums over the calls of a module; ns. */
typedef struct kino__module_sums {
    int64_t calls;
    int64_t operators; /* that are direct children */
    int64_t host, self_host, device, self_device;
} kino__module_sums;

/* -- the tree of one trace */

typedef struct kino__module_place {
    uint32_t parent, first_child, last_child, next_sibling; /* KINO__NO_NODE: none */
    kino_str name;
    int64_t module_id;
    kino__module_sums sums;
} kino__module_place;

typedef struct kino__module_tree {
    const kino__profile *profile;
    KINO__VEC(kino__module_place) places;
} kino__module_tree;

/* A new place, the last child of its parent; KINO__NO_NODE when memory is out. The name must
 * outlive the partial. */
uint32_t kino__module_tree_add(kino__module_tree *tree, uint32_t parent, kino_str name,
                               int64_t module_id);
/* Hangs a place that has no parent below one. */
void kino__module_tree_hang(kino__module_tree *tree, uint32_t parent, uint32_t place);
void kino__module_tree_deinit(kino__module_tree *tree);

/* Adds what a node of the profile (a call of a module) has. */
void kino__module_sums_add(kino__module_sums *sums, const kino__profile *profile, uint32_t node);

/* -- rows of a run */

typedef struct kino__module_row {
    int64_t rank;
    uint32_t id;     /* from 0 in each trace */
    uint32_t parent; /* its id, KINO__NO_NODE: none */
    uint32_t depth;
    kino_strid name; /* in kino__module_partial.texts */
    int64_t module_id;
    kino__module_sums sums;
} kino__module_row;

typedef struct kino__module_partial {
    kino__string_pool texts;
    KINO__VEC(kino__module_row) rows;
} kino__module_partial;

/* The tree as rows, each behind its parent; roots by name, children in order of first call. False
 * when memory is out. */
bool kino__module_tree_emit(const kino__module_tree *tree, kino__module_partial *partial);

bool kino__module_partial_merge(kino__module_partial *into, const kino__module_partial *from);
void kino__module_partial_pack(kino__pack *pack, kino__module_partial *partial);
void kino__module_partial_deinit(kino__module_partial *partial);
/* Rows of a table whose columns are KINO__MODULE_COLUMNS. */
void kino__module_partial_tell(const kino__module_partial *partial, kino__table *table);

#define KINO__MODULE_COLUMNS                                                                       \
    [KINO__MODULES_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},                                    \
    [KINO__MODULES_ID] = {"id", KINO_TYPE_INT, NULL, "id of the place in the tree"},               \
    [KINO__MODULES_PARENT] = {"parent", KINO_TYPE_INT, NULL, "id of the parent; null at the top"}, \
    [KINO__MODULES_DEPTH] = {"depth", KINO_TYPE_INT, NULL, "0 at the top"},                        \
    [KINO__MODULES_NAME] = {"name", KINO_TYPE_STRING, NULL, NULL},                                 \
    [KINO__MODULES_MODULE] = {"module_id", KINO_TYPE_INT, NULL, "number of the module object"},    \
    [KINO__MODULES_CALLS] = {"occurrences", KINO_TYPE_INT, "count", "calls"},                      \
    [KINO__MODULES_OPERATORS] = {"operators", KINO_TYPE_INT, "count",                              \
                                 "operators called directly, over all calls"},                     \
    [KINO__MODULES_HOST] = {"host_duration", KINO_TYPE_DURATION, NULL, "total of all calls"},      \
    [KINO__MODULES_SELF_HOST] = {"self_host_duration", KINO_TYPE_DURATION, NULL,                   \
                                 "without child modules and launches"},                            \
    [KINO__MODULES_DEVICE] = {"device_duration", KINO_TYPE_DURATION, NULL,                         \
                              "device work launched below"},                                       \
    [KINO__MODULES_SELF_DEVICE] = {"self_device_duration", KINO_TYPE_DURATION, NULL,               \
                                   "part of it launched by operators called directly"},            \
    {"avg_duration", KINO_TYPE_DURATION, NULL, "device time per call; host time if that is 0"},    \
    {0},

#endif
