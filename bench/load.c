/* load.c - how fast and in how much memory does a trace become a store? tools/run-bench calls it.
 *
 * One pass is one call of kino__reader_load, the way the engine does it: open, find the format,
 * (decompress,) parse, join and sort. The store is complete afterwards: all hot columns, names and
 * categories interned, arguments as spans of the text. The checks are sums over columns that
 * bench/simdjson_load.cc makes too, outside of the clock. */
#include "bench.h"
#include "reader/reader.h"
#include "store/args.h"

static kino__simd parse_simd(const char *text)
{
    if (strcmp(text, "auto") == 0)
        return KINO__SIMD_AUTO;
    if (strcmp(text, "scalar") == 0)
        return KINO__SIMD_SCALAR;
    if (strcmp(text, "avx2") == 0)
        return KINO__SIMD_AVX2;
    if (strcmp(text, "avx512") == 0)
        return KINO__SIMD_AVX512;
    bench_die("unknown vector level", text);
}

/* Absent values count as 0. Sums may wrap: they are compared, not read. */
static uint64_t present(int64_t value, int64_t none)
{
    return value == none ? 0 : (uint64_t)value;
}

static void add_checks(const kino__trace *trace, bench_result *result)
{
    uint64_t ts = 0, dur = 0, correlation = 0, external = 0, name = 0, category = 0, args = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (trace->phase[row] != 'M')
            ts += (uint64_t)trace->ts[row] + (uint64_t)trace->origin_ns;
        dur += present(trace->dur[row], KINO_NO_TIME);
        correlation += present(kino__trace_correlation(trace, row), KINO_NO_INT);
        external += present(kino__trace_external(trace, row), KINO_NO_INT);
        if (trace->name[row] != KINO_NO_STRING)
            name += kino__trace_string(trace, trace->name[row]).size;
        category += kino__trace_category_text(trace, trace->category[row]).size;
        args += trace->place[row] & KINO__PLACE_LONG;
    }
    bench_add_check(result, "events", trace->event_count);
    bench_add_check(result, "ts_ns", ts);
    bench_add_check(result, "dur_ns", dur);
    bench_add_check(result, "correlation", correlation);
    bench_add_check(result, "external_id", external);
    bench_add_check(result, "name_bytes", name);
    bench_add_check(result, "cat_bytes", category);
    bench_add_check(result, "args_bytes", args);
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bench_result result = {.bench = "load", .with = options.simd};
    kino_error err = {0};
    kino__pool *pool = NULL;
    if (kino__pool_new(options.jobs, &pool, &err) != KINO_OK)
        bench_die("no threads:", err.message);
    kino__load_context context = {.pool = pool, .simd = parse_simd(options.simd)};
    result.jobs = kino__pool_jobs(pool);
    bench_warm(options.path);

    bench_sampler sampler;
    bench_sampler_start(&sampler, options.memory);
    for (unsigned pass = 0; pass < options.passes; pass++) {
        kino__trace *trace = NULL;
        bench_pass_begin(&result);
        kino_status st = kino__reader_load(options.path, &context, &trace, &err);
        bench_pass_end(&result);
        if (st != KINO_OK)
            bench_die("cannot load:", err.message);
        result.bytes = trace->text_bytes;
        if (pass + 1 == options.passes) {
            result.peak_bytes = bench_sampler_stop(&sampler);
            add_checks(trace, &result);
        }
        kino__trace_free(trace);
    }
    kino__pool_free(pool);
    bench_print(&result);
    return 0;
}
