/* report_groups.h - the largest operators and kernels of a run: an analysis gives rows for each rank,
 * people want the run. */
#ifndef KINO__REPORT_GROUPS_H
#define KINO__REPORT_GROUPS_H

#include "report/report_internal.h"

enum { KINO__GROUP_SUMS = 6, KINO__TOP_ROWS = 5 };

/* Rows of one name. */
typedef struct kino__name_group {
    kino_str name;
    int64_t sum[KINO__GROUP_SUMS];
    bool has[KINO__GROUP_SUMS]; /* some row had a value */
    double weighted[KINO__GROUP_SUMS], weight[KINO__GROUP_SUMS];
    bool flag;
} kino__name_group;

typedef struct kino__name_groups {
    KINO__VEC(kino__name_group) items;
    size_t *order; /* by sum[key], largest first */
    int64_t total; /* of sum[key] */
} kino__name_groups;

/* Columns of the source; KINO__NO_COLUMN ends a list. */
enum { KINO__NO_COLUMN = 255 };

typedef struct kino__name_group_spec {
    uint8_t name;
    uint8_t sums[KINO__GROUP_SUMS];
    char how[KINO__GROUP_SUMS];      /* 0: add up, '>' largest, '<' smallest */
    uint8_t means[KINO__GROUP_SUMS]; /* averaged by sums[key] */
    uint8_t flag;                    /* true in some row; or KINO__NO_COLUMN */
    int key;
} kino__name_group_spec;

void kino__name_groups_make(kino__report *report, const kino__table *table,
                            const kino__name_group_spec *spec, kino__name_groups *out);
void kino__name_groups_deinit(kino__name_groups *g);

/* Cells: a sum, a mean; null where no row had a value. */
void kino__name_group_add_sum(kino__table *table, const kino__name_group *g, int i);
void kino__name_group_add_mean(kino__table *table, const kino__name_group *g, int i);

/* Sets the evidence of a section about the groups; gives that of the first one. */
kino__id_list kino__name_groups_cite(const kino__report_input *in, const kino__name_groups *g,
                                     kino__report_section *section);

#endif
