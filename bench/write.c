/* write.c - how fast does a store become JSON text, or a .kino file? tools/run-bench calls it.
 *
 * The trace is loaded outside of the clock. One pass writes the whole of it in the chosen format
 * (--format) to a sink that counts the bytes and lets them go: what is measured is the making of
 * the bytes in memory, not a disk. `bytes` are those of the JSON text in both cases. */
#include "bench.h"
#include "reader/reader.h"
#include "writer/writer.h"

typedef struct counting_sink {
    kino__sink sink;
    uint64_t bytes;
} counting_sink;

static kino_status count_bytes(kino__sink *sink, kino_str bytes, kino_error *err)
{
    (void)err;
    ((counting_sink *)sink)->bytes += bytes.size;
    return KINO_OK;
}

static kino_status close_nothing(kino__sink *sink, bool commit, kino_error *err)
{
    (void)sink;
    (void)commit;
    (void)err;
    return KINO_OK;
}

static void load_run(const bench_options *options, kino__pool *pool, kino__run *run)
{
    kino_error err = {0};
    kino__load_context context = {.pool = pool};
    kino__trace *trace = NULL;
    kino__run_init(run);
    if (kino__reader_load(options->path, &context, &trace, &err) != KINO_OK ||
        kino__run_add_take(run, trace, &err) != KINO_OK)
        bench_die("cannot load:", err.message);
    kino__run_align(run);
}

int main(int argc, char **argv)
{
    bench_options options = bench_parse(argc, argv);
    bool is_kino = strcmp(options.format, "kino") == 0;
    const kino__writer_def *writer = is_kino ? &kino__writer_kino : &kino__writer_chrome_json;
    bench_result result = {.bench = "write", .with = options.format};
    kino_error err = {0};
    kino__pool *pool = NULL;
    if (kino__pool_new(options.jobs, &pool, &err) != KINO_OK)
        bench_die("no threads:", err.message);
    result.jobs = kino__pool_jobs(pool);
    kino__run run;
    load_run(&options, pool, &run);

    kino__write_context context = {.pool = pool};
    counting_sink out = {{count_bytes, close_nothing}, 0};
    for (unsigned pass = 0; pass < options.passes; pass++) {
        out.bytes = 0;
        bench_pass_begin(&result);
        kino_status st = writer->write(&run, &out.sink, &context, &err);
        bench_pass_end(&result);
        if (st != KINO_OK)
            bench_die("cannot write:", err.message);
    }
    result.bytes = is_kino ? run.traces.items[0]->text_bytes : out.bytes;
    bench_add_check(&result, is_kino ? "written_kino" : "written", out.bytes);
    bench_add_check(&result, "events", run.traces.items[0]->event_count);
    kino__run_deinit(&run);
    kino__pool_free(pool);
    bench_print(&result);
    return 0;
}
