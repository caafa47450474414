/* hang_stalls.h - the collectives that hang, and who is to blame. */
#ifndef KINO__ANALYSIS_HANG_STALLS_H
#define KINO__ANALYSIS_HANG_STALLS_H

#include "analysis/hang/hang_facts.h"

typedef enum kino__stall_cause {
    KINO__STALL_MISSING,     /* somebody has not issued it */
    KINO__STALL_NO_DUMP,     /* somebody left no dump, and all others wait */
    KINO__STALL_MISMATCH,    /* they issued different operations */
    KINO__STALL_NOT_STARTED, /* all issued it, somebody's device has not come to it */
    KINO__STALL_STUCK,       /* all are in it: the network, or a device */
} kino__stall_cause;

typedef KINO__VEC(int64_t) kino__hang_ranks;

enum { KINO__NO_STALL = -1 };

typedef struct kino__stall {
    kino_strid group, operation, source;
    int64_t seq, from, to; /* from, to: of a send and its receive, ranks; KINO_NO_INT */
    int64_t since;         /* when the first rank issued it */
    kino__stall_cause cause;
    kino__hang_ranks culprits, waiting;
    int caused_by; /* the stall that the culprits wait in; KINO__NO_STALL */
    bool is_cycle; /* which leads back to this one */
} kino__stall;

typedef struct kino__stalls {
    KINO__VEC(kino__stall) items; /* causes first, then by time */
    uint64_t ahead; /* operations that some ranks have not issued, and the others have ended: dumps
                     * that were taken earlier */
} kino__stalls;

/* False when memory is out; deinit in any case. */
bool kino__stalls_find(const kino__hang_facts *facts, kino__stalls *out);
void kino__stalls_deinit(kino__stalls *stalls);

#endif
