/* timeline.c - how long does it take until a trace can be looked at, and each look after that?
 *
 *   bench_timeline PATH [--jobs N] [--passes N]
 *
 * A pass builds the timeline of a loaded run. Then tiles are asked for, as a browser does: all
 * tracks over the whole time, and windows of a tenth, a hundredth, a ten-thousandth of it at places
 * spread over the trace; and searches, details and areas. The medians are printed as checks, in
 * microseconds. */
#include <kino/timeline.h>

#include "bench.h"

enum { PIXELS = 2000, LOOKS = 41 };

typedef struct window {
    int64_t first, last;
} window;

static bool count_bytes(void *context, const char *bytes, size_t size)
{
    (void)bytes;
    *(uint64_t *)context += size;
    return true;
}

static int64_t cell(const kino_cell *cells, size_t column)
{
    return cells[column].kind == KINO_CELL_INT ? cells[column].value.integer : 0;
}

/* From the table tracks: columns events, first and last. */
static window find_window(const kino_timeline *timeline, uint64_t *tracks, uint64_t *events)
{
    kino_error err = {0};
    kino_result *result = NULL;
    kino_rows *rows = NULL;
    if (kino_timeline_tracks(timeline, &result, &err) != KINO_OK ||
        kino_result_rows(result, 0, &rows, &err) != KINO_OK)
        bench_die("no tracks:", err.message);
    window all = {INT64_MAX, INT64_MIN};
    const kino_cell *cells;
    *tracks = *events = 0;
    while (kino_rows_next(rows, &cells, &err) == KINO_OK && cells) {
        (*tracks)++;
        *events += (uint64_t)cell(cells, 7);
        all.first = cell(cells, 8) < all.first ? cell(cells, 8) : all.first;
        all.last = cell(cells, 9) > all.last ? cell(cells, 9) : all.last;
    }
    kino_rows_free(rows);
    kino_result_free(result);
    return all;
}

static int compare_reals(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static uint64_t median_us(double *seconds, size_t count)
{
    qsort(seconds, count, sizeof *seconds, compare_reals);
    return (uint64_t)(seconds[count / 2] * 1e6);
}

/* Tiles of 1/parts of the time, at places all over it. */
static uint64_t look(const kino_timeline *timeline, window all, int64_t parts, uint64_t *bytes)
{
    double seconds[LOOKS];
    int64_t width = (all.last - all.first) / parts + 1;
    for (int64_t i = 0; i < LOOKS; i++) {
        kino_error err = {0};
        kino_area area = KINO_AREA_INIT;
        area.from_ns = all.first + (all.last - all.first - width) / LOOKS * i;
        area.to_ns = area.from_ns + width;
        *bytes = 0;
        double start = bench_wall();
        if (kino_timeline_tile(timeline, &area, PIXELS, count_bytes, bytes, &err) != KINO_OK)
            bench_die("no tile:", err.message);
        seconds[i] = bench_wall() - start;
    }
    return median_us(seconds, LOOKS);
}

/* Time of a search, and the first event found. */
static uint64_t search_once(const kino_timeline *timeline, const char *text, int64_t *id)
{
    kino_error err = {0};
    kino_search search = KINO_SEARCH_INIT;
    kino_result *result = NULL;
    kino_rows *rows = NULL;
    const kino_cell *cells;
    search.text = text;
    double start = bench_wall();
    if (kino_timeline_search(timeline, &search, &result, &err) != KINO_OK)
        bench_die("no search:", err.message);
    double seconds = bench_wall() - start;
    if (kino_result_rows(result, 0, &rows, &err) != KINO_OK ||
        kino_rows_next(rows, &cells, &err) != KINO_OK)
        bench_die("no rows:", err.message);
    *id = cells ? cell(cells, 0) : 0;
    kino_rows_free(rows);
    kino_result_free(result);
    return (uint64_t)(seconds * 1e6);
}

static uint64_t area_once(const kino_timeline *timeline)
{
    kino_error err = {0};
    kino_area area = KINO_AREA_INIT;
    kino_result *result = NULL;
    double start = bench_wall();
    if (kino_timeline_aggregate(timeline, &area, &result, &err) != KINO_OK)
        bench_die("no area:", err.message);
    double seconds = bench_wall() - start;
    kino_result_free(result);
    return (uint64_t)(seconds * 1e6);
}

static uint64_t event_once(const kino_timeline *timeline, int64_t id)
{
    kino_error err = {0};
    kino_result *result = NULL;
    double start = bench_wall();
    if (kino_timeline_event(timeline, id, &result, &err) != KINO_OK)
        bench_die("no event:", err.message);
    double seconds = bench_wall() - start;
    kino_result_free(result);
    return (uint64_t)(seconds * 1e6);
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {.bench = "timeline", .jobs = options.jobs};
    kino_error err = {0};
    kino_run *run = NULL;
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    load.jobs = options.jobs;
    if (kino_run_open(&options.path, 1, &load, &run, &err) != KINO_OK)
        bench_die("cannot load:", err.message);
    kino_timeline *timeline = NULL;
    for (unsigned pass = 0; pass < options.passes; pass++) {
        kino_timeline_free(timeline);
        kino_timeline_options build = KINO_TIMELINE_OPTIONS_INIT;
        build.jobs = options.jobs;
        bench_pass_begin(&result);
        if (kino_timeline_new(run, &build, &timeline, &err) != KINO_OK)
            bench_die("no timeline:", err.message);
        bench_pass_end(&result);
    }
    uint64_t tracks, events, bytes = 0;
    window all = find_window(timeline, &tracks, &events);
    bench_add_check(&result, "tracks", tracks);
    bench_add_check(&result, "events", events);
    bench_add_check(&result, "timeline_bytes", kino_timeline_bytes(timeline));
    bench_add_check(&result, "whole_us", look(timeline, all, 1, &bytes));
    bench_add_check(&result, "whole_bytes", bytes);
    bench_add_check(&result, "tenth_us", look(timeline, all, 10, &bytes));
    bench_add_check(&result, "hundredth_us", look(timeline, all, 100, &bytes));
    bench_add_check(&result, "ten_thousandth_us", look(timeline, all, 10000, &bytes));
    int64_t op, kernel;
    (void)search_once(timeline, "cat:cpu_op", &op);
    bench_add_check(&result, "search_us", search_once(timeline, "GEMM cat:kernel", &kernel));
    bench_add_check(&result, "area_us", area_once(timeline));
    bench_add_check(&result, "kernel_us", event_once(timeline, kernel));
    bench_add_check(&result, "first_op_us", event_once(timeline, op)); /* makes the flows */
    kino_timeline_free(timeline);
    kino_run_free(run);
    bench_print(&result);
    return 0;
}
