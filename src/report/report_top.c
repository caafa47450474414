/* report_top.c - the largest operators and kernels of a run: rows of all ranks with the same name
 * added up, the largest first, each with the longest of its events as evidence. */
#include <math.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "report/report_internal.h"

enum { TOP_ROWS = 5, NAMES_MAX = 2 * TOP_ROWS };

/* -- rows of the same name added up -- */

enum { SUMS = 6 };

typedef struct group {
    kino_str name;
    int64_t sum[SUMS];
    bool has[SUMS]; /* some row had a value */
    double weighted[SUMS], weight[SUMS];
    bool flag;
} group;

typedef struct groups {
    KINO__VEC(group) items;
    size_t *order; /* by sum[key], largest first */
    int64_t total; /* of sum[key] */
} groups;

/* Columns of the source; NONE ends a list. */
enum { NONE = 255 };

typedef struct group_spec {
    uint8_t name;
    uint8_t sums[SUMS];
    char how[SUMS];      /* 0: add up, '>' largest, '<' smallest */
    uint8_t means[SUMS]; /* averaged by sums[key] */
    uint8_t flag;        /* true in some row; NONE: no such column */
    int key;
} group_spec;

static void add_to_group(group *g, const kino__table *table, size_t row, const group_spec *spec)
{
    for (int i = 0; i < SUMS && spec->sums[i] != NONE; i++) {
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
    for (int i = 0; i < SUMS && spec->means[i] != NONE; i++) {
        double value = kino__table_real(table, row, spec->means[i]);
        if (isnan(value))
            continue;
        g->weighted[i] += weight * value;
        g->weight[i] += weight;
    }
    g->flag |= spec->flag != NONE && kino__table_int(table, row, spec->flag) > 0;
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

static void sort_groups(kino__report *report, groups *g, int key)
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

static void make_groups(kino__report *report, const kino__table *table, const group_spec *spec,
                        groups *out)
{
    size_t rows = kino__table_row_count(table);
    kino__string_pool names;
    kino__string_pool_init(&names, NULL);
    for (size_t row = 0; row < rows; row++) {
        kino_str text = kino__table_text(table, row, spec->name);
        kino_strid id = kino__string_pool_add_borrowed(&names, text);
        group *slot = id == out->items.count ? kino__vec_add(&out->items) : NULL;
        if (slot)
            *slot = (group){.name = text};
        if (id < out->items.count)
            add_to_group(&out->items.items[id], table, row, spec);
        else
            kino__report_fail(report);
    }
    kino__string_pool_deinit(&names);
    sort_groups(report, out, spec->key);
}

static void groups_deinit(groups *g)
{
    kino__vec_deinit(&g->items);
    free(g->order);
}

static void add_sum(kino__table *table, const group *g, int i)
{
    kino__table_add_int(table, g->has[i] ? g->sum[i] : KINO_NO_INT);
}

static void add_mean(kino__table *table, const group *g, int i)
{
    kino__table_add_real(table, g->weight[i] > 0 ? g->weighted[i] / g->weight[i] : NAN);
}

/* -- evidence of names: their longest events -- */

typedef struct named {
    kino_str names[NAMES_MAX];
    kino__longest longest[NAMES_MAX];
    size_t count;
} named;

static void find_named(const kino_run *run, const kino__report_facts *facts, named *n)
{
    size_t at = 0;
    for (size_t t = 0; t < run->run.traces.count; t++) {
        const kino__trace *trace = run->run.traces.items[t];
        kino_strid ids[NAMES_MAX];
        for (size_t i = 0; i < n->count; i++)
            ids[i] = kino__string_pool_find(&trace->strings, n->names[i]);
        for (; at < facts->names.count && facts->names.items[at].trace == trace->index; at++)
            for (size_t i = 0; i < n->count; i++)
                if (facts->names.items[at].name == ids[i])
                    kino__longest_merge(&n->longest[i], &facts->names.items[at].longest);
    }
}

/* -- operators and kernels -- */

enum { OP_CALLS, OP_DEVICE_SELF, OP_DEVICE_TOTAL, OP_HOST_SELF, OP_HOST_TOTAL };

static const group_spec device_ops = {
    .name = KINO__OPERATORS_NAME,
    .sums = {KINO__OPERATORS_CALLS, KINO__OPERATORS_DEVICE_SELF, KINO__OPERATORS_DEVICE_TOTAL,
             KINO__OPERATORS_HOST_SELF, KINO__OPERATORS_HOST_TOTAL, NONE},
    .means = {NONE},
    .flag = NONE,
    .key = OP_DEVICE_SELF};

static void add_device_operators(kino__table *out, const groups *g)
{
    for (size_t i = 0; i < g->items.count; i++) {
        const group *op = &g->items.items[g->order[i]];
        kino__table_add_text(out, op->name);
        add_sum(out, op, OP_DEVICE_SELF);
        kino__table_add_real(out, kino__share_percent(op->sum[OP_DEVICE_SELF], g->total));
        add_sum(out, op, OP_CALLS);
        add_sum(out, op, OP_HOST_SELF);
        add_sum(out, op, OP_DEVICE_TOTAL);
        add_sum(out, op, OP_HOST_TOTAL);
    }
}

static void add_host_operators(kino__table *out, const groups *g)
{
    for (size_t i = 0; i < g->items.count; i++) {
        const group *op = &g->items.items[g->order[i]];
        kino__table_add_text(out, op->name);
        add_sum(out, op, OP_HOST_SELF);
        kino__table_add_real(out, kino__share_percent(op->sum[OP_HOST_SELF], g->total));
        add_sum(out, op, OP_CALLS);
        add_sum(out, op, OP_HOST_TOTAL);
    }
}

static const kino_column device_columns[] = {
    {"operator", KINO_TYPE_STRING, NULL, NULL},
    {"device self", KINO_TYPE_DURATION, NULL, "device time of work it launched directly"},
    {"share", KINO_TYPE_PERCENT, NULL, "of all operators"},
    {"calls", KINO_TYPE_INT, "count", NULL},
    {"host self", KINO_TYPE_DURATION, NULL, "excluding operators and launches below it"},
    {"device total", KINO_TYPE_DURATION, NULL, "including operators below it"},
    {"host total", KINO_TYPE_DURATION, NULL, NULL}};
static const kino_column host_columns[] = {
    {"operator", KINO_TYPE_STRING, NULL, NULL},
    {"host self", KINO_TYPE_DURATION, NULL, "excluding operators below it"},
    {"share", KINO_TYPE_PERCENT, NULL, "of all operators"},
    {"calls", KINO_TYPE_INT, "count", NULL},
    {"host total", KINO_TYPE_DURATION, NULL, "including operators below it"}};

static void add_operators(kino__report *report, const kino_run *run,
                          const kino__report_facts *facts, kino__report_numbers *n, named *names)
{
    const kino__table *source = kino__report_table(report, &kino__analysis_operators, 0);
    if (!source || (kino__table_row_count(source) == 0 && kino__report_ranges(report, run, facts)))
        return;
    groups g = {0};
    make_groups(report, source, &device_ops, &g);
    bool by_device = n->has_device && g.total > 0;
    if (!by_device) {
        groups_deinit(&g);
        g = (groups){0};
        group_spec host_ops = device_ops;
        host_ops.key = OP_HOST_SELF;
        make_groups(report, source, &host_ops, &g);
    }
    kino__table *out = by_device
                           ? kino__result_add_table(report->own, "operators", device_columns, 7)
                           : kino__result_add_table(report->own, "operators", host_columns, 5);
    if (by_device)
        add_device_operators(out, &g);
    else
        add_host_operators(out, &g);
    kino__report_section *s = kino__report_add_section(
        report, "operators",
        by_device ? "Operators, by time on the device" : "Operators, by time on the host", out);
    s->is_brief = true;
    s->brief_limit = TOP_ROWS;
    s->brief_hidden = by_device ? 1u << 5 | 1u << 6 : 0;
    if (!s->table)
        s->note =
            kino__report_why_not(report, &kino__analysis_operators, "no operators were recorded");
    for (size_t i = 0; i < g.items.count && i < TOP_ROWS; i++)
        names->names[names->count++] = g.items.items[g.order[i]].name;
    if (g.items.count && g.total > 0 && !by_device) {
        const group *top = &g.items.items[g.order[0]];
        n->op = kino__report_copy(report, top->name);
        n->op_percent = kino__share_percent(top->sum[OP_HOST_SELF], g.total);
    }
    groups_deinit(&g);
}

/* "void at::native::gemm<float>(int, float*)" as people name it: at::native::gemm<float>. */
static kino_str plain_name(kino_str name)
{
    size_t depth = 0, end = name.size;
    if (kino__str_starts_with(name, KINO__STR("void ")))
        name = (kino_str){name.data + 5, end -= 5};
    if (end == 0 || name.data[end - 1] != ')')
        return name;
    while (end > 0) { /* back to the bracket that opens the arguments */
        char c = name.data[--end];
        depth += c == ')';
        depth -= c == '(';
        if (depth == 0)
            break;
    }
    return end > 0 ? (kino_str){name.data, end} : name;
}

enum { K_CALLS, K_TOTAL, K_MAX, K_MIN };
enum { K_BLOCKS, K_OCCUPANCY };

static const group_spec kernel_spec = {
    .name = KINO__KERNELS_NAME,
    .sums = {KINO__KERNELS_CALLS, KINO__KERNELS_TOTAL, KINO__KERNELS_MAX, KINO__KERNELS_MIN, NONE},
    .how = {0, 0, '>', '<'},
    .means = {KINO__KERNELS_BLOCKS_PER_SM, KINO__KERNELS_OCCUPANCY, NONE},
    .flag = KINO__KERNELS_TENSOR_CORES,
    .key = K_TOTAL};
static const kino_column kernel_columns[] = {
    {"kernel", KINO_TYPE_STRING, NULL, NULL},
    {"total", KINO_TYPE_DURATION, NULL, NULL},
    {"share", KINO_TYPE_PERCENT, NULL, "of all kernels"},
    {"calls", KINO_TYPE_INT, "count", NULL},
    {"mean", KINO_TYPE_DURATION, NULL, NULL},
    {"max", KINO_TYPE_DURATION, NULL, NULL},
    {"tensor cores", KINO_TYPE_STRING, NULL, "used, judged by its name"},
    {"occupancy", KINO_TYPE_PERCENT, NULL, "estimated, weighted by time"},
    {"blocks per SM", KINO_TYPE_FLOAT, NULL, "below 1: idle multiprocessors"}};

static void add_kernels(kino__report *report, kino__report_numbers *n, named *names)
{
    const kino__table *source = kino__report_table(report, &kino__analysis_kernels, 0);
    if (!source || !n->has_device)
        return;
    groups g = {0};
    make_groups(report, source, &kernel_spec, &g);
    kino__table *out = kino__result_add_table(report->own, "kernels", kernel_columns, 9);
    for (size_t i = 0; i < g.items.count; i++) {
        const group *k = &g.items.items[g.order[i]];
        kino__table_add_text(out, plain_name(k->name));
        add_sum(out, k, K_TOTAL);
        kino__table_add_real(out, kino__share_percent(k->sum[K_TOTAL], g.total));
        add_sum(out, k, K_CALLS);
        kino__table_add_int(out,
                            k->sum[K_CALLS] > 0 ? k->sum[K_TOTAL] / k->sum[K_CALLS] : KINO_NO_INT);
        add_sum(out, k, K_MAX);
        kino__table_add_text(out, k->flag ? KINO__STR("yes") : KINO__STR("no"));
        add_mean(out, k, K_OCCUPANCY);
        add_mean(out, k, K_BLOCKS);
    }
    if (out)
        out->optional = 1u << 7 | 1u << 8;
    kino__report_section *s = kino__report_add_section(report, "kernels", "Kernels", out);
    s->is_brief = true;
    s->brief_limit = TOP_ROWS;
    s->brief_hidden = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;
    if (!s->table)
        s->note = kino__report_why_not(report, &kino__analysis_kernels, "no kernels were recorded");
    for (size_t i = 0; i < g.items.count && i < TOP_ROWS; i++)
        names->names[names->count++] = g.items.items[g.order[i]].name;
    if (g.items.count && g.total > 0) {
        const group *top = &g.items.items[g.order[0]];
        n->kernel = kino__report_copy(report, plain_name(top->name));
        n->kernel_percent = kino__share_percent(top->sum[K_TOTAL], g.total);
    }
    groups_deinit(&g);
}

/* Sets the evidence of the sections and of the sentence about the first kernel or operator. */
static void cite_named(kino__report *report, const kino_run *run, const kino__report_facts *facts,
                       named *names, kino__report_numbers *n)
{
    find_named(run, facts, names);
    size_t used = 0;
    for (size_t i = 0; i < report->sections.count; i++) {
        kino__report_section *s = &report->sections.items[i];
        bool is_kernels = strcmp(s->name, "kernels") == 0;
        if (!is_kernels && strcmp(s->name, "operators") != 0)
            continue;
        int64_t ids[TOP_ROWS];
        size_t count = 0, rows = s->table ? kino__table_row_count(s->table) : 0;
        for (size_t k = 0; k < rows && k < TOP_ROWS && used < names->count; k++, used++) {
            kino__longest *l = &names->longest[used];
            if (l->count)
                ids[count++] = l->id[0];
            if (k == 0 && is_kernels)
                n->kernel_evidence = kino__report_evidence(report, l->id, l->count);
            else if (k == 0)
                n->op_evidence = kino__report_evidence(report, l->id, l->count);
        }
        s->evidence = kino__report_evidence(report, ids, count);
    }
}

void kino__report_top(kino__report *report, const kino_run *run, const kino__report_facts *facts,
                      kino__report_numbers *numbers)
{
    named names = {0};
    add_operators(report, run, facts, numbers, &names);
    add_kernels(report, numbers, &names);
    cite_named(report, run, facts, &names, numbers);
}
