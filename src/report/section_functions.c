/* section_functions.c - functions by samples of the CPU, Python's by their own samples, and where
 * threads were not running. */
#include "analysis/columns.h"
#include "report/report_internal.h"

static void add_python(const kino__report_input *in)
{
    static const kino__shown_column columns[] = {
        {KINO__PYTHON_FUNCTION, "function"},   {KINO__PYTHON_SELF, "itself"},
        {KINO__PYTHON_SELF_PERCENT, "share"},  {KINO__PYTHON_TOTAL, "with what it calls"},
        {KINO__PYTHON_TOTAL_PERCENT, "share"}, {0}};
    const kino__table *functions =
        kino__report_table(in->report, &kino__analysis_functions, KINO__FUNCTIONS_OF_PYTHON);
    if (!functions || kino__table_row_count(functions) == 0)
        return;
    kino__report_section *s =
        kino__report_add_section(in->report, "python_functions", "Python functions, by samples",
                                 kino__report_copy_table(in->report, functions, "python_functions",
                                                         columns, kino__all_rows));
    s->is_brief = true;
    s->brief_limit = 8;
}

static void add_native(const kino__report_input *in)
{
    kino__report *report = in->report;
    kino__report_numbers *n = in->numbers;
    static const kino__shown_column columns[] = {{KINO__FUNCTIONS_FUNCTION, "function"},
                                                 {KINO__FUNCTIONS_MODULE, "in"},
                                                 {KINO__FUNCTIONS_SELF, "itself"},
                                                 {KINO__FUNCTIONS_SELF_PERCENT, "share"},
                                                 {KINO__FUNCTIONS_TOTAL, "with what it calls"},
                                                 {KINO__FUNCTIONS_FILE, "file"},
                                                 {0}};
    static const kino__shown_column wait_columns[] = {{KINO__WAITS_FUNCTION, "function"},
                                                      {KINO__WAITS_CALL, "system call"},
                                                      {KINO__WAITS_STATE, "state"},
                                                      {KINO__WAITS_TIME, "time"},
                                                      {KINO__WAITS_COUNT, "times"},
                                                      {KINO__WAITS_LONGEST, "longest"},
                                                      {KINO__WAITS_FILE, "file"},
                                                      {KINO__WAITS_LINE, "line"},
                                                      {0}};
    const kino__table *functions =
        kino__report_table(report, &kino__analysis_functions, KINO__FUNCTIONS_OF_FUNCTIONS);
    const kino__table *waits =
        kino__report_table(report, &kino__analysis_functions, KINO__FUNCTIONS_OF_WAITS);
    if (!functions || kino__table_row_count(functions) + kino__table_row_count(waits) == 0)
        return;
    kino__report_section *s = kino__report_add_section(
        report, "functions", "Functions, by CPU samples",
        kino__report_copy_table(report, functions, "functions", columns, kino__all_rows));
    s->is_brief = true;
    s->brief_limit = 8;
    s->brief_hidden = 1u << 5;
    if (!s->table)
        s->note = KINO__STR("no samples were taken while the program ran");
    else if (kino__table_cell(functions, 0, KINO__FUNCTIONS_TOTAL).kind == KINO_CELL_NULL)
        s->note = kino__report_why_not(report, &kino__analysis_functions, "");
    s = kino__report_add_section(
        report, "waits", "Where threads were not running",
        kino__report_copy_table(report, waits, "waits", wait_columns, kino__all_rows));
    s->is_brief = s->table != NULL;
    s->brief_limit = 5;
    s->brief_hidden = 3u << 6;
    kino_str name = kino__table_text(functions, 0, KINO__FUNCTIONS_FUNCTION);
    if (kino__table_row_count(functions)) {
        n->function = kino__report_copy(report, name);
        n->function_percent = kino__table_real(functions, 0, KINO__FUNCTIONS_SELF_PERCENT);
    }
    n->has_samples = true;
}

void kino__report_section_functions(const kino__report_input *in)
{
    add_python(in);
    add_native(in);
}
