/* section_ranks.c - what each rank computes, sends and waits for. */
#include <math.h>

#include "analysis/columns.h"
#include "report/report_internal.h"

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
    KINO__TABLE_ADD(
        out, s->time / s->count, s->computation / s->count,
        has_any ? s->communication / s->count : KINO_NO_INT,
        has_any ? kino__share_percent(s->overlap, s->communication) : NAN,
        has_any ? (s->communication - s->overlap) / s->count : KINO_NO_INT,
        average_of(waits, rank->rank, KINO__TRANSFERS_WAITING),
        average_of(waits, rank->rank, KINO__TRANSFERS_TRANSFER),
        busy_of(kino__report_table(report, &kino__analysis_overview, KINO__OVERVIEW_GPUS),
                rank->rank));
}

void kino__report_section_ranks(const kino__report_input *in)
{
    kino__report *report = in->report;
    const kino__report_facts *facts = in->facts;
    kino__report_numbers *n = in->numbers;
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
