/* gap_times.h - idle time of the device, in gaps of a certain length, and what the host did
 * meanwhile. */
#ifndef KINO__RULE_GAP_TIMES_H
#define KINO__RULE_GAP_TIMES_H

#include "rule/rule.h"

/* Who was at work; of several the first one counts. */
typedef enum kino__gap_cause {
    KINO__GAP_LOADER,
    KINO__GAP_QUEUED,    /* nobody: work was launched, and the device did not start it */
    KINO__GAP_BLOCKED,   /* in a call that waits for the device */
    KINO__GAP_CALLS,     /* in other calls of the runtime or driver: launches, allocations */
    KINO__GAP_OPERATORS, /* in operators and annotations */
    KINO__GAP_PYTHON,    /* in none of these; where Python functions were recorded: in Python */
    KINO__GAP_CAUSE_COUNT,
} kino__gap_cause;

typedef struct kino__gap_times {
    uint64_t count;
    int64_t time; /* of all: the sum of the parts */
    int64_t part[KINO__GAP_CAUSE_COUNT];
    kino__interval longest;
} kino__gap_times;

/* Gaps of at least `shortest` and less than `longest` ns; false when memory is out. `kept`, or
 * NULL: emptied, then filled with what of them is left without the causes before `from`. */
bool kino__gaps_find(const kino__scan *scan, int64_t shortest, int64_t longest,
                     kino__gap_cause from, kino__gap_times *out, kino__intervals *kept);

/* "62 % operators, 30 % data loader": the parts from 5 % on. */
const char *kino__gaps_say(const kino__scan *scan, const kino__gap_times *gaps, char *text,
                           size_t size);

#endif
