/* pack.h - partial results to bytes and back, described once.
 *
 *   static void pack_row(kino__pack *pack, row *r)
 *   {
 *       KINO__PACK(pack, &r->name, &r->total);
 *   }
 *   static void pack(kino__pack *pack, void *partial)
 *   {
 *       struct partial *p = partial;
 *       KINO__PACK_VEC(pack, &p->rows, pack_row);
 *   }
 *
 * The same function saves and loads, so both sides cannot drift apart. Failure sticks (out of
 * memory, damaged bytes): later calls do nothing, and loaded values are 0 or empty. Loaded texts
 * are views of the bytes. Integers are zigzag varints, texts a length and bytes; no floats: they
 * begin in finish. */
#ifndef KINO__ANALYSIS_PACK_H
#define KINO__ANALYSIS_PACK_H

#include "base/each.h"
#include "base/str.h"
#include "base/string_pool.h"
#include "base/vec.h"

/* From a run's coordinates to a trace's own (its number is 0, its times count from its own origin)
 * or back: what a partial knows of the run that its trace is a part of. */
typedef struct kino__pack_move {
    bool is_set;         /* false: nothing is moved */
    bool has_file_times; /* times of the frame are those of the file, in every run */
    int64_t trace;       /* the number of the partial's only trace from now on */
    int64_t later_by;    /* ns that its times grow by */
} kino__pack_move;

typedef struct kino__pack {
    kino__buffer *out;     /* saving; NULL: loading */
    const char *at, *end;  /* loading: what is left */
    bool is_damaged;       /* loading: the bytes are not what was saved */
    bool is_out_of_memory; /* loading; saving says it in out->failed */
    kino__pack_move move;
} kino__pack;

void kino__pack_int(kino__pack *pack, int64_t *value);
/* How many traces: not negative, and sums of them have room. */
void kino__pack_tally(kino__pack *pack, int64_t *value);
void kino__pack_u64(kino__pack *pack, uint64_t *value);
void kino__pack_u32(kino__pack *pack, uint32_t *value);
void kino__pack_bool(kino__pack *pack, bool *value);
void kino__pack_str(kino__pack *pack, kino_str *value);

/* Several values in this order, by their types. */
#define KINO__PACK(pack, ...) KINO__EACH(KINO__PACK_ONE, pack, __VA_ARGS__)
#define KINO__PACK_ONE(pack, value)                                                                \
    _Generic((value), int64_t *                                                                    \
             : kino__pack_int, uint64_t *                                                          \
             : kino__pack_u64, uint32_t *                                                          \
             : kino__pack_u32, bool *                                                              \
             : kino__pack_bool, kino_str *                                                         \
             : kino__pack_str)(pack, value)
/* What depends on the run that a trace is a part of must say so, so that partials can be made before
 * the run is known: the id of an event, the number of a trace, a time of the run, a time of the
 * frame (of the run, or of the file in HTA's modes). KINO_NO_INT, INT64_MAX stay as they are. */
void kino__pack_event(kino__pack *pack, int64_t *value);
void kino__pack_trace(kino__pack *pack, int64_t *value);
void kino__pack_time(kino__pack *pack, int64_t *value);
void kino__pack_frame_time(kino__pack *pack, int64_t *value);
#define KINO__PACK_EVENTS(pack, ...)      KINO__EACH(kino__pack_event, pack, __VA_ARGS__)
#define KINO__PACK_TIMES(pack, ...)       KINO__EACH(kino__pack_time, pack, __VA_ARGS__)
#define KINO__PACK_FRAME_TIMES(pack, ...) KINO__EACH(kino__pack_frame_time, pack, __VA_ARGS__)

#define KINO__PACK_TALLIES(pack, ...) KINO__EACH(kino__pack_tally, pack, __VA_ARGS__)

/* A text that ends with 0; loaded ones are views too. */
void kino__pack_text(kino__pack *pack, const char **text);
/* A pool of the partial's own; it must be initialised. */
void kino__pack_pool(kino__pack *pack, kino__string_pool *pool);

/* The number of items that follow; each takes at least a byte, so a damaged count cannot ask for
 * much. */
size_t kino__pack_count(kino__pack *pack, size_t count);

/* For KINO__PACK_VEC: a loaded array had no room. */
bool kino__pack_no_room(kino__pack *pack);

/* An array of the partial's own (KINO__VEC); item: void (kino__pack *, type *). */
#define KINO__PACK_VEC(pack, vec, item)                                                            \
    do {                                                                                           \
        size_t kino_pack_count_ = kino__pack_count((pack), (vec)->count);                          \
        if (!(pack)->out && !kino__vec_reserve((vec), kino_pack_count_) &&                         \
            kino__pack_no_room(pack))                                                              \
            break;                                                                                 \
        for (size_t kino_pack_i_ = 0; kino_pack_i_ < kino_pack_count_; kino_pack_i_++) {           \
            if (!(pack)->out)                                                                      \
                memset(&(vec)->items[(vec)->count++], 0, sizeof *(vec)->items);                    \
            item((pack), &(vec)->items[(pack)->out ? kino_pack_i_ : (vec)->count - 1]);            \
        }                                                                                          \
    } while (0)

#endif
