/* cmd_peaks.c - kino peaks: the limits of accelerators that costs are compared with, and those of
 * this machine, measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/own_tables.h"
#include "record/measure.h"

typedef struct peaks_options {
    kino__common_options common;
    bool measure;
} peaks_options;

static const kino__option options_table[] = {
    {"measure", KINO__OPTION_FLAG, NULL,
     "measure the CPU and the OpenCL devices of this machine instead",
     offsetof(peaks_options, measure), false},
    {0},
};

/* -- measured -- */

static const kino_column columns[] = {
    {"kind", KINO_TYPE_STRING, NULL, "CPU or OpenCL"},
    {"device", KINO_TYPE_STRING, NULL, "as it calls itself"},
    {"fp32", KINO_TYPE_FLOAT, "TFLOP/s", "matrix product"},
    {"fp64", KINO_TYPE_FLOAT, "TFLOP/s", "matrix product"},
    {"memory", KINO_TYPE_FLOAT, "GB/s", "triad"},
    {"peak", KINO_TYPE_STRING, NULL, "for --peak"},
    {"reason", KINO_TYPE_STRING, NULL, "why something was not measured"},
};
enum { COLUMNS = sizeof columns / sizeof *columns, PEAK_SIZE = 96 };

/* "fp32=0.123,fp64=0.0615,memory=21.4" */
static void format_peak(const kino__measured *m, char *out)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"fp32", m->fp32}, {"fp64", m->fp64}, {"memory", m->memory}};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].value > 0)
            used += (size_t)snprintf(out + used, PEAK_SIZE - used, "%s%s=%.4g", used ? "," : "",
                                     figures[i].name, figures[i].value);
}

static int show_measured(const peaks_options *given, const kino__measured_list *list)
{
    kino__own_tables tables = {0};
    kino__cells *cells =
        kino__own_tables_add(&tables, "measured", "Measured on this machine", columns, COLUMNS);
    char(*peaks)[PEAK_SIZE] = calloc(list->count + 1, sizeof *peaks);
    for (size_t i = 0; peaks && i < list->count; i++) {
        const kino__measured *m = &list->items[i];
        format_peak(m, peaks[i]);
        kino__cells_add_text(cells, m->kind);
        kino__cells_add_text(cells, m->name);
        kino__cells_add_real(cells, m->fp32 > 0 ? m->fp32 : (double)NAN);
        kino__cells_add_real(cells, m->fp64 > 0 ? m->fp64 : (double)NAN);
        kino__cells_add_real(cells, m->memory > 0 ? m->memory : (double)NAN);
        kino__cells_add_text(cells, peaks[i][0] ? peaks[i] : NULL);
        kino__cells_add_text(cells, m->reason[0] ? m->reason : NULL);
    }
    kino__own_tables_hide_nulls(&tables, UINT64_C(1) << (COLUMNS - 1));
    cells->failed |= !peaks;
    int code = kino__own_tables_show(&tables, "peaks", NULL, &given->common);
    kino__own_tables_deinit(&tables);
    free(peaks);
    return code;
}

static int measure(const peaks_options *given)
{
    kino__measured_list list = {0};
    kino_error err;
    kino_status st = kino__measure_cpu(&list, &err);
    if (st == KINO_OK)
        st = kino__measure_opencl(&list, &err);
    int code =
        st == KINO_OK ? show_measured(given, &list) : kino__report_error(&err, KINO__EXIT_FAILED);
    kino__vec_deinit(&list);
    return code;
}

/* -- the list -- */

static int show_list(const peaks_options *given)
{
    kino_result *result = NULL;
    kino_error err;
    int code = kino_peaks_list(&result, &err) == KINO_OK
                   ? kino__show_result(&given->common, result)
                   : kino__report_error(&err, KINO__EXIT_FAILED);
    kino_result_free(result);
    return code;
}

static int run_peaks(void *options, char **arguments, size_t count)
{
    const peaks_options *given = options;
    if (count)
        return kino__report_usage(&kino__command_peaks, "unexpected argument '%s'", arguments[0]);
    return given->measure ? measure(given) : show_list(given);
}

const kino__command kino__command_peaks = {
    .name = "peaks",
    .arguments = "",
    .summary = "list or measure peak rates of accelerators",
    .description =
        "Lists the accelerators whose peak rates are known: dense TFLOP/s per precision,\n"
        "memory bandwidth and interconnect, as their makers state them, each with its\n"
        "source. Costs and rooflines are compared with these figures; the device is\n"
        "found by its name in the trace. For another device, or to correct a figure,\n"
        "give --peak to the analysis: --peak h100-sxm, --peak fp32=19.5,memory=1555.\n",
    .options = options_table,
    .groups = KINO__COMMAND_PRINTS,
    .options_size = sizeof(peaks_options),
    .run = run_peaks,
};
