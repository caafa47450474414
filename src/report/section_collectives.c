/* section_collectives.c - the collectives of each rank. */
#include "analysis/columns.h"
#include "report/report_internal.h"

void kino__report_section_collectives(const kino__report_input *in)
{
    kino__report *report = in->report;
    static const kino__shown_column columns[] = {{KINO__COMMUNICATION_OPS_RANK, "rank"},
                                                 {KINO__COMMUNICATION_OPS_NAME, "collective"},
                                                 {KINO__COMMUNICATION_OPS_CALLS, "calls"},
                                                 {KINO__COMMUNICATION_OPS_SIZE, "bytes"},
                                                 {KINO__COMMUNICATION_OPS_LATENCY, "time"},
                                                 {KINO__COMMUNICATION_OPS_TRANSFER, "transfer"},
                                                 {0}};
    const kino__table *source =
        kino__report_table(report, &kino__analysis_distributed, KINO__DISTRIBUTED_OPS);
    if (source && kino__table_row_count(source))
        (void)kino__report_add_section(
            report, "collectives", "Collectives",
            kino__report_copy_table(report, source, "collectives", columns, kino__all_rows));
}
