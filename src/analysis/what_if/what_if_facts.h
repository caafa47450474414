/* what_if_facts.h - what a rank did, as a program that can be run again with other durations.
 *
 *   host     |gap|launch|gap|launch|gap|sync.............|      items, in the order of the host
 *   stream 7      |-kernel-|  |-kernel-|
 *   stream 20            |== collective ==|                     matched with those of other ranks
 *
 * An item is a call of the host: what the host does before it (gap), how long it takes without
 * waiting (call), and the device work that it launches, with the streams that this waits for.
 * Threads of the host take turns, as main and autograd thread do: they are one sequence. */
#ifndef KINO__ANALYSIS_WHAT_IF_FACTS_H
#define KINO__ANALYSIS_WHAT_IF_FACTS_H

#include "analysis/analysis.h"

typedef enum kino__replay_type {
    KINO__REPLAY_LAUNCH,
    KINO__REPLAY_SYNC,   /* the host waits for streams */
    KINO__REPLAY_LOADER, /* the host waits for a batch */
    KINO__REPLAY_CALL,   /* any other */
    KINO__REPLAY_STEP,   /* a step begins */
    KINO__REPLAY_END,    /* the last step ends */
    KINO__REPLAY_TYPES,
} kino__replay_type;

enum { KINO__REPLAY_STREAMS = 32, KINO__REPLAY_MOST_ITEMS = 4000000 };

typedef struct kino__replay_item {
    uint32_t type, stream; /* kino__replay_type; index of a stream */
    uint32_t name;         /* of the device work, the loader or the call; KINO_NO_STRING: none */
    uint32_t kind;         /* of a collective; KINO_NO_STRING: it is none */
    uint32_t waits;        /* streams, a bit each: that the work, or the host, waits for */
    bool blocks;           /* the call is over when its work is */
    bool is_copy;
    int64_t series;            /* of a collective, as in collective_match.h */
    int64_t gap, in_operators; /* before the call; the part of it that operators have */
    int64_t call;
    int64_t device; /* duration of the work */
} kino__replay_item;

typedef struct kino__replay_rank {
    int64_t rank;
    uint32_t item_count;
    int64_t skipped;             /* first steps, that do not count */
    int64_t steps, span;         /* the others, and how long they take */
    int64_t latency, stream_gap; /* from the middle of a call to its work; between two */
    int64_t queue;               /* launches that the host may be ahead; KINO_NO_INT: not known */
    uint32_t reason;             /* kino__replay_reason */
} kino__replay_rank;

typedef struct kino__replay_facts {
    kino__string_pool texts;
    KINO__VEC(kino__replay_rank) ranks;
    KINO__VEC(kino__replay_item) items; /* rank by rank */
} kino__replay_facts;

/* Why a rank cannot be run again, by number; NULL: it can. */
const char *kino__replay_reason(uint32_t number);

/* False when memory is out. */
KINO_NODISCARD bool kino__replay_facts_add(kino__replay_facts *facts, const kino__analysis *a,
                                           const kino__trace *trace);
KINO_NODISCARD bool kino__replay_facts_merge(kino__replay_facts *into,
                                             const kino__replay_facts *from);
void kino__replay_facts_pack(kino__pack *pack, kino__replay_facts *facts);
void kino__replay_facts_deinit(kino__replay_facts *facts);

#endif
