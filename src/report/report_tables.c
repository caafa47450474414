/* report_tables.c - the sections of a report: tables for people from the tables of the analyses.
 *
 * An analysis gives rows for each rank; people want the run, so rows of the same name are added up.
 * What an analysis does not give becomes a section that says why. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "report/report_internal.h"
#include "rule/rule.h"

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
        if (strstr(result->notes.items[k], "not available"))
            return kino__report_copy(report, kino__str_from(result->notes.items[k]));
    return kino__report_copy(report, kino__str_from(otherwise));
}

/* -- devices, memory, modules: tables as the analyses have them -- */

/* Tables that have ranks have them first. */
enum { RANK = 0, ANY = 255 };
static_assert(KINO__GPUS_RANK == 0 && KINO__PEAKS_RANK == 0 && KINO__STATISTICS_RANK == 0 &&
                  KINO__MODULES_RANK == 0 && KINO__COMMUNICATION_OPS_RANK == 0 &&
                  KINO__CHECKED_RANK == 0,
              "the rank is the first column");

typedef struct shown_column {
    size_t column;     /* in the analysis' table */
    const char *title; /* for people; NULL ends the list */
} shown_column;

/* Which rows: those of one rank, or with a value in a column. */
typedef struct row_filter {
    int64_t rank; /* KINO_NO_INT: of all */
    size_t needs; /* ANY: nothing */
} row_filter;

static bool is_wanted(const kino__table *source, size_t row, const row_filter *filter)
{
    if (filter->needs != ANY && kino__table_cell(source, row, filter->needs).kind == KINO_CELL_NULL)
        return false;
    return filter->rank == KINO_NO_INT || kino__table_int(source, row, RANK) == filter->rank;
}

/* A table of an analysis with some of its columns and rows. */
static kino__table *copy_table(kino__report *report, const kino__table *source, const char *name,
                               const shown_column *shown, row_filter filter)
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

static const row_filter all_rows = {KINO_NO_INT, ANY};

/* With several ranks the first screen has them in the table of ranks. */
static void add_devices(kino__report *report, const kino__report_facts *facts)
{
    static const shown_column columns[] = {{KINO__GPUS_RANK, "rank"},
                                           {KINO__GPUS_DEVICE, "device"},
                                           {KINO__GPUS_NAME, "name"},
                                           {KINO__GPUS_UTILIZATION, "busy"},
                                           {KINO__GPUS_SM_EFFICIENCY, "SM efficiency"},
                                           {KINO__GPUS_OCCUPANCY, "occupancy"},
                                           {KINO__GPUS_TENSOR_CORES, "tensor cores"},
                                           {0}};
    const kino__table *source =
        kino__report_table(report, &kino__analysis_overview, KINO__OVERVIEW_GPUS);
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
        best_rank = kino__table_int(peaks, i, RANK);
    }
    return best_rank;
}

static void add_memory(kino__report *report, const kino__report_facts *facts,
                       kino__report_numbers *n)
{
    static const shown_column columns[] = {{KINO__PEAKS_RANK, "rank"},
                                           {KINO__PEAKS_DEVICE, "device"},
                                           {KINO__PEAKS_ALLOCATED, "peak"},
                                           {KINO__PEAKS_TOTAL, "of"},
                                           {KINO__PEAKS_PERCENT, "share"},
                                           {KINO__PEAKS_RESERVED, "reserved"},
                                           {KINO__PEAKS_OPERATOR, "reached by"},
                                           {KINO__PEAKS_TIME, "at"},
                                           {0}};
    static const shown_column op_columns[] = {{KINO__STATISTICS_DEVICE, "device"},
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
    if (!peaks)
        return;
    int64_t rank = find_peak(report, peaks, n);
    report->memory = (kino__report_curve){
        kino__report_table(report, &kino__analysis_memory, KINO__MEMORY_CURVE), KINO__CURVE_RANK,
        KINO__CURVE_DEVICE, KINO__CURVE_TIME, KINO__CURVE_ALLOCATED};
    kino__table *out = copy_table(report, peaks, "memory", columns,
                                  (row_filter){KINO_NO_INT, KINO__PEAKS_ALLOCATED});
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
                       (row_filter){is_one ? KINO_NO_INT : rank, ANY}));
}

