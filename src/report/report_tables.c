/* report_tables.c - the sections of a report: tables for people from the tables of the analyses,
 * read by the names of their columns.
 *
 * An analysis gives rows for each rank; people want the run, so rows of the same name are added up.
 * What an analysis does not give becomes a section that says why. */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
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

kino_str kino__report_why_not(kino__report *report, const char *analysis, const char *otherwise)
{
    for (size_t i = 0; i < report->results.count; i++) {
        const kino_result *result = report->results.items[i];
        for (size_t k = 0; strcmp(result->name, analysis) == 0 && k < result->notes.count; k++)
            if (strstr(result->notes.items[k], "not available"))
                return kino__report_copy(report, kino__str_from(result->notes.items[k]));
    }
    return kino__report_copy(report, kino__str_from(otherwise));
}

/* -- devices, memory, modules: tables as the analyses have them -- */

typedef struct shown_column {
    const char *name;  /* in the analysis' table; NULL ends the list */
    const char *title; /* for people */
} shown_column;

/* Which rows: those of one rank, or with a value in a column. */
typedef struct row_filter {
    int64_t rank;      /* KINO_NO_INT: of all */
    const char *needs; /* NULL: nothing */
} row_filter;

static bool is_wanted(const kino__table *source, size_t row, const row_filter *filter)
{
    if (filter->needs &&
        kino__table_cell(source, row, kino__table_column(source, filter->needs)).kind ==
            KINO_CELL_NULL)
        return false;
    if (filter->rank == KINO_NO_INT)
        return true;
    kino_cell rank = kino__table_cell(source, row, kino__table_column(source, "rank"));
    return rank.kind == KINO_CELL_INT && rank.value.integer == filter->rank;
}

/* A table of an analysis with some of its columns and rows; columns that are not there are left
 * out. */
static kino__table *copy_table(kino__report *report, const kino__table *source, const char *name,
                               const shown_column *shown, row_filter filter)
{
    enum { MOST = 16 };
    kino_column columns[MOST] = {{0}};
    size_t from[MOST], count = 0, rows = kino__table_row_count(source);
    for (; shown->name && count < MOST; shown++) {
        size_t column = kino__table_column(source, shown->name);
        bool is_hidden_rank =
            strcmp(shown->name, "rank") == 0 &&
            (filter.rank != KINO_NO_INT || (column < 64 && (source->hidden >> column & 1)));
        if (column == SIZE_MAX || is_hidden_rank)
            continue;
        columns[count] = source->columns[column];
        columns[count].name = shown->title;
        from[count++] = column;
    }
    kino__table *out = kino__result_add_table(report->own, name, columns, count);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count && is_wanted(source, row, &filter); i++)
            kino__table_add(out, kino__table_cell(source, row, from[i]));
    if (out)
        out->optional = UINT64_MAX - 1;
    return out;
}

static const row_filter all_rows = {KINO_NO_INT, NULL};

/* With several ranks the first screen has them in the table of ranks. */
static void add_devices(kino__report *report, const kino__report_facts *facts)
{
    static const shown_column columns[] = {{"rank", "rank"},
                                           {"device", "device"},
                                           {"name", "name"},
                                           {"gpu_utilization", "busy"},
                                           {"est_sm_efficiency", "SM efficiency"},
                                           {"est_achieved_occupancy", "occupancy"},
                                           {"kernel_time_using_tensor_cores", "tensor cores"},
                                           {0}};
    const kino__table *source = kino__report_table(report, "overview", "gpu_summary");
    if (!source || kino__table_row_count(source) == 0)
        return;
    kino__table *out = copy_table(report, source, "devices", columns, all_rows);
    kino__report_section *s = kino__report_add_section(report, "devices", "Devices", out);
    s->is_brief = facts->ranks.count == 1;
    s->brief_limit = 4;
}

