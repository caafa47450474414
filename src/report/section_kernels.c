/* section_kernels.c - the largest kernels. */
#include "analysis/columns.h"
#include "report/report_groups.h"

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

static const kino__name_group_spec kernel_spec = {
    .name = KINO__KERNELS_NAME,
    .sums = {KINO__KERNELS_CALLS, KINO__KERNELS_TOTAL, KINO__KERNELS_MAX, KINO__KERNELS_MIN,
             KINO__NO_COLUMN},
    .how = {0, 0, '>', '<'},
    .means = {KINO__KERNELS_BLOCKS_PER_SM, KINO__KERNELS_OCCUPANCY, KINO__NO_COLUMN},
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

void kino__report_section_kernels(const kino__report_input *in)
{
    kino__report *report = in->report;
    kino__report_numbers *n = in->numbers;
    const kino__table *source = kino__report_table(report, &kino__analysis_kernels, 0);
    if (!source || !n->has_device || !kino__report_has_events(in))
        return;
    kino__name_groups g = {0};
    kino__name_groups_make(report, source, &kernel_spec, &g);
    kino__table *out = kino__result_add_table(report->own, "kernels", kernel_columns, 9);
    for (size_t i = 0; i < g.items.count; i++) {
        const kino__name_group *k = &g.items.items[g.order[i]];
        kino__table_add_text(out, plain_name(k->name));
        kino__name_group_add_sum(out, k, K_TOTAL);
        kino__table_add_real(out, kino__share_percent(k->sum[K_TOTAL], g.total));
        kino__name_group_add_sum(out, k, K_CALLS);
        kino__table_add_int(out,
                            k->sum[K_CALLS] > 0 ? k->sum[K_TOTAL] / k->sum[K_CALLS] : KINO_NO_INT);
        kino__name_group_add_sum(out, k, K_MAX);
        kino__table_add_text(out, k->flag ? KINO__STR("yes") : KINO__STR("no"));
        kino__name_group_add_mean(out, k, K_OCCUPANCY);
        kino__name_group_add_mean(out, k, K_BLOCKS);
    }
    if (out)
        out->optional = 1u << 7 | 1u << 8;
    kino__report_section *s = kino__report_add_section(report, "kernels", "Kernels", out);
    s->is_brief = true;
    s->brief_limit = KINO__TOP_ROWS;
    s->brief_hidden = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;
    if (!s->table)
        s->note = kino__report_why_not(report, &kino__analysis_kernels, "no kernels were recorded");
    n->kernel_evidence = kino__name_groups_cite(in, &g, s);
    if (g.items.count && g.total > 0) {
        const kino__name_group *top = &g.items.items[g.order[0]];
        n->kernel = kino__report_copy(report, plain_name(top->name));
        n->kernel_percent = kino__share_percent(top->sum[K_TOTAL], g.total);
    }
    kino__name_groups_deinit(&g);
}
