/* diff_tables.c - the runs of both sides put together: medians, spreads, rows with the largest
 * change first. */
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/diff.h"

/* -- numbers of several runs -- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the values. NaN where there are none. */
static double median_of(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double spread_of(const double *sorted, size_t count)
{
    return count > 1 ? sorted[count - 1] - sorted[0] : NAN;
}

/* The first `left` values are the left side's. */
static kino__diff_pair pair_of(double *values, size_t left, size_t right)
{
    kino__diff_pair pair = {.left = median_of(values, left),
                            .right = median_of(values + left, right)};
    pair.left_spread = spread_of(values, left);
    pair.right_spread = spread_of(values + left, right);
    return pair;
}

double kino__diff_percent(const kino__diff_pair *pair)
{
    double delta = pair->right - pair->left;
    if (pair->left == 0)
        return delta == 0 ? NAN : delta > 0 ? INFINITY : -INFINITY;
    return delta / fabs(pair->left) * 100;
}

/* -- putting together -- */

typedef struct joining {
    kino__diff_run *const *runs[2];
    size_t counts[2], count;
    double *values; /* of each run: room for one number, or for all of an item */
} joining;

static const kino__diff_run *run_at(const joining *j, size_t i)
{
    return i < j->counts[0] ? j->runs[0][i] : j->runs[1][i - j->counts[0]];
}

static double share(int64_t sum, int64_t count)
{
    return count > 0 ? (double)sum / (double)count : NAN;
}

/* Runs without steps say nothing about them. */
static void join_steps(kino__diff *diff, const joining *j)
{
    for (int part = -1; part < KINO__ROLE_COUNT; part++) {
        size_t used[2] = {0, 0}, n = 0;
        for (size_t i = 0; i < j->count; i++) {
            const kino__diff_run *run = run_at(j, i);
            double value = share(part < 0 ? run->step_time : run->parts[part], run->steps);
            if (isnan(value))
                continue;
            j->values[n++] = value;
            used[i >= j->counts[0]]++;
        }
        kino__diff_pair pair = pair_of(j->values, used[0], used[1]);
        if (part < 0)
            diff->step_time = pair;
        else
            diff->parts[part] = pair;
    }
}

static const kino__diff_list *list_of(const kino__diff_run *run, bool is_kernels)
{
    return is_kernels ? &run->kernels : &run->ops;
}

static bool add_names(kino__diff_items *out, const joining *j, bool is_kernels)
{
    for (size_t i = 0; i < j->count; i++) {
        const kino__diff_list *list = list_of(run_at(j, i), is_kernels);
        for (size_t k = 0; k < list->sums.count; k++) {
            kino_str name = kino__string_pool_text(&list->names, (kino_strid)k);
            kino_strid id = kino__string_pool_add_borrowed(&out->names, name);
            if (id == KINO_NO_STRING)
                return false;
            if (id == out->items.count) {
                kino__diff_item *fresh = kino__vec_add(&out->items);
                if (!fresh)
                    return false;
                *fresh = (kino__diff_item){.name = name};
            }
            if (i < j->counts[0])
                out->items.items[id].is_left = true;
            else
                out->items.items[id].is_right = true;
        }
    }
    return true;
}

/* What a run does not have took no time there. */
static void join_item(kino__diff_item *item, const joining *j, bool is_kernels)
{
    size_t stride = j->count;
    for (size_t i = 0; i < j->count; i++) {
        const kino__diff_run *run = run_at(j, i);
        const kino__diff_list *list = list_of(run, is_kernels);
        kino_strid id = kino__string_pool_find(&list->names, item->name);
        for (int v = 0; v < KINO__DIFF_VALUES; v++)
            j->values[(size_t)v * stride + i] =
                id == KINO_NO_STRING
                    ? 0
                    : share(list->sums.items[id].values[v], run->divisor > 0 ? run->divisor : 1);
    }
    for (int v = 0; v < KINO__DIFF_VALUES; v++)
        item->values[v] = pair_of(j->values + (size_t)v * stride, j->counts[0], j->counts[1]);
}

/* The time of an operator that tables show and sort by: its own, on the device where any operator
 * has time there. */
static const kino__diff_pair *own_time(const kino__diff *diff, const kino__diff_item *op)
{
    return &op->values[diff->has_device ? KINO__DIFF_SELF_DEVICE : KINO__DIFF_SELF_HOST];
}

static int compare_items(const void *a, const void *b, void *context)
{
    const kino__diff_item *x = a, *y = b;
    int v = *(const int *)context;
    double dx = fabs(x->values[v].right - x->values[v].left);
    double dy = fabs(y->values[v].right - y->values[v].left);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return kino__str_compare(x->name, y->name);
}

static bool join_items(kino__diff *diff, const joining *j, bool is_kernels)
{
    kino__diff_items *out = is_kernels ? &diff->kernels : &diff->ops;
    if (!add_names(out, j, is_kernels))
        return false;
    for (size_t i = 0; i < out->items.count; i++) {
        kino__diff_item *item = &out->items.items[i];
        join_item(item, j, is_kernels);
        const kino__diff_pair *device = &item->values[KINO__DIFF_SELF_DEVICE];
        diff->has_device |= !is_kernels && (device->left > 0 || device->right > 0);
    }
    int by = is_kernels         ? KINO__DIFF_DEVICE
             : diff->has_device ? KINO__DIFF_SELF_DEVICE
                                : KINO__DIFF_SELF_HOST;
    if (out->items.count)
        qsort_r(out->items.items, out->items.count, sizeof *out->items.items, compare_items, &by);
    return true;
}

bool kino__diff_init(kino__diff *diff, kino__diff_run *const *left, size_t left_count,
                     kino__diff_run *const *right, size_t right_count)
{
    *diff = (kino__diff){0};
    joining j = {.runs = {left, right},
                 .counts = {left_count, right_count},
                 .count = left_count + right_count};
    j.values = malloc((j.count + 1) * KINO__DIFF_VALUES * sizeof *j.values);
    if (!j.values)
        return false;
    join_steps(diff, &j);
    bool ok = join_items(diff, &j, false) && join_items(diff, &j, true);
    free(j.values);
    return ok;
}

void kino__diff_deinit(kino__diff *diff)
{
    kino__vec_deinit(&diff->ops.items);
    kino__string_pool_deinit(&diff->ops.names);
    kino__vec_deinit(&diff->kernels.items);
    kino__string_pool_deinit(&diff->kernels.names);
}

/* -- rows -- */

static void write_time(kino__table *table, double value)
{
    if (isnan(value))
        kino__table_add_null(table);
    else
        kino__table_add_int(table, llround(value));
}

static void write_pair(kino__table *table, const kino__diff_pair *pair)
{
    write_time(table, pair->left);
    write_time(table, pair->right);
}

static void write_change(kino__table *table, const kino__diff_pair *pair)
{
    write_time(table, pair->right - pair->left);
    kino__table_add_real(table, kino__diff_percent(pair)); /* infinite: null */
    write_time(table, pair->left_spread);
    write_time(table, pair->right_spread);
}

static void write_steps(const kino__diff *diff, kino__table *table)
{
    if (isnan(diff->step_time.left) && isnan(diff->step_time.right))
        return;
    for (int part = -1; part < KINO__ROLE_COUNT; part++) {
        const kino__diff_pair *pair = part < 0 ? &diff->step_time : &diff->parts[part];
        if (part >= 0 && part != KINO__ROLE_OTHER && !(pair->left > 0) && !(pair->right > 0))
            continue; /* neither run has any of it */
        const char *name = part < 0 ? "Step time" : kino__role_name((kino__role)part);
        kino__table_add_text(table, kino__str_from(name));
        write_pair(table, pair);
        write_change(table, pair);
        KINO__TABLE_ADD(table, pair->left / diff->step_time.left * 100,
                        pair->right / diff->step_time.right * 100);
    }
}

static void write_item(const kino__diff_item *item, const kino__diff_pair *time, bool is_kernel,
                       kino__table *table)
{
    KINO__TABLE_ADD(table, item->name,
                    !item->is_left    ? KINO__STR("new")
                    : !item->is_right ? KINO__STR("gone")
                                      : KINO__STR("both"));
    write_pair(table, time);
    write_change(table, time);
    KINO__TABLE_ADD(table, item->values[KINO__DIFF_CALLS].left,
                    item->values[KINO__DIFF_CALLS].right);
    for (int v = KINO__DIFF_HOST; v < KINO__DIFF_VALUES && !is_kernel; v++)
        write_pair(table, &item->values[v]);
}

void kino__diff_write(const kino__diff *diff, kino_result *result)
{
    write_steps(diff, kino__analysis_table(result, KINO__DIFF_TABLE_STEPS));
    for (size_t i = 0; i < diff->ops.items.count; i++) {
        const kino__diff_item *op = &diff->ops.items.items[i];
        write_item(op, own_time(diff, op), false,
                   kino__analysis_table(result, KINO__DIFF_TABLE_OPS));
    }
    for (size_t i = 0; i < diff->kernels.items.count; i++) {
        const kino__diff_item *kernel = &diff->kernels.items.items[i];
        write_item(kernel, &kernel->values[KINO__DIFF_DEVICE], true,
                   kino__analysis_table(result, KINO__DIFF_TABLE_KERNELS));
    }
}