/* The device with the highest peak; a GPU before the CPU. */
static int64_t find_peak(kino__report *report, const kino__table *peaks, kino__report_numbers *n)
{
    size_t peak = kino__table_column(peaks, "peak_allocated");
    size_t device = kino__table_column(peaks, "device_name");
    int64_t best_rank = KINO_NO_INT;
    for (size_t i = 0; i < kino__table_row_count(peaks); i++) {
        kino_cell value = kino__table_cell(peaks, i, peak);
        kino_cell name = kino__table_cell(peaks, i, device);
        if (value.kind != KINO_CELL_INT || name.kind != KINO_CELL_TEXT)
            continue;
        bool is_cpu = kino__str_is(name.value.text, "CPU");
        bool had_cpu = kino__str_is(n->memory_device, "CPU");
        if (n->memory_device.size &&
            (is_cpu == had_cpu ? value.value.integer <= n->memory_peak : is_cpu))
            continue;
        kino_cell of = kino__table_cell(peaks, i, kino__table_column(peaks, "total_memory"));
        kino_cell id = kino__table_cell(peaks, i, kino__table_column(peaks, "event_id"));
        kino_cell rank = kino__table_cell(peaks, i, kino__table_column(peaks, "rank"));
        n->memory_device = kino__report_copy(report, name.value.text);
        n->memory_peak = value.value.integer;
        n->memory_total = of.kind == KINO_CELL_INT ? of.value.integer : KINO_NO_INT;
        n->memory_evidence =
            kino__report_evidence(report, &id.value.integer, id.kind == KINO_CELL_INT);
        best_rank = rank.kind == KINO_CELL_INT ? rank.value.integer : KINO_NO_INT;
    }
    return best_rank;
}

static void add_memory(kino__report *report, const kino__report_facts *facts,
                       kino__report_numbers *n)
{
    static const shown_column columns[] = {
        {"rank", "rank"},           {"device_name", "device"}, {"peak_allocated", "peak"},
        {"total_memory", "of"},     {"peak_percent", "share"}, {"peak_reserved", "reserved"},
        {"operator", "reached by"}, {"peak_time", "at"},       {0}};
    static const shown_column op_columns[] = {{"device_name", "device"},
                                              {"operator_name", "operator"},
                                              {"self_allocation_size", "allocated itself"},
                                              {"self_allocation_count", "allocations"},
                                              {"self_size_increase", "kept"},
                                              {"allocation_size", "allocated below"},
                                              {"calls", "calls"},
                                              {0}};
    const kino__table *peaks = kino__report_table(report, "memory", "memory_peaks");
    const kino__table *stats = kino__report_table(report, "memory", "memory_statistics");
    bool has_records = false, is_one = facts->ranks.count == 1;
    for (size_t i = 0; i < facts->ranks.count; i++)
        has_records |= facts->ranks.items[i].has_memory;
    if (!peaks)
        return;
    int64_t rank = find_peak(report, peaks, n);
    kino__table *out =
        copy_table(report, peaks, "memory", columns, (row_filter){KINO_NO_INT, "peak_allocated"});
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
            copy_table(report, stats, "memory_operators", op_columns,
                       (row_filter){is_one ? KINO_NO_INT : rank, NULL}));
}

/* Ranks have the same modules: the first one stands for them. */
static void add_modules(kino__report *report, const kino__report_facts *facts)
{
    static const shown_column columns[] = {{"name", "module"},
                                           {"occurrences", "calls"},
                                           {"operators", "operators"},
                                           {"device_duration", "device total"},
                                           {"self_device_duration", "device self"},
                                           {"host_duration", "host total"},
                                           {"self_host_duration", "host self"},
                                           {"depth", "depth"},
                                           {0}};
    const kino__table *source = kino__report_table(report, "modules", "modules");
    if (!source || kino__table_row_count(source) == 0)
        return;
    bool is_one = facts->ranks.count == 1;
    row_filter filter = {is_one ? KINO_NO_INT : facts->ranks.items[0].rank, NULL};
    kino__table *out = copy_table(report, source, "modules", columns, filter);
    size_t depth = out ? kino__table_column(out, "depth") : SIZE_MAX;
    for (size_t i = 0; depth != SIZE_MAX && i < kino__table_row_count(out); i++) {
        kino_cell level = kino__table_cell(out, i, depth);
        kino_cell *cell = &out->cells.items[i * out->column_count];
        if (level.kind != KINO_CELL_INT || level.value.integer <= 0 || cell->kind != KINO_CELL_TEXT)
            continue;
        int blanks = level.value.integer > 20 ? 40 : (int)level.value.integer * 2;
        cell->value.text =
            kino__report_format(report, "%*s%.*s", blanks, "", KINO__STR_ARG(cell->value.text));
    }
    if (depth < 64)
        out->hidden |= 1ull << depth;
    kino__report_section *s = kino__report_add_section(report, "modules", "Modules", out);
    if (!is_one)
        s->note = kino__report_format(
            report, "of %.*s", KINO__STR_ARG(kino__rank_label(report, &facts->ranks.items[0])));
}

