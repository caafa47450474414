/* name_sums.c - durations by name, and folding; see the header.
 *
 * A trace's rows are added up by the numbers of its strings; texts are touched once a name. */
#include "analysis/name_sums.h"

#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"

void kino__name_sums_deinit(kino__name_sums *s)
{
    kino__string_pool_deinit(&s->names);
    kino__vec_deinit(&s->rows);
}

/* -- adding up */

/* The row of a name and group of the trace at hand; slot: its place + 1, 0 while there is none. */
static kino__name_sum *find_sum(kino__name_sums *s, const kino__frame *f, uint32_t *slot,
                                kino_strid name, uint32_t group)
{
    if (*slot)
        return &s->rows.items[*slot - 1];
    kino_strid id = kino__string_pool_add_borrowed(&s->names, kino__trace_string(f->trace, name));
    kino__name_sum *sum = id == KINO_NO_STRING ? NULL : kino__vec_add(&s->rows);
    if (!sum)
        return NULL;
    *sum = (kino__name_sum){.trace = s->traces, .rank = f->trace->rank, .group = group, .name = id};
    *slot = (uint32_t)s->rows.count;
    return sum;
}

bool kino__name_sums_add(kino__name_sums *s, const kino__frame *f, const uint32_t *rows,
                         size_t count, bool by_type)
{
    size_t names = kino__string_pool_count(&f->trace->strings) + 1; /* the last one: no name */
    uint32_t *slots = calloc(names * KINO__KERNEL_TYPES, sizeof *slots);
    bool ok = slots != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t at = rows[i], group = by_type ? f->type[at] : 0;
        kino_strid name = f->trace->name[f->row[at]];
        size_t place = (name == KINO_NO_STRING ? names - 1 : name) * KINO__KERNEL_TYPES + group;
        kino__name_sum *sum = find_sum(s, f, &slots[place], name, group);
        ok = sum != NULL;
        if (ok)
            kino__moments_add(&sum->moments, kino__frame_ns(f, f->dur[at]));
    }
    free(slots);
    s->traces++;
    return ok;
}

bool kino__name_sums_merge(kino__name_sums *s, const kino__name_sums *more)
{
    if (!kino__vec_reserve(&s->rows, more->rows.count))
        return false;
    for (size_t i = 0; i < more->rows.count; i++) {
        kino__name_sum sum = more->rows.items[i];
        sum.name = kino__string_pool_add(&s->names, kino__string_pool_text(&more->names, sum.name));
        if (sum.name == KINO_NO_STRING)
            return false;
        sum.trace = kino__sum(sum.trace, s->traces);
        s->rows.items[s->rows.count++] = sum;
    }
    s->traces = kino__sum(s->traces, more->traces);
    return true;
}

static void pack_sum(kino__pack *pack, kino__name_sum *sum)
{
    KINO__PACK(pack, &sum->trace, &sum->rank, &sum->group, &sum->name);
    kino__pack_moments(pack, &sum->moments);
    if (sum->group >= KINO__KERNEL_TYPES)
        pack->is_damaged = true;
}

void kino__pack_name_sums(kino__pack *pack, kino__name_sums *s)
{
    kino__pack_pool(pack, &s->names);
    KINO__PACK_VEC(pack, &s->rows, pack_sum);
    kino__pack_tally(pack, &s->traces);
}

/* -- folding */

static int compare_sums(const void *x, const void *y, void *context)
{
    const kino__name_sum *a = x, *b = y;
    const kino__name_sums *s = context;
    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->moments.sum != b->moments.sum)
        return a->moments.sum > b->moments.sum ? -1 : 1;
    return kino__str_compare(kino__string_pool_text(&s->names, a->name),
                             kino__string_pool_text(&s->names, b->name));
}

static bool is_allowed(const kino__fold *how, kino_str name)
{
    for (size_t i = 0; i < how->allow_count; i++)
        if (memmem(name.data, name.size, how->allow[i].data, how->allow[i].size))
            return true;
    return false;
}

static int compare_names(const void *x, const void *y)
{
    return kino__str_compare(((const kino__folded *)x)->name, ((const kino__folded *)y)->name);
}

