/* section_operators.c - the largest operators, by their time on the device or on the host. */
#include "analysis/columns.h"
#include "report/report_groups.h"

enum { OP_CALLS, OP_DEVICE_SELF, OP_DEVICE_TOTAL, OP_HOST_SELF, OP_HOST_TOTAL };

static const kino__name_group_spec device_ops = {
    .name = KINO__OPERATORS_NAME,
    .sums = {KINO__OPERATORS_CALLS, KINO__OPERATORS_DEVICE_SELF, KINO__OPERATORS_DEVICE_TOTAL,
             KINO__OPERATORS_HOST_SELF, KINO__OPERATORS_HOST_TOTAL, KINO__NO_COLUMN},
    .means = {KINO__NO_COLUMN},
    .flag = KINO__NO_COLUMN,
    .key = OP_DEVICE_SELF};

static void add_device_operators(kino__table *out, const kino__name_groups *g)
{
    for (size_t i = 0; i < g->items.count; i++) {
        const kino__name_group *op = &g->items.items[g->order[i]];
        kino__table_add_text(out, op->name);
        kino__name_group_add_sum(out, op, OP_DEVICE_SELF);
        kino__table_add_real(out, kino__share_percent(op->sum[OP_DEVICE_SELF], g->total));
        kino__name_group_add_sum(out, op, OP_CALLS);
        kino__name_group_add_sum(out, op, OP_HOST_SELF);
        kino__name_group_add_sum(out, op, OP_DEVICE_TOTAL);
        kino__name_group_add_sum(out, op, OP_HOST_TOTAL);
    }
}

static void add_host_operators(kino__table *out, const kino__name_groups *g)
{
    for (size_t i = 0; i < g->items.count; i++) {
        const kino__name_group *op = &g->items.items[g->order[i]];
        kino__table_add_text(out, op->name);
        kino__name_group_add_sum(out, op, OP_HOST_SELF);
        kino__table_add_real(out, kino__share_percent(op->sum[OP_HOST_SELF], g->total));
        kino__name_group_add_sum(out, op, OP_CALLS);
        kino__name_group_add_sum(out, op, OP_HOST_TOTAL);
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

void kino__report_section_operators(const kino__report_input *in)
{
    kino__report *report = in->report;
    kino__report_numbers *n = in->numbers;
    const kino__table *source = kino__report_table(report, &kino__analysis_operators, 0);
    if (!source || !kino__report_has_events(in) ||
        (kino__table_row_count(source) == 0 && kino__report_ranges(report, in->facts)))
        return;
    kino__name_groups g = {0};
    kino__name_groups_make(report, source, &device_ops, &g);
    bool by_device = n->has_device && g.total > 0;
    if (!by_device) {
        kino__name_groups_deinit(&g);
        g = (kino__name_groups){0};
        kino__name_group_spec host_ops = device_ops;
        host_ops.key = OP_HOST_SELF;
        kino__name_groups_make(report, source, &host_ops, &g);
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
    s->brief_limit = KINO__TOP_ROWS;
    s->brief_hidden = by_device ? 1u << 5 | 1u << 6 : 0;
    if (!s->table)
        s->note =
            kino__report_why_not(report, &kino__analysis_operators, "no operators were recorded");
    n->op_evidence = kino__name_groups_cite(in, &g, s);
    if (g.items.count && g.total > 0 && !by_device) {
        const kino__name_group *top = &g.items.items[g.order[0]];
        n->op = kino__report_copy(report, top->name);
        n->op_percent = kino__share_percent(top->sum[OP_HOST_SELF], g.total);
    }
    kino__name_groups_deinit(&g);
}