/* -- functions of the CPU -- */

static bool add_functions(kino__report *report, kino__report_numbers *n)
{
    static const shown_column columns[] = {{"function", "function"},
                                           {"module", "in"},
                                           {"self", "itself"},
                                           {"self_percent", "share"},
                                           {"total", "with what it calls"},
                                           {"file", "file"},
                                           {0}};
    static const shown_column wait_columns[] = {
        {"function", "function"}, {"call", "system call"}, {"state", "state"},
        {"time", "time"},         {"count", "times"},      {"longest", "longest"},
        {"file", "file"},         {"line", "line"},        {0}};
    const kino__table *functions = kino__report_table(report, "functions", "functions");
    const kino__table *waits = kino__report_table(report, "functions", "waits");
    if (!functions || kino__table_row_count(functions) + kino__table_row_count(waits) == 0)
        return false;
    kino__report_section *s =
        kino__report_add_section(report, "functions", "Functions, by CPU samples",
                                 copy_table(report, functions, "functions", columns, all_rows));
    s->is_brief = true;
    s->brief_limit = 8;
    s->brief_hidden = 1u << 5;
    if (!s->table)
        s->note = KINO__STR("no samples were taken while the program ran");
    else if (kino__table_cell(functions, 0, kino__table_column(functions, "total")).kind ==
             KINO_CELL_NULL)
        s->note = kino__report_why_not(report, "functions", "");
    s = kino__report_add_section(report, "waits", "Where threads were not running",
                                 copy_table(report, waits, "waits", wait_columns, all_rows));
    s->is_brief = s->table != NULL;
    s->brief_limit = 5;
    s->brief_hidden = 3u << 6;
    kino_cell name = kino__table_cell(functions, 0, kino__table_column(functions, "function"));
    if (kino__table_row_count(functions) && name.kind == KINO_CELL_TEXT) {
        n->function = kino__report_copy(report, name.value.text);
        n->function_percent =
            kino__table_cell(functions, 0, kino__table_column(functions, "self_percent"))
                .value.real;
    }
    return true;
}

/* -- ranks and communication -- */

/* Averages of a worker are the rows of the step "all". */
static int64_t average_of(const kino__table *table, int64_t rank, const char *column)
{
    size_t at = table ? kino__table_column(table, column) : SIZE_MAX;
    if (at == SIZE_MAX)
        return KINO_NO_INT;
    size_t ranks = kino__table_column(table, "rank"), steps = kino__table_column(table, "step");
    for (size_t i = 0; i < kino__table_row_count(table); i++) {
        kino_cell r = kino__table_cell(table, i, ranks), s = kino__table_cell(table, i, steps);
        kino_cell value = kino__table_cell(table, i, at);
        if (r.kind == KINO_CELL_INT && r.value.integer == rank && s.kind == KINO_CELL_TEXT &&
            kino__str_is(s.value.text, "all") && value.kind == KINO_CELL_INT)
            return value.value.integer;
    }
    return KINO_NO_INT;
}

/* What a rank's row is made of. */
typedef struct rank_sums {
    int64_t time, computation, communication, overlap, count;
} rank_sums;

static rank_sums sum_rank(const kino__report_facts *facts, const kino__rank_fact *rank)
{
    rank_sums s = {.count = (int64_t)rank->step_count};
    for (size_t k = 0; k < rank->step_count; k++) {
        const kino__step_fact *step = &facts->steps.items[rank->first_step + k];
        s.time = kino__sum(s.time, step->time);
        s.computation = kino__sum(s.computation, step->computation);
        s.communication = kino__sum(s.communication, step->communication);
        s.overlap = kino__sum(s.overlap, step->overlap);
    }
    return s;
}

