/* tensor_cores.c - how much of the kernel time uses the matrix units of the device, which kernels
 * do, and which operators could but do not.
 *
 * Method: kernels by their names, operators by theirs (tensor_cores.def); times are those of the
 * profile (profile.h). Rows are collected by numbers of strings; texts are made at the end. Traces
 * are not added up: each rank has rows of its own.
 * Cost: one pass over the operators and one over the kernels. */
#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/error.h"
#include "model/profile/profile.h"

/* -- what a trace gives -- */

typedef struct ratio_part {
    int64_t rank;
    int64_t kernel_time, tensor_time;     /* of all kernels */
    int64_t operator_time, eligible_time; /* of kernels of operators; of the lowest eligible ones */
    bool has_kernels;
} ratio_part;

typedef struct device_part {
    int64_t rank, device;
    int64_t operator_time, tensor_time; /* of kernels of operators */
    bool has_value;
} device_part;

/* An operator or a kernel. */
typedef struct name_part {
    int64_t rank;
    kino_strid name;
    bool is_marked; /* an operator that is eligible, a kernel that uses them */
    int64_t first;  /* start of the first one */
    int64_t calls;
    int64_t self, total;               /* device time of operators; of kernels both are one */
    int64_t tensor_self, tensor_total; /* the part of it that used tensor cores */
} name_part;

typedef KINO__VEC(name_part) name_parts;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(ratio_part) ratios;
    KINO__VEC(device_part) devices;
    name_parts operators, kernels;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->ratios);
    kino__vec_deinit(&p->devices);
    kino__vec_deinit(&p->operators);
    kino__vec_deinit(&p->kernels);
}

/* -- one trace -- */

/* Rows of one trace while they are counted: one a string at most. */
typedef struct counting {
    const kino__profile *profile;
    uint32_t *row_of_name; /* + 1; 0: none */
    name_parts rows;       /* name: of the trace */
} counting;

/* NULL when memory is out. */
static name_part *find_row(counting *c, kino_strid name, int64_t first)
{
    if (c->row_of_name[name] == 0) {
        name_part *fresh = kino__vec_add(&c->rows);
        if (!fresh)
            return NULL;
        *fresh = (name_part){.rank = c->profile->trace->rank, .name = name, .first = first};
        c->row_of_name[name] = (uint32_t)c->rows.count;
    }
    name_part *row = &c->rows.items[c->row_of_name[name] - 1];
    row->first = first < row->first ? first : row->first;
    row->calls++;
    return row;
}

static bool count_operators(counting *c)
{
    const kino__profile *profile = c->profile;
    for (size_t t = 0; t < profile->threads.count; t++) {
        uint32_t root = profile->threads.items[t].root;
        for (uint32_t i = root; i != KINO__NO_NODE; i = kino__node_next(profile, i, root)) {
            const kino__node *n = &profile->nodes.items[i];
            kino_strid name = kino__node_name_id(profile, n);
            if (!n->is_operator || name == KINO_NO_STRING)
                continue;
            name_part *row = find_row(c, name, kino__node_start(profile, n));
            if (!row)
                return false;
            row->is_marked |= n->is_eligible;
            kino__node_sums own = kino__node_sums_of(profile, n);
            row->self += own.device_self;
            row->total += own.device_total;
            row->tensor_self += own.tensor_self;
            row->tensor_total += own.tensor_total;
        }
    }
    return true;
}

static bool is_tensor_kernel(const kino__profile *profile, kino_strid name)
{
    return name != KINO_NO_STRING && profile->name_flags[name] & KINO__NAME_TENSOR_CORES;
}

static bool count_kernels(counting *c)
{
    const kino__trace *trace = c->profile->trace;
    for (size_t i = 0; i < c->profile->kernels.count; i++) {
        uint32_t k = c->profile->kernels.items[i].row;
        if (trace->name[k] == KINO_NO_STRING)
            continue;
        name_part *row = find_row(c, trace->name[k], trace->ts[k]);
        if (!row)
            return false;
        kino__interval span = kino__interval_of(trace->ts[k], trace->dur[k]);
        row->is_marked = is_tensor_kernel(c->profile, trace->name[k]);
        row->self += span.end - span.start;
        row->tensor_self += row->is_marked ? span.end - span.start : 0;
        row->total = row->self;
        row->tensor_total = row->tensor_self;
    }
    return true;
}

