/* profile_backward.h - what the two halves of backward attribution share: profile_backward_match.c
 * finds which spans of the autograd engine answer which operators, profile_backward.c moves
 * them. */
#ifndef KINO__MODEL_PROFILE_BACKWARD_H
#define KINO__MODEL_PROFILE_BACKWARD_H

#include "model/profile/profile_internal.h"

typedef KINO__VEC(uint32_t) kino__indexes;

/* How far a group has come. */
enum {
    KINO__GROUP_ALONE,   /* no flow reaches it */
    KINO__GROUP_REACHED, /* one does */
    KINO__GROUP_WANTED,  /* ... which starts in a module */
    KINO__GROUP_STANDS,  /* below a backward node */
};

/* An operator that starts at this moment leads to this group. */
typedef struct kino__lead {
    int64_t forward;
    uint32_t order, group;
} kino__lead;
typedef KINO__VEC(kino__lead) kino__leads;

/* A node (KINO__NO_NODE: all spans of a group) that goes below a backward node. */
typedef struct kino__backward_move {
    uint32_t owner, node, group;
} kino__backward_move;
typedef KINO__VEC(kino__backward_move) kino__backward_moves;

typedef struct kino__moving {
    kino__profile *p;
    kino__indexes modules;      /* at the top of a thread or step */
    kino__indexes roots;        /* spans of the engine at the same places */
    uint32_t *group;            /* of each root: place of the first root of its group */
    bool *has_roots;            /* of each thread: are there roots in it? */
    uint8_t *state;             /* of each group, by the place of its first root */
    uint32_t *place;            /* of each node that is a root: its place in roots + 1; else 0 */
    kino__leads leads;          /* from starts of forward operators to groups, by start */
    size_t cursor;              /* in leads, where the last question was answered */
    kino__backward_moves moves; /* what goes below which backward node */
    uint32_t current;           /* the backward node that was made last */
    size_t node_count;          /* of nodes that come from the trace */
    kino__indexes made;         /* backward nodes in the order of their modules */
    kino__indexes tops;         /* those that have no parent */
    kino__indexes last_child;   /* of each node, while trees change */
} kino__moving;

static inline bool kino__indexes_add(kino__indexes *list, uint32_t value)
{
    uint32_t *slot = kino__vec_add(list);
    if (slot)
        *slot = value;
    return slot != NULL;
}

static inline bool kino__node_is_backward_root(const kino__profile *p, uint32_t node)
{
    kino_strid name = kino__node_name_id(p, &p->nodes.items[node]);
    return name != KINO_NO_STRING && p->name_flags[name] & KINO__NAME_BACKWARD_ROOT;
}

/* Fills modules and roots. */
bool kino__backward_collect(kino__moving *m);
/* Fills the rest down to leads: groups, and what leads to them. */
bool kino__backward_match(kino__moving *m);
/* The group that an operator leads to, KINO__NO_NODE: none. Questions come mostly in order of
 * time. */
uint32_t kino__backward_group(kino__moving *m, const kino__node *n);

#endif
