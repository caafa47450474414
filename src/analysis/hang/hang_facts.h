/* hang_facts.h - what flight-recorder dumps say: which collectives each rank issued, and how far
 * each came. */
#ifndef KINO__ANALYSIS_HANG_FACTS_H
#define KINO__ANALYSIS_HANG_FACTS_H

#include "analysis/analysis.h"

typedef enum kino__hang_state {
    KINO__HANG_SCHEDULED, /* issued by the host */
    KINO__HANG_STARTED,   /* on the device */
    KINO__HANG_DONE,
} kino__hang_state;

typedef struct kino__hang_entry {
    int64_t rank, seq, created; /* created: ns since the origin of the run */
    int64_t from, to;           /* of sends and receives, ranks within the group; KINO_NO_INT */
    kino_strid group, operation, shape, source; /* texts; shape and source may be empty */
    uint32_t state;
} kino__hang_entry;

typedef struct kino__hang_rank {
    int64_t rank;
    int64_t first_record; /* above 0: the ring has lost older ones */
} kino__hang_rank;

typedef struct kino__hang_group {
    kino_strid name, description;
    uint32_t first, count; /* of members; 0: who is in it was not recorded */
} kino__hang_group;

typedef struct kino__hang_facts {
    kino__string_pool texts;
    KINO__VEC(kino__hang_entry) entries;
    KINO__VEC(kino__hang_rank) ranks;
    KINO__VEC(kino__hang_group) groups;
    KINO__VEC(int64_t) members; /* ranks */
    int64_t dumps;              /* traces that are dumps */
    int64_t unnamed;            /* of these, without a rank in the name of the file */
    int64_t repeated;           /* of a rank that another dump is of */
} kino__hang_facts;

/* The parts of an analysis. */
kino_status kino__hang_map(const kino__analysis *a, const kino__trace *trace, void *partial,
                           kino_error *err);
kino_status kino__hang_merge(const kino__analysis *a, void *into, void *from, kino_error *err);
void kino__hang_pack(kino__pack *pack, void *partial);
void kino__hang_deinit(void *partial);

static inline kino_str kino__hang_text(const kino__hang_facts *f, kino_strid text)
{
    return kino__string_pool_text(&f->texts, text);
}
/* NULL: no dump of this rank. */
const kino__hang_rank *kino__hang_rank_of(const kino__hang_facts *f, int64_t rank);
const kino__hang_group *kino__hang_group_of(const kino__hang_facts *f, kino_strid name);

#endif
