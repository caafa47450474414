/* section_steps.c - every step with its parts. */
#include "report/report_internal.h"

void kino__report_section_steps(const kino__report_input *in)
{
    kino__report *report = in->report;
    const kino__report_facts *facts = in->facts;
    kino_column columns[3 + KINO__ROLE_COUNT] = {{"rank", KINO_TYPE_STRING, NULL, NULL},
                                                 {"step", KINO_TYPE_STRING, NULL, NULL},
                                                 {"time", KINO_TYPE_DURATION, NULL, NULL}};
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        columns[3 + r] =
            (kino_column){kino__role_name((kino__role)r), KINO_TYPE_DURATION, NULL, NULL};
    if (facts->steps.count < 2)
        return;
    kino__table *out = kino__result_add_table(report->own, "steps", columns, 3 + KINO__ROLE_COUNT);
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__rank_fact *rank = &facts->ranks.items[i];
        for (size_t k = 0; k < rank->step_count; k++) {
            const kino__step_fact *step = &facts->steps.items[rank->first_step + k];
            KINO__TABLE_ADD(out, kino__rank_label(report, rank), step->name, step->time);
            for (int r = 0; r < KINO__ROLE_COUNT; r++)
                kino__table_add_int(out, step->part[r]);
        }
    }
    if (out) {
        out->optional = 0x7f8;
        out->hidden = facts->ranks.count == 1;
    }
    kino__report_section *s = kino__report_add_section(report, "steps", "Steps", out);
    s->evidence = report->step.evidence;
}
