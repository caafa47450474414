/* section_devices.c - how busy the devices were. */
#include "analysis/columns.h"
#include "report/report_internal.h"

/* With several ranks the first screen has them in the table of ranks. */
void kino__report_section_devices(const kino__report_input *in)
{
    kino__report *report = in->report;
    const kino__report_facts *facts = in->facts;
    static const kino__shown_column columns[] = {{KINO__GPUS_RANK, "rank"},
                                                 {KINO__GPUS_DEVICE, "device"},
                                                 {KINO__GPUS_NAME, "name"},
                                                 {KINO__GPUS_UTILIZATION, "busy"},
                                                 {KINO__GPUS_SM_EFFICIENCY, "SM efficiency"},
                                                 {KINO__GPUS_OCCUPANCY, "occupancy"},
                                                 {KINO__GPUS_TENSOR_CORES, "tensor cores"},
                                                 {0}};
    const kino__table *source =
        kino__report_table(report, &kino__analysis_overview, KINO__OVERVIEW_GPUS);
    if (!kino__report_has_events(in) || !source || kino__table_row_count(source) == 0)
        return;
    kino__table *out = kino__report_copy_table(report, source, "devices", columns, kino__all_rows);
    kino__report_section *s = kino__report_add_section(report, "devices", "Devices", out);
    s->is_brief = facts->ranks.count == 1;
    s->brief_limit = 4;
}
