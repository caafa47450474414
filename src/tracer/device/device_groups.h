/* device_groups.h - the process groups of collectives, for `distributedInfo`.
 *
 * An operator "record_param_comms" says which group it is about; when a kernel of it comes, the
 * group is one of the trace. The first whose description is "default_pg" has the process's rank and
 * the world's size. Without one the trace says what the environment says (own_process.h). As in
 * Kineto when it is told from outside to record. */
#ifndef KINO__TRACER_DEVICE_GROUPS_H
#define KINO__TRACER_DEVICE_GROUPS_H

#include <pthread.h>

#include <kino/device.h>
#include <kino/record_function.h>

#include "tracer/own_process.h"

enum {
    KINO__GROUPS = 512,
    KINO__GROUP_NOTES = 1 << 10, /* operators that are remembered: work comes soon */
};

typedef struct kino__group {
    char *name, *description, *ranks; /* the last two: NULL when not said */
    int64_t size, rank;               /* -1: not said */
    bool is_hccl;                     /* by its first kernel */
    bool has_work;
} kino__group;

typedef struct kino__groups {
    pthread_mutex_t lock; /* of the following; taken last */
    kino__group items[KINO__GROUPS];
    uint32_t count;
    uint32_t worked[KINO__GROUPS]; /* those that have work, in the order of their first */
    uint32_t worked_count;
    struct {
        uint64_t id;    /* atomic: of the operator, its "External id" */
        uint32_t group; /* number in items */
    } notes[KINO__GROUP_NOTES];
    kino__process_place place; /* by the environment */
    bool is_told;              /* the value of the metadata comes from here */
} kino__groups;

/* A session begins: what was noted is forgotten. */
void kino__groups_reset(kino__groups *groups);
/* An operator that has just begun; others than those of collectives are ignored. Any thread. */
void kino__groups_note(kino__groups *groups, const kino_record_function *fn, uint64_t external);
/* A kernel of the operator. Hot, any thread. */
void kino__groups_work(kino__groups *groups, uint32_t kind, uint64_t external);
/* Sets `distributedInfo` to what is known by now, unless somebody set it. */
void kino__groups_tell(kino__groups *groups, kino__texts *texts);

#endif
