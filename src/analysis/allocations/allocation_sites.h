/* allocation_sites.h - allocations added up by the call stack that made them: the part of a partial
 * that several analyses of memory have. Texts are numbers of the sites' own pool. */
#ifndef KINO__ANALYSIS_ALLOCATION_SITES_H
#define KINO__ANALYSIS_ALLOCATION_SITES_H

#include "analysis/allocations/allocations.h"
#include "analysis/analysis.h"

/* Whose memory: a device of a rank. */
typedef struct kino__alloc_owner {
    int64_t rank, type, device; /* as in kino__alloc_device */
} kino__alloc_owner;

typedef struct kino__alloc_site {
    kino__alloc_owner owner;
    uint32_t site, stack; /* KINO_NO_STRING: no stack was recorded */
    int64_t blocks, bytes;
    int64_t first_ts; /* of its allocations; KINO_NO_TIME: not known */
} kino__alloc_site;

typedef struct kino__alloc_sites {
    kino__string_pool texts;
    KINO__VEC(kino__alloc_site) items;
} kino__alloc_sites;

void kino__alloc_sites_deinit(kino__alloc_sites *sites);

/* -- in map: one trace -- */

typedef struct kino__site_adder {
    kino__alloc_sites *sites;
    const kino__allocations *all;
    const kino__trace *trace;
    kino__map of_stack; /* device and node -> item */
} kino__site_adder;

void kino__site_adder_init(kino__site_adder *adder, kino__alloc_sites *sites,
                           const kino__allocations *all, const kino__trace *trace);
void kino__site_adder_deinit(kino__site_adder *adder);
/* False when memory is out. */
KINO_NODISCARD bool kino__site_add(kino__site_adder *adder, uint32_t device, uint32_t stack,
                                   int64_t bytes, int64_t ts);
/* The text of a stack's call site, into the buffer: the innermost frame that is the user's, or that
 * has a file, or the innermost. Empty without a stack. */
void kino__site_text(const kino__stack_table *stacks, uint32_t stack, kino__buffer *out);

/* -- merge, pack, finish -- */

KINO_NODISCARD bool kino__alloc_sites_merge(kino__alloc_sites *into, const kino__alloc_sites *from);
void kino__alloc_sites_pack(kino__pack *pack, kino__alloc_sites *sites);

/* For .tables, in this order of columns: rank, device, site, blocks, bytes, percent, first, stack. */
extern const kino_column kino__alloc_site_columns[];
/* All rows: by rank and device, the most bytes first. */
void kino__alloc_sites_show(kino__alloc_sites *sites, kino__table *table);
/* Has any of them a stack? */
bool kino__alloc_sites_any_stack(const kino__alloc_sites *sites);

/* -- owners -- */

kino__alloc_owner kino__alloc_owner_of(const kino__allocations *all, const kino__trace *trace,
                                       uint32_t device);
/* By rank, accelerators before the host, by number. */
int kino__alloc_owner_compare(const kino__alloc_owner *x, const kino__alloc_owner *y);
void kino__alloc_owner_pack(kino__pack *pack, kino__alloc_owner *owner);
/* Two cells: the rank, and "GPU0"; null where it is not known. */
void kino__table_add_owner(kino__table *table, const kino__alloc_owner *owner);

#endif
