/* report_tables.c - the list of sections, and what they share: tables for people from the tables of
 * the analyses. What an analysis does not give becomes a section that says why. */
#include <assert.h>

#include "analysis/columns.h"
#include "report/report_internal.h"

kino__report_section *kino__report_add_section(kino__report *report, const char *name,
                                               const char *title, const kino__table *table)
{
    kino__report_section *slot = kino__vec_add(&report->sections);
    if (!slot) {
        kino__report_fail(report);
        return &report->nowhere;
    }
    bool has_rows = table && kino__table_row_count(table) > 0;
    *slot = (kino__report_section){.name = name, .title = title, .table = has_rows ? table : NULL};
    return slot;
}

kino_str kino__report_why_not(kino__report *report, const kino__analysis_def *def,
                              const char *otherwise)
{
    const kino_result *result = kino__report_result_of(report, def);
    for (size_t k = 0; result && k < result->notes.count; k++)
        if (result->notes.items[k].hint.code == KINO_HINT_LACKS)
            return kino__report_copy(report, kino__str_from(result->notes.items[k].text));
    return kino__report_copy(report, kino__str_from(otherwise));
}

/* -- tables as the analyses have them -- */

/* Tables that have ranks have them first. */
enum { RANK = 0 };
static_assert(KINO__GPUS_RANK == 0 && KINO__PEAKS_RANK == 0 && KINO__STATISTICS_RANK == 0 &&
                  KINO__MODULES_RANK == 0 && KINO__COMMUNICATION_OPS_RANK == 0 &&
                  KINO__CHECKED_RANK == 0,
              "the rank is the first column");

static bool is_wanted(const kino__table *source, size_t row, const kino__row_filter *filter)
{
    if (filter->needs != KINO__ANY_COLUMN &&
        kino__table_cell(source, row, filter->needs).kind == KINO_CELL_NULL)
        return false;
    return filter->rank == KINO_NO_INT || kino__table_int(source, row, RANK) == filter->rank;
}

kino__table *kino__report_copy_table(kino__report *report, const kino__table *source,
                                     const char *name, const kino__shown_column *shown,
                                     kino__row_filter filter)
{
    enum { MOST = 16 };
    kino_column columns[MOST] = {{0}};
    size_t from[MOST], count = 0, rows = kino__table_row_count(source);
    for (; shown->title && count < MOST; shown++) {
        if (shown->column == RANK && (filter.rank != KINO_NO_INT || (source->hidden & 1)))
            continue;
        columns[count] = source->columns[shown->column];
        columns[count].name = shown->title;
        from[count++] = shown->column;
    }
    kino__table *out = kino__result_add_table(report->own, name, columns, count);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count && is_wanted(source, row, &filter); i++)
            kino__table_add(out, kino__table_cell(source, row, from[i]));
    if (out)
        out->optional = UINT64_MAX - 1;
    return out;
}

const kino__row_filter kino__all_rows = {KINO_NO_INT, KINO__ANY_COLUMN};

/* -- the list -- */

void kino__report_sections(const kino__report_input *in)
{
#define SECTION(name) kino__report_section_##name(in);
#include "report/sections.def"
#undef SECTION
}
