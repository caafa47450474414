/* section_modules.c - the tree of modules with their times. */
#include "analysis/columns.h"
#include "report/report_internal.h"

/* Ranks have the same modules: the first one stands for them. */
void kino__report_section_modules(const kino__report_input *in)
{
    kino__report *report = in->report;
    const kino__report_facts *facts = in->facts;
    enum { DEPTH = 7 }; /* the last one of these */
    static const kino__shown_column columns[] = {{KINO__MODULES_NAME, "module"},
                                                 {KINO__MODULES_CALLS, "calls"},
                                                 {KINO__MODULES_OPERATORS, "operators"},
                                                 {KINO__MODULES_DEVICE, "device total"},
                                                 {KINO__MODULES_SELF_DEVICE, "device self"},
                                                 {KINO__MODULES_HOST, "host total"},
                                                 {KINO__MODULES_SELF_HOST, "host self"},
                                                 {KINO__MODULES_DEPTH, "depth"},
                                                 {0}};
    const kino__table *source = kino__report_table(report, &kino__analysis_modules, 0);
    if (!source || kino__table_row_count(source) == 0)
        return;
    bool is_one = facts->ranks.count == 1;
    kino__row_filter filter = {is_one ? KINO_NO_INT : facts->ranks.items[0].rank, KINO__ANY_COLUMN};
    kino__table *out = kino__report_copy_table(report, source, "modules", columns, filter);
    for (size_t i = 0; out && i < kino__table_row_count(out); i++) {
        int64_t level = kino__table_int(out, i, DEPTH);
        kino_cell *cell = &out->cells.items[i * out->column_count];
        if (level <= 0 || cell->kind != KINO_CELL_TEXT)
            continue;
        int blanks = level > 20 ? 40 : (int)level * 2;
        cell->value.text =
            kino__report_format(report, "%*s%.*s", blanks, "", KINO__STR_ARG(cell->value.text));
    }
    if (out)
        out->hidden |= 1u << DEPTH;
    kino__report_section *s = kino__report_add_section(report, "modules", "Modules", out);
    if (!is_one)
        s->note = kino__report_format(
            report, "of %.*s", KINO__STR_ARG(kino__rank_label(report, &facts->ranks.items[0])));
}