/* Rows of one name become one: "others", and a kernel that is really called so. */
static size_t join_equal(kino__folded *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kino__folded *last = kept ? &rows[kept - 1] : NULL;
        if (!last || !kino__str_equal(last->name, rows[i].name)) {
            rows[kept++] = rows[i];
            continue;
        }
        last->names = kino__sum(last->names, rows[i].names);
        kino__moments_merge(&last->events, &rows[i].events);
        kino__moments_merge(&last->hta, &rows[i].hta);
    }
    return kept;
}

/* One rank and group, largest sum first. running: room for count numbers. */
static void fold_group(const kino__name_sums *s, const kino__name_sum *sums, size_t count,
                       const kino__fold *how, double *running, kino__folded_rows *out)
{
    bool is_folded = how->wanted < 0 || count > (uint64_t)how->wanted;
    int64_t total = 0;
    double limit = 0;
    size_t first = out->count;
    for (size_t i = 0; i < count && is_folded; i++) {
        total = kino__sum(total, sums[i].moments.sum);
        running[i] = (double)total;
    }
    if (is_folded) {
        double *sorted = running + count;
        memcpy(sorted, running, count * sizeof *sorted); /* ascending but for negative sums */
        for (size_t i = 1; i < count; i++) {
            if (sorted[i - 1] <= sorted[i])
                continue;
            kino__sort_reals(sorted, count);
            break;
        }
        limit = kino__percentile(sorted, count, how->ratio);
    }
    for (size_t i = 0; i < count; i++) {
        const kino__name_sum *sum = &sums[i];
        kino__folded row = {
            sum->trace, sum->rank,    sum->group,  kino__string_pool_text(&s->names, sum->name),
            1,          sum->moments, sum->moments};
        bool is_behind = is_folded && ((int64_t)i >= how->wanted || running[i] > limit);
        if (is_behind && sum->moments.sum >= 0 && !is_allowed(how, row.name))
            row.name = KINO__STR("others");
        if (is_folded) {
            row.hta = (kino__moments){0};
            kino__moments_add(&row.hta, sum->moments.sum);
        }
        out->items[out->count++] = row;
    }
    qsort(&out->items[first], count, sizeof *out->items, compare_names);
    out->count = first + join_equal(&out->items[first], count);
}

bool kino__name_sums_fold(kino__name_sums *s, const kino__fold *how, kino__folded_rows *out)
{
    size_t count = s->rows.count;
    double *running = malloc((2 * count + 1) * sizeof *running);
    if (!running || !kino__vec_reserve(out, count)) {
        free(running);
        return false;
    }
    if (count)
        qsort_r(s->rows.items, count, sizeof *s->rows.items, compare_sums, s);
    for (size_t first = 0, end; first < count; first = end) {
        const kino__name_sum *sums = s->rows.items;
        for (end = first + 1; end < count && sums[end].trace == sums[first].trace &&
                              sums[end].group == sums[first].group;)
            end++;
        fold_group(s, &sums[first], end - first, how, running, out);
    }
    free(running);
    return true;
}

/* -- rows -- */

static double std_or_zero(const kino__moments *m)
{
    return m->count > 1 ? kino__moments_std(m) : 0;
}

void kino__folded_add_sums(kino__table *table, const kino__folded *r, bool is_compat)
{
    const kino__moments *m = is_compat ? &r->hta : &r->events;
    KINO__TABLE_ADD(table, r->rank, r->name, m->sum, m->max, m->min, std_or_zero(m),
                    kino__moments_mean(m));
}

void kino__folded_add_events(kino__table *table, const kino__folded *r)
{
    KINO__TABLE_ADD(table, r->events.count, r->names, r->events.max, r->events.min,
                    std_or_zero(&r->events), kino__moments_mean(&r->events));
}

kino_status kino__fold_check(const kino__analysis *a, size_t ratio, size_t wanted, kino_error *err)
{
    double part = kino__param_real(a, ratio);
    if (!(part >= 0 && part <= 1))
        return kino__fail(err, KINO_ARGUMENT, "%s must be between 0 and 1",
                          a->def->params[ratio].name);
    if (kino__param_int(a, wanted) < 0)
        return kino__fail(err, KINO_ARGUMENT, "%s must be at least 0", a->def->params[wanted].name);
    return KINO_OK;
}
