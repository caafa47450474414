/* report_groups.c - rows of all ranks with the same name added up, the largest first, each with the
 * longest of its events as evidence. */
#include "report/report_groups.h"

#include <math.h>
#include <stdlib.h>

static void add_to_group(kino__name_group *g, const kino__table *table, size_t row,
                         const kino__name_group_spec *spec)
{
    for (int i = 0; i < KINO__GROUP_SUMS && spec->sums[i] != KINO__NO_COLUMN; i++) {
        int64_t value = kino__table_int(table, row, spec->sums[i]);
        if (value == KINO_NO_INT)
            continue;
        if (!g->has[i] || (spec->how[i] == '>' && value > g->sum[i]) ||
            (spec->how[i] == '<' && value < g->sum[i]))
            g->sum[i] = value;
        else if (spec->how[i] == 0)
            g->sum[i] = kino__sum(g->sum[i], value);
        g->has[i] = true;
    }
    int64_t key = kino__table_int(table, row, spec->sums[spec->key]);
    double weight = key == KINO_NO_INT ? 0 : (double)key;
    for (int i = 0; i < KINO__GROUP_SUMS && spec->means[i] != KINO__NO_COLUMN; i++) {
        double value = kino__table_real(table, row, spec->means[i]);
        if (isnan(value))
            continue;
        g->weighted[i] += weight * value;
        g->weight[i] += weight;
    }
    g->flag |= spec->flag != KINO__NO_COLUMN && kino__table_int(table, row, spec->flag) > 0;
}

typedef struct ranked {
    int64_t value;
    size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_groups(kino__report *report, kino__name_groups *g, int key)
{
    size_t count = g->items.count;
    ranked *list = malloc((count + 1) * sizeof *list);
    g->order = malloc((count + 1) * sizeof *g->order);
    if (!list || !g->order) {
        kino__report_fail(report);
        g->items.count = 0;
        free(list);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = (ranked){g->items.items[i].sum[key], i};
        g->total = kino__sum(g->total, list[i].value);
    }
    qsort(list, count, sizeof *list, compare_ranked);
    for (size_t i = 0; i < count; i++)
        g->order[i] = list[i].index;
    free(list);
}

void kino__name_groups_make(kino__report *report, const kino__table *table,
                            const kino__name_group_spec *spec, kino__name_groups *out)
{
    size_t rows = kino__table_row_count(table);
    kino__string_pool names;
    kino__string_pool_init(&names, NULL);
    for (size_t row = 0; row < rows; row++) {
        kino_str text = kino__table_text(table, row, spec->name);
        kino_strid id = kino__string_pool_add_borrowed(&names, text);
        kino__name_group *slot = id == out->items.count ? kino__vec_add(&out->items) : NULL;
        if (slot)
            *slot = (kino__name_group){.name = text};
        if (id < out->items.count)
            add_to_group(&out->items.items[id], table, row, spec);
        else
            kino__report_fail(report);
    }
    kino__string_pool_deinit(&names);
    sort_groups(report, out, spec->key);
}

void kino__name_groups_deinit(kino__name_groups *g)
{
    kino__vec_deinit(&g->items);
    free(g->order);
}

void kino__name_group_add_sum(kino__table *table, const kino__name_group *g, int i)
{
    kino__table_add_int(table, g->has[i] ? g->sum[i] : KINO_NO_INT);
}

void kino__name_group_add_mean(kino__table *table, const kino__name_group *g, int i)
{
    kino__table_add_real(table, g->weight[i] > 0 ? g->weighted[i] / g->weight[i] : NAN);
}

/* -- evidence: the longest events of the first names -- */

static void find_longest(const kino__report_input *in, kino_str name, kino__longest *out)
{
    kino_strid id = kino__string_pool_find(&in->facts->names, name);
    if (id != KINO_NO_STRING)
        *out = in->facts->longest.items[id];
}

kino__id_list kino__name_groups_cite(const kino__report_input *in, const kino__name_groups *g,
                                     kino__report_section *section)
{
    int64_t ids[KINO__TOP_ROWS];
    size_t count = 0;
    kino__id_list first = {NULL, 0};
    for (size_t i = 0; section->table && i < g->items.count && i < KINO__TOP_ROWS; i++) {
        kino__longest longest = {0};
        find_longest(in, g->items.items[g->order[i]].name, &longest);
        if (longest.count)
            ids[count++] = longest.id[0];
        if (i == 0)
            first = kino__report_evidence(in->report, longest.id, longest.count);
    }
    section->evidence = kino__report_evidence(in->report, ids, count);
    return first;
}
