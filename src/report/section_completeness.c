/* section_completeness.c - is the recording complete and valid? */
#include "analysis/columns.h"
#include "report/report_internal.h"

void kino__report_section_completeness(const kino__report_input *in)
{
    kino__report *report = in->report;
    kino__report_numbers *n = in->numbers;
    static const kino__shown_column columns[] = {
        {KINO__CHECKED_RANK, "rank"},   {KINO__CHECKED_SEVERITY, "severity"},
        {KINO__CHECKED_KIND, "kind"},   {KINO__CHECKED_COUNT, "count"},
        {KINO__CHECKED_OF, "of"},       {KINO__CHECKED_MEANING, "meaning"},
        {KINO__CHECKED_FIRST, "first"}, {0}};
    const kino__table *table = kino__report_table(report, &kino__analysis_completeness, 0);
    if (!table)
        return;
    n->losses = 0;
    for (size_t i = 0; i < kino__table_row_count(table); i++) {
        kino_str text = kino__table_text(table, i, KINO__CHECKED_SEVERITY);
        n->losses += kino__str_is(text, "loss");
        n->damages += kino__str_is(text, "damage");
        n->warnings += kino__str_is(text, "warning");
    }
    if (kino__table_row_count(table))
        (void)kino__report_add_section(
            report, "completeness", "Is the recording complete and valid?",
            kino__report_copy_table(report, table, "completeness", columns, kino__all_rows));
}
