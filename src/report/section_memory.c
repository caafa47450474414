/* section_memory.c - the peaks of memory, the operators that allocate most, and the curve. */
#include "analysis/columns.h"
#include "report/report_internal.h"

/* The device with the highest peak; a GPU before the CPU. */
static int64_t find_peak(kino__report *report, const kino__table *peaks, kino__report_numbers *n)
{
    int64_t best_rank = KINO_NO_INT;
    for (size_t i = 0; i < kino__table_row_count(peaks); i++) {
        int64_t peak = kino__table_int(peaks, i, KINO__PEAKS_ALLOCATED);
        kino_str name = kino__table_text(peaks, i, KINO__PEAKS_DEVICE);
        if (peak == KINO_NO_INT || !name.size)
            continue;
        bool is_cpu = kino__str_is(name, "CPU"), had_cpu = kino__str_is(n->memory_device, "CPU");
        if (n->memory_device.size && (is_cpu == had_cpu ? peak <= n->memory_peak : is_cpu))
            continue;
        int64_t id = kino__table_int(peaks, i, KINO__PEAKS_EVENT);
        n->memory_device = kino__report_copy(report, name);
        n->memory_peak = peak;
        n->memory_total = kino__table_int(peaks, i, KINO__PEAKS_TOTAL);
        n->memory_evidence = kino__report_evidence(report, &id, id != KINO_NO_INT);
        best_rank = kino__table_int(peaks, i, KINO__PEAKS_RANK);
    }
    return best_rank;
}

void kino__report_section_memory(const kino__report_input *in)
{
    kino__report *report = in->report;
    const kino__report_facts *facts = in->facts;
    kino__report_numbers *n = in->numbers;
    static const kino__shown_column columns[] = {{KINO__PEAKS_RANK, "rank"},
                                                 {KINO__PEAKS_DEVICE, "device"},
                                                 {KINO__PEAKS_ALLOCATED, "peak"},
                                                 {KINO__PEAKS_TOTAL, "of"},
                                                 {KINO__PEAKS_PERCENT, "share"},
                                                 {KINO__PEAKS_RESERVED, "reserved"},
                                                 {KINO__PEAKS_OPERATOR, "reached by"},
                                                 {KINO__PEAKS_TIME, "at"},
                                                 {0}};
    static const kino__shown_column op_columns[] = {
        {KINO__STATISTICS_DEVICE, "device"},
        {KINO__STATISTICS_OPERATOR, "operator"},
        {KINO__STATISTICS_SELF_SIZE, "allocated itself"},
        {KINO__STATISTICS_SELF_COUNT, "allocations"},
        {KINO__STATISTICS_SELF_INCREASE, "kept"},
        {KINO__STATISTICS_SIZE, "allocated below"},
        {KINO__STATISTICS_CALLS, "calls"},
        {0}};
    const kino__table *peaks =
        kino__report_table(report, &kino__analysis_memory, KINO__MEMORY_PEAKS);
    const kino__table *stats =
        kino__report_table(report, &kino__analysis_memory, KINO__MEMORY_STATISTICS);
    bool has_records = false, is_one = facts->ranks.count == 1;
    for (size_t i = 0; i < facts->ranks.count; i++)
        has_records |= facts->ranks.items[i].has_memory;
    if (!peaks || !kino__report_has_events(in))
        return;
    int64_t rank = find_peak(report, peaks, n);
    report->memory = (kino__report_curve){
        kino__report_table(report, &kino__analysis_memory, KINO__MEMORY_CURVE), KINO__CURVE_RANK,
        KINO__CURVE_DEVICE, KINO__CURVE_TIME, KINO__CURVE_ALLOCATED};
    kino__table *out = kino__report_copy_table(
        report, peaks, "memory", columns, (kino__row_filter){KINO_NO_INT, KINO__PEAKS_ALLOCATED});
    kino__report_section *s = kino__report_add_section(report, "memory", "Memory", out);
    s->is_brief = is_one || !out || kino__table_row_count(out) == 0;
    s->brief_limit = 4;
    s->brief_hidden = 1u << (is_one ? 6 : 7);
    s->evidence = n->memory_evidence;
    if (!s->table && !has_records)
        s->note = KINO__STR("no records: profile with profile_memory=True");
    else if (!s->table)
        s->note = KINO__STR("no peak: the records have no totals (PyTorch before 1.10)");
    if (stats)
        (void)kino__report_add_section(
            report, "memory-operators",
            is_one ? "Memory by operator" : "Memory by operator, on the rank with the highest peak",
            kino__report_copy_table(
                report, stats, "memory_operators", op_columns,
                (kino__row_filter){is_one ? KINO_NO_INT : rank, KINO__ANY_COLUMN}));
}
