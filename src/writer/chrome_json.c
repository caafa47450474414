/* chrome_json.c - a trace as Kineto-compatible Chrome JSON: always valid, streaming, in parallel.
 *
 * Rows are taken in file order, in blocks of about 2 MB of text (ordered.h). */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "writer/chrome_event.h"
#include "writer/json_text.h"
#include "writer/ordered.h"
#include "writer/pair_order.h"
#include "writer/writer.h"

enum { BLOCK_ROWS = 8192 };

typedef struct output {
    const kino__trace *trace;
    kino__progress *progress;
    uint32_t *order;                    /* rows in file order */
    kino__chrome_event_writer *writers; /* one a worker */
} output;

static void format_block(void *context, unsigned worker, size_t index, kino__buffer *out)
{
    output *o = context;
    size_t first = index * BLOCK_ROWS, end = first + BLOCK_ROWS;
    if (end > o->trace->event_count)
        end = o->trace->event_count;
    for (size_t i = first; i < end; i++)
        kino__chrome_event_write(&o->writers[worker], o->order[i], out);
    (void)kino__progress_add(o->progress, end - first);
}

static kino_status write_events(output *o, kino__sink *sink, const kino__write_context *context,
                                kino_error *err)
{
    size_t blocks = ((size_t)o->trace->event_count + BLOCK_ROWS - 1) / BLOCK_ROWS;
    kino__ordered ordered = {
        .block_count = blocks, .make = format_block, .context = o, .drop_last = 1};
    kino__progress_stage(o->progress, "writing", o->trace->event_count);
    return kino__ordered_write(&ordered, sink, context, err);
}

static void output_deinit(output *o, unsigned jobs)
{
    for (unsigned i = 0; i < jobs && o->writers; i++)
        kino__chrome_event_writer_deinit(&o->writers[i]);
    free(o->writers);
    free(o->order);
}

static kino_status output_init(output *o, unsigned jobs, kino_error *err)
{
    o->order = kino__trace_file_order_new(o->trace);
    o->writers = calloc(jobs, sizeof *o->writers);
    if (!o->order || !o->writers || !kino__pair_order_apply(o->trace, o->order))
        return kino__fail_nomem(err);
    for (unsigned i = 0; i < jobs; i++)
        kino__chrome_event_writer_init(&o->writers[i], o->trace);
    return KINO_OK;
}

/* Of keys that occur twice only the last counts, as in every JSON parser. */
static bool *find_current(const kino__trace *trace)
{
    size_t count = trace->metadata.count;
    bool *is_current = calloc(count + 1, sizeof *is_current);
    kino__string_pool seen;
    kino__string_pool_init(&seen, NULL);
    for (size_t i = count; i-- > 0 && is_current;) {
        size_t before = kino__string_pool_count(&seen);
        (void)kino__string_pool_add_borrowed(&seen, trace->metadata.items[i].key);
        is_current[i] = kino__string_pool_count(&seen) > before;
    }
    kino__string_pool_deinit(&seen);
    return is_current;
}

static kino_status write_head(const kino__trace *trace, kino__sink *sink, kino_error *err)
{
    kino__buffer b = {0};
    bool *is_current = find_current(trace);
    kino__buffer_add(&b, KINO__STR("{"));
    for (size_t i = 0; i < trace->metadata.count && is_current; i++) {
        if (!is_current[i])
            continue;
        kino__buffer_add(&b, KINO__STR("\n  "));
        kino__json_sanitize_string(trace->metadata.items[i].key, &b);
        kino__buffer_add(&b, KINO__STR(": "));
        kino__json_sanitize(trace->metadata.items[i].value, &b);
        kino__buffer_add(&b, KINO__STR(","));
    }
    /* A trace from another format has no such key, but its times count from somewhere. */
    if (trace->base_ns && !kino__trace_metadata(trace, "baseTimeNanoseconds").size) {
        char text[KINO__DECIMAL_MAX];
        size_t size = kino__format_int(trace->base_ns, text);
        kino__buffer_add(&b, KINO__STR("\n  \"baseTimeNanoseconds\": "));
        kino__buffer_add(&b, (kino_str){text, size});
        kino__buffer_add(&b, KINO__STR(","));
    }
    kino__buffer_add(&b, KINO__STR("\n  \"traceEvents\": ["));
    kino_status st = b.failed || !is_current ? kino__fail_nomem(err)
                                             : kino__sink_write(sink, kino__buffer_str(&b), err);
    free(is_current);
    kino__buffer_deinit(&b);
    return st;
}

static kino_status write_trace(const kino__run *run, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    if (run->traces.count != 1)
        return kino__fail(err, KINO_ARGUMENT, "has %zu traces; select one with --rank",
                          run->traces.count);
    output o = {.trace = run->traces.items[0], .progress = context->progress};
    unsigned jobs = kino__pool_jobs(context->pool);
    kino_status st = output_init(&o, jobs, err);
    if (st == KINO_OK)
        st = o.trace->is_array ? kino__sink_write(sink, KINO__STR("["), err)
                               : write_head(o.trace, sink, err);
    if (st == KINO_OK)
        st = write_events(&o, sink, context, err);
    if (st == KINO_OK)
        st = kino__sink_write(
            sink, o.trace->is_array ? KINO__STR("\n]\n") : KINO__STR("\n  ]\n}\n"), err);
    output_deinit(&o, jobs);
    return st;
}

const kino__writer_def kino__writer_chrome_json = {
    .name = "chrome-json",
    .suffix = ".json",
    .help = "Chrome trace events as the PyTorch profiler writes them",
    .is_compressible = true,
    .write = write_trace,
};