/* The busiest device of a rank, in percent; NaN: unknown. */
static double busy_of(const kino__table *devices, int64_t rank)
{
    double busy = NAN;
    size_t ranks = devices ? kino__table_column(devices, "rank") : 0;
    size_t column = devices ? kino__table_column(devices, "gpu_utilization") : 0;
    for (size_t i = 0; devices && i < kino__table_row_count(devices); i++) {
        kino_cell r = kino__table_cell(devices, i, ranks);
        kino_cell value = kino__table_cell(devices, i, column);
        if (r.kind == KINO_CELL_INT && r.value.integer == rank && value.kind == KINO_CELL_FLOAT &&
            !(value.value.real <= busy))
            busy = value.value.real;
    }
    return busy;
}

static void add_rank_row(kino__report *report, kino__table *out, const kino__rank_fact *rank,
                         const rank_sums *s)
{
    const kino__table *waits = kino__report_table(report, "distributed", "communication_overview");
    bool has_any = s->communication > 0;
    if (rank->rank != KINO_NO_INT)
        kino__table_add_format(out, "%lld", (long long)rank->rank);
    else
        kino__table_add_text(out, kino__rank_label(report, rank));
    kino__table_add_int(out, s->time / s->count);
    kino__table_add_int(out, s->computation / s->count);
    kino__table_add_int(out, has_any ? s->communication / s->count : KINO_NO_INT);
    kino__table_add_real(out, has_any ? kino__share_percent(s->overlap, s->communication) : NAN);
    kino__table_add_int(out, has_any ? (s->communication - s->overlap) / s->count : KINO_NO_INT);
    kino__table_add_int(out, average_of(waits, rank->rank, "synchronizing_time"));
    kino__table_add_int(out, average_of(waits, rank->rank, "data_transfer_time"));
    kino__table_add_real(
        out, busy_of(kino__report_table(report, "overview", "gpu_summary"), rank->rank));
}

static void add_ranks(kino__report *report, const kino__report_facts *facts,
                      kino__report_numbers *n)
{
    static const kino_column columns[] = {
        {"rank", KINO_TYPE_STRING, NULL, NULL},
        {"step", KINO_TYPE_DURATION, NULL, "average"},
        {"computation", KINO_TYPE_DURATION, NULL, "kernels other than communication"},
        {"communication", KINO_TYPE_DURATION, NULL, NULL},
        {"hidden", KINO_TYPE_PERCENT, NULL, "communication hidden behind computation"},
        {"exposed", KINO_TYPE_DURATION, NULL, "communication while nothing computes"},
        {"waits", KINO_TYPE_DURATION, NULL, "for other ranks, inside collectives"},
        {"transfer", KINO_TYPE_DURATION, NULL, "time of the fastest participant"},
        {"busy", KINO_TYPE_PERCENT, NULL, "time with a kernel running"}};
    kino__table *out = kino__result_add_table(report->own, "ranks", columns, 9);
    bool has_communication = false;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        rank_sums s = sum_rank(facts, &facts->ranks.items[i]);
        if (s.count)
            add_rank_row(report, out, &facts->ranks.items[i], &s);
        has_communication |= s.communication > 0;
    }
    if (out)
        out->optional = 0x1f8;
    if (facts->ranks.count < 2 && !has_communication)
        return;
    kino__report_section *s = kino__report_add_section(
        report, "ranks",
        facts->ranks.count > 1 ? "Ranks: computation and communication" : "Communication", out);
    s->is_brief = true;
    s->brief_limit = 8;
    s->brief_hidden = 1u << 7;
    s->evidence = n->role[KINO__ROLE_COMMUNICATION];
    if (!has_communication)
        s->note = KINO__STR("no communication was recorded");
}

static void add_collectives(kino__report *report)
{
    static const shown_column columns[] = {{"rank", "rank"},
                                           {"name", "collective"},
                                           {"calls", "calls"},
                                           {"total_size", "bytes"},
                                           {"total_latency", "time"},
                                           {"data_transfer_time", "transfer"},
                                           {0}};
    const kino__table *source = kino__report_table(report, "distributed", "communication_ops");
    if (source && kino__table_row_count(source))
        (void)kino__report_add_section(
            report, "collectives", "Collectives",
            copy_table(report, source, "collectives", columns, all_rows));
}

