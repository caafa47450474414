/* completeness_internal.h - what the files of the completeness analysis share. */
#ifndef KINO__ANALYSIS_COMPLETENESS_INTERNAL_H
#define KINO__ANALYSIS_COMPLETENESS_INTERNAL_H

#include "analysis/analysis.h"

typedef enum kino__finding_id {
#define FINDING(name, kind, severity, meaning) KINO__FINDING_##name,
#include "analysis/completeness/completeness.def"
#undef FINDING
    KINO__FINDING_COUNT,
} kino__finding_id;

/* Why a check could not be made: what the trace lacks. */
#define KINO__REASON_MAP(X)                                                                        \
    X(NONE, "")                                                                                    \
    X(DEVICE, "no device activity")                                                                \
    X(LAUNCHES, "no launch calls")                                                                 \
    X(PAIRS, "no device activity with a known launch")                                             \
    X(EXTERNAL, "no External ids")                                                                 \
    X(OPS, "no ops")                                                                               \
    X(FLOWS, "no flow events")                                                                     \
    X(SPANS, "no spans")                                                                           \
    X(HOST, "no spans on host threads")                                                            \
    X(PAIR_EVENTS, "no B or E events")                                                             \
    X(WINDOW, "the trace does not contain its recording window")                                   \
    X(LOG, "the profiler wrote no log into the trace")                                             \
    X(COUNTS, "the profiler wrote no record counts into the trace")                                \
    X(DROPPED, "the profiler wrote no counter of dropped events into the trace")                   \
    X(COLLECTIVES, "no collectives")                                                               \
    X(KERNELS, "no kernels")                                                                       \
    X(WORLD, "no world_size")                                                                      \
    X(RANKS, "no ranks")

typedef enum kino__reason {
#define KINO__REASON_ENUM(name, text) KINO__REASON_##name,
    KINO__REASON_MAP(KINO__REASON_ENUM)
#undef KINO__REASON_ENUM
        KINO__REASON_COUNT,
} kino__reason;

enum { KINO__FINDING_PLACES = KINO__LEDGER_PLACES };

/* What one check found in one trace. */
typedef struct kino__check_finding {
    int64_t count;   /* KINO_NO_INT: not checked, and why */
    int64_t of;      /* how many were looked at; KINO_NO_INT: no such number */
    uint32_t reason; /* kino__reason */
    uint32_t place_count;
    int64_t places[KINO__FINDING_PLACES]; /* ids of events, earliest first */
    int64_t times[KINO__FINDING_PLACES];  /* of these, while they are gathered */
} kino__check_finding;

/* What one trace gives. */
typedef struct kino__trace_check {
    int64_t trace, rank, world_size;
    kino__ledger ledger;
    kino__check_finding findings[KINO__FINDING_COUNT];
} kino__trace_check;

/* What kino's recorder lost, for one reason. */
typedef struct kino__loss {
    int64_t trace, rank;
    int64_t tid; /* KINO_NO_INT: of all threads */
    int64_t count;
    uint32_t reason;
} kino__loss;
typedef KINO__VEC(kino__loss) kino__losses;

/* completeness_loss.c: what the trace says of it; false: memory is out. */
bool kino__completeness_losses(const kino__trace *trace, kino__losses *out);
/* The same into the findings, behind check of the profiler's own counts. */
void kino__completeness_recorder(const kino__trace *trace, kino__check_finding *findings);
/* The table of them. NULL: it is not wanted. */
extern const kino_column kino__loss_columns[];
void kino__losses_fill(kino__table *table, const kino__losses *losses, bool is_one_trace);

/* All checks of one trace. */
KINO_NODISCARD kino_status kino__completeness_scan(const kino__trace *trace, kino__trace_check *out,
                                                   kino_error *err);

#endif