/* Most own time first, then in order of first appearance, then by name. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const name_part *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    const kino__trace *trace = context;
    return kino__str_compare(kino__trace_string(trace, x->name),
                             kino__trace_string(trace, y->name));
}

/* Rows of operators that launched nothing and could not use tensor cores say nothing. */
static bool keep_rows(counting *c, partial *p, name_parts *to)
{
    const kino__trace *trace = c->profile->trace;
    if (c->rows.count)
        qsort_r(c->rows.items, c->rows.count, sizeof *c->rows.items, compare_rows,
                (void *)(uintptr_t)trace);
    for (size_t i = 0; i < c->rows.count; i++) {
        name_part *row = &c->rows.items[i];
        if (row->total == 0 && !row->is_marked)
            continue;
        name_part *slot = kino__vec_add(to);
        if (!slot)
            return false;
        *slot = *row;
        slot->name =
            kino__string_pool_add_borrowed(&p->texts, kino__trace_string(trace, row->name));
        if (slot->name == KINO_NO_STRING)
            return false;
    }
    return true;
}

static bool count_names(partial *p, const kino__profile *profile, name_parts *to,
                        bool (*count)(counting *c))
{
    counting c = {.profile = profile};
    size_t strings = kino__string_pool_count(&profile->trace->strings);
    c.row_of_name = calloc(strings + 1, sizeof *c.row_of_name);
    bool ok = c.row_of_name && count(&c) && keep_rows(&c, p, to);
    kino__vec_deinit(&c.rows);
    free(c.row_of_name);
    return ok;
}

static bool add_ratios(partial *p, const kino__profile *profile)
{
    int64_t rank = profile->trace->rank;
    ratio_part *ratio = kino__vec_add(&p->ratios);
    if (!ratio)
        return false;
    *ratio = (ratio_part){.rank = rank,
                          .kernel_time = profile->kernel_time,
                          .tensor_time = profile->tensor_time,
                          .operator_time = profile->operator_time,
                          .eligible_time = profile->eligible_time,
                          .has_kernels = profile->has_kernel};
    for (size_t i = 0; i < profile->metrics.count; i++) {
        const kino__device_metrics *m = &profile->metrics.items[i];
        device_part *d = kino__vec_add(&p->devices);
        if (!d)
            return false;
        *d = (device_part){rank, m->device, m->operator_time, m->tensor_time,
                           !isnan(m->tensor_ratio)};
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    const kino__profile *profile = kino__profile_of(trace, is_compat, a->pool);
    if (!profile || !add_ratios(p, profile) ||
        !count_names(p, profile, &p->operators, count_operators) ||
        !count_names(p, profile, &p->kernels, count_kernels))
        return kino__fail_nomem(err);
    return KINO_OK;
}

/* -- many traces -- */

static bool append_names(partial *p, const partial *more, name_parts *to, const name_parts *from)
{
    for (size_t i = 0; i < from->count; i++) {
        name_part *slot = kino__vec_add(to);
        if (!slot)
            return false;
        *slot = from->items[i];
        slot->name =
            kino__string_pool_add(&p->texts, kino__string_pool_text(&more->texts, slot->name));
        if (slot->name == KINO_NO_STRING)
            return false;
    }
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->ratios, more->ratios.count) ||
        !kino__vec_reserve(&p->devices, more->devices.count) ||
        !append_names(p, more, &p->operators, &more->operators) ||
        !append_names(p, more, &p->kernels, &more->kernels))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->ratios.count; i++)
        p->ratios.items[p->ratios.count++] = more->ratios.items[i];
    for (size_t i = 0; i < more->devices.count; i++)
        p->devices.items[p->devices.count++] = more->devices.items[i];
    return KINO_OK;
}