/* -- steps -- */

static void add_steps(kino__report *report, const kino__report_facts *facts)
{
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
            kino__table_add_text(out, kino__rank_label(report, rank));
            kino__table_add_text(out, step->name);
            kino__table_add_int(out, step->time);
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

/* -- recommendations and checks -- */

static kino_str text_of(kino__report *report, const kino__table *table, size_t row,
                        const char *column)
{
    kino_cell cell = kino__table_cell(table, row, kino__table_column(table, column));
    return cell.kind == KINO_CELL_TEXT ? kino__report_copy(report, cell.value.text)
                                       : (kino_str){"", 0};
}

static void add_findings(kino__report *report, kino__report_numbers *n)
{
    const kino__table *table = kino__report_table(report, "recommendations", "recommendations");
    for (size_t i = 0; table && i < kino__table_row_count(table); i++) {
        kino__report_finding *f = kino__vec_add(&report->findings);
        kino_cell gain = kino__table_cell(table, i, kino__table_column(table, "gain_percent"));
        if (!f) {
            kino__report_fail(report);
            return;
        }
        *f = (kino__report_finding){.rule = text_of(report, table, i, "rule"),
                                    .severity = text_of(report, table, i, "severity"),
                                    .title = text_of(report, table, i, "title"),
                                    .seen = text_of(report, table, i, "seen"),
                                    .why = text_of(report, table, i, "why"),
                                    .todo = text_of(report, table, i, "do"),
                                    .gain_percent =
                                        gain.kind == KINO_CELL_FLOAT ? gain.value.real : NAN,
                                    .ranks = text_of(report, table, i, "ranks"),
                                    .evidence = text_of(report, table, i, "evidence")};
        kino_cell rank = kino__table_cell(table, i, kino__table_column(table, "rank"));
        if (n->trace_count > 1 && rank.kind == KINO_CELL_INT)
            f->whose =
                kino__report_format(report, "rank %lld's step", (long long)rank.value.integer);
        bool is_slow = kino__str_is(f->rule, "straggler");
        if (is_slow) {
            n->slow_title = f->title;
            n->slow_seen = f->seen;
            n->slow_evidence = f->evidence;
        }
        if (i == 0 && !kino__str_is(f->severity, "info")) {
            n->advice = f->title;
            n->advice_whose = f->whose;
            n->advice_is_slow = is_slow;
            n->advice_gain = f->gain_percent;
            n->advice_evidence = f->evidence;
        }
    }
}

static void add_checks(kino__report *report, kino__report_numbers *n)
{
    static const shown_column columns[] = {
        {"rank", "rank"}, {"severity", "severity"}, {"kind", "kind"},   {"count", "count"},
        {"of", "of"},     {"meaning", "meaning"},   {"first", "first"}, {0}};
    const kino__table *table = kino__report_table(report, "completeness", "findings");
    if (!table)
        return;
    size_t severity = kino__table_column(table, "severity");
    n->losses = 0;
    for (size_t i = 0; i < kino__table_row_count(table); i++) {
        kino_cell cell = kino__table_cell(table, i, severity);
        kino_str text = cell.kind == KINO_CELL_TEXT ? cell.value.text : (kino_str){"", 0};
        n->losses += kino__str_is(text, "loss");
        n->damages += kino__str_is(text, "damage");
        n->warnings += kino__str_is(text, "warning");
    }
    if (kino__table_row_count(table))
        (void)kino__report_add_section(
            report, "completeness", "Is the recording complete and valid?",
            copy_table(report, table, "completeness", columns, all_rows));
}

void kino__report_sections(kino__report *report, const kino_run *run,
                           const kino__report_facts *facts, kino__report_numbers *numbers)
{
    add_findings(report, numbers);
    numbers->has_samples = add_functions(report, numbers);
    if (!numbers->has_samples || numbers->events_used) {
        kino__report_top(report, run, facts, numbers);
        add_devices(report, facts);
        add_memory(report, facts, numbers);
    }
    add_ranks(report, facts, numbers);
    add_steps(report, facts);
    add_modules(report, facts);
    add_collectives(report);
    add_checks(report, numbers);
}
