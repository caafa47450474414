/* profile_internal.h - the stages by which a profile is made; each in its own file. */
#ifndef KINO__MODEL_PROFILE_INTERNAL_H
#define KINO__MODEL_PROFILE_INTERNAL_H

#include "model/profile/profile.h"

/* All return false when memory is out. */

/* profile_types.c: name_flags, type, first_ts and the flags of what there is. */
bool kino__profile_find_types(kino__profile *p);
/* profile_tree.c: threads and nodes; then launches, work, stale kernels, and the sums. */
bool kino__profile_nest(kino__profile *p);
bool kino__profile_grow_trees(kino__profile *p);
/* profile_attach.c: launches of the nodes, before equal nodes are folded. */
bool kino__profile_attach(kino__profile *p);
/* profile_backward.c: backward passes of modules as nodes of the main thread. */
bool kino__profile_add_backward(kino__profile *p);
/* profile_kernels.c: kernels without their arguments; their nodes, once trees have grown. */
bool kino__profile_list_kernels(kino__profile *p);
bool kino__profile_name_nodes(kino__profile *p);
/* Their arguments, block by block, by any worker in [0, jobs). */
typedef struct kino__kernel_reader kino__kernel_reader;
kino__kernel_reader *kino__kernel_reader_new(kino__profile *p, unsigned jobs);
size_t kino__kernel_reader_blocks(const kino__kernel_reader *reader);
void kino__kernel_reader_read(kino__kernel_reader *reader, unsigned worker, size_t block);
bool kino__kernel_reader_finish(kino__kernel_reader *reader);
void kino__kernel_reader_free(kino__kernel_reader *reader);
/* profile_comm.c: collectives and their ranges. */
bool kino__profile_find_comm(kino__profile *p);
/* A span of the host that is a collective. */
bool kino__profile_is_collective(const kino__profile *p, uint32_t row);
/* profile_steps.c: ranges of the roles, steps, breakdown. */
bool kino__profile_find_steps(kino__profile *p);
/* profile_metrics.c: numbers of each device, tensor core ratios. */
bool kino__profile_measure(kino__profile *p);

/* profile_sort.c: by start, keeping the order of equals; linear when the list is made of a few
 * sorted runs, as lists of several tracks are. False when memory is out. */
bool kino__sort_runs(kino__interval *items, size_t count);

/* profile_ids.c: from ids (external ids, flow ids) to 32-bit values. Ids that are counted up, as
 * all profilers do, are places of an array; others go to a hash map. */
typedef struct kino__ids {
    uint32_t *direct; /* value + 1; 0: none */
    uint64_t direct_count;
    kino__map rest;
} kino__ids;

/* For about `count` ids, most of them up to `largest`. False when memory is out. */
bool kino__ids_init(kino__ids *ids, uint64_t largest, size_t count);
void kino__ids_deinit(kino__ids *ids);
/* The value of an id, KINO__NO_NODE: none. */
static inline uint32_t kino__ids_get(const kino__ids *ids, uint64_t id)
{
    if (id < ids->direct_count)
        return ids->direct[id] - 1;
    const uint32_t *value = ids->rest.count ? kino__map_get(&ids->rest, id) : NULL;
    return value ? *value : KINO__NO_NODE;
}
bool kino__ids_set(kino__ids *ids, uint64_t id, uint32_t value);

static inline int64_t kino__row_end(const kino__trace *trace, uint32_t row)
{
    return kino__interval_of(trace->ts[row], trace->dur[row]).end;
}

enum {
    KINO__DEVICE_TYPES =
        1 << KINO__EVENT_TYPE_KERNEL | 1 << KINO__EVENT_TYPE_MEMCPY | 1 << KINO__EVENT_TYPE_MEMSET,
    KINO__NODE_TYPES = 1 << KINO__EVENT_TYPE_OPERATOR | 1 << KINO__EVENT_TYPE_PYTHON |
                       1 << KINO__EVENT_TYPE_MODULE | 1 << KINO__EVENT_TYPE_STEP |
                       1 << KINO__EVENT_TYPE_PL_MODULE | 1 << KINO__EVENT_TYPE_ANNOTATION,
};

/* What the name of a row says. */
static inline uint32_t kino__profile_flags(const kino__profile *p, uint32_t row)
{
    kino_strid name = p->trace->name[row];
    return name == KINO_NO_STRING ? 0 : p->name_flags[name];
}

static inline bool kino__type_is_device(uint8_t type)
{
    return type == KINO__EVENT_TYPE_KERNEL || type == KINO__EVENT_TYPE_MEMCPY ||
           type == KINO__EVENT_TYPE_MEMSET;
}

/* A child at the end of its parent's list. */
void kino__node_append(kino__profile *p, uint32_t parent, uint32_t child);

#endif
