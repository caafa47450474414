/* what_if_replay.h - runs the programs of all ranks against each other, with the times of an edit.
 *
 * The rules are those of a device: a launch reaches its stream a little later, streams work in
 * order and wait for others where the item says so, the host may be so many launches ahead, a
 * collective ends a transfer after the last rank has reached it. */
#ifndef KINO__ANALYSIS_WHAT_IF_REPLAY_H
#define KINO__ANALYSIS_WHAT_IF_REPLAY_H

#include "analysis/what_if/what_if_edits.h"

/* What decided the time, along the critical path from the end to the beginning. */
typedef enum kino__path_part {
    KINO__PART_KERNEL,
    KINO__PART_COPY,
    KINO__PART_COLLECTIVE, /* transfer */
    KINO__PART_LOADER,
    KINO__PART_HOST,  /* calls, and what the host does between them */
    KINO__PART_DELAY, /* from a launch to its work, between two of a stream */
    KINO__PARTS,
} kino__path_part;

const char *kino__path_part_name(kino__path_part part);

typedef struct kino__path_sum {
    kino__path_part part;
    uint32_t name; /* in the texts of the facts; KINO_NO_STRING: none */
    int64_t time;
} kino__path_sum;

typedef struct kino__replayed {
    int64_t span; /* from the first step to the end of the last, of the slowest rank */
    KINO__VEC(kino__path_sum) path; /* most time first */
    bool is_stuck;                  /* collectives wait for each other */
} kino__replayed;

/* Which collectives of different ranks are the same: made once, for all replays. */
typedef struct kino__replay {
    const kino__replay_facts *facts;
    uint32_t *first;   /* item of each rank; one more at the end */
    uint32_t *call_of; /* of each item: its collective, UINT32_MAX: none */
    uint32_t *members; /* of each collective */
    int64_t *transfer; /* of each item: the shortest duration of its collective, or its own */
    uint32_t call_count;
} kino__replay;

/* All false when memory is out; deinitialise in any case. */
KINO_NODISCARD bool kino__replay_init(kino__replay *replay, const kino__replay_facts *facts);
void kino__replay_deinit(kino__replay *replay);
/* With path only where it is asked for. */
KINO_NODISCARD bool kino__replay_run(const kino__replay *replay, const kino__edited *edited,
                                     bool has_path, kino__replayed *out);
void kino__replayed_deinit(kino__replayed *replayed);

#endif
