/* memory_snapshot_internal.h - the parts of the reader of PyTorch's memory snapshots.
 *
 *   pickle ─► memory_snapshot_take: every entry of the history and every frame leaves the tree of
 *      │      values as soon as it is read, 48 bytes an entry, each distinct stack once
 *      └────► what is left (segments, blocks, settings) and the entries' lists
 *                 │
 *             memory_snapshot_events: events with running totals ─► memory_snapshot: the trace
 *
 * JSON gives the same entries from its complete tree. */
#ifndef KINO__READER_MEMORY_SNAPSHOT_INTERNAL_H
#define KINO__READER_MEMORY_SNAPSHOT_INTERNAL_H

#include "reader/document.h"
#include "store/event_args.h"
#include "store/event_builder.h"
#include "store/stack_table.h"

typedef enum kino__snapshot_action {
#define ACTION(name, text, active, reserved) KINO__SNAPSHOT_##name,
#include "names/allocator_actions.def"
#undef ACTION
    KINO__SNAPSHOT_OTHER, /* action is this + the number of its text */
} kino__snapshot_action;

/* One entry of the history. */
typedef struct kino__snapshot_entry {
    int64_t addr, size; /* KINO_NO_INT: none */
    int64_t time_us;    /* KINO_NO_INT: none */
    int64_t stream;     /* KINO_NO_INT: none */
    uint32_t stack;     /* node, 0: none */
    uint32_t extra;     /* kino__snapshot_extras, 0: none */
    uint32_t action;
    uint32_t list; /* + 1: which list of the snapshot it is in; 0: none */
} kino__snapshot_entry;

/* An argument that most entries do not have, or have alike. */
typedef struct kino__snapshot_extra {
    kino_strid key;
    kino__arg_type type;
    uint64_t value;
} kino__snapshot_extra;

typedef KINO__VEC(kino__snapshot_extra) kino__snapshot_extras;

/* Items that are kept once for all who have them: first and count in an array. */
typedef struct kino__snapshot_run {
    uint32_t first, count;
} kino__snapshot_run;

enum { KINO__SNAPSHOT_KEYS_MOST = 24 };

/* What a key of an entry or frame is: the texts of keys are shared, so their numbers tell. */
typedef struct kino__snapshot_layout {
    kino__value keys[KINO__SNAPSHOT_KEYS_MOST];
    uint8_t fields[KINO__SNAPSHOT_KEYS_MOST];
} kino__snapshot_layout;

typedef struct kino__snapshot {
    kino__document document;
    kino__ledger *ledger;
    kino__progress *progress;
    kino__event_builder events;
    kino__event_args args;
    kino__buffer scratch;

    KINO__VEC(kino__snapshot_entry) entries;
    kino__stack_builder stacks;
    KINO__VEC(kino__snapshot_run) stack_lists; /* .first: the node, .count: how many frames */
    kino__map stack_of_hash;                   /* of a list of frames -> stack_lists */
    KINO__VEC(uint32_t) frames;                /* scratch */
    kino__map frame_of_value, text_of_value;
    kino__snapshot_extras extras, extra_scratch;
    KINO__VEC(kino__snapshot_run) extra_lists; /* number n at n - 1 */
    kino__map extra_of_hash;
    kino__snapshot_layout layout;
    kino__value action_values[KINO__SNAPSHOT_OTHER];
    uint32_t last_extra; /* most entries have the same */
    kino__map seen;      /* value -> the last pass over the document in which it was seen */
    uint32_t pass;

    bool has_times;
    int64_t first_ns, last_ns; /* of entries and annotations */
    bool failed;               /* memory is out */
} kino__snapshot;

/* -- memory_snapshot_take.c -- */

void kino__snapshot_init(kino__snapshot *s);
void kino__snapshot_deinit(kino__snapshot *s);

/* For kino__pickle_visitor: takes entries and frames. */
bool kino__snapshot_take(void *snapshot, kino__value_tree *tree, const kino__value *items,
                         size_t count, int64_t *number);
/* The entry of a value of a history's list; NULL: it is none. */
kino__snapshot_entry *kino__snapshot_entry_of(kino__snapshot *s, kino__value value);
/* The node of a list of frames, which stands for the list from then on; 0: there are none. */
uint32_t kino__snapshot_stack_of(kino__snapshot *s, kino__value list);
/* The number of a value's text among the events' texts. */
kino_strid kino__snapshot_text_of(kino__snapshot *s, kino__value value);
/* A value as JSON, in scratch: containers within containers, at most. */
void kino__snapshot_json_of(kino__snapshot *s, kino__value value);

/* -- memory_snapshot_events.c -- */

/* Events of all that the document has; fails only for want of memory. */
void kino__snapshot_add_events(kino__snapshot *s);

#endif
