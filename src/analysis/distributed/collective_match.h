/* collective_match.h - which calls of collectives on different workers are the same call: one rule
 * for collectives and distributed. */
#ifndef KINO__ANALYSIS_DISTRIBUTED_COLLECTIVE_MATCH_H
#define KINO__ANALYSIS_DISTRIBUTED_COLLECTIVE_MATCH_H

#include "analysis/analysis.h"

typedef struct kino__match_entry {
    uint32_t worker;
    uint32_t kind;  /* operation and process group */
    int64_t series; /* step or sequence number, KINO_NO_INT: not known */
} kino__match_entry;

/* The number of each entry's call, from 0 in order of first appearance; entries stand by worker,
 * then time. The caller frees it; NULL when memory is out. */
uint32_t *kino__match_calls(const kino__match_entry *entries, size_t count);

#endif
