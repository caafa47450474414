/* profile_internal.h - the stages by which a profile is made; each in its own file. */
#ifndef KINO__MODEL_PROFILE_INTERNAL_H
#define KINO__MODEL_PROFILE_INTERNAL_H

#include "model/profile/profile.h"
#include "model/profile/profile_ids.h"

/* All return false when memory is out. */

/* profile_types.c: name_flags, type, first_ts and the flags of what there is. */
bool kino__profile_find_types(kino__profile *p);
/* profile_tree.c: threads and nodes; then launches, work, stale kernels, and the sums. */
bool kino__profile_nest(kino__profile *p);
bool kino__profile_grow_trees(kino__profile *p);
/* profile_attach.c: launches of the nodes, before equal nodes are folded. */
bool kino__profile_attach(kino__profile *p);
/* profile_backward.c: backward passes of modules as nodes of the main thread. last: the trace, whose
 * column bind may go when it has been used; NULL: it stays. */
bool kino__profile_add_backward(kino__profile *p, kino__trace *last);
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
/* Of such a span: is it the collective itself, not the call that puts its kernel on a device? */
bool kino__profile_is_on_host(const kino__profile *p, uint32_t row);
/* profile_thread.c: when a thread with collectives is at work in its operators; appended, in order.
 * False when memory is out. */
bool kino__profile_thread_work(const kino__profile *p, const kino__track *track,
                               kino__intervals *work);
/* profile_steps.c: steps; then, without any link, ranges of the roles and breakdown. */
bool kino__profile_find_steps(kino__profile *p);
bool kino__profile_break_down(kino__profile *p);
/* profile_metrics.c: numbers of each device, tensor core ratios. */
bool kino__profile_measure(kino__profile *p);

/* profile_sort.c: by start, keeping the order of equals; linear when the list is made of a few
 * sorted runs, as lists of several tracks are. False when memory is out. */
bool kino__sort_runs(kino__interval *items, size_t count);

enum {
    KINO__DEVICE_TYPES =
        1 << KINO__EVENT_TYPE_KERNEL | 1 << KINO__EVENT_TYPE_MEMCPY | 1 << KINO__EVENT_TYPE_MEMSET,
    KINO__NODE_TYPES = 1 << KINO__EVENT_TYPE_OPERATOR | 1 << KINO__EVENT_TYPE_PYTHON |
                       1 << KINO__EVENT_TYPE_MODULE | 1 << KINO__EVENT_TYPE_STEP |
                       1 << KINO__EVENT_TYPE_PL_MODULE | 1 << KINO__EVENT_TYPE_ANNOTATION,
};

static inline bool kino__type_is_device(uint8_t type)
{
    return type == KINO__EVENT_TYPE_KERNEL || type == KINO__EVENT_TYPE_MEMCPY ||
           type == KINO__EVENT_TYPE_MEMSET;
}

/* profile_node.c: a node that stands for no row. */
uint32_t kino__node_make(kino__profile *p, kino__node node, const kino__node_extra *extra);
bool kino__node_set_sums(kino__profile *p, uint32_t node, const kino__node_sums *sums);
/* Fills node_rows, once all rows have their nodes. */
bool kino__profile_index_nodes(kino__profile *p);
/* The order of a thread's rows (uint32_t, context: the trace): by start, longer first, then as in
 * the file. */
int kino__compare_node_rows(const void *a, const void *b, void *trace);

#endif
