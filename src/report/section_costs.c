/* section_costs.c - what the largest operators compute and move, how close that is to the limit of
 * the device, and how much of the device the steps use.
 *
 * They come from the analysis roofline. Only where shapes were recorded are there costs, and only in
 * runs of moderate size, because it reads the arguments of all operators. */
#include "analysis/columns.h"
#include "report/report_internal.h"

enum { MOST_EVENTS = 3000000, BRIEF_ROWS = 2 };

bool kino__report_wants_costs(const kino_run *run, const kino_report_options *given)
{
    uint64_t events = 0;
    if (given->compat && strcmp(given->compat, "tensorboard") == 0)
        return false;
    for (size_t i = 0; i < run->run.traces.count; i++)
        events += run->run.traces.items[i]->event_count;
    return given->full || events <= MOST_EVENTS;
}

static const kino_column columns[] = {
    {"operator", KINO_TYPE_STRING, NULL, "or copy, or collective"},
    {"precision", KINO_TYPE_STRING, NULL, "of the arithmetic"},
    {"device time", KINO_TYPE_DURATION, NULL, "on the host without a device"},
    {"share", KINO_TYPE_PERCENT, NULL, "of all work"},
    {"TFLOP/s", KINO_TYPE_FLOAT, NULL, "operations / time"},
    {"GB/s", KINO_TYPE_FLOAT, NULL, "bytes / time"},
    {"of peak", KINO_TYPE_PERCENT, NULL, "time at the device's limit / time"},
    {"bound", KINO_TYPE_STRING, NULL, "what limits it"},
    {"at 80 %", KINO_TYPE_DURATION, NULL, "time at 80 % of its limit"}};
static const size_t from[] = {KINO__POINTS_NAME,    KINO__POINTS_DTYPE,  KINO__POINTS_TIME,
                              KINO__POINTS_SHARE,   KINO__POINTS_TFLOPS, KINO__POINTS_GBPS,
                              KINO__POINTS_PERCENT, KINO__POINTS_BOUND,  KINO__POINTS_AT_TARGET};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool has_costs(const kino__table *points)
{
    for (size_t i = 0; i < kino__table_row_count(points); i++)
        if (kino__table_int(points, i, KINO__POINTS_FLOPS) > 0)
            return true;
    return false;
}

/* "MFU 41.2 % (peak 312 TFLOP/s: bf16-tensor, 1 device); ...", of the average step. */
static kino_str note_of(kino__report *report, const kino_result *result)
{
    const kino__table *steps = kino__analysis_table(result, KINO__ROOFLINE_STEPS);
    double sum = 0;
    size_t count = 0, last = 0;
    for (size_t i = 0; i < kino__table_row_count(steps); i++) {
        double mfu = kino__table_real(steps, i, KINO__MFU_MFU);
        if (isnan(mfu))
            continue;
        sum += mfu;
        count++;
        last = i;
    }
    static const char known[] = "coverage: the";
    const char *coverage = "";
    for (size_t i = 0; i < result->notes.count; i++)
        if (strncmp(result->notes.items[i].text, known, sizeof known - 1) == 0)
            coverage = result->notes.items[i].text + sizeof known - 1;
    if (count == 0)
        return kino__report_format(report, "The%s", coverage);
    return kino__report_format(
        report, "MFU %.1f %% (peak %.4g TFLOP/s: %.*s, %lld device%s); the%s", sum / (double)count,
        kino__table_real(steps, last, KINO__MFU_PEAK),
        KINO__STR_ARG(kino__table_text(steps, last, KINO__MFU_PRECISION)),
        (long long)kino__table_int(steps, last, KINO__MFU_DEVICES),
        kino__table_int(steps, last, KINO__MFU_DEVICES) == 1 ? "" : "s", coverage);
}

static void add_section(kino__report *report, const kino_result *result)
{
    const kino__table *points = kino__analysis_table(result, KINO__ROOFLINE_POINTS);
    if (!has_costs(points))
        return;
    kino__table *out = kino__result_add_table(report->own, "costs", columns, COLUMNS);
    for (size_t row = 0; row < kino__table_row_count(points); row++)
        for (size_t i = 0; i < COLUMNS; i++)
            kino__table_add(out, kino__table_cell(points, row, from[i]));
    if (out)
        out->optional = UINT64_MAX - 1;
    kino__report_section *s =
        kino__report_add_section(report, "costs", "Costs, and the limits of the device", out);
    s->is_brief = true;
    s->brief_limit = BRIEF_ROWS;
    s->brief_hidden = 1u << 1 | 1u << 5 | 1u << 8;
    s->note = note_of(report, result);
}

void kino__report_section_costs(const kino__report_input *in)
{
    if (in->costs && kino__report_has_events(in))
        add_section(in->report, in->costs);
}
