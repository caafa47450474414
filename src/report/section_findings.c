/* section_findings.c - what to do: the recommendations, which are cards and not a table. */
#include "analysis/columns.h"
#include "report/report_internal.h"
#include "rule/rule.h"

static kino_str text_of(kino__report *report, const kino__table *table, size_t row, size_t column)
{
    return kino__report_copy(report, kino__table_text(table, row, column));
}

static kino__id_list ids_of(kino__report *report, const kino__table *table, size_t row,
                            size_t column)
{
    kino__id_list list = kino__table_ids(table, row, column);
    return kino__report_evidence(report, list.ids, list.count);
}

void kino__report_section_findings(const kino__report_input *in)
{
    kino__report *report = in->report;
    kino__report_numbers *n = in->numbers;
    const kino__table *table = kino__report_table(report, &kino__analysis_recommendations, 0);
    for (size_t i = 0; table && i < kino__table_row_count(table); i++) {
        kino__report_finding *f = kino__vec_add(&report->findings);
        if (!f) {
            kino__report_fail(report);
            return;
        }
        *f = (kino__report_finding){.rule = text_of(report, table, i, KINO__ADVICE_RULE),
                                    .severity = text_of(report, table, i, KINO__ADVICE_SEVERITY),
                                    .title = text_of(report, table, i, KINO__ADVICE_TITLE),
                                    .seen = text_of(report, table, i, KINO__ADVICE_SEEN),
                                    .why = text_of(report, table, i, KINO__ADVICE_WHY),
                                    .todo = text_of(report, table, i, KINO__ADVICE_DO),
                                    .gain_percent = kino__table_real(table, i, KINO__ADVICE_GAIN),
                                    .ranks = ids_of(report, table, i, KINO__ADVICE_RANKS),
                                    .evidence = ids_of(report, table, i, KINO__ADVICE_EVIDENCE)};
        int64_t rank = kino__table_int(table, i, KINO__ADVICE_RANK);
        if (n->trace_count > 1 && rank != KINO_NO_INT)
            f->whose = kino__report_format(report, "rank %lld's step", (long long)rank);
        bool is_slow = kino__str_is(f->rule, kino__rule_straggler.name);
        if (is_slow) {
            n->slow_title = f->title;
            n->slow_seen = f->seen;
            n->slow_evidence = f->evidence;
        }
        if (i == 0 && !kino__str_is(f->severity, kino__severity_name(KINO__SEVERITY_INFO))) {
            n->advice = f->title;
            n->advice_whose = f->whose;
            n->advice_is_slow = is_slow;
            n->advice_gain = f->gain_percent;
            n->advice_evidence = f->evidence;
        }
    }
}
