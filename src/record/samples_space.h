/* samples_space.h - the address space of a process as the records tell it, and from call chains to
 * frames; for samples.c.
 *
 * Records are replayed in order of time, so a space always is as it was when the sample was taken:
 * libraries that were unloaded, or loaded over others, do not confuse it. */
#ifndef KINO__RECORD_SAMPLES_SPACE_H
#define KINO__RECORD_SAMPLES_SPACE_H

#include "base/map.h"
#include "base/vec.h"
#include "record/perf_record.h"
#include "record/symbol.h"

typedef struct kino__space_map {
    uint64_t start, end;
    uint64_t offset; /* in the file, of start */
    uint32_t module;
    bool is_file; /* else addresses are looked up as they are */
} kino__space_map;

typedef struct kino__space {
    int32_t pid;
    KINO__VEC(kino__space_map) maps; /* sorted, none overlaps */
    kino__map places;                /* address -> place of kino__symbols */
    kino__map rules;                 /* address -> rule of kino__symbols */
} kino__space;

void kino__space_init(kino__space *space, int32_t pid);
void kino__space_deinit(kino__space *space);

/* exec: all is new. */
void kino__space_clear(kino__space *space);

/* fork: the child begins with what the parent has. False: memory is out. */
bool kino__space_copy(kino__space *child, const kino__space *parent);

/* A module is mapped, over whatever was there. False: memory is out. */
bool kino__space_add(kino__space *space, kino__symbols *symbols, const kino__perf_map *map);

/* The part around an address, or NULL. */
const kino__space_map *kino__space_find(const kino__space *space, uint64_t address);

/* How to find the caller of this address. */
kino__unwind_rule kino__space_rule(kino__space *space, kino__symbols *symbols, uint64_t address);

typedef KINO__VEC(kino__symbol_frame) kino__frame_vec;

/* Frames of a sample's call chain, outermost first. A chain ends at the first address that belongs
 * to nothing: where code keeps no frame pointers, chance follows. Without a chain: the function at
 * `ip`. At least one frame. False: memory is out. */
bool kino__space_frames(kino__space *space, kino__symbols *symbols, uint64_t ip,
                        kino__perf_words chain, kino__frame_vec *frames);

#endif