/* Ranks have the same modules: the first one stands for them. */
static void add_modules(kino__report *report, const kino__report_facts *facts)
{
    enum { DEPTH = 7 }; /* the last one of these */
    static const shown_column columns[] = {{KINO__MODULES_NAME, "module"},
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
    row_filter filter = {is_one ? KINO_NO_INT : facts->ranks.items[0].rank, ANY};
    kino__table *out = copy_table(report, source, "modules", columns, filter);
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

/* -- functions of the CPU -- */

static bool add_functions(kino__report *report, kino__report_numbers *n)
{
    static const shown_column columns[] = {{KINO__FUNCTIONS_FUNCTION, "function"},
                                           {KINO__FUNCTIONS_MODULE, "in"},
                                           {KINO__FUNCTIONS_SELF, "itself"},
                                           {KINO__FUNCTIONS_SELF_PERCENT, "share"},
                                           {KINO__FUNCTIONS_TOTAL, "with what it calls"},
                                           {KINO__FUNCTIONS_FILE, "file"},
                                           {0}};
    static const shown_column wait_columns[] = {{KINO__WAITS_FUNCTION, "function"},
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
        return false;
    kino__report_section *s =
        kino__report_add_section(report, "functions", "Functions, by CPU samples",
                                 copy_table(report, functions, "functions", columns, all_rows));
    s->is_brief = true;
    s->brief_limit = 8;
    s->brief_hidden = 1u << 5;
    if (!s->table)
        s->note = KINO__STR("no samples were taken while the program ran");
    else if (kino__table_cell(functions, 0, KINO__FUNCTIONS_TOTAL).kind == KINO_CELL_NULL)
        s->note = kino__report_why_not(report, &kino__analysis_functions, "");
    s = kino__report_add_section(report, "waits", "Where threads were not running",
                                 copy_table(report, waits, "waits", wait_columns, all_rows));
    s->is_brief = s->table != NULL;
    s->brief_limit = 5;
    s->brief_hidden = 3u << 6;
    kino_str name = kino__table_text(functions, 0, KINO__FUNCTIONS_FUNCTION);
    if (kino__table_row_count(functions)) {
        n->function = kino__report_copy(report, name);
        n->function_percent = kino__table_real(functions, 0, KINO__FUNCTIONS_SELF_PERCENT);
    }
    return true;
}

/* -- ranks and communication -- */

/* Averages of a worker are the rows of the step "all". */
static int64_t average_of(const kino__table *table, int64_t rank, size_t column)
{
    bool is_known = table && rank != KINO_NO_INT;
    for (size_t i = 0; is_known && i < kino__table_row_count(table); i++) {
        int64_t value = kino__table_int(table, i, column);
        if (value != KINO_NO_INT && kino__table_int(table, i, KINO__TRANSFERS_RANK) == rank &&
            kino__str_is(kino__table_text(table, i, KINO__TRANSFERS_STEP), "all"))
            return value;
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
    for (size_t i = 0; devices && i < kino__table_row_count(devices); i++) {
        double value = kino__table_real(devices, i, KINO__GPUS_UTILIZATION);
        if (rank != KINO_NO_INT && kino__table_int(devices, i, KINO__GPUS_RANK) == rank &&
            !isnan(value) && !(value <= busy))
            busy = value;
    }
    return busy;
}

static void add_rank_row(kino__report *report, kino__table *out, const kino__rank_fact *rank,
                         const rank_sums *s)
{
    const kino__table *waits =
        kino__report_table(report, &kino__analysis_distributed, KINO__DISTRIBUTED_TRANSFERS);
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
    kino__table_add_int(out, average_of(waits, rank->rank, KINO__TRANSFERS_WAITING));
    kino__table_add_int(out, average_of(waits, rank->rank, KINO__TRANSFERS_TRANSFER));
    kino__table_add_real(
        out, busy_of(kino__report_table(report, &kino__analysis_overview, KINO__OVERVIEW_GPUS),
                     rank->rank));
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
    static const shown_column columns[] = {{KINO__COMMUNICATION_OPS_RANK, "rank"},
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

static void add_findings(kino__report *report, kino__report_numbers *n)
{
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

static void add_checks(kino__report *report, kino__report_numbers *n)
{
    static const shown_column columns[] = {
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