static void pack_ratio(kino__pack *pack, ratio_part *r)
{
    KINO__PACK(pack, &r->rank, &r->kernel_time, &r->tensor_time, &r->operator_time,
               &r->eligible_time, &r->has_kernels);
}

static void pack_device(kino__pack *pack, device_part *d)
{
    KINO__PACK(pack, &d->rank, &d->device, &d->operator_time, &d->tensor_time, &d->has_value);
}

static void pack_name(kino__pack *pack, name_part *n)
{
    KINO__PACK(pack, &n->rank, &n->name, &n->is_marked, &n->calls, &n->self, &n->total,
               &n->tensor_self, &n->tensor_total);
    KINO__PACK_TIMES(pack, &n->first);
}

static void check_names(kino__pack *pack, const partial *p, const name_parts *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i].name >= kino__string_pool_count(&p->texts))
            pack->is_damaged = true;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->ratios, pack_ratio);
    KINO__PACK_VEC(pack, &p->devices, pack_device);
    KINO__PACK_VEC(pack, &p->operators, pack_name);
    KINO__PACK_VEC(pack, &p->kernels, pack_name);
    check_names(pack, p, &p->operators);
    check_names(pack, p, &p->kernels);
}

/* -- the answer -- */

enum { T_DEVICES, T_RATIOS, T_OPERATORS, T_KERNELS };

#define RANK                                                                                       \
    {                                                                                              \
        "rank", KINO_TYPE_INT, NULL, "rank of the trace; null: unknown"                            \
    }

static const kino_column device_columns[] = {
    RANK,
    {"device", KINO_TYPE_INT, NULL, "id"},
    {"kernel_time", KINO_TYPE_DURATION, NULL, "time of kernels launched by operators"},
    {"tensor_core_time", KINO_TYPE_DURATION, NULL, "time of those that use tensor cores"},
    {"tensor_core_ratio", KINO_TYPE_PERCENT, NULL, "tensor_core_time / kernel_time"},
    {0},
};

static const kino_column ratio_columns[] = {
    RANK,
    {"kernel_time", KINO_TYPE_DURATION, NULL, "time of all kernels"},
    {"tensor_core_time", KINO_TYPE_DURATION, NULL, "time of those that use tensor cores"},
    {"used_ratio", KINO_TYPE_PERCENT, NULL, "tensor_core_time / kernel_time"},
    {"eligible_time", KINO_TYPE_DURATION, NULL,
     "time of kernels of operators that could use tensor cores"},
    {"eligible_ratio", KINO_TYPE_PERCENT, NULL, "eligible_time / kernel time of operators"},
    {0},
};

static const kino_column operator_columns[] = {
    RANK,
    {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "of the operator"},
    {"eligible", KINO_TYPE_BOOL, NULL,
     "whether it, or an operator below it, could use tensor cores"},
    {"calls", KINO_TYPE_INT, "count", NULL},
    {"device_self_duration", KINO_TYPE_DURATION, NULL, "device work it launched directly"},
    {"tensor_self_duration", KINO_TYPE_DURATION, NULL, "part of it on tensor cores"},
    {"self_ratio", KINO_TYPE_PERCENT, NULL, "share of the device work it launched directly"},
    {"device_total_duration", KINO_TYPE_DURATION, NULL, "including operators below it"},
    {"tensor_total_duration", KINO_TYPE_DURATION, NULL, "part of it on tensor cores"},
    {"total_ratio", KINO_TYPE_PERCENT, NULL,
     "share of the device work including operators below it"},
    {0},
};

static const kino_column kernel_columns[] = {
    RANK,
    {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "of the kernel"},
    {"used", KINO_TYPE_BOOL, NULL, "whether it uses tensor cores, judged by its name"},
    {"calls", KINO_TYPE_INT, "count", NULL},
    {"total_duration", KINO_TYPE_DURATION, NULL, NULL},
    {"percentage", KINO_TYPE_PERCENT, NULL, "share of all kernel time of the rank"},
    {0},
};

