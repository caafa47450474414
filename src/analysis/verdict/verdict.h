/* verdict.h - which ranks keep the others waiting, and why: decided here, for every page.
 *
 * A rank's own time in a step is the step without its exposed communication: who finishes early
 * spends the difference waiting. Its excess is its own time less the median of its peers, the other
 * ranks that do the same work (of a pipeline: of the same stage). A straggler is a rank
 *   - whose excess is above a share of the step (half of it where the peers are alike), in the
 *     median of the steps that the peers have in common (without those that are long for all), shows
 *     in nearly all of them, and is more than the peers change from step to step (who is last by
 *     chance changes; verdict_chance.h) and differ among themselves,
 *   - and for which the others wait: their exposed communication is longer than its own by about
 *     the excess.
 * Durations alone are compared, never clocks. docs/analyses/stragglers.md has the definition.
 *
 *   map:     kino__verdict_add(&facts, profile)       a few integers per step
 *   merge:   kino__verdict_merge(&facts, &others)
 *   finish:  kino__verdict v; kino__verdict_judge(&facts, 0, &v) ... kino__verdict_deinit(&v) */
#ifndef KINO__ANALYSIS_VERDICT_H
#define KINO__ANALYSIS_VERDICT_H

#include "analysis/analysis.h"
#include "model/profile/profile.h"

/* What a slow rank spends its time with. */
typedef enum kino__slow_cause {
    KINO__SLOW_KERNELS,
    KINO__SLOW_LOADER,
    KINO__SLOW_COPIES,
    KINO__SLOW_HOST, /* operators, Python, calls of the runtime */
    KINO__SLOW_CAUSES,
} kino__slow_cause;

const char *kino__slow_cause_name(kino__slow_cause cause); /* "kernels", "data loader", ... */

typedef struct kino__verdict_step {
    int64_t number;
    int64_t total, exposed; /* exposed: communication that nothing covers */
    bool is_host_bound;     /* ... and it costs nothing: the host sets the pace */
    int64_t part[KINO__SLOW_CAUSES];
} kino__verdict_step;

/* What a span is in which a slow rank spends its time. */
typedef enum kino__place_kind {
    KINO__PLACE_NONE,
    KINO__PLACE_KERNEL,
    KINO__PLACE_LOADER,
    KINO__PLACE_COPY,
    KINO__PLACE_OPERATOR,
    KINO__PLACE_PYTHON,
    KINO__PLACE_COLLECTION, /* of garbage */
    KINO__PLACE_CALL,       /* of the runtime */
    KINO__PLACE_PREEMPTED,  /* others had the processor, samples say */
    KINO__PLACE_UNRECORDED, /* no span has the time */
    KINO__PLACES,
} kino__place_kind;

const char *kino__place_kind_name(kino__place_kind kind); /* "kernel", "data loader", ... */

/* Where a rank's own time goes (verdict_places.h): texts are numbers of the facts' pool. */
typedef struct kino__verdict_place {
    kino_strid name, shape;
    uint8_t kind, cause;
    int64_t time;           /* per step: median over the steps */
    int64_t calls;          /* in all steps */
    int64_t offset;         /* of its first one, from the beginning of a step: the least */
    int64_t event, longest; /* the longest one, and its time */
} kino__verdict_place;

typedef struct kino__verdict_rank {
    int64_t rank, trace; /* KINO_NO_INT: unknown; index in the run */
    int64_t first_step;  /* id of the first step's event, KINO_NO_INT: none */
    int64_t world_size;
    int64_t communication;            /* sum over the steps */
    uint32_t step_count;              /* in steps; lists of ranks stand one behind the other */
    uint32_t group_count;             /* in groups */
    uint32_t place_count;             /* in places */
    bool has_steps, has_peer_to_peer; /* step events; sends or receives */
    int64_t self, source; /* of the first send or receive: its own number, and where it receives
                             from; KINO_NO_INT: unknown, or it sends */
} kino__verdict_rank;

typedef struct kino__verdict_facts {
    kino__string_pool texts;
    KINO__VEC(kino__verdict_rank) ranks;
    KINO__VEC(kino__verdict_step) steps;
    KINO__VEC(kino_strid) groups; /* process groups with collectives, of ranks with sends */
    KINO__VEC(kino__verdict_place) places;
} kino__verdict_facts;

/* Marks steps whose pace the host sets: verdict_host.c, for kino__verdict_add. False when memory is
 * out. */
bool kino__verdict_find_hosts(const kino__profile *profile, kino__verdict_step *steps);

typedef struct kino__slow_rank kino__slow_rank;
/* Finds the span of an accused rank: verdict_span.c. `peers` are ranks of the facts that are not
 * accused. False when memory is out. */
bool kino__verdict_find_span(const kino__verdict_facts *facts, const uint32_t *peers, size_t count,
                             uint32_t rank, kino__slow_rank *slow);

/* False when memory is out. */
bool kino__verdict_add(kino__verdict_facts *facts, const kino__profile *profile);
bool kino__verdict_merge(kino__verdict_facts *into, const kino__verdict_facts *from);
void kino__verdict_pack(kino__pack *pack, kino__verdict_facts *facts);
void kino__verdict_facts_deinit(kino__verdict_facts *facts);

/* All times are per step: medians over the steps. */
struct kino__slow_rank {
    int64_t rank, trace, first_step;
    int64_t excess; /* own time less the peers' median of it: the median step */
    kino__slow_cause cause;
    int64_t more; /* of the excess: the part that is the cause */
    /* the first span of the step that differs from those of the peers, and what it is */
    kino__place_kind what;
    kino_str span;       /* a text of the facts; size 0: unknown */
    int64_t span_more;   /* per step, more than on its peers; KINO_NO_INT: unknown */
    int64_t event;       /* the longest of them, KINO_NO_INT: none */
    bool is_same_shape;  /* kernels: the peers run it, too, with the same grid and as often */
    uint32_t slow_steps; /* in which the excess shows */
    uint32_t steps;      /* that were compared */
    uint32_t unusual;    /* steps that were not: they are long for all */
};

typedef struct kino__verdict {
    KINO__VEC(kino__slow_rank) slow; /* in rank order */
    size_t slowest;                  /* the one with the largest excess */
    int64_t waiting;                 /* of the others for it, mean of them */
    int64_t lead;                    /* its own time less the largest of the others', medians */
    int64_t step_time;               /* mean of all ranks */
    const char *reason;              /* why nobody could be judged; NULL: judged */
} kino__verdict;

#define KINO__VERDICT_SHARE 0.05 /* of the step */

/* share 0: KINO__VERDICT_SHARE. False when memory is out; deinitialise in any case. */
bool kino__verdict_judge(const kino__verdict_facts *facts, double share, kino__verdict *out);
void kino__verdict_deinit(kino__verdict *verdict);

/* "its kernels take 12.3 ms more per step than ...", of the slowest also how long the others wait:
 * the words of the finding, of the headline and of the note. */
void kino__verdict_say(const kino__verdict *verdict, size_t i, kino__buffer *out);

/* "rank 2 is the slowest: its kernels take 12.3 ms more per step than ...", as a note under a
 * result; nothing where there is no straggler. */
void kino__verdict_note(const kino__verdict *verdict, kino_result *result);
/* Judges, and says that. False when memory is out. */
bool kino__verdict_add_note(const kino__verdict_facts *facts, kino_result *result);

#endif
