/* kino_scan.c - how fast does a .kino file open? tools/run-bench calls it.
 *
 * One pass opens the file (index, all checksums, strings, tracks), decodes the columns ts, dur and
 * name and looks at every value of them. The sums are printed as checks, so the work cannot be left
 * out; `bytes` are those of the JSON the file was made from. */
#include "bench.h"
#include "reader/reader.h"

typedef struct sums {
    uint64_t ts, dur, name;
} sums;

/* Names are looked up once each; the scan counts how often each is used. */
static sums scan(const kino__trace *trace, uint32_t *uses)
{
    sums s = {0};
    uint64_t origin = (uint64_t)trace->origin_ns;
    memset(uses, 0, (kino__string_pool_count(&trace->strings) + 1) * sizeof *uses);
    uint32_t nameless = (uint32_t)kino__string_pool_count(&trace->strings);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        s.ts += trace->ts[row] == KINO_NO_TIME ? 0 : (uint64_t)trace->ts[row] + origin;
        s.dur += trace->dur[row] == KINO_NO_TIME ? 0 : (uint64_t)trace->dur[row];
        uses[trace->name[row] < nameless ? trace->name[row] : nameless]++;
    }
    for (uint32_t id = 0; id < nameless; id++)
        s.name += kino__trace_string(trace, id).size * uses[id];
    return s;
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {.bench = "kino_scan"};
    kino_error err = {0};
    kino__pool *pool = NULL;
    if (kino__pool_new(options.jobs, &pool, &err) != KINO_OK)
        bench_die("no threads:", err.message);
    kino__load_context context = {.pool = pool};
    result.jobs = kino__pool_jobs(pool);
    bench_warm(options.path);
    sums s = {0};
    uint32_t events = 0;
    for (unsigned pass = 0; pass < options.passes; pass++) {
        kino__trace *trace = NULL;
        bench_pass_begin(&result);
        kino_status st = kino__reader_load(options.path, &context, &trace, &err);
        if (st != KINO_OK)
            bench_die("cannot load:", err.message);
        uint32_t *uses = malloc((kino__string_pool_count(&trace->strings) + 1) * sizeof *uses);
        if (!uses ||
            !kino__trace_need(trace, KINO__COLUMN_TS | KINO__COLUMN_DUR | KINO__COLUMN_NAME, pool))
            bench_die("out of memory:", options.path);
        s = scan(trace, uses);
        bench_pass_end(&result);
        events = trace->event_count;
        result.bytes = trace->text_bytes;
        free(uses);
        kino__trace_free(trace);
    }
    bench_add_check(&result, "events", events);
    bench_add_check(&result, "ts_of_all_ns", s.ts); /* metadata events too */
    bench_add_check(&result, "dur_ns", s.dur);
    bench_add_check(&result, "name_bytes", s.name);
    kino__pool_free(pool);
    bench_print(&result);
    return 0;
}
