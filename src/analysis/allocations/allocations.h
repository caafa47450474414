/* allocations.h - what an allocator did, from the events of one trace: [memory] events of Kineto
 * and of memory snapshots, and the blocks and segments that a snapshot ends with. */
#ifndef KINO__ANALYSIS_ALLOCATIONS_H
#define KINO__ANALYSIS_ALLOCATIONS_H

#include "store/stack_table.h"

typedef struct kino__allocation {
    int64_t ts;
    int64_t address; /* KINO_NO_INT: absent */
    int64_t bytes;   /* > 0: allocated, < 0: freed, 0: the program asked to free it */
    int64_t total;   /* of the device, afterwards; KINO_NO_INT: absent */
    uint32_t row;
    uint32_t device; /* in kino__allocations.devices */
    uint32_t stack;  /* node, 0: none */
} kino__allocation;

typedef struct kino__held_block {
    int64_t address, segment, bytes, requested; /* KINO_NO_INT: absent */
    uint32_t row, device, stack;
    bool is_active;  /* allocated, or freed and waiting for others */
    bool is_pending; /* the latter */
} kino__held_block;

typedef struct kino__held_segment {
    int64_t address, bytes, stream; /* KINO_NO_INT: absent */
    uint32_t row, device;
    kino_str type; /* "large", "small"; empty: absent */
} kino__held_segment;

typedef struct kino__alloc_device {
    int64_t type, id; /* as in the arguments; KINO_NO_INT: absent */
} kino__alloc_device;

typedef struct kino__allocations {
    const kino__stack_table *stacks;
    KINO__VEC(kino__allocation) history; /* by time, then as in the file */
    KINO__VEC(kino__held_block) blocks;
    KINO__VEC(kino__held_segment) segments;
    KINO__VEC(kino__alloc_device) devices;
    kino__map device_of_hash;
} kino__allocations;

/* False when memory is out. Deinitialise also then. */
KINO_NODISCARD bool kino__allocations_init(kino__allocations *all, const kino__trace *trace);
void kino__allocations_deinit(kino__allocations *all);

/* For joins by address: one number for an address of a device. Different ones may share it only in
 * files that were made for that. */
uint64_t kino__allocation_key(uint32_t device, int64_t address);

#endif