static const kino_table_info tables[] = {
    [T_DEVICES] = {"devices", "one row per device", device_columns, "Devices",
                   "not available: no kernel says on which device it ran"},
    [T_RATIOS] = {"ratios", "one row per trace: what is used, and what could be", ratio_columns,
                  "Usage and potential", "not available: the trace has no kernels"},
    [T_OPERATORS] = {"operators", "operators with device work, and eligible ones; most time first",
                     operator_columns, "Operators", "not available: no operator launched work"},
    [T_KERNELS] = {"kernels", "one row per kernel, most time first", kernel_columns, "Kernels",
                   "not available: the trace has no kernels"},
    {0},
};

static double percent(int64_t part, int64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : NAN;
}

static void fill_ratios(const partial *p, kino__table *devices, kino__table *ratios)
{
    for (size_t i = 0; i < p->devices.count; i++) {
        const device_part *d = &p->devices.items[i];
        double ratio = d->operator_time ? percent(d->tensor_time, d->operator_time) : 0;
        KINO__TABLE_ADD(devices, d->rank, d->device, d->operator_time, d->tensor_time,
                        d->has_value ? ratio : NAN);
    }
    for (size_t i = 0; i < p->ratios.count; i++) {
        const ratio_part *r = &p->ratios.items[i];
        if (!r->has_kernels)
            continue;
        KINO__TABLE_ADD(ratios, r->rank, r->kernel_time, r->tensor_time,
                        percent(r->tensor_time, r->kernel_time), r->eligible_time,
                        percent(r->eligible_time, r->operator_time));
    }
}

static void fill_operators(const partial *p, kino__table *table, bool has_kernels)
{
    for (size_t i = 0; i < p->operators.count; i++) {
        const name_part *n = &p->operators.items[i];
        KINO__TABLE_ADD(
            table, n->rank, kino__string_pool_text(&p->texts, n->name), n->is_marked, n->calls,
            has_kernels ? n->self : KINO_NO_INT, has_kernels ? n->tensor_self : KINO_NO_INT,
            percent(n->tensor_self, n->self), has_kernels ? n->total : KINO_NO_INT,
            has_kernels ? n->tensor_total : KINO_NO_INT, percent(n->tensor_total, n->total));
    }
}

static int64_t kernel_time_of(const partial *p, int64_t rank)
{
    int64_t time = 0;
    for (size_t i = 0; i < p->ratios.count; i++)
        time += p->ratios.items[i].rank == rank ? p->ratios.items[i].kernel_time : 0;
    return time;
}

static void fill_kernels(const partial *p, kino__table *table)
{
    int64_t rank = 0, all = 0;
    for (size_t i = 0; i < p->kernels.count; i++) {
        const name_part *n = &p->kernels.items[i];
        if (i == 0 || n->rank != rank) {
            rank = n->rank;
            all = kernel_time_of(p, rank);
        }
        KINO__TABLE_ADD(table, n->rank, kino__string_pool_text(&p->texts, n->name), n->is_marked,
                        n->calls, n->total, percent(n->total, all));
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    bool has_kernels = false;
    for (size_t i = 0; i < p->ratios.count; i++)
        has_kernels |= p->ratios.items[i].has_kernels;
    fill_ratios(p, kino__analysis_table(result, T_DEVICES), kino__analysis_table(result, T_RATIOS));
    fill_operators(p, kino__analysis_table(result, T_OPERATORS), has_kernels || a->compat);
    fill_kernels(p, kino__analysis_table(result, T_KERNELS));
    if (!has_kernels)
        kino__result_lacks(result, "tensor cores", ": the trace has no kernels");
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_tensor_cores = {
    .name = "tensor-cores",
    .help = "how much kernel time uses tensor cores, and which operators could use them",
    .description =
        "Kernels that use tensor cores (NVIDIA) or matrix cores (AMD) are recognized by\n"
        "name; eligible operators by a list of matrix products, convolutions and\n"
        "attention, or because a kernel below them uses tensor cores. Device time of an\n"
        "operator includes copies and memsets. The list of the TensorBoard plugin ends\n"
        "before Hopper.\n",
    .tables = tables,
    .compat = compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
