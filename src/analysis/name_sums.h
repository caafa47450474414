/* name_sums.h - durations added up by name, with the small ones folded into "others" as HTA does:
 * for kernels and for annotations.
 *
 *   map:    kino__name_sums_add(&sums, frame, rows, count, by_type, ...)
 *   merge:  kino__name_sums_merge(&sums, &more)
 *   finish: kino__name_sums_fold(&sums, &how, &rows), then sort the rows as the table wants them
 *
 * Folding, within a rank and group, where there are more names than wanted: sorted by sum, largest
 * first, c = the running sum; a name is folded when its c is above the percentile `ratio` of all c,
 * or when it stands behind the wanted ones. */
#ifndef KINO__ANALYSIS_NAME_SUMS_H
#define KINO__ANALYSIS_NAME_SUMS_H

#include "analysis/frame_params.h"
#include "analysis/statistics.h"

typedef struct kino__name_sum {
    int64_t trace; /* number in the run: ranks may be unknown or double */
    int64_t rank;
    uint32_t group; /* kino__kernel_type; 0 where all are one group */
    kino_strid name;
    kino__moments moments; /* of durations in ns */
} kino__name_sum;

typedef struct kino__name_sums {
    kino__string_pool names;
    KINO__VEC(kino__name_sum) rows;
    int64_t traces;
} kino__name_sums;

void kino__name_sums_deinit(kino__name_sums *s);
/* One trace: these rows of its frame, by type or all as one group. False when memory is out. */
KINO_NODISCARD bool kino__name_sums_add(kino__name_sums *s, const kino__frame *f,
                                        const uint32_t *rows, size_t count, bool by_type);
KINO_NODISCARD bool kino__name_sums_merge(kino__name_sums *s, const kino__name_sums *more);
void kino__pack_name_sums(kino__pack *pack, kino__name_sums *s);

typedef struct kino__fold {
    double ratio;          /* 0 to 1 */
    int64_t wanted;        /* names kept at most */
    const kino_str *allow; /* names that contain one of these are never folded */
    size_t allow_count;
} kino__fold;

typedef struct kino__folded {
    int64_t trace, rank;
    uint32_t group;
    kino_str name;
    int64_t names;        /* behind this row */
    kino__moments events; /* of all their durations */
    /* What HTA calls the statistics of the row: those of the durations, but in a group where some
     * were folded those of the sums of its names. */
    kino__moments hta;
} kino__folded;

typedef KINO__VEC(kino__folded) kino__folded_rows;

/* By trace, group, then name in order of bytes; names live as long as the sums. False when memory
 * is out. */
KINO_NODISCARD bool kino__name_sums_fold(kino__name_sums *s, const kino__fold *how,
                                         kino__folded_rows *out);

/* The two halves of a row as both tables have it: rank, name, sum, max, min, stddev, mean; and
 * count, names, event_max, event_min, event_stddev, event_mean. */
void kino__folded_add_sums(kino__table *table, const kino__folded *r, bool is_compat);
void kino__folded_add_events(kino__table *table, const kino__folded *r);

/* Do the parameters fit: a ratio, and a number of names? */
KINO_NODISCARD kino_status kino__fold_check(const kino__analysis *a, size_t ratio, size_t wanted,
                                            kino_error *err);

#endif
